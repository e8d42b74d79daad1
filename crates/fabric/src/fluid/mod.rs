//! One fluid for all links of a fabric: rates instead of packets, a completion time for every flow.
//!
//! ```text
//!   flow: window ──▶ NIC: turns ──▶ link ──▶ link ──▶ link to the receiver
//!     ▲                              each a curve: what leaves now had come then
//!     └── acked, marked ◀── back along these curves, one round trip of the flow's own later
//! ```
//!
//! Time goes in steps of a base RTT at most ([`ports::step`]). In each step windows react to what is acked ([`flow`]: the
//! link model's own, `fctlab_link::Paced`), NICs divide their rates ([`nic`]), and what comes to links is added up
//! and served, layer by layer ([`links`], [`lanes`]). The clock of a link runs later than that of the senders by the delay up to
//! there, so that all delay is in the way back. What packets wait where a fluid does not is added to that way: [`chance`] at links,
//! [`waits`] at NICs, and what that costs a window in [`lag`].
//!
//! What a fluid knows nothing of is refused in [`ports`].

mod acks;
mod chance;
mod clock;
mod curve;
mod fair;
mod flow;
mod histories;
mod lag;
mod lanes;
mod links;
mod nic;
mod ports;
mod priority;
mod telemetry;
mod waits;

use fctlab_core::random::{mix, unit_interval};
use fctlab_core::{FctEnds, SpecError, Time, WindowCounts};
use fctlab_link::Line;
use fctlab_link::queues::Sharing;
use fctlab_workload::Flow;

use self::clock::end_of;
use self::flow::{Active, Hop, Known, Way};
use self::lanes::Lanes;
use self::links::{Links, Overflow};
use self::nic::Nic;
use self::ports::Sending;
pub(crate) use self::ports::check;
use self::telemetry::Seen;
use self::waits::Waits;
use crate::completions::Completions;
use crate::measure::Stop;
use crate::network::Fabric;
use crate::prepared::{Ended, Observer, Prepared, Sink};
use crate::scenario::Fluid;
use crate::settings::Settings;

/// How many steps go by between two looks of the observer.
const LOOK: u64 = 1024;

/// Runs the traffic through the fluid; `sink` gets a record of every flow in order of start.
///
/// # Errors
/// Traffic that cannot be read to its end; a buffer that is full.
pub(crate) fn run(
    spec: &Fluid,
    prepared: &Prepared,
    sink: &mut Sink<'_>,
    observe: &mut Observer<'_>,
) -> Result<Ended, SpecError> {
    let mut completions = Completions::new(prepared)?;
    let mut network = Network::new(spec, prepared)?;
    let settings = &prepared.settings;
    let mut measured = (0..completions.flows.len())
        .filter(|&index| completions.is_measured(index))
        .count();
    let mut next = 0;
    let mut ended = Vec::new();
    loop {
        if network.active == 0 {
            match completions.flows.get(next) {
                Some(flow) => network.skip_to(flow.start),
                None => break,
            }
        }
        while let Some(flow) = completions.flows.get(next)
            && network.starts_now(flow)
        {
            network.start(next, flow);
            next += 1;
        }
        let step = network.step(&mut ended);
        step.map_err(|full| full.error(prepared, network.step_s))?;
        for (index, more_s) in ended.drain(..) {
            measured -= usize::from(completions.is_measured(index));
            completions.end(index, more_s);
        }
        let (_, until) = settings.window;
        let now = network.now_s();
        let over = settings.stop == Stop::Measured && measured == 0 && now > until.as_secs_f64();
        if over || now > settings.end_at.as_secs_f64() {
            break;
        }
        if network.now.is_multiple_of(LOOK) && observe(&completions.progress()).is_break() {
            return Ok(completions.interrupted(network.events));
        }
    }
    let waited = network.links.waited().iter();
    let waited = waited.map(|bytes| bytes * network.step_s).collect();
    let ended = completions.tell(network.events, sink);
    Ok(Ended { waited, ..ended })
}

/// The fabric and the flows in it. Times are in steps.
struct Network<'a> {
    fabric: &'a Fabric,
    settings: &'a Settings,
    sending: Sending,
    step_s: f64,
    /// The step that is over.
    now: u64,
    links: Links,
    lanes: Lanes,
    nic: Nic,
    /// The flows of each host, those that have any in order, and what they send over.
    hosts: Vec<Vec<Active>>,
    busy: Vec<u32>,
    lines: Vec<Line>,
    /// How long packets wait at each NIC, by the number of its link.
    nic_waits: Vec<Waits>,
    active: usize,
    /// The longest round trip of a flow, and the longest wait in each layer, in steps.
    round_trip: f64,
    waits: Vec<f64>,
    /// Flows times steps.
    events: u64,
}

