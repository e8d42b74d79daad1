//! Exact SRPT as pFabric's switch does it (Alizadeh et al., SIGCOMM 2013, section 4.1).
//!
//! The tag is the priority: remaining bytes for SRPT, flow size for SJF, bytes
//! sent for LAS. *Dequeue*: find the packet of the highest priority (smallest
//! tag), then send the earliest-queued packet of the flow that owns it. This
//! is the starvation prevention; without it the found packet itself is sent.
//! *Full buffer*: the packet of the lowest priority is dropped. ACKs and
//! probes come before all data, in FIFO order.
//!
//! Among packets of equal tag the one queued first is the more urgent, and the
//! one queued last is dropped first.
//!
//! Packets are kept in one FIFO list per flow that has any queued here. Those
//! are few (pFabric, section 4.1.1: the switch need only track the flows
//! with packets in a shallow buffer), so the best of them is found by scanning
//! an array of one key per flow.

use fctlab_core::{SpecError, Time};
use serde::{Deserialize, Serialize};

use super::fifo::Fifo;
use super::{Discipline, DisciplineSpec, DropPolicy, Site, is_control};
use crate::index::{at, at_mut};
use crate::packet::{FlowSlot, Packet, PacketId};

/// Exact priority by tag, with pFabric's starvation prevention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Send the earliest-queued packet of the flow that owns the most urgent
    /// packet, rather than that packet itself.
    pub starvation_prevention: bool,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            starvation_prevention: true,
        }
    }
}

/// Urgency of a packet: tag, then order of arrival; smaller is more urgent.
/// The order wraps after 2^32 packets at one port, which can only turn a tie.
type Key = u64;

fn key(tag: u32, order: u32) -> Key {
    u64::from(tag) << 32 | u64::from(order)
}

fn tag_of(key: Key) -> u32 {
    (key >> 32) as u32
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    id: PacketId,
    bytes: u16,
    key: Key,
    /// Neighbours in the flow's list, oldest first.
    next: u32,
    previous: u32,
}

/// The packets of one flow.
#[derive(Clone, Copy)]
struct FlowList {
    /// The most and the least urgent key among them.
    best: Key,
    worst: Key,
    flow: FlowSlot,
    oldest: u32,
    newest: u32,
    /// Whether keys rise, and whether tags never do, from the oldest to the newest. One of
    /// them nearly always holds: SJF's tags are equal, LAS's rise, SRPT's fall.
    rises: bool,
    falls: bool,
}

impl FlowList {
    /// The flow has one packet.
    fn of(flow: FlowSlot, node: u32, key: Key) -> Self {
        FlowList {
            best: key,
            worst: key,
            flow,
            oldest: node,
            newest: node,
            rises: true,
            falls: true,
        }
    }

    /// Another packet came after the others.
    #[inline(always)]
    fn append(&mut self, node: u32, key: Key) {
        self.rises &= key > self.worst;
        self.falls &= tag_of(key) <= tag_of(self.best);
        self.best = self.best.min(key);
        self.worst = self.worst.max(key);
        self.newest = node;
    }
}

/// The queue.
pub struct Srpt {
    starvation_prevention: bool,
    control: Fifo,
    nodes: Vec<Node>,
    /// Head of the list of free nodes.
    free: u32,
    order: u32,
    data_bytes: u64,
    /// One per flow with packets here, in no particular order.
    flows: Vec<FlowList>,
}

impl DisciplineSpec for Spec {
    type State = Srpt;
    fn build(&self, _: &Site<'_>) -> Result<Srpt, SpecError> {
        Ok(Srpt {
            starvation_prevention: self.starvation_prevention,
            control: Fifo::default(),
            nodes: Vec::new(),
            free: NONE,
            order: 0,
            data_bytes: 0,
            flows: Vec::new(),
        })
    }
}

