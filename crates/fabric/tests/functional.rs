//! The functional model in place of packets: the same scenarios and flows.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Folder, Played, US, generated, play, star, try_run};
use serde_json::{Value, json};

fn on(engine: Value, scenario: &Value) -> Value {
    let mut scenario = scenario.clone();
    scenario["engine"] = engine;
    scenario
}

/// Bursty flows over one 100 Gbps link, smaller than swp's.
fn bursty(workload: &str, load: f64, flows: u64, scheme: Value) -> Value {
    json!({
        "packet": {"payload": "1000B", "header": "48B", "ack": "60B"},
        "topology": {"kind": "star", "senders": 64, "host_rate": "100Gbps",
            "base_rtt": {"value": "10us", "includes": "propagation"}},
        "traffic": {"workload": workload, "load": load, "load_counts": "payload",
            "arrivals": {"kind": "lognormal", "sigma": 2.0}, "flows": flows},
        "measure": {"fct_ends": "ack"},
        "scheme": scheme,
    })
}

fn p99_slowdown(run: &Played, traffic_class: &str, class: &str) -> f64 {
    let mut rows = run.summary.iter();
    let row = rows.find(|r| r.traffic_class == traffic_class && r.class == class);
    row.unwrap().p99_slowdown
}

#[test]
fn a_flow_alone_takes_its_ideal_time() {
    // Up to a BDP: it is sent at line rate.
    for ends in ["ack", "delivery"] {
        for size in [1, 1460, 4_000] {
            let mut scenario = star(2, json!("hpcc"));
            scenario["engine"] = json!("model");
            scenario["measure"] = json!({"fct_ends": ends});
            let run = play(scenario, &[(0, 0, 2, size)]);
            let flow = &run.flows[0];
            // HPCC's telemetry: 42 B more per packet, at 1.25 GB/s.
            let telemetry = (size as f64 / 1460.0).ceil() * 42.0 / 1.25e9 * 1e12;
            let expected = 1.0 + telemetry / flow.ideal as f64;
            let ratio = flow.slowdown / expected;
            assert!((ratio - 1.0).abs() < 0.001, "{ends} {size}: {flow:?}");
        }
    }
}

#[test]
fn its_flows_are_the_packets_flows_and_its_tails_theirs() {
    for (scheme, workload, load, flows) in [
        (json!("dctcp-rate"), "websearch_bytes", 0.3, 2_000),
        (json!("hpcc"), "websearch_bytes", 0.6, 2_000),
        (json!("dctcp-rate"), "google_rpc", 0.6, 20_000),
    ] {
        let scenario = bursty(workload, load, flows, scheme.clone());
        let [model, packets] =
            ["model", "packet"].map(|engine| generated(on(json!(engine), &scenario)));
        assert_eq!(model.flows.len() as u64, flows);
        for (a, b) in model.flows.iter().zip(&packets.flows) {
            assert_eq!(
                (a.flow, a.src, a.size, a.start),
                (b.flow, b.src, b.size, b.start)
            );
            assert_eq!(a.ideal, b.ideal);
        }
        let ratio = p99_slowdown(&model, "all", "small") / p99_slowdown(&packets, "all", "small");
        assert!(
            (0.75..1.25).contains(&ratio),
            "{scheme} {workload}: {ratio}"
        );
        assert_eq!(model.counters.packet_hops, 0);
    }
}

#[test]
fn a_changed_default_is_the_default_but_for_the_change() {
    let flows = |engine: Value, scheme: Value| {
        generated(on(engine, &bursty("google_rpc", 0.6, 5_000, scheme))).flows
    };
    for (scheme, key, default, other) in [
        ("dctcp-rate", "thresh", "300KB", "30KB"),
        ("hpcc", "u_target", "0.95", "0.8"),
    ] {
        let changed = |text: &str| {
            let value: Value = text.parse().unwrap_or(json!(text));
            flows(json!({"kind": "model", "cc": {key: value}}), json!(scheme))
        };
        let usual = flows(json!("model"), json!(scheme));
        assert_eq!(changed(default), usual, "{scheme}");
        assert_ne!(changed(other), usual, "{scheme}");
    }
}

