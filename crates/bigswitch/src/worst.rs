//! Random instances, and a search for those on which a policy does badly.
//!
//! The search is simulated annealing: change an instance a little, keep the change if
//! the objective rises, or by chance if it falls a little; the chance shrinks with
//! time. Every instance tried has been compared with the exact optimum, so the largest
//! ratio found is a lower bound of the policy's competitive ratio, with a witness.

use fctlab_core::SpecError;
use fctlab_core::random::Seed;
use fctlab_core::units::grouped;
use rand::RngExt;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::instance::{Burst, Flow, Instance, LAST_SLOT, MOST_PACKETS, MOST_PORTS, MOST_WEIGHT};

/// What instances may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shape {
    /// Ingress ports.
    pub ingress: u32,
    /// Egress ports.
    pub egress: u32,
    /// Flows at most.
    pub flows: u32,
    /// Packets at most, of all flows together; at least as many as flows.
    pub packets: u32,
    /// The last slot in which packets may arrive.
    pub slots: u32,
    /// The largest weight.
    pub weight: u32,
    /// Whether all packets of a flow arrive at once.
    pub gapless: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            ingress: 1,
            egress: 1,
            flows: 5,
            packets: 20,
            slots: 20,
            weight: 1,
            gapless: false,
        }
    }
}

impl Shape {
    /// Whether there are such instances.
    ///
    /// # Errors
    /// The first number out of its range.
    pub fn check(&self) -> Result<(), SpecError> {
        for (key, value, most) in [
            ("ingress", self.ingress, MOST_PORTS),
            ("egress", self.egress, MOST_PORTS),
            ("flows", self.flows, MOST_PACKETS),
            ("packets", self.packets, MOST_PACKETS),
            ("slots", self.slots, LAST_SLOT),
            ("weight", self.weight, MOST_WEIGHT),
        ] {
            if !(1..=most).contains(&value) {
                return Err(SpecError::new(
                    key,
                    format!("{value} is not from 1 to {}", grouped(most.into())),
                ));
            }
        }
        if self.packets < self.flows {
            let message = format!("{} is less than the {} flows", self.packets, self.flows);
            return Err(SpecError::new("packets", message));
        }
        Ok(())
    }
    /// The stream of random numbers that instances come from.
    pub fn rng(&self, seed: u64) -> Pcg64 {
        Seed(seed).stream("bigswitch")
    }
    /// Brings an instance within the limits.
    fn clip(&self, instance: &mut Instance) {
        let mut left = self.packets;
        let mut others = instance.flows.len() as u32;
        for flow in &mut instance.flows {
            others -= 1;
            // One packet each for the flows that follow.
            let mut allowed = left.saturating_sub(others).max(1);
            for burst in &mut flow.bursts {
                burst.slot = burst.slot.clamp(1, self.slots);
            }
            flow.bursts.sort_unstable_by_key(|b| b.slot);
            flow.bursts.dedup_by(|b, a| {
                let same = a.slot == b.slot;
                a.count += if same { b.count } else { 0 };
                same
            });
            if self.gapless {
                let count = flow.bursts.iter().map(|b| b.count).sum();
                flow.bursts = vec![Burst {
                    slot: flow.bursts[0].slot,
                    count,
                }];
            }
            for burst in &mut flow.bursts {
                burst.count = burst.count.min(allowed);
                allowed -= burst.count;
            }
            flow.bursts.retain(|b| b.count > 0);
            left = left.saturating_sub(flow.size());
        }
    }
}

/// A random instance.
pub fn random(rng: &mut Pcg64, shape: &Shape) -> Instance {
    let flows = rng.random_range(1..=shape.flows.min(shape.packets));
    // Small instances and large ones, crowded ones and sparse ones.
    let largest = rng.random_range(1..=(shape.packets / flows).max(1) * 2);
    let slots = rng.random_range(1..=shape.slots);
    let mut instance = Instance {
        ingress_ports: shape.ingress,
        egress_ports: shape.egress,
        flows: (0..flows)
            .map(|_| random_flow(rng, shape, largest, slots))
            .collect(),
    };
    shape.clip(&mut instance);
    instance
}

fn random_flow(rng: &mut Pcg64, shape: &Shape, largest: u32, slots: u32) -> Flow {
    let mut left = rng.random_range(1..=largest);
    let mut slot = rng.random_range(1..=slots);
    let mut bursts = Vec::new();
    let bursty = rng.random_bool(0.5);
    while left > 0 {
        let count = if bursty {
            rng.random_range(1..=left)
        } else {
            1
        };
        bursts.push(Burst { slot, count });
        left -= count;
        slot += rng.random_range(0..=slots.div_ceil(3));
    }
    Flow {
        ingress: rng.random_range(0..shape.ingress),
        egress: rng.random_range(0..shape.egress),
        weight: rng.random_range(1..=shape.weight),
        bursts,
        ..Flow::new([])
    }
}

