//! FIFO: packets leave in the order in which they came.
//!
//! Ports whose queue is FIFO are simulated with one event per packet and
//! without this data structure (see `engine::port`). It is what the queues of
//! other disciplines are made of.

use std::collections::VecDeque;

use fctlab_core::{SpecError, Time};
use serde::{Deserialize, Serialize};

use super::{Discipline, DisciplineSpec, Site};
use crate::packet::{Packet, PacketId};

/// First in, first out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

/// A packet that waits.
#[derive(Clone, Copy)]
pub struct Held {
    /// Its number.
    pub id: PacketId,
    /// Its size on the wire.
    pub bytes: u16,
}

/// The queue.
#[derive(Default)]
pub struct Fifo {
    packets: VecDeque<Held>,
    bytes: u64,
}

impl Fifo {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
    /// Bytes waiting.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// The oldest packet.
    pub fn first(&self) -> Option<Held> {
        self.packets.front().copied()
    }
    /// Takes a packet in.
    #[inline]
    pub fn push(&mut self, id: PacketId, bytes: u16) {
        self.bytes += u64::from(bytes);
        self.packets.push_back(Held { id, bytes });
    }
    /// Lets the oldest packet go.
    #[inline]
    pub fn pop(&mut self) -> Option<Held> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
    /// Lets the newest packet go.
    pub fn pop_newest(&mut self) -> Option<Held> {
        let packet = self.packets.pop_back()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
}

impl DisciplineSpec for Spec {
    type State = Fifo;
    fn build(&self, _: &Site<'_>) -> Result<Fifo, SpecError> {
        Ok(Fifo::default())
    }
}

impl Discipline for Fifo {
    const READS_TAGS: bool = false;

    #[inline]
    fn enqueue(&mut self, id: PacketId, packet: &Packet, _: Time) {
        self.push(id, packet.bytes);
    }
    #[inline]
    fn dequeue(&mut self) -> Option<PacketId> {
        self.pop().map(|held| held.id)
    }
    /// All packets have the same priority.
    fn evict_for(&mut self, _: &Packet) -> Option<PacketId> {
        None
    }
    fn queue_bytes(&self, _: &Packet) -> u64 {
        self.bytes
    }
    fn bytes_by_queue(&self) -> Vec<u64> {
        vec![self.bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::super::Packets;
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Against a deque.
        #[test]
        fn first_in_first_out(ops in prop::collection::vec((any::<bool>(), 41u16..1501), 0..300)) {
            let (mut fifo, mut model) = (Packets::of(Fifo::default()), VecDeque::new());
            for (i, (enqueue, bytes)) in ops.into_iter().enumerate() {
                let packet = Packet { seq: i as u32, bytes, ..Packet::default() };
                if enqueue {
                    fifo.enqueue(packet, Time::ZERO);
                    model.push_back(packet);
                } else {
                    prop_assert_eq!(fifo.dequeue().map(|p| p.seq), model.pop_front().map(|p| p.seq));
                }
                let bytes: u64 = model.iter().map(|p| u64::from(p.bytes)).sum();
                prop_assert_eq!(fifo.queue_bytes(&packet), bytes);
                prop_assert_eq!(fifo.bytes_by_queue(), vec![bytes]);
                prop_assert!(fifo.evict_for(&packet).is_none());
            }
        }
    }
}
