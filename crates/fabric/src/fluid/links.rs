//! The links beyond NICs: each divides its rate among its queues, where ACKs wait beside data.

use std::ops::Range;

use fctlab_core::SpecError;
use fctlab_link::Backlog;
use fctlab_link::Inside;
use fctlab_link::queues::{Discipline, Sharing};

use super::chance::Chance;
use super::fair::Fair;
use super::flow::Meets;
use super::lanes::{Lanes, Marks, Service};
use super::ports::Ports;
use super::priority::{Class, ROUNDING, by_priority};
use super::telemetry::Telemetry;
use crate::network::Fabric;

/// A link. Times are in steps.
#[derive(Debug)]
struct Link {
    /// Its queues.
    lanes: Range<u32>,
    /// Bytes that it sends in a step.
    capacity: f64,
    /// Flows under way that pass it, and whether it is among those that are served.
    flows: u32,
    is_listed: bool,
    /// Bytes that may wait.
    buffer: f64,
    /// Its discipline, and whether flows have a queue each.
    discipline: u32,
    is_fair: bool,
    /// By what bytes are marked, and whether all that waits counts for that or a queue.
    marks: Marks,
    marks_by_port: bool,
}

/// What serving a layer tells.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layer {
    /// Whether something waits.
    pub waits: bool,
    /// The longest wait, in steps, about.
    pub longest: f64,
}

/// Bytes of ACKs that come in this step, and in the next one.
#[derive(Debug)]
struct Acks {
    now: Vec<f64>,
    next: Vec<f64>,
}

impl Acks {
    fn new(places: usize) -> Self {
        Acks {
            now: vec![0.0; places],
            next: vec![0.0; places],
        }
    }

    #[inline]
    fn add(&mut self, place: u32, bytes: f64) {
        self.next[place as usize] += bytes;
    }

    fn begin(&mut self) {
        std::mem::swap(&mut self.now, &mut self.next);
        self.next.fill(0.0);
    }
}

/// All links, by number; NICs have no queues.
#[derive(Debug)]
pub(super) struct Links {
    links: Vec<Link>,
    disciplines: Vec<Discipline>,
    /// The place of the class of each flow in a discipline with classes.
    classes: Vec<Vec<u16>>,
    /// The places of links, and at each place those that flows under way pass.
    places: Vec<u32>,
    listed: Vec<Vec<u32>>,
    /// Bytes of ACKs that come to each queue, and to each NIC, by its number.
    acks: Acks,
    nic_acks: Acks,
    /// How busy each link is.
    chances: Vec<Chance>,
    /// The flows at links that serve them fairly, where there are any.
    fair: Option<Fair>,
    /// Where a link serves by priority: by queue, bytes that come in this step times how late one may be, in steps.
    late: Option<Vec<f64>>,
    /// Where flows send in trains: by link, the squares of what they bring in this step, in bytes.
    trains: Option<Vec<f64>>,
    /// Bytes of a full packet.
    packet: f64,
    demands: Vec<f64>,
    served: Vec<f64>,
    /// Bytes that waited at each link when a step ended, all steps together.
    waited: Vec<f64>,
    /// What they write into packets, if they do.
    telemetry: Option<Telemetry>,
}

impl Links {
    /// The links of `fabric`, whose `places` are known, with their empty queues.
    pub(super) fn new(
        fabric: &Fabric,
        ports: Ports,
        places: Vec<u32>,
        (packet, step_s): (f64, f64),
    ) -> (Self, Lanes) {
        let deepest = places.iter().copied().max().unwrap_or(0);
        let mut marks = Vec::new();
        let mut links = Vec::with_capacity(places.len());
        for (id, (port, &place)) in ports.of_link.iter().zip(&places).enumerate() {
            let first = marks.len();
            let discipline = &ports.disciplines[port.discipline as usize];
            let lanes = match (place, &discipline.sharing) {
                (0, _) => 0,
                (_, Sharing::One) => 1,
                (_, Sharing::Weights(weights)) => weights.len(),
                (_, Sharing::Priority) => ports.classes[port.discipline as usize].len(),
            };
            marks.resize(first + lanes, port.marks);
            links.push(Link {
                lanes: first as u32..(first + lanes) as u32,
                capacity: fabric.links[id].rate.bytes_per_s() * step_s,
                flows: 0,
                is_listed: false,
                buffer: port.buffer,
                discipline: port.discipline,
                is_fair: place > 0 && discipline.inside == Inside::Fq,
                marks: port.marks,
                marks_by_port: port.marks_by_port,
            });
        }
        let nics = fabric.nics.iter().map(|&nic| links[nic as usize].capacity);
        let nic = nics.fold(0.0, f64::max);
        let chance = |link: &Link| Chance::new(packet, packet / link.capacity, link.capacity / nic);
        let by_priority = |port: &Discipline| port.sharing == Sharing::Priority;
        let has_priority = ports.disciplines.iter().any(by_priority);
        let has_fair = links.iter().any(|link| link.is_fair);
        let links = Links {
            fair: has_fair.then(|| Fair::new(marks.len())),
            late: has_priority.then(|| vec![0.0; marks.len()]),
            trains: None,
            chances: links.iter().map(chance).collect(),
            waited: vec![0.0; links.len()],
            links,
            disciplines: ports.disciplines,
            classes: ports.classes,
            acks: Acks::new(marks.len()),
            nic_acks: Acks::new(places.len()),
            places,
            listed: vec![Vec::new(); deepest as usize + 1],
            packet,
            demands: Vec::new(),
            served: Vec::new(),
            telemetry: None,
        };
        (links, Lanes::new(&marks))
    }

