//! A port and the wire behind it.
//!
//! A packet is queued, transmitted and propagated. A port is a wire and one of two halves before it:
//!
//! * The **wire** (`wire`): a list of packets with the instants at which they reach the far end, in order,
//!   since propagation is constant. Only its head is an event. `busy_until` is the end of the last transmission.
//! * The **FIFO** half (`fifo`) decides everything on arrival: the packet will start at
//!   `busy_until`, so it goes onto the wire at once, with no event at the end
//!   of a transmission. What is *waiting* (not yet started) is listed only
//!   while the backlog is long enough that a drop or a mark is possible
//!   (`waiting`).
//! * The **choosing** half (`choosing`; any other discipline) holds packets back in its
//!   queue while anything waits, and chooses at the end of a transmission, which is an event
//!   at hosts only.
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
mod fifo;
mod look;
mod waiting;
mod wire;

use fctlab_core::units::PathScale;
use fctlab_core::{Duration, Rate, SpecError, Time};

use self::choosing::Choosing;
use self::fifo::Fifo;
use self::waiting::Waiting;
use self::wire::Wire;
use super::events::EventQueue;
use super::slab::{PacketId, Slab};
use crate::disciplines::{DropPolicy, QueueSpec, Site};
use crate::network::{Fabric, Link};
use crate::packet::{Flags, Packet};
use crate::scheme::{EcnAt, EcnScope, Place, PortSpec};
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

/// A port: two cache lines.
#[repr(C, align(128))]
pub struct Port {
    wire: Wire,
    half: Half,
}

const _: () = assert!(size_of::<Port>() == 128);

/// What decides when packets go onto the wire.
enum Half {
    Fifo(Box<Fifo>),
    Choosing(Box<Choosing>),
}

/// What matters only when the backlog is long enough for a drop or a mark;
/// apart, so that the rest of a port fits two cache lines.
#[derive(Clone, Copy)]
struct Limits {
    buffer: u64,
    mark_above: u64,
    mark_at_dequeue: bool,
    /// Bits per second that telemetry reports; 0 when none is written.
    telemetry_rate: u64,
}

/// Instead of a switch: a host.
pub const HOST: u32 = u32::MAX;
/// Or what is simulated elsewhere.
pub const AWAY: u32 = HOST - 1;

