//! Exact answers: runs whose result follows from arithmetic by hand.
//!
//! Throughout, unless a test says otherwise: full packets of 1500 B, which
//! take 1.2 us at 10 Gbps and 0.3 us at 40 Gbps; ACKs of 40 B: 32 ns and 8 ns;
//! 1 us of propagation per link.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Folder, Given, US, generated, play, star, toml, try_run, unlimited};
use serde_json::{Value, json};

fn leaf_spine(scheme: Value) -> Value {
    json!({
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2,
            "host_rate": "10Gbps", "fabric_rate": "40Gbps", "link_delay": "1us",
        },
        "scheme": scheme,
    })
}

fn fat_tree(scheme: Value) -> Value {
    json!({
        "topology": {"kind": "fat-tree", "k": 4, "host_rate": "25Gbps", "link_delay": "1us"},
        "scheme": scheme,
    })
}

// ---- one flow alone --------------------------------------------------------

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
    let flow = &played.flows[0];
    assert!(
        flow.slowdown >= 1.0,
        "the ideal, {} ps, is above what is possible",
        flow.ideal
    );
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
    let flow = &played.flows[0];
    assert!(
        flow.slowdown >= 1.0,
        "the ideal, {} ps, is above what is possible",
        flow.ideal
    );
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

// ---- flows that share a link -----------------------------------------------

#[test]
fn flows_that_share_a_nic_take_turns() {
    // Host 0 sends 5 packets each to hosts 1 and 2. A's first packet leaves at
    // once and its second waits; then B's first waits. From there each flow
    // queues its next packet as one of its own starts: A A B A B A B A B B.
    // A's last is the 8th, B's the 10th; then 1.2 us on the receiver's link and 2 us.
    let flows = [(0, 0, 1, 7300), (0, 0, 2, 7300)];
    let mut scenario = toml(
        r#"
        [topology]
        kind = "leaf-spine"
        leaves = 1
        spines = 1
        hosts_per_leaf = 3
        host_rate = "10Gbps"
        fabric_rate = "40Gbps"
        link_delay = "1us"
        [scheme.transport]
        kind = "tcp"
        initial_window = "10pkt"
        "#,
    );
    assert_eq!(
        play(scenario.clone(), &flows).fcts(),
        [12_800_000, 15_200_000]
    );
    // Without a limit A queues its whole window first: the 5th and the 10th.
    scenario["scheme"]["nic"] = json!({"per_flow_limit": "none"});
    assert_eq!(play(scenario, &flows).fcts(), [9_200_000, 15_200_000]);
}

#[test]
fn two_senders_share_the_link_of_a_receiver() {
    // 5 packets from each of two hosts reach the switch in pairs, from 1.2 + 1
    // us on, host 0's first. The port sends A B A B ...: A's last is the 9th and
    // B's the 10th: 2.2 + 9 x 1.2 + 1 and 2.2 + 10 x 1.2 + 1 us.
    let flows = [(0, 0, 2, 7300), (0, 1, 2, 7300)];
    for discipline in ["fifo", "srpt"] {
        let mut scheme = unlimited("tcp");
        scheme["port"]["discipline"] = json!(discipline);
        assert_eq!(
            play(star(2, scheme), &flows).fcts(),
            [14_000_000, 15_200_000],
            "{discipline}"
        );
    }
}

#[test]
fn srpt_lets_the_shorter_flow_pass() {
    // 10 packets from host 0, 2 from host 1, both from the start. At 2.2 us the
    // first of each reaches the switch, A's by the smaller port number: it is
    // sent, since the port is idle. Then B's two, which arrive at 2.2 and 3.4
    // us, go before all of A's: B ends at 2.2 + 3 x 1.2 + 1 = 6.8 us and A after
    // all 12: 2.2 + 12 x 1.2 + 1 = 17.6 us.
    let mut scheme = unlimited("mintcp");
    scheme["tagger"] = json!("remaining");
    scheme["port"]["discipline"] = json!("srpt");
    let played = play(star(2, scheme), &[(0, 0, 2, 14_600), (0, 1, 2, 2920)]);
    assert_eq!(played.fcts(), [17_600_000, 6_800_000]);
}

