//! The engine: one run of one scenario, on one thread.
//!
//! The life of a packet: a flow's [`Sender`] says what to send
//! ([`pump`](Engine::pump)), the tagger writes the header, the NIC's port
//! takes it in; it arrives at a switch ([`on_arrival`](Engine::on_arrival)),
//! the routes name the next port, that port takes it in, and so on until a
//! host receives it: data become an ACK, an ACK goes to the sender, which may
//! send more.
//!
//! Flows live in a table whose slots are used again once a flow is done and
//! none of its packets is left in the network, so memory follows the flows in
//! flight.

pub mod events;
pub mod index;
pub mod port;
pub mod slab;
mod turns;

use std::ops::ControlFlow;

use fctlab_core::random::mix;
use fctlab_core::units::PathScale;
use fctlab_core::{PacketFormat, SpecError, Time};
use fctlab_workload::{Flow, Traffic};

use self::events::{EventQueue, Source};
use self::index::{at, at_mut};
use self::port::{Fate, Port};
use self::slab::{PacketId, Slab};
use self::turns::Turns;
use crate::ideal::Ideal;
use crate::packet::{Flags, FlowSlot, Packet, Stamp};
use crate::recorders::Recorders;
use crate::records::{Fct, Record, Unfinished};
use crate::routing::Router;
use crate::run::{Counters, Progress};
use crate::scenario::{FctEnds, Scenario, Stop};
use crate::taggers::{Tagger, View};
use crate::topology::Fabric;
use crate::transports::RuleSpec;
use crate::transports::receiver::Receiver;
use crate::transports::sender::{Ack, Sender, SenderConfig, Transmit};

/// Everything about one flow in progress.
pub struct FlowState {
    /// The flow itself.
    pub flow: Flow,
    /// Its sending end.
    pub sender: Sender,
    receiver: Receiver,
    /// Packets in the flow, and bytes of the last one on the wire.
    total: u32,
    last_bytes: u16,
    ack_hash: u32,
    /// The ports of the hosts that send and receive.
    nics: (u32, u32),
    /// Bits per second of the sending host's link.
    capacity: f64,
    /// Its packets (data, probes and ACKs) in ports and on wires.
    in_network: u32,
    /// Its data packets waiting in its NIC.
    in_nic: u32,
    /// The instant of its timer event that counts; `NEVER` without one.
    timer: Time,
    /// When the last byte reached the receiver.
    delivered_at: Option<Time>,
    /// When the flow finished, by the scenario's definition.
    finished_at: Option<Time>,
    /// Whether it has been measured: it started inside the window.
    measured: bool,
    active: bool,
}

/// What a run needs besides the parts of the network.
pub struct Settings {
    /// Bytes of packets.
    pub format: PacketFormat,
    /// Facts for relative units.
    pub scale: PathScale,
    /// What all senders share.
    pub sender: SenderConfig,
    /// The window rule.
    pub rule: RuleSpec,
    /// What the header says.
    pub tagger: Tagger,
    /// Whether the tagger looks at the transport's alpha.
    pub sees_alpha: bool,
    /// Data packets that a flow may have waiting in its NIC.
    pub nic_limit: u32,
    /// Where FCT ends.
    pub fct_ends: FctEnds,
    /// First and last start of a measured flow (the last exclusive).
    pub window: (Time, Time),
    /// When the run ends.
    pub stop: Stop,
    /// The run ends at this instant at the latest.
    pub end_at: Time,
}

/// One run. `RECORD` is whether any recorder is on; without, none costs anything.
pub struct Engine<'a, const RECORD: bool> {
    events: EventQueue,
    ports: Vec<Port>,
    slab: Slab,
    turns: Turns,
    fabric: &'a Fabric,
    router: Router,
    settings: Settings,
    ideal: Ideal,
    traffic: Traffic,
    next_flow: Option<Flow>,
    flows: Vec<FlowState>,
    free: Vec<FlowSlot>,
    in_flight: u64,
    /// Measured flows that have not finished.
    measured_open: u64,
    evicted: Vec<Packet>,
    /// What was counted.
    pub counters: Counters,
    recorders: Recorders,
    sink: &'a mut dyn FnMut(&Record) -> std::io::Result<()>,
    failed: Option<std::io::Error>,
    over: bool,
    /// Events until the loop looks up, to report or because the run is over;
    /// they are counted in advance.
    until_look: u64,
}

