//! FIFO: packets leave in the order in which they came.
//!
//! Ports whose queue is FIFO are simulated with one event per packet and
//! without this data structure (see `engine::port`). It is what the queues of
//! other disciplines are made of.

use std::collections::VecDeque;

use fctlab_core::{SpecError, Time};
use serde::{Deserialize, Serialize};

use super::{Discipline, DisciplineSpec, Site};
use crate::packet::Packet;

/// First in, first out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

/// The queue.
#[derive(Default)]
pub struct Fifo {
    packets: VecDeque<Packet>,
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
    pub fn first(&self) -> Option<&Packet> {
        self.packets.front()
    }
    /// Takes a packet in.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }
    /// Lets the oldest packet go.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
    /// Lets the newest packet go.
    pub fn pop_newest(&mut self) -> Option<Packet> {
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
    fn enqueue(&mut self, packet: Packet, _: Time) {
        self.push(packet);
    }
    #[inline]
    fn dequeue(&mut self) -> Option<Packet> {
        self.pop()
    }
    /// All packets have the same priority.
    fn evict_for(&mut self, _: &Packet) -> Option<Packet> {
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
    use super::super::TEST_SITE;
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Against a deque.
        #[test]
        fn first_in_first_out(ops in prop::collection::vec((any::<bool>(), 41u16..1501), 0..300)) {
            let (mut fifo, mut model) = (Spec {}.build(&TEST_SITE).unwrap(), VecDeque::new());
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
