//! What switches write into packets (INT, for HPCC): what each link has sent, and what waits at it.

use fctlab_link::{Line, Load};

use super::clock::{end_of, step_at};
use super::histories::{Histories, Stamped};

/// A link at the end of a step, and the step.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    step: u64,
    seen: Seen,
}

impl Stamped for Known {
    fn step(&self) -> u64 {
        self.step
    }
}

/// What a link said at some time: bytes over what it can send in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// All that it has sent, and what waits.
    pub sent: f64,
    pub waiting: f64,
}

/// What all links say, for as long as packets bring it. Times are in steps.
#[derive(Debug)]
pub(super) struct Telemetry {
    last: Vec<Known>,
    past: Histories<Known>,
}

impl Telemetry {
    /// Of so many links that have sent nothing.
    pub(super) fn new(links: usize) -> Self {
        Telemetry {
            last: vec![Known::default(); links],
            past: Histories::new(links),
        }
    }

    /// In the step that ends at `now` the link sends so much, and so much waits then.
    pub(super) fn note(&mut self, link: u32, now: u64, sent: f64, waiting: f64) {
        let last = &mut self.last[link as usize];
        let known = Known {
            step: now,
            seen: Seen {
                sent: last.seen.sent + sent,
                waiting,
            },
        };
        let before = std::mem::replace(last, known);
        let end = now - 1;
        if before.step < end {
            // It has sent nothing in between; of that nobody asks for more than the end.
            let seen = Seen {
                waiting: 0.0,
                ..before.seen
            };
            self.past.put(link, Known { step: end, seen });
        }
        self.past.put(link, known);
    }

    /// What the link said at `time`, at which a flow under way passed it.
    pub(super) fn at(&self, link: u32, time: f64) -> Seen {
        let step = step_at(time);
        let (before, after) = (self.end_of(link, step), self.end_of(link, step + 1));
        let mix = |a: f64, b: f64| a + (time - end_of(step)) * (b - a);
        Seen {
            sent: mix(before.sent, after.sent),
            waiting: mix(before.waiting, after.waiting),
        }
    }

    fn end_of(&self, link: u32, step: u64) -> Seen {
        let last = &self.last[link as usize];
        self.past.at(link, step).map_or(
            Seen {
                waiting: 0.0,
                ..last.seen
            },
            |known| known.seen,
        )
    }

    /// Keeps at least the last `steps` steps from now on.
    pub(super) fn keep(&mut self, steps: u64) {
        self.past.keep(steps);
    }
}

/// Of the links of a path the one with the highest load between what is acked first in a step and what is last, as
/// HPCC's senders find it (Li et al., algorithm 1, `MeasureInflight`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Busiest {
    load: f64,
    elapsed: f64,
    seen: (Seen, Seen),
}

impl Busiest {
    /// A link had `seen` that, so much later.
    pub(super) fn look(&mut self, elapsed: f64, seen: (Seen, Seen), line: &Line) {
        if elapsed <= 0.0 {
            return;
        }
        let (before, after) = seen;
        let waiting = before.waiting.min(after.waiting);
        let load = (after.sent - before.sent) / elapsed + waiting / line.round_trip;
        if load > self.load {
            *self = Busiest {
                load,
                elapsed,
                seen,
            };
        }
    }

    /// That link's part of one that is the busiest always, which had written `last`.
    pub(super) fn load(&self, last: Load, line: &Line) -> (Load, Load) {
        let (before, after) = self.seen;
        let from = Load {
            waiting: before.waiting / line.round_trip,
            ..last
        };
        let to = Load {
            at: from.at + self.elapsed,
            busy: from.busy + after.sent - before.sent,
            waiting: after.waiting / line.round_trip,
        };
        (from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_link_said_lies_between_ends_of_steps() {
        let mut telemetry = Telemetry::new(2);
        telemetry.note(1, 3, 10.0, 4.0);
        telemetry.note(1, 4, 20.0, 0.0);
        telemetry.note(1, 9, 5.0, 2.0);
        let at = |telemetry: &Telemetry, time| {
            let seen = telemetry.at(1, time);
            (seen.sent, seen.waiting)
        };
        assert_eq!(at(&telemetry, 3.5), (20.0, 2.0));
        // Nothing is sent from step 5 to 8.
        assert_eq!(at(&telemetry, 8.0), (30.0, 0.0));
        assert_eq!(at(&telemetry, 8.5), (32.5, 1.0));
        assert_eq!(at(&telemetry, 12.0), (35.0, 0.0));
        assert_eq!(telemetry.at(0, 3.5).sent, 0.0);
    }
}
