//! ACKs on their way back: bytes that come in a step, and in the one after it.

/// Bytes of ACKs that come to a queue. They are counted a step before they come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acks {
    /// The last step in which any were counted; what came in it, and what comes after it.
    step: u64,
    now: f64,
    next: f64,
}

impl Acks {
    /// In `step` so many more are counted.
    #[inline]
    pub(super) fn add(&mut self, step: u64, bytes: f64) {
        if self.step != step {
            *self = Acks {
                step,
                now: self.come(step),
                next: 0.0,
            };
        }
        self.next += bytes;
    }

    /// What comes in `step`.
    #[inline]
    pub(super) fn come(&self, step: u64) -> f64 {
        match step - self.step {
            0 => self.now,
            1 => self.next,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Acks;

    #[test]
    fn they_come_a_step_after_they_are_counted() {
        let mut acks = Acks::default();
        acks.add(4, 1.0);
        acks.add(4, 2.0);
        assert_eq!([4, 5, 6].map(|step| acks.come(step)), [0.0, 3.0, 0.0]);
        acks.add(5, 4.0);
        assert_eq!([5, 6].map(|step| acks.come(step)), [3.0, 4.0]);
        acks.add(9, 1.0);
        assert_eq!([9, 10].map(|step| acks.come(step)), [0.0, 1.0]);
    }
}
