//! Deficit round robin over traffic classes (Shreedhar and Varghese, SIGCOMM
//! 1995): weights count bytes, whatever the packets' sizes.
//!
//! Backlogged classes take turns. At its turn a class's deficit counter grows by
//! its quantum, and it sends packets as long as the counter covers them; what
//! remains is kept for its next turn, but not by a class with nothing to send.

use std::collections::VecDeque;

use fctlab_core::{Bytes, SpecError, Time};
use serde::{Deserialize, Serialize};

use super::classes::{ByClass, Classes, Inside, Schedule, check_weights};
use super::{DisciplineSpec, Site};

/// Deficit round robin over traffic classes: bytes by weight (Shreedhar, Varghese).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// One number for each class, in the order of the classes.
    #[schemars(length(min = 1, max = 256), extend("items" = {"type": "number", "exclusiveMinimum": 0}))]
    pub weights: Vec<f64>,
    /// What a class of the smallest weight may send per turn; others in
    /// proportion. A full packet or more, or a turn may pass without one;
    /// from 64B to 1GB.
    #[serde(default = "one_packet")]
    pub quantum: Bytes,
    /// What leaves a class next.
    #[serde(default)]
    pub inside: Inside,
}

fn one_packet() -> Bytes {
    Bytes::new(1500)
}

/// Whose turn it is.
pub struct Drr {
    quanta: Vec<u64>,
    deficits: Vec<u64>,
    /// The backlogged classes, that whose turn it is first.
    active: VecDeque<usize>,
    /// Whether that one has had its quantum.
    granted: bool,
}

impl DisciplineSpec for Spec {
    type State = ByClass<Drr>;
    fn build(&self, site: &Site<'_>) -> Result<ByClass<Drr>, SpecError> {
        check_weights(&self.weights)?;
        if self.quantum.get() < 64 || self.quantum.get() > 1_000_000_000 {
            let message = format!("{} is not in [64B, 1GB]", self.quantum);
            return Err(SpecError::new("quantum", message));
        }
        let smallest = self.weights.iter().copied().fold(f64::INFINITY, f64::min);
        let quantum = self.quantum.get() as f64;
        let quanta = self
            .weights
            .iter()
            .map(|w| (quantum * w / smallest).round());
        let schedule = Drr {
            quanta: quanta.map(|q| q as u64).collect(),
            deficits: vec![0; self.weights.len()],
            active: VecDeque::new(),
            granted: false,
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

impl Schedule for Drr {
    #[inline]
    fn arrived(&mut self, class: usize, _: u16, first: bool, _: Time) {
        if first {
            self.active.push_back(class);
        }
    }
    #[inline]
    fn choose(&mut self, classes: &Classes) -> Option<usize> {
        loop {
            let class = *self.active.front()?;
            if !std::mem::replace(&mut self.granted, true) {
                self.deficits[class] += self.quanta[class];
            }
            if u64::from(classes.head_bytes(class)?) <= self.deficits[class] {
                return Some(class);
            }
            self.active.pop_front();
            self.active.push_back(class);
            self.granted = false;
        }
    }
    #[inline]
    fn sent(&mut self, class: usize, bytes: u16, last: bool) {
        self.deficits[class] -= u64::from(bytes);
        if last {
            self.deficits[class] = 0;
            self.active.pop_front();
            self.granted = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::classes::tests::{build, data, share};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_remains_of_a_quantum_is_kept_while_backlogged() {
        // Quanta of 1000 and 500 B. Class 0: 600, 600, 700, 100; class 1: 400, 500, 300.
        let mut queue = build(json!({"kind": "drr", "weights": [2, 1], "quantum": "500B"}));
        for (class, sizes) in [(0, vec![600, 600, 700, 100]), (1, vec![400, 500, 300])] {
            for (seq, bytes) in sizes.into_iter().enumerate() {
                queue.enqueue(data(class, 0, seq as u32, bytes), Time::ZERO);
            }
        }
        // 0: 1000 -> 600 (400 left, 600 is too long). 1: 500 -> 400 (100). 0: 1400 ->
        // 600, 700 (100), then 100 (0, empty). 1: 600 -> 500 (100). 1 alone: 600 -> 300.
        let order = std::iter::from_fn(|| queue.dequeue());
        let order: Vec<(u8, u16)> = order.map(|p| (p.class, p.bytes)).collect();
        let expected = [
            (0, 600),
            (1, 400),
            (0, 600),
            (0, 700),
            (0, 100),
            (1, 500),
            (1, 300),
        ];
        assert_eq!(order, expected);
        // A class that has been idle starts with nothing.
        queue.enqueue(data(1, 0, 9, 501), Time::ZERO);
        queue.enqueue(data(0, 0, 9, 1000), Time::ZERO);
        let order = std::iter::from_fn(|| queue.dequeue()).map(|p| p.class);
        assert_eq!(order.collect::<Vec<_>>(), [0, 1]);
    }

    proptest! {
        /// Bytes follow the weights: what a class has had per weight differs from
        /// that of another by less than a quantum and two packets (lemma 2 of the paper).
        #[test]
        fn bytes_follow_the_weights(
            weights in prop::collection::vec(1u32..20, 2..5),
            sizes in prop::collection::vec(41u16..1501, 1..20),
            packets in 1u32..600,
            quantum in 100u64..4000,
            fq in any::<bool>(),
        ) {
            let inside = if fq { "fq" } else { "fifo" };
            let spec = json!({
                "kind": "drr", "weights": weights, "quantum": format!("{quantum}B"), "inside": inside,
            });
            let sent = share(spec, weights.len(), packets, &sizes);
            let smallest = *weights.iter().min().unwrap();
            let scaled = |i: usize| sent[i].0 as f64 * f64::from(smallest) / f64::from(weights[i]);
            for i in 0..weights.len() {
                for j in 0..i {
                    let apart = (scaled(i) - scaled(j)).abs();
                    prop_assert!(apart <= quantum as f64 + 2.0 * 1500.0 + 1.0, "{:?}", sent);
                }
            }
        }
    }
}
