//! The links beyond NICs: each divides its rate among its queues, where ACKs wait beside data.

mod serving;

use std::ops::Range;

use fctlab_core::SpecError;
use fctlab_link::Inside;
use fctlab_link::queues::{Discipline, Sharing};

use self::serving::Split;
use super::acks::Acks;
use super::chance::{Chance, Squares};
use super::clock::end_of;
use super::fair::Fair;
use super::flow::Meets;
use super::lanes::{Lanes, Marks};
use super::ports::Ports;
use super::telemetry::Telemetry;
use crate::network::Fabric;
use crate::prepared::Prepared;

/// A link. Times are in steps.
#[derive(Debug)]
struct Link {
    /// Its queues.
    lanes: Range<u32>,
    /// Bytes that it sends in a step.
    capacity: f64,
    /// The senders of the flows under way that pass it, and whether it is among those that are served.
    senders: Vec<u32>,
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

impl Link {
    /// Its queue, if it has but one for all flows.
    #[inline]
    fn only_queue(&self) -> Option<u32> {
        (self.lanes.len() == 1 && !self.is_fair).then_some(self.lanes.start)
    }
}

/// All links, by number; NICs have no queues.
#[derive(Debug)]
pub(super) struct Links {
    links: Vec<Link>,
    disciplines: Vec<Discipline>,
    /// The place of the class of each flow in a discipline with classes.
    classes: Vec<Vec<u16>>,
    /// The places of links, and at each place those that flows under way pass, in order: as they are in memory.
    places: Vec<u32>,
    listed: Vec<Vec<u32>>,
    /// Who sends over those of the last layer that was served where something waits.
    held: Vec<u32>,
    /// Those that come to NICs, by the number of their link.
    nic_acks: Vec<Acks>,
    /// How busy each link is, as each of its queues finds it.
    chances: Vec<Chance>,
    /// The flows at links that serve them fairly, where there are any.
    fair: Option<Fair>,
    /// Where a link serves by priority: by queue, bytes that come in this step times how late one may be, in steps.
    late: Option<Vec<f64>>,
    /// By link, the squares of what flows bring in this step.
    squares: Vec<Squares>,
    /// Bytes of a full packet.
    packet: f64,
    split: Split,
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
                senders: Vec::new(),
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
        let window = nic / step_s * fabric.base_rtt.as_secs_f64() / packet;
        let chances = links.iter().flat_map(|link| {
            let slot = packet / link.capacity;
            let one = Chance::new(packet, slot, link.capacity / nic, window);
            link.lanes.clone().map(move |_| one)
        });
        let by_priority = |port: &Discipline| port.sharing == Sharing::Priority;
        let has_priority = ports.disciplines.iter().any(by_priority);
        let has_fair = links.iter().any(|link| link.is_fair);
        let links = Links {
            fair: has_fair.then(|| Fair::new(marks.len())),
            late: has_priority.then(|| vec![0.0; marks.len()]),
            squares: vec![Squares::default(); links.len()],
            chances: chances.collect(),
            waited: vec![0.0; links.len()],
            links,
            disciplines: ports.disciplines,
            classes: ports.classes,
            nic_acks: vec![Acks::default(); places.len()],
            places,
            listed: vec![Vec::new(); deepest as usize + 1],
            held: Vec::new(),
            packet,
            split: Split::default(),
            telemetry: None,
        };
        (links, Lanes::new(&marks))
    }

    /// From now on they write into packets what they have sent and what waits.
    pub(super) fn tell(&mut self) {
        self.telemetry = Some(Telemetry::new(self.links.len()));
    }

    /// From now on flows send nothing but trains.
    pub(super) fn expect_trains(&mut self) {
        self.chances.iter_mut().for_each(Chance::expect_trains);
    }

    /// By link, the squares of what flows bring in this step.
    pub(super) fn squares(&mut self) -> &mut [Squares] {
        &mut self.squares
    }

    /// What they have written.
    pub(super) fn telemetry(&self) -> Option<&Telemetry> {
        self.telemetry.as_ref()
    }

    /// Keeps of that at least the last `steps` steps from now on.
    pub(super) fn keep(&mut self, steps: u64) {
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.keep(steps);
        }
    }

    /// How many layers of links there are, NICs included.
    pub(super) fn layers(&self) -> usize {
        self.listed.len()
    }

    /// Who sends over links of the layer that was served last at which something waits, in order; nobody where no links are
    /// behind it.
    pub(super) fn held(&self) -> &[u32] {
        &self.held
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

    /// A flow of host `sender` that passes `link` starts.
    pub(super) fn join(&mut self, link: u32, sender: u32) {
        let known = &mut self.links[link as usize];
        known.senders.push(sender);
        if !std::mem::replace(&mut known.is_listed, true) {
            let listed = &mut self.listed[self.places[link as usize] as usize];
            let place = listed.partition_point(|&other| other < link);
            listed.insert(place, link);
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

    /// A flow of host `sender` that passed `link`, where it waited in `lane`, has ended.
    pub(super) fn leave(
        &mut self,
        (link, sender): (u32, u32),
        (queue, lane): (u32, u32),
        lanes: &mut Lanes,
    ) {
        let known = &mut self.links[link as usize];
        if let Some(place) = known.senders.iter().position(|&each| each == sender) {
            known.senders.swap_remove(place);
        }
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

    /// The next step begins.
    pub(super) fn begin(&mut self) {
        if let Some(late) = &mut self.late {
            late.fill(0.0);
        }
    }

    /// So many bytes of ACKs come to `nic` in the step after `now`, where they go before data; how long they wait is
    /// `nic::Waits`.
    #[inline]
    pub(super) fn add_nic_acks(&mut self, nic: u32, now: u64, bytes: f64) {
        self.nic_acks[nic as usize].add(now, bytes);
    }

    /// What `nic` sends in the step that ends at `now`, beside ACKs.
    #[inline]
    pub(super) fn nic_capacity(&self, nic: u32, now: u64) -> f64 {
        (self.links[nic as usize].capacity - self.nic_acks[nic as usize].come(now)).max(0.0)
    }

    /// How long packets wait for each other, of which a fluid knows nothing.
    pub(super) fn meets(&self) -> Meets<'_> {
        Meets {
            chances: &self.chances,
            fair: self.fair.as_ref(),
        }
    }

    /// How long packets that meet by chance wait at each link, by queue, and where links serve by priority how late bytes come to their queues.
    pub(super) fn lateness(&mut self) -> Option<(&[Chance], &mut [f64])> {
        let late = self.late.as_mut()?;
        Some((&self.chances, late))
    }
}

/// More waits at a link than its buffer holds, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overflow {
    link: u32,
    now: u64,
    waits: f64,
    buffer: f64,
}

impl Overflow {
    /// The same in words, at the key that says what the buffer holds.
    pub(super) fn error(self, prepared: &Prepared, step_s: f64) -> SpecError {
        let Overflow {
            link,
            now,
            waits,
            buffer,
        } = self;
        let (fabric, scheme) = (&prepared.fabric, &prepared.scenario.scheme);
        let places = scheme.places(fabric).unwrap_or_default();
        let place = places.iter().find(|place| place.links.contains(&link));
        let key = place.map_or("port", |place| &place.key);
        let message = format!(
            "is full at {} after {:.3e} s: {waits:.0} bytes wait where {buffer:.0} fit, and the fluid loses nothing; make it \
             larger, or run the scenario with engine = \"packet\"",
            fabric.port_name(link),
            end_of(now) * step_s
        );
        SpecError::new(format!("scheme.{key}.buffer"), message)
    }
}
