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

mod ahead;
mod connections;
pub mod events;
mod feed;
mod flows;
mod hosts;
mod network;
mod pacing;
pub mod port;
pub mod probe;
pub mod shaper;
pub mod slab;
mod turns;

use std::ops::ControlFlow;

use fctlab_core::{SpecError, Time};
use fctlab_workload::{Flow, Traffic};

use self::ahead::Ahead;
use self::connections::Connections;
use self::events::{EventQueue, Source};
pub use self::flows::FlowState;
use self::pacing::Pacer;
use self::port::Port;
use self::probe::Probe;
use self::shaper::Shaper;
use self::slab::Slab;
use self::turns::Turns;
use crate::measure::Stop;
use crate::network::Fabric;
use crate::network::ideal::Ideal;
use crate::network::routing::Router;
use crate::outcome::{Counters, Progress};
use crate::packet::{FlowSlot, Packet};
use crate::prepared::{End, Ended, Observer, Prepared, Sink};
use crate::scheme::Place;
use crate::settings::Settings;

/// Runs `prepared` packet by packet, seen by `probe`; flow records go to `sink`.
///
/// # Errors
/// Traffic that cannot be read to its end.
pub fn run<P: Probe>(
    prepared: &Prepared,
    probe: &mut P,
    sink: &mut Sink<'_>,
    observe: &mut Observer<'_>,
) -> Result<Ended, SpecError> {
    let mut engine = Engine::new(prepared, probe, sink)?;
    let mut end = engine.run(observe);
    if let Some(error) = engine.traffic.error() {
        return Err(error.clone().under("traffic"));
    }
    engine.check_conservation();
    if let End::Complete = end
        && let Err(error) = engine.abandon()
    {
        end = End::Failed(error);
    }
    let (now, counters) = (engine.now(), engine.counters);
    engine
        .probe
        .on_end(now, &mut engine.ports, &mut engine.slab);
    Ok(Ended { end, counters, now })
}

/// One run.
pub(crate) struct Engine<'a, P: Probe> {
    events: EventQueue,
    ports: Vec<Port>,
    slab: Slab,
    turns: Turns,
    ahead: Ahead,
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
    counters: Counters,
    probe: &'a mut P,
    sink: &'a mut Sink<'a>,
    failed: Option<std::io::Error>,
    over: bool,
    /// Events until the loop looks up, to report or because the run is over;
    /// they are counted in advance.
    until_look: u64,
}

/// Events between two looks at the clock.
const OBSERVE_EVERY: u64 = 1 << 18;

impl<'a, P: Probe> Engine<'a, P> {
    fn new(
        prepared: &'a Prepared,
        probe: &'a mut P,
        sink: &'a mut Sink<'a>,
    ) -> Result<Self, SpecError> {
        let Prepared {
            scenario,
            fabric,
            settings,
            ..
        } = prepared;
        let traffic = prepared.traffic()?;
        let scheme = &scenario.scheme;
        let count = fabric.links.len() as u32;
        let places = scheme.places(fabric).map_err(|e| e.under("scheme"))?;
        let mut place_of: Vec<&Place<'_>> = vec![&places[0]; count as usize];
        for place in &places {
            for &link in &place.links {
                place_of[link as usize] = place;
            }
        }
        let ports = (0..count).zip(&fabric.links).map(|(number, link)| {
            let nic = link.from < fabric.hosts;
            let place = place_of[number as usize];
            let port = Port::of(place.port, fabric, number, &settings.scale);
            let mut port = port.map_err(|e| e.under(&place.key).under("scheme"))?;
            // Telemetry is written, and recorders are told, when a transmission starts.
            if settings.telemetry && !nic {
                port.write_telemetry(link.rate);
            } else if !P::FULL && !nic {
                port.choose_late();
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
        let large = ports.len() >= ahead::MANY_PORTS;
        let router = scheme.routing.start(fabric, scenario.seed());
        Ok(Engine {
            events: EventQueue::new(ports.len() * 2, horizon),
            ports,
            slab: Slab::default().many_from(if large { 0 } else { ahead::MANY_PACKETS }),
            turns: Turns::new(count),
            ahead: Ahead::default(),
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
            settings: settings.clone(),
            connections: Connections::default(),
            free: Vec::new(),
            in_flight: 0,
            measured_open: 0,
            evicted: Vec::new(),
            counters: Counters::default(),
            probe,
            sink,
            failed: None,
            over: false,
            until_look: 0,
        })
    }

    /// Simulated time.
    #[inline(always)]
    pub(crate) fn now(&self) -> Time {
        self.events.now()
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
    #[inline(never)]
    fn run(&mut self, observe: &mut dyn FnMut(&Progress) -> ControlFlow<()>) -> End {
        let ports = self.ports.len() as Source;
        let (flow_source, sample_source) = (self.flow_source(), self.sample_source());
        let (end_source, shaper_source) = (self.end_source(), self.shaper_source());
        self.fetch_flow();
        self.check_over();
        if self.settings.end_at != Time::NEVER {
            self.events.schedule_far(end_source, self.settings.end_at);
        }
        if P::FULL
            && let Some(at) = self.probe.next_sample()
        {
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
        let now = self.now();
        for port in &mut self.ports {
            self.counters.events += port.catch_up(now, &mut self.slab, &mut self.events);
        }
        self.counters.packet_hops = self
            .ports
            .iter()
            .map(|p| p.counters().delivered_packets)
            .sum();
        self.counters.drops = self
            .ports
            .iter()
            .map(|p| p.counters().dropped_packets)
            .sum();
        self.counters.ecn_marks = self.ports.iter().map(|p| p.counters().marked_packets).sum();
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
    fn abandon(&mut self) -> std::io::Result<()> {
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
    fn check_conservation(&self) {
        for (id, port) in self.ports.iter().enumerate() {
            let c = port.counters();
            let evicted =
                c.accepted_packets - c.delivered_packets - port.packets_inside(&self.slab);
            assert!(evicted <= c.dropped_packets, "port {id} lost packets");
        }
        let kept = self.slab.telemetry.in_use();
        assert!(self.in_flight > 0 || kept == 0, "telemetry of no packet");
    }

    fn on_sample(&mut self) {
        let (now, ports, slab) = (self.now(), &mut self.ports, &mut self.slab);
        if let Some(at) = self.probe.sample(now, ports, slab, &self.flows) {
            self.events.schedule_far(self.sample_source(), at);
        }
    }
}
