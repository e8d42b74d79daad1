//! A port and the wire behind it.
//!
//! A packet is queued, transmitted and propagated; `busy_until` is the end of
//! the last transmission, and the wire is a ring of packets with the instants
//! at which they reach the far end, in order, since propagation is constant.
//! Only the head of each wire is an event.
//!
//! Two kinds of port:
//!
//! * **FIFO** ports decide everything on arrival: the packet will start at
//!   `busy_until`, so it goes onto the wire at once, with no event at the end
//!   of a transmission. What is *waiting* (not yet started) is found by a
//!   second cursor into the same ring, and only when the backlog is long
//!   enough that a drop or a mark is possible.
//! * **Choosing** ports (any other discipline, and NICs whose flows take
//!   turns) hold packets back in their [`Queue`] and have an event at the end
//!   of a transmission while anything waits.
//!
//! **Occupancy** is the bytes waiting, the packet in transmission not
//! included (as in ns-2). A packet is dropped when it would raise the occupancy
//! above the buffer, and marked on enqueue when it has raised it above the
//! threshold, or on dequeue when what remains is above it.

use fctlab_core::spec::OrNone;
use fctlab_core::units::{DataLength, PathScale};
use fctlab_core::{Duration, SpecError, Time, spec};
use serde::{Deserialize, Serialize};

use super::events::{EventQueue, Source};
use super::ring::Ring;
use crate::disciplines::{Discipline, Queue, QueueSpec};
use crate::packet::{Flags, Packet};
use crate::topology::Link;

/// A port: what leaves next, what is dropped and what is marked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PortSpec {
    /// What leaves next.
    pub discipline: QueueSpec,
    /// Bytes that may wait, shared by the queues of the port.
    pub buffer: DataLength,
    /// What is dropped when the buffer is full.
    pub drop: DropPolicy,
    /// Occupancy above which ECN-capable packets are marked, or `"none"`.
    #[serde(with = "spec::or_none")]
    #[schemars(with = "OrNone<DataLength>")]
    pub ecn_threshold: Option<DataLength>,
    /// Whose occupancy counts.
    pub ecn_scope: EcnScope,
    /// When the occupancy counts.
    pub ecn_at: EcnAt,
}

/// What is dropped when the buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropPolicy {
    /// The arriving packet.
    Tail,
    /// The packet of the lowest priority, queued or arriving.
    LowestPriority,
}

/// Whose occupancy counts for ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnScope {
    /// All queues of the port together.
    Port,
    /// The packet's own queue.
    Queue,
}

/// When the occupancy counts for ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnAt {
    /// When the packet is queued, itself included.
    Enqueue,
    /// When its transmission starts, itself not included.
    Dequeue,
}

impl Default for PortSpec {
    fn default() -> Self {
        PortSpec {
            discipline: QueueSpec::Fifo(Default::default()),
            buffer: DataLength::Bytes(fctlab_core::Bytes::new(500_000)),
            drop: DropPolicy::Tail,
            ecn_threshold: None,
            ecn_scope: EcnScope::Port,
            ecn_at: EcnAt::Enqueue,
        }
    }
}

/// What a port has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets taken in.
    pub accepted_packets: u64,
    /// Bytes taken in.
    pub accepted_bytes: u64,
    /// Packets that have reached the far end of the wire.
    pub delivered_packets: u64,
    /// Packets refused, or evicted after they had been taken in.
    pub dropped_packets: u64,
    /// Bytes evicted after they had been taken in.
    pub evicted_bytes: u64,
    /// Packets marked.
    pub marked_packets: u64,
}

#[derive(Clone, Copy, Default)]
struct InFlight {
    packet: Packet,
    /// FIFO ports: bytes accepted before this packet (wrapping).
    before: u32,
    /// When the packet reaches the far end.
    arrival: u64,
}

/// What became of a packet that a port was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// On the wire, or on a FIFO port's way there.
    Sent,
    /// Held back in the queue of a choosing port.
    Queued,
    /// Held back, and others were evicted to make room.
    Displaced,
    /// Dropped on arrival; others may have been evicted in vain.
    Dropped,
}

