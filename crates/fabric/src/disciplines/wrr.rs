//! Weighted round robin over traffic classes, packet by packet (Katevenis,
//! Sidiropoulos and Courcoubetis, IEEE JSAC 9(8), 1991): weights count packets.
//!
//! A round consists of as many cycles as the largest weight says; in cycle i each
//! backlogged class of weight i or more sends one packet, so that the turns of a
//! class are spread over the round. A round ends when no backlogged class has a
//! turn left in it.

use fctlab_core::{SpecError, Time};
use serde::{Deserialize, Serialize};

use super::classes::{ByClass, Classes, Inside, Schedule, check_weights};
use super::{DisciplineSpec, Site};

/// Weighted round robin over traffic classes: so many packets of each per round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Packets per round, one number for each class, in the order of the classes.
    #[schemars(length(min = 1, max = 256), inner(range(min = 1)))]
    pub weights: Vec<u32>,
    /// What leaves a class next.
    #[serde(default)]
    pub inside: Inside,
}

/// Whose turn it is.
pub struct Wrr {
    weights: Vec<u32>,
    /// Packets that each class may still send in this round.
    left: Vec<u32>,
    /// The class that is looked at next.
    next: usize,
}

impl DisciplineSpec for Spec {
    type State = ByClass<Wrr>;
    fn build(&self, site: &Site<'_>) -> Result<ByClass<Wrr>, SpecError> {
        let weights: Vec<f64> = self.weights.iter().copied().map(f64::from).collect();
        check_weights(&weights)?;
        let schedule = Wrr {
            weights: self.weights.clone(),
            left: self.weights.clone(),
            next: 0,
        };
        let classes = Classes::new(self.weights.len(), self.inside, site);
        Ok(ByClass::new(classes, schedule))
    }
    fn classes(&self) -> Option<usize> {
        Some(self.weights.len())
    }
}

impl Wrr {
    /// The first backlogged class with a turn left in this round, in cyclic order.
    fn find(&self, classes: &Classes) -> Option<usize> {
        let count = self.weights.len();
        (self.next..self.next + count)
            .map(|class| class % count)
            .find(|&class| self.left[class] > 0 && classes.is_backlogged(class))
    }
}

impl Schedule for Wrr {
    fn arrived(&mut self, _: usize, _: u16, _: bool, _: Time) {}
    fn choose(&mut self, classes: &Classes) -> Option<usize> {
        let found = self.find(classes);
        found.or_else(|| {
            self.left.clone_from(&self.weights);
            self.next = 0;
            self.find(classes)
        })
    }
    fn sent(&mut self, class: usize, _: u16, _: bool) {
        self.left[class] -= 1;
        self.next = class + 1;
    }
    fn passed(&mut self, class: usize, bytes: u16) {
        if self.left[class] == 0 {
            self.left.clone_from(&self.weights);
        }
        self.sent(class, bytes, true);
    }
}

#[cfg(test)]
mod tests {
    use super::super::classes::tests::{build, data, share};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn turns_are_spread_over_the_round() {
        let mut queue = build(json!({"kind": "wrr", "weights": [3, 1, 2]}));
        for seq in 0..12 {
            (0..3).for_each(|class| queue.enqueue(data(class, 0, seq, 100), Time::ZERO));
        }
        let mut order = || queue.dequeue().unwrap().class;
        let two_rounds: Vec<u8> = (0..12).map(|_| order()).collect();
        assert_eq!(two_rounds, [0, 1, 2, 0, 2, 0, 0, 1, 2, 0, 2, 0]);
    }

    #[test]
    fn a_class_alone_has_the_link() {
        let mut queue = build(json!({"kind": "wrr", "weights": [1, 5]}));
        (0..20).for_each(|seq| queue.enqueue(data(0, 0, seq, 100), Time::ZERO));
        for seq in 0..20 {
            assert_eq!(queue.dequeue().unwrap().seq, seq);
        }
        assert!(queue.dequeue().is_none());
    }

    proptest! {
        /// Packets sent follow the weights to within a round, whatever their sizes.
        #[test]
        fn packets_follow_the_weights(
            weights in prop::collection::vec(1u32..20, 1..5),
            sizes in prop::collection::vec(41u16..1501, 1..20),
            packets in 1u32..600,
        ) {
            let sent = share(json!({"kind": "wrr", "weights": weights}), weights.len(), packets, &sizes);
            let round: u32 = weights.iter().sum();
            let (rounds, rest) = (packets / round, packets % round);
            for (i, &weight) in weights.iter().enumerate() {
                let whole = u64::from(rounds * weight);
                prop_assert!((whole..=whole + u64::from(weight.min(rest))).contains(&sent[i].1));
            }
        }
    }
}
