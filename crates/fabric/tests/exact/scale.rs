//! What base RTT, relative units and load stand for.

use serde_json::{Value, json};

use crate::common::{US, generated, play, star, unlimited};
use crate::{burst, leaf_spine};

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