#[test]
fn strict_priority_by_bytes_sent_serves_the_newcomer_first() {
    // Queue 0 takes bytes sent up to 1460, so each flow's first two packets.
    // Host 0 sends 6 packets from 0 on. Host 1 sends 2 packets from 3.6 us on,
    // in time for the switch at 5.8 and 7.0 us. By then A's packets 0 to 3 have
    // reached the switch at 2.2, 3.4, 4.6 and 5.8 us and left without delay. A's
    // packet 3 (port 0) finds the port idle at 5.8 us and starts; B's first
    // waits until 7.0 us and starts before A's packet 4, which arrives then;
    // B's second arrives at 7.0 us too and starts at 8.2 us, before A's packets
    // 4 and 5, which end at 9.4 + 2 x 1.2 = 11.8 us. Propagation 1 us.
    let mut scheme = unlimited("tcp");
    scheme["tagger"] = json!("sent");
    scheme["port"]["discipline"] = json!({"kind": "priority", "thresholds": [1460]});
    let played = play(star(2, scheme), &[(0, 0, 2, 8760), (3_600_000, 1, 2, 2920)]);
    assert_eq!(
        played.fcts(),
        [12_800_000, 9_400_000 + 1_000_000 - 3_600_000]
    );
}

// ---- bursts ----------------------------------------------------------------

/// One-packet flows from hosts `0..n` to the receiver, all at time 0.
fn burst(n: u32) -> Vec<Given> {
    (0..n).map(|host| (0, host, n, 1460)).collect()
}

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

// ---- base RTT and load -----------------------------------------------------

/// FCT of one full packet across the spine, its ACK included.
fn round_trip(delays: Value, dst: u32) -> u64 {
    let mut scenario = leaf_spine(unlimited("tcp"));
    let topology = scenario["topology"].as_object_mut().unwrap();
    topology.remove("link_delay");
    topology.extend(delays.as_object().unwrap().clone());
    scenario["measure"] = json!({"fct_ends": "ack"});
    play(scenario, &[(0, 0, dst, 1460)]).fcts()[0]
}

#[test]
fn base_rtt_is_one_packet_there_and_one_ack_back() {
    // With transmissions (the default) the packet and its ACK take the base RTT.
    assert_eq!(round_trip(json!({"base_rtt": "16us"}), 2), 16 * US);
    let written = json!({"base_rtt": {"value": "16us", "includes": "transmission"}});
    assert_eq!(round_trip(written, 2), 16 * US);
    // Propagation only: 1.2 + 0.3 + 0.3 + 1.2 us and 32 + 8 + 8 + 32 ns come on top.
    let written = json!({"base_rtt": {"value": "16us", "includes": "propagation"}});
    assert_eq!(round_trip(written, 2), 16 * US + 3_080_000);
    // Host delays are part of it: four of 2 us, two of them each way.
    assert_eq!(
        round_trip(json!({"base_rtt": "16us", "host_delay": "2us"}), 2),
        16 * US
    );
    let written = json!({
        "base_rtt": {"value": "16us", "includes": "propagation"}, "host_delay": "2us",
    });
    assert_eq!(round_trip(written, 2), 16 * US + 3_080_000);
    // Within the rack: the link's share of 16 us is (16 - 3.08) / 8 = 1.615 us;
    // four times that, two packets and two ACKs: 6.46 + 2.4 + 0.064 us.
    assert_eq!(round_trip(json!({"base_rtt": "16us"}), 1), 8_924_000);
    // With 2 us at each host: (16 - 8 - 3.08) / 8 = 0.615 us: 2.46 + 8 + 2.464 us.
    assert_eq!(
        round_trip(json!({"base_rtt": "16us", "host_delay": "2us"}), 1),
        12_924_000
    );
    // Per link: 8 x 1 us and 4 x 2 us and transmissions.
    assert_eq!(
        round_trip(json!({"link_delay": "1us", "host_delay": "2us"}), 2),
        19_080_000
    );
}

