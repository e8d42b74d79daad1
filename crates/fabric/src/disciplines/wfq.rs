//! Weighted fair queueing over traffic classes: the emulation of `fq` with
//! classes as conversations (Demers, Keshav and Shenker, SIGCOMM 1989, section
//! 2.2; weights as in Parekh and Gallager, IEEE/ACM ToN 1(3), 1993).
//!
//! Tags are given to a class's packets as they come, and the class with the
//! smallest tag sends; with `inside = "fq"` the k-th packet that it sends leaves
//! under the tag of the k-th that came.

use fctlab_core::{SpecError, Time};
use serde::{Deserialize, Serialize};

use super::classes::{ByClass, Classes, Inside, Schedule, check_weights};
use super::rounds::{ONE, Rounds};
use super::{DisciplineSpec, Site};

/// Weighted fair queueing over traffic classes: the smallest finish tag leaves next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// One number for each class, in the order of the classes.
    #[schemars(length(min = 1, max = 256), extend("items" = {"type": "number", "exclusiveMinimum": 0}))]
    pub weights: Vec<f64>,
    /// What leaves a class next.
    #[serde(default)]
    pub inside: Inside,
}

/// Whose turn it is.
pub struct Wfq {
    /// In units of 1 / [`ONE`], the largest being [`ONE`].
    weights: Vec<u64>,
    rounds: Rounds<usize, ()>,
}

impl DisciplineSpec for Spec {
    type State = ByClass<Wfq>;
    fn build(&self, site: &Site<'_>) -> Result<ByClass<Wfq>, SpecError> {
        check_weights(&self.weights)?;
        let largest = self.weights.iter().copied().fold(0.0, f64::max);
        let weights = self.weights.iter().map(|w| w / largest * ONE as f64);
        let schedule = Wfq {
            weights: weights.map(|w| (w.round() as u64).max(1)).collect(),
            rounds: Rounds::new(site.rate),
        };
        let classes = Classes::new(self.weights.len(), self.inside, site);
        Ok(ByClass::new(classes, schedule))
    }
    fn classes(&self) -> Option<usize> {
        Some(self.weights.len())
    }
    fn remembers(&self) -> bool {
        self.inside.remembers()
    }
}

impl Schedule for Wfq {
    #[inline]
    fn arrived(&mut self, class: usize, bytes: u16, _: bool, now: Time) {
        let weight = self.weights[class];
        self.rounds.push(class, weight, bytes, (), now);
    }
    #[inline]
    fn choose(&mut self, _: &Classes) -> Option<usize> {
        self.rounds.pop().map(|(class, ())| class)
    }
    fn sent(&mut self, _: usize, _: u16, _: bool) {}
    fn begin(&mut self, class: usize, bytes: u16, since: Time) {
        let weight = self.weights[class];
        self.rounds.restart(class, weight, bytes, since);
    }
}

#[cfg(test)]
mod tests {
    use super::super::classes::tests::{PS_PER_BYTE, build, data, share};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[test]
    fn tags_by_hand() {
        // Weights 2 and 1 (1 and 1/2 of the largest), packets of 900 B at once:
        // tags of class 0: 900, 1800, 2700, 3600; of class 1: 1800, 3600.
        let mut queue = build(json!({"kind": "wfq", "weights": [2, 1]}));
        for (class, count) in [(1, 2), (0, 4)] {
            (0..count).for_each(|seq| queue.enqueue(data(class, 0, seq, 900), Time::ZERO));
        }
        let order = std::iter::from_fn(|| queue.dequeue()).map(|p| p.class);
        // Of equal tags the older packet, here class 1's, leaves first.
        assert_eq!(order.collect::<Vec<_>>(), [0, 1, 0, 0, 1, 0]);
    }

    proptest! {
        /// Bytes follow the weights: what a backlogged class has had per weight
        /// differs from that of another by two packets of each (GPS plus a packet).
        #[test]
        fn bytes_follow_the_weights(
            weights in prop::collection::vec(1u32..20, 2..5),
            sizes in prop::collection::vec(41u16..1501, 1..20),
            packets in 1u32..600,
            fq in any::<bool>(),
        ) {
            let inside = if fq { "fq" } else { "fifo" };
            let spec = json!({"kind": "wfq", "weights": weights, "inside": inside});
            let sent = share(spec, weights.len(), packets, &sizes);
            for i in 0..weights.len() {
                for j in 0..i {
                    let (a, b) = (f64::from(weights[i]), f64::from(weights[j]));
                    let apart = (sent[i].0 as f64 / a - sent[j].0 as f64 / b).abs();
                    let packets = if fq { 4.0 } else { 2.0 };
                    let bound = packets * 1500.0 * (1.0 / a + 1.0 / b);
                    prop_assert!(apart <= bound, "{:?}: {} of {}", sent, apart, bound);
                }
            }
        }

        /// Against the fluid in small steps of time: byte after byte of the link
        /// is given to the classes with bits left, by weight.
        #[test]
        fn leaves_in_the_order_of_the_fluid(
            weights in prop::collection::vec(1u32..6, 3),
            arrivals in prop::collection::vec((0u64..2_000, 0u8..3, 1u16..30), 1..40),
        ) {
            let mut queue = build(json!({"kind": "wfq", "weights": weights}));
            // The k-th packet of a class ends in the fluid when the class has had
            // so many bytes: rounds, as bytes of a class of weight 1.
            let (mut round, mut clock) = (0.0f64, 0u64);
            let mut finish = BTreeMap::<u8, f64>::new();
            let mut tags = vec![];
            for (i, &(gap, class, units)) in arrivals.iter().enumerate() {
                for _ in 0..gap {
                    let sharing = finish.iter().filter(|&(_, &f)| f > round + 1e-9);
                    let weight: u32 = sharing.map(|(&c, _)| weights[usize::from(c)]).sum();
                    if weight > 0 {
                        round += 1.0 / f64::from(weight);
                    }
                }
                clock += gap;
                let bytes = units * 50;
                queue.enqueue(data(class, 0, i as u32, bytes), Time::from_ps(clock * PS_PER_BYTE));
                let weight = f64::from(weights[usize::from(class)]);
                let tag = finish.get(&class).copied().unwrap_or(0.0).max(round) + f64::from(bytes) / weight;
                finish.insert(class, tag);
                tags.push(tag);
            }
            let order: Vec<f64> = std::iter::from_fn(|| queue.dequeue()).map(|p| tags[p.seq as usize]).collect();
            prop_assert_eq!(order.len(), arrivals.len());
            // The steps of the model are a byte; tags closer than a few bytes may turn.
            for pair in order.windows(2) {
                prop_assert!(pair[0] <= pair[1] + 8.0, "{order:?}");
            }
        }
    }
}
