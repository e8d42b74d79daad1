//! What a flow has sent, at the end of every step that somebody may still ask for.

use smallvec::{SmallVec, smallvec};

use super::clock::{end_of, step_at};

/// Bytes sent by time, evenly within each step but the first. Times are in steps.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// What is sent at the end of the last steps, as many as a power of two.
    ring: SmallVec<[f64; KEPT]>,
    /// The step at whose end the first value holds, and the last one.
    first: u64,
    last: u64,
    /// What is sent after the last step.
    sent: f64,
    /// From when until when it sends in the first step.
    sends: (f64, f64),
}

/// Steps that are kept at first; most flows' round trips are shorter.
const KEPT: usize = 16;

impl Curve {
    /// Nothing is sent until `start`, which is in the step after `now`.
    pub(super) fn new(now: u64, start: f64) -> Self {
        Curve {
            ring: smallvec![0.0; KEPT],
            first: now,
            last: now,
            sent: 0.0,
            sends: (start, end_of(now + 1)),
        }
    }

    /// What is sent in the first step leaves until then.
    pub(super) fn sends_until(&mut self, time: f64) {
        self.sends.1 = time;
    }

    /// The next step is over, with so much sent in all; nobody asks for what was before `oldest` any more.
    #[inline]
    pub(super) fn push(&mut self, sent: f64, oldest: f64) {
        self.last += 1;
        if step_at(end_of(self.last) - oldest) as usize + 1 >= self.ring.len() {
            self.grow();
        }
        let place = self.last as usize & (self.ring.len() - 1);
        self.ring[place] = sent;
        self.sent = sent;
    }

    /// Keeps twice as many steps.
    #[cold]
    fn grow(&mut self) {
        let old = self.ring.len() as u64;
        let mut ring = smallvec![0.0; 2 * old as usize];
        for step in (self.last.saturating_sub(old)).max(self.first)..self.last {
            ring[(step & (2 * old - 1)) as usize] = self.value(step);
        }
        self.ring = ring;
    }

    fn value(&self, step: u64) -> f64 {
        self.ring[step as usize & (self.ring.len() - 1)]
    }

    /// What is sent after the last step.
    pub(super) fn last(&self) -> f64 {
        self.sent
    }

    /// What was sent until `time`.
    #[inline(always)] // with `Lanes::came` out of line it costs 1% of a run
    pub(super) fn at(&self, time: f64) -> f64 {
        let step = step_at(time);
        if step >= self.last {
            return self.sent;
        }
        if step < self.first {
            return 0.0;
        }
        if step == self.first {
            return self.in_first_step(time);
        }
        let before = self.value(step);
        before + (time - end_of(step)) * (self.value(step + 1) - before)
    }

    fn in_first_step(&self, time: f64) -> f64 {
        let (from, until) = self.sends;
        let into = if time >= until {
            1.0
        } else if time > from {
            (time - from) / (until - from)
        } else {
            0.0
        };
        into * self.value(self.first + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_between_those_of_steps() {
        let mut curve = Curve::new(10, 10.0);
        curve.push(100.0, 10.0);
        curve.push(140.0, 10.0);
        let at = |curve: &Curve, times: [f64; 5]| times.map(|time| curve.at(time));
        let times = [9.0, 10.25, 11.0, 11.5, 13.0];
        assert_eq!(at(&curve, times), [0.0, 25.0, 100.0, 120.0, 140.0]);
    }

    #[test]
    fn nothing_is_sent_before_the_start() {
        let mut curve = Curve::new(10, 10.5);
        curve.push(100.0, 10.0);
        curve.push(140.0, 10.0);
        let times = [10.25, 10.5, 10.75, 11.0, 11.5];
        let at = |curve: &Curve| times.map(|time| curve.at(time));
        assert_eq!(at(&curve), [0.0, 0.0, 50.0, 100.0, 120.0]);
        curve.sends_until(10.75);
        assert_eq!(at(&curve), [0.0, 0.0, 100.0, 100.0, 120.0]);
    }

    #[test]
    fn as_much_is_kept_as_is_asked_for() {
        let mut curve = Curve::new(3, 3.0);
        for step in 4..200u64 {
            curve.push(step as f64, (step as f64 / 2.0).max(3.0));
            for asked in [step / 2, step / 2 + 1, step - 1] {
                if asked > 3 {
                    assert_eq!(curve.at(asked as f64 + 0.25), asked as f64 + 0.25);
                }
            }
        }
    }
}
