//! Hosts: flows hand packets to their NICs, timers run out, packets arrive and
//! are answered.

use fctlab_core::{FctEnds, Time};

use super::Engine;
use super::events::Source;
use super::flows::FlowState;
use super::port::Fate;
use super::probe::Probe;
use super::slab::{PacketId, Slab};
use crate::index::{at, at_mut, prefetch};
use crate::packet::{Flags, FlowSlot, Packet, Stamp};
use crate::settings::{NO_LIMIT, Settings};
use crate::taggers::View;
use crate::transports::sender::{Ack, Transmit};

impl<P: Probe> Engine<'_, P> {
    /// Lets a flow hand packets to its NIC: as many as its window allows and
    /// its share of the NIC's queue holds.
    #[inline(always)]
    pub(super) fn pump(&mut self, slot: FlowSlot) {
        while at(&self.flows, slot)
            .in_nic
            .has_room(self.settings.nic_limit)
            && self.send_one(slot)
        {}
        self.keep_timer(slot);
    }

    /// Hands the flow's next packet to its NIC, if it may send one.
    #[inline(never)]
    fn send_one(&mut self, slot: FlowSlot) -> bool {
        let now = self.now();
        let state = at_mut(&mut self.flows, slot);
        let Some(transmit) = state.sender.poll(now, &self.settings.sender) else {
            return false;
        };
        let id = self.slab.claim();
        let packet = &mut self.slab.get_mut(id).packet;
        *packet = self.settings.data_packet::<P>(now, slot, state, transmit);
        let bytes = packet.bytes;
        state.in_network += 1;
        self.counters.data_packets += u64::from(transmit != Transmit::Probe);
        let nic = state.nics.0;
        if P::FULL {
            self.probe.on_send(now, slot, state, packet);
        }
        if P::FULL && self.settings.spaced {
            self.space(slot, nic, id, bytes);
        } else {
            self.hand_to_nic(slot, nic, id, bytes);
        }
        true
    }

    /// Gives a packet of the flow to its NIC, where it may have to wait.
    #[inline(always)]
    pub(super) fn hand_to_nic(&mut self, slot: FlowSlot, nic: u32, id: PacketId, bytes: u16) {
        let now = self.now();
        let port = at(&self.ports, nic);
        let (start, holds_back) = (port.next_start(now), port.is_choosing());
        let fate = self.hand_over(nic, id, bytes);
        if fate.is_waiting() {
            at_mut(&mut self.flows, slot).in_nic.enter();
        } else if start > now && !holds_back && fate == Fate::Sent {
            self.wait_for_turn(slot, nic, start);
        }
    }

    /// A packet of the flow waits in FIFO NIC `nic` until `start`.
    #[inline(always)]
    fn wait_for_turn(&mut self, slot: FlowSlot, nic: u32, start: Time) {
        if self.settings.nic_limit == NO_LIMIT {
            return;
        }
        at_mut(&mut self.flows, slot).in_nic.enter();
        if let Some(at) = self.turns.wait(nic, start, slot) {
            self.events.schedule(nic, at);
        }
    }

    /// A packet that waited in FIFO NIC `port` starts; its flow may hand over another.
    #[inline(always)]
    pub(super) fn on_turn(&mut self, port: u32) {
        let (slot, next) = self.turns.take(port);
        if let Some(at) = next {
            self.events.schedule(port, at);
        }
        at_mut(&mut self.flows, slot).in_nic.leave();
        self.pump(slot);
    }

    /// Makes sure that a timer event is pending no later than the deadline.
    #[inline]
    pub(super) fn keep_timer(&mut self, slot: FlowSlot) {
        let ack_due = if P::FULL {
            self.ack_due(slot)
        } else {
            Time::NEVER
        };
        let state = at_mut(&mut self.flows, slot);
        let mut deadline = state.sender.deadline();
        if P::FULL {
            deadline = deadline.min(state.wake).min(ack_due);
        }
        if deadline < state.timer {
            state.timer = deadline;
            self.events.schedule_far(self.timer_source(slot), deadline);
        }
    }

    /// The timer of a flow, or its pacer: source `number` from the first timer on.
    pub(super) fn on_timer(&mut self, number: Source) {
        let next = self.events.next_far().wrapping_sub(self.timer_source(0));
        prefetch(&self.flows, next / 2);
        let slot = number / 2;
        if number % 2 == 1 {
            return self.on_pacer(slot);
        }
        let now = self.now();
        if P::FULL && self.ack_due(slot) == now {
            self.send_delayed_ack(slot);
        }
        let state = at_mut(&mut self.flows, slot);
        if !state.active || state.timer != now {
            return; // overtaken by an earlier one, or the slot has a new flow
        }
        state.timer = Time::NEVER;
        let (expired, fed) = (state.sender.deadline() == now, state.wake == now);
        if expired {
            state.sender.on_timer(now, &self.settings.sender);
        }
        if fed {
            self.feed(slot);
        }
        if !(expired || fed) {
            return self.keep_timer(slot);
        }
        if P::FULL {
            let state = at(&self.flows, slot);
            self.probe.on_window(now, slot, state);
        }
        self.pump(slot);
    }

    /// A packet reaches a host.
    #[inline(never)]
    pub(super) fn deliver(&mut self, id: PacketId) {
        let now = self.now();
        let packet = &mut self.slab.get_mut(id).packet;
        let slot = packet.flow;
        let state = at_mut(&mut self.flows, slot);
        if P::FULL {
            self.probe.on_deliver(now, slot, state, packet);
        }
        if packet.is_ack() {
            let ack = Ack {
                cumulative: packet.cumulative(),
                block: packet.sack_block(),
                marked: packet.flags.has(Flags::CE),
                stamp: packet.stamp,
            };
            let echo = packet.telemetry();
            self.slab.remove(id);
            state.in_network -= 1;
            if P::FULL && echo != 0 {
                hear_telemetry(&mut self.slab, state, echo);
            }
            let config = &self.settings.sender;
            if P::FULL {
                state.sender.on_ack::<true>(now, &ack, config);
            } else {
                state.sender.on_ack::<false>(now, &ack, config);
            }
            if P::FULL {
                self.probe.on_window(now, slot, state);
            }
            let busy = !state.in_nic.has_room(self.settings.nic_limit);
            if P::FULL && busy && self.settings.paced {
                self.pace_anew(slot);
                return self.after_ack(slot);
            }
            if busy && !state.sender.is_done() && state.sender.deadline() >= state.timer {
                return; // Neither to send nor to schedule.
            }
            return self.after_ack(slot);
        }
        let prompt = P::FULL
            && (!state.receiver.expects(packet.seq)
                || packet.flags.has(Flags::PROBE)
                || packet.flags.has(Flags::END));
        let heard = if packet.flags.has(Flags::PROBE) {
            state.receiver.on_probe()
        } else {
            state.receiver.on_data(packet.seq)
        };
        let completes = state.receiver.distinct() == state.total && state.delivered_at.is_none();
        packet.acknowledge(heard.cumulative, heard.block, P::FULL);
        packet.hash = state.ack_hash;
        packet.dst = state.flow.src as u16;
        packet.bytes = self.settings.format.ack.get() as u16;
        let (nic, bytes) = (state.nics.1, packet.bytes);
        let delays = P::FULL && self.settings.receiving.delays();
        if P::FULL && !delays {
            self.probe.on_send(now, slot, state, packet);
        }
        if completes {
            self.on_last_byte(slot);
        }
        if delays {
            return self.delay_ack(slot, id, prompt);
        }
        self.hand_over(nic, id, bytes);
    }

    /// Every byte of the flow has reached its receiver.
    #[cold]
    fn on_last_byte(&mut self, slot: FlowSlot) {
        let now = self.now();
        self.flows[slot as usize].delivered_at = Some(now);
        if self.settings.fct_ends == FctEnds::Delivery {
            self.finish(slot);
        }
        if let Some(sender) = self.elsewhere(slot) {
            sender.delivered.push((slot, now));
        }
    }

    #[inline]
    fn after_ack(&mut self, slot: FlowSlot) {
        let state = at(&self.flows, slot);
        if !state.sender.is_done() {
            return self.pump(slot);
        }
        if state.finished_at.is_none() && self.settings.fct_ends == FctEnds::Ack {
            self.finish(slot);
        }
        if at(&self.flows, slot).connected {
            self.disconnect(slot);
        }
        self.settle_if_done(slot);
    }
}

