//! Ports that hold packets back and choose which one leaves next: any discipline
//! but FIFO, FIFO too where the end of a transmission is known no earlier than its start.

use std::sync::Arc;

use fctlab_core::Time;

use super::{Fate, Port, mark};
use crate::disciplines::{Discipline, Queue};
use crate::engine::events::EventQueue;
use crate::engine::slab::{PacketId, Slab};
use crate::network::capacity::Schedule;
use crate::packet::{Flags, Packet};

/// The part of a port that holds packets back.
pub(super) struct Choosing {
    pub(super) queue: Queue,
    pub(super) waiting_bytes: u64,
    /// Whether the end of the current transmission is a pending event.
    pub(super) pending: bool,
    pub(super) evicts: bool,
    pub(super) per_queue_ecn: bool,
    /// Packets that waited and have left, when marks follow departures.
    pub(super) departed: Option<u32>,
    /// What is available of the rate, where that is not all of it at all times.
    pub(super) schedule: Option<Arc<Schedule>>,
}

impl Port {
    #[inline(never)]
    pub(super) fn accept_choosing(
        &mut self,
        now: Time,
        id: PacketId,
        slab: &mut Slab,
        events: &mut EventQueue,
        evicted: &mut Vec<Packet>,
    ) -> Fate {
        let mut packet = slab.get(id).packet;
        let bytes = u64::from(packet.bytes);
        let Some(c) = &mut self.choosing else {
            unreachable!("only choosing ports")
        };
        if !self.direct {
            c.queue.observe(&packet, now);
        }
        while c.waiting_bytes + bytes > self.limits.buffer {
            self.counters.dropped_packets += 1;
            let Some(victim) = (if c.evicts {
                c.queue.evict_for(&packet)
            } else {
                None
            }) else {
                return Fate::Dropped;
            };
            c.waiting_bytes -= u64::from(victim.bytes);
            self.waiting_packets -= 1;
            self.counters.evicted_bytes += u64::from(victim.bytes);
            evicted.push(victim);
        }
        if !self.limits.mark_at_dequeue && self.limits.mark_above != u64::MAX {
            let waiting = if c.per_queue_ecn {
                c.queue.queue_bytes(&packet)
            } else {
                c.waiting_bytes
            };
            if waiting + bytes > self.limits.mark_above {
                self.counters.marked_packets += u64::from(mark(&mut packet));
            }
        }
        if let Some(departed) = c.departed
            && packet.flags.has(Flags::ECT)
        {
            packet.set_queued_after(departed);
        }
        c.waiting_bytes += bytes;
        self.waiting_packets += 1;
        slab.remove(id);
        c.queue.enqueue(packet, now);
        self.counters.accepted_packets += 1;
        self.counters.accepted_bytes += bytes;
        if !c.pending {
            c.pending = true;
            events.schedule(self.transmitter, Time::from_ps(self.busy_until).max(now));
        }
        if !evicted.is_empty() {
            return Fate::Displaced;
        }
        Fate::Queued
    }

    /// Choosing ports: a transmission has ended while packets wait; the next
    /// one starts. Returns it, unless everything waiting has been evicted.
    pub fn transmission_ended(
        &mut self,
        now: Time,
        slab: &mut Slab,
        events: &mut EventQueue,
    ) -> Option<Packet> {
        let Some(c) = &mut self.choosing else {
            unreachable!("only choosing ports")
        };
        c.pending = false;
        let mut packet = c.queue.dequeue()?;
        c.waiting_bytes -= u64::from(packet.bytes);
        self.waiting_packets -= 1;
        if self.limits.mark_at_dequeue {
            let rest = if c.per_queue_ecn {
                c.queue.queue_bytes(&packet)
            } else {
                c.waiting_bytes
            };
            if rest > self.limits.mark_above {
                self.counters.marked_packets += u64::from(mark(&mut packet));
            }
        }
        let waiting = c.waiting_bytes;
        if let Some(departed) = &mut c.departed {
            if departed.wrapping_sub(packet.queued_after()) > self.limits.mark_after {
                self.counters.marked_packets += u64::from(mark(&mut packet));
            }
            *departed = departed.wrapping_add(1);
        }
        let more = self.waiting_packets > 0;
        c.pending = more;
        let end = c.schedule.as_ref().map(|s| s.end(now.ps(), packet.bytes));
        if self.limits.telemetry_rate > 0 {
            let taken = self.counters.accepted_bytes - self.counters.evicted_bytes;
            let seen = (waiting, taken - waiting - u64::from(packet.bytes));
            self.write(&mut packet, now.ps(), seen, &mut slab.telemetry);
        }
        self.busy_until = end.unwrap_or(now.ps() + self.transmission(packet.bytes));
        self.put_on_wire(slab.insert(packet), slab, events);
        if more {
            events.schedule(self.transmitter, Time::from_ps(self.busy_until));
        }
        Some(packet)
    }
}
