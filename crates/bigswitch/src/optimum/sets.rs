//! One port: dynamic programming over sets of flows, of any size.
//!
//! Let `U(S)` be the slot in which a switch that is never idle needlessly has sent
//! all packets of the flows `S`: the largest, over slots `s`, of `s - 1` plus the
//! packets of `S` that arrive in `s` or later. When a schedule ends the flows in some
//! order, it has sent all of the first `i` of them not before `U` of these; and
//! serving flows by their rank in that order ends the `i`-th no later than that. So
//! the optimum is the least, over orders, of the sum of `w_i U(first i flows)`, which
//! is a shortest path over sets.

use crate::instance::Instance;
use crate::metrics::Metric;
use crate::policies::{PolicySpec, fixed};

/// Flows that it takes: 2^16 sets.
pub const MOST_FLOWS: usize = 16;

/// The optimum and the order of flows that gives it.
///
/// # Panics
/// When there are more than [`MOST_FLOWS`] flows.
pub fn solve(instance: &Instance, metric: Metric) -> (u64, Vec<usize>) {
    let n = instance.flows.len();
    assert!(n <= MOST_FLOWS);
    let ends = ends_of_sets(instance);
    let weights: Vec<u64> = (0..n).map(|f| metric.weight(instance, f)).collect();
    let mut best = vec![u64::MAX; 1 << n];
    let mut last = vec![0u8; 1 << n];
    best[0] = 0;
    for set in 1..1usize << n {
        let (mut least, mut which) = (u64::MAX, 0);
        let mut rest = set;
        while rest != 0 {
            let flow = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let cost = best[set ^ (1 << flow)] + weights[flow] * ends[set];
            if cost < least {
                (least, which) = (cost, flow as u8);
            }
        }
        (best[set], last[set]) = (least, which);
    }
    let mut set = (1 << n) - 1;
    let value = best[set];
    let mut order = Vec::with_capacity(n);
    while set != 0 {
        let flow = usize::from(last[set]);
        order.push(flow);
        set ^= 1 << flow;
    }
    order.reverse();
    (value, order)
}

/// `U` of every set.
fn ends_of_sets(instance: &Instance) -> Vec<u64> {
    let n = instance.flows.len();
    let mut slots: Vec<u32> = instance
        .flows
        .iter()
        .flat_map(|f| f.bursts.iter().map(|b| b.slot))
        .collect();
    slots.sort_unstable();
    slots.dedup();
    let mut ends = vec![0u64; 1 << n];
    let mut later = vec![0u64; 1 << n];
    for &slot in &slots {
        for (f, flow) in instance.flows.iter().enumerate() {
            let bursts = flow.bursts.iter().filter(|b| b.slot >= slot);
            let packets: u64 = bursts.map(|b| u64::from(b.count)).sum();
            for set in 0..1 << f {
                later[set | 1 << f] = later[set] + packets;
            }
        }
        for (end, &later) in ends.iter_mut().zip(&later) {
            if later > 0 {
                *end = (*end).max(u64::from(slot) - 1 + later);
            }
        }
    }
    ends
}

/// The schedule that serves flows in this order.
pub fn schedule(instance: &Instance, order: &[usize]) -> Vec<(u32, u32)> {
    let mut sent = Vec::new();
    let policy = PolicySpec::Fixed(fixed::Spec::in_order(order));
    policy.run(instance, |slot, flow| sent.push((slot, flow)));
    sent
}
