//! Pacing: a flow whose transport states a rate hands its next packet over only
//! when the one before it would have left at that rate.
//!
//! The next packet is due at *start of the last one + its bytes / rate*, with
//! the rate as it is when the time comes: a rate that has fallen since holds the
//! flow longer, one that has risen lets it go sooner. No credit is saved up
//! while a flow has nothing to send. Each paced flow that waits has one event;
//! a flow that is not paced costs nothing here.

use fctlab_core::units::PS_PER_S;
use fctlab_core::{Duration, Time};

use super::Engine;
use super::events::Source;
use super::probe::Probe;
use super::slab::PacketId;
use crate::index::at_mut;
use crate::packet::FlowSlot;

/// What pacing remembers of a flow.
#[derive(Clone, Copy)]
pub(super) struct Pacer {
    /// The last packet: when its transmission started, and its bytes.
    start: Time,
    bytes: u16,
    /// The instant of the flow's event that counts; `NEVER` without one.
    event: Time,
}

impl Default for Pacer {
    fn default() -> Self {
        Pacer {
            start: Time::ZERO,
            bytes: 0,
            event: Time::NEVER,
        }
    }
}

impl Pacer {
    /// When the next packet may start at `rate` bits/s.
    fn due(&self, rate: f64) -> Time {
        let ps = f64::from(self.bytes) * (8 * PS_PER_S) as f64 / rate;
        self.start + Duration::from_ps(ps.ceil() as u64)
    }
}

impl<P: Probe> Engine<'_, P> {
    /// Makes room for the pacer of a flow.
    #[cold]
    pub(super) fn grow_pacers(&mut self, slot: FlowSlot) {
        let sources = self.pacer_source(slot) as usize + 1;
        self.events.grow(sources);
        let slots = self.pacers.len().max(slot as usize + 1);
        self.pacers.resize(slots, Pacer::default());
    }

    fn pacer_source(&self, slot: FlowSlot) -> Source {
        self.timer_source(slot) + 1
    }

    fn due(&self, slot: FlowSlot) -> Time {
        let rate = self.flows[slot as usize].sender.pacing_rate();
        self.pacers[slot as usize].due(rate)
    }

    fn hold_until(&mut self, slot: FlowSlot, due: Time) {
        self.pacers[slot as usize].event = due;
        self.events.schedule(self.pacer_source(slot), due);
    }

    /// Gives a packet to its NIC by way of the shaper, if there is one; the next
    /// one of a paced flow has to wait.
    #[cold]
    #[inline(never)]
    pub(super) fn space(&mut self, slot: FlowSlot, nic: u32, id: PacketId, bytes: u16) {
        match self.shape(slot, id, bytes) {
            None => self.enter_nic(slot, nic, id, bytes),
            Some(at) if self.settings.paced => self.pace(slot, at, bytes),
            Some(_) => {}
        }
    }

    /// Gives a packet to its NIC. Pacing makes a flow wait longer than its turn
    /// at a FIFO NIC would.
    pub(super) fn enter_nic(&mut self, slot: FlowSlot, nic: u32, id: PacketId, bytes: u16) {
        if !self.settings.paced {
            return self.hand_to_nic(slot, nic, id, bytes);
        }
        let start = self.ports[nic as usize].next_start(self.now());
        if self.hand_over(nic, id, bytes).is_waiting() {
            at_mut(&mut self.flows, slot).in_nic.enter();
        }
        self.pace(slot, start, bytes);
    }

    /// A packet of a paced flow starts at `start`: the next one has to wait.
    #[inline(never)]
    pub(super) fn pace(&mut self, slot: FlowSlot, start: Time, bytes: u16) {
        let pacer = at_mut(&mut self.pacers, slot);
        pacer.start = start;
        pacer.bytes = bytes;
        if pacer.event == Time::NEVER {
            self.hold_until(slot, self.due(slot));
            at_mut(&mut self.flows, slot).in_nic.hold_back();
        }
    }

    /// The rate may have changed: a flow that is held back too long may go sooner.
    #[cold]
    #[inline(never)]
    pub(super) fn pace_anew(&mut self, slot: FlowSlot) {
        let (event, due) = (self.pacers[slot as usize].event, self.due(slot));
        if event != Time::NEVER && due < event {
            self.let_go(slot);
            if due > self.now() {
                self.hold_until(slot, due);
                self.flows[slot as usize].in_nic.hold_back();
            }
        }
    }

    /// The flow is not held back any more.
    pub(super) fn let_go(&mut self, slot: FlowSlot) {
        let event = std::mem::replace(&mut self.pacers[slot as usize].event, Time::NEVER);
        if event != Time::NEVER {
            self.events.cancel(self.pacer_source(slot), event);
        }
        self.flows[slot as usize].in_nic.let_go();
    }

    /// The event of a paced flow.
    #[inline(never)]
    pub(super) fn on_pacer(&mut self, slot: FlowSlot) {
        let now = self.now();
        if self.pacers[slot as usize].event != now {
            return; // It was far, and has been overtaken.
        }
        let due = self.due(slot);
        if due > now {
            return self.hold_until(slot, due);
        }
        self.pacers[slot as usize].event = Time::NEVER;
        self.flows[slot as usize].in_nic.let_go();
        self.pump(slot);
    }
}