impl Srpt {
    /// The nodes of `list`, oldest first.
    fn nodes_of(&self, list: &FlowList) -> impl Iterator<Item = u32> + use<'_> {
        let first = Some(list.oldest).filter(|&node| node != NONE);
        std::iter::successors(first, |&node| {
            Some(at(&self.nodes, node).next).filter(|&next| next != NONE)
        })
    }

    /// The node of `list` with `key`, which is likely to be at one of its ends.
    fn node_with(&self, list: &FlowList, key: Key) -> Option<u32> {
        let ends = [list.oldest, list.newest].into_iter();
        let mut nodes = ends.chain(self.nodes_of(list));
        nodes.find(|&node| at(&self.nodes, node).key == key)
    }

    /// `list` with its best and its worst key after one of them has left.
    #[inline(always)]
    fn survey(&self, list: FlowList) -> FlowList {
        let key = |node| at(&self.nodes, node).key;
        let (best, worst) = if list.rises {
            (key(list.oldest), key(list.newest))
        } else if list.falls {
            let best = self.last_of_tag(list.newest, |node| node.previous);
            (best, self.last_of_tag(list.oldest, |node| node.next))
        } else {
            return self.survey_all(&list);
        };
        FlowList {
            best,
            worst,
            ..list
        }
    }

    #[inline(never)]
    fn survey_all(&self, list: &FlowList) -> FlowList {
        let key = |node| at(&self.nodes, node).key;
        let mut surveyed = FlowList::of(list.flow, list.oldest, key(list.oldest));
        for node in self.nodes_of(list).skip(1) {
            surveyed.append(node, key(node));
        }
        surveyed
    }

    /// The key of the last node that has the tag of `node`, from there step by step.
    #[inline(always)]
    fn last_of_tag(&self, node: u32, step: impl Fn(&Node) -> u32) -> Key {
        let mut here = at(&self.nodes, node);
        while let Some(next) = self.nodes.get(step(here) as usize)
            && tag_of(next.key) == tag_of(here.key)
        {
            here = next;
        }
        here.key
    }

    /// Unlinks `node` from the list of the flow at index `flow`.
    #[inline(always)]
    fn remove(&mut self, flow: u32, node: u32) -> PacketId {
        let free = self.free;
        let removed = at_mut(&mut self.nodes, node);
        let Node {
            id,
            bytes,
            key,
            next,
            previous,
        } = *removed;
        removed.next = free;
        self.free = node;
        self.data_bytes -= u64::from(bytes);
        if next == NONE && previous == NONE {
            self.flows.swap_remove(flow as usize);
            return id;
        }
        let list = at_mut(&mut self.flows, flow);
        match previous {
            NONE => list.oldest = next,
            p => at_mut(&mut self.nodes, p).next = next,
        }
        match next {
            NONE => list.newest = previous,
            n => at_mut(&mut self.nodes, n).previous = previous,
        }
        if list.best == key || list.worst == key {
            let list = *list;
            *at_mut(&mut self.flows, flow) = self.survey(list);
        }
        id
    }
}

impl Discipline for Srpt {
    const EVICTS: Option<DropPolicy> = Some(DropPolicy::LowestPriority);

    #[inline(always)]
    fn enqueue(&mut self, id: PacketId, packet: &Packet, _: Time) {
        let bytes = packet.bytes;
        if is_control(packet) {
            return self.control.push(id, bytes);
        }
        self.data_bytes += u64::from(bytes);
        let key = key(packet.tag, self.order);
        self.order = self.order.wrapping_add(1);
        let mut node = Node {
            id,
            bytes,
            key,
            next: NONE,
            previous: NONE,
        };
        let index = match self.free {
            NONE => self.nodes.len() as u32,
            free => free,
        };
        match self.flows.iter_mut().find(|list| list.flow == packet.flow) {
            Some(list) => {
                node.previous = list.newest;
                list.append(index, key);
                at_mut(&mut self.nodes, node.previous).next = index;
            }
            None => {
                self.flows.push(FlowList::of(packet.flow, index, key));
            }
        }
        match self.nodes.get_mut(index as usize) {
            Some(free) => {
                self.free = free.next;
                *free = node;
            }
            None => self.nodes.push(node),
        }
    }

    #[inline(always)]
    fn dequeue(&mut self) -> Option<PacketId> {
        if let Some(control) = self.control.pop() {
            return Some(control.id);
        }
        let (mut first, mut index) = (*self.flows.first()?, 0);
        for (i, list) in (1..).zip(self.flows.get(1..)?) {
            if list.best < first.best {
                (first, index) = (*list, i);
            }
        }
        let node = if self.starvation_prevention {
            first.oldest
        } else {
            self.node_with(&first, first.best)?
        };
        Some(self.remove(index, node))
    }

    fn evict_for(&mut self, arriving: &Packet) -> Option<PacketId> {
        let (index, list) = (0..).zip(&self.flows).max_by_key(|(_, list)| list.worst)?;
        let (worst, list) = (list.worst, *list);
        if !is_control(arriving) && tag_of(worst) <= arriving.tag {
            return None;
        }
        let node = self.node_with(&list, worst)?;
        Some(self.remove(index, node))
    }