#[test]
fn relative_units_follow_the_base_rtt() {
    // Base RTT 16 us at 10 Gbps: 20 KB = 13.3 packets, so 1 BDP = 14 packets.
    // With a window of half of it, 7 packets, the 8th waits for the first ACK at
    // 16 us. One way takes 16 - 0.08 - 4 x 1.615 = 9.46 us: 25.46 us.
    let mut scheme = unlimited("tcp");
    scheme["transport"]["initial_window"] = json!("0.5bdp");
    let mut scenario = leaf_spine(scheme);
    scenario["topology"]
        .as_object_mut()
        .unwrap()
        .remove("link_delay");
    scenario["topology"]["base_rtt"] = json!("16us");
    assert_eq!(play(scenario, &[(0, 0, 2, 8 * 1460)]).fcts(), [25_460_000]);
    // Three packets at a port of one: one is sent, one waits, one is lost and
    // sent again after 3 RTT = 48 us, as the first of then.
    let scheme = json!({
        "transport": {"kind": "mintcp", "initial_window": "1bdp", "min_rto": "3rtt"},
        "port": {"buffer": "1pkt"},
    });
    let mut scenario = star(3, scheme);
    scenario["topology"]
        .as_object_mut()
        .unwrap()
        .remove("link_delay");
    scenario["topology"]["base_rtt"] = json!("16us");
    let fcts = play(scenario, &burst(3)).fcts();
    assert_eq!(fcts[2], fcts[0] + 48 * US);
}

#[test]
fn load_counts_wire_or_payload() {
    // Flows of one full packet: 1500 B on the wire, 1460 B of payload. Counting
    // payload the same load means more flows: every gap shrinks by 1460 / 1500.
    let scenario = |counts: &str| {
        let mut s = leaf_spine(unlimited("tcp"));
        s["traffic"] = json!({
            "workload": {"kind": "fixed", "size": "1460B"}, "load": 0.5, "flows": 200,
            "load_counts": counts,
        });
        generated(s)
    };
    let (wire, payload) = (scenario("wire"), scenario("payload"));
    for (w, p) in wire.flows.iter().zip(&payload.flows) {
        assert_eq!((w.src, w.dst), (p.src, p.dst));
        // Each of the gaps so far was rounded to a picosecond, in both.
        let expected = w.start as f64 * 1460.0 / 1500.0;
        assert!(
            (p.start as f64 - expected).abs() <= (w.flow + 1) as f64,
            "{w:?} {p:?}"
        );
    }
    assert!(wire.flows[199].start > 0);
}

// ---- ECN -------------------------------------------------------------------

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

// ---- pacing ----------------------------------------------------------------

/// The switch marks everything; windows of 6 packets at line rate.
fn all_marked() -> Value {
    let mut scenario = star(2, Value::Null);
    scenario["scheme"] = json!({
        "transport": {"kind": "dctcp-rate", "initial_window": "6pkt"},
        "port": {"ecn_threshold": "0B"},
        "nic": {"ecn_threshold": "none"},
    });
    scenario
}

#[test]
fn a_paced_flow_waits_for_its_rate_as_it_is_when_the_time_comes() {
    // A round trip takes 2 x 1.2 us + 2 x 32 ns + 4 us = 6.464 us. Packets 0 to 5
    // start every 1.2 us from 0; the window is full. The first ACK halves the rate
    // (alpha is 1): 2.4 us from packet to packet, 3 in flight. ACKs at 6.464 us and
    // every 1.2 us thereafter; that of packet 3 at 10.064 us makes room: packet 6
    // starts then, packet 7 at 12.464, packet 8 at 14.864 us, each 2.4 us later.
    // The ACK of packet 6, at 16.528 us, is of the next window and halves again:
    // packet 9, due at 17.264 us, is now due 4.8 us after packet 8, at 19.664 us
    // (its window of 2 has room from 18.928 us on). It arrives 4.4 us later.
    for (packets, expected) in [
        (6, 10_400_000),
        (7, 14_464_000),
        (9, 19_264_000),
        (10, 24_064_000),
    ] {
        let played = play(all_marked(), &[(0, 0, 2, 1460 * packets)]);
        assert_eq!(played.fcts(), [expected], "{packets} packets");
    }
    // The turns of a NIC do not matter to a flow alone, nor does its discipline.
    for limit in [json!(2), json!("none")] {
        for discipline in ["fifo", "srpt"] {
            let mut scenario = all_marked();
            scenario["scheme"]["nic"]["per_flow_limit"] = limit.clone();
            scenario["scheme"]["nic"]["discipline"] = json!(discipline);
            let played = play(scenario, &[(0, 0, 2, 14_600)]);
            assert_eq!(played.fcts(), [24_064_000], "{limit} {discipline}");
        }
    }
}

