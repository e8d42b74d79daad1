//! AWAFS: strict-priority queues whose demotion thresholds follow the sizes of
//! the flows that have completed (Gutierrez et al., section 3.1).
//!
//! *Sensor* (3.1.1): the last packet of a flow tells its size; each port keeps a
//! "list of completed flow sizes", of 2-tuples (ts, size). *Actuator*: every
//! `interval` it prunes what is older than `window` and sets each threshold to
//! a percentile of the rest. *Scheduler*: a packet's queue follows from the
//! bytes that its flow has sent, as in [`priority`](super::priority).
//!
//! The actuator of an interval runs when the first packet after it comes, which
//! no packet can tell from at its end. An empty window keeps the thresholds.
//! Percentiles are nearest rank. A flow counts when its last packet is queued,
//! with that packet's header; if it is sent twice without need, it counts twice.
//!
//! What thresholds follow instead of fixed percentiles is in [`percentiles`](super::percentiles).

use std::collections::VecDeque;

use fctlab_core::{Bytes, Duration, SpecError, Time};
use serde::{Deserialize, Serialize};

use super::adaptive::{Adaptive, Source};
use super::percentiles::Percentiles;
use super::{DisciplineSpec, Site};
use crate::packet::{Flags, Packet};

/// Strict priority over FIFO queues; thresholds follow percentiles of the sizes of recently completed flows (AWAFS).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// The thresholds at the start, not decreasing; there is one queue more.
    pub thresholds: Vec<Bytes>,
    /// What the thresholds follow.
    pub percentiles: Percentiles,
    /// How long a completed flow is remembered (W_update).
    pub window: Duration,
    /// Time between two adjustments (T_schedule).
    pub interval: Duration,
}

impl Default for Spec {
    /// Section 4.3, for four queues: W_update 1 s, T_schedule 250 ms, RefPct from
    /// 0.1 in steps of 0.1, thresholds from 7 KB in steps of 7 KB.
    fn default() -> Self {
        Spec {
            thresholds: [7_000, 14_000, 21_000].map(Bytes::new).to_vec(),
            percentiles: Percentiles::Given(vec![0.1, 0.2, 0.3]),
            window: Duration::from_ms(1000),
            interval: Duration::from_ms(250),
        }
    }
}

/// Bytes of an entry of the list: a size of 4 and a time of 8 (section 4.2).
const ENTRY_BYTES: u64 = 12;

/// Sensor and actuator: the list of completed flows, and what follows from it.
pub struct Completed {
    percentiles: Percentiles,
    thresholds: usize,
    window: Duration,
    interval: Duration,
    /// When the actuator runs next.
    until: Time,
    /// When flows completed, and their sizes, oldest first.
    flows: VecDeque<(Time, u32)>,
}

impl DisciplineSpec for Spec {
    type State = Adaptive<Completed>;

    fn learns_every(&self) -> Option<(&'static str, Duration)> {
        Some(("interval", self.interval))
    }

    fn build(&self, _: &Site<'_>) -> Result<Adaptive<Completed>, SpecError> {
        let cuts = &self.thresholds;
        self.percentiles.check(cuts.len())?;
        if let Some(i) = (1..cuts.len()).find(|&i| cuts[i] < cuts[i - 1]) {
            let message = format!(
                "{} after {}; thresholds must not fall",
                cuts[i],
                cuts[i - 1]
            );
            return Err(SpecError::new(format!("thresholds[{i}]"), message));
        }
        if self.interval == Duration::ZERO {
            return Err(SpecError::new("interval", "0s is not above zero"));
        }
        if self.window < self.interval {
            let message = format!(
                "{} is shorter than interval ({})",
                self.window, self.interval
            );
            return Err(SpecError::new("window", message));
        }
        let bytes = |b: &Bytes| u32::try_from(b.get()).unwrap_or(u32::MAX);
        let completed = Completed {
            percentiles: self.percentiles.clone(),
            thresholds: cuts.len(),
            window: self.window,
            interval: self.interval,
            until: Time::ZERO + self.interval,
            flows: VecDeque::new(),
        };
        Ok(Adaptive::new(cuts.iter().map(bytes).collect(), completed))
    }
}

impl Source for Completed {
    fn queued(&mut self, packet: &Packet, now: Time) {
        if packet.flags.has(Flags::END) {
            let size = packet.tag.saturating_add(u32::from(packet.bytes));
            self.flows.push_back((now, size));
        }
    }

    fn advance(&mut self, now: Time) -> Option<Vec<u32>> {
        if now < self.until {
            return None;
        }
        let passed = now.since(self.until).ps() / self.interval.ps();
        let ran = self.until + self.interval * passed;
        self.until = ran + self.interval;
        let oldest = ran.ps().saturating_sub(self.window.ps());
        while self.flows.front().is_some_and(|&(at, _)| at.ps() < oldest) {
            self.flows.pop_front();
        }
        let sizes = self.flows.iter().map(|&(_, size)| size).collect();
        self.percentiles.cuts(sizes, self.thresholds)
    }

