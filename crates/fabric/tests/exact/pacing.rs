//! What leaves a source when: pacing, shaping, HPCC.

use serde_json::{Value, json};

use crate::common::{US, play, star, unlimited};

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
