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
    /// How long the step is, in seconds.
    pub span: f64,
    /// At the end of the step all is acked that was sent until then; under fair queueing, where
    /// flows do not wait for each other, all that was served until then.
    pub since: Moment,
    /// What is acked in the step is marked.
    pub marked: bool,
    /// The queue when that left which is acked at the beginning and at the end of the step.
    pub from: Instant,
    pub to: Instant,
}

impl Acks {
    /// A step in which what is acked is marked or not, and nothing else is said.
    pub(crate) const fn marks(span: f64, marked: bool) -> Self {
        const NOTHING: Instant = Instant {
            at: 0.0,
            arrived: 0.0,
            served: 0.0,
            busy: 0.0,
            waiting: 0.0,
        };
        Acks {
            span,
            since: Moment {
                at: 0.0,
                step: 0,
                part: 0.0,
            },
            marked,
            from: NOTHING,
            to: NOTHING,
        }
    }

    /// A step of `span` seconds in which nothing is heard.
    #[cfg(test)]
    pub(crate) fn of(span: f64) -> Self {
        Acks::marks(span, false)
    }
}

/// A moment in an earlier step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moment {
    pub at: f64,
    /// The number of the instant at which that step began, and the share of the step that was over.
    pub step: u64,
    pub part: f64,
}

/// A queue at the end of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Instant {
    pub at: f64,
    /// Bytes that had come and had left, since the beginning.
    pub arrived: f64,
    pub served: f64,
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
            busy: mix(self.busy, other.busy),
            waiting: mix(self.waiting, other.waiting),
        }
    }
}

/// Between two instants: the place of the one before, and the share of the way to the next.
#[derive(Clone, Copy, Debug)]
struct Place {
    before: usize,
    share: f64,
}

/// The past of one queue, as far as it is not acked. Instants are numbered since the beginning.
#[derive(Debug, Default)]
pub(crate) struct Past {
    instants: VecDeque<Instant>,
    /// How many came before those.
    forgotten: u64,
    /// When that left which is marked: from when until when.
    marked: VecDeque<(f64, f64)>,
    /// Questions move on with time: how many instants lie before what left and what was sent when
    /// that was asked last.
    left: usize,
    sent: usize,
}