#[test]
fn what_the_scheme_says_holds_in_the_model() {
    // Of all flows the mean, of small ones the tail: a change may leave one of them where it was.
    let slowdowns = |engine: &str, scheme: Value| {
        let scenario = bursty("websearch_bytes", 0.6, 2_000, scheme);
        let run = generated(on(json!(engine), &scenario));
        let small = p99_slowdown(&run, "all", "small");
        (run.summary[0].avg_slowdown, small)
    };
    for change in [
        json!({"preset": "dctcp-rate", "port": {"ecn_threshold": "30KB"}}),
        json!({"preset": "dctcp-rate", "transport": {"increase": "10pkt"}}),
        json!({"preset": "dctcp-rate", "transport": {"g": 0.9}}),
        json!({"preset": "hpcc", "transport": {"eta": 0.6}}),
        json!({"preset": "hpcc", "transport": {"additive_increase": 0.01}}),
    ] {
        let [model, packets] = ["model", "packet"].map(|engine| slowdowns(engine, change.clone()));
        let unchanged = slowdowns("model", change["preset"].clone());
        let changed = |now: f64, before: f64| (now / before - 1.0).abs() > 0.01;
        assert!(
            changed(model.0, unchanged.0) || changed(model.1, unchanged.1),
            "{change}"
        );
        for ratio in [model.0 / packets.0, model.1 / packets.1] {
            assert!((0.9..1.1).contains(&ratio), "{change}: {ratio}");
        }
    }
}

#[test]
fn disciplines_serve_the_classes_that_they_name() {
    let with = |discipline: Value| {
        let scheme = json!({"preset": "hpcc", "port": {"discipline": discipline}, "nic": {"discipline": "fifo"}});
        let mut scenario = bursty("google_rpc", 0.8, 10_000, scheme);
        scenario["traffic"]["classes"] = json!([{"class": "a"}, {"class": "b"}]);
        generated(on(json!("model"), &scenario))
    };
    let weighted = |kind: &str, weights: Value| with(json!({"kind": kind, "weights": weights}));
    let strict = with(json!({"kind": "strict", "classes": 2, "order": [1, 0]}));
    let (a, b) = (
        p99_slowdown(&strict, "a", "all"),
        p99_slowdown(&strict, "b", "all"),
    );
    assert!(b < 0.7 * a, "the second class is served first: {b} {a}");
    let [wfq, drr] = ["wfq", "drr"].map(|kind| weighted(kind, json!([1.0, 9.0])));
    assert_eq!(wfq.flows, drr.flows, "one fluid");
    let other = weighted("wrr", json!([9, 1]));
    let favoured = p99_slowdown(&wfq, "b", "all");
    assert!(favoured < p99_slowdown(&other, "b", "all"), "weights count");
    let fair = with(json!("fq"));
    assert!(p99_slowdown(&fair, "all", "small") < p99_slowdown(&wfq, "all", "small"));
}

#[test]
fn a_run_ends_where_it_would_with_packets() {
    let mut scenario = bursty("websearch_bytes", 0.9, 2_000, json!("dctcp-rate"));
    scenario["traffic"]["arrivals"] = json!("poisson"); // never idle for long
    let mut cut = scenario.clone();
    cut["measure"]["max_time"] = json!("100ms");
    let mut measured = scenario.clone();
    measured["measure"]["window"] = json!("100ms");
    measured["measure"]["stop"] = json!("measured");
    for scenario in [cut, measured] {
        let [model, packets] =
            ["model", "packet"].map(|engine| generated(on(json!(engine), &scenario)));
        let started = |run: &Played| run.flows.len() as f64;
        assert!(started(&model) < 2_000.0, "the end is before the last flow");
        assert!((started(&model) / started(&packets) - 1.0).abs() < 0.2);
        let unfinished = model.flows.iter().filter(|f| !f.finished).count() as u64;
        assert_eq!(
            model.counters.flows_finished + unfinished,
            model.counters.flows_started
        );
        assert!(unfinished > 0);
        let end = model
            .flows
            .iter()
            .filter(|f| !f.finished)
            .map(|f| f.start + f.fct);
        let ends = end.collect::<Vec<_>>();
        assert!(
            ends.iter().all(|&e| e.abs_diff(ends[0]) < US / 1000),
            "all at once"
        );
    }
}

