//! What a window loses that is paced: nearly the longest wait of a round trip, and not the mean.
//!
//! Packet i + W of a window of W packets leaves when packet i is acked, and no sooner than a packet's time after packet
//! i + W - 1. So one that is late makes all later ones late, and one that is early makes up for nothing. With the lag of
//! packet i behind the pace,
//!
//! ```text
//! lag(i + W) = max(lag(i + W - 1), lag(i) + wait(i)).
//! ```
//!
//! That is the longest way through a field of waits (last-passage percolation): of each round trip it takes one wait, and it
//! may go on to a longer one at the price of the part of a round trip until there. Let n packets of a window meet
//! another and wait between nothing and the longest for it, one as likely as the other. Who goes on to the next wait above
//! (1 - x) of the longest gains (1 - x / 2) of it per 1 + 1 / (n x) round trips. The best x is 2 / (1 + s) with
//! s^2 = 1 + 2 n, and so it gains (s - 1) / (s + 1) of the longest per round trip. Where few meet that is all waits of
//! a round trip together; where many do it is the longest. Waits that do not depend on each other gain some more, as
//! who goes on may also look ahead: the tests say how much.

/// How much a paced window loses per round trip, as a share of the longest wait, where so many of its packets wait.
#[inline]
pub(super) fn of_longest(meetings: f64) -> f64 {
    of(1.0, 1.0, meetings)
}

/// How much that is where the longest wait is a `slot` over `room`: one division for both.
#[inline]
pub(super) fn of(slot: f64, room: f64, meetings: f64) -> f64 {
    let root = (1.0 + 2.0 * meetings).sqrt();
    slot * (root - 1.0) / (room * (root + 1.0))
}

#[cfg(test)]
mod tests {
    use fctlab_core::random::{mix, unit_interval};

    use super::of_longest;

    /// The lag per round trip where each packet of a window waits with a chance of `busy`, evenly up to 1.
    fn simulated(window: usize, busy: f64) -> f64 {
        let mut seed = 1;
        let mut random = || {
            seed = mix(seed);
            unit_interval(seed)
        };
        let (mut lags, mut last) = (vec![0.0; window], 0.0);
        let rounds = 4000;
        for _ in 0..rounds {
            for lag in &mut lags {
                let wait = if random() < busy { random() } else { 0.0 };
                last = f64::max(last, *lag + wait);
                *lag = last;
            }
        }
        last / f64::from(rounds)
    }

    #[test]
    fn a_paced_window_loses_nearly_the_longest_wait() {
        for window in [12, 24, 120] {
            for busy in [0.02, 0.1, 0.3, 0.5, 0.9] {
                let (truth, told) = (simulated(window, busy), of_longest(window as f64 * busy));
                assert!(
                    told > 0.8 * truth && told < 1.02 * truth,
                    "{window} {busy}: {told} {truth}"
                );
                assert!(told > busy / 2.0, "more than the mean");
            }
        }
        assert_eq!(of_longest(0.0), 0.0);
    }

    #[test]
    fn where_few_meet_every_wait_counts() {
        let few = 1e-6;
        assert!((of_longest(few) / few - 0.5).abs() < 1e-5);
    }
}
