//! What a class's senders are told, one round trip after the fact.
//!
//! R(t) is a function of the state 2 tau earlier (on the senders' clock), which
//! is constant within each past step. Its integral is kept instead of its
//! values, so that the average over any later step is a difference of two. Only
//! flows that outlast their first round trip listen, and to nothing older than
//! themselves: while a class has none, nothing is kept.

use std::collections::VecDeque;

#[cfg(doc)]
use crate::control::Law;

/// What senders are told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// R: the rate to approach; under [`Law::Inflight`] what windows are multiplied by.
    pub ideal: f64,
    /// The share of its rate at which a flow with a window sends: 2 tau over the round
    /// trip with its wait.
    pub clocked: f64,
}

impl Told {
    /// self + share x (other - self).
    fn towards(self, other: Told, share: f64) -> Told {
        Told {
            ideal: self.ideal + share * (other.ideal - self.ideal),
            clocked: self.clocked + share * (other.clocked - self.clocked),
        }
    }
}

/// The past of what one class's senders are told.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    /// Ends of past steps and the integrals up to there, in order.
    steps: VecDeque<(f64, Told)>,
    /// Where reading has come to.
    read: (f64, Told),
    /// The integrals up to the last step.
    integral: Told,
}

impl Signal {
    /// Keeps what comes after `now` and nothing else.
    pub fn restart(&mut self, now: f64) {
        self.steps.clear();
        self.integral = Told::default();
        self.read = (now, Told::default());
    }

    /// Adds a step that ends at `end` and was `span` long.
    pub fn push(&mut self, end: f64, span: f64, told: Told) {
        self.integral.ideal += told.ideal * span;
        self.integral.clocked += told.clocked * span;
        self.steps.push_back((end, self.integral));
    }

    /// The average from where reading has come to until `until`, which is in the past.
    pub fn average(&self, until: f64) -> Told {
        let (from, before) = self.read;
        let integral = self.integral_at(until);
        let span = until - from;
        Told {
            ideal: (integral.ideal - before.ideal) / span,
            clocked: (integral.clocked - before.clocked) / span,
        }
    }

    fn integral_at(&self, at: f64) -> Told {
        let mut left = self.read;
        for &right in &self.steps {
            if right.0 >= at {
                let width = right.0 - left.0;
                let share = if width > 0.0 {
                    (at - left.0) / width
                } else {
                    1.0
                };
                return left.1.towards(right.1, share);
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
        let told = |ideal: f64| Told {
            ideal,
            clocked: ideal / 20.0,
        };
        let mut signal = Signal::default();
        signal.restart(0.0);
        signal.push(1.0, 1.0, told(10.0));
        signal.push(3.0, 2.0, told(20.0));
        assert_eq!(signal.average(1.0), told(10.0));
        // From 0 to 2: 1 x 10 + 1 x 20.
        assert_eq!(signal.average(2.0), told(15.0));
        signal.seek(-1.0); // before it began
        assert_eq!(signal.average(2.0), told(15.0));
        signal.seek(0.5);
        assert_eq!(signal.average(1.0), told(10.0));
        assert_eq!(signal.average(1.5), told(15.0));
        signal.seek(1.0);
        assert_eq!(signal.average(3.0), told(20.0));
    }
}
