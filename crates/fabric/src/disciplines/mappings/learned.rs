//! A table that follows the traffic (ADS, section 3.2): a port counts the
//! values it sees in each interval, and after each the table follows from "a
//! sliding window of the last W histograms".
//!
//! An interval's table is computed when the first packet after it comes, which
//! no packet can tell from at its end. As long as the window is empty, the
//! table stays as it is.

use std::collections::VecDeque;

use fctlab_core::{Duration, Rate, SpecError, Time};
use serde::{Deserialize, Serialize};

use super::{Histogram, MappingPolicy};

/// A table that follows the values of a sliding window of intervals, for each port on its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Time between two tables.
    pub interval: Duration,
    /// Intervals that are remembered.
    #[schemars(range(min = 1))]
    pub window: u32,
    /// How values are divided among queues.
    pub policy: MappingPolicy,
}

impl Default for Spec {
    /// ADS, section 3.3: "we set the update time interval I to be 5ms and the
    /// sliding window size W for the histograms to 10".
    fn default() -> Self {
        Spec {
            interval: Duration::from_ms(5),
            window: 10,
            policy: MappingPolicy::EqualSplit(Default::default()),
        }
    }
}

impl Spec {
    /// Checks the parameters.
    ///
    /// # Errors
    /// One that makes no sense, with its path.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.interval == Duration::ZERO {
            return Err(SpecError::new("interval", "0s is not above zero"));
        }
        if self.window == 0 {
            return Err(SpecError::new("window", "0 is not at least 1"));
        }
        self.policy.check().map_err(|e| e.under("policy"))
    }
}

/// What a port remembers to make its next table.
pub struct Learning {
    queues: usize,
    interval: Duration,
    window: usize,
    policy: MappingPolicy,
    /// Full packets that fit into an interval.
    capacity: f64,
    /// When the current interval ends.
    until: Time,
    current: Vec<u32>,
    /// The last intervals' histograms, oldest first, and their sum.
    past: VecDeque<Vec<u32>>,
    sum: Vec<u64>,
}

/// The packet of 1500 B on which the table's values count.
const MTU: f64 = 1500.0;

impl Learning {
    /// Nothing has been seen at a port of `rate` with so many queues.
    pub fn new(spec: &Spec, queues: usize, rate: Rate) -> Self {
        let Spec {
            interval,
            window,
            policy,
        } = spec.clone();
        Learning {
            queues,
            interval,
            window: window as usize,
            policy,
            capacity: interval.as_secs_f64() * rate.bytes_per_s() / MTU,
            until: Time::ZERO + interval,
            current: Vec::new(),
            past: VecDeque::new(),
            sum: Vec::new(),
        }
    }

    /// Memory of the counters of the current and the past intervals, 4 bytes each.
    pub fn state_bytes(&self) -> u64 {
        let past: usize = self.past.iter().map(Vec::len).sum();
        4 * (self.current.len() + past) as u64
    }

    /// A packet with this value has been seen.
    pub fn count(&mut self, value: usize) {
        if self.current.len() <= value {
            self.current.resize(value + 1, 0);
        }
        self.current[value] += 1;
    }

    /// An interval has ended.
    fn turn(&mut self) {
        if self.past.len() == self.window
            && let Some(oldest) = self.past.pop_front()
        {
            for (sum, packets) in self.sum.iter_mut().zip(oldest) {
                *sum -= u64::from(packets);
            }
        }
        let current = std::mem::take(&mut self.current);
        if self.sum.len() < current.len() {
            self.sum.resize(current.len(), 0);
        }
        for (sum, packets) in self.sum.iter_mut().zip(&current) {
            *sum += u64::from(*packets);
        }
        self.past.push_back(current);
    }

    /// Ends the intervals that have passed; the table that follows, unless
    /// none has passed or nothing has been seen.
    pub fn advance(&mut self, now: Time) -> Option<Vec<u32>> {
        if now < self.until {
            return None;
        }
        let passed = now.since(self.until).ps() / self.interval.ps() + 1;
        for _ in 0..passed.min(self.window as u64 + 1) {
            self.turn();
        }
        self.until += self.interval * passed;
        while self.sum.last() == Some(&0) {
            self.sum.pop();
        }
        let capacity = self.capacity * self.past.len() as f64;
        let seen = Histogram {
            packets: &self.sum,
            capacity,
        };
        (!self.sum.is_empty()).then(|| self.policy.thresholds(&seen, self.queues))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn the_table_follows_the_window_and_forgets() {
        let spec = Spec {
            interval: Duration::from_ms(5),
            window: 2,
            ..Spec::default()
        };
        let mut learning = Learning::new(&spec, 2, Rate::from_gbps(10));
        // First interval: values 1 to 4. Nothing changes before it ends.
        for value in 1..5 {
            learning.count(value);
        }
        assert_eq!(learning.advance(at(4)), None);
        assert_eq!(learning.advance(at(5)), Some(vec![2]));
        assert_eq!(learning.advance(at(6)), None);
        // Second: 11 to 14. Both are remembered, half of the packets are up to 4.
        for value in 11..15 {
            learning.count(value);
        }
        assert_eq!(learning.advance(at(10)), Some(vec![4]));
        // Third: nothing. The first is forgotten.
        assert_eq!(learning.advance(at(15)), Some(vec![12]));
        // Fourth, fifth, ...: an empty window leaves the table as it is.
        assert_eq!(learning.advance(at(1000)), None);
        learning.count(7);
        assert_eq!(learning.advance(at(1005)).map(|cuts| cuts.len()), Some(1));
    }

    proptest! {
        /// What was seen more than W intervals ago leaves no trace.
        #[test]
        fn forgets_after_w_intervals(
            window in 1u32..6,
            intervals in prop::collection::vec(prop::collection::vec(1usize..50, 0..20), 1..20),
            queues in 2usize..5,
        ) {
            let interval = Duration::from_ms(1);
            let spec = Spec { interval, window, ..Spec::default() };
            let mut learning = Learning::new(&spec, queues, Rate::from_gbps(10));
            for (i, seen) in intervals.iter().enumerate() {
                for &value in seen {
                    learning.count(value);
                }
                let table = learning.advance(at(i as u64 + 1));
                // A fresh port that has seen the last W intervals only.
                let last = &intervals[(i + 1).saturating_sub(window as usize)..=i];
                let mut counts = vec![0u64; 50];
                last.iter().flatten().for_each(|&value| counts[value] += 1);
                let expected = last.iter().any(|seen| !seen.is_empty()).then(|| {
                    spec.policy.thresholds(&Histogram { packets: &counts, capacity: 1.0 }, queues)
                });
                prop_assert_eq!(table, expected);
            }
        }
    }
}
