//! minTCP (pFabric, SIGCOMM 2013, section 4.2).

use fctlab_core::Time;
use fctlab_fabric::transports::sender::Transmit::{Again, New, Probe};
use serde_json::json;

use super::{Ends, news};

/// 3 base RTTs of 100 us.
const RTO_US: f64 = 300.0;

#[test]
fn mintcp_starts_at_one_bdp_and_ignores_duplicates() {
    // 10 Gbps x 100 us = 125 KB = 83.3 packets: 84.
    let mut ends = Ends::new(json!("mintcp"), 84);
    assert_eq!(ends.send(), news(0..84));
    assert_eq!(ends.rto_us(), RTO_US);
    // Packet 0 is lost; 83 ACKs of later packets retransmit nothing and change no window.
    for n in 1..84 {
        assert_eq!(ends.hear(n), []);
    }
    assert_eq!(ends.window(), 84.0);
    // The timer: only packet 0 is missing, and only that is sent.
    assert_eq!(ends.time_out(), [Again(0)]);
    assert_eq!(ends.window(), 1.0);
    assert_eq!(ends.rto_us(), RTO_US);
    ends.hear(0);
    assert!(ends.sender.is_done());
}

#[test]
fn mintcp_slow_starts_to_half_the_window_after_a_timeout() {
    // All of a window of 8 is lost: threshold 4, window 1.
    let mut ends = Ends::new(json!({"kind": "mintcp", "initial_window": "8pkt"}), 1000);
    ends.send();
    assert_eq!(ends.time_out(), [Again(0)]);
    assert_eq!(ends.hear(0), [Again(1), Again(2)]); // window 2
    assert_eq!(ends.hear(1), [Again(3), Again(4)]); // 3
    assert_eq!(ends.hear(2), [Again(5), Again(6)]); // 4
    assert_eq!(ends.hear(3), [Again(7)]); // 4.25
    assert_eq!(ends.window(), 4.25);
    assert_eq!(ends.hear(4), [New(8)]);
}

#[test]
fn mintcp_probes_after_five_timeouts_in_a_row() {
    let mut ends = Ends::new(json!({"kind": "mintcp", "initial_window": "8pkt"}), 1000);
    ends.send();
    for timeout in 1..5 {
        assert_eq!(ends.time_out(), [Again(0)], "timeout {timeout}");
        assert_eq!(ends.now, Time::from_ps(timeout * 300_000_000)); // no backoff
        assert!(!ends.sender.is_probing(&ends.config));
    }
    // The fifth and all later ones: one probe each, no data.
    for timeout in 5..9 {
        assert_eq!(ends.time_out(), [Probe], "timeout {timeout}");
        assert_eq!(ends.send(), []);
        assert!(ends.sender.is_probing(&ends.config));
    }
    assert_eq!(
        (ends.sender.timeouts(), ends.sender.retransmissions()),
        (8, 4)
    );
    // A probe's ACK says nothing new; the flow leaves probe mode in slow start
    // from a window of 1.
    let ack = ends.receiver.on_probe();
    assert_eq!(ends.ack(ack, false, Time::ZERO), [Again(0)]);
    assert!(!ends.sender.is_probing(&ends.config));
    // The threshold is at its least, 2, after so many timeouts.
    assert_eq!(ends.hear(0), [Again(1), Again(2)]);
    assert_eq!(ends.window(), 2.0);
    // Five in a row are counted anew.
    for _ in 0..4 {
        assert_eq!(ends.time_out(), [Again(1)]);
    }
    assert_eq!(ends.time_out(), [Probe]);
}

#[test]
fn a_late_ack_of_data_ends_probe_mode_too() {
    let mut ends = Ends::new(json!({"kind": "mintcp", "initial_window": "8pkt"}), 8);
    ends.send();
    for _ in 0..4 {
        ends.time_out();
    }
    assert_eq!(ends.time_out(), [Probe]);
    // Packet 3, long presumed lost, had arrived after all.
    assert_eq!(ends.hear(3), [Again(0)]);
    assert!(!ends.sender.is_probing(&ends.config));
    // The next timeout is the first of a new row.
    assert_eq!(ends.time_out(), [Again(0)]);
}

#[test]
fn a_probe_that_is_no_longer_needed_is_not_sent() {
    // The NIC is full when the fifth timeout comes, so that the probe waits; an
    // ACK that says nothing new ends probe mode before it goes.
    let mut ends = Ends::new(json!({"kind": "mintcp", "initial_window": "2pkt"}), 8);
    ends.send();
    for _ in 0..4 {
        ends.time_out();
    }
    ends.now = ends.sender.deadline();
    ends.sender.on_timer(ends.now, &ends.config);
    let ack = ends.receiver.on_probe();
    assert_eq!(ends.ack(ack, false, Time::ZERO), [Again(0)]);
    assert_eq!(ends.send(), []);
}