impl<'a> Network<'a> {
    fn new(spec: &Fluid, prepared: &'a Prepared) -> Result<Self, SpecError> {
        let Prepared {
            scenario,
            fabric,
            settings,
            ..
        } = prepared;
        let ports = ports::ports(scenario, settings, fabric)?;
        let step = ports::step(spec, &ports, settings);
        let step_s = step.resolve(&settings.scale).as_secs_f64();
        let places = ports::places(fabric)?;
        let packet = settings.wire.full() as f64;
        let sending = ports::sending(settings)?;
        let (mut links, lanes) = Links::new(fabric, ports, places, (packet, step_s));
        if sending.reads_telemetry() {
            links.tell();
        }
        if sending.comes_in_trains() {
            links.expect_trains();
        }
        let counted = match sending.counts() {
            WindowCounts::Payload => settings.wire.payload.get() as f64,
            WindowCounts::Wire => packet,
        };
        let line = |&nic: &u32| Line {
            capacity: fabric.links[nic as usize].rate.bytes_per_s() * step_s,
            round_trip: fabric.base_rtt.as_secs_f64() / step_s,
            packet,
            counted,
        };
        Ok(Network {
            fabric,
            settings,
            sending,
            step_s,
            now: 0,
            waits: vec![0.0; links.layers()],
            links,
            lanes,
            nic: Nic::default(),
            hosts: (0..fabric.hosts).map(|_| Vec::new()).collect(),
            busy: Vec::new(),
            lines: fabric.nics.iter().map(line).collect(),
            nic_waits: vec![Waits::default(); fabric.links.len()],
            active: 0,
            round_trip: 0.0,
            events: 0,
        })
    }

    fn now_s(&self) -> f64 {
        end_of(self.now) * self.step_s
    }

    fn steps(&self, time: Time) -> f64 {
        time.as_secs_f64() / self.step_s
    }

    /// Nothing waits and nobody sends until `time`.
    fn skip_to(&mut self, time: Time) {
        self.now = self.now.max(self.steps(time) as u64);
        self.lanes.skip(self.now);
    }

    fn starts_now(&self, flow: &Flow) -> bool {
        self.steps(flow.start) < (self.now + 1) as f64
    }

    fn start(&mut self, index: usize, flow: &Flow) {
        let Some(mut paced) = self.sending.flow(&self.lines[flow.src as usize]) else {
            return; // no law without windows is let in
        };
        if !paced.is_clocked() {
            // Another draw than that of its path and of its ACKs'.
            paced = paced.in_turn(unit_interval(mix(!u64::from(flow.path_hash))));
        }
        let mut way = self.way(flow);
        for hop in &mut way.there {
            hop.lane = self
                .links
                .open((hop.link, hop.queue), &mut self.lanes, self.now);
        }
        self.round_trip = self.round_trip.max(way.round_trip);
        let size = self.settings.wire.wire_bytes(flow.size) as f64;
        let start = self.steps(flow.start).max(end_of(self.now));
        let active = Active::new((index, flow.class), (size, start), paced, way, self.now);
        let hops = active.way().there.iter();
        hops.for_each(|hop| self.links.join(hop.link, flow.src));
        let flows = &mut self.hosts[flow.src as usize];
        if flows.is_empty() {
            let place = self.busy.partition_point(|&host| host < flow.src);
            self.busy.insert(place, flow.src);
        }
        flows.push(active);
        self.active += 1;
    }

    fn way(&self, flow: &Flow) -> Way {
        let (fabric, links) = (self.fabric, &self.links);
        let seen = |link| {
            let told = links.telemetry();
            told.map_or(Seen::default(), |told| told.at(link, end_of(self.now)))
        };
        let hop = |&link: &u32| {
            let queue = links.queue(link, flow.class);
            Hop::new(link, queue, links.place(link), seen(link))
        };
        let returns = |&link: &u32| links.queue(link, flow.class);
        let there = fabric
            .routes
            .taken(fabric, flow.src, flow.dst, flow.path_hash);
        let hash = mix(u64::from(flow.path_hash)) as u32;
        let back = fabric.routes.taken(fabric, flow.dst, flow.src, hash);
        let format = &self.settings.format;
        let takes = |links: &[u32], bytes| {
            let links = links.iter().map(|&link| &fabric.links[link as usize]);
            links
                .map(|link| (link.rate.transmission_time(bytes) + link.delay).as_secs_f64())
                .sum::<f64>()
        };
        let round_trip = takes(&there, self.settings.wire.full()) + takes(&back, format.ack.get());
        let rates = there.iter().map(|&link| fabric.links[link as usize].rate);
        let slowest = rates.min().map_or(f64::INFINITY, |rate| rate.bytes_per_s());
        Way {
            alone: format.wire_bytes(flow.size) as f64 / (slowest * self.step_s),
            there: there[1..].iter().map(hop).collect(),
            back: back[1..].iter().map(returns).collect(),
            nic: back[0],
            round_trip: round_trip / self.step_s,
        }
    }

