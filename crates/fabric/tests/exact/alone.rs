//! One flow alone.

use serde_json::{Value, json};

use crate::common::{Played, US, play, star, unlimited};
use crate::{fat_tree, leaf_spine};

/// Store and forward, packet by packet, over links of these times per byte
/// (ps) and 1 us of propagation each: when the last packet arrives, and when
/// its ACK does (40 B, over the same links back). Plain recursion: a packet
/// starts on a link when it has arrived there and the one before it has left.
fn store_and_forward(ps_per_byte: &[u64], size: u64) -> (u64, u64) {
    let packets = size.div_ceil(1460);
    let links = ps_per_byte.len();
    let (mut free, mut free_back) = (vec![0; links], vec![0; links]);
    let (mut arrived, mut acked) = (0, 0);
    for p in 0..packets {
        let payload = if p + 1 == packets {
            size - 1460 * p
        } else {
            1460
        };
        arrived = 0;
        for link in 0..links {
            free[link] = arrived.max(free[link]) + (payload + 40) * ps_per_byte[link];
            arrived = free[link] + US;
        }
        acked = arrived;
        for link in (0..links).rev() {
            free_back[link] = acked.max(free_back[link]) + 40 * ps_per_byte[link];
            acked = free_back[link] + US;
        }
    }
    (arrived, acked)
}

const SIZES: [u64; 10] = [
    1, 100, 1459, 1460, 1461, 2920, 14_600, 100_000, 1_000_001, 14_600_000,
];

/// 10 Gbps: 800 ps per byte; 25 Gbps: 320; 40 Gbps: 200; 4 Gbps: 2000.
fn paths() -> Vec<(&'static str, Value, u32, u32, Vec<u64>)> {
    let star_4g = json!({
        "topology": {
            "kind": "star", "senders": 2, "host_rate": "10Gbps", "bottleneck_rate": "4Gbps",
            "link_delay": "1us",
        },
    });
    vec![
        ("same rack", leaf_spine(Value::Null), 0, 1, vec![800, 800]),
        (
            "across the spine",
            leaf_spine(Value::Null),
            3,
            0,
            vec![800, 200, 200, 800],
        ),
        ("star", star(3, Value::Null), 1, 3, vec![800, 800]),
        ("star, slow receiver", star_4g, 0, 2, vec![800, 2000]),
        (
            "fat-tree, one edge switch",
            fat_tree(Value::Null),
            0,
            1,
            vec![320; 2],
        ),
        (
            "fat-tree, one pod",
            fat_tree(Value::Null),
            0,
            2,
            vec![320; 4],
        ),
        (
            "fat-tree, two pods",
            fat_tree(Value::Null),
            0,
            15,
            vec![320; 6],
        ),
    ]
}

#[test]
fn a_flow_alone_takes_exactly_the_ideal() {
    for (name, mut scenario, src, dst, ps_per_byte) in paths() {
        for transport in ["tcp", "dctcp", "mintcp", "dctcp-rate"] {
            scenario["scheme"] = unlimited(transport);
            for ends in ["delivery", "ack"] {
                scenario["measure"] = json!({"fct_ends": ends});
                for size in SIZES {
                    let (delivered, acked) = store_and_forward(&ps_per_byte, size);
                    let expected = if ends == "ack" { acked } else { delivered };
                    let played = play(scenario.clone(), &[(7, src, dst, size)]);
                    let what = format!("{name}, {transport}, {ends}, {size} B");
                    assert_eq!(played.flows[0].ideal, expected, "ideal: {what}");
                    assert_eq!(played.flows[0].fct, expected, "{what}");
                    assert_eq!(played.flows[0].slowdown, 1.0, "{what}");
                }
            }
        }
    }
}

#[test]
fn acks_may_queue_behind_each_other() {
    // Behind a fast receiver's link a short last packet arrives right after the
    // one before it, and so its ACK may have to wait for that one's: 1461 B over
    // 10 and 40 Gbps are delivered at 2.5 and 2.5082 us + 1 us; the second ACK
    // reaches the switch 8 ns and 1 us later, at 4.5162 us, while the first one
    // occupies the slower link from 4.508 to 4.540 us. It arrives at 5.572 us.
    // The ideal does not count that wait (23.8 ns): it is a lower bound here.
    let scenario = |ends: &str| {
        let mut s = star(2, unlimited("tcp"));
        s["topology"]["bottleneck_rate"] = json!("40Gbps");
        s["measure"] = json!({"fct_ends": ends});
        s
    };
    for size in SIZES {
        let (delivered, acked) = store_and_forward(&[800, 200], size);
        for (ends, expected) in [("delivery", delivered), ("ack", acked)] {
            let played = play(scenario(ends), &[(0, 1, 2, size)]);
            assert_eq!(played.fcts(), [expected], "{size} {ends}");
            let ack = if ends == "ack" { 40 * 1000 + 2 * US } else { 0 };
            assert_eq!(played.flows[0].ideal, delivered + ack, "{size} {ends}");
        }
    }
    assert_eq!(store_and_forward(&[800, 200], 1461), (3_508_200, 5_572_000));
}