/// How a run ended.
pub enum End {
    /// By its own rule.
    Complete,
    /// The observer asked to stop.
    Interrupted,
    /// The sink of records failed.
    Failed(std::io::Error),
}

/// Events between two looks at the clock.
const OBSERVE_EVERY: u64 = 1 << 18;

impl<'a, const RECORD: bool> Engine<'a, RECORD> {
    /// Prepares a run; flow records go to `sink`.
    ///
    /// # Errors
    /// Port parameters that do not fit each other.
    pub fn new(
        scenario: &Scenario,
        fabric: &'a Fabric,
        settings: Settings,
        traffic: Traffic,
        recorders: Recorders,
        sink: &'a mut dyn FnMut(&Record) -> std::io::Result<()>,
    ) -> Result<Self, SpecError> {
        let scheme = &scenario.scheme;
        let count = fabric.links.len() as u32;
        let ports = (0..count).zip(&fabric.links).map(|(number, link)| {
            let nic = link.from < fabric.hosts;
            let (spec, key) = if nic {
                (&scheme.nic.port, "scheme.nic")
            } else {
                (&scheme.port, "scheme.port")
            };
            Port::of(spec, fabric, number, &settings.scale).map_err(|e| e.under(key))
        });
        let ports = ports.collect::<Result<Vec<_>, _>>()?;
        let full = settings.format.full();
        let latencies = fabric
            .links
            .iter()
            .map(|l| l.delay + l.rate.transmission_time(full));
        let horizon = latencies.max().unwrap_or_default();
        let router = scheme.routing.start(fabric, scenario.seed());
        Ok(Engine {
            events: EventQueue::new(ports.len() * 2, horizon),
            ports,
            slab: Slab::default(),
            turns: Turns::new(count),
            fabric,
            router,
            ideal: Ideal::new(&settings.format, scheme.routing.sprays(), settings.fct_ends),
            settings,
            traffic,
            next_flow: None,
            flows: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            measured_open: 0,
            evicted: Vec::new(),
            counters: Counters::default(),
            recorders,
            sink,
            failed: None,
            over: false,
            until_look: 0,
        })
    }

