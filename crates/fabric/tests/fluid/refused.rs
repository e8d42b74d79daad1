//! What the fluid refuses, and where it ends.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Folder, star, trace, try_run};
use crate::{leaf_spine, on, web_search};

#[test]
fn what_a_fluid_cannot_know_is_refused_by_name() {
    let error = |change: &dyn Fn(&mut Value)| {
        let mut scenario = on("fluid", &web_search(leaf_spine(2, 2), 0.5, 10));
        change(&mut scenario);
        try_run(scenario, Path::new("/")).err().unwrap()
    };
    let set = |path: &[&str], value: Value| {
        error(&|scenario| {
            let mut here = &mut *scenario;
            for key in path {
                here = &mut here[*key];
            }
            *here = value.clone();
        })
    };
    let or_packets = ", or run the scenario with engine = \"packet\"";
    for (path, value, expected) in [
        (
            vec!["scheme"],
            json!("tcp"),
            "scheme.transport.kind: the fluid has no tcp; take dctcp, dctcp-rate or hpcc",
        ),
        (
            vec!["scheme"],
            json!({"preset": "hpcc", "transport": {"max_stage": 5}}),
            "scheme.transport.max_stage: the fluid knows only what the preset says here; remove it",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp-rate", "routing": "spray-random"}),
            "scheme.routing: the fluid has one path for each flow, and spray-random has several; take ecmp",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp-rate", "port": {"discipline": "srpt"}}),
            "scheme.port.discipline: the fluid has no srpt; take fifo, fq, strict, wrr, drr or wfq",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp-rate", "port": {"ecn_at": "enqueue"}}),
            "scheme.port.ecn_at: the fluid knows only what the preset says here; remove it",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp-rate", "transport": {"initial_alpha": 0.0}}),
            "scheme.transport.initial_alpha: the fluid knows only what the preset says here; remove it",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp-rate", "port": {"discipline": {"kind": "strict", "classes": 2}}}),
            "scheme.nic.discipline: the fluid's flows take turns at their NICs; write fifo, fq or wfq there",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp", "nic": {"per_flow_limit": "none"}}),
            "scheme.nic.per_flow_limit: the fluid knows only what the preset says here; remove it",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp", "transport": {"ack_every": 2}}),
            "scheme.transport.ack_every: the fluid knows only what the preset says here; remove it",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp", "transport": {"echoes": "grow"}}),
            "scheme.transport.echoes: windows of the fluid do not grow with marks; write \"hold\"",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp", "port": {"ecn_at": "departures"}}),
            "scheme.port.ecn_at: the fluid marks by what waits; write \"enqueue\" or \"dequeue\"",
        ),
        (
            vec!["traffic", "spacing"],
            json!(1.0),
            "traffic.spacing: the fluid's flows have all their bytes at once; remove it",
        ),
        (
            vec!["measure"],
            json!({"extras": ["jain"]}),
            "measure.extras: the fluid knows of \"queries\" and \"waits\" only; remove the others",
        ),
    ] {
        assert_eq!(set(&path, value), format!("{expected}{or_packets}"));
    }
    assert_eq!(
        set(&["engine"], json!({"kind": "fluid", "step": "2rtt"})),
        "engine.step: 2rtt is not in (0, 1rtt]"
    );
}

/// What a run says in which eight hosts send to one, whose port has a scheme's buffer.
fn full(scheme: Value) -> String {
    let mut scenario = star(8, scheme);
    scenario["engine"] = json!("fluid");
    let folder = Folder::new();
    let flows: Vec<_> = (0..8).map(|sender| (0, sender, 8, 100_000)).collect();
    folder.write("flows.csv", &trace(&flows));
    scenario["traffic"] = json!({"trace": "flows.csv"});
    try_run(scenario, folder.path()).err().unwrap()
}

#[test]
fn a_buffer_that_is_full_ends_the_run() {
    let text = full(json!({"preset": "dctcp-rate", "port": {"buffer": "30KB"}}));
    assert!(
        text.starts_with("scheme.port.buffer: is full at switch -> host 8 after"),
        "{text}"
    );
    let (_, said) = text.split_once(" s: ").unwrap();
    let (waits, said) = said.split_once(" bytes wait where 30000 fit, ").unwrap();
    assert!(waits.parse::<u32>().unwrap() > 30_000, "{text}");
    assert!(
        said.ends_with("make it larger, or run the scenario with engine = \"packet\""),
        "{text}"
    );
}

#[test]
fn what_is_full_is_named_by_the_key_that_says_so() {
    let ports = json!({"switch-down": {"buffer": "30KB"}});
    let text = full(json!({"preset": "dctcp-rate", "ports": ports}));
    assert!(
        text.starts_with("scheme.ports.switch-down.buffer: is full at"),
        "{text}"
    );
}