/// An ACK of the flow brings what is in slot `echo` of the telemetry.
#[cold]
#[inline(never)]
fn hear_telemetry(slab: &mut Slab, state: &mut FlowState, echo: u32) {
    state.sender.on_telemetry(&slab.telemetry.take(echo));
}

impl Settings {
    /// The packet for what a sender wants on the wire.
    #[inline(always)]
    fn data_packet<P: Probe>(
        &self,
        now: Time,
        slot: FlowSlot,
        state: &FlowState,
        transmit: Transmit,
    ) -> Packet {
        let payload = self.format.payload.get();
        let (seq, flags) = match transmit {
            Transmit::New(seq) => (seq, Flags::NONE),
            Transmit::Again(seq) => (seq, Flags::RETRANSMISSION),
            Transmit::Probe => (state.sender.una(), Flags::PROBE),
        };
        let (alpha, available) = if self.sees_bandwidth {
            state.bandwidth(now)
        } else {
            (0.0, state.capacity)
        };
        let view = View {
            size: state.flow.size.get(),
            written: match state.sender.available() {
                some if P::FULL && some < state.total => u64::from(some) * payload,
                _ => state.flow.size.get(),
            },
            acknowledged: u64::from(state.sender.una()) * payload,
            offset: u64::from(seq) * payload,
            alpha,
            capacity: state.capacity,
            class: state.flow.class,
            available,
        };
        let (bytes, end) = match transmit {
            Transmit::Probe => (self.format.ack.get() as u16, Flags::NONE),
            _ if seq + 1 == state.total => (state.last_bytes, Flags::END),
            _ => (self.wire.full() as u16, Flags::NONE),
        };
        Packet {
            flow: slot,
            hash: state.flow.path_hash,
            tag: self.tagger.tag(&view),
            seq,
            telemetry_or_sack_end: 0,
            queued_after_or_cumulative: 0,
            stamp: Stamp::at(now),
            dst: state.flow.dst as u16,
            bytes,
            flags: flags.with(end).with_if(Flags::ECT, self.rule.ecn()),
            class: state.flow.class as u8,
        }
    }
}
