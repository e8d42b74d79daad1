//! A port and the wire behind it.
//!
//! A packet is queued, transmitted and propagated; `busy_until` is the end of
//! the last transmission, and the wire is a list of packets with the instants
//! at which they reach the far end, in order, since propagation is constant.
//! Only the head of each wire is an event.
//!
//! Two kinds of port:
//!
//! * **FIFO** ports decide everything on arrival: the packet will start at
//!   `busy_until`, so it goes onto the wire at once, with no event at the end
//!   of a transmission. What is *waiting* (not yet started) is listed only
//!   while the backlog is long enough that a drop or a mark is possible
//!   (`waiting`).
//! * **Choosing** ports (any other discipline) hold packets back in their
//!   queue (`choosing`) and have an event at the end of a transmission while anything
//!   waits.
//!
//! **Occupancy** is the bytes waiting, the packet in transmission not
//! included (as in ns-2). A packet is dropped when it would raise the occupancy
//! above the buffer, and marked on enqueue when it has raised it above the
//! threshold, or on dequeue when what remains is above it; or, as ASCC does, on
//! dequeue when more full packets than fit the threshold have left before it
//! since it was queued, which under priorities says how long it waited.
//!
//! What a scenario writes about a port is in [`scheme`](crate::scheme).

mod choosing;
mod look;
mod waiting;

use fctlab_core::units::PathScale;
use fctlab_core::{Rate, SpecError, Time};

use self::choosing::Choosing;
use self::waiting::{Start, Waiting};
use super::events::{EventQueue, Source};
use super::slab::{InFlight, NONE, PacketId, Slab};
use crate::disciplines::{DropPolicy, QueueSpec, Site};
use crate::network::{Fabric, Link};
use crate::packet::{Flags, Packet};
use crate::scheme::{EcnAt, EcnScope, PortSpec};
use crate::telemetry::{Hop, Telemetry};

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

/// What a switch looks at.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Receiving host.
    pub dst: u16,
    /// Random bits of flow and direction, for path selection.
    pub hash: u32,
    /// Size on the wire.
    pub bytes: u16,
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
#[repr(align(128))]
pub struct Port {
    busy_until: u64,
    /// Picoseconds per byte times 2^16, rounded up.
    ps_per_byte: u64,
    delay: u64,
    /// A backlog (in time) up to which nothing needs to know what waits; 0 while
    /// that is known.
    quiet: u64,
    /// The packets on the wire, first and last.
    head: PacketId,
    tail: PacketId,
    /// The source of the wire's events; that of transmissions' ends.
    wire: Source,
    transmitter: Source,
    /// Index of the switch at the far end, or [`HOST`].
    pub switch: u32,
    /// Choosing ports: packets held back.
    waiting_packets: u32,
    /// Choosing ports: packets that find the port idle do not go through the
    /// queue, unless it remembers them or the link has a schedule.
    direct: bool,
    choosing: Option<Box<Choosing>>,
    limits: Box<Limits>,
    /// FIFO, and marks or telemetry are written when a transmission starts.
    writes_on_start: bool,
    /// What was counted.
    pub counters: PortCounters,
}

/// What matters only when the backlog is long enough for a drop or a mark;
/// apart, so that the rest of a port fits two cache lines.
struct Limits {
    buffer: u64,
    mark_above: u64,
    mark_at_dequeue: bool,
    /// Bits per second that telemetry reports; 0 when none is written.
    telemetry_rate: u64,
    /// Packets that may overtake one before it is marked on dequeue.
    mark_after: u32,
    /// A backlog (in time) up to which neither a drop nor a mark is possible.
    quiet: u64,
    /// FIFO: what waits, while that is known.
    waiting: Waiting,
}

/// Instead of a switch: a host.
pub const HOST: u32 = u32::MAX;

const FRACTION: u32 = 16;