#[test]
fn every_discipline_lets_a_flow_alone_pass_at_line_rate() {
    for port in [
        json!({"discipline": "fifo"}),
        json!({"discipline": {"kind": "priority", "thresholds": [2000, 50000]}}),
        json!({"discipline": "srpt", "drop": "lowest-priority"}),
        json!({"discipline": {"kind": "srpt", "starvation_prevention": false}}),
    ] {
        for limit in [json!(1), json!(3), json!("none")] {
            let mut scenario = leaf_spine(unlimited("tcp"));
            for (key, value) in port.as_object().unwrap() {
                scenario["scheme"]["port"][key] = value.clone();
            }
            scenario["scheme"]["tagger"] = json!("remaining");
            scenario["scheme"]["nic"] = json!({"per_flow_limit": limit});
            // 10 packets across the spine: 1.2 + 0.3 + 0.3 + 1.2 us, 4 us, 9 x 1.2 us.
            let played = play(scenario, &[(0, 0, 2, 14_600)]);
            assert_eq!(played.fcts(), [17_800_000], "{port} {limit}");
        }
    }
}

#[test]
fn spraying_keeps_a_flow_alone_at_line_rate() {
    // The NIC is the slowest link, so that full packets keep their order and
    // their distance whichever way they go: 10 of them take 17.8 us as above.
    for routing in ["spray-random", "spray-round-robin"] {
        let mut scheme = unlimited("tcp");
        scheme["routing"] = json!(routing);
        let played = play(leaf_spine(scheme), &[(0, 0, 2, 14_600)]);
        assert_eq!(
            (played.flows[0].fct, played.flows[0].slowdown),
            (17_800_000, 1.0)
        );
    }
}

fn assert_ideal_is_possible(played: &Played) {
    let flow = &played.flows[0];
    assert!(flow.slowdown >= 1.0, "the ideal is {} ps", flow.ideal);
}

#[test]
fn spraying_lets_a_short_last_packet_overtake() {
    // A full packet and one of 41 B. The full one takes 1.2 + 0.3 + 0.3 + 1.2 +
    // 4 x 1 = 7 us. The short one leaves the NIC 32.8 ns after it, takes the
    // other spine, 2 x 8.2 ns instead of 2 x 300 ns, and is at the receiver's
    // port first. The flow is done when the full packet is: after 7 us.
    let mut scheme = unlimited("tcp");
    scheme["routing"] = json!("spray-round-robin");
    let played = play(leaf_spine(scheme), &[(0, 0, 2, 1461)]);
    assert_eq!(played.fcts(), [7_000_000]);
    assert_ideal_is_possible(&played);
}

#[test]
fn spraying_adds_up_slow_links() {
    // Two spines of 1 Gbps (12 us per packet) between hosts of 10 Gbps: two
    // packets leave the NIC at 1.2 and 2.4 us, cross the two spines side by side
    // and reach the receiver's link 24 us + 3 x 1 us later. The second one takes
    // 1.2 + 1 us more: 2.4 + 27 + 2.2 = 31.6 us.
    let mut scheme = unlimited("tcp");
    scheme["routing"] = json!("spray-round-robin");
    let mut scenario = leaf_spine(scheme);
    scenario["topology"]["fabric_rate"] = json!("1Gbps");
    let played = play(scenario, &[(0, 0, 2, 2920)]);
    assert_eq!(played.fcts(), [31_600_000]);
    assert_ideal_is_possible(&played);
}

#[test]
fn a_window_below_the_bdp_sends_one_window_per_rtt() {
    // Star, 10 us per link, window fixed at 4 packets. A full packet's ACK is
    // back after 2 x 1.2 + 2 x 10 + 2 x 0.032 + 2 x 10 = 42.464 us. 12 packets
    // are three windows; the last packet starts at 2 x 42.464 + 3 x 1.2 us and
    // takes 2 x 1.2 + 2 x 10 = 22.4 us: 110.928 us; its ACK 20.064 us more.
    for (ends, expected) in [("delivery", 110_928_000), ("ack", 130_992_000)] {
        for transport in ["tcp", "dctcp", "mintcp"] {
            let mut scheme = unlimited(transport);
            scheme["transport"]["initial_window"] = json!("4pkt");
            scheme["transport"]["max_window"] = json!("4pkt");
            let mut scenario = star(1, scheme);
            scenario["topology"]["link_delay"] = json!("10us");
            scenario["measure"] = json!({"fct_ends": ends});
            assert_eq!(
                play(scenario, &[(0, 0, 1, 12 * 1460)]).fcts(),
                [expected],
                "{transport}"
            );
        }
    }
}

#[test]
fn slow_start_doubles_the_window_each_rtt() {
    // As above, with a window that starts at 2 packets: 2, 4, 8, 16 packets
    // leave, each round back to back since every ACK lets two packets go. 30
    // packets: the last is the 16th of the fourth round: 3 x 42.464 + 15 x 1.2 +
    // 22.4 = 167.792 us.
    for transport in ["tcp", "dctcp", "mintcp"] {
        for limit in [json!(1), json!("none")] {
            let mut scheme = unlimited(transport);
            scheme["transport"]["initial_window"] = json!("2pkt");
            scheme["nic"] = json!({"per_flow_limit": limit});
            let mut scenario = star(1, scheme);
            scenario["topology"]["link_delay"] = json!("10us");
            let played = play(scenario, &[(0, 0, 1, 30 * 1460)]);
            assert_eq!(
                played.fcts(),
                [167_792_000],
                "{transport}, per_flow_limit {limit}"
            );
        }
    }
}