    fn queue_bytes(&self, packet: &Packet) -> u64 {
        if is_control(packet) {
            self.control.bytes()
        } else {
            self.data_bytes
        }
    }
    fn bytes_by_queue(&self) -> Vec<u64> {
        vec![self.control.bytes(), self.data_bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Packets, TEST_SITE};
    use super::*;
    use crate::packet::Flags;
    use proptest::prelude::*;

    fn build(starvation_prevention: bool) -> Packets<Srpt> {
        let spec = Spec {
            starvation_prevention,
        };
        Packets::of(spec.build(&TEST_SITE).unwrap())
    }
    fn data(flow: u32, tag: u32, seq: u32) -> Packet {
        Packet {
            flow,
            tag,
            seq,
            bytes: 1500,
            ..Packet::default()
        }
    }

    #[test]
    fn starvation_prevention_sends_the_oldest_of_the_most_urgent_flow() {
        // Flow 1 has 9, 7, 8 queued, flow 2 has 8: the most urgent packet is flow
        // 1's 7. With prevention flow 1's first packet goes, again and again
        // while flow 1 owns the 7: 0, 1; then 8 (seq 2) and 8 (seq 3): the older.
        for (prevention, expected) in [(true, [0, 1, 2, 3]), (false, [1, 2, 3, 0])] {
            let mut queue = build(prevention);
            for (seq, (flow, tag)) in [(1, 9), (1, 7), (2, 8), (1, 8)].into_iter().enumerate() {
                queue.enqueue(data(flow, tag, seq as u32), Time::ZERO);
            }
            assert_eq!([(); 4].map(|()| queue.dequeue().unwrap().seq), expected);
            assert!(queue.dequeue().is_none());
        }
    }

    #[test]
    fn equal_priority_evicts_nothing_and_the_latest_goes_first() {
        let mut queue = build(true);
        for seq in 0..3 {
            queue.enqueue(data(seq, 5, seq), Time::ZERO);
        }
        assert!(queue.evict_for(&data(9, 5, 9)).is_none());
        assert_eq!(queue.evict_for(&data(9, 4, 9)).unwrap().seq, 2);
        let ack = Packet {
            flags: Flags::ACK,
            ..data(9, 0, 9)
        };
        assert_eq!(queue.evict_for(&ack).unwrap().seq, 1);
    }

    proptest! {
        /// Against a list in order of arrival from which the answer is searched.
        /// Few tags and flows, so that there are many ties.
        #[test]
        fn matches_a_search_of_a_list(
            prevention in any::<bool>(),
            ops in prop::collection::vec((0u8..8, 0u32..5, 0u32..8, 41u16..1501), 0..300),
        ) {
            let control = |p: &Packet| p.flags.has(Flags::ACK) || p.flags.has(Flags::PROBE);
            let mut queue = build(prevention);
            let mut list: Vec<Packet> = Vec::new();
            for (i, (op, flow, tag, bytes)) in ops.into_iter().enumerate() {
                let flags = match tag {
                    6 => Flags::ACK,
                    7 => Flags::PROBE,
                    _ => Flags::NONE,
                };
                let packet = Packet { flow, tag, bytes, flags, seq: i as u32, ..Packet::default() };
                match op {
                    0..4 => {
                        queue.enqueue(packet, Time::ZERO);
                        list.push(packet);
                    }
                    4..7 => {
                        let at = list.iter().position(control).or_else(|| {
                            let urgent = list.iter().min_by_key(|p| (p.tag, p.seq))?;
                            let chosen = |p: &Packet| if prevention {
                                p.flow == urgent.flow
                            } else {
                                p.seq == urgent.seq
                            };
                            list.iter().position(chosen)
                        });
                        let expected = at.map(|at| list.remove(at).seq);
                        prop_assert_eq!(queue.dequeue().map(|p| p.seq), expected);
                    }
                    _ => {
                        let worst = list.iter().filter(|p| !control(p)).max_by_key(|p| (p.tag, p.seq));
                        let worst = worst.filter(|p| control(&packet) || p.tag > packet.tag);
                        let expected = worst.map(|p| p.seq);
                        list.retain(|p| Some(p.seq) != expected);
                        prop_assert_eq!(queue.evict_for(&packet).map(|p| p.seq), expected);
                    }
                }
                let bytes = |c| list.iter().filter(|p| control(p) == c).map(|p| u64::from(p.bytes)).sum::<u64>();
                prop_assert_eq!(queue.queue_bytes(&packet), bytes(control(&packet)));
                prop_assert_eq!(queue.bytes_by_queue(), vec![bytes(true), bytes(false)]);
            }
        }
    }
}
