//! What a class's senders are told, one round trip after the fact.
//!
//! R(t) is a function of the state 2 tau earlier (on the senders' clock), which
//! is constant within each past step. Its integral is kept instead of its
//! values, so that the average over any later step is a difference of two. Only
//! flows that outlast their first round trip listen, and to nothing older than
//! themselves: while a class has none, nothing is kept.

use std::collections::VecDeque;

/// Integrals over the step so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Capacity that may be counted on.
    pub available: f64,
    /// Backlog above T.
    pub excess: f64,
    /// Bytes that left.
    pub served: f64,
}

impl Seen {
    /// A part of the step is over, in which so many bytes might have left and so many did.
    pub(crate) fn add(&mut self, available: f64, served: f64, excess: f64) {
        self.available += available;
        self.served += served;
        self.excess += excess;
    }
}

/// What flows are told of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub seen: Seen,
    /// Backlog above T at the end.
    pub excess: f64,
    /// Beta x the average uncontrolled rate.
    pub uncontrolled: f64,
    pub controlled: usize,
}

/// A past step.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// When it ended, and the integral up to there.
    end: f64,
    integral: f64,
    /// What they were told during it.
    value: f64,
}

/// The past of what one class's senders are told.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    /// In order.
    steps: VecDeque<Told>,
    /// Where reading has come to.
    read: (f64, f64),
    /// The integrals up to the last step.
    integral: f64,
}

impl Signal {
    /// Keeps what comes after `now` and nothing else.
    pub(crate) fn restart(&mut self, now: f64) {
        self.steps.clear();
        self.integral = 0.0;
        self.read = (now, 0.0);
    }

    /// Adds a step that ends at `end` and was `span` long.
    pub(crate) fn push(&mut self, end: f64, span: f64, value: f64) {
        self.integral += value * span;
        let integral = self.integral;
        self.steps.push_back(Told {
            end,
            integral,
            value,
        });
    }

    /// The average from where reading has come to until `until`, which is in the past.
    pub(crate) fn average(&self, until: f64) -> f64 {
        let (from, before) = self.read;
        (self.integral_at(until) - before) / (until - from)
    }

    /// What they are told from where reading has come to on; nothing where nothing is known. What rounding
    /// left of a step is not one.
    pub(crate) fn next(&self) -> Option<f64> {
        let from = self.read.0 * (1.0 + 8.0 * f64::EPSILON);
        let step = self.steps.iter().find(|step| step.end > from)?;
        Some(step.value)
    }

    fn integral_at(&self, at: f64) -> f64 {
        let mut left = self.read;
        for &right in &self.steps {
            if right.end >= at {
                let width = right.end - left.0;
                let share = if width > 0.0 {
                    (at - left.0) / width
                } else {
                    1.0
                };
                return left.1 + share * (right.integral - left.1);
            }
            left = (right.end, right.integral);
        }
        left.1
    }

    /// Reading has come to `until`; what is older is forgotten.
    pub(crate) fn seek(&mut self, until: f64) {
        if until <= self.read.0 {
            return;
        }
        self.read = (until, self.integral_at(until));
        while self.steps.front().is_some_and(|step| step.end <= until) {
            self.steps.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_by_hand() {
        let mut signal = Signal::default();
        signal.restart(0.0);
        signal.push(1.0, 1.0, 10.0);
        signal.push(3.0, 2.0, 20.0);
        assert_eq!(signal.average(1.0), 10.0);
        // From 0 to 2: 1 x 10 + 1 x 20.
        assert_eq!(signal.average(2.0), 15.0);
        signal.seek(-1.0); // before it began
        assert_eq!(signal.average(2.0), 15.0);
        signal.seek(0.5);
        assert_eq!(signal.average(1.0), 10.0);
        assert_eq!(signal.average(1.5), 15.0);
        signal.seek(1.0);
        assert_eq!(signal.average(3.0), 20.0);
        assert_eq!(signal.next(), Some(20.0));
        signal.seek(3.0);
        assert_eq!(signal.next(), None);
    }
}
