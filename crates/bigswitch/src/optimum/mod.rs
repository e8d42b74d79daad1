//! The least FPT (or weighted FPT) of an instance.
//!
//! | what | when | label |
//! |---|---|---|
//! | SRPT ([`srpt`](Method::Srpt)) | one port, gapless flows, no weights | exact |
//! | sets of flows ([`sets`]) | one port, up to 16 flows of any size | exact |
//! | states of the switch ([`states`]) | any ports, up to 2^20 states | exact |
//! | relaxations ([`bounds`]) | everything else | lower bound |
//!
//! Since FPT and FCT differ by a number that does not depend on the schedule
//! (theorem 2), the schedule that is best in FPT is best in FCT.

pub mod bounds;
pub mod sets;
pub mod states;

use fctlab_core::SpecError;
use serde::{Deserialize, Serialize};

use crate::instance::Instance;
use crate::metrics::Metric;
use crate::policies::PolicySpec;

/// Whether a number is the optimum or only known not to exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Label {
    /// It is the optimum.
    Exact,
    /// The optimum is at least this.
    LowerBound,
}

/// How it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// SRPT, where it is known to be optimal.
    Srpt,
    /// Dynamic programming over sets of flows.
    Sets,
    /// Dynamic programming over states of the switch.
    States,
    /// Relaxations.
    Bounds,
}

/// The optimum, or a bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Optimum {
    /// The metric's value.
    pub value: u64,
    /// What it is.
    pub label: Label,
    /// How it was found.
    pub method: Method,
    /// An optimal schedule: slot and flow of each packet in order of slots. Where
    /// the optimum is exact and was asked for.
    #[serde(skip)]
    pub schedule: Option<Vec<(u32, u32)>>,
}

impl Optimum {
    fn exact(value: u64, method: Method) -> Optimum {
        Optimum {
            value,
            label: Label::Exact,
            method,
            schedule: None,
        }
    }
    /// Whether it is the optimum itself.
    pub fn is_exact(&self) -> bool {
        self.label == Label::Exact
    }
}

/// The optimum by the first method that applies.
pub fn optimum(instance: &Instance, metric: Metric) -> Optimum {
    first(instance, metric, false)
}

/// The same, with a schedule if wanted, where the optimum is exact.
pub fn first(instance: &Instance, metric: Metric, schedule: bool) -> Optimum {
    [Method::Srpt, Method::Sets, Method::States]
        .into_iter()
        .find_map(|method| by(instance, metric, method, schedule).ok())
        .unwrap_or_else(|| bound(instance, metric))
}

/// The optimum by one method.
///
/// # Errors
/// When the method does not apply.
pub fn by(
    instance: &Instance,
    metric: Metric,
    method: Method,
    schedule: bool,
) -> Result<Optimum, SpecError> {
    let not = |why: String| Err(SpecError::new("method", why));
    let weighted = metric == Metric::WeightedFpt && !instance.is_unweighted();
    let mut found = match method {
        Method::Srpt if !instance.is_single_port() || !instance.is_gapless() || weighted => {
            return not("SRPT is optimal only on one port, without gaps and weights".into());
        }
        Method::Srpt => {
            let srpt = PolicySpec::Srpt(Default::default());
            let mut sent = Vec::new();
            let ends = if schedule {
                srpt.run(instance, |slot, flow| sent.push((slot, flow)))
            } else {
                srpt.ends(instance)
            };
            let value = metric.of(instance, &ends);
            Optimum {
                schedule: schedule.then_some(sent),
                ..Optimum::exact(value, method)
            }
        }
        Method::Sets if !instance.is_single_port() => {
            return not("sets of flows do for one port only".into());
        }
        Method::Sets if instance.flows.len() > sets::MOST_FLOWS => {
            let n = instance.flows.len();
            return not(format!(
                "{n} flows are more than the {} that sets do for",
                sets::MOST_FLOWS
            ));
        }
        Method::Sets => {
            let (value, order) = sets::solve(instance, metric);
            let mut found = Optimum::exact(value, method);
            if schedule {
                found.schedule = Some(sets::schedule(instance, &order));
            }
            found
        }
        Method::States => {
            let Some((value, sent)) = states::solve(instance, metric, schedule) else {
                let message = format!(
                    "more than {} states or {} flows",
                    states::MOST_STATES,
                    states::MOST_FLOWS
                );
                return not(message);
            };
            Optimum {
                schedule: schedule.then_some(sent),
                ..Optimum::exact(value, method)
            }
        }
        Method::Bounds => bound(instance, metric),
    };
    if let Some(sent) = &mut found.schedule {
        sent.sort_unstable();
    }
    Ok(found)
}

