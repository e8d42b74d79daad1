//! Certified lower bounds for instances of any size.
//!
//! The largest of three relaxations:
//!
//! * every flow alone on the switch;
//! * every ingress port (or every egress port) on its own, where all packets of a
//!   flow arrive with the first. Without weights SRPT is then optimal. With weights
//!   it is the LP relaxation in mean busy times (Goemans, 1996), whose optimum is
//!   what preemptive service in order of `weight / size` gives: the sum of
//!   `w (M + p / 2)`, `M` being the mean of the times at which the flow is served.

use crate::instance::{Burst, Flow, Instance};
use crate::metrics::Metric;
use crate::policies::srpt::per_weight;
use crate::policies::{PolicySpec, fixed};

/// A number that no schedule beats.
pub fn lower_bound(instance: &Instance, metric: Metric) -> u64 {
    let alone = instance
        .flows
        .iter()
        .enumerate()
        .map(|(f, flow)| metric.weight(instance, f) * end_alone(flow));
    let sides: [fn(&Flow) -> u32; 2] = [|f| f.ingress, |f| f.egress];
    let ports = sides.map(|port| {
        let all = instance.flows.iter().map(port).max().unwrap_or(0);
        (0..=all)
            .map(|p| one_port(instance, metric, |f| port(f) == p))
            .sum()
    });
    ports.into_iter().fold(alone.sum(), u64::max)
}

/// When a flow ends that nothing delays.
fn end_alone(flow: &Flow) -> u64 {
    let mut later = 0;
    let ends = flow.bursts.iter().rev().map(|b| {
        later += u64::from(b.count);
        u64::from(b.slot) - 1 + later
    });
    ends.max().unwrap_or(0)
}

fn one_port(instance: &Instance, metric: Metric, here: impl Fn(&Flow) -> bool) -> u64 {
    let flows: Vec<Flow> = instance
        .flows
        .iter()
        .filter(|f| here(f))
        .map(|flow| Flow {
            bursts: vec![Burst {
                slot: flow.arrival(),
                count: flow.size(),
            }],
            ingress: 0,
            egress: 0,
            ..flow.clone()
        })
        .collect();
    if flows.is_empty() {
        return 0;
    }
    let relaxed = Instance::single(flows);
    match metric {
        Metric::Fpt => metric.of(
            &relaxed,
            &PolicySpec::Srpt(Default::default()).ends(&relaxed),
        ),
        Metric::WeightedFpt => mean_busy_times(&relaxed),
    }
}

fn mean_busy_times(instance: &Instance) -> u64 {
    let flows = &instance.flows;
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by_key(|&f| per_weight(u64::from(flows[f].size()), flows[f].weight));
    let mut slots = vec![0u128; flows.len()];
    PolicySpec::Fixed(fixed::Spec::in_order(&order)).run(instance, |slot, flow| {
        slots[flow as usize] += u128::from(slot);
    });
    // Slot t is the time from t - 1 to t: the mean busy time is the mean slot less 1/2.
    // Twice p times w (M + p / 2), to stay with integers: w (2 sum - p + p p).
    let twice = flows.iter().zip(slots).map(|(flow, sum)| {
        let (p, w) = (u128::from(flow.size()), u128::from(flow.weight));
        (w * (2 * sum + p * p - p), 2 * p)
    });
    // The sum of fractions, each rounded down to a multiple of 2^-20, rounded up at the
    // end only as far as is certain: the optimum is an integer.
    const UNIT: u128 = 1 << 20;
    let total: u128 = twice
        .map(|(over, under)| over / under * UNIT + over % under * UNIT / under)
        .sum();
    total.div_ceil(UNIT) as u64
}