#[test]
fn a_paced_flow_goes_sooner_when_its_rate_rises() {
    // The receiver's link has 8 Gbps (1.5 us a packet) and marks what finds more than
    // one other waiting; windows of 8 packets at 10 Gbps. A round trip over an idle
    // path takes 1.2 + 1.5 + 4 us and 72 ns for the ACK, 6.772 us; ACK k < 13 comes
    // at 6.772 + 1.5 k us. The first mark is packet 11's; its ACK, at 23.272 us, cuts
    // the rate to 1 - (15/16) / 2 = 0.53125 (one window without marks was over): 1.2 us
    // / 0.53125 = 2.258824 us from packet to packet, 5 in flight. There is room from
    // 27.772 us on, where packet 19 starts; 20, 21 and 22 each 2.258824 us later, the last at 34.548472 us. At 35.272 us the
    // ACK of packet 19 ends a window without a cut, and the rate is 10 Gbps again:
    // packet 23, due at 36.807296 us until then, starts at 35.748472 us. It
    // comes to the port at 37.948472 us, waits for 22, which has been sent since
    // 36.748472 us, and is delivered 2.5 us after that has gone, at 38.248472 us.
    let mut scenario = star(2, Value::Null);
    scenario["topology"]["bottleneck_rate"] = json!("8Gbps");
    scenario["scheme"] = json!({
        "transport": {"kind": "dctcp-rate", "initial_window": "8pkt", "increase": "100pkt"},
        "port": {"ecn_threshold": "2pkt"},
        "nic": {"ecn_threshold": "none"},
    });
    for (packets, expected) in [(23, 39_248_472), (24, 40_748_472)] {
        let played = play(scenario.clone(), &[(0, 0, 2, 1460 * packets)]);
        assert_eq!(played.fcts(), [expected], "{packets} packets");
    }
}

#[test]
fn paced_flows_share_their_nic() {
    // Both are paced at line rate, so they alternate: 4 packets each over 2 hops,
    // the last of the eight starts after 7 x 1.2 us.
    let mut scenario = star(1, Value::Null);
    scenario["scheme"] = unlimited("dctcp-rate");
    let played = play(scenario, &[(0, 0, 1, 5840), (0, 0, 1, 5840)]);
    let after = |packets: u64| packets * 1_200_000 + 4_400_000;
    assert_eq!(played.fcts(), [after(6), after(7)]);
}

// ---- traffic classes -------------------------------------------------------

/// Two flows of 6 packets, of classes a and b, meet at a port of this discipline.
fn two_classes(discipline: &Value, tagger: &str) -> Vec<u64> {
    let folder = Folder::new();
    let flows = "start_s,src,dst,size_bytes,class\n0,0,2,8760,a\n0,1,2,8760,b\n";
    folder.write("flows.csv", flows);
    let mut scenario = star(2, unlimited("tcp"));
    scenario["traffic"] = json!({"trace": "flows.csv"});
    scenario["scheme"]["port"]["discipline"] = discipline.clone();
    scenario["scheme"]["tagger"] = json!(tagger);
    try_run(scenario, folder.path()).unwrap().fcts()
}

#[test]
fn classes_share_a_port() {
    // Both flows' packet i is at the switch at 2.2 + 1.2 i us; a transmission takes
    // 1.2 us and what it sends is delivered 1 us later. a0 finds the port idle, b0
    // is alone at 3.4 us (a1 comes as that choice is made); from 4.6 us on both
    // wait. The n-th transmission ends at 2.2 + 1.2 n us.
    let delivered = |n: u64| 2_200_000 + n * 1_200_000 + US;
    for (discipline, tagger, a, b) in [
        // a0 b0 a1 a2, a3 b1 a4 a5, then b alone.
        (json!({"kind": "wrr", "weights": [3, 1]}), "none", 8, 12),
        // a0 b0 a1 a2 a3 a4 a5, then b alone; the other way round.
        (json!({"kind": "strict", "classes": 2}), "none", 7, 12),
        (
            json!({"kind": "strict", "classes": 2, "inside": "fq"}),
            "none",
            7,
            12,
        ),
        (
            json!({"kind": "priority", "thresholds": [0]}),
            "class",
            7,
            12,
        ),
        // One packet per turn of a, three per turn of b: a0 b0, then b has two more
        // but b1 and a1 have just come: a0 b0 b1 a1 b2 b3 b4 a2 b5, then a alone.
        (
            json!({"kind": "drr", "weights": [1, 3], "quantum": "1500B"}),
            "none",
            12,
            9,
        ),
    ] {
        let found = two_classes(&discipline, tagger);
        assert_eq!(found, [delivered(a), delivered(b)], "{discipline}");
    }
}

