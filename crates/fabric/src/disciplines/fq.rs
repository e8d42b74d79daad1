//! Fair queueing, packet by packet (Demers, Keshav and Shenker, SIGCOMM 1989).
//!
//! Bit-by-bit round robin is emulated: R(t) is the number of rounds made by
//! time t, which grows by (bytes that the port sends) / (conversations with
//! bits left in the emulation). Packet i of a conversation, of P bytes, that
//! arrives at t gets the finish tag F_i = max(F_{i-1}, R(t)) + P, and the
//! packet of the smallest tag leaves next. Their section 2.2 also offers a
//! bonus for short conversations (delta), which is zero here, as in their
//! simulations of section 3.
//!
//! *Full buffer*: the last packet of the conversation with the most bytes here
//! is dropped, the arriving one counted with its own.
//!
//! A conversation is a flow in one direction. ACKs and probes come before all
//! data, in FIFO order; what they take of the link the emulation does not get,
//! or its rounds would run ahead of the packets that wait.

use fctlab_core::{Rate, SpecError, Time};
use serde::{Deserialize, Serialize};

use super::fifo::{Fifo, Held};
use super::rounds::{self, Rounds};
use super::{Discipline, DisciplineSpec, DropPolicy, Site, is_control};
use crate::packet::{Packet, PacketId};

/// Fair queueing among flows, packet by packet (Demers, Keshav, Shenker).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

/// A flow in one direction: slot and hash, since slots are used again and hashes differ.
type Conversation = (u32, u32);

fn conversation(packet: &Packet) -> Conversation {
    (packet.flow, packet.hash)
}

/// The queue.
pub struct Fq {
    control: Fifo,
    data: Rounds<Conversation, Held>,
}

impl DisciplineSpec for Spec {
    type State = Fq;
    fn build(&self, site: &Site<'_>) -> Result<Fq, SpecError> {
        Ok(Fq::new(site.rate))
    }
}

impl Fq {
    /// An empty queue at a port of `rate`.
    pub fn new(rate: Rate) -> Self {
        Fq {
            control: Fifo::default(),
            data: Rounds::new(rate),
        }
    }

    /// The packet that leaves next.
    pub fn first(&self) -> Option<Held> {
        self.control.first().or_else(|| self.data.first().copied())
    }

    /// The link is about to carry so many bytes of others.
    pub fn took(&mut self, bytes: u16) {
        self.data.took(bytes);
    }

    /// Lets the packet that leaves next go.
    pub fn pop(&mut self) -> Option<Held> {
        if let Some(control) = self.control.pop() {
            self.data.took(control.bytes);
            return Some(control);
        }
        self.data.pop().map(|(_, held)| held)
    }

    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.control.bytes() + self.data.bytes()
    }
}

impl Discipline for Fq {
    const READS_TAGS: bool = false;

    const EVICTS: Option<DropPolicy> = Some(DropPolicy::LongestQueue);
    const REMEMBERS: bool = true;

    fn enqueue(&mut self, id: PacketId, packet: &Packet, now: Time) {
        let bytes = packet.bytes;
        if is_control(packet) {
            return self.control.push(id, bytes);
        }
        let (whose, held) = (conversation(packet), Held { id, bytes });
        self.data.push(whose, rounds::ONE, bytes, held, now);
    }

    fn dequeue(&mut self) -> Option<PacketId> {
        self.pop().map(|held| held.id)
    }

    fn pass(&mut self, _: PacketId, packet: &Packet, now: Time) {
        if is_control(packet) {
            return self.data.took(packet.bytes);
        }
        let whose = conversation(packet);
        self.data.pass(whose, rounds::ONE, packet.bytes, now);
    }

    fn evict_for(&mut self, arriving: &Packet) -> Option<PacketId> {
        let own = if is_control(arriving) {
            0
        } else {
            self.data.bytes_of(conversation(arriving)) + u64::from(arriving.bytes)
        };
        self.data.evict(own).map(|held| held.id)
    }

    fn queue_bytes(&self, packet: &Packet) -> u64 {
        if is_control(packet) {
            self.control.bytes()
        } else {
            self.data.bytes_of(conversation(packet))
        }
    }

