//! A scheme: ports and their classes, transports, shapers.

use fctlab_fabric::disciplines::mappings::MappingPolicy;
use serde_json::{Value, json};

use crate::{scheme, with};

#[test]
fn ports() {
    assert_eq!(
        scheme(json!({"nic": {"buffer": "0.5pkt"}})),
        "scheme.nic.buffer: 0.5pkt holds less than one full packet"
    );
    assert_eq!(
        scheme(json!({"nic": {"drop": "lowest-priority"}})),
        "scheme.nic.drop: \"lowest-priority\" is not for fifo, which knows \"tail\""
    );
    assert_eq!(
        scheme(json!({"nic": {"discipline": {"kind": "priority", "thresholds": [10, 30, 20]}}})),
        "scheme.nic.discipline.thresholds[2]: 20 after 30; thresholds must increase"
    );
    assert_eq!(
        scheme(json!({"port": {"discipline": "priority"}})),
        "scheme.port.discipline.thresholds: is missing and has no default"
    );
    assert_eq!(
        scheme(json!({"nic": {"per_flow_limit": 0}})),
        "scheme.nic.per_flow_limit: 0 is not at least 1"
    );
}

/// A BDP is all that HPCC allows: a larger window would say nothing.
#[test]
fn windows_above_the_rule_s_own() {
    let window = |length: &str| {
        let transport = json!({"kind": "hpcc", "initial_window": length});
        scheme(json!({"preset": "hpcc", "transport": transport}))
    };
    assert!(
        window("500pkt").starts_with(
            "scheme.transport.initial_window: 500pkt is above the largest window of hpcc, 1bdp = "
        ),
        "{}",
        window("500pkt")
    );
}

/// The NIC takes after the port, but the mistake is where it was written.
#[test]
fn a_mistake_in_the_port_is_not_blamed_on_the_nic() {
    assert_eq!(
        scheme(json!({"port": {"buffer": "1499B"}})),
        "scheme.port.buffer: 1499B holds less than one full packet"
    );
    assert_eq!(
        scheme(json!({"port": {"drop": "lowest-priority"}})),
        "scheme.port.drop: \"lowest-priority\" is not for fifo, which knows \"tail\""
    );
    assert_eq!(
        scheme(json!({"port": {"discipline": {"kind": "priority", "thresholds": [10, 30, 20]}}})),
        "scheme.port.discipline.thresholds[2]: 20 after 30; thresholds must increase"
    );
}

/// ADS: tables, hosts' estimates, and files of tables.
#[test]
fn mapped_queues() {
    let discipline = |value: Value| scheme(json!({"port": {"discipline": value}}));
    let dynamic = |key: &str, value: Value| {
        discipline(
            json!({"kind": "mapped", "queues": 8, "mapping": {"kind": "dynamic", key: value}}),
        )
    };
    let fixed = |queues: u32, thresholds: Value| {
        let mapping = json!({"kind": "static", "thresholds": thresholds});
        discipline(json!({"kind": "mapped", "queues": queues, "mapping": mapping}))
    };
    let at = "scheme.port.discipline";
    assert_eq!(
        discipline(json!({"kind": "mapped", "queues": 0})),
        format!("{at}.queues: 0 is not in [1, 64]")
    );
    assert_eq!(
        dynamic("interval", json!("0s")),
        format!("{at}.mapping.interval: 0s is not above zero")
    );
    assert_eq!(
        dynamic("window", json!(0)),
        format!("{at}.mapping.window: 0 is not at least 1")
    );
    assert_eq!(
        dynamic("policy", json!("equal")),
        format!(
            "{at}.mapping.policy: \"equal\" is not a mapping policy; known: {}",
            MappingPolicy::NAMES.join(", ")
        )
    );
    assert_eq!(
        fixed(8, json!([1, 2])),
        format!(
            "{at}.mapping.thresholds: 2 thresholds for 8 queues; it takes one less than queues"
        )
    );
    assert_eq!(
        fixed(3, json!([5, 2])),
        format!("{at}.mapping.thresholds[1]: 2 after 5; thresholds must not fall")
    );
    assert_eq!(
        fixed(2, json!({"leaf 77": [2]})),
        format!(
            "{at}.mapping.thresholds: \"leaf 77\" is not a node or port here: it is for another topology"
        )
    );
    let message = fixed(2, json!({"host 0": [2]}));
    assert!(message.ends_with("it is for another topology"), "{message}");
    let missing = json!({"kind": "static", "file": "no-such.json"});
    let message = discipline(json!({"kind": "mapped", "queues": 2, "mapping": missing}));
    assert!(
        message.starts_with(&format!("{at}.mapping.file: no-such.json: cannot be read")),
        "{message}"
    );
    assert_eq!(
        discipline(json!({"kind": "mapped", "queues": 2, "mapping": "static"})),
        format!("{at}.mapping: needs either thresholds or a file that has them")
    );
    assert_eq!(
        scheme(json!({"tagger": {"kind": "outstanding", "cap": "1KB"}})),
        "scheme.tagger.cap: 1KB is less than one MTU (1500B)"
    );
    assert_eq!(
        scheme(
            json!({"tagger": "remaining", "port": {"discipline": {"kind": "mapped", "queues": 8}}})
        ),
        "scheme.tagger: remaining writes tags up to 4,294,967,295, but mapped (scheme.port) takes no more than 4,095"
    );
    assert_eq!(
        scheme(json!({"preset": "ads", "tagger": {"cap": "20MB", "write_buffer": "30MB"}})),
        "scheme.tagger: outstanding writes tags up to 13,334, but mapped (scheme.port) takes no more than 4,095"
    );
    assert_eq!(
        scheme(json!({"port": {"discipline": "fq", "drop": "lowest-priority"}})),
        "scheme.port.drop: \"lowest-priority\" is not for fq, which knows \"tail\" and \"longest-queue\""
    );
}

