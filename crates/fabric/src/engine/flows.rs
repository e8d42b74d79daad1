//! Flows come and go: the table of those in progress, and the records of those
//! that are done. Slots are used again once a flow is done and none of its
//! packets is left in the network (`windows`), so memory follows the flows in flight.

use std::sync::Arc;

use fctlab_core::random::mix;
use fctlab_core::units::PathScale;
use fctlab_core::{Duration, Time};
use fctlab_workload::Flow;

use super::Engine;
use super::connections::Found;
use super::feed::Feed;
use super::probe::Probe;
use crate::index::{at, at_mut};
use crate::network::capacity::Schedule;
use crate::packet::FlowSlot;
use crate::records::{Fct, Record, Unfinished};
use crate::settings::NO_LIMIT;
use crate::transports::receiver::Receiver;
use crate::transports::sender::Sender;

/// How many data packets of a flow wait in its NIC, and whether pacing holds it back: in one number, so that
/// who asks whether it may hand over another has to look at nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InNic(u32);

impl InNic {
    /// No limit is above it.
    const HELD_BACK: u32 = NO_LIMIT;

    #[inline(always)]
    pub(super) fn enter(&mut self) {
        self.0 += 1;
    }
    #[inline(always)]
    pub(super) fn leave(&mut self) {
        self.0 -= 1;
    }
    pub(super) fn hold_back(&mut self) {
        self.0 |= InNic::HELD_BACK;
    }
    pub(super) fn let_go(&mut self) {
        self.0 &= !InNic::HELD_BACK;
    }
    /// Whether the flow may hand over another where `limit` may wait, at most [`NO_LIMIT`].
    #[inline(always)]
    pub(super) fn has_room(self, limit: u32) -> bool {
        self.0 < limit
    }
}

/// Everything about one flow in progress.
pub struct FlowState {
    /// The flow itself.
    pub flow: Flow,
    /// Its sending end.
    pub sender: Sender,
    pub(super) receiver: Receiver,
    /// Packets in the flow, and bytes of the last one on the wire.
    pub(super) total: u32,
    pub(super) last_bytes: u16,
    pub(super) ack_hash: u32,
    /// The ports of the hosts that send and receive.
    pub(super) nics: (u32, u32),
    /// Bits per second of the sending host's link, and what is available of it.
    pub(super) capacity: f64,
    pub(super) schedule: Option<Arc<Schedule>>,
    /// Its packets (data, probes and ACKs) in ports and on wires.
    pub(super) in_network: u32,
    /// Its data packets waiting in its NIC.
    pub(super) in_nic: InNic,
    /// The instant of its timer event that counts; `NEVER` without one.
    pub(super) timer: Time,
    /// When its next packet becomes available; `NEVER` when all are.
    pub(super) wake: Time,
    pub(super) feed: Option<Box<Feed>>,
    /// When the last byte reached the receiver.
    pub(super) delivered_at: Option<Time>,
    /// When the flow finished, by the scenario's definition.
    pub(super) finished_at: Option<Time>,
    /// Whether it has been measured: it started inside the window.
    pub(super) measured: bool,
    /// Whether it has a connection that the next flow may use.
    pub(super) connected: bool,
    pub(super) active: bool,
}

impl FlowState {
    /// Packets that have reached the receiver, each counted once.
    pub fn delivered_packets(&self) -> u32 {
        self.receiver.distinct()
    }
    /// Packets in the flow.
    pub fn total_packets(&self) -> u32 {
        self.total
    }
    /// What taggers that look at it are told of the bandwidth: the transport's
    /// alpha, 0 without one, and what is available of the host's link.
    pub(super) fn bandwidth(&self, now: Time) -> (f64, f64) {
        let available = match &self.schedule {
            Some(schedule) => schedule.rate(now) as f64,
            None => self.capacity,
        };
        (self.sender.alpha().unwrap_or(0.0), available)
    }
    /// Whether the slot holds a flow.
    pub fn is_active(&self) -> bool {
        self.active
    }
}