/// Builds a port that would have the specification `spec`, to see whether it
/// can: one of a host (`nic`), or of a switch.
///
/// # Errors
/// Parameters that do not fit each other.
pub(crate) fn check(
    spec: &PortSpec,
    fabric: &Fabric,
    nic: bool,
    scale: &PathScale,
) -> Result<(), SpecError> {
    let of_kind = |link: &Link| (link.from < fabric.hosts) == nic;
    let number = fabric.links.iter().position(of_kind);
    number.map_or(Ok(()), |n| {
        Port::of(spec, fabric, n as u32, scale).map(|_| ())
    })
}

impl Port {
    /// Port number `number` of `fabric`.
    ///
    /// # Errors
    /// Parameters that do not fit each other, with the path of the key.
    pub fn of(
        spec: &PortSpec,
        fabric: &Fabric,
        number: u32,
        scale: &PathScale,
    ) -> Result<Self, SpecError> {
        let link = &fabric.links[number as usize];
        let (port, node) = (fabric.port_name(number), fabric.node_name(link.from));
        let site = Site {
            rate: link.rate,
            port: &port,
            node: &node,
        };
        let numbers = (number, fabric.links.len() as u32);
        Port::new(spec, link, fabric.hosts, numbers, false, scale, &site)
    }

    /// Port number `number` of `ports`, which feeds `link`; nodes below `hosts`
    /// are hosts. `choosing`: it holds packets back even if it is FIFO.
    ///
    /// # Errors
    /// Parameters that do not fit each other, with the path of the key.
    pub fn new(
        spec: &PortSpec,
        link: &Link,
        hosts: u32,
        (number, ports): (u32, u32),
        choosing: bool,
        scale: &PathScale,
        site: &Site<'_>,
    ) -> Result<Self, SpecError> {
        spec.check_keys(scale)?;
        let fifo = matches!(spec.discipline, QueueSpec::Fifo(_));
        let buffer = spec.buffer.bytes(scale);
        let queue = spec
            .discipline
            .build(site)
            .map_err(|e| e.under("discipline"))?;
        let by_departures = spec.marks_by_departures();
        // The end of a transmission is known when it starts, no earlier.
        let choosing = choosing || by_departures || link.schedule.is_some();
        let holding = (choosing || !fifo).then(|| {
            Box::new(Choosing {
                queue,
                waiting_bytes: 0,
                pending: false,
                evicts: spec.drop != DropPolicy::Tail,
                per_queue_ecn: spec.ecn_scope == EcnScope::Queue,
                departed: by_departures.then_some(0),
                schedule: link.schedule.clone(),
            })
        });
        let threshold = spec.ecn_threshold.map_or(u64::MAX, |t| t.bytes(scale));
        let mark_above = if by_departures { u64::MAX } else { threshold };
        let mark_at_dequeue = mark_above != u64::MAX && spec.ecn_at == EcnAt::Dequeue;
        let ps = (8 * u128::from(fctlab_core::units::PS_PER_S)) << FRACTION;
        let ps_per_byte = ps.div_ceil(u128::from(link.rate.bps())) as u64;
        let quiet_bytes = if mark_at_dequeue {
            0
        } else {
            buffer.min(mark_above)
        };
        // Rounded down: a shorter quiet time is always correct.
        let quiet = link.rate.transmission_time(quiet_bytes).ps();
        let quiet = quiet.saturating_sub(1);
        Ok(Port {
            busy_until: 0,
            ps_per_byte,
            delay: link.delay.ps(),
            quiet,
            head: NONE,
            tail: NONE,
            wire: number + ports,
            transmitter: number,
            switch: link.to.checked_sub(hosts).unwrap_or(HOST),
            waiting_packets: 0,
            direct: !spec.discipline.remembers() && link.schedule.is_none(),
            choosing: holding,
            limits: Box::new(Limits {
                buffer,
                mark_above,
                mark_at_dequeue,
                telemetry_rate: 0,
                mark_after: u32::try_from(threshold / scale.packet_bytes).unwrap_or(u32::MAX),
                quiet,
                waiting: Waiting::default(),
            }),
            writes_on_start: mark_at_dequeue && fifo && !choosing,
            counters: PortCounters::default(),
        })
    }

    /// From now on data packets carry what this port of `rate` sees.
    pub fn write_telemetry(&mut self, rate: Rate) {
        self.limits.telemetry_rate = rate.bps();
        (self.quiet, self.limits.quiet) = (0, 0);
        self.writes_on_start = self.choosing.is_none();
    }

