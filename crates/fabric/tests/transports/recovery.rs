//! SACK recovery (RFC 6675).

use fctlab_core::Time;
use fctlab_fabric::transports::sender::Transmit::Again;
use serde_json::json;

use super::{Ends, after_one_recovery, news, tcp};

#[test]
fn one_hole_is_filled_once_and_the_window_cut_once() {
    let mut ends = after_one_recovery();
    assert_eq!(
        (ends.sender.retransmissions(), ends.sender.timeouts()),
        (1, 0)
    );
    // The rest of the window: neither a second cut nor a second retransmission.
    for n in 8..12 {
        assert_eq!(ends.hear(n), news(n + 5..n + 6));
        assert_eq!(ends.window(), 6.0);
    }
    ends.hear(0);
    assert_eq!((ends.sender.retransmissions(), ends.sender.una()), (1, 12));
}

#[test]
fn two_duplicates_are_no_loss() {
    let mut ends = Ends::new(tcp(4), 4);
    ends.send();
    assert_eq!(ends.hear(1), []);
    assert_eq!(ends.hear(2), []);
    assert_eq!(ends.hear(0), []);
    assert_eq!(ends.hear(3), []);
    assert!(ends.sender.is_done());
    assert_eq!(ends.sender.retransmissions(), 0);
}

#[test]
fn many_holes_are_filled_in_one_recovery() {
    // 0, 2 and 4 of 10 are lost; the flow has no more packets.
    let mut ends = Ends::new(tcp(10), 10);
    ends.send();
    assert_eq!(ends.hear(1), []);
    assert_eq!(ends.hear(3), []);
    // 1, 3, 5 above 0: lost. 10 outstanding: window 5. In flight 10 - 3 - 1 = 6,
    // and the retransmission.
    assert_eq!(ends.hear(5), [Again(0)]);
    assert_eq!((ends.window(), ends.sender.in_flight()), (5.0, 7));
    // 3, 5, 6 above 2: lost. In flight: 7 - 1 (packet 6) - 1 (packet 2) = 5: full.
    assert_eq!(ends.hear(6), []);
    assert_eq!(ends.sender.in_flight(), 5);
    // 5, 6, 7 above 4: lost. 5 - 2 = 3: both holes go.
    assert_eq!(ends.hear(7), [Again(2), Again(4)]);
    assert_eq!(ends.sender.in_flight(), 5);
    // Nothing lost and nothing new is left. 8: 4 in flight. The rule for early
    // retransmissions (NextSeg 3) finds no packet below the highest that has
    // neither arrived nor been sent again.
    assert_eq!(ends.hear(8), []);
    assert_eq!(ends.hear(9), []);
    assert_eq!(ends.sender.in_flight(), 3);
    assert_eq!(ends.hear(0), []);
    assert_eq!(ends.sender.una(), 2);
    assert_eq!(ends.hear(2), []);
    assert_eq!(ends.hear(4), []);
    assert!(ends.sender.is_done());
    assert_eq!(
        (ends.sender.retransmissions(), ends.sender.timeouts()),
        (3, 0)
    );
    assert_eq!(ends.sender.in_flight(), 0);
}

#[test]
fn an_idle_window_retransmits_early_what_is_not_known_to_be_lost() {
    // 8 packets; 0 and 5 are lost. 1, 2, 3 declare 0 lost: 8 - 3 - 1 + 1 = 5 in
    // flight, window 4. 4: 4 in flight. 6: 3: one may be sent; no loss, nothing
    // new: packet 5, below the highest arrived (6), goes early (NextSeg 3) and
    // counts twice: 4 in flight.
    let mut ends = Ends::new(tcp(8), 8);
    ends.send();
    assert_eq!([ends.hear(1), ends.hear(2)], [vec![], vec![]]);
    assert_eq!(ends.hear(3), [Again(0)]);
    assert_eq!((ends.window(), ends.sender.in_flight()), (4.0, 5));
    assert_eq!(ends.hear(4), []);
    assert_eq!(ends.hear(6), [Again(5)]);
    assert_eq!(ends.sender.in_flight(), 4);
    assert_eq!(ends.hear(7), []);
    assert_eq!(ends.hear(0), []);
    // 5 is all that is missing, counted twice.
    assert_eq!((ends.sender.una(), ends.sender.in_flight()), (5, 2));
    ends.hear(5);
    assert!(ends.sender.is_done());
    assert_eq!(ends.sender.in_flight(), 0);
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let mut ends = Ends::new(tcp(10), 10);
    ends.send();
    ends.now = Time::from_ps(100_000_000);
    for n in [1, 2] {
        ends.hear(n);
    }
    assert_eq!(ends.hear(3), [Again(0)]);
    // The retransmission is lost; all others arrive and change nothing.
    for n in 4..10 {
        assert_eq!(ends.hear(n), []);
    }
    // Nothing was acknowledged cumulatively, so the timer runs since time 0: 1 ms.
    assert_eq!(ends.sender.deadline(), Time::from_ps(1_000_000_000));
    assert_eq!(ends.time_out(), [Again(0)]);
    // 10 outstanding: threshold 5, window 1 (RFC 5681, section 3.1).
    assert_eq!((ends.window(), ends.sender.timeouts()), (1.0, 1));
    assert_eq!(ends.hear(0), []);
    assert!(ends.sender.is_done());
    assert_eq!(ends.sender.retransmissions(), 2);
}

#[test]
fn a_lost_tail_waits_for_the_timer() {
    // 7, 8 and 9 of 10 are lost: nothing above them arrives.
    let mut ends = Ends::new(tcp(10), 10);
    ends.send();
    for n in 0..7 {
        assert_eq!(ends.hear(n), []);
    }
    assert_eq!(ends.time_out(), [Again(7)]);
    assert_eq!(ends.window(), 1.0);
    // 3 outstanding: threshold max(3 / 2, 2) = 2. The ACK makes the window 2.
    assert_eq!(ends.hear(7), [Again(8), Again(9)]);
    assert_eq!(ends.window(), 2.0);
    // From the threshold on, 1 / 2 per ACK.
    ends.hear(8);
    assert_eq!(ends.window(), 2.5);
    ends.hear(9);
    assert!(ends.sender.is_done());
    assert_eq!(
        (ends.sender.retransmissions(), ends.sender.timeouts()),
        (3, 1)
    );
}

#[test]
fn after_a_timeout_what_has_arrived_is_not_sent_again() {
    // 0, 1 and 5 of 10 are lost, and so is all of recovery: a timeout sends 0,
    // 1 and 5 and nothing else.
    let mut ends = Ends::new(
        json!({"kind": "tcp", "initial_window": "10pkt", "dupack_threshold": 100}),
        10,
    );
    ends.send();
    for n in [2, 3, 4, 6, 7, 8, 9] {
        assert_eq!(ends.hear(n), []);
    }
    assert_eq!(ends.time_out(), [Again(0)]);
    assert_eq!(ends.hear(0), [Again(1), Again(5)]);
    ends.hear(1);
    ends.hear(5);
    assert!(ends.sender.is_done());
    assert_eq!(ends.sender.retransmissions(), 3);
}