// ---- shaping at the source -------------------------------------------------

#[test]
fn a_leaky_bucket_holds_a_flow_back() {
    // 1 Gbps, a packet per 12 us, and a bucket of two packets. Packets 0 and 1 pass
    // at 0, the second to its turn in the NIC at 1.2 us. Packet 2 comes to the
    // bucket then, which has room for it at 12 us; packet 3 follows at 24 us and is
    // delivered 4.4 us later. Held back: from 1.2 to 12 and from 12 to 24 us.
    let mut scenario = star(2, unlimited("tcp"));
    scenario["scheme"]["shaper"] = json!({"rate": "1Gbps", "bucket": "2pkt"});
    let played = play(scenario.clone(), &[(0, 0, 2, 5840), (0, 1, 2, 1460)]);
    assert_eq!(played.flows[0].fct, 28_400_000);
    assert_eq!(played.flows[0].source_delay, Some(22_800_000));
    // Another host has its own bucket; it meets packet 0 at the switch only.
    assert_eq!(played.flows[1].fct, 5_600_000);
    assert_eq!(played.flows[1].source_delay, Some(0));
    // Two flows of a host share it and take turns there. The first has had what was
    // in the bucket when the second starts, whose packets pass at 12, 36 and 48 us;
    // the first one's last packet passes at 24 us.
    let played = play(scenario.clone(), &[(0, 0, 2, 4380), (0, 0, 2, 4380)]);
    assert_eq!(played.fcts(), [28_400_000, 52_400_000]);
    // A flow that passes alone is not slowed, and cut off, what it waited counts.
    let played = play(scenario.clone(), &[(0, 0, 2, 2920)]);
    assert_eq!(
        (played.flows[0].slowdown, played.flows[0].source_delay),
        (1.0, Some(0))
    );
    scenario["measure"] = json!({"max_time": "20us"});
    let played = play(scenario, &[(0, 0, 2, 5840)]);
    assert_eq!(played.flows[0].source_delay, Some(18_800_000));
}

#[test]
fn a_paced_flow_passes_a_bucket() {
    // Paced at line rate: packets 0 and 1 at 0 and 1.2 us, when the bucket has had
    // 150 B more; packet 2 comes at 2.4 us and passes at 12 us, packet 3 at 24 us.
    let mut scenario = star(2, unlimited("dctcp-rate"));
    scenario["scheme"]["shaper"] = json!({"rate": "1Gbps", "bucket": "2pkt"});
    let played = play(scenario, &[(0, 0, 2, 5840)]);
    assert_eq!(played.flows[0].fct, 28_400_000);
    assert_eq!(played.flows[0].source_delay, Some(9_600_000 + 10_800_000));
}

// ---- HPCC ------------------------------------------------------------------

#[test]
fn hpcc_alone_takes_its_share_of_the_link() {
    // 20 MB at 95% of 100 Gbps in packets of 1000 + 48 + 42 B, and a round trip:
    // 20,000 x 1090 x 8 / 95e9 = 1835.8 us + about 10 us.
    let mut scenario = star(2, json!("hpcc"));
    scenario["packet"] = json!({"payload": "1000B", "header": "48B", "ack": "60B"});
    scenario["topology"]["host_rate"] = json!("100Gbps");
    scenario["topology"]["link_delay"] = json!("2.5us");
    let played = play(scenario.clone(), &[(0, 0, 2, 20_000_000)]);
    let fct = played.flows[0].fct as f64 / 1e6;
    assert!((1835.8..1835.8 * 1.01 + 10.0).contains(&fct), "{fct} us");
    // The ideal knows nothing of telemetry: 20,000 x 1048 B x 80 ps and a hop more.
    let ideal = (20_000 + 1) * 1048 * 80 + 5 * US;
    assert_eq!(played.flows[0].ideal, ideal);
    // Two share it, to within a tenth, once the first has heard of the second.
    let both = play(
        scenario,
        &[(0, 0, 2, 20_000_000), (100 * US, 1, 2, 20_000_000)],
    );
    let [a, b] = [0, 1].map(|i| both.flows[i].fct as f64 / 1e6);
    assert!(
        (1.8..2.1).contains(&(a / fct)) && (1.8..2.1).contains(&(b / fct)),
        "{a} {b}"
    );
}
