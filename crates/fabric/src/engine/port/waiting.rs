//! What waits in a FIFO port.
//!
//! Such a port puts a packet onto its wire when it arrives, with the instant at which it
//! will start. What has not started matters only while the backlog is long enough
//! for a drop or a mark, when something is written into packets as they start, or
//! when somebody looks. From then on, until the backlog is short again, the port
//! keeps a list of it: side by side in memory, where following the wire from
//! packet to packet would wait for memory at each of them.

use std::collections::VecDeque;

use crate::engine::slab::PacketId;

/// A packet that has not started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// When it will, in picoseconds.
    pub at: u64,
    /// Bytes that the port had accepted before it.
    pub before: u64,
    /// Where it is.
    pub id: PacketId,
}

/// The packets that have not started, in order.
#[derive(Debug, Default)]
pub(super) struct Waiting(VecDeque<Start>);

impl Waiting {
    /// The packet was accepted behind the others.
    #[inline]
    pub(super) fn push(&mut self, start: Start) {
        self.0.push_back(start);
    }

    /// The first packet if it has started by `now`; it no longer waits.
    #[inline]
    pub(super) fn started_by(&mut self, now: u64) -> Option<Start> {
        self.0.front().filter(|first| first.at <= now)?;
        self.0.pop_front()
    }

    /// The first packet if it is `id`, whether or not it has started; it no longer waits.
    #[inline]
    pub(super) fn take(&mut self, id: PacketId) -> Option<Start> {
        self.0.front().filter(|first| first.id == id)?;
        self.0.pop_front()
    }

    /// Bytes that wait of `accepted` bytes in all.
    #[inline]
    pub(super) fn bytes(&self, accepted: u64) -> u64 {
        self.0.front().map_or(0, |first| accepted - first.before)
    }

    /// Nothing waits, or nobody asks.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
