//! Bursts into one port: what waits and what is lost.

use serde_json::json;

use crate::burst;
use crate::common::{Given, US, play, star, unlimited};

#[test]
fn a_burst_leaves_one_by_one() {
    // All arrive at 2.2 us, in the order of their ports; the i-th has left i x
    // 1.2 us later and takes 1 us more.
    let expected: Vec<u64> = (1..=20).map(|i| 3_200_000 + i * 1_200_000).collect();
    for discipline in [
        json!("fifo"),
        json!("srpt"),
        json!({"kind": "priority", "thresholds": []}),
    ] {
        let mut scheme = unlimited("tcp");
        scheme["port"]["discipline"] = discipline.clone();
        let played = play(star(20, scheme), &burst(20));
        assert_eq!(played.fcts(), expected, "{discipline}");
        // 20 data packets and 20 ACKs over two links each.
        assert_eq!(
            (played.counters.packet_hops, played.counters.drops),
            (80, 0)
        );
    }
}

#[test]
fn a_buffer_of_k_packets_loses_the_rest_and_the_timer_recovers_them() {
    // 12 packets at 2.2 us: one starts at once, 3 wait, 8 are dropped. The timer
    // of a fixed 100 us was set at time 0: at 100 us the 8 are sent again, 4
    // pass and 4 are dropped; at 200 us the last 4 pass.
    let mut scheme = json!({
        "transport": {
            "kind": "mintcp", "initial_window": "10pkt", "min_rto": "100us", "probe_after": "none",
        },
        "port": {"buffer": "3pkt"},
    });
    let expected = |rounds: [u64; 3]| -> Vec<u64> {
        let round = |at: u64| (1..=4).map(move |i| at + 3_200_000 + i * 1_200_000);
        rounds.into_iter().flat_map(round).collect()
    };
    for discipline in ["fifo", "srpt"] {
        scheme["port"]["discipline"] = json!(discipline);
        let played = play(star(12, scheme.clone()), &burst(12));
        assert_eq!(
            played.fcts(),
            expected([0, 100 * US, 200 * US]),
            "{discipline}"
        );
        let c = played.counters;
        assert_eq!(
            (c.drops, c.retransmissions, c.timeouts),
            (8 + 4, 8 + 4, 8 + 4)
        );
        let timeouts: Vec<u32> = played.flows.iter().map(|f| f.timeouts).collect();
        assert_eq!(timeouts, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
        // 24 data packets over the first link, 12 over the second, 12 ACKs over two.
        assert_eq!((c.data_packets, c.packet_hops), (24, 24 + 12 + 24));
    }
    // TCP doubles its timer: the second timeout is 200 us after the first.
    scheme["transport"] = json!({"kind": "tcp", "min_rto": "100us"});
    scheme["port"]["discipline"] = json!("fifo");
    let played = play(star(12, scheme), &burst(12));
    assert_eq!(played.fcts(), expected([0, 100 * US, 300 * US]));
}

#[test]
fn the_lowest_priority_is_dropped() {
    // Hosts 0 to 3 send one packet of flows of 5, 4, 3, 2 packets, host 4 all of
    // a flow of one. All reach the switch at 2.2 us. The first is sent; of the
    // others two may wait. Flow 1 (4 packets) and 2 (3) wait; 3 (2) evicts 1;
    // then 4 (1) evicts 2. So 3 and 4 wait and 1 and 2 are lost.
    let scheme = json!({
        "transport": {"kind": "mintcp", "initial_window": "1pkt", "min_rto": "1ms", "max_window": "1pkt"},
        "tagger": "size",
        "port": {"buffer": "2pkt", "discipline": "srpt", "drop": "lowest-priority"},
    });
    let flows: Vec<Given> = (0..5)
        .map(|h| (0, h, 5, 1460 * (5 - u64::from(h))))
        .collect();
    let played = play(star(5, scheme), &flows);
    let timeouts: Vec<u32> = played.flows.iter().map(|f| f.timeouts).collect();
    assert_eq!((timeouts, played.counters.drops), (vec![0, 1, 1, 0, 0], 2));
    // The shortest is sent second: 2.2 + 2 x 1.2 + 1 us.
    assert_eq!(played.flows[4].fct, 5_600_000);
}