    /// Writes into a data packet that starts at `at`, `queue_bytes` waiting and `sent_bytes` sent before it.
    #[inline(never)]
    fn write(
        &self,
        packet: &mut Packet,
        at: u64,
        (queue_bytes, sent_bytes): (u64, u64),
        telemetry: &mut Telemetry,
    ) {
        if !packet.collects_telemetry() {
            return;
        }
        let schedule = self.choosing.as_ref().and_then(|c| c.schedule.as_ref());
        let available = schedule.map(|s| s.rate(Time::from_ps(at)).max(1));
        let hop = Hop {
            port: self.transmitter,
            rate: available.unwrap_or(self.limits.telemetry_rate),
            at: Time::from_ps(at),
            queue_bytes,
            sent_bytes,
        };
        packet.set_telemetry(telemetry.record(packet.telemetry(), hop));
    }

    /// Time to put `bytes` on the wire, rounded up to a picosecond.
    #[inline(always)]
    fn transmission(&self, bytes: u16) -> u64 {
        (u64::from(bytes) * self.ps_per_byte + ((1 << FRACTION) - 1)) >> FRACTION
    }

    /// When a packet accepted now would start, if the port holds none back.
    #[inline(always)]
    pub fn next_start(&self, now: Time) -> Time {
        Time::from_ps(self.busy_until).max(now)
    }

    /// Whether packets are held back while the port is busy.
    #[inline(always)]
    pub fn is_choosing(&self) -> bool {
        self.choosing.is_some()
    }

    /// Takes packet `id` of `bytes` in, or leaves it where it is ([`Fate::Dropped`]).
    /// Packets evicted to make room are appended to `evicted`.
    #[inline(always)]
    pub fn accept(
        &mut self,
        now: Time,
        id: PacketId,
        bytes: u16,
        slab: &mut Slab,
        events: &mut EventQueue,
        evicted: &mut Vec<Packet>,
    ) -> Fate {
        let ps = now.ps();
        let start = self.busy_until.max(ps);
        if self.choosing.is_some() && (self.waiting_packets > 0 || start > ps || !self.direct) {
            return self.accept_choosing(now, id, slab, events, evicted);
        }
        let end = start + self.transmission(bytes);
        if end - ps > self.quiet && !self.admit(ps, id, bytes, end, slab) {
            self.counters.dropped_packets += 1;
            return Fate::Dropped;
        }
        self.busy_until = end;
        self.counters.accepted_packets += 1;
        self.counters.accepted_bytes += u64::from(bytes);
        self.put_on_wire(id, slab, events);
        Fate::Sent
    }

    #[inline(always)]
    fn put_on_wire(&mut self, id: PacketId, slab: &mut Slab, events: &mut EventQueue) {
        let arrival = self.busy_until + self.delay;
        let slot = slab.get_mut(id);
        slot.next = NONE;
        slot.arrival = arrival;
        let behind = std::mem::replace(&mut self.tail, id);
        if self.head == NONE {
            self.head = id;
            return events.schedule(self.wire, Time::from_ps(arrival));
        }
        let behind = slab.get_mut(behind);
        behind.next = id;
        behind.next_arrival = arrival;
    }

    /// FIFO, or nothing waits: whether the buffer has room for the packet,
    /// marking it if need be.
    #[inline(never)]
    fn admit(&mut self, now: u64, id: PacketId, bytes: u16, end: u64, slab: &mut Slab) -> bool {
        let start = self.busy_until.max(now);
        let idle = start == now;
        let mut occupancy = u64::from(bytes);
        if self.choosing.is_none() {
            // Not at once below it, or a port at the threshold would list its wire again and again.
            if end - now <= self.limits.quiet / 8 * 7 {
                self.stop_listing();
                return true;
            }
            self.list_waiting(now, slab);
            occupancy += self.limits.waiting.bytes(self.counters.accepted_bytes);
        }
        if occupancy > self.limits.buffer && !idle {
            return false;
        }
        if occupancy > self.limits.mark_above && !self.limits.mark_at_dequeue {
            self.counters.marked_packets += u64::from(mark(&mut slab.get_mut(id).packet));
        }
        if self.choosing.is_none() {
            let before = self.counters.accepted_bytes;
            let at = start;
            self.limits.waiting.push(Start { at, before, id });
        } else if self.limits.telemetry_rate > 0 {
            let sent = self.counters.accepted_bytes - self.counters.evicted_bytes;
            let mut packet = slab.get(id).packet;
            self.write(&mut packet, now, (0, sent), &mut slab.telemetry);
            slab.get_mut(id).packet = packet;
        }
        true
    }

