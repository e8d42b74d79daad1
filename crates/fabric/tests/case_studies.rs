//! D-SRTF's case studies (Gao et al., section 3.1), whose answers the paper gives.

#![allow(clippy::unwrap_used)]

mod common;

use common::{play, try_run};
use serde_json::{Value, json};

/// Two senders, one receiver, 1 Gbps, no headers; 4 Gb at 0 s and 3 Gb at 2 s.
/// Completion times in seconds.
fn fcts(scheme: Value, capacity: Value) -> Vec<f64> {
    let scenario = json!({
        "packet": {"payload": "1500B", "header": "0B"},
        "topology": {"kind": "star", "senders": 2, "host_rate": "1Gbps", "base_rtt": "85.2us"},
        "capacity": capacity,
        "scheme": scheme,
    });
    let second = 1_000_000 * common::US;
    let flows = [(0, 0, 2, 500_000_000), (2 * second, 1, 2, 375_000_000)];
    let fcts = play(scenario, &flows).fcts();
    fcts.into_iter().map(|ps| ps as f64 / 1e12).collect()
}

fn ideal(tagger: Value) -> Value {
    json!({
        "transport": "fixed-window", "tagger": tagger,
        "port": {"discipline": "srpt", "buffer": "1MB"},
    })
}

/// The paper counts no propagation, of which there are at most some round trips.
fn assert_near(found: &[f64], paper: [f64; 2]) {
    for (found, paper) in found.iter().zip(paper) {
        assert!((found - paper).abs() < 0.001, "{found} {paper}");
    }
}

#[test]
fn srtf_versus_sjf() {
    let with = |tagger: &str| fcts(ideal(json!(tagger)), json!([]));
    assert_near(&with("size"), [7.0, 3.0]);
    assert_near(&with("sent"), [7.0, 4.0]);
    assert_near(&with("remaining"), [4.0, 5.0]);
}

#[test]
fn srtf_versus_srsf() {
    let capacity = json!([{
        "links": ["host 0 -> switch"],
        "changes": [{"at": "2s", "rate": "500Mbps"}, {"at": "5s", "rate": "1Gbps"}],
    }]);
    assert_near(
        &fcts(ideal(json!("remaining")), capacity.clone()),
        [5.5, 5.0],
    );
    let oracle = json!({"kind": "remaining-time", "size": "remaining", "bandwidth": "available"});
    assert_near(&fcts(ideal(oracle), capacity), [7.0, 3.0]);
}

#[test]
fn an_outage_is_waited_for() {
    // Nothing leaves from 1.5 s to 3 s; then 2.5 Gb are left of the first flow, 3 Gb of the second.
    let capacity = json!([{
        "links": ["switch -> host 2"],
        "changes": [{"at": "1.5s", "rate": "none"}, {"at": "3s", "rate": "1Gbps"}],
    }]);
    assert_near(&fcts(ideal(json!("remaining")), capacity), [5.5, 6.5]);
}

#[test]
fn mistakes() {
    let error = |capacity: Value| {
        let scenario = json!({
            "topology": {"kind": "star", "senders": 2, "host_rate": "1Gbps", "link_delay": "1us"},
            "traffic": {"workload": "imc10", "load": 0.5, "flows": 1},
            "capacity": capacity, "scheme": "dctcp",
        });
        try_run(scenario, "/".as_ref()).err().unwrap()
    };
    let link = "host 0 -> switch";
    let one = |changes: Value| error(json!([{"links": [link], "changes": changes}]));
    assert_eq!(
        one(json!([{"at": "2s", "rate": "0.5Gbps"}, {"at": "1s", "rate": "1Gbps"}])),
        "capacity[0].changes[1].at: 1s after 2s; times must increase"
    );
    assert_eq!(
        one(json!([{"at": "2s", "rate": "none"}])),
        "capacity[0].changes[0].rate: \"none\" as the last change leaves nothing for ever; end with a rate"
    );
    assert_eq!(
        one(json!([{"at": "2s", "rate": "2Gbps"}])),
        "capacity[0].changes[0].rate: 2Gbps is above the rate of \"host 0 -> switch\" (1Gbps)"
    );
    assert_eq!(
        one(json!([])),
        "capacity[0].changes: is empty; write at least one change"
    );
    let half = json!([{"at": "2s", "rate": "0.5Gbps"}]);
    assert_eq!(
        error(json!([{"links": [link], "changes": half}, {"links": [link], "changes": half}])),
        "capacity[1].links[0]: \"host 0 -> switch\" has a schedule already"
    );
    assert_eq!(
        error(json!([{"links": ["host 0 -> swich"], "changes": half}])),
        "capacity[0].links[0]: \"host 0 -> swich\" is not a port; did you mean \"host 0 -> switch\"? \
         ports are named FROM -> TO, such as \"switch -> host 2\""
    );
    assert_eq!(
        error(json!([{"links": [], "changes": half}])),
        "capacity[0].links: is empty; name at least one link"
    );
}
