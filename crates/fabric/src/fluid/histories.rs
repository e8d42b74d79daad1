//! What is known of queues or links at the ends of the last steps, of those in which there is something to know.

use std::collections::VecDeque;

/// What is known at the end of a step.
pub(super) trait Stamped: Clone + Default {
    /// The step; 0 where nothing is known.
    fn step(&self) -> u64;
}

/// Of as many steps, at first and at most, two to the power of that, all that is known lies side by side in memory, for which a
/// large fabric waits.
const BITS: (u32, u32) = (5, 8);

/// What is known of several queues or links. Those behind which packets wait for long keep more than the last steps: only what
/// is known, so one that is empty meanwhile takes no memory for that.
#[derive(Debug)]
pub(super) struct Histories<T> {
    recent: Vec<T>,
    bits: u32,
    /// Where more steps than that are kept, all that is known, in their order.
    all: Vec<VecDeque<T>>,
    /// How many steps are kept.
    kept: u64,
}

impl<T: Stamped> Histories<T> {
    /// Of `count`, of which nothing is known.
    pub(super) fn new(count: usize) -> Self {
        let (bits, _) = BITS;
        Histories {
            recent: vec![T::default(); count << bits],
            bits,
            all: vec![VecDeque::new(); count],
            kept: 1 << bits,
        }
    }

    /// One more, of which nothing is known.
    pub(super) fn add(&mut self) {
        self.all.push(VecDeque::new());
        let room = self.all.len() << self.bits;
        self.recent.resize(room, T::default());
    }

    /// Of one nothing is known any more.
    pub(super) fn forget(&mut self, of: u32) {
        let first = self.place(of, 0);
        self.recent[first..first + (1 << self.bits)].fill(T::default());
        self.all[of as usize].clear();
    }

    /// Keeps at least the last `steps` steps from now on.
    #[inline]
    pub(super) fn keep(&mut self, steps: u64) {
        let did_fit = self.all_fits();
        self.kept = self.kept.max(steps);
        if did_fit && !self.all_fits() {
            self.widen(steps.next_power_of_two().trailing_zeros());
        }
    }

    /// More is side by side, or what is known is put in order if that is too much.
    #[cold]
    fn widen(&mut self, bits: u32) {
        let (_, most) = BITS;
        let narrow = std::mem::replace(&mut self.bits, bits.min(most));
        let recent = vec![T::default(); self.all.len() << self.bits];
        let before = std::mem::replace(&mut self.recent, recent);
        let steps = before.chunks(1 << narrow).map(|known| {
            let known = known.iter().filter(|known| known.step() > 0);
            let mut known: Vec<T> = known.cloned().collect();
            known.sort_unstable_by_key(T::step);
            known
        });
        for (of, known) in (0..).zip(steps) {
            known.into_iter().for_each(|known| self.put(of, known));
        }
    }

    #[inline]
    fn place(&self, of: u32, step: u64) -> usize {
        (of as usize) << self.bits | step as usize & ((1 << self.bits) - 1)
    }

    /// What is known at the end of `step`, if anything is.
    #[inline]
    pub(super) fn at(&self, of: u32, step: u64) -> Option<&T> {
        let recent = &self.recent[self.place(of, step)];
        if recent.step() == step {
            Some(recent)
        } else if self.all_fits() {
            None
        } else {
            self.find(of, step)
        }
    }

    /// Whether the steps that are kept are side by side.
    #[inline]
    fn all_fits(&self) -> bool {
        self.kept <= 1 << self.bits
    }

    #[cold]
    fn find(&self, of: u32, step: u64) -> Option<&T> {
        let all = &self.all[of as usize];
        // No more than one is known of each step, and most often one is.
        let later = all.back()?.step().checked_sub(step)? as usize;
        let place = (all.len() - 1).checked_sub(later);
        match place.and_then(|place| all.get(place)) {
            Some(known) if known.step() == step => Some(known),
            _ => {
                let found = all.binary_search_by_key(&step, T::step);
                found.ok().and_then(|place| all.get(place))
            }
        }
    }

    /// That is known at the end of the last step of which anything is, or of a later one.
    #[inline]
    pub(super) fn put(&mut self, of: u32, known: T) {
        let place = self.place(of, known.step());
        if !self.all_fits() {
            self.put_in_order(of, known.clone());
        }
        self.recent[place] = known;
    }

    fn put_in_order(&mut self, of: u32, known: T) {
        let all = &mut self.all[of as usize];
        let oldest = known.step().saturating_sub(self.kept);
        while all.front().is_some_and(|first| first.step() < oldest) {
            all.pop_front();
        }
        match all.back_mut() {
            Some(last) if last.step() == known.step() => *last = known,
            _ => all.push_back(known),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Stamped for u64 {
        fn step(&self) -> u64 {
            *self
        }
    }

    #[test]
    fn what_is_known_is_found_for_as_long_as_it_is_kept() {
        let mut histories = Histories::new(2);
        histories.add();
        histories.keep(1000);
        let steps = [5, 6, 7, 38, 262, 517, 518, 519, 520, 900, 901, 1100];
        for (number, now) in steps.into_iter().enumerate() {
            histories.put(1, now);
            for step in now.saturating_sub(1000).max(1)..=now {
                let known = steps[..=number].contains(&step).then_some(&step);
                assert_eq!(histories.at(1, step), known, "{step} at {now}");
            }
        }
        assert_eq!((histories.at(0, 1100), histories.at(2, 1100)), (None, None));
        histories.forget(1);
        assert!(steps.iter().all(|&step| histories.at(1, step).is_none()));
    }

    #[test]
    fn more_is_kept_when_it_is_asked_for() {
        let mut histories = Histories::new(2);
        (1..33).for_each(|step| histories.put(1, step));
        histories.keep(60);
        (33..63).for_each(|step| histories.put(1, step));
        assert!((3..63).all(|step| histories.at(1, step) == Some(&step)));
        assert!((3..63).all(|step| histories.at(0, step).is_none()));
    }

    #[test]
    fn memory_is_taken_for_what_is_known() {
        let mut histories = Histories::new(2);
        histories.keep(1 << 20);
        (1..5000).for_each(|step| histories.put(1, step));
        assert_eq!(
            (histories.all[0].capacity(), histories.recent.len()),
            (0, 512)
        );
        (5000..1 << 22).for_each(|step| histories.put(1, step));
        assert!(histories.all[1].len() <= (1 << 20) + 1);
        assert_eq!(histories.at(1, 3 << 20), Some(&(3 << 20)));
    }
}
