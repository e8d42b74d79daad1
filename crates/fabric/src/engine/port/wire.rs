//! The wire behind a port: what is transmitted and propagated.

use fctlab_core::Time;
use fctlab_core::units::PS_PER_S;

use super::{AWAY, HOST, Header, PortCounters};
use crate::engine::events::{EventQueue, Source};
use crate::engine::slab::{InFlight, NONE, PacketId, Slab};
use crate::network::Link;
use crate::packet::Packet;

pub(super) const FRACTION: u32 = 16;

/// A wire, and what both halves of ports keep beside it because every packet needs it.
// Counters that are aligned to 16 bytes are added to two at a time.
#[repr(C, align(16))]
pub(super) struct Wire {
    pub(super) counters: PortCounters,
    /// The end of the last transmission.
    pub(super) busy_until: u64,
    /// Picoseconds per byte times 2^16, rounded up.
    pub(super) ps_per_byte: u64,
    pub(super) delay: u64,
    /// A backlog (in time) up to which no half needs to look at a packet; 0 while a FIFO one knows what waits.
    pub(super) quiet: u64,
    /// The packets on the wire, first and last.
    head: PacketId,
    tail: PacketId,
    /// The source of the wire's events; that of transmissions' ends, which is the port's number.
    source: Source,
    pub(super) transmitter: Source,
    /// Packets that a choosing half holds back.
    pub(super) held_back: u32,
    /// Index of the switch at the far end, [`HOST`] or [`AWAY`].
    pub(super) switch: u32,
    /// Packets that find the port idle do not go through the queue of a choosing half.
    pub(super) direct: bool,
    /// A FIFO half writes marks or telemetry when a transmission starts.
    pub(super) writes_on_start: bool,
    /// A half has something to do before a packet reaches the far end: that one, or a choosing one that chooses late.
    pub(super) acts_on_arrival: bool,
}

impl Wire {
    /// The wire of port number `number` of `ports`; nodes below `hosts` are hosts.
    pub(super) fn new(link: &Link, hosts: u32, (number, ports): (u32, u32)) -> Self {
        let ps = (8 * u128::from(PS_PER_S)) << FRACTION;
        Wire {
            counters: PortCounters::default(),
            busy_until: 0,
            ps_per_byte: ps.div_ceil(u128::from(link.rate.bps())) as u64,
            delay: link.delay.ps(),
            quiet: 0,
            head: NONE,
            tail: NONE,
            source: number + ports,
            transmitter: number,
            held_back: 0,
            switch: link.to.checked_sub(hosts).unwrap_or(HOST),
            direct: false,
            writes_on_start: false,
            acts_on_arrival: false,
        }
    }

    /// The far end is simulated elsewhere, and told so much earlier.
    pub(super) fn leads_away(&mut self, earlier: u64) {
        self.switch = AWAY;
        self.delay -= earlier;
    }

    /// Time to put `bytes` on the wire, rounded up to a picosecond.
    #[inline(always)]
    pub(super) fn transmission(&self, bytes: u16) -> u64 {
        (u64::from(bytes) * self.ps_per_byte + ((1 << FRACTION) - 1)) >> FRACTION
    }

    /// Puts a packet behind the others; its transmission ends when the wire is busy until.
    #[inline(always)]
    pub(super) fn put(&mut self, id: PacketId, slab: &mut Slab, events: &mut EventQueue) {
        self.put_until(self.busy_until + self.delay, id, slab, events);
    }

    /// Puts a packet behind the others, which reaches the far end at `arrival`.
    #[inline(always)]
    pub(super) fn put_until(
        &mut self,
        arrival: u64,
        id: PacketId,
        slab: &mut Slab,
        events: &mut EventQueue,
    ) {
        let slot = slab.get_mut(id);
        slot.next = NONE;
        slot.arrival = arrival;
        let behind = std::mem::replace(&mut self.tail, id);
        if self.head == NONE {
            self.head = id;
            return events.schedule(self.source, Time::from_ps(arrival));
        }
        let behind = slab.get_mut(behind);
        behind.next = id;
        behind.next_arrival = arrival;
    }

    /// The first packet reaches the far end; the next one, if any, becomes the wire's event.
    #[inline(always)]
    pub(super) fn arrive(
        &mut self,
        slab: &mut Slab,
        events: &mut EventQueue,
    ) -> (PacketId, Header) {
        let id = self.head;
        let InFlight {
            packet,
            next,
            next_arrival,
            ..
        } = *slab.get(id);
        let Packet {
            dst, hash, bytes, ..
        } = packet;
        self.head = next;
        self.counters.delivered_packets += 1;
        if next != NONE {
            events.schedule(self.source, Time::from_ps(next_arrival));
        }
        (id, Header { dst, hash, bytes })
    }

    /// The packet that arrives next at the far end.
    #[inline(always)]
    pub(super) fn next_arriving(&self) -> Option<PacketId> {
        (self.head != NONE).then_some(self.head)
    }

    /// The packet that was put there last, if it still is.
    #[inline(always)]
    pub(super) fn last_sent(&self) -> Option<PacketId> {
        (self.head != NONE).then_some(self.tail)
    }

    /// The packets on the wire, in order; before a FIFO half also those that wait.
    pub(super) fn packets<'s>(&self, slab: &'s Slab) -> impl Iterator<Item = PacketId> + use<'s> {
        std::iter::successors(self.next_arriving(), |&id| {
            Some(slab.get(id).next).filter(|&next| next != NONE)
        })
    }
}
