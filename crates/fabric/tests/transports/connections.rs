//! What TCP of the ns-2 experiments of pFabric and PIAS does differently: windows
//! limit sequence numbers, connections have had flows before or have to be opened,
//! echoes grow windows, and holes are sent again after a cut.

use fctlab_core::Time;
use fctlab_fabric::transports::receiver::Receiver;
use fctlab_fabric::transports::sender::Sender;
use fctlab_fabric::transports::sender::Transmit::{Again, New, Probe};
use serde_json::{Value, json};

use super::{Ends, news, rule_of};

/// A window of 4 at most, duplicate ACKs ignored.
fn stalling(limits: &str) -> Ends {
    let spec = json!({
        "kind": "mintcp", "initial_window": "4pkt", "max_window": "4pkt", "window_limits": limits,
    });
    Ends::new(spec, 1000)
}

#[test]
fn a_window_of_sequence_numbers_ends_behind_a_hole() {
    // Packet 0 is lost. Counted in flight, each of the others makes room for one more.
    let mut ends = stalling("in-flight");
    assert_eq!(ends.send(), news(0..4));
    for n in 1..20 {
        assert_eq!(ends.hear(n), news(n + 3..n + 4));
    }
    // As sequence numbers, the window ends with packet 3 until 0 is acknowledged.
    let mut ends = stalling("sequence");
    assert_eq!(ends.send(), news(0..4));
    for n in 1..4 {
        assert_eq!(ends.hear(n), []);
    }
    assert_eq!(ends.sender.in_flight(), 1);
    assert_eq!(ends.time_out(), [Again(0)]);
    assert_eq!(ends.hear(0), news(4..6)); // slow start: 2
    assert_eq!(ends.hear(4), news(6..7)); // threshold 2: 2.5
}

#[test]
fn what_is_sent_again_is_within_the_window_too() {
    // 0 and 3 of 4 are lost. After the timeout the window is 1, from packet 0 on: 3 has to
    // wait until the cumulative ACK is there, though nothing else is in flight.
    let mut ends = stalling("sequence");
    ends.send();
    assert_eq!((ends.hear(1), ends.hear(2)), (vec![], vec![]));
    assert_eq!(ends.time_out(), [Again(0)]);
    assert_eq!(ends.hear(0), [Again(3), New(4)]);
}

#[test]
fn a_connection_is_opened_by_a_header_and_its_answer() {
    let mut ends = Ends::new(json!({"kind": "mintcp", "initial_window": "8pkt"}), 1000);
    ends.sender.open();
    assert_eq!(ends.send(), [Probe]);
    assert_eq!(ends.rto_us(), 300.0);
    // Lost: another, after a timeout that says nothing about the window.
    assert_eq!(ends.time_out(), [Probe]);
    assert_eq!(ends.window(), 8.0);
    let ack = ends.receiver.on_probe();
    assert_eq!(ends.ack(ack, false, ends.now), news(0..8));
    assert_eq!(
        (ends.sender.timeouts(), ends.sender.retransmissions()),
        (1, 0)
    );
    assert_eq!(ends.hear(0), news(8..10));
}

#[test]
fn a_mark_on_what_opens_a_connection_shrinks_no_window() {
    // RFC 3168, section 6.1.1: a SYN is not ECN-capable.
    let mut ends = Ends::new(json!({"kind": "dctcp", "initial_window": "8pkt"}), 1000);
    ends.sender.open();
    ends.send();
    let ack = ends.receiver.on_probe();
    assert_eq!(ends.ack(ack, true, ends.now), news(0..8));
    assert_eq!(ends.sender.alpha(), Some(1.0));
}

#[test]
fn the_answer_that_opens_a_connection_is_an_rtt_sample() {
    // RFC 6298: SRTT = R, RTTVAR = R / 2, RTO = 3 R.
    let spec = json!({"kind": "tcp", "min_rto": "10us", "initial_rto": "3ms"});
    let mut ends = Ends::new(spec, 1000);
    ends.sender.open();
    ends.send();
    ends.now = Time::from_ps(200_000_000);
    let ack = ends.receiver.on_probe();
    ends.ack(ack, false, Time::ZERO);
    // Stamps count in units of 1.024 ns.
    assert!((ends.rto_us() - 600.0).abs() < 0.006);
}

/// The second flow of a connection whose first, of two packets, has had its first packet marked.
fn second(transport: Value) -> Ends {
    let mut ends = Ends::new(transport.clone(), 2);
    ends.send();
    ends.hear_marked(0, true);
    ends.hear(1);
    assert!(ends.sender.is_done());
    let kept = ends.sender.keep(&ends.config);
    let rule = rule_of(&transport, &ends.config);
    ends.sender = Sender::new(1000, rule, &ends.config);
    ends.sender.resume(kept, &ends.config);
    ends.sender.make_available(ends.now, 1000, &ends.config);
    ends.receiver = Receiver::default();
    ends
}

