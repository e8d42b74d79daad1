//! Windows that are reached over a round trip (RFC 6937).

use fctlab_fabric::transports::sender::Transmit::{self, Again, New};
use serde_json::json;

use super::{Ends, news};

fn prr(kind: &str, window: u32) -> Ends {
    let spec = json!({
        "kind": kind, "initial_window": format!("{window}pkt"), "reduction": "prr", "min_rto": "1ms",
    });
    Ends::new(spec, 1000)
}

/// What each ACK of the packets `from..to` lets out.
fn sends(ends: &mut Ends, from: u32, to: u32, marked: bool) -> Vec<usize> {
    let heard = (from..to).map(|n| ends.hear_marked(n, marked).len());
    heard.collect()
}

#[test]
fn a_mark_lets_every_other_ack_send_for_a_round_trip() {
    let mut ends = prr("dctcp", 16);
    ends.send();
    // Alpha is 1: 16 becomes 8. At once, half a round trip would be silent.
    // The last two fill the new window, which the pipe has reached by then.
    assert_eq!(sends(&mut ends, 0, 14, true), [1, 0].repeat(7));
    assert_eq!(sends(&mut ends, 14, 16, true), [0, 1]);
    assert_eq!((ends.window(), ends.sender.in_flight()), (8.0, 8));
}

#[test]
fn no_window_grows_before_a_later_packet_is_acknowledged() {
    let mut ends = prr("dctcp", 16);
    ends.send();
    ends.hear_marked(0, true);
    // 17 have been sent: 0 to 16, of which the last one went out on that ACK.
    sends(&mut ends, 1, 16, false);
    assert_eq!(ends.window(), 8.0);
    ends.hear(16);
    assert_eq!(ends.window(), 8.0 + 1.0 / 8.0);
    // The next mark begins another: 8.125 (1 - alpha / 2), alpha (15/16)^3.
    ends.hear_marked(17, true);
    assert!((4.0..5.0).contains(&ends.window()));
}

#[test]
fn a_loss_is_recovered_at_the_rate_of_the_new_window() {
    let mut ends = prr("tcp", 20);
    ends.send();
    assert_eq!(ends.hear(1), news(20..21));
    assert_eq!(ends.hear(2), news(21..22));
    // 22 are outstanding: 11. Step 4.3 of RFC 6675, section 5, sends the hole at once.
    assert_eq!(ends.hear(3), [Again(0)]);
    assert_eq!(ends.window(), 11.0);
    let new = |sent: &Transmit| matches!(sent, New(_));
    let heard: Vec<_> = (4..22).flat_map(|n| ends.hear(n)).collect();
    assert!(heard.iter().all(new));
    // 19 were in flight, 18 have arrived: 10 more fill the new window.
    assert_eq!((heard.len(), ends.sender.in_flight()), (10, 11));
}

#[test]
fn a_timeout_ends_it() {
    let mut ends = prr("dctcp", 16);
    ends.send();
    ends.hear_marked(0, true);
    assert_eq!(ends.time_out(), [Again(1)]);
    assert_eq!(ends.window(), 1.0);
    assert_eq!(ends.hear(1), [Again(2), Again(3)]);
}