impl<P: Probe> Engine<'_, P> {
    pub(super) fn fetch_flow(&mut self) {
        self.next_flow = self.traffic.next();
        if let Some(flow) = &self.next_flow {
            self.events.schedule_far(self.flow_source(), flow.start);
        }
    }

    pub(super) fn on_flow_start(&mut self) {
        let Some(flow) = self.next_flow.take() else {
            return;
        };
        self.fetch_flow();
        let (from, until) = self.settings.window;
        let measured = flow.start >= from && flow.start < until;
        let slot = self.free.pop().unwrap_or(self.slots);
        self.slots = self.slots.max(slot + 1);
        let (sends, receives) = self.place(slot, &flow);
        if sends || receives || slot as usize == self.flows.len() {
            let state = self.state_of(flow, measured, sends);
            match self.flows.get_mut(slot as usize) {
                Some(place) => *place = state,
                None => self.flows.push(state),
            }
        }
        self.counters.flows_started += 1;
        self.in_flight += 1;
        match &mut self.across {
            Some(across) => across.starts.push(self.events.now()),
            None => self.in_progress.start(),
        }
        if sends {
            self.measured_open += i64::from(measured);
            self.start(slot);
        }
    }

    /// A flow starts here.
    fn start(&mut self, slot: FlowSlot) {
        if self.settings.paced {
            self.grow_pacers(slot);
        }
        if self.settings.receiving.delays() {
            self.start_delaying(slot);
        }
        if let Some(shaper) = &mut self.shaper {
            shaper.start(slot);
        }
        if P::FULL {
            self.probe
                .on_flow_start(self.now(), slot, at(&self.flows, slot));
        }
        self.start_feed(slot);
        self.pump(slot);
    }

    /// What a flow is at its start; `sends`: it does so here.
    fn state_of(&mut self, flow: Flow, measured: bool, sends: bool) -> FlowState {
        let total = self.settings.format.packets(flow.size) as u32;
        let payload = self.settings.format.payload.get();
        let last = flow.size.get() - u64::from(total - 1) * payload;
        let nic = self.fabric.nics[flow.src as usize];
        let line_rate = self.fabric.links[nic as usize].rate;
        let scale = PathScale {
            host_rate: line_rate,
            ..self.settings.scale
        };
        let initial_window = self.settings.sender.initial_window;
        let rule = self.settings.rule.start(initial_window, &scale);
        let mut sender = Sender::new(total, rule, &self.settings.sender);
        let persistent = self.settings.sender.persistent;
        let found = if persistent && sends {
            self.connections.take(&flow)
        } else {
            Found::New
        };
        match found {
            Found::New if self.settings.sender.handshake => sender.open(),
            Found::New => {}
            Found::Idle(kept) => sender.resume(*kept, &self.settings.sender),
            Found::Closed => sender.open(),
        }
        FlowState {
            sender,
            receiver: Receiver::default(),
            total,
            last_bytes: (last + self.settings.wire.header.get()) as u16,
            ack_hash: mix(u64::from(flow.path_hash)) as u32,
            nics: (nic, self.fabric.nics[flow.dst as usize]),
            capacity: line_rate.bps() as f64,
            schedule: self.fabric.links[nic as usize].schedule.clone(),
            in_network: 0,
            in_nic: InNic::default(),
            timer: Time::NEVER,
            wake: Time::NEVER,
            feed: None,
            delivered_at: None,
            finished_at: None,
            measured,
            connected: persistent,
            active: sends,
            flow,
        }
    }

    /// The flow has finished, by the scenario's definition.
    pub(super) fn finish(&mut self, slot: FlowSlot) {
        let now = self.now();
        let state = at_mut(&mut self.flows, slot);
        state.finished_at = Some(now);
        self.measured_open -= i64::from(state.measured);
        match &mut self.across {
            Some(across) => across.finishes.push(now),
            None => self.in_progress.finish(),
        }
        self.look_after_measured();
    }

    /// All of the flow is acknowledged: the next one may use its connection.
    #[cold]
    pub(super) fn disconnect(&mut self, slot: FlowSlot) {
        let state = at_mut(&mut self.flows, slot);
        state.connected = false;
        let kept = state.sender.keep(&self.settings.sender);
        self.connections.give_back(&state.flow, kept);
    }

    /// What is known of the flow at `now`.
    pub(super) fn record(&mut self, slot: FlowSlot, now: Time) -> Record {
        let state = at(&self.flows, slot);
        self.counters.retransmissions += u64::from(state.sender.retransmissions());
        self.counters.timeouts += u64::from(state.sender.timeouts());
        let flow = state.flow;
        let fct = match state.finished_at {
            Some(at) => Fct::Finished(at.since(flow.start)),
            None => {
                let why = if state.delivered_at.is_some() {
                    Unfinished::WaitingForAck
                } else if state.sender.is_probing(&self.settings.sender) {
                    Unfinished::Probing
                } else if state.sender.is_idle() {
                    Unfinished::WaitingForData
                } else if state.in_network == 0 && state.in_nic == InNic::default() {
                    Unfinished::WaitingForTimeout
                } else {
                    Unfinished::Sending
                };
                Fct::Unfinished(now.since(flow.start), why)
            }
        };
        Record {
            flow,
            fct,
            ideal: match &state.feed {
                Some(feed) => feed.ideal(&flow),
                None => self.ideal.fct(self.fabric, flow.src, flow.dst, flow.size),
            },
            source_delay: match &self.shaper {
                Some(shaper) => shaper.delay(slot, now),
                None => Duration::ZERO,
            },
            measured: state.measured,
            retransmissions: state.sender.retransmissions(),
            timeouts: state.sender.timeouts(),
        }
    }
}
