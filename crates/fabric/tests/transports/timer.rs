//! The timer (RFC 6298).

use fctlab_core::Time;
use fctlab_fabric::transports::sender::Transmit::Again;
use serde_json::json;

use super::{Ends, tcp};

#[test]
fn the_timer_follows_rfc_6298() {
    let spec = json!({
        "kind": "tcp", "initial_window": "1pkt", "min_rto": "10us", "initial_rto": "3ms",
        "max_rto": "6ms", "max_window": "1pkt",
    });
    let mut ends = Ends::new(spec, 100);
    ends.send();
    assert_eq!(ends.rto_us(), 3000.0); // (2.1), here 3 ms
    // First sample R = 102.4 us (stamps count 1.024 ns): SRTT = R, RTTVAR = R / 2,
    // RTO = R + 4 R / 2 = 3 R = 307.2 us (2.2).
    ends.now = Time::from_ps(102_400_000);
    let ack = ends.receiver.on_data(0);
    ends.ack(ack, false, Time::ZERO);
    assert_eq!(ends.rto_us(), 307.2);
    // Second sample R = 204.8 us: RTTVAR = 3/4 x 51.2 + 1/4 x |102.4 - 204.8| =
    // 64 us; SRTT = 7/8 x 102.4 + 1/8 x 204.8 = 115.2 us; RTO = 115.2 + 256 (2.3).
    let sent_at = ends.now;
    ends.now = Time::from_ps(307_200_000);
    let ack = ends.receiver.on_data(1);
    ends.ack(ack, false, sent_at);
    assert_eq!(ends.rto_us(), 371.2);
    // Each timeout doubles it (5.5), up to the largest.
    for expected in [742.4, 1484.8, 2969.6, 5939.2, 6000.0, 6000.0] {
        assert_eq!(ends.time_out(), [Again(2)]);
        assert_eq!(ends.rto_us(), expected);
    }
    // An ACK of new data: a new sample, no doubling. R = 115.2 us = SRTT: RTTVAR
    // = 3/4 x 64 = 48, RTO = 115.2 + 192.
    let sent_at = ends.now;
    ends.now = Time::from_ps(sent_at.ps() + 115_200_000);
    let ack = ends.receiver.on_data(2);
    ends.ack(ack, false, sent_at);
    // Stamps are rounded down to 1.024 ns at both ends: within one unit of R,
    // of which 1/8 + 4 x 1/4 enter.
    assert!((ends.rto_us() - 307.2).abs() < 0.002, "{}", ends.rto_us());
}

#[test]
fn the_smallest_timeout_holds() {
    let mut ends = Ends::new(tcp(1), 100);
    ends.send();
    assert_eq!(ends.rto_us(), 1000.0);
    ends.now = Time::from_ps(100_000_000);
    ends.hear(0); // 3 x 100 us is less than 1 ms
    assert_eq!(ends.rto_us(), 1000.0);
}

#[test]
fn the_smallest_timeout_may_be_above_the_rtt() {
    let mut spec = tcp(1);
    spec["rto"] = json!("above-rtt");
    let mut ends = Ends::new(spec, 100);
    ends.send();
    assert_eq!(ends.rto_us(), 1000.0);
    // SRTT = R = 102.4 us; 4 x R / 2 is less than 1 ms.
    ends.now = Time::from_ps(102_400_000);
    let ack = ends.receiver.on_data(0);
    ends.ack(ack, false, Time::ZERO);
    assert_eq!(ends.rto_us(), 1102.4);
}

#[test]
fn only_a_cumulative_ack_restarts_the_timer() {
    let mut ends = Ends::new(tcp(4), 4);
    ends.send();
    ends.now = Time::from_ps(200_000_000);
    ends.hear(2);
    assert_eq!(ends.sender.deadline(), Time::from_ps(1_000_000_000));
    ends.hear(0);
    assert_eq!(ends.sender.deadline(), Time::from_ps(1_200_000_000));
}
