//! A flow with a window at one bottleneck. Not in the paper.
//!
//! What it may send ([`Paced`]) follows from what is acked: while bytes wait ACKs come more slowly, and after
//! the window has fallen none is sent until enough is acked. A window starts with as much as
//! fits into a round trip at r_init.

use std::collections::VecDeque;

use crate::acks::Acks;
use crate::heard::Line;
use crate::laws::Reaction;
use crate::pacing::Paced;

/// Shorter steps, in round trips, are rounding between two events: nothing is heard in them.
const SHORTEST: f64 = 1e-6;

/// The window of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    state: Paced,
    /// When the flow started, and what it sent in the round trip after that.
    start: f64,
    burst: f64,
    /// What is acked once [`Acks::since`] passes the ends of steps, and the number of the first of them.
    past: VecDeque<f64>,
    first: u64,
}

impl Window {
    /// Of a flow that has sent for a round trip since `start`: `sent` bytes, of which `waiting`
    /// wait behind others' at the instant `number`.
    pub(crate) fn new(
        reaction: Reaction,
        start: f64,
        sent: f64,
        waiting: f64,
        number: u64,
    ) -> Self {
        Window {
            state: Paced::after(reaction, sent),
            start,
            burst: sent - waiting,
            past: VecDeque::from([sent - waiting]),
            first: number,
        }
    }

    /// The bytes that the flow would send in a step.
    pub(crate) fn look(&self, acks: &Acks, line: &Line) -> f64 {
        let mut state = self.state;
        state.step(self.acked(acks, line), acks, line, f64::INFINITY)
    }

    /// The bytes that it sends in the step.
    pub(crate) fn take(&mut self, acks: &Acks, line: &Line) -> f64 {
        let acked = self.acked(acks, line);
        self.state.step(acked, acks, line, f64::INFINITY)
    }

    /// At the end of the step in which all is acked that was sent until the instant `number`, `waiting`
    /// bytes wait behind others'.
    pub(crate) fn note(&mut self, number: u64, waiting: f64) {
        while self.first < number && self.past.len() > 1 {
            self.past.pop_front();
            self.first += 1;
        }
        self.past.push_back(self.state.sent() - waiting);
    }

    /// What is acked at the end of the step.
    fn acked(&self, acks: &Acks, line: &Line) -> f64 {
        let since = &acks.since;
        if acks.span < SHORTEST * line.round_trip {
            return self.state.acked();
        }
        let acked = match since.step.checked_sub(self.first) {
            None => self.burst * ((since.at - self.start) / line.round_trip).clamp(0.0, 1.0),
            Some(i) => {
                let (i, last) = (i as usize, self.past.len() - 1);
                let (before, next) = (self.past[i.min(last)], self.past[(i + 1).min(last)]);
                before + (next - before) * since.part
            }
        };
        acked.max(self.state.acked())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acks::Moment;
    use crate::heard::{Mark, Sent};
    use crate::laws::Reacts;
    use crate::laws::dctcp::Dctcp;

    const LINE: Line = Line {
        capacity: 1000.0,
        round_trip: 1.0,
        packet: 1.0,
        counted: 1.0,
    };

    /// Shares of its window that a flow sends per tenth of a round trip. Marked is what is
    /// acked from 1 to 1.1 s; nothing waits.
    fn run(reaction: Reaction) -> Vec<f64> {
        let mut window = Window::new(reaction, 0.0, 1000.0, 0.0, 10);
        (1..=20)
            .map(|step| {
                let acks = Acks {
                    since: Moment {
                        at: 0.1 * step as f64,
                        step,
                        part: 0.0,
                    },
                    marked: step == 1,
                    ..Acks::of(0.1)
                };
                let sent = window.take(&acks, &LINE);
                window.note(step, 0.0);
                sent / (window.state.reaction.share() * 100.0)
            })
            .collect()
    }

    #[test]
    fn a_window_that_halves_is_silent_for_half_a_round_trip() {
        let sent = run(Reaction::Dctcp(Dctcp::new(1.0, 1.0 / 16.0, 1e-9, 0.01)));
        // But for one packet, a 50th of what it may send in a step: the ACK is of all of it.
        assert!(sent[..5].iter().sum::<f64>() < 0.02 + 1e-6, "{sent:?}");
        // What is acked then was sent at twice the rate, so pacing bounds it, but for nothing that
        // was acked while nothing was sent.
        assert!(
            sent[5..10].iter().all(|s| (s - 1.0).abs() < 1e-6),
            "{sent:?}"
        );
        assert!(
            sent[10..15].iter().all(|s| (s - 1.0).abs() < 0.01),
            "{sent:?}"
        );
    }

    /// All that a flow sends in a step it sends before the cut: what the cut was for is over with the first
    /// packet after all of that, and not with one in the middle of it.
    #[test]
    fn what_was_sent_until_a_window_changes_is_what_was_sent() {
        let sent = Sent {
            before: 100.0,
            part: 0.5,
            first: 40.0,
            rest: 0.0,
            packet: 1.0,
        };
        let mut mark = Mark::Now(0.5);
        mark.sent(&sent);
        assert!(
            matches!(mark, Mark::Byte(byte) if byte == 141.0),
            "{mark:?}"
        );
        let until: Vec<f64> = [0.0, 0.25, 0.75, 1.0].map(|share| sent.until(share)).into();
        assert_eq!(until, [100.0, 120.0, 140.0, 140.0]);
    }
}
