//! The half of a port that holds packets back and chooses which one leaves next: any discipline
//! but FIFO, FIFO too where the end of a transmission is known no earlier than its start.
//!
//! A choice falls when a transmission ends. Where somebody waits for that instant (a host, whose flows take turns; a
//! recorder) it is an event. Nobody does at a switch, and there the port chooses *late*: the next time that anybody
//! comes to it, a packet or the head of its wire, it makes the choices that have fallen due, in order. What was there to
//! choose from is the same, since nothing has come to the port in between; and the last packet on the wire arrives no
//! earlier than its transmission ends, so that the wire always has a next event.

use std::sync::Arc;

use fctlab_core::Time;

use super::wire::Wire;
use super::{Fate, Limits, mark, write_telemetry};
use crate::disciplines::{Discipline, Queue};
use crate::engine::events::EventQueue;
use crate::engine::slab::{PacketId, Slab};
use crate::network::capacity::Schedule;
use crate::packet::{Flags, Packet};

/// What holds packets back.
pub(super) struct Choosing {
    pub(super) limits: Limits,
    pub(super) queue: Queue,
    pub(super) waiting_bytes: u64,
    /// Whether the end of the current transmission is a pending event.
    pub(super) pending: bool,
    /// Whether transmissions' ends are no events.
    pub(super) late: bool,
    /// Choices made late.
    pub(super) choices: u64,
    pub(super) evicts: bool,
    pub(super) per_queue_ecn: bool,
    /// Packets that waited and have left, when marks follow departures.
    pub(super) departed: Option<u32>,
    /// Packets that may overtake one before it is marked then.
    pub(super) mark_after: u32,
    /// What is available of the rate, where that is not all of it at all times.
    pub(super) schedule: Option<Arc<Schedule>>,
}

impl Choosing {
    /// Takes a packet into the queue, if there is room.
    #[inline(always)]
    pub(super) fn accept(
        &mut self,
        wire: &mut Wire,
        now: Time,
        id: PacketId,
        slab: &mut Slab,
        events: &mut EventQueue,
        evicted: &mut Vec<Packet>,
    ) -> Fate {
        let mut packet = slab.get(id).packet;
        let bytes = u64::from(packet.bytes);
        if !wire.direct {
            self.queue.observe(&packet, now);
        }
        while self.waiting_bytes + bytes > self.limits.buffer {
            wire.counters.dropped_packets += 1;
            let Some(victim) = (if self.evicts {
                self.queue.evict_for(&packet)
            } else {
                None
            }) else {
                return Fate::Dropped;
            };
            self.waiting_bytes -= u64::from(victim.bytes);
            wire.held_back -= 1;
            wire.counters.evicted_bytes += u64::from(victim.bytes);
            evicted.push(victim);
        }
        if !self.limits.mark_at_dequeue && self.limits.mark_above != u64::MAX {
            let waiting = if self.per_queue_ecn {
                self.queue.queue_bytes(&packet)
            } else {
                self.waiting_bytes
            };
            if waiting + bytes > self.limits.mark_above {
                wire.counters.marked_packets += u64::from(mark(&mut packet));
            }
        }
        if let Some(departed) = self.departed
            && packet.flags.has(Flags::ECT)
        {
            packet.set_queued_after(departed);
        }
        self.waiting_bytes += bytes;
        wire.held_back += 1;
        slab.remove(id);
        self.queue.enqueue(packet, now);
        wire.counters.accepted_packets += 1;
        wire.counters.accepted_bytes += bytes;
        if !self.pending && !self.late {
            self.pending = true;
            events.schedule(wire.transmitter, Time::from_ps(wire.busy_until).max(now));
        }
        if !evicted.is_empty() {
            return Fate::Displaced;
        }
        Fate::Queued
    }

