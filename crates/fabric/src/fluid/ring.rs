//! What is known of queues or links at the ends of the last steps.

/// What is known at the end of a step.
pub(super) trait Stamped: Clone + Default {
    /// The step.
    fn step(&self) -> u64;
}

/// For each of several the last steps, as many as two to the power of `bits`. Not every step has to be kept.
#[derive(Debug)]
pub(super) struct Ring<T> {
    past: Vec<T>,
    bits: u32,
}

impl<T: Stamped> Ring<T> {
    /// Of `count`, of which nothing is known.
    pub(super) fn new(count: usize) -> Self {
        let bits = 5;
        Ring {
            past: vec![T::default(); count << bits],
            bits,
        }
    }

    /// One more, of which nothing is known.
    pub(super) fn add(&mut self) {
        let room = self.past.len() + self.steps() as usize;
        self.past.resize(room, T::default());
    }

    /// Of one nothing is known any more.
    pub(super) fn forget(&mut self, of: u32) {
        let (first, steps) = (self.place(of, 0), self.steps() as usize);
        self.past[first..first + steps].fill(T::default());
    }

    /// How many steps there is room for.
    pub(super) fn steps(&self) -> u64 {
        1 << self.bits
    }

    #[inline]
    fn place(&self, of: u32, step: u64) -> usize {
        (of as usize) << self.bits | (step & (self.steps() - 1)) as usize
    }

    /// What is known at the end of `step`, if that is kept.
    #[inline]
    pub(super) fn at(&self, of: u32, step: u64) -> Option<&T> {
        Some(self.slot(of, step)).filter(|known| known.step() == step)
    }

    /// Where that is, or what was there before it.
    #[inline]
    pub(super) fn slot(&self, of: u32, step: u64) -> &T {
        &self.past[self.place(of, step)]
    }

    /// The same, to be written.
    #[inline]
    pub(super) fn slot_mut(&mut self, of: u32, step: u64) -> &mut T {
        let place = self.place(of, step);
        &mut self.past[place]
    }

    /// Keeps at least the last `steps` steps, the last of which is `now`.
    #[inline]
    pub(super) fn keep(&mut self, steps: u64, now: u64) {
        if steps > self.steps() {
            self.grow(steps, now);
        }
    }

    #[cold]
    fn grow(&mut self, steps: u64, now: u64) {
        let count = self.past.len() >> self.bits;
        let bits = steps.next_power_of_two().trailing_zeros();
        let past = vec![T::default(); count << bits];
        let before = std::mem::replace(self, Ring { past, bits });
        for of in 0..count as u32 {
            for step in (now + 1).saturating_sub(before.steps())..=now {
                if let Some(known) = before.at(of, step) {
                    *self.slot_mut(of, step) = known.clone();
                }
            }
        }
    }
}
