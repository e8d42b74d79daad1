//! ACKs that wait at the receiver: one speaks for several packets, until enough have come, a mark
//! differs or time is over. Where a mark differs there are two ACKs, for what came before and for the
//! packet itself (RFC 8257, section 3.2). An ACK that is ready may still go a moment later, by chance.
//!
//! An ACK waits as the packet that it will be, outside of every port. The next one takes its place
//! and its time stamp, which is that of the earliest packet that it speaks for (RFC 7323, section 4.3).

use fctlab_core::random::{mix, unit_interval};
use fctlab_core::{Duration, Time};

use super::Engine;
use super::probe::Probe;
use super::slab::PacketId;
use crate::index::{at, at_mut};
use crate::packet::{Flags, FlowSlot};

/// What the receiver of one flow keeps back.
#[derive(Clone, Copy)]
pub(super) struct Delayed {
    ack: Option<PacketId>,
    /// Packets that it speaks for.
    packets: u32,
    /// When it goes at the latest; `NEVER` without one.
    due: Time,
    /// Whether it speaks for no more packets, and goes then.
    ready: bool,
    /// ACKs that have gone.
    gone: u32,
    /// Whether the last packet was marked.
    marked: bool,
}

impl Default for Delayed {
    fn default() -> Self {
        Delayed {
            ack: None,
            packets: 0,
            due: Time::NEVER,
            ready: false,
            gone: 0,
            marked: false,
        }
    }
}

impl<P: Probe> Engine<'_, P> {
    /// A flow starts: nothing of it waits.
    #[cold]
    pub(super) fn start_delaying(&mut self, slot: FlowSlot) {
        let slots = self.delayed.len().max(slot as usize + 1);
        self.delayed.resize(slots, Delayed::default());
        self.delayed[slot as usize] = Delayed::default();
    }

    /// When the receiver's ACK goes at the latest; `NEVER` if none waits.
    pub(super) fn ack_due(&self, slot: FlowSlot) -> Time {
        self.delayed
            .get(slot as usize)
            .map_or(Time::NEVER, |delayed| delayed.due)
    }

    /// An ACK is ready to go. It waits unless it is `prompt`.
    #[cold]
    #[inline(never)]
    pub(super) fn delay_ack(&mut self, slot: FlowSlot, id: PacketId, prompt: bool) {
        let now = self.now();
        let marked = self.slab.get_mut(id).packet.flags.has(Flags::CE);
        let delayed = at_mut(&mut self.delayed, slot);
        let differs = std::mem::replace(&mut delayed.marked, marked) != marked;
        if differs || delayed.ready {
            self.send_delayed_ack(slot);
        } else if let Some(before) = delayed.ack.take() {
            self.slab.get_mut(id).packet.stamp = self.slab.get_mut(before).packet.stamp;
            self.slab.remove(before);
            at_mut(&mut self.flows, slot).in_network -= 1;
        }
        let receiving = &self.settings.receiving;
        let delayed = at_mut(&mut self.delayed, slot);
        delayed.packets += 1;
        delayed.ack = Some(id);
        let ready = prompt
            || differs
            || delayed.packets >= receiving.packets
            || delayed.gone < receiving.at_once;
        let wait = if ready {
            self.by_chance(slot, receiving.jitter)
        } else {
            receiving.delay
        };
        if wait == Duration::ZERO {
            return self.send_delayed_ack(slot);
        }
        let delayed = at_mut(&mut self.delayed, slot);
        delayed.ready = ready;
        delayed.due = delayed.due.min(now + wait);
        self.keep_timer(slot);
    }

    /// A time up to `most`: the next one of the flow.
    fn by_chance(&self, slot: FlowSlot, most: Duration) -> Duration {
        let flow = u64::from(at(&self.flows, slot).ack_hash) << 32;
        let bits = mix(flow | u64::from(at(&self.delayed, slot).gone));
        Duration::from_ps((most.ps() as f64 * unit_interval(bits)) as u64)
    }

    /// The ACK that waits goes.
    pub(super) fn send_delayed_ack(&mut self, slot: FlowSlot) {
        let delayed = at_mut(&mut self.delayed, slot);
        let Some(id) = delayed.ack.take() else { return };
        delayed.packets = 0;
        delayed.due = Time::NEVER;
        delayed.ready = false;
        delayed.gone = delayed.gone.saturating_add(1);
        let now = self.now();
        let state = at(&self.flows, slot);
        let packet = &self.slab.get_mut(id).packet;
        let (nic, bytes) = (state.nics.1, packet.bytes);
        self.probe.on_send(now, slot, state, packet);
        self.hand_over(nic, id, bytes);
    }
}