    /// FIFO: lists the packets that have not started by `now`, from here on.
    fn list_waiting(&mut self, now: u64, slab: &mut Slab) {
        if self.quiet > 0 {
            self.quiet = 0;
            self.list_wire(now, slab);
        }
        // Where starts are written this is called before every acceptance, so that
        // what remains at each of them is exact.
        while let Some(start) = self.limits.waiting.started_by(now) {
            if self.writes_on_start {
                self.start(start, slab);
            }
        }
    }

    /// FIFO: finds the packets on the wire that have not started by `now`.
    #[cold]
    fn list_wire(&mut self, now: u64, slab: &Slab) {
        let mut waiting = 0;
        let starts = self.on_wire(slab).filter_map(|id| {
            let slot = slab.get(id);
            let bytes = slot.packet.bytes;
            let at = slot.arrival - self.delay - self.transmission(bytes);
            let before = waiting;
            waiting += if at > now { u64::from(bytes) } else { 0 };
            (at > now).then_some(Start { at, before, id })
        });
        let starts = starts.collect::<Vec<_>>();
        let sent = self.counters.accepted_bytes - waiting;
        for start in starts {
            let before = sent + start.before;
            self.limits.waiting.push(Start { before, ..start });
        }
    }

    /// FIFO: the backlog is short; what waits does not matter for a while.
    fn stop_listing(&mut self) {
        self.quiet = self.limits.quiet;
        self.limits.waiting.clear();
    }

    /// FIFO: the first packet of those waiting starts, and something is written into it.
    fn start(&mut self, first: Start, slab: &mut Slab) {
        let accepted = self.counters.accepted_bytes;
        let waiting = self.limits.waiting.bytes(accepted);
        if self.limits.mark_at_dequeue && waiting > self.limits.mark_above {
            self.counters.marked_packets += u64::from(mark(&mut slab.get_mut(first.id).packet));
        }
        if self.limits.telemetry_rate > 0 {
            let mut packet = slab.get(first.id).packet;
            let seen = (waiting, first.before);
            self.write(&mut packet, first.at, seen, &mut slab.telemetry);
            slab.get_mut(first.id).packet = packet;
        }
    }

    /// The packet at the head of the wire reaches the far end; the next one,
    /// if any, becomes the wire's event.
    #[inline(always)]
    pub fn arrive(&mut self, slab: &mut Slab, events: &mut EventQueue) -> (PacketId, Header) {
        let id = self.head;
        if self.writes_on_start
            && let Some(start) = self.limits.waiting.take(id)
        {
            self.start(start, slab);
        }
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
            events.schedule(self.wire, Time::from_ps(next_arrival));
        }
        (id, Header { dst, hash, bytes })
    }

    /// The packet that arrives next at the far end of the wire.
    #[inline(always)]
    pub fn next_arriving(&self) -> Option<PacketId> {
        (self.head != NONE).then_some(self.head)
    }

    /// The packets on the wire, in order; of a FIFO port also those that wait.
    fn on_wire<'s>(&self, slab: &'s Slab) -> impl Iterator<Item = PacketId> + use<'s> {
        std::iter::successors(self.next_arriving(), |&id| {
            Some(slab.get(id).next).filter(|&next| next != NONE)
        })
    }
}

/// Marks an ECN-capable packet; whether it did.
fn mark(packet: &mut Packet) -> bool {
    let marks = packet.flags.has(Flags::ECT);
    packet.flags = packet.flags.with_if(Flags::CE, marks);
    marks
}
