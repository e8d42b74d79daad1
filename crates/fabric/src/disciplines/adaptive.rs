//! Strict-priority queues whose thresholds follow what the port sees: the part
//! that ADS's and AWAFS's switches share. What they follow, and how, is a [`Source`].

use fctlab_core::Time;

use super::priority::Priority;
use super::{Discipline, DropPolicy};
use crate::packet::{Packet, PacketId};

/// Where thresholds come from.
pub trait Source {
    /// The largest tag that it can tell from smaller ones.
    const LARGEST_TAG: u64 = u32::MAX as u64;
    /// A packet has reached the port, which may then drop it.
    fn observe(&mut self, _packet: &Packet) {}
    /// A packet has been taken in.
    fn queued(&mut self, _packet: &Packet, _now: Time) {}
    /// The new thresholds, if they have changed by `now`; as many as before.
    fn advance(&mut self, now: Time) -> Option<Vec<u32>>;
    /// Memory that it takes in a switch.
    fn state_bytes(&self) -> u64;
}

/// The queues and where their thresholds come from.
pub struct Adaptive<S> {
    pub(super) queues: Priority,
    source: S,
}

impl<S: Source> Adaptive<S> {
    /// Empty queues with these thresholds at first, which may be equal but do not fall.
    pub fn new(thresholds: Vec<u32>, source: S) -> Self {
        Adaptive {
            queues: Priority::with_thresholds(thresholds),
            source,
        }
    }

    fn advance(&mut self, now: Time) {
        if let Some(thresholds) = self.source.advance(now) {
            self.queues.set_thresholds(thresholds);
        }
    }
}

impl<S: Source> Discipline for Adaptive<S> {
    const EVICTS: Option<DropPolicy> = Priority::EVICTS;
    const LARGEST_TAG: u64 = S::LARGEST_TAG;
    const REMEMBERS: bool = true;
    const OBSERVES: bool = true;

    fn observe(&mut self, packet: &Packet, now: Time) {
        self.advance(now);
        self.source.observe(packet);
    }
    fn enqueue(&mut self, id: PacketId, packet: &Packet, now: Time) {
        self.source.queued(packet, now);
        self.queues.enqueue(id, packet, now);
    }
    fn dequeue(&mut self) -> Option<PacketId> {
        self.queues.dequeue()
    }
    fn evict_for(&mut self, arriving: &Packet) -> Option<PacketId> {
        self.queues.evict_for(arriving)
    }
    fn queue_bytes(&self, packet: &Packet) -> u64 {
        self.queues.queue_bytes(packet)
    }
    fn bytes_by_queue(&self) -> Vec<u64> {
        self.queues.bytes_by_queue()
    }
    fn thresholds(&mut self, now: Time) -> Option<&[u32]> {
        self.advance(now);
        self.queues.thresholds(now)
    }
    fn state_bytes(&self) -> u64 {
        self.source.state_bytes()
    }
}