    fn state_bytes(&self) -> u64 {
        self.flows.len() as u64 * ENTRY_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Packets, TEST_SITE};
    use super::*;
    use crate::disciplines::Discipline;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// The last packet of a flow of `size` bytes.
    fn last(size: u32) -> Packet {
        let tag = size.saturating_sub(1000);
        let bytes = (size - tag) as u16;
        Packet {
            tag,
            bytes,
            flags: Flags::END,
            ..Packet::default()
        }
    }

    fn pass(port: &mut Packets<Adaptive<Completed>>, packet: Packet, now: Time) {
        port.observe(&packet, now);
        port.enqueue(packet, now);
        assert!(port.dequeue().is_some());
    }

    #[test]
    fn thresholds_follow_the_window_by_hand() {
        let mut port = Packets::of(Spec::default().build(&TEST_SITE).unwrap());
        assert_eq!(port.thresholds(at(0)), Some(&[7_000, 14_000, 21_000][..]));
        for i in 1..=10 {
            pass(&mut port, last(i * 1000), at(100));
        }
        assert_eq!(port.state_bytes(), 120);
        assert_eq!(port.thresholds(at(249)), Some(&[7_000, 14_000, 21_000][..]));
        // 10%, 20% and 30% of ten flows of 1, 2, ..., 10 KB.
        assert_eq!(port.thresholds(at(250)), Some(&[1_000, 2_000, 3_000][..]));
        pass(&mut port, last(50_000), at(900));
        // At 1100 ms the ten are just within a second; at 1250 ms only the last is.
        assert_eq!(port.thresholds(at(1100)), Some(&[2_000, 3_000, 4_000][..]));
        assert_eq!(port.thresholds(at(1250)), Some(&[50_000; 3][..]));
        // An empty window keeps what there was.
        assert_eq!(port.thresholds(at(9000)), Some(&[50_000; 3][..]));
        assert_eq!(port.state_bytes(), 0);
    }

    #[test]
    fn mistakes() {
        let error = |spec: Spec| spec.build(&TEST_SITE).err().unwrap().to_string();
        let good = Spec::default;
        let message = error(Spec {
            percentiles: Percentiles::Given(vec![0.1, 0.2]),
            ..good()
        });
        assert_eq!(message, "percentiles: 2 for 3 thresholds; each needs one");
        let message = error(Spec {
            percentiles: Percentiles::Given(vec![0.1, 1.0, 0.3]),
            ..good()
        });
        assert_eq!(message, "percentiles[1]: 1 is not in (0, 1)");
        let message = error(Spec {
            percentiles: Percentiles::Given(vec![0.2, 0.1, 0.3]),
            ..good()
        });
        assert_eq!(
            message,
            "percentiles[1]: 0.1 after 0.2; percentiles must not fall"
        );
        let message = error(Spec {
            window: Duration::from_ms(1),
            ..good()
        });
        assert_eq!(message, "window: 1ms is shorter than interval (250ms)");
        let cuts = [9, 8, 10].map(Bytes::new).to_vec();
        let message = error(Spec {
            thresholds: cuts,
            ..good()
        });
        assert_eq!(
            message,
            "thresholds[1]: 8B after 9B; thresholds must not fall"
        );
    }

    proptest! {
        /// Against a sort of everything that completed in the last window.
        #[test]
        fn percentiles_are_those_of_a_naive_sort(
            flows in prop::collection::vec((0u64..400, 1u32..100_000), 1..60),
            percentiles in prop::collection::vec(0.01f64..0.99, 1..5),
        ) {
            let mut percentiles = percentiles;
            percentiles.sort_by(f64::total_cmp);
            let thresholds = vec![Bytes::new(7); percentiles.len()];
            let spec = Spec { thresholds, percentiles: Percentiles::Given(percentiles.clone()), ..Spec::default() };
            let mut port = Packets::of(spec.build(&TEST_SITE).unwrap());
            let (mut clock, mut all) = (0, Vec::new());
            let mut expected = vec![7; percentiles.len()];
            for (gap, size) in flows {
                let before = clock;
                clock += gap;
                // The last adjustment until now, if there was one since the packet before.
                if clock / 250 > before / 250 {
                    let ran = clock / 250 * 250;
                    let mut sizes: Vec<u32> =
                        all.iter().filter(|(t, _)| *t + 1000 >= ran).map(|&(_, s)| s).collect();
                    sizes.sort_unstable();
                    if !sizes.is_empty() {
                        let rank = |p: &f64| (p * sizes.len() as f64).ceil().max(1.0) as usize - 1;
                        expected = percentiles.iter().map(|p| sizes[rank(p)]).collect();
                    }
                }
                prop_assert_eq!(port.thresholds(at(clock)), Some(&expected[..]));
                pass(&mut port, last(size), at(clock));
                all.push((clock, size));
            }
        }
    }
}
