//! DCTCP (RFC 8257, section 3.3).

use fctlab_fabric::transports::sender::Transmit::Again;
use serde_json::{Value, json};

use super::{Ends, news};

fn dctcp(window: u32, alpha: f64) -> Value {
    json!({
        "kind": "dctcp", "initial_window": format!("{window}pkt"), "g": 0.0625,
        "initial_alpha": alpha, "min_rto": "1ms",
    })
}

#[test]
fn alpha_follows_the_share_of_marks_per_window() {
    // Window fixed at 4 by the largest window, alpha from 1, g = 1/16.
    let mut spec = dctcp(4, 1.0);
    spec["max_window"] = json!("4pkt");
    let mut ends = Ends::new(spec, 1000);
    ends.send();
    let alpha = |ends: &Ends| ends.sender.alpha().unwrap();
    // The first ACK closes the empty first window: F = 0 of 1: 15/16. The next
    // window ends beyond packet 3 (4 had been sent), that is with packet 4's ACK.
    ends.hear(0);
    assert_eq!(alpha(&ends), 0.9375);
    for n in 1..4 {
        ends.hear(n);
        assert_eq!(alpha(&ends), 0.9375);
    }
    // Packets 1 to 4: F = 0: 15/16 x 15/16 = 0.87890625. 8 had been sent.
    ends.hear(4);
    assert_eq!(alpha(&ends), 0.878_906_25);
    // Packets 5 to 8, two of them marked: F = 1/2: 0.87890625 x 15/16 + 1/32.
    ends.hear_marked(5, true);
    ends.hear_marked(6, true);
    ends.hear(7);
    assert_eq!(alpha(&ends), 0.878_906_25);
    ends.hear(8);
    assert_eq!(alpha(&ends), 0.878_906_25 * 0.9375 + 0.03125);
}

/// A mark for each of the packets `from..to`, all in one window of data.
fn mark_all(ends: &mut Ends, from: u32, to: u32) -> Vec<f64> {
    (from..to)
        .map(|n| {
            ends.hear_marked(n, true);
            ends.window()
        })
        .collect()
}

#[test]
fn one_cut_per_window_of_data() {
    // Alpha 1, window 16, all of packets 0 to 15 marked: one cut for all of
    // them, 16 x (1 - 1/2) = 8, on the first ACK. (F = 1 of 1 keeps alpha 1.)
    let mut ends = Ends::new(dctcp(16, 1.0), 1000);
    assert_eq!(ends.send(), news(0..16));
    let windows = mark_all(&mut ends, 0, 16);
    assert_eq!(windows, [8.0; 16]);
    // 8 packets were sent since: 16 to 23. The first of them, marked, is of the
    // next window of data: 8 x (1 - 1/2) = 4, once.
    let windows = mark_all(&mut ends, 16, 24);
    assert_eq!(windows, [4.0; 8]);
    // Then 2, which is the least.
    assert_eq!(mark_all(&mut ends, 24, 28), [2.0; 4]);
    assert_eq!(mark_all(&mut ends, 28, 30), [2.0; 2]);
}

#[test]
fn the_cut_follows_alpha() {
    // Alpha from 0: packet 0, marked, closes a window with F = 1: alpha = 1/16,
    // window 16 x (1 - 1/32) = 15.5.
    let mut ends = Ends::new(dctcp(16, 0.0), 1000);
    ends.send();
    ends.hear_marked(0, true);
    assert_eq!((ends.sender.alpha(), ends.window()), (Some(0.0625), 15.5));
    // The cut ended slow start: an unmarked ACK adds 1 / 15.5.
    assert_eq!(ends.sender.in_flight(), 15);
    ends.hear(1);
    assert_eq!(ends.window(), 15.5 + 1.0 / 15.5);
}

#[test]
fn marked_acks_do_not_grow_the_window() {
    let mut ends = Ends::new(dctcp(4, 0.0), 1000);
    ends.send();
    // Alpha = 1/16 with the first: 4 x (1 - 1/32) = 3.875. Then no growth.
    assert_eq!(mark_all(&mut ends, 0, 4), [3.875; 4]);
}

#[test]
fn dctcp_halves_on_a_loss() {
    // RFC 8257, section 3.5: as TCP. 12 outstanding when the third packet above
    // the hole arrives: 6.
    let mut ends = Ends::new(dctcp(10, 0.0), 1000);
    ends.send();
    ends.hear(1);
    ends.hear(2);
    assert_eq!(ends.hear(3), [Again(0)]);
    assert_eq!(ends.window(), 6.0);
    // A mark during recovery is no second cut.
    ends.hear_marked(4, true);
    assert_eq!(ends.window(), 6.0);
    let mut ends = Ends::new(dctcp(10, 0.0), 10);
    ends.send();
    assert_eq!(ends.time_out(), [Again(0)]);
    assert_eq!(ends.window(), 1.0);
}
