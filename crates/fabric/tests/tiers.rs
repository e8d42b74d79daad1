//! `[ports.TIER]`: what is different at the ports of one tier.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{generated, try_run};
use fctlab_fabric::prepare::prepare;
use fctlab_fabric::summary::SummaryRow;
use serde_json::{Value, json};

/// 2 leaves, 2 spines, 4 hosts each, 4:1 oversubscribed; load 0.2 fills most of the way up.
fn scenario(ports: Value) -> Value {
    let classes = json!([{"class": "web", "share": 1}, {"class": "bulk", "share": 1}]);
    json!({
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4,
            "host_rate": "10Gbps", "fabric_rate": "5Gbps", "base_rtt": "20us"},
        "traffic": {"workload": {"kind": "fixed", "size": "100KB"}, "load": 0.2, "flows": 2000,
            "pattern": "inter-rack", "classes": classes},
        "scheme": "dctcp",
        "ports": ports,
    })
}

fn error(ports: Value) -> String {
    try_run(scenario(ports), Path::new("/")).err().unwrap()
}

/// The mean slowdown of each class.
fn means(ports: Value) -> Vec<f64> {
    let played = generated(scenario(ports));
    let of = |class: &str| {
        let of_class = |row: &&SummaryRow| row.traffic_class == class && row.class == "all";
        played.summary.iter().find(of_class).unwrap().avg_slowdown
    };
    vec![of("web"), of("bulk")]
}

/// What queues is the way up; weights there tell classes apart, and nowhere else.
#[test]
fn weights_hold_where_they_are_written() {
    let wfq = json!({"discipline": {"kind": "wfq", "weights": [20, 1]}});
    let same = means(json!({}));
    let up = means(json!({"leaf-up": wfq}));
    let down = means(json!({"leaf-down": wfq}));
    assert!((same[0] / same[1] - 1.0).abs() < 0.1, "{same:?}");
    assert!(up[0] < 0.7 * up[1], "{up:?}");
    assert!((down[0] / down[1] - 1.0).abs() < 0.1, "{down:?}");
    assert_eq!(means(json!({"leaf -> spine": wfq})), up);
}

/// Every tier written out is what `scheme.port` and `scheme.nic` are for all.
#[test]
fn all_tiers_are_all_ports() {
    let fq = json!({"discipline": "fq", "ecn_threshold": "50KB", "ecn_scope": "queue"});
    let tiers = json!({"nic": fq, "leaf-up": fq, "spine-down": fq, "leaf-down": fq});
    let mut all = scenario(json!({}));
    all["scheme"] = json!({"preset": "dctcp", "port": fq});
    assert_eq!(generated(scenario(tiers)).flows, generated(all).flows);
}

/// One port beats its tier, and what comes out is read as it went in.
#[test]
fn one_port_and_a_resolved_scenario() {
    let ports = json!({
        "leaf-up": {"ecn_threshold": "90KB"},
        "leaf 0 -> spine 1": {"ecn_threshold": "15KB"},
        "nic": {"per_flow_limit": 2},
    });
    let prepared = prepare(scenario(ports), &[], Path::new("/")).unwrap();
    let written = serde_json::to_value(prepared.scenario).unwrap();
    let threshold = |tier: &str| written["scheme"]["ports"][tier]["ecn_threshold"].clone();
    assert_eq!(threshold("leaf-up"), json!("90KB"));
    assert_eq!(threshold("leaf 0 -> spine 1"), json!("15KB"));
    assert_eq!(written["scheme"]["nic"]["per_flow_limit"], json!(2));
    assert_eq!(written["ports"], Value::Null);
    let again = prepare(written.clone(), &[], Path::new("/")).unwrap();
    assert_eq!(serde_json::to_value(again.scenario).unwrap(), written);
}

#[test]
fn mistakes_are_where_they_were_written() {
    assert_eq!(
        error(json!({"leaf-upp": {"buffer": "1MB"}})),
        "ports.leaf-upp: \"leaf-upp\" is not a tier; did you mean \"leaf-up\"? known: nic, leaf-down, \
         leaf-up, spine-down; a tier is also called such as \"spine -> leaf\", one port such as \
         \"spine 1 -> leaf 1\""
    );
    assert_eq!(
        error(json!({"leaf-up": {"bufer": "1MB"}})),
        "ports.leaf-up.bufer: unknown key; did you mean \"buffer\"? known here: discipline, buffer, \
         drop, ecn_threshold, ecn_scope, ecn_at"
    );
    assert_eq!(
        error(json!({"leaf-up": {"buffer": "100B"}})),
        "ports.leaf-up.buffer: 100B holds less than one full packet"
    );
    assert_eq!(
        error(json!({"nic": {"buffer": "100B"}})),
        "ports.nic.buffer: 100B holds less than one full packet"
    );
    assert_eq!(
        error(json!({"leaf-up": {}, "leaf -> spine": {}})),
        "ports.leaf-up: are the ports of ports.leaf -> spine as well"
    );
    assert_eq!(
        error(json!({"leaf-up": {"discipline": {"kind": "wfq", "weights": [1]}}})),
        "ports.leaf-up.discipline: wfq serves 1 of the 2 classes of the traffic (web, bulk)"
    );
    assert_eq!(
        error(json!({"leaf-up": "fq"})).split(':').next(),
        Some("ports.leaf-up")
    );
}
