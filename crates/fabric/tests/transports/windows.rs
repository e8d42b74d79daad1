//! Slow start and congestion avoidance (RFC 5681, section 3.1).

use fctlab_core::Time;
use serde_json::json;

use super::{Ends, after_one_recovery, news, tcp};

#[test]
fn slow_start_sends_two_packets_per_ack() {
    for kind in ["tcp", "dctcp", "mintcp"] {
        let mut ends = Ends::new(json!({"kind": kind, "initial_window": "4pkt"}), 100);
        assert_eq!(ends.send(), news(0..4));
        // 4 ACKs make 8, 8 more make 16; always as many in flight as the window allows.
        for n in 0..12 {
            assert_eq!(ends.hear(n), news(4 + 2 * n..6 + 2 * n), "{kind}");
            assert_eq!(ends.window(), f64::from(5 + n));
            assert_eq!(ends.sender.in_flight(), 5 + n);
        }
    }
}

#[test]
fn the_initial_and_the_largest_window_hold() {
    let mut ends = Ends::new(
        json!({"kind": "tcp", "initial_window": "3pkt", "max_window": "5pkt"}),
        100,
    );
    assert_eq!(ends.send(), news(0..3));
    assert_eq!(ends.hear(0), news(3..5));
    assert_eq!(ends.hear(1), news(5..7));
    // 5 in flight: from here on one packet per ACK.
    for n in 2..20 {
        assert_eq!(ends.hear(n), news(5 + n..6 + n));
        assert_eq!(ends.sender.in_flight(), 5);
    }
}

#[test]
fn a_window_that_is_not_filled_does_not_grow() {
    // 3 packets in a window of 10: less than half of it was ever needed.
    let mut ends = Ends::new(tcp(10), 3);
    ends.send();
    for n in 0..3 {
        assert_eq!(ends.hear(n), []);
    }
    assert_eq!(ends.window(), 10.0);
    assert!(ends.sender.is_done());
    assert_eq!(ends.sender.deadline(), Time::NEVER);
}

#[test]
fn congestion_avoidance_adds_one_packet_per_window() {
    let mut ends = after_one_recovery();
    for (n, sent) in [(8, 13), (9, 14), (10, 15), (11, 16)] {
        assert_eq!(ends.hear(n), news(sent..sent + 1));
    }
    // Packet 0 arrives: all of 0..12 is acknowledged, recovery ends. In flight:
    // 12 to 16; the window of 6 lets one more go. The ACK that ends recovery
    // finds 6 in flight and 6 = threshold: congestion avoidance, 6 + 1/6.
    assert_eq!(ends.hear(0), news(17..18));
    let mut window = 6.0 + 1.0 / 6.0;
    assert_eq!(ends.window(), window);
    // Each ACK adds 1 / window: 6.1667 + 0.1622 + 0.1580 + 0.1542 + 0.1506 +
    // 0.1472 = 6.9389; the sixth from here passes 7 (7.0829).
    for n in 12..18 {
        assert_eq!(ends.window() as u32, 6);
        ends.hear(n);
        window += 1.0 / window;
        assert_eq!(ends.window(), window);
    }
    assert!(ends.window() > 7.0 && ends.window() < 7.1);
    assert_eq!(ends.sender.in_flight(), 7);
}
