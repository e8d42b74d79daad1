//! What a class's senders are told, one round trip after the fact.
//!
//! R(t) is a function of the state 2 tau earlier (on the senders' clock), which
//! is constant within each past step. Its integral is kept instead of its
//! values, so that the average over any later step is a difference of two. Only
//! flows that outlast their first round trip listen, and to nothing older than
//! themselves: while a class has none, nothing is kept.

use std::collections::VecDeque;

/// The past of what one class's senders are told.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    /// Ends of past steps and the integrals up to there, in order.
    steps: VecDeque<(f64, f64)>,
    /// Where reading has come to.
    read: (f64, f64),
    /// The integrals up to the last step.
    integral: f64,
}

impl Signal {
    /// Keeps what comes after `now` and nothing else.
    pub fn restart(&mut self, now: f64) {
        self.steps.clear();
        self.integral = 0.0;
        self.read = (now, 0.0);
    }

    /// Adds a step that ends at `end` and was `span` long.
    pub fn push(&mut self, end: f64, span: f64, told: f64) {
        self.integral += told * span;
        self.steps.push_back((end, self.integral));
    }

    /// The average from where reading has come to until `until`, which is in the past.
    pub fn average(&self, until: f64) -> f64 {
        let (from, before) = self.read;
        (self.integral_at(until) - before) / (until - from)
    }

    fn integral_at(&self, at: f64) -> f64 {
        let mut left = self.read;
        for &right in &self.steps {
            if right.0 >= at {
                let width = right.0 - left.0;
                let share = if width > 0.0 {
                    (at - left.0) / width
                } else {
                    1.0
                };
                return left.1 + share * (right.1 - left.1);
            }
            left = right;
        }
        left.1
    }

    /// Reading has come to `until`; what is older is forgotten.
    pub fn seek(&mut self, until: f64) {
        if until <= self.read.0 {
            return;
        }
        self.read = (until, self.integral_at(until));
        while self.steps.front().is_some_and(|step| step.0 <= until) {
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
    }
}