    /// Nothing waits and nothing is sent, and the queue remembers what goes by: the packet is chosen at once.
    pub(super) fn pass(
        &mut self,
        wire: &mut Wire,
        now: Time,
        id: PacketId,
        slab: &mut Slab,
        events: &mut EventQueue,
    ) -> Fate {
        let packet = &mut slab.get_mut(id).packet;
        let bytes = u64::from(packet.bytes);
        self.queue.observe(packet, now);
        if bytes > self.limits.buffer {
            wire.counters.dropped_packets += 1;
            return Fate::Dropped;
        }
        if !self.limits.mark_at_dequeue && bytes > self.limits.mark_above {
            wire.counters.marked_packets += u64::from(mark(packet));
        }
        if let Some(departed) = &mut self.departed {
            if packet.flags.has(Flags::ECT) {
                packet.set_queued_after(*departed);
            }
            *departed = departed.wrapping_add(1);
        }
        self.queue.pass(packet, now);
        self.choices += 1;
        wire.counters.accepted_packets += 1;
        wire.counters.accepted_bytes += bytes;
        wire.busy_until = now.ps() + wire.transmission(packet.bytes);
        wire.put(id, slab, events);
        Fate::Sent
    }

    /// Makes the choices that have fallen due by `now`, where they are no events.
    #[inline(always)]
    pub(super) fn catch_up(
        &mut self,
        wire: &mut Wire,
        now: Time,
        slab: &mut Slab,
        events: &mut EventQueue,
    ) {
        while wire.held_back > 0 && wire.busy_until <= now.ps() {
            let ended = Time::from_ps(wire.busy_until);
            self.choices += 1;
            self.transmission_ended(wire, ended, slab, events);
        }
    }

    /// Nothing waits and nothing is sent: the packet is sent at once.
    pub(super) fn admit_at_once(
        &mut self,
        wire: &mut Wire,
        now: u64,
        id: PacketId,
        slab: &mut Slab,
    ) {
        let bytes = u64::from(slab.get(id).packet.bytes);
        if bytes > self.limits.mark_above && !self.limits.mark_at_dequeue {
            wire.counters.marked_packets += u64::from(mark(&mut slab.get_mut(id).packet));
        }
        if self.limits.telemetry_rate > 0 {
            let sent = wire.counters.accepted_bytes - wire.counters.evicted_bytes;
            let mut packet = slab.get(id).packet;
            self.write(wire, &mut packet, now, (0, sent), slab);
            slab.get_mut(id).packet = packet;
        }
    }

    /// A transmission has ended while packets wait; the next one starts. Returns it, unless everything
    /// waiting has been evicted.
    pub(super) fn transmission_ended(
        &mut self,
        wire: &mut Wire,
        now: Time,
        slab: &mut Slab,
        events: &mut EventQueue,
    ) -> Option<Packet> {
        self.pending = false;
        let mut packet = self.queue.dequeue()?;
        self.waiting_bytes -= u64::from(packet.bytes);
        wire.held_back -= 1;
        if self.limits.mark_at_dequeue {
            let rest = if self.per_queue_ecn {
                self.queue.queue_bytes(&packet)
            } else {
                self.waiting_bytes
            };
            if rest > self.limits.mark_above {
                wire.counters.marked_packets += u64::from(mark(&mut packet));
            }
        }
        let waiting = self.waiting_bytes;
        if let Some(departed) = &mut self.departed {
            if departed.wrapping_sub(packet.queued_after()) > self.mark_after {
                wire.counters.marked_packets += u64::from(mark(&mut packet));
            }
            *departed = departed.wrapping_add(1);
        }
        let more = wire.held_back > 0;
        self.pending = more && !self.late;
        let end = self
            .schedule
            .as_ref()
            .map(|s| s.end(now.ps(), packet.bytes));
        if self.limits.telemetry_rate > 0 {
            let taken = wire.counters.accepted_bytes - wire.counters.evicted_bytes;
            let seen = (waiting, taken - waiting - u64::from(packet.bytes));
            self.write(wire, &mut packet, now.ps(), seen, slab);
        }
        wire.busy_until = end.unwrap_or(now.ps() + wire.transmission(packet.bytes));
        wire.put(slab.insert(packet), slab, events);
        if self.pending {
            events.schedule(wire.transmitter, Time::from_ps(wire.busy_until));
        }
        Some(packet)
    }

    /// Telemetry, with what is available of the rate then.
    fn write(&self, wire: &Wire, packet: &mut Packet, at: u64, seen: (u64, u64), slab: &mut Slab) {
        let available = self.schedule.as_ref();
        let available = available.map(|s| s.rate(Time::from_ps(at)).max(1));
        let rate = available.unwrap_or(self.limits.telemetry_rate);
        write_telemetry(
            wire.transmitter,
            rate,
            packet,
            at,
            seen,
            &mut slab.telemetry,
        );
    }
}