    /// From now on they write into packets what they have sent and what waits.
    pub(super) fn tell(&mut self) {
        self.telemetry = Some(Telemetry::new(self.links.len()));
    }

    /// From now on flows send in trains.
    pub(super) fn expect_trains(&mut self) {
        self.trains = Some(vec![0.0; self.links.len()]);
    }

    /// By link, the squares of what flows bring in this step, where that are trains.
    pub(super) fn trains(&mut self) -> Option<&mut [f64]> {
        self.trains.as_deref_mut()
    }

    /// What they have written.
    pub(super) fn telemetry(&self) -> Option<&Telemetry> {
        self.telemetry.as_ref()
    }

    /// Keeps of that at least the last `steps` steps, the last of which is `now`.
    pub(super) fn keep(&mut self, steps: u64, now: u64) {
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.keep(steps, now);
        }
    }

    /// How many layers of links there are, NICs included.
    pub(super) fn layers(&self) -> usize {
        self.listed.len()
    }

    /// Bytes that waited at each link when a step ended, all steps together.
    pub(super) fn waited(&self) -> &[f64] {
        &self.waited
    }

    /// The place of a link.
    pub(super) fn place(&self, link: u32) -> u32 {
        self.places[link as usize]
    }

    /// The queue of a link that is for `class`.
    pub(super) fn queue(&self, link: u32, class: u16) -> u32 {
        let Link {
            lanes, discipline, ..
        } = &self.links[link as usize];
        let place = match self.disciplines[*discipline as usize].sharing {
            Sharing::One => 0,
            _ => {
                let places = &self.classes[*discipline as usize];
                places.get(usize::from(class)).copied().unwrap_or(class)
            }
        };
        (lanes.start + u32::from(place)).min(lanes.end - 1)
    }

    /// The discipline of the port at the tail of `link`, and the place of each class in it.
    pub(super) fn discipline(&self, link: u32) -> (&Discipline, &[u16]) {
        let number = self.links[link as usize].discipline as usize;
        (&self.disciplines[number], &self.classes[number])
    }

    /// A flow that passes `link` starts.
    pub(super) fn join(&mut self, link: u32) {
        let known = &mut self.links[link as usize];
        known.flows += 1;
        if !std::mem::replace(&mut known.is_listed, true) {
            self.listed[self.places[link as usize] as usize].push(link);
        }
    }

    /// A flow of the class of `queue` starts after step `now`: the queue in which it waits at `link`, its own if the link is
    /// fair.
    pub(super) fn open(&mut self, (link, queue): (u32, u32), lanes: &mut Lanes, now: u64) -> u32 {
        let known = &self.links[link as usize];
        match &mut self.fair {
            Some(fair) if known.is_fair => {
                let lane = lanes.open(known.marks, now);
                fair.join(queue, lane);
                lane
            }
            _ => queue,
        }
    }

    /// A flow that passed `link`, where it waited in `lane`, has ended.
    pub(super) fn leave(&mut self, link: u32, (queue, lane): (u32, u32), lanes: &mut Lanes) {
        let known = &mut self.links[link as usize];
        known.flows -= 1;
        if let Some(fair) = &mut self.fair
            && known.is_fair
        {
            fair.leave(queue, lane);
            lanes.close(lane);
        }
    }

    /// The queues of the flows in `queue`, if they have any of their own.
    fn members(&self, queue: u32) -> &[u32] {
        self.fair.as_ref().map_or(&[], |fair| fair.members(queue))
    }

    /// All queues of a link.
    fn each_lane(&self, link: &Link) -> impl Iterator<Item = u32> {
        let queues = link.lanes.clone();
        let members = queues.clone().filter(|_| link.is_fair);
        queues.chain(members.flat_map(|queue| self.members(queue).iter().copied()))
    }

    /// So many bytes of ACKs come to `lane` in the next step.
    #[inline]
    pub(super) fn add_acks(&mut self, lane: u32, bytes: f64) {
        self.acks.add(lane, bytes);
    }

    /// So many come to `nic`, where they go before data; how long they wait is `nic::Waits`.
    #[inline]
    pub(super) fn add_nic_acks(&mut self, nic: u32, bytes: f64) {
        self.nic_acks.add(nic, bytes);
    }

    /// Nobody sends for a while.
    pub(super) fn skip(&mut self) {
        self.acks.next.fill(0.0);
        self.nic_acks.next.fill(0.0);
    }

    /// The next step begins.
    pub(super) fn begin(&mut self) {
        self.acks.begin();
        self.nic_acks.begin();
        if let Some(late) = &mut self.late {
            late.fill(0.0);
        }
        if let Some(trains) = &mut self.trains {
            trains.fill(0.0);
        }
    }

    /// What `nic` sends in this step, beside ACKs.
    #[inline]
    pub(super) fn nic_capacity(&self, nic: u32) -> f64 {
        (self.links[nic as usize].capacity - self.nic_acks.now[nic as usize]).max(0.0)
    }

    /// How long packets wait for each other, of which a fluid knows nothing.
    pub(super) fn meets(&self) -> Meets<'_> {
        Meets {
            chances: &self.chances,
            fair: self.fair.as_ref(),
        }
    }

    /// How long packets that meet by chance wait at each link, and where links serve by priority how late bytes come to their queues.
    pub(super) fn lateness(&mut self) -> Option<(&[Chance], &mut [f64])> {
        let late = self.late.as_mut()?;
        Some((&self.chances, late))
    }

    /// Bytes that wait at a link or come to it in this step, ACKs included; zero where nobody asks.
    fn offered(&self, id: u32, lanes: &Lanes) -> f64 {
        let link = &self.links[id as usize];
        match self.telemetry {
            Some(_) => self.each_lane(link).map(|lane| lanes.offered(lane)).sum(),
            None => 0.0,
        }
    }

    /// Of bytes that were `offered` to a link so many wait at the end of the step: it writes that into packets.
    fn write(&mut self, id: u32, now: u64, offered: f64, waiting: f64) {
        if let Some(telemetry) = &mut self.telemetry {
            let capacity = self.links[id as usize].capacity;
            let sent = (offered - waiting).min(capacity);
            telemetry.note(id, now, sent / capacity, waiting / capacity);
        }
    }

    /// Serves the links of a layer in the step that ends at `now`.
    ///
    /// # Errors
    /// More waits than a buffer holds.
    pub(super) fn serve(
        &mut self,
        layer: usize,
        lanes: &mut Lanes,
        now: u64,
    ) -> Result<Layer, Overflow> {
        let mut told = Layer::default();
        let mut listed = std::mem::take(&mut self.listed[layer]);
        let mut overflow = None;
        listed.retain(|&id| {
            let link = &self.links[id as usize];
            let capacity = link.capacity;
            for lane in link.lanes.clone() {
                lanes.add(lane, self.acks.now[lane as usize]);
            }
            let offered = self.offered(id, lanes);
            let comes: f64 = self.each_lane(link).map(|lane| lanes.comes(lane)).sum();
            let link = &mut self.links[id as usize];
            let chance = &mut self.chances[id as usize];
            chance.busy = comes / capacity;
            if let Some(trains) = &self.trains {
                chance.trains = trains[id as usize] / (self.packet * self.packet);
            }
            if link.lanes.len() == 1
                && !link.is_fair
                && lanes.passes(link.lanes.start, now, capacity)
            {
                link.is_listed = link.flows > 0;
                let is_listed = link.is_listed;
                if !is_listed {
                    chance.clear();
                }
                self.write(id, now, offered, 0.0);
                return is_listed;
            }
            let waits = self.serve_link(id, capacity, lanes, now);
            self.write(id, now, offered, waits);
            self.waited[id as usize] += waits;
            let link = &mut self.links[id as usize];
            if waits > 0.0 {
                told.waits = true;
                if waits > link.buffer {
                    overflow = Some(Overflow { link: id, now });
                }
                let oldest = |lane| now as f64 - lanes.came(lane, now as f64);
                let all = self.each_lane(&self.links[id as usize]).map(oldest);
                told.longest = all.fold(told.longest, f64::max);
            }
            let link = &mut self.links[id as usize];
            link.is_listed = link.flows > 0 || waits > 0.0;
            if waits > 0.0 || !link.is_listed {
                self.chances[id as usize].clear();
            }
            link.is_listed
        });
        self.listed[layer] = listed;
        overflow.map_or(Ok(told), Err)
    }

    /// Serves a link; returns what waits in the end.
    fn serve_link(&mut self, id: u32, capacity: f64, lanes: &mut Lanes, now: u64) -> f64 {
        let link = &self.links[id as usize];
        let all = link.lanes.clone();
        if all.len() == 1 && !link.is_fair {
            let lane = all.start;
            let service = Service {
                served: lanes.offered(lane).min(capacity),
                rate: capacity,
                port: None,
            };
            return lanes.serve(lane, now, &service);
        }
        let comes = self.each_lane(link).map(|lane| lanes.comes(lane));
        let rest = capacity - comes.sum::<f64>();
        if rest >= 0.0 && !self.each_lane(link).any(|lane| lanes.is_waiting(lane)) {
            self.each_lane(link)
                .for_each(|lane| lanes.pass(lane, now, rest));
            if let Some(fair) = &mut self.fair {
                all.for_each(|queue| fair.rest(queue));
            }
            return 0.0;
        }
        let waited = self.each_lane(link).map(|lane| lanes.waits(lane)).sum();
        let mut demands = std::mem::take(&mut self.demands);
        demands.clear();
        demands.extend(all.clone().map(|queue| {
            let flows = self.members(queue).iter();
            let flows = flows.map(|&lane| lanes.offered(lane)).sum::<f64>();
            lanes.offered(queue) + flows
        }));
        let mut shares = std::mem::take(&mut self.served);
        shares.clear();
        shares.resize(demands.len(), 0.0);
        self.share(link, capacity, lanes, &demands, &mut shares);
        let served: f64 = shares.iter().sum();
        let port = link.marks_by_port.then(|| Backlog {
            before: waited,
            after: demands.iter().sum::<f64>() - served,
        });
        let is_fair = link.is_fair;
        let in_order = self.disciplines[link.discipline as usize].sharing == Sharing::Priority;
        let each = all.zip(&shares).map(|(queue, &own)| {
            let service = Service {
                served: own,
                rate: own + capacity - served,
                port,
            };
            if is_fair {
                // A class that has its turn under strict priority has all of the link.
                let slot = self.packet / if in_order { capacity } else { own };
                self.serve_flows((queue, slot), &service, lanes, now)
            } else {
                lanes.serve(queue, now, &service)
            }
        });
        let waits = each.sum();
        (self.demands, self.served) = (demands, shares);
        waits
    }

    /// Divides `capacity` among the queues of classes, who could take as much as they `demand`.
    fn share(
        &self,
        link: &Link,
        capacity: f64,
        lanes: &Lanes,
        demands: &[f64],
        shares: &mut [f64],
    ) {
        let discipline = &self.disciplines[link.discipline as usize];
        if discipline.sharing != Sharing::Priority {
            return discipline.share(capacity, demands, shares);
        }
        let known = link.lanes.clone().zip(demands).map(|(queue, demand)| {
            let flows = self.members(queue).iter().map(|&lane| lanes.waits(lane));
            let waits = lanes.waits(queue) + flows.sum::<f64>();
            let comes = demand - waits;
            let late = self.late.as_ref().map_or(0.0, |late| late[queue as usize]);
            Class {
                waits,
                comes,
                late: late * capacity / comes.max(ROUNDING),
            }
        });
        let known: Vec<Class> = known.collect();
        by_priority(capacity, self.packet, &known, shares);
    }

    /// Serves the flows of a class, of which a packet takes a `slot`, and ACKs before them; returns what waits in the end.
    fn serve_flows(
        &mut self,
        (queue, slot): (u32, f64),
        service: &Service,
        lanes: &mut Lanes,
        now: u64,
    ) -> f64 {
        let Some(fair) = &mut self.fair else {
            return 0.0;
        };
        let more = service.rate - service.served;
        let one = |own: f64, could: f64| Service {
            served: own,
            rate: could + more,
            port: service.port,
        };
        let acks = lanes.offered(queue).min(service.served);
        let mut waits = lanes.serve(queue, now, &one(acks, service.served));
        let all = service.served - acks;
        let level = fair.level(queue, |lane| lanes.offered(lane), all);
        let mut busy = 0.0;
        for &lane in fair.members(queue) {
            let own = lanes.offered(lane).min(level);
            let could = if level < f64::INFINITY { level } else { own };
            let rest = lanes.serve(lane, now, &one(own, could));
            busy += own / level;
            waits += rest;
        }
        if level < f64::INFINITY {
            fair.note(queue, busy, level, slot);
        } else {
            fair.rest(queue);
        }
        waits
    }
}

/// More waits at a link than its buffer holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overflow {
    link: u32,
    now: u64,
}

impl Overflow {
    /// The same in words.
    pub(super) fn error(self, fabric: &Fabric, step_s: f64) -> SpecError {
        let message = format!(
            "is full at {} after {:.3e} s, and the fluid loses nothing; make it larger, or run the scenario with \
             engine = \"packet\"",
            fabric.port_name(self.link),
            self.now as f64 * step_s
        );
        SpecError::new("scheme.port.buffer", message)
    }
}
