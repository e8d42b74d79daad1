//! Any ports: dynamic programming over states of the switch.
//!
//! A state is how many packets of each flow have been sent before a slot. Sending
//! more in a slot never hurts (the packet's later slot may stay empty), so only
//! maximal matchings are tried.

use std::collections::HashMap;

use crate::instance::Instance;
use crate::metrics::Metric;

/// States that it takes.
pub const MOST_STATES: usize = 1 << 20;
/// Flows that it takes.
pub const MOST_FLOWS: usize = 20;

type Sent = Vec<(u32, u32)>;

/// The optimum, with a schedule if wanted; `None` when there are too many states.
pub fn solve(instance: &Instance, metric: Metric, schedule: bool) -> Option<(u64, Sent)> {
    let space = Space::new(instance)?;
    let n = space.sizes.len();
    let weights: Vec<u64> = (0..n).map(|f| metric.weight(instance, f)).collect();
    let ports: Vec<(u32, u32)> = instance
        .flows
        .iter()
        .map(|f| (f.ingress, f.egress))
        .collect();

    let mut slot = instance.flows.iter().map(|f| f.arrival()).min()?;
    let mut layer = vec![0];
    let mut cost = vec![u64::MAX; space.states];
    let mut next_cost = vec![u64::MAX; space.states];
    cost[0] = 0;
    // Per slot the states reached, each with the one that it is best reached from.
    let mut history: Vec<(u32, HashMap<usize, usize>)> = Vec::new();
    let (mut best, mut best_at) = (u64::MAX, 0);
    let mut matchings = Matchings::default();
    while !layer.is_empty() {
        let arrived: Vec<usize> = instance
            .flows
            .iter()
            .map(|flow| {
                let bursts = flow.bursts.iter().filter(|b| b.slot <= slot);
                bursts.map(|b| b.count as usize).sum()
            })
            .collect();
        let mut next = Vec::new();
        let mut parents = HashMap::new();
        let mut idle = true;
        for &state in &layer {
            let waiting = (0..n).filter(|&f| space.sent(state, f) < arrived[f]);
            matchings.each(waiting, &ports, |flows| {
                idle &= flows.is_empty();
                let to = state + flows.iter().map(|&f| space.strides[f]).sum::<usize>();
                let ended = flows
                    .iter()
                    .filter(|&&f| space.sent(to, f) == space.sizes[f]);
                let total = cost[state] + ended.map(|&f| weights[f] * u64::from(slot)).sum::<u64>();
                if next_cost[to] == u64::MAX {
                    next.push(to);
                }
                if total < next_cost[to] {
                    next_cost[to] = total;
                    if schedule {
                        parents.insert(to, state);
                    }
                }
            });
        }
        for state in layer.drain(..) {
            cost[state] = u64::MAX;
        }
        std::mem::swap(&mut cost, &mut next_cost);
        let done = space.states - 1;
        if cost[done] < best {
            (best, best_at) = (cost[done], history.len());
        }
        if schedule {
            history.push((slot, parents));
        }
        for state in next {
            // What is done or costs as much as a whole schedule goes no further.
            if state == done || cost[state] >= best {
                cost[state] = u64::MAX;
            } else {
                layer.push(state);
            }
        }
        slot = if idle {
            let slots = instance
                .flows
                .iter()
                .flat_map(|f| f.bursts.iter().map(|b| b.slot));
            slots.filter(|&s| s > slot).min()?
        } else {
            slot + 1
        };
    }
    let mut sent = Vec::new();
    if schedule {
        let mut state = space.states - 1;
        for (slot, parents) in history[..=best_at].iter().rev() {
            let from = parents[&state];
            let moved = (0..n).filter(|&f| space.sent(state, f) != space.sent(from, f));
            sent.extend(moved.map(|f| (*slot, f as u32)));
            state = from;
        }
    }
    Some((best, sent))
}

/// States as numbers: one digit per flow.
struct Space {
    sizes: Vec<usize>,
    strides: Vec<usize>,
    states: usize,
}

impl Space {
    fn new(instance: &Instance) -> Option<Space> {
        let sizes: Vec<usize> = instance.flows.iter().map(|f| f.size() as usize).collect();
        let mut space = Space {
            strides: Vec::new(),
            states: 1,
            sizes: Vec::new(),
        };
        if sizes.len() > MOST_FLOWS {
            return None;
        }
        for size in &sizes {
            space.strides.push(space.states);
            space.states = space
                .states
                .checked_mul(size + 1)
                .filter(|&s| s <= MOST_STATES)?;
        }
        Some(Space { sizes, ..space })
    }
    fn sent(&self, state: usize, flow: usize) -> usize {
        state / self.strides[flow] % (self.sizes[flow] + 1)
    }
}

/// Enumerates maximal matchings, without allocating each time.
#[derive(Default)]
struct Matchings {
    waiting: Vec<usize>,
    chosen: Vec<usize>,
}

impl Matchings {
    /// Calls `found` with every maximal set of waiting flows that share no port.
    fn each(
        &mut self,
        waiting: impl Iterator<Item = usize>,
        ports: &[(u32, u32)],
        mut found: impl FnMut(&[usize]),
    ) {
        self.waiting.clear();
        self.waiting.extend(waiting);
        self.extend(0, ports, &mut found);
    }
    fn extend(&mut self, at: usize, ports: &[(u32, u32)], found: &mut impl FnMut(&[usize])) {
        let clash = |f: usize, chosen: &[usize]| {
            chosen
                .iter()
                .any(|&g| ports[g].0 == ports[f].0 || ports[g].1 == ports[f].1)
        };
        let Some(&f) = self.waiting.get(at) else {
            if self.waiting.iter().all(|&f| clash(f, &self.chosen)) {
                found(&self.chosen);
            }
            return;
        };
        if !clash(f, &self.chosen) {
            self.chosen.push(f);
            self.extend(at + 1, ports, found);
            self.chosen.pop();
        }
        self.extend(at + 1, ports, found);
    }
}
