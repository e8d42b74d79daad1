//! ECN marks.

use serde_json::{Value, json};

use crate::burst;
use crate::common::{Given, play, star, unlimited};

/// Marks that a burst of `n` one-packet flows gets.
fn marks(n: u32, port: &Value) -> u64 {
    let mut scheme = unlimited("dctcp");
    for (key, value) in port.as_object().unwrap() {
        scheme["port"][key] = value.clone();
    }
    let played = play(star(n, scheme), &burst(n));
    assert!(played.flows.iter().all(|f| f.finished));
    played.counters.ecn_marks
}

#[test]
fn marks_of_a_burst() {
    // 10 packets at one instant, K = 3 packets. At enqueue: the first is sent;
    // the i-th after it (i = 1 to 9) finds i - 1 waiting and makes it i: marked
    // when i > 3, so 6. At dequeue: the first leaves nothing waiting when it
    // starts (it is alone then); the i-th after it leaves 9 - i: more than 3
    // for i = 1 to 5, so 5.
    for discipline in [
        json!("fifo"),
        json!("srpt"),
        json!({"kind": "priority", "thresholds": [9]}),
    ] {
        for (at, expected) in [("enqueue", 6), ("dequeue", 5)] {
            let port = json!({"discipline": discipline, "ecn_threshold": "3pkt", "ecn_at": at});
            assert_eq!(marks(10, &port), expected, "{discipline} {at}");
        }
    }
    // By departures: i - 1 leave before the i-th after the first, which is on
    // the wire already: more than 3 for i = 5 to 9, so 5.
    let port = json!({"ecn_threshold": "3pkt", "ecn_at": "departures"});
    assert_eq!(marks(10, &port), 5);
    // In bytes: 4499 B mark from the third waiting packet (4500 B) on: 7 and 6.
    // 4500 B: from the fourth on, as 3 packets.
    for (threshold, enqueue, dequeue) in [("4499B", 7, 6), ("4500B", 6, 5)] {
        let port = |at: &str| json!({"ecn_threshold": threshold, "ecn_at": at});
        assert_eq!(marks(10, &port("enqueue")), enqueue);
        assert_eq!(marks(10, &port("dequeue")), dequeue);
    }
    // Without a threshold nothing is marked, and TCP's packets never are.
    assert_eq!(marks(10, &json!({})), 0);
    let mut scheme = unlimited("tcp");
    scheme["port"]["ecn_threshold"] = json!("3pkt");
    assert_eq!(play(star(10, scheme), &burst(10)).counters.ecn_marks, 0);
}

#[test]
fn marks_per_queue_and_per_port() {
    // Hosts 0 to 4 send 1459 B (1499 on the wire), which go to queue 0; hosts 5
    // to 9 send 1460 B, to queue 1, and arrive 0.8 ns later, while the first
    // packet is being sent. K = 3000 B.
    // Per queue: queue 0 grows to 1499, 2998, 4497, 5996: 2 marks; queue 1 to
    // 1500, 3000, 4500, 6000, 7500: 3 marks.
    // Per port: 1499, 2998, 4497, 5996, then five more: 7 marks.
    let flows: Vec<Given> = (0..10)
        .map(|h| (0, h, 10, 1459 + u64::from(h / 5)))
        .collect();
    for (scope, expected) in [("queue", 5), ("port", 7)] {
        let mut scheme = unlimited("dctcp");
        scheme["tagger"] = json!("size");
        scheme["port"]["discipline"] = json!({"kind": "priority", "thresholds": [1459]});
        scheme["port"]["ecn_threshold"] = json!("3000B");
        scheme["port"]["ecn_scope"] = json!(scope);
        assert_eq!(
            play(star(10, scheme), &flows).counters.ecn_marks,
            expected,
            "{scope}"
        );
    }
}

#[test]
fn a_nic_marks_as_any_port() {
    // One flow with a window of 10 packets and a NIC that takes all of it: one
    // is sent, 9 wait; K = 3 packets: 6 are marked at the NIC. The switch never
    // has a queue.
    let mut scheme = unlimited("dctcp");
    scheme["transport"]["initial_window"] = json!("10pkt");
    scheme["port"]["ecn_threshold"] = json!("3pkt");
    let flows = [(0, 0, 1, 14_600)];
    assert_eq!(play(star(1, scheme.clone()), &flows).counters.ecn_marks, 0);
    scheme["nic"] = json!({"per_flow_limit": "none"});
    assert_eq!(play(star(1, scheme.clone()), &flows).counters.ecn_marks, 6);
    scheme["nic"]["ecn_threshold"] = json!("none");
    assert_eq!(play(star(1, scheme), &flows).counters.ecn_marks, 0);
}
