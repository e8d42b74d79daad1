//! What ACKs tell the senders of one queue.
//!
//! What leaves the bottleneck is acked one round trip later (2 tau, on the senders' clock). A queue
//! remembers what came in and what left in the steps that are not acked yet, so that it is
//! known when that was sent which is acked now, and what switches wrote on it when it left: a mark, as
//! ECN does, or the load, as HPCC's telemetry.

use std::collections::VecDeque;

/// What ACKs bring in a step, the same for all flows of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acks {
    /// When the step ends, and how long it is, in seconds.
    pub end: f64,
    pub span: f64,
    /// At the end of the step all is acked that was sent until then; under fair queueing, where
    /// flows do not wait for each other, all that was served until then.
    pub since: f64,
    /// What is marked of that which is acked in the step.
    pub marks: Marks,
    /// The queue when that left which is acked at the beginning and at the end of the step.
    pub from: Instant,
    pub to: Instant,
}

/// Marks in a step: which share of what is acked has one, after which share of the step the first
/// of them comes, and after which the last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Marks {
    pub share: f64,
    pub first: f64,
    pub last: f64,
}

impl Marks {
    /// The part of the marks that comes in the first `part` of the step.
    pub fn until(&self, part: f64) -> f64 {
        match self.last > self.first {
            true => ((part - self.first) / (self.last - self.first)).clamp(0.0, 1.0),
            false => f64::from(u8::from(part >= self.last)),
        }
    }
}

/// A queue at the end of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Instant {
    pub at: f64,
    /// Bytes that had come, had left, and had left marked, since the beginning.
    pub arrived: f64,
    pub served: f64,
    pub marked: f64,
    /// The integral of the rate at which bytes left, over what flows may count on: seconds.
    pub busy: f64,
    /// Bytes that wait, over a BDP at what flows may count on.
    pub waiting: f64,
}

impl Instant {
    /// self + share x (other - self).
    fn towards(self, other: Instant, share: f64) -> Instant {
        let mix = |a: f64, b: f64| a + share * (b - a);
        Instant {
            at: mix(self.at, other.at),
            arrived: mix(self.arrived, other.arrived),
            served: mix(self.served, other.served),
            marked: mix(self.marked, other.marked),
            busy: mix(self.busy, other.busy),
            waiting: mix(self.waiting, other.waiting),
        }
    }
}

/// The past of one queue, as far as it is not acked.
#[derive(Debug, Default)]
pub(crate) struct Past {
    instants: VecDeque<Instant>,
}

impl Past {
    /// Keeps what comes after `now` and nothing else.
    pub fn restart(&mut self, now: Instant) {
        self.instants.clear();
        self.instants.push_back(now);
    }

    /// A step is over.
    pub fn push(&mut self, now: Instant, round_trip: f64) {
        let since = self.sent(now.at - round_trip);
        while self.instants.get(1).is_some_and(|i| i.at <= since) {
            self.instants.pop_front();
        }
        self.instants.push_back(now);
    }

    /// The last step's end.
    pub fn last(&self) -> Instant {
        self.instants.back().copied().unwrap_or_default()
    }

    /// What is heard in the step that ends at `end` and is `span` long.
    pub fn acks(&self, end: f64, span: f64, round_trip: f64, fair: bool) -> Acks {
        let left = end - round_trip;
        let (from, to) = (self.at(left - span), self.at(left));
        let mut marks = Marks::default();
        if to.marked > from.marked {
            let part = |at: f64| ((at - from.at) / (to.at - from.at)).clamp(0.0, 1.0);
            let bytes = to.marked - from.marked;
            marks = Marks {
                share: (bytes / (to.served - from.served)).min(1.0),
                first: part(self.passing(from.marked, |i| i.marked).at),
                last: part(self.reaching(to.marked, |i| i.marked).at),
            };
        }
        Acks {
            end,
            span,
            since: if fair { left } else { self.sent(left) },
            marks,
            from,
            to,
        }
    }

    /// When that was sent which had been served at `at`; since the beginning at the earliest.
    fn sent(&self, at: f64) -> f64 {
        let then = self.at(at);
        match then.arrived > then.served {
            true => self.passing(then.served, |i| i.arrived).at.min(at),
            false => then.at.min(at), // nothing waited
        }
    }

    /// How things were at `at`.
    fn at(&self, at: f64) -> Instant {
        self.passing(at, |i| i.at)
    }

    /// How things were when `key`, which never falls, came to more than `value`.
    fn passing(&self, value: f64, key: impl Fn(&Instant) -> f64) -> Instant {
        let after = self.instants.partition_point(|i| key(i) <= value);
        self.between(after, value, key)
    }

    /// How things were when `key`, which never falls, came to `value`.
    fn reaching(&self, value: f64, key: impl Fn(&Instant) -> f64) -> Instant {
        let after = self.instants.partition_point(|i| key(i) < value);
        self.between(after, value, key)
    }

    /// Where `key` is `value`, between the instant `after` and the one before it.
    fn between(&self, after: usize, value: f64, key: impl Fn(&Instant) -> f64) -> Instant {
        let Some(&before) = self.instants.get(after.saturating_sub(1)) else {
            return Instant::default();
        };
        match self.instants.get(after) {
            Some(&next) if after > 0 => {
                before.towards(next, (value - key(&before)) / (key(&next) - key(&before)))
            }
            _ => before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice as much comes as leaves, marked from 2 s on.
    fn past() -> Past {
        let mut past = Past::default();
        past.restart(Instant::default());
        for i in 1..=4 {
            let at = f64::from(i);
            let now = Instant {
                at,
                arrived: 2.0 * at,
                served: at,
                marked: (at - 2.0).max(0.0),
                busy: at / 2.0,
                waiting: at,
            };
            past.push(now, 10.0);
        }
        past
    }

    #[test]
    fn what_waits_is_acked_later() {
        let heard = |fair| past().acks(5.0, 2.0, 2.0, fair);
        // What left at 3 s had come at 1.5 s; half of what left from 1 to 3 s is marked.
        assert_eq!((heard(false).since, heard(true).since), (1.5, 3.0));
        assert_eq!(
            heard(false).marks,
            Marks {
                share: 0.5,
                first: 0.5,
                last: 1.0
            }
        );
        assert_eq!(
            (heard(false).from.waiting, heard(false).to.busy),
            (1.0, 1.5)
        );
    }

    #[test]
    fn nothing_is_heard_before_the_beginning() {
        let early = past().acks(1.0, 1.0, 2.0, false);
        assert_eq!(
            (early.since, early.marks.share, early.to.at),
            (-1.0, 0.0, 0.0)
        );
    }
}
