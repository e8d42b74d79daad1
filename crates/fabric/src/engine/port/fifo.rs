//! The half of a FIFO port: packets go onto the wire when they arrive, and what waits is listed only where a
//! drop or a mark is possible, or something is written when a transmission starts.

use super::waiting::{Start, Waiting};
use super::wire::Wire;
use super::{Limits, mark, write_telemetry};
use crate::engine::slab::{PacketId, Slab};

/// What a FIFO port knows of packets that wait.
pub(super) struct Fifo {
    pub(super) limits: Limits,
    /// A backlog (in time) up to which neither a drop nor a mark is possible.
    pub(super) quiet: u64,
    /// What waits, while that is known.
    pub(super) waiting: Waiting,
}

impl Fifo {
    /// Whether the buffer has room for the packet, marking it if need be.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        wire: &mut Wire,
        now: u64,
        id: PacketId,
        bytes: u16,
        end: u64,
        slab: &mut Slab,
    ) -> bool {
        let start = wire.busy_until.max(now);
        // Not at once below it, or a port at the threshold would list its wire again and again.
        if end - now <= self.quiet / 8 * 7 {
            self.stop_listing(wire);
            return true;
        }
        self.list_waiting(wire, now, slab);
        let before = wire.counters.accepted_bytes;
        let occupancy = u64::from(bytes) + self.waiting.bytes(before);
        if occupancy > self.limits.buffer && start != now {
            return false;
        }
        if occupancy > self.limits.mark_above && !self.limits.mark_at_dequeue {
            wire.counters.marked_packets += u64::from(mark(&mut slab.get_mut(id).packet));
        }
        let at = start;
        self.waiting.push(Start { at, before, id });
        true
    }

    /// Lists the packets that have not started by `now`, from here on.
    pub(super) fn list_waiting(&mut self, wire: &mut Wire, now: u64, slab: &mut Slab) {
        if wire.quiet > 0 {
            wire.quiet = 0;
            self.list_wire(wire, now, slab);
        }
        // Where starts are written this is called before every acceptance, so that
        // what remains at each of them is exact.
        while let Some(start) = self.waiting.started_by(now) {
            if wire.writes_on_start {
                self.start(wire, start, slab);
            }
        }
    }

    /// Finds the packets on the wire that have not started by `now`.
    #[cold]
    fn list_wire(&mut self, wire: &Wire, now: u64, slab: &Slab) {
        let mut waiting = 0;
        let starts = wire.packets(slab).filter_map(|id| {
            let slot = slab.get(id);
            let bytes = slot.packet.bytes;
            let at = slot.arrival - wire.delay - wire.transmission(bytes);
            let before = waiting;
            waiting += if at > now { u64::from(bytes) } else { 0 };
            (at > now).then_some(Start { at, before, id })
        });
        let starts = starts.collect::<Vec<_>>();
        let sent = wire.counters.accepted_bytes - waiting;
        for start in starts {
            let before = sent + start.before;
            self.waiting.push(Start { before, ..start });
        }
    }

    /// The backlog is short; what waits does not matter for a while.
    fn stop_listing(&mut self, wire: &mut Wire) {
        wire.quiet = self.quiet;
        self.waiting.clear();
    }

    /// The packet at the head of the wire has started, if that is not known yet.
    pub(super) fn start_if_waiting(&mut self, wire: &mut Wire, slab: &mut Slab) {
        if let Some(id) = wire.next_arriving()
            && let Some(start) = self.waiting.take(id)
        {
            self.start(wire, start, slab);
        }
    }

    /// The first packet of those waiting starts, and something is written into it.
    fn start(&mut self, wire: &mut Wire, first: Start, slab: &mut Slab) {
        let waiting = self.waiting.bytes(wire.counters.accepted_bytes);
        if self.limits.mark_at_dequeue && waiting > self.limits.mark_above {
            wire.counters.marked_packets += u64::from(mark(&mut slab.get_mut(first.id).packet));
        }
        let rate = self.limits.telemetry_rate;
        if rate > 0 {
            let mut packet = slab.get(first.id).packet;
            let (seen, telemetry) = ((waiting, first.before), &mut slab.telemetry);
            write_telemetry(
                wire.transmitter,
                rate,
                &mut packet,
                first.at,
                seen,
                telemetry,
            );
            slab.get_mut(first.id).packet = packet;
        }
    }
}
