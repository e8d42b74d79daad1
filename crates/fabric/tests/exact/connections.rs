//! Flows on persistent connections.

use serde_json::json;

use crate::common::{US, play, star, unlimited};

#[test]
fn a_flow_waits_for_no_other_and_opens_a_connection_if_all_are_busy() {
    // One packet alone: 1.2 us and 1 us on each of two links, 4.4 us; its ACK is back 2 x 1.032
    // us later, and then its connection is idle. A connection is opened in 4 x 1.032 us.
    const ALONE: u64 = 4_400_000;
    const OPENS: u64 = 4_128_000;
    let flows = [
        (0, 0, 1, 1460),       // the connection that a pair has from the start
        (3 * US, 0, 1, 1460),  // busy: the second one is opened
        (9 * US, 0, 1, 1460),  // the first is idle since 6.464 us
        (20 * US, 0, 1, 1460), // both are, the second for longer (13.592 us)
        (22 * US, 0, 1, 1460), // the first
        (25 * US, 0, 1, 1460), // busy until 26.464 and 28.464 us: a third
        (40 * US, 0, 1, 1460), // idle again, three of them
        (41_500_000, 0, 1, 1460),
        (43 * US, 0, 1, 1460),
        (45_400_000, 0, 1, 1460), // all busy, the first of them until 46.464 us
        (47 * US, 0, 1, 1460),    // that one
        (60 * US, 1, 0, 1460),    // another pair
    ];
    let opened = [1, 5, 9];
    for transport in ["tcp", "dctcp", "hpcc", "dctcp-rate"] {
        let mut scheme = unlimited(transport);
        if transport == "hpcc" {
            scheme["transport"] = json!({"kind": transport, "int_bytes": "0B"});
        }
        let alone = play(star(1, scheme.clone()), &flows);
        scheme["transport"]["connections"] = json!("persistent");
        let persistent = play(star(1, scheme), &flows);
        for (n, (fct, of_its_own)) in persistent.fcts().iter().zip(alone.fcts()).enumerate() {
            assert_eq!(of_its_own, ALONE, "{transport}: {n}");
            let opens = if opened.contains(&n) { OPENS } else { 0 };
            assert_eq!(*fct, ALONE + opens, "{transport}: {n}");
        }
        // A header is no data packet.
        assert_eq!(persistent.counters.data_packets, flows.len() as u64);
    }
}

#[test]
fn a_connection_is_busy_until_its_last_byte_is_acknowledged() {
    // The flow is over at the receiver after 4.4 us and at the sender after 6.464.
    let mut scenario = star(1, unlimited("tcp"));
    scenario["scheme"]["transport"]["connections"] = json!("persistent");
    for ends in ["delivery", "ack"] {
        scenario["measure"] = json!({"fct_ends": ends});
        for (start, opens) in [(6_463_999, true), (6_464_000, false)] {
            let flows = [(0, 0, 1, 1460), (start, 0, 1, 1460)];
            let fcts = play(scenario.clone(), &flows).fcts();
            assert_eq!(fcts[1] > fcts[0], opens, "{ends}: {start}");
        }
    }
}