impl Fate {
    /// Whether the packet waits in the queue of a choosing port.
    pub fn is_waiting(self) -> bool {
        matches!(self, Fate::Queued | Fate::Displaced)
    }
    /// Whether any packet was dropped.
    #[inline]
    pub fn drops(self) -> bool {
        self >= Fate::Displaced
    }
}

/// A port and its wire.
pub struct Port {
    busy_until: u64,
    /// Picoseconds per byte times 2^16, rounded up.
    ps_per_byte: u64,
    delay: u64,
    /// A backlog (in time) up to which neither a drop nor a mark is possible.
    quiet: u64,
    /// The node at the far end.
    pub to: u32,
    /// FIFO: position in the ring of the first packet not known to have
    /// started; one that has left the wire stands for the head.
    waiting_from: u32,
    wire: Ring<InFlight>,
    /// Choosing ports: packets held back.
    waiting_packets: u32,
    choosing: Option<Box<Choosing>>,
    buffer: u64,
    mark_above: u64,
    mark_at_dequeue: bool,
    /// What was counted.
    pub counters: PortCounters,
}

/// The part of a port that holds packets back.
struct Choosing {
    queue: Queue,
    waiting_bytes: u64,
    /// Whether the end of the current transmission is a pending event.
    pending: bool,
    evicts: bool,
    per_queue_ecn: bool,
}

const FRACTION: u32 = 16;

impl Port {
    /// The port that feeds `link`. `turns`: it needs an event at the end of
    /// each transmission even if it is FIFO.
    ///
    /// # Errors
    /// Parameters that do not fit each other, with the path of the key.
    pub fn new(
        spec: &PortSpec,
        link: &Link,
        turns: bool,
        scale: &PathScale,
    ) -> Result<Self, SpecError> {
        let buffer = spec.buffer.bytes(scale);
        if buffer < scale.packet_bytes {
            let message = format!("{} holds less than one full packet", spec.buffer);
            return Err(SpecError::new("buffer", message));
        }
        let fifo = matches!(spec.discipline, QueueSpec::Fifo(_));
        if fifo && spec.drop == DropPolicy::LowestPriority {
            let message = "a fifo knows no priorities; use \"tail\" or another discipline";
            return Err(SpecError::new("drop", message));
        }
        let queue = spec.discipline.build().map_err(|e| e.under("discipline"))?;
        let choosing = (turns || !fifo).then(|| {
            Box::new(Choosing {
                queue,
                waiting_bytes: 0,
                pending: false,
                evicts: spec.drop == DropPolicy::LowestPriority,
                per_queue_ecn: spec.ecn_scope == EcnScope::Queue,
            })
        });
        let mark_above = spec.ecn_threshold.map_or(u64::MAX, |t| t.bytes(scale));
        let mark_at_dequeue = mark_above != u64::MAX && spec.ecn_at == EcnAt::Dequeue;
        let ps = (8 * u128::from(fctlab_core::units::PS_PER_S)) << FRACTION;
        let ps_per_byte = ps.div_ceil(u128::from(link.rate.bps())) as u64;
        let quiet_bytes = if mark_at_dequeue {
            0
        } else {
            buffer.min(mark_above)
        };
        Ok(Port {
            busy_until: 0,
            ps_per_byte,
            delay: link.delay.ps(),
            // Rounded down: a shorter quiet time is always correct.
            quiet: link
                .rate
                .transmission_time(quiet_bytes)
                .ps()
                .saturating_sub(1),
            to: link.to,
            waiting_from: 0,
            wire: Ring::new(),
            waiting_packets: 0,
            choosing,
            buffer,
            mark_above,
            mark_at_dequeue,
            counters: PortCounters::default(),
        })
    }

    /// Time to put `bytes` on the wire, rounded up to a picosecond.
    #[inline(always)]
    fn transmission(&self, bytes: u16) -> u64 {
        (u64::from(bytes) * self.ps_per_byte + ((1 << FRACTION) - 1)) >> FRACTION
    }

