//! The engine: one run of one scenario, on one thread or (`parallel`) on several.
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
//! timers), `network` (switches and ports) and `windows` (what is settled between two).

mod across;
mod ahead;
mod connections;
mod delayed;
pub mod events;
mod feed;
mod flows;
mod hosts;
mod meeting;
mod network;
mod pacing;
pub mod parallel;
pub mod port;
pub mod probe;
mod progress;
pub mod shaper;
pub mod slab;
mod turns;
mod windows;

use std::ops::ControlFlow;

use fctlab_core::{Duration, SpecError, Time};
use fctlab_workload::{Flow, Traffic};

use self::across::Across;
use self::ahead::Ahead;
use self::connections::Connections;
use self::delayed::Delayed;
use self::events::{EventQueue, Source};
pub use self::flows::FlowState;
use self::pacing::Pacer;
use self::port::Port;
use self::probe::Probe;
use self::progress::InProgress;
use self::shaper::Shaper;
use self::slab::Slab;
use self::turns::Turns;
use self::windows::Windows;
use crate::measure::Stop;
use crate::network::ideal::Ideal;
use crate::network::routing::Router;
use crate::network::{Fabric, Link};
use crate::outcome::{Counters, Progress};
use crate::packet::{FlowSlot, Packet};
use crate::prepared::{End, Ended, Observer, Prepared, Sink};
use crate::records::Record;
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
    let mut engine = Engine::new(prepared, probe, sink, None)?;
    let pause = engine.go(observe);
    engine.ended_at = match pause {
        Pause::Idle => engine.windows.before(engine.windows.of(engine.now()) + 1),
        _ => engine.now(),
    };
    let mut end = engine.stop(pause);
    engine.traffic_error()?;
    engine.check_conservation();
    if let End::Complete = end {
        for (_, record) in engine.abandoned() {
            engine.keep(&record);
        }
        if let Some(error) = engine.failed.take() {
            end = End::Failed(error);
        }
    }
    let (now, counters) = (engine.ended_at, engine.counters);
    engine
        .probe
        .on_end(now, &mut engine.ports, &mut engine.slab);
    Ok(Ended {
        end,
        counters,
        now,
        others_cpu: Duration::ZERO,
        waited: Vec::new(),
    })
}

/// Why the loop stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    /// A window has ended: with the run, on one thread.
    Window,
    /// Nothing is left to happen; the run ends with the window.
    Idle,
    /// The run may take no longer.
    Limit,
    /// The observer asked to stop.
    Interrupted,
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
    /// Empty unless receivers delay ACKs.
    delayed: Vec<Delayed>,
    shaper: Option<Shaper>,
    /// Used where connections are persistent.
    connections: Connections,
    /// Slots that have been used, and those of them that are free.
    slots: FlowSlot,
    free: Vec<FlowSlot>,
    /// Flows that are not settled.
    in_flight: u64,
    in_progress: InProgress,
    /// Measured flows that have started here, less those that have finished here.
    measured_open: i64,
    windows: Windows,
    /// Where this is a part of the fabric.
    across: Option<Across>,
    evicted: Vec<Packet>,
    /// What was counted.
    counters: Counters,
    probe: &'a mut P,
    sink: &'a mut Sink<'a>,
    failed: Option<std::io::Error>,
    /// Events until the loop looks up, to report; they are counted in advance.
    until_look: u64,
    /// Events that are nothing of the network's: they are not told.
    uncounted: u64,
    ended_at: Time,
}

/// Events between two looks at the clock.
const OBSERVE_EVERY: u64 = 1 << 18;