#[test]
fn what_it_does_not_know_is_refused() {
    let good = bursty("google_rpc", 0.5, 10, json!("hpcc"));
    let error = |change: &dyn Fn(&mut Value)| {
        let mut scenario = on(json!("model"), &good);
        change(&mut scenario);
        try_run(scenario, Folder::new().path()).err().unwrap()
    };
    let set = |path: &'static [&str], value: Value| {
        error(&|scenario| {
            let mut here = &mut *scenario;
            for key in path {
                here = &mut here[*key];
            }
            *here = value.clone();
        })
    };
    let or_packets = "; remove it, or run the scenario with engine = \"packet\"";
    assert_eq!(
        set(&["engine"], json!("flow")),
        "engine: \"flow\" is not a kind of engine; known: packet, model, fluid"
    );
    assert_eq!(
        set(&["scheme"], json!("dctcp")),
        "scheme.transport.kind: the model has no dctcp; it has dctcp-rate and hpcc, or what \
         engine.cc says (swp-d, swp-h, dctcp-rate, hpcc)"
    );
    let of_the_scheme = |scenario: &mut Value| {
        scenario["scheme"] = json!("dctcp");
        scenario["engine"] = json!({"kind": "model", "cc": {"payload": "1KB"}});
    };
    assert!(error(&of_the_scheme).starts_with("scheme.transport.kind: the model has no dctcp;"));
    assert_eq!(
        set(&["engine"], json!({"kind": "model", "cc": {"eta": 0}})),
        "engine.cc.eta: 0 is not in (0, inf)"
    );
    assert_eq!(
        set(&["measure", "extras"], json!(["jain"])),
        format!("measure.extras: the model knows of queries only{or_packets}")
    );
    assert_eq!(
        set(&["record"], json!({"waits": {}})),
        format!("record: the model has no packets and no ports to record{or_packets}")
    );
    assert_eq!(
        set(&["traffic", "spacing"], json!(1.0)),
        format!("traffic.spacing: the model's flows have all their bytes{or_packets}")
    );
    assert_eq!(
        set(&["topology", "bottleneck_rate"], json!("40Gbps")),
        "engine: the model's senders have links of the bottleneck's rate, 40Gbps; here 100Gbps"
    );
    assert_eq!(
        set(
            &["scheme"],
            json!({"preset": "hpcc", "port": {"discipline": "srpt"}})
        ),
        "scheme.port.discipline: the model has no srpt; it has fifo, fq, strict, wrr, drr, wfq"
    );
    let leaf_spine = json!({"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4,
        "host_rate": "10Gbps", "fabric_rate": "40Gbps", "base_rtt": "16us"});
    assert_eq!(
        set(&["topology"], leaf_spine),
        "engine: the model has one bottleneck: it needs a topology with one receiver (star)"
    );
    let folder = Folder::new();
    folder.write("flows.csv", "start_s,src,dst,size_bytes\n0,2,1,100\n");
    let mut back = on(json!("model"), &good);
    back["traffic"] = json!({"trace": "flows.csv"});
    assert_eq!(
        try_run(back, folder.path()).err().unwrap(),
        "traffic: flow 0 is for host 1, the model's bottleneck leads to host 64"
    );
}