    /// Takes `packet` in or drops it. `id` is the port's number and the source
    /// of its transmissions' ends; `id + ports` that of its wire's events.
    /// Packets evicted to make room are appended to `evicted`.
    #[inline(always)]
    pub fn accept(
        &mut self,
        id: u32,
        now: Time,
        packet: Packet,
        events: &mut Events<'_>,
        evicted: &mut Vec<Packet>,
    ) -> Fate {
        let ps = now.ps();
        if self.choosing.is_some() && (self.waiting_packets > 0 || self.busy_until > ps) {
            return self.accept_choosing(id, now, packet, events, evicted);
        }
        let mut packet = packet;
        let start = self.busy_until.max(ps);
        let transmission = self.transmission(packet.bytes);
        if start - ps + transmission > self.quiet && !self.admit(ps, &mut packet) {
            self.counters.dropped_packets += 1;
            return Fate::Dropped;
        }
        self.busy_until = start + transmission;
        let before = self.counters.accepted_bytes as u32;
        self.counters.accepted_packets += 1;
        self.counters.accepted_bytes += u64::from(packet.bytes);
        self.put_on_wire(id, packet, before, events);
        Fate::Sent
    }

    #[inline(always)]
    fn put_on_wire(&mut self, id: u32, packet: Packet, before: u32, events: &mut Events<'_>) {
        let arrival = self.busy_until + self.delay;
        if self.wire.is_empty() {
            events
                .queue
                .schedule(id + events.ports, Time::from_ps(arrival));
        }
        let entry = self.wire.push_slot();
        entry.packet = packet;
        entry.before = before;
        entry.arrival = arrival;
    }

    /// FIFO, or nothing waits: whether the buffer has room for `packet`,
    /// marking it if need be.
    #[inline(never)]
    fn admit(&mut self, now: u64, packet: &mut Packet) -> bool {
        let idle = self.busy_until <= now;
        let mut occupancy = u64::from(packet.bytes);
        if self.choosing.is_none() {
            self.start_waiting(now);
            occupancy += self.waiting_bytes();
        }
        if occupancy > self.buffer && !idle {
            return false;
        }
        if occupancy > self.mark_above && !self.mark_at_dequeue {
            self.counters.marked_packets += u64::from(mark(packet));
        }
        true
    }

    /// FIFO: bytes accepted whose transmission has not started, as of the last
    /// call of `start_waiting`.
    fn waiting_bytes(&self) -> u64 {
        if self.waiting_from == self.wire.tail() {
            return 0;
        }
        let before = self.wire.at(self.waiting_from).before;
        u64::from((self.counters.accepted_bytes as u32).wrapping_sub(before))
    }

    /// FIFO: moves the second cursor past the packets whose transmission has
    /// started by `now`. When marks are set on dequeue this is called before
    /// every acceptance, so that what remains at each start is exact.
    fn start_waiting(&mut self, now: u64) {
        if self.wire.head().wrapping_sub(self.waiting_from) as i32 > 0 {
            self.waiting_from = self.wire.head();
        }
        while self.waiting_from != self.wire.tail() {
            let entry = self.wire.at(self.waiting_from);
            let start = entry.arrival - self.delay - self.transmission(entry.packet.bytes);
            if start > now {
                return;
            }
            self.start_one();
        }
    }

    /// FIFO: the first waiting packet starts.
    fn start_one(&mut self) {
        let first = self.waiting_from;
        self.waiting_from = first.wrapping_add(1);
        if self.mark_at_dequeue && self.waiting_bytes() > self.mark_above {
            self.counters.marked_packets += u64::from(mark(&mut self.wire.at_mut(first).packet));
        }
    }

    /// The packet at the head of the wire reaches the far end; the next one,
    /// if any, becomes the port's event.
    #[inline(always)]
    pub fn arrive(&mut self, source: Source, events: &mut EventQueue) -> Packet {
        if self.mark_at_dequeue && self.choosing.is_none() && self.waiting_from == self.wire.head()
        {
            self.start_one();
        }
        let Some(InFlight { packet, .. }) = self.wire.pop() else {
            unreachable!("an arrival event without a packet on the wire");
        };
        if let Some(next) = self.wire.front() {
            events.schedule(source, Time::from_ps(next.arrival));
        }
        self.counters.delivered_packets += 1;
        packet
    }