/// A change of one thing.
fn mutate(rng: &mut Pcg64, shape: &Shape, instance: &Instance) -> Instance {
    let mut instance = instance.clone();
    let flows = &mut instance.flows;
    let f = rng.random_range(0..flows.len());
    let b = rng.random_range(0..flows[f].bursts.len());
    let room = flows.len() < shape.flows as usize;
    let by = |rng: &mut Pcg64, value: u32| match rng.random_range(0..4) {
        0 => value + 1,
        1 => value.saturating_sub(1),
        2 => value + rng.random_range(0..=value.div_ceil(2)),
        _ => value - rng.random_range(0..=value.div_ceil(2)).min(value),
    };
    match rng.random_range(0..12) {
        0 | 1 => flows[f].bursts[b].slot = by(rng, flows[f].bursts[b].slot),
        2 | 3 => flows[f].bursts[b].count = by(rng, flows[f].bursts[b].count).max(1),
        4 => {
            let slot = rng.random_range(1..=shape.slots);
            flows[f].bursts.push(Burst { slot, count: 1 });
        }
        // The last packet of a flow comes later.
        5 => {
            let last = flows[f].bursts.len() - 1;
            if flows[f].bursts[last].count > 1 {
                flows[f].bursts[last].count -= 1;
                let slot = flows[f].complete() + rng.random_range(1..=shape.slots);
                flows[f].bursts.push(Burst { slot, count: 1 });
            }
        }
        6 if flows[f].bursts.len() > 1 => {
            let gone = flows[f].bursts.remove(b);
            let to = b.saturating_sub(1);
            flows[f].bursts[to].count += gone.count;
        }
        7 if room => {
            let copy = flows[f].clone();
            let at = rng.random_range(0..=flows.len());
            flows.insert(at, copy);
        }
        7 | 8 if flows.len() > 1 => {
            flows.remove(f);
        }
        9 if room => {
            let largest = (shape.packets / shape.flows).max(1);
            let new = random_flow(rng, shape, largest, shape.slots);
            let at = rng.random_range(0..=flows.len());
            flows.insert(at, new);
        }
        9 | 10 => {
            let g = rng.random_range(0..flows.len());
            flows.swap(f, g);
        }
        _ => {
            flows[f].ingress = rng.random_range(0..shape.ingress);
            flows[f].egress = rng.random_range(0..shape.egress);
            flows[f].weight = by(rng, flows[f].weight).clamp(1, shape.weight);
        }
    }
    shape.clip(&mut instance);
    instance
}

/// The worst instance of a search.
#[derive(Clone, Debug)]
pub struct Worst {
    /// The objective.
    pub value: f64,
    /// Where.
    pub instance: Instance,
    /// How many instances were evaluated.
    pub tried: u64,
}

/// One annealing of `steps` changes, from a random instance (or from `start`).
/// `objective` is `None` for instances that it cannot judge.
pub fn anneal(
    shape: &Shape,
    steps: u64,
    seed: u64,
    start: Option<Instance>,
    mut objective: impl FnMut(&Instance) -> Option<f64>,
) -> Worst {
    let rng = &mut shape.rng(seed);
    let mut now = start.unwrap_or_else(|| random(rng, shape));
    shape.clip(&mut now);
    let mut value = objective(&now).unwrap_or(0.0);
    let mut worst = Worst {
        value,
        instance: now.clone(),
        tried: 1,
    };
    const HOT: f64 = 0.03;
    const COLD: f64 = 0.0003;
    for step in 0..steps {
        let heat = HOT * (COLD / HOT).powf(step as f64 / steps as f64);
        let mut next = mutate(rng, shape, &now);
        if rng.random_bool(0.3) {
            next = mutate(rng, shape, &next);
        }
        let Some(found) = objective(&next) else {
            continue;
        };
        worst.tried += 1;
        if found >= value || rng.random::<f64>() < ((found - value) / heat).exp() {
            (now, value) = (next, found);
            if value > worst.value {
                (worst.value, worst.instance) = (value, now.clone());
            }
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn within(shape: &Shape, instance: &Instance) {
        assert_eq!(
            Instance::read(instance.to_json()).as_ref(),
            Ok(instance),
            "not valid"
        );
        assert!(instance.flows.len() <= shape.flows as usize);
        assert!(instance.packets() <= u64::from(shape.packets));
        for flow in &instance.flows {
            assert!(flow.complete() <= shape.slots && flow.weight <= shape.weight);
            assert!(!shape.gapless || flow.bursts.len() == 1);
        }
    }

    proptest! {
        #[test]
        fn instances_stay_within_the_shape(seed: u64, flows in 1u32..6, more in 0u32..20, slots in 1u32..30, gapless: bool) {
            let shape = Shape { ingress: 2, egress: 3, flows, packets: flows + more, slots, weight: 4, gapless };
            let rng = &mut shape.rng(seed);
            let mut instance = random(rng, &shape);
            for _ in 0..50 {
                within(&shape, &instance);
                instance = mutate(rng, &shape, &instance);
            }
        }
    }

    #[test]
    fn shapes_without_instances_are_refused() {
        let error = |shape: Shape| shape.check().unwrap_err().to_string();
        let none = Shape {
            slots: 0,
            ..Shape::default()
        };
        assert_eq!(error(none), "slots: 0 is not from 1 to 1,073,741,824");
        let few = Shape {
            packets: 3,
            ..Shape::default()
        };
        assert_eq!(error(few), "packets: 3 is less than the 5 flows");
        assert_eq!(Shape::default().check(), Ok(()));
    }

    #[test]
    fn a_search_climbs() {
        // The most slots between the first and the last packet of a flow: 1 to 20.
        let spread = |instance: &Instance| {
            instance
                .flows
                .iter()
                .map(|f| f64::from(f.complete() - f.arrival()))
                .reduce(f64::max)
        };
        let shape = Shape::default();
        let found = anneal(&shape, 5000, 1, None, spread);
        assert_eq!(found.value, 19.0);
        assert_eq!(spread(&found.instance), Some(19.0));
        assert_eq!(found.tried, 5001);
    }
}
