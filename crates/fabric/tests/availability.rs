//! Packets that become available over time, and what ASCC makes of it.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Played, US, generated, play, star};
use serde_json::{Value, json};

/// 400 flows of web search among 12 hosts, with losses and marks.
fn busy(scheme: &Value, spacing: f64) -> Played {
    generated(json!({
        "seed": 4,
        "topology": {
            "kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 4,
            "host_rate": "10Gbps", "fabric_rate": "10Gbps", "base_rtt": "40us",
        },
        "traffic": {"workload": "imc10", "load": 0.8, "flows": 800, "spacing": spacing, "overload": true},
        "scheme": scheme,
    }))
}

/// ASCC with SRPT's rules where they differ, or SRPT over DCTCP.
fn at_alpha_0(transport: &Value, tagger: &str, discipline: &str) -> Value {
    json!({
        "transport": transport, "tagger": tagger,
        "port": {
            "discipline": discipline,
            "drop": "lowest-priority", "buffer": "20pkt", "ecn_threshold": "8pkt",
        },
    })
}

#[test]
fn ascc_is_srpt_when_everything_is_available_at_once() {
    let with = |kind: &str| json!({"kind": kind, "initial_window": "1bdp", "min_rto": "10rtt"});
    let srpt = busy(&at_alpha_0(&with("dctcp"), "remaining", "srpt"), 0.0);
    let ascc = busy(&at_alpha_0(&with("ascc"), "complete", "ascc"), 0.0);
    assert!(srpt.counters.drops > 0 && srpt.counters.ecn_marks > 0);
    assert_eq!(ascc.flows, srpt.flows);
    // Spaced packets tell them apart.
    let ascc = busy(&at_alpha_0(&with("ascc"), "complete", "ascc"), 1.0);
    let srpt = busy(&at_alpha_0(&with("dctcp"), "remaining", "srpt"), 1.0);
    assert_ne!(ascc.fcts(), srpt.fcts());
}

#[test]
fn a_flow_alone_is_as_fast_as_its_packets_become_available() {
    for spacing in [0.3, 1.0, 3.0] {
        let mut scenario = star(3, json!("dctcp"));
        scenario["scheme"] = json!({
            "preset": "dctcp", "transport": {"initial_window": "1000pkt", "min_rto": "100ms"}, "port": {"ecn_threshold": "none"},
        });
        scenario["traffic"] = json!({"spacing": spacing});
        // Far apart, so that none meets another.
        let flows: Vec<_> = (0..20)
            .map(|i| (i * 100_000 * US, 0, 3, 1460 * (1 + 3 * i) + i % 2 * 7))
            .collect();
        for flow in play(scenario, &flows).flows {
            assert_eq!(flow.fct, flow.ideal, "{flow:?}");
            // No earlier than all at once, and with wide spacing later.
            let at_once = flow.size.div_ceil(1460) * 12 * US / 10;
            assert!(flow.fct >= at_once || flow.size < 1460 * 4);
            assert!(spacing < 2.0 || flow.size < 1460 * 20 || flow.fct > at_once * 3 / 2);
        }
    }
}

#[test]
fn spaced_packets_are_the_same_for_every_scheme() {
    let ideals = |scheme: Value| -> Vec<u64> {
        let flows = busy(&scheme, 2.0).flows;
        flows.iter().map(|f| f.ideal).collect()
    };
    let pias = ideals(json!("pias"));
    assert_eq!(pias, ideals(json!("las")));
    assert_eq!(pias, ideals(json!("ascc")));
}

#[test]
fn each_of_asccs_rules_does_something() {
    let with = |change: Value| {
        let mut scheme = json!({"preset": "ascc", "transport": {"min_rto": "24rtt"}});
        scheme
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        busy(&scheme, 1.0).fcts()
    };
    let whole = with(json!({}));
    for rule in [
        "retransmit_when_complete",
        "adjust_window_when_complete",
        "ignore_ecn_of_incomplete",
    ] {
        let mut transport = json!({"kind": "ascc", "min_rto": "24rtt"});
        transport[rule] = json!(false);
        assert_ne!(with(json!({"transport": transport})), whole, "{rule}");
    }
    assert_ne!(
        with(json!({"port": {"drop": "tail", "buffer": "30pkt"}})),
        whole
    );
    assert_ne!(with(json!({"port": {"ecn_at": "enqueue"}})), whole);
}
