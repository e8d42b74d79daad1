//! The switch: runs a policy over an instance, slot by slot.
//!
//! The waiting flows are kept in order of priority, each as one number: priority,
//! arrival of its first packet, flow number. Where all flows share a port that is a
//! heap whose top is served; on several ports it is an ordered set that is walked
//! until no pair of ports is free. Slots in which nothing can be sent cost nothing.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap};

use crate::instance::{Flow, Instance};
use crate::policies::{FlowView, Policy, Priority, Turn, Whole};

/// Runs `policy` and returns the slot in which each flow ends; `on_send(slot, flow)`
/// is told of every packet.
pub fn run<P: Policy>(instance: &Instance, policy: &P, on_send: impl FnMut(u32, u32)) -> Vec<u32> {
    if instance.is_single_port() {
        run_single(instance, policy, on_send)
    } else {
        run_matching(instance, policy, on_send)
    }
}

/// A waiting flow in the order of service: priority, arrival, flow number.
type Key = u128;

const NOT_WAITING: Key = Key::MAX;

fn flow_of(key: Key) -> usize {
    key as u32 as usize
}

/// What changes about a flow.
struct State {
    view: FlowView,
    arrived: u32,
    /// How many of its bursts have arrived.
    bursts_in: u32,
    /// The burst of its first unsent packet, and how many packets come up to its end.
    burst: u32,
    burst_end: u32,
    key: Key,
}

/// All flows, and the packets that are still to come.
struct Flows<'a, P> {
    instance: &'a Instance,
    policy: &'a P,
    states: Vec<State>,
    /// Slot and number of the flows that have not begun, the next one last.
    to_begin: Vec<u64>,
    /// Slot and number of those of which more is to come, by their next burst.
    to_go_on: BinaryHeap<Reverse<u64>>,
    ends: Vec<u32>,
}

impl<'a, P: Policy> Flows<'a, P> {
    fn new(instance: &'a Instance, policy: &'a P) -> Self {
        let state = |(number, flow): (u32, &Flow)| {
            let head_slot = flow.arrival();
            State {
                view: FlowView {
                    flow: number,
                    size: flow.size(),
                    sent: 0,
                    weight: flow.weight,
                    head_slot,
                    turn: Turn::joined(head_slot),
                    whole: None,
                },
                arrived: 0,
                bursts_in: 0,
                burst: 0,
                burst_end: flow.bursts[0].count,
                key: NOT_WAITING,
            }
        };
        let states: Vec<_> = (0..).zip(&instance.flows).map(state).collect();
        let begin = |s: &State| u64::from(s.view.head_slot) << 32 | u64::from(s.view.flow);
        let mut to_begin: Vec<u64> = states.iter().map(begin).collect();
        to_begin.sort_unstable_by_key(|&begin| Reverse(begin));
        let ends = vec![0; states.len()];
        let to_go_on = BinaryHeap::new();
        Flows {
            instance,
            policy,
            states,
            to_begin,
            to_go_on,
            ends,
        }
    }