#[test]
fn a_second_flow_has_the_threshold_and_alpha_of_the_first() {
    let dctcp = json!({"kind": "dctcp", "initial_window": "10pkt", "g": 0.0625});
    let mut ends = second(dctcp);
    // The window is the initial one: the mark had made it 10 x (1 - 1 / 2) = 5, and the
    // threshold with it, so that it grows by a packet per window from the first ACK on.
    assert_eq!((ends.window(), ends.sender.alpha()), (10.0, Some(1.0)));
    assert_eq!(ends.send(), news(0..10));
    ends.hear(0);
    assert_eq!(ends.window(), 10.1);
    // The estimate goes on: no marks among the packets since the last one, 1 - 1 / 16.
    assert_eq!(ends.sender.alpha(), Some(0.9375));
    // A mark of the new flow counts at once: 10.1 x (1 - 0.9375 / 2).
    ends.hear_marked(1, true);
    assert_eq!(ends.window(), 10.1 * (1.0 - 0.9375 / 2.0));
}

#[test]
fn transports_keep_what_they_have_learned() {
    for (kind, alpha) in [("l2dct", Some(1.0)), ("ascc", Some(1.0)), ("tcp", None)] {
        let mut spec = json!({"kind": kind, "initial_window": "10pkt"});
        if kind == "ascc" {
            spec["adjust_window_when_complete"] = json!(false);
        }
        let mut ends = second(spec);
        assert_eq!(
            (ends.window(), ends.sender.alpha()),
            (10.0, alpha),
            "{kind}"
        );
        ends.send();
        ends.hear(0);
        // TCP has no threshold from a mark.
        let grown = if kind == "tcp" { 11.0 } else { 10.1 };
        assert_eq!(ends.window(), grown, "{kind}");
    }
}

#[test]
fn all_echoes_but_the_first_of_a_run_grow_the_window() {
    let windows = |echoes: &str| {
        let spec = json!({
            "kind": "dctcp", "initial_window": "4pkt", "initial_alpha": 0.0, "g": 0.0625,
            "echoes": echoes,
        });
        let mut ends = Ends::new(spec, 1000);
        ends.send();
        // Not marked: slow start, 5. Marked: alpha is 0, so 5 stays, and is the threshold.
        [false, true, true, true, false, true]
            .into_iter()
            .enumerate()
            .map(|(n, marked)| {
                ends.hear_marked(n as u32, marked);
                ends.window()
            })
            .collect::<Vec<_>>()
    };
    let more = |w: f64| w + 1.0 / w;
    assert_eq!(windows("hold"), [5.0, 5.0, 5.0, 5.0, more(5.0), more(5.0)]);
    let three = more(more(more(5.0)));
    assert_eq!(
        windows("grow"),
        [5.0, 5.0, more(5.0), more(more(5.0)), three, three]
    );
}

#[test]
fn echoes_of_duplicate_acks_shrink_no_window_there() {
    let after = |echoes: &str| {
        let spec = json!({
            "kind": "dctcp", "initial_window": "4pkt", "initial_alpha": 1.0, "echoes": echoes,
        });
        let mut ends = Ends::new(spec, 1000);
        ends.send();
        ends.hear_marked(1, true); // 0 is missing
        ends.window()
    };
    assert_eq!((after("hold"), after("grow")), (2.0, 4.0));
}

/// DCTCP that ignores duplicate ACKs; a first mark makes alpha 1/16 and the window 7.75.
fn deaf(holes: &str) -> Ends {
    let spec = json!({
        "kind": "dctcp", "initial_window": "8pkt", "initial_alpha": 0.0, "fast_retransmit": false,
        "max_window": "8pkt", "holes": holes,
    });
    let mut ends = Ends::new(spec, 1000);
    assert_eq!(ends.send(), news(0..8));
    ends
}

#[test]
fn after_a_cut_each_hole_is_sent_again_once() {
    // The mark of 0 cuts for 0 to 7; 1 and 3 are missing.
    let mut ends = deaf("after-cut");
    assert_eq!(ends.hear_marked(0, true), []);
    assert_eq!(ends.hear(2), [Again(1), New(8)]);
    assert_eq!(ends.hear(4), [Again(3), New(9)]);
    assert_eq!(ends.hear(5), news(10..11)); // neither a second time
    assert_eq!(ends.sender.timeouts(), 0);
    // Without, both wait for the timer.
    let mut ends = deaf("detected");
    ends.hear_marked(0, true);
    for n in [2, 4, 5] {
        assert!(ends.hear(n).iter().all(|sent| matches!(sent, New(_))));
    }
}

#[test]
fn beyond_what_the_cut_was_for_holes_wait() {
    // All of 0 to 7 arrives, and 9 is missing: nothing of it was in flight at the mark.
    let mut ends = deaf("after-cut");
    ends.hear_marked(0, true);
    for n in 1..9 {
        ends.hear(n);
    }
    for n in 10..14 {
        assert!(ends.hear(n).iter().all(|sent| matches!(sent, New(_))));
    }
}