fn bound(instance: &Instance, metric: Metric) -> Optimum {
    Optimum {
        value: bounds::lower_bound(instance, metric),
        label: Label::LowerBound,
        method: Method::Bounds,
        schedule: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::figure;
    use crate::theorems::every_policy;
    use crate::worst::{Shape, random};
    use proptest::prelude::*;

    /// Every schedule there is, idle slots and matchings that are not maximal included.
    fn try_all(instance: &Instance, metric: Metric) -> u64 {
        struct Search<'a> {
            instance: &'a Instance,
            metric: Metric,
            arrivals: Vec<Vec<u32>>,
            horizon: u32,
            best: u64,
        }
        impl Search<'_> {
            fn slot(&mut self, slot: u32, sent: &mut Vec<usize>, cost: u64) {
                let open = (0..sent.len()).filter(|&f| sent[f] < self.arrivals[f].len());
                let least: u64 = open
                    .map(|f| self.metric.weight(self.instance, f) * u64::from(slot))
                    .sum();
                if least == 0 {
                    self.best = self.best.min(cost);
                } else if cost + least < self.best && slot <= self.horizon {
                    self.flow(slot, 0, (0, 0), sent, cost);
                }
            }
            fn flow(
                &mut self,
                slot: u32,
                f: usize,
                taken: (u32, u32),
                sent: &mut Vec<usize>,
                cost: u64,
            ) {
                if f == sent.len() {
                    return self.slot(slot + 1, sent, cost);
                }
                let flow = &self.instance.flows[f];
                let ports = (1 << flow.ingress, 1 << flow.egress);
                let waits = self.arrivals[f].get(sent[f]).is_some_and(|&a| a <= slot);
                if waits && taken.0 & ports.0 == 0 && taken.1 & ports.1 == 0 {
                    sent[f] += 1;
                    let ends = sent[f] == self.arrivals[f].len();
                    let more =
                        u64::from(ends) * self.metric.weight(self.instance, f) * u64::from(slot);
                    self.flow(
                        slot,
                        f + 1,
                        (taken.0 | ports.0, taken.1 | ports.1),
                        sent,
                        cost + more,
                    );
                    sent[f] -= 1;
                }
                self.flow(slot, f + 1, taken, sent, cost);
            }
        }
        let list = |f: &crate::Flow| {
            f.bursts
                .iter()
                .flat_map(|b| vec![b.slot; b.count as usize])
                .collect()
        };
        let arrivals: Vec<Vec<u32>> = instance.flows.iter().map(list).collect();
        let last = instance.flows.iter().map(|f| f.complete()).max().unwrap();
        let horizon = last + instance.packets() as u32;
        // Better than any schedule costs, so that the first one found counts.
        let best = metric.of(
            instance,
            &PolicySpec::Fifo(Default::default()).ends(instance),
        ) + 1;
        let mut search = Search {
            instance,
            metric,
            arrivals,
            horizon,
            best,
        };
        search.slot(1, &mut vec![0; instance.flows.len()], 0);
        search.best
    }

    fn check_schedule(instance: &Instance, metric: Metric, found: &Optimum) {
        let sent = found.schedule.as_ref().unwrap();
        let mut ends = vec![0; instance.flows.len()];
        let mut count = vec![0u32; instance.flows.len()];
        for &(slot, flow) in sent {
            let f = &instance.flows[flow as usize];
            count[flow as usize] += 1;
            let arrived: u32 = f
                .bursts
                .iter()
                .filter(|b| b.slot <= slot)
                .map(|b| b.count)
                .sum();
            assert!(count[flow as usize] <= arrived, "sent before it arrived");
            ends[flow as usize] = slot;
            let clash = |&&(s, g): &&(u32, u32)| {
                let g = &instance.flows[g as usize];
                s == slot && (g.ingress == f.ingress || g.egress == f.egress)
            };
            assert_eq!(sent.iter().filter(clash).count(), 1, "a port is used twice");
        }
        assert!(
            count
                .iter()
                .zip(&instance.flows)
                .all(|(&n, f)| n == f.size())
        );
        assert_eq!(metric.of(instance, &ends), found.value);
    }

    #[test]
    fn figures_by_hand() {
        for (number, best) in [(1, 5 + 8 + 16), (2, 5 + 10 + 15 + 20), (3, 4 + 8 + 13)] {
            assert_eq!(optimum(&figure(number), Metric::Fpt).value, best);
        }
    }

    /// Every instance of up to 3 flows on one port with 4 packets in slots 1 to 3.
    #[test]
    fn agrees_with_all_schedules_on_every_tiny_instance() {
        let mut bursts = Vec::new(); // every way in which up to 2 packets of a flow arrive
        for a in 1..=3 {
            bursts.push(vec![(a, 1)]);
            bursts.push(vec![(a, 2)]);
            bursts.extend((a + 1..=3).map(|b| vec![(a, 1), (b, 1)]));
        }
        let ports = [(0, 0), (0, 1), (1, 0), (1, 1)];
        let mut tried = 0;
        for a in &bursts {
            for b in &bursts {
                for c in &bursts {
                    for (i, &p) in ports.iter().enumerate() {
                        let mut flows = [a, b, c].map(|f| crate::Flow::new(f.iter().copied()));
                        (flows[1].ingress, flows[1].egress) = p;
                        (flows[2].ingress, flows[2].egress) = ports[(i + 1 + tried) % 4];
                        let instance = Instance {
                            ingress_ports: 2,
                            egress_ports: 2,
                            flows: flows.to_vec(),
                        };
                        let found = optimum(&instance, Metric::Fpt);
                        assert!(found.is_exact());
                        assert_eq!(found.value, try_all(&instance, Metric::Fpt), "{instance:?}");
                        tried += 1;
                    }
                }
            }
        }
        assert_eq!(tried, 2916);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        /// Up to 4 flows, 8 packets, 2 x 2 ports, with and without weights.
        #[test]
        fn agrees_with_all_schedules(seed: u64, ports in 1u32..3) {
            let shape = Shape { ingress: ports, egress: ports, flows: 4, packets: 8, slots: 8, weight: 5, ..Shape::default() };
            let instance = random(&mut shape.rng(seed), &shape);
            for metric in [Metric::Fpt, Metric::WeightedFpt] {
                let expected = try_all(&instance, metric);
                let mut methods = 0;
                for method in [Method::Srpt, Method::Sets, Method::States] {
                    if let Ok(found) = by(&instance, metric, method, true) {
                        prop_assert_eq!(found.value, expected, "{:?}", method);
                        check_schedule(&instance, metric, &found);
                        prop_assert_eq!(by(&instance, metric, method, false).unwrap().value, expected);
                        methods += 1;
                    }
                }
                prop_assert!(methods > 0);
                prop_assert!(bounds::lower_bound(&instance, metric) <= expected);
            }
        }

        /// Larger: the two programs on one port, bounds below and policies above.
        #[test]
        fn bounds_and_policies_enclose_it(seed: u64, ports in 1u32..4, gapless: bool) {
            let shape = Shape { ingress: ports, egress: ports, flows: 5, packets: 20, slots: 20, weight: 5, gapless };
            let instance = random(&mut shape.rng(seed), &shape);
            for metric in [Metric::Fpt, Metric::WeightedFpt] {
                let found = optimum(&instance, metric);
                prop_assert!(found.is_exact());
                for method in [Method::Srpt, Method::Sets, Method::States] {
                    if let Ok(other) = by(&instance, metric, method, true) {
                        prop_assert_eq!(found.value, other.value, "{:?}", method);
                        check_schedule(&instance, metric, &other);
                    }
                }
                prop_assert!(bounds::lower_bound(&instance, metric) <= found.value);
                for policy in every_policy() {
                    prop_assert!(metric.of(&instance, &policy.ends(&instance)) >= found.value);
                }
            }
        }
    }
}
