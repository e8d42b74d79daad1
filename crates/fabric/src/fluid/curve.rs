//! What a flow has sent, at the end of every step that somebody may still ask for.

use std::collections::VecDeque;

/// Bytes sent by time, evenly within each step. Times are in steps.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// The step at whose end the first value holds.
    first: u64,
    values: VecDeque<f64>,
}

impl Curve {
    /// Nothing is sent until step `now` is over.
    pub(super) fn new(now: u64) -> Self {
        Curve {
            first: now,
            values: VecDeque::from([0.0]),
        }
    }

    /// The next step is over, with so much sent in all.
    pub(super) fn push(&mut self, sent: f64) {
        self.values.push_back(sent);
    }

    /// What is sent after the last step.
    pub(super) fn last(&self) -> f64 {
        self.values.back().copied().unwrap_or_default()
    }

    /// What was sent until `time`.
    pub(super) fn at(&self, time: f64) -> f64 {
        let into = time - self.first as f64;
        if into <= 0.0 {
            return self.values.front().copied().unwrap_or_default();
        }
        let step = into as usize;
        match (self.values.get(step), self.values.get(step + 1)) {
            (Some(before), Some(after)) => before + (into - step as f64) * (after - before),
            _ => self.last(),
        }
    }

    /// Nobody asks for what was before `time` any more.
    pub(super) fn forget(&mut self, time: f64) {
        while self.values.len() > 1 && (self.first + 1) as f64 <= time {
            self.values.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_between_those_of_steps() {
        let mut curve = Curve::new(10);
        curve.push(100.0);
        curve.push(140.0);
        let at = |curve: &Curve, times: [f64; 5]| times.map(|time| curve.at(time));
        let times = [9.0, 10.25, 11.0, 11.5, 13.0];
        assert_eq!(at(&curve, times), [0.0, 25.0, 100.0, 120.0, 140.0]);
        curve.forget(11.2);
        assert_eq!(curve.at(11.5), 120.0);
        assert_eq!(curve.last(), 140.0);
    }
}
