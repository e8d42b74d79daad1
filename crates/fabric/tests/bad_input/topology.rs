//! A topology, and the packets that cross it.

use serde_json::{Value, json};

use crate::with;

#[test]
fn delays() {
    assert_eq!(
        with(&[("topology.link_delay", json!("1us"))]),
        "topology.link_delay: has no meaning beside base_rtt; give one of the two"
    );
    assert_eq!(
        with(&[("topology.base_rtt", Value::Null)]),
        "topology.base_rtt: is missing; give base_rtt or link_delay"
    );
    // 1.2 + 0.3 + 0.3 + 1.2 us and ACKs of 80 ns, and four host delays of 1 us.
    assert_eq!(
        with(&[("topology.base_rtt", json!("3us"))]),
        "topology.base_rtt: 3us is less than transmissions and host delays take (3.08 us)"
    );
    assert_eq!(
        with(&[
            ("topology.base_rtt", json!("7us")),
            ("topology.host_delay", json!("1us"))
        ]),
        "topology.base_rtt: 7us is less than transmissions and host delays take (7.08 us)"
    );
    assert_eq!(
        with(&[(
            "topology.base_rtt",
            json!({"value": "9us", "includes": "both"})
        )]),
        "topology.base_rtt.includes: \"both\" is not known; known: transmission, propagation"
    );
    assert_eq!(
        with(&[("topology.base_rtt", json!({"includes": "propagation"}))]),
        "topology.base_rtt.value: is missing and has no default"
    );
}

#[test]
fn dimensions() {
    assert_eq!(
        with(&[("topology.leaves", json!(0))]),
        "topology.leaves: 0 is not a whole number from 1 to 65,535"
    );
    assert_eq!(
        with(&[("topology.hosts_per_leaf", json!(40000))]),
        "topology.hosts_per_leaf: 80,000 hosts in all; at most 65,535"
    );
    assert_eq!(
        with(&[(
            "topology",
            json!({"kind": "fat-tree", "k": 5, "host_rate": "10Gbps", "link_delay": "1us"})
        )]),
        "topology.k: 5 is not even"
    );
    assert_eq!(
        with(&[(
            "topology",
            json!({"kind": "fat-tree", "k": 2, "host_rate": "10Gbps", "link_delay": "1us"})
        )]),
        "topology.k: 2 is not a whole number from 4 to 62"
    );
    assert_eq!(
        with(&[(
            "topology",
            json!({"kind": "star", "senders": 0, "host_rate": "10Gbps", "link_delay": "1us"})
        )]),
        "topology.senders: 0 is not a whole number from 1 to 65,534"
    );
    assert_eq!(
        with(&[
            ("topology.leaves", json!(1)),
            ("topology.hosts_per_leaf", json!(1))
        ]),
        "topology.hosts_per_leaf: a fabric needs at least two hosts"
    );
}

#[test]
fn packets() {
    assert_eq!(
        with(&[("packet.payload", json!("0B"))]),
        "packet.payload: 0B with its header is not in [1B, 65535B]"
    );
    assert_eq!(
        with(&[("packet.payload", json!("70KB"))]),
        "packet.payload: 70KB with its header is not in [1B, 65535B]"
    );
    assert_eq!(
        with(&[("packet.ack", json!("0B"))]),
        "packet.ack: 0B is not in [1B, 65535B]"
    );
}