    fn bytes_by_queue(&self) -> Vec<u64> {
        vec![self.control.bytes(), self.data.bytes()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Packets, TEST_SITE};
    use super::*;
    use proptest::prelude::*;

    fn data(flow: u32, seq: u32, bytes: u16) -> Packet {
        Packet {
            flow,
            seq,
            bytes,
            ..Packet::default()
        }
    }

    /// Ports of 10 Gbps: 0.8 ns a byte.
    const PS_PER_BYTE: u64 = 800;

    #[test]
    fn the_round_number_by_hand() {
        let mut fq = Packets::of(Spec {}.build(&TEST_SITE).unwrap());
        let at = |bytes: u64| Time::from_ps(bytes * PS_PER_BYTE);
        let rounds = |fq: &Packets<Fq>| fq.data.rounds_made();
        // Alone: a round per byte. Flow 1 gets F = 1000.
        fq.enqueue(data(1, 0, 1000), at(0));
        // At byte 500, R = 500; flow 2 gets F = 500 + 300 = 800.
        fq.enqueue(data(2, 1, 300), at(500));
        assert!((rounds(&fq) - 500.0).abs() < 0.01);
        // Two share: byte 1100 is R = 500 + 600 / 2 = 800, when flow 2 ends; alone
        // again, byte 1200 is R = 900. Flow 3 gets F = 900 + 150 = 1050.
        fq.enqueue(data(3, 2, 150), at(1200));
        assert!((rounds(&fq) - 900.0).abs() < 0.01);
        // Flow 1's next gets F = 1000 + 100 = 1100, after flow 3's.
        fq.enqueue(data(1, 3, 100), at(1200));
        let order: Vec<u32> = std::iter::from_fn(|| fq.dequeue()).map(|p| p.seq).collect();
        assert_eq!(order, [1, 0, 2, 3]);
    }

    #[test]
    fn rounds_do_not_run_ahead_of_a_link_that_carries_acks() {
        // Every second byte of the link goes to ACKs: 1000 data packets of flow 1
        // and an ACK of 1500 B after each; then flow 2 comes and must be next.
        let mut fq = Packets::of(Spec {}.build(&TEST_SITE).unwrap());
        for seq in 0..1000 {
            fq.enqueue(data(1, seq, 1500), Time::ZERO);
        }
        let mut at = Time::ZERO;
        for _ in 0..500 {
            let ack = Packet {
                flags: crate::packet::Flags::ACK,
                ..data(9, 0, 1500)
            };
            for packet in [None, Some(ack)] {
                packet.into_iter().for_each(|ack| fq.enqueue(ack, at));
                assert!(fq.dequeue().is_some());
                at += fctlab_core::Duration::from_ps(1500 * PS_PER_BYTE);
            }
        }
        fq.enqueue(data(2, 5000, 1500), at);
        let next = [fq.dequeue(), fq.dequeue()].map(|p| p.unwrap().seq);
        assert!(next.contains(&5000), "{next:?}");
    }

    #[test]
    fn the_longest_queue_loses_its_last_packet() {
        let mut fq = Packets::of(Spec {}.build(&TEST_SITE).unwrap());
        for (flow, seq, bytes) in [(1, 0, 1500), (1, 1, 1500), (2, 2, 1500), (1, 3, 500)] {
            fq.enqueue(data(flow, seq, bytes), Time::ZERO);
        }
        assert!(
            fq.evict_for(&data(1, 9, 41)).is_none(),
            "the longest is its own"
        );
        assert_eq!(fq.evict_for(&data(2, 9, 1500)).unwrap().seq, 3);
        assert_eq!(fq.evict_for(&data(3, 9, 1500)).unwrap().seq, 1);
        // 1500 each: the arriving flow would be longer than either.
        assert!(fq.evict_for(&data(2, 9, 1500)).is_none());
    }

    proptest! {
        /// Against bit-by-bit round robin in small steps of time.
        #[test]
        fn finishes_in_the_order_of_the_emulation(
            arrivals in prop::collection::vec((0u64..3_000, 0u32..5, 1u16..30), 1..40)
        ) {
            let mut fq = Packets::of(Spec {}.build(&TEST_SITE).unwrap());
            let (mut round, mut clock) = (0.0f64, 0u64);
            let mut finish = std::collections::BTreeMap::<u32, f64>::new();
            let mut expected = Vec::new();
            for (i, (gap, flow, units)) in arrivals.iter().enumerate() {
                // R moves byte by byte of the link.
                for _ in 0..*gap {
                    let sharing = finish.values().filter(|&&f| f > round + 1e-9).count();
                    if sharing > 0 {
                        round += 1.0 / sharing as f64;
                    }
                }
                clock += gap;
                let bytes = units * 50;
                fq.enqueue(data(*flow, i as u32, bytes), Time::from_ps(clock * PS_PER_BYTE));
                let tag = finish.get(flow).copied().unwrap_or(0.0).max(round) + f64::from(bytes);
                finish.insert(*flow, tag);
                expected.push((tag, i as u32));
            }
            let tags: std::collections::BTreeMap<u32, f64> = expected.iter().map(|&(t, i)| (i, t)).collect();
            let order: Vec<f64> = std::iter::from_fn(|| fq.dequeue()).map(|p| tags[&p.seq]).collect();
            prop_assert_eq!(order.len(), arrivals.len());
            // The steps of the model are a byte; tags closer than a few bytes may turn.
            for pair in order.windows(2) {
                prop_assert!(pair[0] <= pair[1] + 8.0, "{order:?}");
            }
        }

        /// Work conservation and accounting.
        #[test]
        fn everything_comes_out_and_bytes_add_up(
            ops in prop::collection::vec((0u8..6, 0u32..6, 41u16..1501), 0..200)
        ) {
            let mut fq = Packets::of(Spec {}.build(&TEST_SITE).unwrap());
            let mut held: Vec<Packet> = Vec::new();
            for (i, (op, flow, bytes)) in ops.into_iter().enumerate() {
                let packet = data(flow, i as u32, bytes);
                let out = match op {
                    0..3 => {
                        fq.enqueue(packet, Time::from_ps(i as u64 * 1_000_000));
                        held.push(packet);
                        None
                    }
                    3..5 => {
                        let out = fq.dequeue();
                        prop_assert_eq!(out.is_none(), held.is_empty());
                        out
                    }
                    _ => fq.evict_for(&packet),
                };
                if let Some(out) = out {
                    let at = held.iter().position(|p| p.seq == out.seq).unwrap();
                    held.remove(at);
                }
                let of_flow = |f| held.iter().filter(|p| p.flow == f).map(|p| u64::from(p.bytes)).sum::<u64>();
                prop_assert_eq!(fq.queue_bytes(&packet), of_flow(flow));
                prop_assert_eq!(fq.bytes_by_queue()[1], held.iter().map(|p| u64::from(p.bytes)).sum::<u64>());
            }
        }
    }
}