impl Past {
    /// Keeps what comes after `now` and nothing else.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.forgotten += self.instants.len() as u64;
        (self.left, self.sent) = (0, 0);
        self.instants.clear();
        self.instants.push_back(now);
        self.marked.clear();
    }

    /// What leaves between these moments, later than what was marked before, is marked.
    pub(crate) fn mark(&mut self, from: f64, to: f64) {
        match self.marked.back_mut() {
            // But for rounding.
            Some(last) if last.1 >= from * (1.0 - 4.0 * f64::EPSILON) => last.1 = to,
            _ => self.marked.push_back((from, to)),
        }
    }

    /// The first moment after `at` at which marks begin or end; infinite if none is known.
    pub(crate) fn marks_change(&mut self, at: f64) -> f64 {
        while self.marked.front().is_some_and(|&(_, to)| to <= at) {
            self.marked.pop_front();
        }
        match self.marked.front() {
            Some(&(from, _)) if from > at => from,
            Some(&(_, to)) => to,
            None => f64::INFINITY,
        }
    }

    fn is_marked(&self, at: f64) -> bool {
        self.marked.iter().any(|&(from, to)| from <= at && at < to)
    }

    /// A step is over.
    pub(crate) fn push(&mut self, now: Instant, round_trip: f64) {
        let left = now.at - round_trip;
        let place = self.left(left);
        let since = self.sent(place, left).at;
        while self.instants.get(1).is_some_and(|i| i.at <= since) {
            self.instants.pop_front();
            self.forgotten += 1;
            self.left = self.left.saturating_sub(1);
            self.sent = self.sent.saturating_sub(1);
        }
        self.instants.push_back(now);
    }

    /// The last step's end.
    pub(crate) fn last(&self) -> Instant {
        self.instants.back().copied().unwrap_or_default()
    }

    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        (self.forgotten + self.instants.len() as u64).saturating_sub(1)
    }

    /// What is heard in the step that ends at `end` and is `span` long.
    pub(crate) fn acks(&mut self, end: f64, span: f64, round_trip: f64, fair: bool) -> Acks {
        let left = end - round_trip;
        let place = self.left(left - span);
        let from = self.instant(place);
        let place = self.left(left);
        let to = self.instant(place);
        Acks {
            span,
            since: if fair {
                self.moment(place, left)
            } else {
                self.sent(place, left)
            },
            marked: self.is_marked(left - span / 2.0),
            from,
            to,
        }
    }

    /// Where `at` is.
    fn left(&mut self, at: f64) -> Place {
        self.left = self.seek(self.left, |i| i.at <= at);
        self.place(self.left, at, |i| i.at)
    }

    /// When that was sent which had been served at `at`, which is at `place`; since the beginning at
    /// the earliest.
    fn sent(&mut self, place: Place, at: f64) -> Moment {
        let then = self.instant(place);
        if then.arrived <= then.served {
            return self.moment(place, at); // nothing waited
        }
        self.sent = self.seek(self.sent, |i| i.arrived <= then.served);
        let place = self.place(self.sent, then.served, |i| i.arrived);
        self.moment(place, at)
    }

    /// The moment at `place`, not later than `at`.
    fn moment(&self, place: Place, at: f64) -> Moment {
        Moment {
            at: self.instant(place).at.min(at),
            step: self.forgotten + place.before as u64,
            part: place.share,
        }
    }

    /// How many instants are `before`, which all are up to some one; looked for from `near` on.
    fn seek(&self, near: usize, before: impl Fn(&Instant) -> bool) -> usize {
        let mut after = near.min(self.instants.len());
        while self.instants.get(after).is_some_and(&before) {
            after += 1;
        }
        while after > 0 && !before(&self.instants[after - 1]) {
            after -= 1;
        }
        after
    }

    /// Where `key` is `value`, between the instant `after` and the one before it; nothing is known
    /// before the first one and after the last.
    fn place(&self, after: usize, value: f64, key: impl Fn(&Instant) -> f64) -> Place {
        match self.instants.get(after) {
            Some(next) if after > 0 => {
                let before = key(&self.instants[after - 1]);
                Place {
                    before: after - 1,
                    share: (value - before) / (key(next) - before),
                }
            }
            _ => Place {
                before: after.saturating_sub(1),
                share: 0.0,
            },
        }
    }

    fn instant(&self, place: Place) -> Instant {
        let Some(before) = self.instants.get(place.before) else {
            return Instant::default();
        };
        match self.instants.get(place.before + 1) {
            Some(&next) => before.towards(next, place.share),
            None => *before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice as much comes as leaves, marked from 2.25 s on.
    fn past() -> Past {
        let mut past = Past::default();
        past.restart(Instant::default());
        for i in 1..=4 {
            let at = f64::from(i);
            let now = Instant {
                at,
                arrived: 2.0 * at,
                served: at,
                busy: at / 2.0,
                waiting: at,
            };
            past.push(now, 10.0);
        }
        past.mark(2.25, 3.0);
        past.mark(3.0, 3.5);
        past
    }

    #[test]
    fn what_waits_is_acked_later() {
        let heard = |fair| past().acks(5.0, 2.0, 2.0, fair);
        let moment = |at, step, part| Moment { at, step, part };
        // What left at 3 s had come at 1.5 s.
        assert_eq!(heard(false).since, moment(1.5, 1, 0.5));
        assert_eq!(heard(true).since, moment(3.0, 3, 0.0));
        assert_eq!(
            (heard(false).from.waiting, heard(false).to.busy),
            (1.0, 1.5)
        );
    }

    #[test]
    fn marks_are_heard_from_when_to_when_they_were_made() {
        let mut past = past();
        assert_eq!(past.marks_change(1.0), 2.25);
        assert_eq!(past.marks_change(2.25), 3.5);
        // Of the step in which they begin only what left after that is marked.
        for (end, span, marked) in [(4.25, 0.25, false), (5.0, 0.75, true), (5.75, 0.25, false)] {
            assert_eq!(past.acks(end, span, 2.0, false).marked, marked, "{end}");
        }
        assert_eq!(past.marks_change(3.5), f64::INFINITY);
    }

    #[test]
    fn nothing_is_heard_before_the_beginning() {
        let early = past().acks(1.0, 1.0, 2.0, false);
        assert_eq!(
            (early.since.at, early.marked, early.to.at),
            (-1.0, false, 0.0)
        );
    }
}
