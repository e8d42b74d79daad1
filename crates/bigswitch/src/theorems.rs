//! What the theorems say about every instance, checked on one.

use fctlab_core::SpecError;
use serde::Serialize;
use serde_json::json;

use crate::instance::{Burst, Flow, Instance};
use crate::metrics::{Metric, Metrics};
use crate::optimum;
use crate::policies::{Policy, PolicySpec};
use crate::switch;

/// A policy of each kind, and those with a second group or weights that the paper names.
pub fn every_policy() -> Vec<PolicySpec> {
    let specs = json!([
        "fifo", "brr", "las", {"kind": "pias", "thresholds": [2, 4]},
        "srpt", {"kind": "srpt", "weighted": true}, "sjf", "ideal",
        "asrpt", {"kind": "asrpt", "second": "brr"}, {"kind": "asrpt", "second": "las"},
        {"kind": "asrpt", "weighted": true},
        {"kind": "ga", "policy": "ideal"}, {"kind": "ga", "policy": "las", "second": "brr"},
        {"kind": "ga", "policy": "brr"}, {"kind": "ga", "policy": {"kind": "ga", "policy": "sjf"}},
    ]);
    let specs = specs.as_array().cloned().unwrap_or_default();
    specs
        .into_iter()
        .filter_map(|spec| PolicySpec::read(spec).ok())
        .collect()
}

/// The largest ratio to the optimum that a policy is proven to have on one port
/// (theorems 4, 5 and 7; for weights see the project's documentation), and in which metric.
pub fn proven(policy: &PolicySpec) -> Option<(u64, Metric)> {
    match policy {
        PolicySpec::Brr(_) | PolicySpec::Las(_) => Some((3, Metric::Fpt)),
        PolicySpec::Asrpt(asrpt) if asrpt.weighted => Some((2, Metric::WeightedFpt)),
        PolicySpec::Asrpt(_) => Some((2, Metric::Fpt)),
        PolicySpec::Ga(ga) => match *ga.policy {
            PolicySpec::Srpt(ref srpt) if srpt.weighted => Some((2, Metric::WeightedFpt)),
            PolicySpec::Srpt(_) | PolicySpec::Ideal(_) => Some((2, Metric::Fpt)),
            _ => None,
        },
        _ => None,
    }
}

/// A policy's metric over the optimum; `None` where the optimum is not exact.
pub fn ratio<P: Policy>(instance: &Instance, policy: &P, metric: Metric) -> Option<(u64, u64)> {
    let best = optimum::optimum(instance, metric);
    best.is_exact().then(|| {
        let ends = switch::run(instance, policy, |_, _| ());
        (metric.of(instance, &ends), best.value)
    })
}

/// The two sides of theorem 2 for one schedule: its FPT as told, and its FCT counted from packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theorem2 {
    /// As [`Metrics`] has it.
    pub fpt: u64,
    /// Slot by slot, how many flows are in the switch: have arrived and not sent everything.
    pub fct: u64,
    /// What the proof says lies between: the slots before each flow's first, which no policy changes.
    pub before: u64,
}

impl Theorem2 {
    /// Of a policy.
    pub fn of(instance: &Instance, policy: &PolicySpec) -> Self {
        let (sent, ends) = schedule(instance, policy);
        Theorem2::new(instance, &sent, &Metrics::new(instance, &ends))
    }
    /// Of the schedule that sends `(slot, flow)`, in order of slots, and is told to have these metrics.
    fn new(instance: &Instance, sent: &[(u32, u32)], metrics: &Metrics) -> Self {
        let mut left: Vec<u32> = instance.flows.iter().map(Flow::size).collect();
        let mut packets = sent.iter().peekable();
        let (mut fct, mut slot) = (0, 1);
        while packets.peek().is_some() {
            let flows = instance.flows.iter().zip(&left);
            let inside = flows.filter(|(flow, left)| flow.arrival() <= slot && **left > 0);
            fct += inside.count() as u64;
            while let Some(&(_, flow)) = packets.next_if(|&&(at, _)| at == slot) {
                left[flow as usize] -= 1;
            }
            slot += 1;
        }
        let arrivals = instance.flows.iter().map(Flow::arrival);
        Theorem2 {
            fpt: metrics.fpt,
            fct,
            before: arrivals.map(|slot| u64::from(slot - 1)).sum(),
        }
    }
    /// Whether the two differ by what the proof says.
    pub fn holds(&self) -> bool {
        self.fpt == self.fct + self.before
    }
    /// Whether the better of two schedules of one instance in FPT is the better in FCT.
    pub fn same_order(&self, other: &Theorem2) -> bool {
        self.fpt.cmp(&other.fpt) == self.fct.cmp(&other.fct)
    }
}

