//! How many flows are in progress, and how many there have been at most.

use fctlab_core::Time;

/// Flows that have started and not finished.
#[derive(Debug, Default)]
pub(super) struct InProgress {
    flows: u64,
    most: u64,
    finished: u64,
}

impl InProgress {
    pub(super) fn start(&mut self) {
        self.flows += 1;
        self.most = self.most.max(self.flows);
    }

    pub(super) fn finish(&mut self) {
        self.flows -= 1;
        self.finished += 1;
    }

    /// The most at once.
    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// Those that have finished.
    pub(super) fn finished(&self) -> u64 {
        self.finished
    }

    /// The starts of a window, in order, and its finishes, in any. What finishes at an instant does so before
    /// anything starts.
    pub(super) fn replay(&mut self, starts: &[Time], mut finishes: Vec<Time>) {
        finishes.sort_unstable();
        let mut finishes = finishes.into_iter().peekable();
        for &start in starts {
            while finishes.next_if(|&finish| finish <= start).is_some() {
                self.finish();
            }
            self.start();
        }
        finishes.for_each(|_| self.finish());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_what_its_instants_are() {
        let at = |times: &[u64]| times.iter().map(|&t| Time::from_ps(t)).collect::<Vec<_>>();
        let mut flows = InProgress::default();
        flows.replay(&at(&[1, 2, 5, 9]), at(&[9, 4, 5]));
        assert_eq!((flows.flows, flows.most()), (1, 2));
        flows.replay(&at(&[11, 12]), at(&[13]));
        assert_eq!((flows.flows, flows.most(), flows.finished()), (2, 3, 4));
    }
}
