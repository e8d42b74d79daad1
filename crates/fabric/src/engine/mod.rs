//! The engine: one run of one scenario, on one thread.
//!
//! The life of a packet: a flow's sender says what to send
//! (`hosts`), the tagger writes the header, the NIC's port
//! takes it in; it arrives at a switch (`network`),
//! the routes name the next port, that port takes it in, and so on until a
//! host receives it: data become an ACK, an ACK goes to the sender, which may
//! send more.
//!
//! Here is the loop; what happens at its events is in `flows` (they start and
//! end), `feed` (their packets become available), `hosts` (senders, receivers,
//! timers) and `network` (switches and ports).

mod connections;
pub mod events;
mod feed;
mod flows;
mod hosts;
pub mod index;
mod network;
mod pacing;
pub mod port;
pub mod shaper;
pub mod slab;
pub mod telemetry;
mod turns;

use std::ops::ControlFlow;

use fctlab_core::random::Seed;
use fctlab_core::units::PathScale;
use fctlab_core::{PacketFormat, SpecError, Time};
use fctlab_workload::{Flow, Traffic};

use self::connections::Connections;
use self::events::{EventQueue, Source};
pub use self::flows::FlowState;
use self::pacing::Pacer;
use self::port::Port;
use self::shaper::Shaper;
use self::slab::Slab;
use self::turns::Turns;
use crate::ideal::Ideal;
use crate::packet::{FlowSlot, Packet};
use crate::recorders::Recorders;
use crate::records::Record;
use crate::routing::Router;
use crate::run::{Counters, Progress};
use crate::scenario::{FctEnds, Scenario, Stop};
use crate::taggers::Tagger;
use crate::topology::Fabric;
use crate::transports::RuleSpec;
use crate::transports::sender::SenderConfig;

/// What a run needs besides the parts of the network.
pub struct Settings {
    /// Bytes of packets.
    pub format: PacketFormat,
    /// The same with telemetry in the header of data.
    pub wire: PacketFormat,
    /// Facts for relative units.
    pub scale: PathScale,
    /// What all senders share.
    pub sender: SenderConfig,
    /// The window rule.
    pub rule: RuleSpec,
    /// What the header says.
    pub tagger: Tagger,
    /// Over how many transmission times a flow's packets become available.
    pub spacing: f64,
    /// From which every random stream follows.
    pub seed: Seed,
    /// Whether the tagger looks at the transport's alpha, or what is available.
    pub sees_bandwidth: bool,
    /// Whether the transport spaces its packets.
    pub paced: bool,
    /// Whether anything comes between the senders and their NICs: pacing or a shaper.
    pub spaced: bool,
    /// Whether switch ports write telemetry.
    pub telemetry: bool,
    /// Data packets that a flow may have waiting in its NIC; at most [`NO_LIMIT`].
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

impl Settings {
    /// Whether packets are paced, shaped or spaced, or carry telemetry.
    pub fn is_rare(&self) -> bool {
        self.spaced || self.telemetry || self.spacing != 0.0
    }
}

/// A flow may have any number of packets waiting in its NIC.
pub const NO_LIMIT: u32 = pacing::HELD;

/// One run. `FULL` is whether it has anything that few runs have: recorders, or
/// what [`Settings::is_rare`] names. The engine is compiled without them too, where
/// they cost nothing.
pub struct Engine<'a, const FULL: bool> {
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
    /// Empty unless the transport paces.
    pacers: Vec<Pacer>,
    shaper: Option<Shaper>,
    /// Used where connections are persistent.
    connections: Connections,
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

impl<'a, const FULL: bool> Engine<'a, FULL> {
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
            let mut port =
                Port::of(spec, fabric, number, &settings.scale).map_err(|e| e.under(key))?;
            if settings.telemetry && !nic {
                port.write_telemetry(link.rate);
            }
            Ok(port)
        });
        let ports = ports.collect::<Result<Vec<_>, _>>()?;
        let full = settings.wire.full();
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
            traffic,
            next_flow: None,
            flows: Vec::new(),
            pacers: Vec::new(),
            shaper: scheme
                .shaper
                .as_ref()
                .map(|spec| Shaper::new(spec, fabric.hosts, &settings.scale)),
            settings,
            connections: Connections::default(),
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
    fn shaper_source(&self) -> Source {
        self.flow_source() + 3
    }
    /// The timer of a flow; its pacer is the next source.
    fn timer_source(&self, slot: FlowSlot) -> Source {
        self.flow_source() + 4 + 2 * slot
    }

    /// Runs to the end; `observe` is called now and then.
    pub fn run(&mut self, observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>) -> End {
        let ports = self.ports.len() as Source;
        let (flow_source, sample_source) = (self.flow_source(), self.sample_source());
        let (end_source, shaper_source) = (self.end_source(), self.shaper_source());
        self.fetch_flow();
        self.check_over();
        if self.settings.end_at != Time::NEVER {
            self.events.schedule_far(end_source, self.settings.end_at);
        }
        if FULL && let Some(at) = self.recorders.next_sample() {
            self.events.schedule_far(sample_source, at);
        }
        let end = loop {
            let (left, looks) = self.until_look.overflowing_sub(1);
            self.until_look = left;
            if looks {
                self.until_look = 0;
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
            } else if source == shaper_source {
                self.on_shaper();
            } else {
                self.on_timer(source - self.timer_source(0));
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
            flows_expected: Some(self.traffic.expected_flows()),
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
        let kept = self.slab.telemetry.in_use();
        assert!(self.in_flight > 0 || kept == 0, "telemetry of no packet");
    }

    fn on_sample(&mut self) {
        let (now, ports, slab) = (self.now(), &mut self.ports, &mut self.slab);
        if let Some(at) = self.recorders.sample(now, ports, slab, &self.flows) {
            self.events.schedule_far(self.sample_source(), at);
        }
    }
}