    #[inline(never)]
    fn accept_choosing(
        &mut self,
        id: u32,
        now: Time,
        mut packet: Packet,
        events: &mut Events<'_>,
        evicted: &mut Vec<Packet>,
    ) -> Fate {
        let bytes = u64::from(packet.bytes);
        let Some(c) = &mut self.choosing else {
            unreachable!("only choosing ports")
        };
        while c.waiting_bytes + bytes > self.buffer {
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
        if !self.mark_at_dequeue && self.mark_above != u64::MAX {
            let waiting = if c.per_queue_ecn {
                c.queue.queue_bytes(&packet)
            } else {
                c.waiting_bytes
            };
            if waiting + bytes > self.mark_above {
                self.counters.marked_packets += u64::from(mark(&mut packet));
            }
        }
        c.waiting_bytes += bytes;
        self.waiting_packets += 1;
        c.queue.enqueue(packet);
        self.counters.accepted_packets += 1;
        self.counters.accepted_bytes += bytes;
        if !c.pending {
            c.pending = true;
            events
                .queue
                .schedule(id, Time::from_ps(self.busy_until.max(now.ps())));
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
        id: u32,
        now: Time,
        events: &mut Events<'_>,
    ) -> Option<Packet> {
        let Some(c) = &mut self.choosing else {
            unreachable!("only choosing ports")
        };
        c.pending = false;
        let mut packet = c.queue.dequeue()?;
        c.waiting_bytes -= u64::from(packet.bytes);
        self.waiting_packets -= 1;
        if self.mark_at_dequeue {
            let rest = if c.per_queue_ecn {
                c.queue.queue_bytes(&packet)
            } else {
                c.waiting_bytes
            };
            if rest > self.mark_above {
                self.counters.marked_packets += u64::from(mark(&mut packet));
            }
        }
        let more = self.waiting_packets > 0;
        c.pending = more;
        self.transmit(id, now, packet, events);
        if more {
            events.queue.schedule(id, Time::from_ps(self.busy_until));
        }
        Some(packet)
    }

    /// Choosing ports: the transmission of `packet` starts now.
    #[inline(always)]
    fn transmit(&mut self, id: u32, now: Time, packet: Packet, events: &mut Events<'_>) {
        self.busy_until = now.ps() + self.transmission(packet.bytes);
        self.put_on_wire(id, packet, 0, events);
    }

    /// Bytes waiting at `now`, by queue.
    pub fn waiting_by_queue(&mut self, now: Time) -> Vec<u64> {
        match &self.choosing {
            Some(c) => c.queue.bytes_by_queue(),
            None => {
                self.start_waiting(now.ps());
                vec![self.waiting_bytes()]
            }
        }
    }

    /// Packets queued or on the wire.
    pub fn packets_inside(&self) -> u64 {
        self.wire.len() as u64 + u64::from(self.waiting_packets)
    }

    /// How long a packet that arrives now will wait, where that is known now:
    /// at FIFO ports, and at others when nothing waits or is transmitted.
    pub fn wait(&self, now: Time) -> Option<Duration> {
        let wait = self.busy_until.saturating_sub(now.ps());
        let known = self.choosing.is_none() || (self.waiting_packets == 0 && wait == 0);
        known.then_some(Duration::from_ps(wait))
    }

    /// Time that transmissions have taken until `now`.
    pub fn busy_time(&self, now: Time) -> Duration {
        let held = self.choosing.as_ref().map_or(0, |c| c.waiting_bytes);
        let bytes = self.counters.accepted_bytes - self.counters.evicted_bytes - held;
        let ps = (u128::from(bytes) * u128::from(self.ps_per_byte)) >> FRACTION;
        // What has been given to the wire, less what will leave after `now`.
        Duration::from_ps((ps as u64).saturating_sub(self.busy_until.saturating_sub(now.ps())))
    }
}

/// Marks an ECN-capable packet; whether it did.
fn mark(packet: &mut Packet) -> bool {
    let marks = packet.flags.has(Flags::ECT);
    packet.flags = packet.flags.with_if(Flags::CE, marks);
    marks
}

/// What a port needs to schedule its events.
pub struct Events<'a> {
    /// The pending events.
    pub queue: &'a mut EventQueue,
    /// Number of ports: the first source of wires' events.
    pub ports: Source,
}