#[test]
fn transports() {
    for g in [json!(0), json!(2)] {
        let message = format!("scheme.transport.g: {g} is not in (0, 1]");
        assert_eq!(scheme(json!({"transport": {"g": g}})), message);
    }
    assert_eq!(
        scheme(json!({"transport": {"initial_alpha": 1.5}})),
        "scheme.transport.initial_alpha: 1.5 is not in [0, 1]"
    );
    for (key, value, message) in [
        (
            "initial_window",
            json!("0.5pkt"),
            "0.5pkt is less than one full packet",
        ),
        (
            "max_window",
            json!("100B"),
            "100B is less than one full packet",
        ),
        ("min_rto", json!("0us"), "0s is not above zero"),
        ("max_rto", json!("10us"), "10us is less than min_rto (1ms)"),
        ("dupack_threshold", json!(0), "0 is not at least 1"),
        (
            "probe_after",
            json!(0),
            "0 is not at least 1; write \"none\" for never",
        ),
    ] {
        let message = format!("scheme.transport.{key}: {message}");
        assert_eq!(scheme(json!({"transport": {key: value}})), message);
    }
}

#[test]
fn classes_of_a_port() {
    for (discipline, expected) in [
        (
            json!({"kind": "wrr", "weights": [1, 0]}),
            "weights[1]: 0 is not above zero",
        ),
        (
            json!({"kind": "drr", "weights": [1], "quantum": "1B"}),
            "quantum: 1B is not in [64B, 1GB]",
        ),
        (
            json!({"kind": "wfq", "weights": []}),
            "weights: 0 weights; write 1 to 256, one per class",
        ),
        (
            json!({"kind": "strict", "classes": 0}),
            "classes: 0 is not a whole number from 1 to 256",
        ),
        (
            json!({"kind": "wfq", "weights": [1], "inside": "lifo"}),
            "inside: \"lifo\" is not known; did you mean \"fifo\"? known: fifo, fq",
        ),
    ] {
        assert_eq!(
            scheme(json!({"port": {"discipline": discipline}})),
            format!("scheme.port.discipline.{expected}")
        );
    }
    let weights =
        json!({"preset": "dctcp", "port": {"discipline": {"kind": "drr", "weights": [1]}}});
    let two = json!([{"class": "web"}, {"class": "bulk"}]);
    assert_eq!(
        with(&[("scheme", weights), ("traffic.classes", two)]),
        "scheme.port.discipline: drr serves 1 of the 2 classes of the traffic (web, bulk)"
    );
}

#[test]
fn shapers() {
    assert_eq!(
        scheme(json!({"shaper": {"rate": "1Gbps", "bucket": "1KB"}})),
        "scheme.shaper.bucket: 1KB holds less than one full packet"
    );
    assert_eq!(
        scheme(json!({"shaper": {"rate": "1Gbps"}})),
        "scheme.shaper.bucket: is missing and has no default"
    );
    assert_eq!(
        scheme(json!({"shaper": {"rate": "1Gbps", "bucket": "10KB", "per": "flow"}})),
        "scheme.shaper.per: \"flow\" is not known; known: host, class"
    );
}
