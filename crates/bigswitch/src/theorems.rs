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

/// Theorem 2: whether the better of two schedules in FPT is the better in FCT.
pub fn theorem2(a: &Metrics, b: &Metrics) -> bool {
    a.fpt.cmp(&b.fpt) == a.fct.cmp(&b.fct)
}

/// The numbers in the proof of theorem 8, of one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Theorem8 {
    /// FPT of GA(A).
    pub ga: u64,
    /// FPT of A on the residual flows.
    pub residual: u64,
    /// The optimum of the residual flows.
    pub residual_optimum: u64,
    /// The optimum.
    pub optimum: u64,
}

impl Theorem8 {
    /// The first step: GA(A) is A on the residual flows.
    pub fn same_schedule(&self) -> bool {
        self.ga == self.residual
    }
    /// The second step: their optimum is at most 3 times the optimum (2 on one port).
    pub fn at_most(&self, factor: u64) -> bool {
        self.residual_optimum <= factor * self.optimum
    }
}

/// The flows that A sees in GA(A): each arrives whole with its last packet, less what
/// `ga` has sent before.
pub fn residual(instance: &Instance, ga: &PolicySpec) -> Instance {
    let mut sent_before = vec![0; instance.flows.len()];
    ga.run(instance, |slot, flow| {
        let before = slot < instance.flows[flow as usize].complete();
        sent_before[flow as usize] += u32::from(before);
    });
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
    let flows = residual(instance, ga);
    let best = optimum::optimum(instance, metric);
    let residual_best = optimum::optimum(&flows, metric);
    Ok(
        (best.is_exact() && residual_best.is_exact()).then(|| Theorem8 {
            ga: metric.of(instance, &ga.ends(instance)),
            residual: metric.of(&flows, &spec.policy.ends(&flows)),
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
            let found: Vec<_> = every_policy().iter().map(|p| Metrics::new(&instance, &p.ends(&instance))).collect();
            for a in &found {
                prop_assert!(found.iter().all(|b| theorem2(a, b)));
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
