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
    /// The end of the last transmission of a packet that had waited.
    pub(super) chosen_until: u64,
    /// Choices made late.
    pub(super) choices: u64,
    /// Something is done when a transmission starts: it is marked then, or carries telemetry, or what is
    /// available of the rate varies.
    pub(super) acts_on_start: bool,
    pub(super) observes: bool,
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
        let bytes = u64::from(slab.get(id).packet.bytes);
        if self.observes {
            self.queue.observe(&slab.get(id).packet, now);
        }
        let full = self.waiting_bytes + bytes > self.limits.buffer;
        if full && !self.make_room(wire, id, slab, evicted) {
            return Fate::Dropped;
        }
        let packet = &mut slab.get_mut(id).packet;
        if !self.limits.mark_at_dequeue && self.limits.mark_above != u64::MAX {
            let waiting = if self.per_queue_ecn {
                self.queue.queue_bytes(packet)
            } else {
                self.waiting_bytes
            };
            if waiting + bytes > self.limits.mark_above {
                wire.counters.marked_packets += u64::from(mark(packet));
            }
        }
        if let Some(departed) = self.departed
            && packet.flags.has(Flags::ECT)
        {
            packet.set_queued_after(departed);
        }
        if wire.held_back == 0 && wire.busy_until != self.chosen_until {
            self.begin(wire, slab);
        }
        self.queue.enqueue(id, &slab.get(id).packet, now);
        self.waiting_bytes += bytes;
        wire.held_back += 1;
        wire.counters.accepted_packets += 1;
        wire.counters.accepted_bytes += bytes;
        if !self.pending && !self.late {
            self.pending = true;
            events.schedule(wire.transmitter, Time::from_ps(wire.busy_until).max(now));
        }
        if full {
            return Fate::Displaced;
        }
        Fate::Queued
    }

    /// The first packet is about to wait, for one that found the port idle.
    fn begin(&mut self, wire: &Wire, slab: &Slab) {
        if let Some(served) = wire.last_sent() {
            let served = &slab.get(served).packet;
            let since = wire.busy_until - wire.transmission(served.bytes);
            self.queue.begin(served, Time::from_ps(since));
        }
    }

    /// Evicts packets until there is room for packet `id`; whether there is.
    #[cold]
    #[inline(never)]
    fn make_room(
        &mut self,
        wire: &mut Wire,
        id: PacketId,
        slab: &mut Slab,
        evicted: &mut Vec<Packet>,
    ) -> bool {
        let bytes = u64::from(slab.get(id).packet.bytes);
        while self.waiting_bytes + bytes > self.limits.buffer {
            wire.counters.dropped_packets += 1;
            if !self.evicts {
                return false;
            }
            let Some(victim) = self.queue.evict_for(&slab.get(id).packet) else {
                return false;
            };
            let victim = slab.remove(victim);
            self.waiting_bytes -= u64::from(victim.bytes);
            wire.held_back -= 1;
            wire.counters.evicted_bytes += u64::from(victim.bytes);
            evicted.push(victim);
        }
        true
    }

    /// Nothing waits and nothing is sent, and the packet does not go by as if nothing could be chosen: it is
    /// chosen at once.
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
        if self.observes {
            self.queue.observe(packet, now);
        }
        if bytes > self.limits.buffer {
            wire.counters.dropped_packets += 1;
            return Fate::Dropped;
        }
        if !self.limits.mark_at_dequeue && bytes > self.limits.mark_above {
            wire.counters.marked_packets += u64::from(mark(packet));
        }
        if let Some(departed) = self.departed
            && packet.flags.has(Flags::ECT)
        {
            packet.set_queued_after(departed);
        }
        self.queue.pass(id, packet, now);
        wire.counters.accepted_packets += 1;
        wire.counters.accepted_bytes += bytes;
        wire.busy_until = now.ps() + wire.transmission(packet.bytes);
        if self.acts_on_start {
            self.start(wire, now, id, slab);
        }
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
            self.write(wire, id, now, (0, sent), slab);
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
    ) -> Option<PacketId> {
        self.pending = false;
        let id = self.queue.dequeue()?;
        let bytes = slab.get(id).packet.bytes;
        self.waiting_bytes -= u64::from(bytes);
        wire.held_back -= 1;
        wire.busy_until = now.ps() + wire.transmission(bytes);
        if self.acts_on_start {
            self.start(wire, now, id, slab);
        }
        self.chosen_until = wire.busy_until;
        wire.put(id, slab, events);
        if wire.held_back > 0 && !self.late {
            self.pending = true;
            events.schedule(wire.transmitter, Time::from_ps(wire.busy_until));
        }
        Some(id)
    }

    /// The transmission of a packet that waited starts, and something is done then.
    #[inline(never)]
    fn start(&mut self, wire: &mut Wire, now: Time, id: PacketId, slab: &mut Slab) {
        let packet = &mut slab.get_mut(id).packet;
        if self.limits.mark_at_dequeue {
            let rest = if self.per_queue_ecn {
                self.queue.queue_bytes(packet)
            } else {
                self.waiting_bytes
            };
            if rest > self.limits.mark_above {
                wire.counters.marked_packets += u64::from(mark(packet));
            }
        }
        if let Some(departed) = &mut self.departed {
            if departed.wrapping_sub(packet.queued_after()) > self.mark_after {
                wire.counters.marked_packets += u64::from(mark(packet));
            }
            *departed = departed.wrapping_add(1);
        }
        let bytes = packet.bytes;
        if self.limits.telemetry_rate > 0 {
            let taken = wire.counters.accepted_bytes - wire.counters.evicted_bytes;
            let waiting = self.waiting_bytes;
            let seen = (waiting, taken - waiting - u64::from(bytes));
            self.write(wire, id, now.ps(), seen, slab);
        }
        if let Some(schedule) = &self.schedule {
            wire.busy_until = schedule.end(now.ps(), bytes);
        }
    }

    /// Telemetry, with what is available of the rate then.
    fn write(&self, wire: &Wire, id: PacketId, at: u64, seen: (u64, u64), slab: &mut Slab) {
        let available = self.schedule.as_ref();
        let available = available.map(|s| s.rate(Time::from_ps(at)).max(1));
        let rate = available.unwrap_or(self.limits.telemetry_rate);
        let mut packet = slab.get(id).packet;
        let telemetry = &mut slab.telemetry;
        write_telemetry(wire.transmitter, rate, &mut packet, at, seen, telemetry);
        slab.get_mut(id).packet = packet;
    }
}
