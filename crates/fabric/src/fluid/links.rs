//! The links beyond NICs: each divides its rate among its queues, less what ACKs take.

use std::ops::Range;

use fctlab_core::SpecError;
use fctlab_link::Backlog;
use fctlab_link::queues::{Discipline, Sharing};

use super::lanes::{Lanes, Service};
use super::ports::Ports;
use crate::network::Fabric;

/// A link. Times are in steps.
#[derive(Debug)]
struct Link {
    /// Its queues.
    lanes: Range<u32>,
    /// Bytes that it sends in a step, and those of them that are ACKs in this one.
    capacity: f64,
    acks: f64,
    /// The step in which these were counted.
    acked_in: u64,
    /// Whether something waits or has come.
    is_busy: bool,
    /// Bytes that may wait.
    buffer: f64,
    /// Its discipline, and whether marks go by all that waits or by the queue of a class.
    discipline: u32,
    marks_by_port: bool,
}

/// All links, by number; NICs have no queues.
#[derive(Debug)]
pub(super) struct Links {
    links: Vec<Link>,
    disciplines: Vec<Discipline>,
    /// The place of the class of each flow in a discipline with classes.
    classes: Vec<Vec<u16>>,
    /// The places of links, and at each place those at which something waits or has come.
    places: Vec<u32>,
    busy: Vec<Vec<u32>>,
    demands: Vec<f64>,
    served: Vec<f64>,
}

impl Links {
    /// The links of `fabric`, whose `places` are known, with their empty queues.
    pub(super) fn new(
        fabric: &Fabric,
        ports: Ports,
        places: Vec<u32>,
        step_s: f64,
    ) -> (Self, Lanes) {
        let deepest = places.iter().copied().max().unwrap_or(0);
        let mut thresholds = Vec::new();
        let mut links = Vec::with_capacity(places.len());
        for (id, (port, &place)) in ports.of_link.iter().zip(&places).enumerate() {
            let first = thresholds.len();
            let lanes = match (place, &ports.disciplines[port.discipline as usize].sharing) {
                (0, _) => 0,
                (_, Sharing::One) => 1,
                (_, Sharing::Weights(weights)) => weights.len(),
                (_, Sharing::Priority) => ports.classes[port.discipline as usize].len(),
            };
            thresholds.resize(first + lanes, port.threshold);
            links.push(Link {
                lanes: first as u32..(first + lanes) as u32,
                capacity: fabric.links[id].rate.bytes_per_s() * step_s,
                acks: 0.0,
                acked_in: 0,
                is_busy: false,
                buffer: port.buffer,
                discipline: port.discipline,
                marks_by_port: port.marks_by_port,
            });
        }
        let links = Links {
            links,
            disciplines: ports.disciplines,
            classes: ports.classes,
            places,
            busy: vec![Vec::new(); deepest as usize + 1],
            demands: Vec::new(),
            served: Vec::new(),
        };
        (links, Lanes::new(&thresholds))
    }

    /// How many layers of links there are, NICs included.
    pub(super) fn layers(&self) -> usize {
        self.busy.len()
    }

    /// The place of a link.
    pub(super) fn place(&self, link: u32) -> u32 {
        self.places[link as usize]
    }

    /// The queue of a link in which flows of `class` wait.
    pub(super) fn lane(&self, link: u32, class: u16) -> u32 {
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

    /// So many bytes come to a queue of `link` in this step.
    pub(super) fn add(&mut self, link: u32, lane: u32, bytes: f64, lanes: &mut Lanes) {
        if bytes > 0.0 {
            lanes.add(lane, bytes);
            let known = &mut self.links[link as usize];
            if !std::mem::replace(&mut known.is_busy, true) {
                self.busy[self.places[link as usize] as usize].push(link);
            }
        }
    }

    /// ACKs that were sent in step `now` take so many bytes of what `link` sends in the next one.
    pub(super) fn add_acks(&mut self, link: u32, bytes: f64, now: u64) {
        let link = &mut self.links[link as usize];
        if link.acked_in != now {
            (link.acks, link.acked_in) = (0.0, now);
        }
        link.acks += bytes;
    }

    /// What `link` sends in the step that ends at `now`, beside ACKs.
    pub(super) fn capacity(&self, link: u32, now: u64) -> f64 {
        let link = &self.links[link as usize];
        let is_fresh = link.acked_in + 1 == now;
        let acks = if is_fresh { link.acks } else { 0.0 };
        (link.capacity - acks).max(0.0)
    }

    /// Serves the links of a layer in the step that ends at `now`; returns the longest wait, in steps, about.
    ///
    /// # Errors
    /// More waits than a buffer holds.
    pub(super) fn serve(
        &mut self,
        layer: usize,
        lanes: &mut Lanes,
        now: u64,
    ) -> Result<f64, Overflow> {
        let mut longest = 0.0f64;
        let mut busy = std::mem::take(&mut self.busy[layer]);
        let mut overflow = None;
        busy.retain(|&id| {
            let capacity = self.capacity(id, now);
            let waits = self.serve_link(id, capacity, lanes, now);
            let link = &mut self.links[id as usize];
            link.is_busy = waits > 0.0;
            if waits > link.buffer {
                overflow = Some(Overflow { link: id, now });
            }
            if link.is_busy {
                let oldest = |lane| now as f64 - lanes.came(lane, now as f64);
                longest = link.lanes.clone().map(oldest).fold(longest, f64::max);
            }
            link.is_busy
        });
        self.busy[layer] = busy;
        overflow.map_or(Ok(longest), Err)
    }
}

impl Links {
    /// Serves a link; returns what waits in the end.
    fn serve_link(&mut self, id: u32, capacity: f64, lanes: &mut Lanes, now: u64) -> f64 {
        let link = &self.links[id as usize];
        if link.lanes.len() == 1 {
            let lane = link.lanes.start;
            let service = Service {
                served: lanes.offered(lane).min(capacity),
                rate: capacity,
                port: None,
            };
            return lanes.serve(lane, now, &service);
        }
        let all = link.lanes.clone();
        self.demands.clear();
        self.demands
            .extend(all.clone().map(|lane| lanes.offered(lane)));
        self.served.clear();
        self.served.resize(self.demands.len(), 0.0);
        let discipline = &self.disciplines[link.discipline as usize];
        discipline.share(capacity, &self.demands, &mut self.served);
        let served: f64 = self.served.iter().sum();
        let port = link.marks_by_port.then(|| Backlog {
            before: all.clone().map(|lane| lanes.waits(lane)).sum(),
            after: self.demands.iter().sum::<f64>() - served,
        });
        let each = all.zip(&self.served).map(|(lane, &own)| {
            let service = Service {
                served: own,
                rate: own + capacity - served,
                port,
            };
            lanes.serve(lane, now, &service)
        });
        each.sum()
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