impl<'a, P: Probe> Engine<'a, P> {
    fn new(
        prepared: &'a Prepared,
        probe: &'a mut P,
        sink: &'a mut Sink<'a>,
        across: Option<Across>,
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
        let here = |node| across.as_ref().is_none_or(|across| across.has(node));
        let window = fabric.window();
        let measured_until = (settings.stop == Stop::Measured).then_some(settings.window.1);
        let ports = (0..count).zip(&fabric.links).map(|(number, link)| {
            if !here(link.from) {
                return Ok(Port::far_end(fabric, number));
            }
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
            if !here(link.to) {
                port.leads_away(window);
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
            delayed: Vec::new(),
            shaper: scheme
                .shaper
                .as_ref()
                .map(|spec| Shaper::new(spec, fabric.hosts, &settings.scale)),
            settings: settings.clone(),
            connections: Connections::default(),
            slots: 0,
            free: Vec::new(),
            in_flight: 0,
            in_progress: InProgress::default(),
            measured_open: 0,
            windows: Windows::new(window, measured_until),
            across,
            evicted: Vec::new(),
            counters: Counters::default(),
            probe,
            sink,
            failed: None,
            until_look: 0,
            uncounted: 0,
            ended_at: Time::ZERO,
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

    /// Before the first event.
    fn begin(&mut self) {
        self.fetch_flow();
        if self.settings.end_at != Time::NEVER {
            self.events
                .schedule_far(self.end_source(), self.settings.end_at);
        }
        if P::FULL
            && let Some(at) = self.probe.next_sample()
        {
            self.events.schedule_far(self.sample_source(), at);
        }
        self.begin_windows();
    }

    /// On one thread: goes to the end; `observe` is called now and then.
    fn go(&mut self, observe: &mut Observer<'_>) -> Pause {
        self.begin();
        if self.next_flow.is_none() {
            return Pause::Idle;
        }
        loop {
            let pause = self.go_on(observe);
            if pause != Pause::Window || self.on_window_end() {
                return pause;
            }
        }
    }

    /// Goes to the end of a window, or as far as it goes.
    #[inline(never)]
    fn go_on(&mut self, observe: &mut Observer<'_>) -> Pause {
        let ports = self.ports.len() as Source;
        let (flow_source, sample_source) = (self.flow_source(), self.sample_source());
        let (end_source, shaper_source) = (self.end_source(), self.shaper_source());
        loop {
            let (left, looks) = self.until_look.overflowing_sub(1);
            self.until_look = left;
            if looks {
                self.counters.events += OBSERVE_EVERY;
                self.until_look = OBSERVE_EVERY - 1;
                if let ControlFlow::Break(()) = observe(&self.progress()) {
                    return Pause::Interrupted;
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
            } else if source == shaper_source {
                self.on_shaper();
            } else {
                let pause = match source {
                    events::WINDOW_END => Pause::Window,
                    events::NONE => Pause::Idle,
                    _ if source == end_source => Pause::Limit,
                    _ => {
                        self.on_timer(source - self.timer_source(0));
                        continue;
                    }
                };
                self.uncounted += 1;
                return pause;
            }
        }
    }

    /// The run is over, for this reason: what it counted is added up.
    fn stop(&mut self, pause: Pause) -> End {
        self.counters.events -= self.until_look + self.uncounted;
        self.counters.peak_flows_in_flight = self.in_progress.most();
        self.counters.flows_finished = self.in_progress.finished();
        let now = self.ended_at;
        for port in &mut self.ports {
            self.counters.events += port.catch_up(now, &mut self.slab, &mut self.events);
            let counted = port.counters();
            self.counters.drops += counted.dropped_packets;
            self.counters.ecn_marks += counted.marked_packets;
            // What leads away is counted where it arrives.
            if port.switch() != port::AWAY {
                self.counters.packet_hops += counted.delivered_packets;
            }
        }
        match (pause, self.failed.take()) {
            (_, Some(error)) => End::Failed(error),
            (Pause::Interrupted, None) => End::Interrupted,
            _ => End::Complete,
        }
    }

    /// Whether the traffic could be read to its end.
    fn traffic_error(&self) -> Result<(), SpecError> {
        match self.traffic.error() {
            Some(error) => Err(error.clone().under("traffic")),
            None => Ok(()),
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now(),
            flows_started: self.counters.flows_started,
            flows_finished: self.in_progress.finished(),
            flows_expected: Some(self.traffic.expected_flows()),
            packet_hops: self.counters.packet_hops,
        }
    }

    /// The flows that have their sender here and are not settled; those in progress are given up as unfinished, each
    /// with a reason.
    fn abandoned(&mut self) -> Vec<(FlowSlot, Record)> {
        let mut abandoned = Vec::new();
        for slot in 0..self.flows.len() as FlowSlot {
            if self.flows[slot as usize].active {
                abandoned.push((slot, self.record(slot, self.ended_at)));
            }
        }
        abandoned
    }

    /// Checks that every port has let out, still holds or has dropped what it
    /// took in; a broken invariant is a bug here, not a mistake of the user.
    fn check_conservation(&self) {
        let here = |link: &Link| {
            self.across
                .as_ref()
                .is_none_or(|across| across.has(link.from))
        };
        let ports = self.ports.iter().zip(&self.fabric.links).enumerate();
        for (id, (port, _)) in ports.filter(|(_, (_, link))| here(link)) {
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