/// The numbers in the proof of theorem 8, of one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Theorem8 {
    /// FPT of GA(A).
    pub ga: u64,
    /// Packets of complete flows that GA(A) sends in another slot than A does on the residual flows.
    pub moved: u64,
    /// The optimum of the residual flows.
    pub residual_optimum: u64,
    /// The optimum.
    pub optimum: u64,
}

impl Theorem8 {
    /// The first step: GA(A) is A on the residual flows.
    pub fn same_schedule(&self) -> bool {
        self.moved == 0
    }
    /// The second step: their optimum is at most 3 times the optimum (2 on one port).
    pub fn at_most(&self, factor: u64) -> bool {
        self.residual_optimum <= factor * self.optimum
    }
}

/// The packets of a schedule that are not in another, by slot and flow.
fn moved(mut one: Vec<(u32, u32)>, other: &[(u32, u32)]) -> u64 {
    let mut other = other.to_vec();
    other.sort_unstable();
    one.sort_unstable();
    // A flow sends at most one packet in a slot.
    let stays = |packet: &&(u32, u32)| other.binary_search(packet).is_ok();
    let (all, same) = (one.len().max(other.len()), one.iter().filter(stays).count());
    (all - same) as u64
}

/// Whether a packet of the flow that leaves in `slot` is one of a complete flow.
fn is_complete(instance: &Instance, &(slot, flow): &(u32, u32)) -> bool {
    slot >= instance.flows[flow as usize].complete()
}

/// The flows that A sees in GA(A): each arrives whole with its last packet, less what
/// `ga` has sent before.
pub fn residual(instance: &Instance, ga: &PolicySpec) -> Instance {
    residual_of(instance, &schedule(instance, ga).0)
}

/// What a policy sends, as slot and flow, and when each flow ends.
fn schedule(instance: &Instance, policy: &PolicySpec) -> (Vec<(u32, u32)>, Vec<u32>) {
    let mut sent = Vec::new();
    let ends = policy.run(instance, |slot, flow| sent.push((slot, flow)));
    (sent, ends)
}

/// The same, from what GA(A) has sent.
fn residual_of(instance: &Instance, sent: &[(u32, u32)]) -> Instance {
    let mut sent_before = vec![0; instance.flows.len()];
    for packet in sent.iter().filter(|packet| !is_complete(instance, packet)) {
        sent_before[packet.1 as usize] += 1;
    }
    let flows = instance
        .flows
        .iter()
        .zip(sent_before)
        .map(|(flow, sent)| Flow {
            bursts: vec![Burst {
                slot: flow.complete(),
                count: flow.size() - sent,
            }],
            ..flow.clone()
        });
    Instance {
        flows: flows.collect(),
        ..instance.clone()
    }
}