    #[inline]
    fn next_arrival(&self) -> Option<u32> {
        let begin = self.to_begin.last().map(|next| (next >> 32) as u32);
        let goes_on = self.to_go_on.peek().map(|next| (next.0 >> 32) as u32);
        match (begin, goes_on) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Takes in what arrives in `slot`; `requeue(old, new)` for every flow whose key changes.
    #[inline]
    fn arrivals(&mut self, slot: u32, mut requeue: impl FnMut(Key, Key)) {
        while let Some(next) = self.to_begin.pop_if(|next| (*next >> 32) as u32 == slot) {
            if let Some(next) = self.arrive(next as u32, slot, &mut requeue) {
                self.to_go_on.push(Reverse(next));
            }
        }
        while let Some(&Reverse(next)) = self.to_go_on.peek() {
            if (next >> 32) as u32 != slot {
                break;
            }
            let then = self.arrive(next as u32, slot, &mut requeue);
            if let Some(mut top) = self.to_go_on.peek_mut() {
                match then {
                    Some(then) => *top = Reverse(then),
                    None => drop(PeekMut::pop(top)),
                }
            }
        }
    }

    /// Takes in the next burst of a flow; slot and number of the one after it.
    #[inline]
    fn arrive(&mut self, flow: u32, slot: u32, requeue: &mut impl FnMut(Key, Key)) -> Option<u64> {
        let state = &mut self.states[flow as usize];
        let bursts = &self.instance.flows[flow as usize].bursts;
        if state.arrived == state.view.sent {
            state.view.turn = Turn::joined(slot);
        }
        state.arrived += bursts[state.bursts_in as usize].count;
        state.bursts_in += 1;
        let next = bursts.get(state.bursts_in as usize);
        if next.is_none() {
            state.view.whole = Some(Whole {
                slot,
                sent_before: state.view.sent,
                turn: Turn::joined(slot),
            });
        }
        let new = key(self.policy, &state.view);
        if new != state.key {
            requeue(state.key, new);
            state.key = new;
        }
        next.map(|next| u64::from(next.slot) << 32 | u64::from(flow))
    }

    /// Sends the next packet of a flow; its new key, unless nothing waits any more.
    #[inline]
    fn send(&mut self, flow: usize, slot: u32) -> Option<Key> {
        let state = &mut self.states[flow];
        state.view.sent += 1;
        if state.view.sent == state.burst_end && state.view.sent < state.view.size {
            state.burst += 1;
            let burst = self.instance.flows[flow].bursts[state.burst as usize];
            state.view.head_slot = burst.slot;
            state.burst_end += burst.count;
        }
        if state.view.sent == state.arrived {
            if state.view.sent == state.view.size {
                self.ends[flow] = slot;
            }
            state.key = NOT_WAITING;
            return None;
        }
        state.view.turn = Turn::served(slot);
        if let Some(whole) = &mut state.view.whole {
            whole.turn = state.view.turn;
        }
        state.key = key(self.policy, &state.view);
        Some(state.key)
    }
}

#[inline]
fn key<P: Policy>(policy: &P, view: &FlowView) -> Key {
    let Priority { major, since } = policy.priority(view);
    Key::from(major) << 64 | Key::from(since) << 32 | Key::from(view.flow)
}

fn run_single<P: Policy>(
    instance: &Instance,
    policy: &P,
    mut on_send: impl FnMut(u32, u32),
) -> Vec<u32> {
    let mut flows = Flows::new(instance, policy);
    // A flow whose key changes while it waits leaves its old key behind.
    let mut waiting = BinaryHeap::new();
    let mut slot = 0;
    loop {
        let Some(mut top) = waiting.peek_mut() else {
            let Some(next) = flows.next_arrival() else {
                return flows.ends;
            };
            flows.arrivals(next, |_, new| waiting.push(Reverse(new)));
            slot = next;
            continue;
        };
        let Reverse(key) = *top;
        let flow = flow_of(key);
        if flows.states[flow].key != key {
            PeekMut::pop(top);
            continue;
        }
        on_send(slot, flow as u32);
        match flows.send(flow, slot) {
            Some(new) => {
                *top = Reverse(new);
                drop(top);
            }
            None => {
                PeekMut::pop(top);
            }
        }
        slot += 1;
        if flows.next_arrival() == Some(slot) {
            flows.arrivals(slot, |_, new| waiting.push(Reverse(new)));
        }
    }
}

fn run_matching<P: Policy>(
    instance: &Instance,
    policy: &P,
    mut on_send: impl FnMut(u32, u32),
) -> Vec<u32> {
    let mut flows = Flows::new(instance, policy);
    let mut waiting: BTreeSet<Key> = BTreeSet::new();
    // The slot for which each port is taken.
    let mut ingress = vec![0; instance.ingress_ports as usize];
    let mut egress = vec![0; instance.egress_ports as usize];
    let most = ingress.len().min(egress.len());
    let mut chosen = Vec::with_capacity(most);
    let mut slot = 0;
    loop {
        slot = match (waiting.is_empty(), flows.next_arrival()) {
            (true, None) => return flows.ends,
            (true, Some(next)) => next,
            (false, _) => slot + 1,
        };
        flows.arrivals(slot, |old, new| {
            waiting.remove(&old);
            waiting.insert(new);
        });
        for &key in &waiting {
            let flow = &instance.flows[flow_of(key)];
            let (from, to) = (flow.ingress as usize, flow.egress as usize);
            if ingress[from] != slot && egress[to] != slot {
                (ingress[from], egress[to]) = (slot, slot);
                chosen.push(key);
                if chosen.len() == most {
                    break;
                }
            }
        }
        for key in chosen.drain(..) {
            waiting.remove(&key);
            on_send(slot, key as u32);
            waiting.extend(flows.send(flow_of(key), slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::figure;
    use crate::policies::PolicySpec;
    use crate::worst::{Shape, random};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn policy(value: Value) -> PolicySpec {
        PolicySpec::read(value).unwrap()
    }

    fn sent_by<P: Policy>(instance: &Instance, policy: &P) -> Vec<(u32, u32)> {
        let mut sent = Vec::new();
        run(instance, policy, |slot, flow| sent.push((slot, flow + 1)));
        sent
    }

    /// Flow numbers from 1, slot by slot; single port without idle slots.
    fn order(instance: &Instance, kind: Value) -> Vec<u32> {
        let sent = sent_by(instance, &policy(kind));
        let slots = sent.iter().map(|s| s.0);
        assert!(slots.eq(1..=sent.len() as u32), "an idle slot");
        sent.iter().map(|s| s.1).collect()
    }

    #[test]
    fn figure_1_by_hand() {
        let one = figure(1);
        assert_eq!(
            order(&one, json!("fifo")),
            [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 2, 3]
        );
        assert_eq!(
            order(&one, json!("brr")),
            [1, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 1, 1, 1, 1, 1]
        );
        assert_eq!(
            order(&one, json!("las")),
            [1, 1, 2, 3, 2, 3, 1, 2, 3, 1, 1, 1, 1, 1, 1, 1]
        );
        assert_eq!(
            order(&one, json!("asrpt")),
            [1, 1, 1, 2, 2, 2, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1]
        );
        assert_eq!(
            order(&one, json!("srpt")),
            [1, 1, 2, 2, 2, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1]
        );
        // Packets 1 and 2 before 3 and later: f1's third waits for two of f2 and f3.
        let pias = json!({"kind": "pias", "thresholds": [1, 3]});
        assert_eq!(
            order(&one, pias),
            [1, 1, 2, 2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3]
        );
        // Equal sizes are served in FIFO order, packet by packet.
        assert_eq!(
            order(&one, json!("sjf")),
            [1, 1, 2, 2, 3, 3, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1]
        );
    }

    #[test]
    fn a_gap_leaves_the_slot_to_others_or_empty() {
        let instance = Instance::single(vec![
            crate::Flow::new([(1, 1), (6, 1)]),
            crate::Flow::new([(2, 2)]),
        ]);
        let sent = sent_by(&instance, &policy(json!("fifo")));
        assert_eq!(sent, [(1, 1), (2, 2), (3, 2), (6, 1)]);
    }

    #[test]
    fn weights_divide_remaining_packets() {
        // 4 packets of weight 3 (4/3) before 2 packets of weight 1, before 5 of weight 2 (5/2).
        let mut flows = vec![
            crate::Flow::new([(1, 5)]),
            crate::Flow::new([(1, 2)]),
            crate::Flow::new([(1, 4)]),
        ];
        (flows[0].weight, flows[2].weight) = (2, 3);
        let ends =
            policy(json!({"kind": "asrpt", "weighted": true})).ends(&Instance::single(flows));
        assert_eq!(ends, [11, 6, 4]);
    }

    #[test]
    fn several_ports_serve_a_greedy_matching() {
        // Sizes 2 (0 -> 0), 1 (0 -> 1), 3 (1 -> 1): Ideal takes the 1, then the 2 with the 3.
        let mut flows = vec![
            crate::Flow::new([(1, 2)]),
            crate::Flow::new([(1, 1)]),
            crate::Flow::new([(1, 3)]),
        ];
        flows[1].egress = 1;
        (flows[2].ingress, flows[2].egress) = (1, 1);
        let instance = Instance {
            ingress_ports: 2,
            egress_ports: 2,
            flows,
        };
        let sent = sent_by(&instance, &policy(json!("ideal")));
        assert_eq!(sent, [(1, 2), (2, 1), (2, 3), (3, 1), (3, 3), (4, 3)]);
        // FIFO takes the first and what goes with it.
        let sent = sent_by(&instance, &policy(json!("fifo")));
        assert_eq!(sent, [(1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (4, 3)]);
    }

    /// Slot by slot, by the definitions, from the list of packets.
    fn naive(instance: &Instance, kind: &str) -> Vec<u32> {
        let arrivals: Vec<Vec<u32>> = instance
            .flows
            .iter()
            .map(|f| {
                f.bursts
                    .iter()
                    .flat_map(|b| vec![b.slot; b.count as usize])
                    .collect()
            })
            .collect();
        let n = instance.flows.len();
        let mut sent = vec![0; n];
        let mut ends = vec![0; n];
        let mut slot = 0;
        while ends.contains(&0) {
            slot += 1;
            let mut waiting: Vec<usize> = (0..n)
                .filter(|&f| arrivals[f].get(sent[f]).is_some_and(|&a| a <= slot))
                .collect();
            waiting.sort_by_key(|&f| {
                let left = arrivals[f].len() - sent[f];
                let complete = *arrivals[f].last().unwrap() <= slot;
                let head = arrivals[f][sent[f]];
                let major = match kind {
                    "fifo" => 0,
                    "las" => sent[f],
                    "srpt" | "ideal" => left,
                    "sjf" => arrivals[f].len(),
                    "asrpt" if complete => left,
                    "asrpt" => usize::MAX,
                    _ => unreachable!(),
                };
                // GA sees a flow arrive when it becomes complete.
                let since = if kind == "asrpt" && complete {
                    *arrivals[f].last().unwrap()
                } else {
                    head
                };
                (major, since, f)
            });
            let (mut from, mut to) = (vec![], vec![]);
            for f in waiting {
                let flow = &instance.flows[f];
                if !from.contains(&flow.ingress) && !to.contains(&flow.egress) {
                    from.push(flow.ingress);
                    to.push(flow.egress);
                    sent[f] += 1;
                    if sent[f] == arrivals[f].len() {
                        ends[f] = slot;
                    }
                }
            }
        }
        ends
    }

    proptest! {
        #[test]
        fn matches_the_definitions(seed: u64, ports in 1u32..4) {
            let shape = Shape { ingress: ports, egress: ports, flows: 7, packets: 30, slots: 25, ..Shape::default() };
            let instance = random(&mut shape.rng(seed), &shape);
            for kind in ["fifo", "las", "srpt", "sjf", "ideal", "asrpt"] {
                prop_assert_eq!(policy(json!(kind)).ends(&instance), naive(&instance, kind));
            }
        }

        /// The heap of one port and the ordered set of several are the same switch.
        #[test]
        fn one_port_is_a_special_case(seed: u64) {
            let shape = Shape { flows: 7, packets: 40, slots: 30, weight: 9, ..Shape::default() };
            let instance = random(&mut shape.rng(seed), &shape);
            for spec in crate::theorems::every_policy() {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                run_single(&instance, &spec, |slot, flow| a.push((slot, flow)));
                run_matching(&instance, &spec, |slot, flow| b.push((slot, flow)));
                prop_assert_eq!(a, b);
            }
        }

        /// Between two turns of a waiting flow every other has at most one (proof of theorem 4).
        #[test]
        fn brr_takes_turns(seed: u64) {
            let shape = Shape { flows: 6, packets: 40, slots: 30, ..Shape::default() };
            let instance = random(&mut shape.rng(seed), &shape);
            let sent = sent_by(&instance, &policy(json!("brr")));
            for (f, flow) in (1u32..).zip(&instance.flows) {
                let own: Vec<u32> = sent.iter().filter(|s| s.1 == f).map(|s| s.0).collect();
                let arrivals: Vec<u32> = flow.bursts.iter().flat_map(|b| vec![b.slot; b.count as usize]).collect();
                for (j, &slot) in own.iter().enumerate() {
                    // Waiting since the packet arrived or the one before was sent.
                    let since = if j == 0 { arrivals[0] } else { arrivals[j].max(own[j - 1] + 1) };
                    for other in (1..).take(instance.flows.len()).filter(|&o| o != f) {
                        let turns = sent.iter().filter(|s| s.1 == other && (since..slot).contains(&s.0)).count();
                        prop_assert!(turns <= 1, "flow {} waits from {} to {}", f, since, slot);
                    }
                }
            }
        }
    }
}