/// Builds a port that would have the specification `spec`, to see whether it
/// can: one of a host (`nic`), or of a switch.
///
/// # Errors
/// Parameters that do not fit each other.
pub(crate) fn check(
    place: &Place<'_>,
    fabric: &Fabric,
    scale: &PathScale,
) -> Result<(), SpecError> {
    place
        .rates(fabric)
        .into_iter()
        .try_for_each(|(_, id)| Port::of(place.port, fabric, id, scale).map(|_| ()))
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

    /// Port number `numbers.0` of `numbers.1`, which feeds `link`; nodes below `hosts`
    /// are hosts. `choosing`: it holds packets back even if it is FIFO.
    ///
    /// # Errors
    /// Parameters that do not fit each other, with the path of the key.
    pub fn new(
        spec: &PortSpec,
        link: &Link,
        hosts: u32,
        numbers: (u32, u32),
        choosing: bool,
        scale: &PathScale,
        site: &Site<'_>,
    ) -> Result<Self, SpecError> {
        spec.check_keys(link.rate, scale)?;
        let fifo = matches!(spec.discipline, QueueSpec::Fifo(_));
        let buffer = spec.buffer.bytes_at(link.rate, scale);
        let queue = spec
            .discipline
            .build(site)
            .map_err(|e| e.under("discipline"))?;
        let by_departures = spec.marks_by_departures();
        // The end of a transmission is known when it starts, no earlier.
        let choosing = choosing || by_departures || link.schedule.is_some();
        let threshold = spec.ecn_threshold;
        let threshold = threshold.map_or(u64::MAX, |t| t.bytes_at(link.rate, scale));
        let mark_above = if by_departures { u64::MAX } else { threshold };
        let limits = Limits {
            buffer,
            mark_above,
            mark_at_dequeue: mark_above != u64::MAX && spec.ecn_at == EcnAt::Dequeue,
            telemetry_rate: 0,
        };
        let quiet_bytes = if limits.mark_at_dequeue {
            0
        } else {
            buffer.min(mark_above)
        };
        // Rounded down: a shorter quiet time is always correct.
        let quiet = link.rate.transmission_time(quiet_bytes).ps();
        let quiet = quiet.saturating_sub(1);
        let half = if choosing || !fifo {
            Half::Choosing(Box::new(Choosing {
                limits,
                queue,
                waiting_bytes: 0,
                pending: false,
                late: false,
                chosen_until: 0,
                choices: 0,
                acts_on_start: by_departures || limits.mark_at_dequeue || link.schedule.is_some(),
                observes: spec.discipline.observes(),
                evicts: spec.drop != DropPolicy::Tail,
                per_queue_ecn: spec.ecn_scope == EcnScope::Queue,
                departed: by_departures.then_some(0),
                mark_after: u32::try_from(threshold / scale.packet_bytes).unwrap_or(u32::MAX),
                schedule: link.schedule.clone(),
            }))
        } else {
            Half::Fifo(Box::new(Fifo {
                limits,
                quiet,
                waiting: Waiting::default(),
            }))
        };
        let mut wire = Wire::new(link, hosts, numbers);
        wire.quiet = quiet;
        wire.direct = !spec.discipline.remembers() && link.schedule.is_none();
        wire.writes_on_start = limits.mark_at_dequeue && matches!(half, Half::Fifo(_));
        wire.acts_on_arrival = wire.writes_on_start;
        Ok(Port { wire, half })
    }

    /// The far end of port `number` of `fabric`, which is simulated elsewhere: a wire from which packets arrive.
    pub fn far_end(fabric: &Fabric, number: u32) -> Self {
        let link = &fabric.links[number as usize];
        let limits = Limits {
            buffer: 0,
            mark_above: 0,
            mark_at_dequeue: false,
            telemetry_rate: 0,
        };
        Port {
            wire: Wire::new(link, fabric.hosts, (number, fabric.links.len() as u32)),
            half: Half::Fifo(Box::new(Fifo {
                limits,
                quiet: 0,
                waiting: Waiting::default(),
            })),
        }
    }

    /// The far end of the wire is simulated elsewhere: packets arrive `earlier`, no more than the link's delay.
    pub fn leads_away(&mut self, earlier: Duration) {
        self.wire.leads_away(earlier.ps());
    }

    /// At the far end: packet `id` will arrive at `at`, after those before it.
    pub fn come_in(&mut self, at: Time, id: PacketId, slab: &mut Slab, events: &mut EventQueue) {
        self.wire.put_until(at.ps(), id, slab, events);
    }

    /// From now on data packets carry what this port of `rate` sees.
    pub fn write_telemetry(&mut self, rate: Rate) {
        self.wire.quiet = 0;
        let limits = match &mut self.half {
            Half::Fifo(fifo) => {
                fifo.quiet = 0;
                self.wire.writes_on_start = true;
                self.wire.acts_on_arrival = true;
                &mut fifo.limits
            }
            Half::Choosing(choosing) => {
                choosing.acts_on_start = true;
                &mut choosing.limits
            }
        };
        limits.telemetry_rate = rate.bps();
    }

    /// From now on the end of a choosing port's transmission is no event. Not for a port that writes telemetry or
    /// is recorded: somebody is told when a transmission starts.
    pub fn choose_late(&mut self) {
        if let Half::Choosing(choosing) = &mut self.half
            && choosing.schedule.is_none()
        {
            choosing.late = true;
            self.wire.acts_on_arrival = true;
        }
    }

    /// A port that chooses late makes the choices that have fallen due by `now`; how many it has made in all.
    pub fn catch_up(&mut self, now: Time, slab: &mut Slab, events: &mut EventQueue) -> u64 {
        match &mut self.half {
            Half::Choosing(choosing) if choosing.late => {
                choosing.catch_up(&mut self.wire, now, slab, events);
                choosing.choices
            }
            _ => 0,
        }
    }

    /// Index of the switch at the far end, [`HOST`] or [`AWAY`].
    #[inline(always)]
    pub fn switch(&self) -> u32 {
        self.wire.switch
    }

    /// What was counted.
    #[inline]
    pub fn counters(&self) -> &PortCounters {
        &self.wire.counters
    }

    /// When a packet accepted now would start, if the port holds none back.
    #[inline(always)]
    pub fn next_start(&self, now: Time) -> Time {
        Time::from_ps(self.wire.busy_until).max(now)
    }

    /// Whether packets are held back while the port is busy.
    #[inline(always)]
    pub fn is_choosing(&self) -> bool {
        matches!(self.half, Half::Choosing(_))
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
        let wire = &self.wire;
        let start = wire.busy_until.max(ps);
        if self.is_choosing() && (wire.held_back > 0 || start > ps || !wire.direct) {
            return self.hold_back(now, id, bytes, slab, events, evicted);
        }
        self.send(ps, start, id, bytes, slab, events)
    }

    /// Puts a packet that will start at `start` onto the wire, if the buffer has room.
    #[inline(always)]
    fn send(
        &mut self,
        ps: u64,
        start: u64,
        id: PacketId,
        bytes: u16,
        slab: &mut Slab,
        events: &mut EventQueue,
    ) -> Fate {
        let wire = &self.wire;
        let end = start + wire.transmission(bytes);
        if end - ps > wire.quiet && !self.admit(ps, id, bytes, end, slab) {
            self.wire.counters.dropped_packets += 1;
            return Fate::Dropped;
        }
        let wire = &mut self.wire;
        wire.busy_until = end;
        wire.counters.accepted_packets += 1;
        wire.counters.accepted_bytes += u64::from(bytes);
        wire.put(id, slab, events);
        Fate::Sent
    }

    #[inline(never)]
    fn hold_back(
        &mut self,
        now: Time,
        id: PacketId,
        bytes: u16,
        slab: &mut Slab,
        events: &mut EventQueue,
        evicted: &mut Vec<Packet>,
    ) -> Fate {
        let Half::Choosing(choosing) = &mut self.half else {
            unreachable!("only choosing ports")
        };
        let wire = &mut self.wire;
        if choosing.late {
            choosing.catch_up(wire, now, slab, events);
        }
        if wire.held_back == 0 && wire.busy_until <= now.ps() {
            if wire.direct {
                return self.send(now.ps(), now.ps(), id, bytes, slab, events);
            }
            return choosing.pass(wire, now, id, slab, events);
        }
        choosing.accept(wire, now, id, slab, events, evicted)
    }

    /// FIFO, or nothing waits: whether the buffer has room for the packet,
    /// marking it if need be.
    #[inline(never)]
    fn admit(&mut self, now: u64, id: PacketId, bytes: u16, end: u64, slab: &mut Slab) -> bool {
        match &mut self.half {
            Half::Fifo(fifo) => fifo.admit(&mut self.wire, now, id, bytes, end, slab),
            Half::Choosing(choosing) => {
                choosing.admit_at_once(&mut self.wire, now, id, slab);
                true
            }
        }
    }

    /// The packet at the head of the wire reaches the far end; the next one,
    /// if any, becomes the wire's event.
    #[inline(always)]
    pub fn arrive(&mut self, slab: &mut Slab, events: &mut EventQueue) -> (PacketId, Header) {
        if self.wire.acts_on_arrival {
            match &mut self.half {
                Half::Fifo(fifo) => fifo.start_if_waiting(&mut self.wire, slab),
                Half::Choosing(half) => half.catch_up(&mut self.wire, events.now(), slab, events),
            }
        }
        self.wire.arrive(slab, events)
    }

    /// The packet that was put onto the wire last, if it is still there.
    #[inline(always)]
    pub fn last_sent(&self) -> Option<PacketId> {
        self.wire.last_sent()
    }

    /// The packet that arrives next at the far end of the wire.
    #[inline(always)]
    pub fn next_arriving(&self) -> Option<PacketId> {
        self.wire.next_arriving()
    }

    /// Choosing ports: a transmission has ended while packets wait; the next
    /// one starts. Returns it, unless everything waiting has been evicted.
    pub fn transmission_ended(
        &mut self,
        now: Time,
        slab: &mut Slab,
        events: &mut EventQueue,
    ) -> Option<PacketId> {
        let Half::Choosing(choosing) = &mut self.half else {
            unreachable!("only choosing ports")
        };
        choosing.transmission_ended(&mut self.wire, now, slab, events)
    }
}

/// Writes into a data packet that port `port` of `rate` starts to send at `at`, `queue_bytes` waiting and
/// `sent_bytes` sent before it.
#[inline(never)]
fn write_telemetry(
    port: u32,
    rate: u64,
    packet: &mut Packet,
    at: u64,
    (queue_bytes, sent_bytes): (u64, u64),
    telemetry: &mut Telemetry,
) {
    if !packet.collects_telemetry() {
        return;
    }
    let at = Time::from_ps(at);
    let hop = Hop {
        port,
        rate,
        at,
        queue_bytes,
        sent_bytes,
    };
    packet.set_telemetry(telemetry.record(packet.telemetry(), hop));
}

/// Marks an ECN-capable packet; whether it did.
fn mark(packet: &mut Packet) -> bool {
    let marks = packet.flags.has(Flags::ECT);
    packet.flags = packet.flags.with_if(Flags::CE, marks);
    marks
}