/// The steps in the proof of theorem 8 for `ga`, which is GA(A); `None` where an optimum is
/// not exact.
///
/// # Errors
/// When `ga` is no GA.
pub fn theorem8(
    instance: &Instance,
    ga: &PolicySpec,
    metric: Metric,
) -> Result<Option<Theorem8>, SpecError> {
    let PolicySpec::Ga(spec) = ga else {
        return Err(SpecError::new(
            "policy",
            format!("{:?} is not \"ga\"", ga.kind()),
        ));
    };
    let (mut sent, ends) = schedule(instance, ga);
    let flows = residual_of(instance, &sent);
    sent.retain(|packet| is_complete(instance, packet));
    let (alone, _) = schedule(&flows, &spec.policy);
    let best = optimum::optimum(instance, metric);
    let residual_best = optimum::optimum(&flows, metric);
    Ok(
        (best.is_exact() && residual_best.is_exact()).then(|| Theorem8 {
            ga: metric.of(instance, &ends),
            moved: moved(sent, &alone),
            residual_optimum: residual_best.value,
            optimum: best.value,
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::{FlowView, Priority};
    use crate::worst::{Shape, anneal, random};
    use proptest::prelude::*;

    fn policy(value: serde_json::Value) -> PolicySpec {
        PolicySpec::read(value).unwrap()
    }

    #[test]
    fn every_kind_is_tried() {
        let tried: Vec<_> = every_policy().iter().map(PolicySpec::kind).collect();
        let missing: Vec<_> = PolicySpec::NAMES
            .iter()
            .filter(|n| !tried.contains(n))
            .collect();
        assert_eq!(missing, [&"fixed"]);
        assert_eq!(tried.len(), 16, "one cannot be read");
    }

    fn shape() -> Shape {
        Shape {
            flows: 6,
            packets: 40,
            slots: 30,
            weight: 20,
            ..Shape::default()
        }
    }

    /// What theorem 2 compares, with the metrics, the packets and the ends.
    fn two_sides(
        instance: &Instance,
        policy: &PolicySpec,
    ) -> (Theorem2, Vec<(u32, u32)>, Vec<u32>) {
        let (sent, ends) = schedule(instance, policy);
        let metrics = Metrics::new(instance, &ends);
        (Theorem2::new(instance, &sent, &metrics), sent, ends)
    }

    #[test]
    fn theorem_2_fails_with_a_wrong_slot() {
        let shape = shape();
        let rng = &mut shape.rng(2);
        for _ in 0..200 {
            let instance = random(rng, &shape);
            let (found, sent, ends) = two_sides(&instance, &policy(json!("las")));
            assert!(found.holds());
            let told = |ends: &[u32]| Metrics::new(&instance, ends);
            // Slots counted from 0.
            let metrics = Metrics {
                fpt: found.fpt - ends.len() as u64,
                ..told(&ends)
            };
            assert!(!Theorem2::new(&instance, &sent, &metrics).holds());
            // One flow ends a slot late.
            let mut late = ends.clone();
            late[0] += 1;
            assert!(!Theorem2::new(&instance, &sent, &told(&late)).holds());
            // A flow's last packet is sent a slot later than is told.
            let mut moved = sent.clone();
            if let Some(last) = moved.last_mut() {
                last.0 += 1;
            }
            assert!(!Theorem2::new(&instance, &moved, &told(&ends)).holds());
        }
    }

    /// Ends that add up to the same are not the same schedule.
    #[test]
    fn theorem_8_compares_packets() {
        let one = vec![(1, 0), (2, 1), (3, 1), (4, 0), (5, 2)];
        assert_eq!(moved(one.clone(), &one), 0);
        let swapped = [(1, 0), (2, 1), (3, 0), (4, 1), (5, 2)];
        assert_eq!(moved(one.clone(), &swapped), 2);
        assert_eq!(moved(one.clone(), &one[..4]), 1);
        assert_eq!(moved(one[..4].to_vec(), &one), 1);
        // A flow that another overtakes within its rounds ends when it did: only the packets tell.
        let shape = Shape {
            flows: 4,
            packets: 20,
            slots: 6,
            weight: 1,
            ..Shape::default()
        };
        let rng = &mut shape.rng(1);
        let hidden = (0..2000).any(|_| {
            let instance = random(rng, &shape);
            let (a, sent, _) = two_sides(&instance, &policy(json!("brr")));
            let (b, other, _) = two_sides(&instance, &policy(json!("las")));
            a.fpt == b.fpt && moved(sent, &other) > 0
        });
        assert!(hidden, "sums would do");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn bounds_hold_on_random_instances(seed: u64) {
            let instance = random(&mut shape().rng(seed), &shape());
            for policy in every_policy() {
                if let Some((factor, metric)) = proven(&policy) {
                    let (value, best) = ratio(&instance, &policy, metric).unwrap();
                    prop_assert!(value <= factor * best, "{:?}: {} > {} * {}", policy, value, factor, best);
                }
            }
        }

        #[test]
        fn theorem_2_holds(seed: u64, ports in 1u32..4) {
            let shape = Shape { ingress: ports, egress: ports, ..shape() };
            let instance = random(&mut shape.rng(seed), &shape);
            let found: Vec<_> = every_policy().iter().map(|p| Theorem2::of(&instance, p)).collect();
            for a in &found {
                prop_assert!(a.holds(), "{:?}", a);
                prop_assert!(found.iter().all(|b| a.same_order(b)));
            }
        }

        #[test]
        fn theorem_8_holds_step_by_step(seed: u64, ports in 1u32..4) {
            let shape = Shape { ingress: ports, egress: ports, flows: 5, packets: 14, slots: 12, ..Shape::default() };
            let instance = random(&mut shape.rng(seed), &shape);
            let factor = if instance.is_single_port() { 2 } else { 3 };
            for inner in ["fifo", "brr", "las", "srpt", "sjf", "ideal"] {
                let ga = policy(json!({"kind": "ga", "policy": inner}));
                let found = theorem8(&instance, &ga, Metric::Fpt).unwrap().unwrap();
                prop_assert!(found.same_schedule(), "{}: {:?}", inner, found);
                prop_assert!(found.at_most(factor), "{}: {:?}", inner, found);
            }
        }

        /// SRPT is optimal on one port without gaps (section III).
        #[test]
        fn srpt_is_optimal_without_gaps(seed: u64) {
            let shape = Shape { gapless: true, weight: 1, ..shape() };
            let instance = random(&mut shape.rng(seed), &shape);
            let best = optimum::by(&instance, Metric::Fpt, optimum::Method::Sets, false).unwrap().value;
            for kind in ["srpt", "ideal", "asrpt"] {
                prop_assert_eq!(Metric::Fpt.of(&instance, &policy(json!(kind)).ends(&instance)), best);
            }
        }
    }

    /// Policies as one might get them wrong.
    enum Wrong {
        /// ASRPT that takes the complete flow with the most packets left.
        LongestFirst,
        /// ASRPT with its groups the wrong way round.
        GroupsSwapped,
        /// LAS that goes on with whoever has been served most.
        MostAttained,
    }

    impl Policy for Wrong {
        fn priority(&self, flow: &FlowView) -> Priority {
            let (left, sent) = (u64::from(flow.left()), u64::from(flow.sent));
            let major = match (self, flow.whole.is_some()) {
                (Wrong::LongestFirst, true) => (1 << 40) - left,
                (Wrong::LongestFirst, false) => 1 << 41,
                (Wrong::GroupsSwapped, true) => left + 1,
                (Wrong::GroupsSwapped, false) => 0,
                (Wrong::MostAttained, _) => (1 << 40) - sent,
            };
            Priority::new(major, flow)
        }
        fn is_oblivious(&self) -> bool {
            true
        }
    }

    #[test]
    fn wrong_policies_are_caught() {
        for (wrong, factor) in [
            (Wrong::LongestFirst, 2),
            (Wrong::GroupsSwapped, 2),
            (Wrong::MostAttained, 3),
        ] {
            let shape = Shape {
                weight: 1,
                ..shape()
            };
            // At random, or at the latest by the search.
            let rng = &mut shape.rng(1);
            let above = |instance: &Instance| {
                let (value, best) = ratio(instance, &wrong, Metric::Fpt)?;
                Some(value as f64 / best as f64)
            };
            let by_chance = (0..4000)
                .filter(|_| above(&random(rng, &shape)) > Some(factor as f64))
                .count();
            let searched = anneal(&shape, 4000, 1, None, above);
            assert!(searched.value > factor as f64, "search: {}", searched.value);
            println!(
                "caught by {by_chance} of 4000 random instances; searched {}",
                searched.value
            );
        }
    }

    #[test]
    fn bounds_hold_on_searched_instances() {
        for policy in every_policy() {
            let Some((factor, metric)) = proven(&policy) else {
                continue;
            };
            let shape = Shape {
                flows: 7,
                packets: 120,
                slots: 100,
                ..shape()
            };
            let found = anneal(&shape, 1500, 1, None, |instance| {
                let (value, best) = ratio(instance, &policy, metric)?;
                assert!(
                    value <= factor * best,
                    "{policy:?}: {value} > {factor} * {best}: {}",
                    instance.to_json()
                );
                Some(value as f64 / best as f64)
            });
            assert!(
                found.value > 1.1 && found.tried > 1000,
                "{policy:?}: {}",
                found.value
            );
        }
    }
}