    /// Simulated time.
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.events.now()
    }

    /// Why the traffic ended early, if it did.
    pub fn traffic_error(&self) -> Option<SpecError> {
        self.traffic.error().cloned()
    }

    /// The recorders, at the end of the run.
    pub fn into_recorders(mut self) -> Recorders {
        let now = self.now();
        self.recorders.on_end(now, &mut self.ports, &mut self.slab);
        self.recorders
    }

    // Sources of events beyond the wires and the ends of transmissions.
    fn flow_source(&self) -> Source {
        self.ports.len() as u32 * 2
    }
    fn sample_source(&self) -> Source {
        self.flow_source() + 1
    }
    fn end_source(&self) -> Source {
        self.flow_source() + 2
    }
    fn timer_source(&self) -> Source {
        self.flow_source() + 3
    }

    /// Runs to the end; `observe` is called now and then.
    pub fn run(&mut self, observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>) -> End {
        let ports = self.ports.len() as Source;
        let (flow_source, sample_source) = (self.flow_source(), self.sample_source());
        let end_source = self.end_source();
        self.fetch_flow();
        self.check_over();
        if self.settings.end_at != Time::NEVER {
            self.events.schedule_far(end_source, self.settings.end_at);
        }
        if RECORD && let Some(at) = self.recorders.next_sample() {
            self.events.schedule_far(sample_source, at);
        }
        let end = loop {
            if let Some(left) = self.until_look.checked_sub(1) {
                self.until_look = left;
            } else {
                if self.over {
                    break End::Complete;
                }
                self.counters.events += OBSERVE_EVERY;
                self.until_look = OBSERVE_EVERY - 1;
                if let ControlFlow::Break(()) = observe(&self.progress()) {
                    break End::Interrupted;
                }
            }
            let source = self.events.pop();
            let link = source.wrapping_sub(self.ports.len() as Source);
            if (link as usize) < self.ports.len() {
                self.on_arrival(link);
            } else if source < ports {
                self.on_transmission_end(source);
            } else if source == flow_source {
                self.on_flow_start();
            } else if source == sample_source {
                self.on_sample();
            } else if source == end_source || source == events::NONE {
                break End::Complete;
            } else {
                self.on_timer(source - self.timer_source());
            }
        };
        self.counters.events -= self.until_look;
        self.until_look = 0;
        self.counters.packet_hops = self
            .ports
            .iter()
            .map(|p| p.counters.delivered_packets)
            .sum();
        self.counters.drops = self.ports.iter().map(|p| p.counters.dropped_packets).sum();
        self.counters.ecn_marks = self.ports.iter().map(|p| p.counters.marked_packets).sum();
        match (end, self.failed.take()) {
            (_, Some(error)) => End::Failed(error),
            (end, None) => end,
        }
    }

    /// Sees whether the run ends here, by its own rule; asked whenever a flow
    /// has started or is done.
    fn check_over(&mut self) {
        let drained = self.next_flow.is_none() && self.in_flight == 0;
        let measured = self.settings.stop == Stop::Measured
            && self.measured_open == 0
            && self.now() >= self.settings.window.1;
        if drained || measured || self.failed.is_some() {
            self.over = true;
            self.counters.events -= self.until_look;
            self.until_look = 0;
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now(),
            flows_started: self.counters.flows_started,
            flows_finished: self.counters.flows_finished,
            flows_expected: self.traffic.expected_flows(),
            packet_hops: self.counters.packet_hops,
        }
    }

    /// Gives up the flows in progress as unfinished, each with a reason.
    pub fn abandon(&mut self) -> std::io::Result<()> {
        for slot in 0..self.flows.len() {
            if self.flows[slot].active {
                let record = self.record(slot as FlowSlot);
                (self.sink)(&record)?;
            }
        }
        Ok(())
    }

    /// Checks that every port has let out, still holds or has dropped what it
    /// took in; a broken invariant is a bug here, not a mistake of the user.
    pub fn check_conservation(&self) {
        for (id, port) in self.ports.iter().enumerate() {
            let c = &port.counters;
            let evicted =
                c.accepted_packets - c.delivered_packets - port.packets_inside(&self.slab);
            assert!(evicted <= c.dropped_packets, "port {id} lost packets");
        }
    }

    // ---- flows -------------------------------------------------------------

    fn fetch_flow(&mut self) {
        self.next_flow = self.traffic.next();
        if let Some(flow) = &self.next_flow {
            self.events.schedule_far(self.flow_source(), flow.start);
        }
    }

    fn on_flow_start(&mut self) {
        let Some(flow) = self.next_flow.take() else {
            return;
        };
        self.fetch_flow();
        let (from, until) = self.settings.window;
        let measured = flow.start >= from && flow.start < until;
        let total = self.settings.format.packets(flow.size) as u32;
        let payload = self.settings.format.payload.get();
        let last = flow.size.get() - u64::from(total - 1) * payload;
        let rule = self
            .settings
            .rule
            .start(self.settings.sender.initial_window, &self.settings.scale);
        let nic = self.fabric.nics[flow.src as usize];
        let state = FlowState {
            sender: Sender::new(total, rule, &self.settings.sender),
            receiver: Receiver::default(),
            total,
            last_bytes: (last + self.settings.format.header.get()) as u16,
            ack_hash: mix(u64::from(flow.path_hash)) as u32,
            nics: (nic, self.fabric.nics[flow.dst as usize]),
            capacity: self.fabric.links[nic as usize].rate.bps() as f64,
            in_network: 0,
            in_nic: 0,
            timer: Time::NEVER,
            delivered_at: None,
            finished_at: None,
            measured,
            active: true,
            flow,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.flows[slot as usize] = state;
                slot
            }
            None => {
                self.flows.push(state);
                self.flows.len() as FlowSlot - 1
            }
        };
        self.counters.flows_started += 1;
        self.in_flight += 1;
        self.counters.peak_flows_in_flight = self.counters.peak_flows_in_flight.max(self.in_flight);
        self.measured_open += u64::from(measured);
        if RECORD {
            self.recorders
                .on_flow_start(self.now(), slot, at(&self.flows, slot));
        }
        self.pump(slot);
        self.check_over();
    }

    /// The flow has finished, by the scenario's definition.
    fn finish(&mut self, slot: FlowSlot) {
        let now = self.now();
        let state = at_mut(&mut self.flows, slot);
        state.finished_at = Some(now);
        self.measured_open -= u64::from(state.measured);
        self.counters.flows_finished += 1;
        if RECORD {
            self.recorders
                .on_flow_finish(self.now(), slot, at(&self.flows, slot));
        }
    }

    /// Frees the slot of a flow that has nothing left to do anywhere.
    #[inline]
    fn release_if_done(&mut self, slot: FlowSlot) {
        let state = at(&self.flows, slot);
        if state.in_network == 0 && state.sender.is_done() {
            self.release(slot);
        }
    }

    #[cold]
    fn release(&mut self, slot: FlowSlot) {
        let record = self.record(slot);
        if let Err(error) = (self.sink)(&record) {
            self.failed.get_or_insert(error);
        }
        self.flows[slot as usize].active = false;
        self.free.push(slot);
        self.in_flight -= 1;
        self.check_over();
    }

    fn record(&mut self, slot: FlowSlot) -> Record {
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
                } else if state.in_network == 0 && state.in_nic == 0 {
                    Unfinished::WaitingForTimeout
                } else {
                    Unfinished::Sending
                };
                Fct::Unfinished(self.now().since(flow.start), why)
            }
        };
        Record {
            flow,
            fct,
            ideal: self.ideal.fct(self.fabric, flow.src, flow.dst, flow.size),
            measured: state.measured,
            retransmissions: state.sender.retransmissions(),
            timeouts: state.sender.timeouts(),
        }
    }

    // ---- hosts -------------------------------------------------------------

    /// Lets a flow hand packets to its NIC: as many as its window allows and
    /// its share of the NIC's queue holds.
    #[inline(always)]
    fn pump(&mut self, slot: FlowSlot) {
        while at(&self.flows, slot).in_nic < self.settings.nic_limit && self.send_one(slot) {}
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
        *packet = self.settings.data_packet(now, slot, state, transmit);
        let bytes = packet.bytes;
        state.in_network += 1;
        self.counters.data_packets += u64::from(transmit != Transmit::Probe);
        let nic = state.nics.0;
        if RECORD {
            self.recorders.on_send(now, slot, state, packet);
        }
        let port = at(&self.ports, nic);
        let (start, holds_back) = (port.next_start(now), port.is_choosing());
        let fate = self.hand_over(nic, id, bytes);
        if fate.is_waiting() {
            at_mut(&mut self.flows, slot).in_nic += 1;
        } else if start > now && !holds_back && fate == Fate::Sent {
            self.wait_for_turn(slot, nic, start);
        }
        true
    }

    /// A packet of the flow waits in FIFO NIC `nic` until `start`.
    #[inline(always)]
    fn wait_for_turn(&mut self, slot: FlowSlot, nic: u32, start: Time) {
        if self.settings.nic_limit == u32::MAX {
            return;
        }
        at_mut(&mut self.flows, slot).in_nic += 1;
        if let Some(at) = self.turns.wait(nic, start, slot) {
            self.events.schedule(nic, at);
        }
    }

    /// A packet that waited in FIFO NIC `port` starts; its flow may hand over another.
    #[inline(always)]
    fn on_turn(&mut self, port: u32) {
        let (slot, next) = self.turns.take(port);
        if let Some(at) = next {
            self.events.schedule(port, at);
        }
        at_mut(&mut self.flows, slot).in_nic -= 1;
        self.pump(slot);
    }

    /// Makes sure that a timer event is pending no later than the deadline.
    #[inline]
    fn keep_timer(&mut self, slot: FlowSlot) {
        let state = at_mut(&mut self.flows, slot);
        let deadline = state.sender.deadline();
        if deadline < state.timer {
            state.timer = deadline;
            self.events
                .schedule_far(self.timer_source() + slot, deadline);
        }
    }

    fn on_timer(&mut self, slot: FlowSlot) {
        let now = self.now();
        let state = at_mut(&mut self.flows, slot);
        if !state.active || state.timer != now {
            return; // overtaken by an earlier one, or the slot has a new flow
        }
        state.timer = Time::NEVER;
        if state.sender.deadline() == now {
            state.sender.on_timer(now, &self.settings.sender);
            if RECORD {
                self.recorders
                    .on_window(self.now(), slot, at(&self.flows, slot));
            }
            self.pump(slot);
        } else {
            self.keep_timer(slot);
        }
    }

    /// A packet reaches a host.
    #[inline(never)]
    fn deliver(&mut self, id: PacketId) {
        let now = self.now();
        let packet = &mut self.slab.get_mut(id).packet;
        let slot = packet.flow;
        let state = at_mut(&mut self.flows, slot);
        if RECORD {
            self.recorders.on_deliver(now, slot, state, packet);
        }
        if packet.is_ack() {
            let ack = Ack {
                cumulative: packet.cumulative,
                block: (packet.seq, packet.sack_end),
                marked: packet.flags.has(Flags::CE),
                stamp: packet.stamp,
            };
            self.slab.remove(id);
            state.in_network -= 1;
            state.sender.on_ack(now, &ack, &self.settings.sender);
            if RECORD {
                self.recorders.on_window(now, slot, state);
            }
            let busy = state.in_nic >= self.settings.nic_limit;
            if busy && !state.sender.is_done() && state.sender.deadline() >= state.timer {
                return; // Neither to send nor to schedule.
            }
            return self.after_ack(slot);
        }
        let heard = if packet.flags.has(Flags::PROBE) {
            state.receiver.on_probe()
        } else {
            state.receiver.on_data(packet.seq)
        };
        let completes = state.receiver.distinct() == state.total && state.delivered_at.is_none();
        // The packet becomes its acknowledgement, where it is; stamp and class stay.
        packet.hash = state.ack_hash;
        packet.tag = 0;
        packet.seq = heard.block.0;
        packet.sack_end = heard.block.1;
        packet.cumulative = heard.cumulative;
        packet.dst = state.flow.src as u16;
        packet.bytes = self.settings.format.ack.get() as u16;
        packet.flags = Flags::ACK.with_if(Flags::CE, packet.flags.has(Flags::CE));
        let (nic, bytes) = (state.nics.1, packet.bytes);
        if RECORD {
            self.recorders.on_send(now, slot, state, packet);
        }
        if completes {
            self.on_last_byte(slot);
        }
        self.hand_over(nic, id, bytes);
    }

    /// Every byte of the flow has reached its receiver.
    #[cold]
    fn on_last_byte(&mut self, slot: FlowSlot) {
        self.flows[slot as usize].delivered_at = Some(self.now());
        if self.settings.fct_ends == FctEnds::Delivery {
            self.finish(slot);
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
        self.release_if_done(slot);
    }

    // ---- network -----------------------------------------------------------

    /// The packet at the head of wire `link` reaches the far end.
    #[inline(always)]
    fn on_arrival(&mut self, link: u32) {
        let port = at_mut(&mut self.ports, link);
        let (id, header) = port.arrive(&mut self.slab, &mut self.events);
        let switch = port.switch;
        if switch == port::HOST {
            return self.deliver(id);
        }
        let routes = &self.fabric.routes;
        let out = routes.next_port(switch, header.dst, header.hash, &mut self.router);
        self.hand_over(out, id, header.bytes);
    }

    /// Gives packet `id` to port `out`, accounting for what is dropped.
    #[inline(always)]
    fn hand_over(&mut self, out: u32, id: PacketId, bytes: u16) -> Fate {
        let now = self.now();
        let port = at_mut(&mut self.ports, out);
        if RECORD {
            let packet = &self.slab.get(id).packet;
            self.recorders.on_accept(now, out, port, packet);
        }
        let (slab, events) = (&mut self.slab, &mut self.events);
        let fate = port.accept(now, id, bytes, slab, events, &mut self.evicted);
        if fate.drops() {
            self.after_drops(out, fate, id);
        }
        fate
    }

    #[cold]
    fn after_drops(&mut self, out: u32, fate: Fate, id: PacketId) {
        if fate == Fate::Dropped {
            let packet = self.slab.remove(id);
            self.drop_packet(out, &packet);
        }
        let at_nic = self.fabric.links[out as usize].from < self.fabric.hosts;
        for victim in std::mem::take(&mut self.evicted) {
            if at_nic && !victim.is_ack() {
                self.flows[victim.flow as usize].in_nic -= 1;
            }
            self.drop_packet(out, &victim);
        }
    }

    fn drop_packet(&mut self, port: u32, packet: &Packet) {
        if RECORD {
            self.recorders.on_drop(self.now(), port, packet);
        }
        self.flows[packet.flow as usize].in_network -= 1;
        self.release_if_done(packet.flow);
    }

    /// A transmission of port `port` has ended while packets wait.
    fn on_transmission_end(&mut self, port: u32) {
        let now = self.now();
        let choosing = at_mut(&mut self.ports, port);
        if !choosing.is_choosing() {
            return self.on_turn(port);
        }
        let ended = choosing.transmission_ended(now, &mut self.slab, &mut self.events);
        let Some(packet) = ended else { return };
        if RECORD {
            self.recorders.on_transmit(now, port, &packet);
        }
        if !packet.is_ack() && self.fabric.links[port as usize].from < self.fabric.hosts {
            self.flows[packet.flow as usize].in_nic -= 1;
            self.pump(packet.flow);
        }
    }

    fn on_sample(&mut self) {
        let (now, ports, slab) = (self.now(), &mut self.ports, &mut self.slab);
        if let Some(at) = self.recorders.sample(now, ports, slab, &self.flows) {
            self.events.schedule_far(self.sample_source(), at);
        }
    }
}

impl Settings {
    /// The packet for what a sender wants on the wire.
    #[inline(always)]
    fn data_packet(
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
        let view = View {
            size: state.flow.size.get(),
            acknowledged: u64::from(state.sender.una()) * payload,
            offset: u64::from(seq) * payload,
            alpha: if self.sees_alpha {
                state.sender.alpha().unwrap_or(0.0)
            } else {
                0.0
            },
            capacity: state.capacity,
        };
        let (bytes, end) = match transmit {
            Transmit::Probe => (self.format.ack.get() as u16, Flags::NONE),
            _ if seq + 1 == state.total => (state.last_bytes, Flags::END),
            _ => (self.format.full() as u16, Flags::NONE),
        };
        Packet {
            flow: slot,
            hash: state.flow.path_hash,
            tag: self.tagger.tag(&view),
            seq,
            sack_end: 0,
            cumulative: 0,
            stamp: Stamp::at(now),
            dst: state.flow.dst as u16,
            bytes,
            flags: flags.with(end).with_if(Flags::ECT, self.rule.ecn()),
            class: state.flow.class as u8,
        }
    }
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
    /// Whether the slot holds a flow.
    pub fn is_active(&self) -> bool {
        self.active
    }
}