    /// Takes a step. Flows that have ended before it are added to `ended`, with what they took on top of what they take
    /// alone.
    fn step(&mut self, ended: &mut Vec<(usize, f64)>) -> Result<(), Overflow> {
        self.now += 1;
        self.events += self.active as u64;
        self.links.begin();
        self.send(ended);
        let layers = self.links.layers();
        for layer in 1..layers {
            let longest = self.links.serve(layer, &mut self.lanes, self.now)?;
            self.waits[layer] = self.waits[layer].max(longest);
            for &host in self.links.held() {
                for flow in &mut self.hosts[host as usize] {
                    flow.wait(layer as u32, &mut self.lanes, self.now);
                }
            }
        }
        // What is acked may have waited in each layer, there and back.
        let back = self.round_trip + 2.0 * self.waits.iter().sum::<f64>();
        let kept = back as u64 + 4;
        self.lanes.keep(kept);
        self.links.keep(kept);
        Ok(())
    }

    /// Flows end, hosts hear and send.
    fn send(&mut self, ended: &mut Vec<(usize, f64)>) {
        let mut busy = std::mem::take(&mut self.busy);
        busy.retain(|&host| {
            self.deliver(host, ended);
            let flows = &mut self.hosts[host as usize];
            let nic = self.fabric.nics[host as usize];
            if flows.is_empty() {
                return false;
            }
            let sends = (
                &self.lines[host as usize],
                self.links.nic_capacity(nic, self.now),
            );
            let (discipline, places) = self.links.discipline(nic);
            let place = |class: u16| match discipline.sharing {
                Sharing::One => 0,
                _ => usize::from(places.get(usize::from(class)).copied().unwrap_or(class)),
            };
            let known = Known {
                lanes: &self.lanes,
                telemetry: self.links.telemetry(),
                nic,
                nic_waits: &self.nic_waits,
                meets: self.links.meets(),
            };
            self.nic_waits[nic as usize] =
                self.nic
                    .send(flows, sends, (discipline, place), &known, self.now);
            let squares = self.links.squares();
            for flow in flows.iter_mut() {
                flow.arrive(&mut self.lanes, squares);
            }
            if let Some((chances, late)) = self.links.lateness() {
                flows.iter().for_each(|flow| flow.come_late(chances, late));
            }
            true
        });
        self.busy = busy;
    }

    /// Of flows of `host` that is acked which has left the last links in the step before: ACKs are on the links of the way
    /// back in the step after this one, about half a round trip later. Flows end whose last byte has come.
    fn deliver(&mut self, host: u32, ended: &mut Vec<(usize, f64)>) {
        let over = self.now - 1;
        let ack = self.settings.format.ack.get() as f64 / self.settings.wire.full() as f64;
        let to_ack = self.settings.fct_ends == FctEnds::Ack;
        let flows = &mut self.hosts[host as usize];
        let mut number = 0;
        while let Some(flow) = flows.get_mut(number) {
            let bytes = flow.deliver(&self.lanes, over) * ack;
            if bytes > 0.0 {
                let way = flow.way();
                self.links.add_nic_acks(way.nic, self.now, bytes);
                for &queue in &way.back {
                    self.lanes.add_acks(queue, self.now, bytes);
                }
            }
            let Some(end) = flow.ends(to_ack, &self.lanes, &self.links.meets(), over) else {
                number += 1;
                continue;
            };
            let more = (end - flow.start - flow.way().alone).max(0.0);
            ended.push((flow.index, more * self.step_s));
            for hop in &flow.way().there {
                self.links
                    .leave((hop.link, host), (hop.queue, hop.lane), &mut self.lanes);
            }
            flows.swap_remove(number);
            self.active -= 1;
        }
    }
}
