//! A layer of links serves its queues: each link divides its rate among classes, and a fair one among the flows of each.

use std::ops::Range;

use fctlab_link::Backlog;
use fctlab_link::queues::{Discipline, Sharing};

use super::super::chance::Chance;
use super::super::clock::end_of;
use super::super::lanes::{Lanes, Service};
use super::super::priority::{Class, ROUNDING, by_priority};
use super::{Link, Links, Overflow};

/// How a link that is not fast enough divides a step among classes.
#[derive(Debug, Default)]
pub(super) struct Split {
    /// Bytes that come to them in the step, those that they could take, and those that they get.
    comes: Vec<f64>,
    demands: Vec<f64>,
    shares: Vec<f64>,
    /// What they would get if one of them could take more.
    others: Vec<f64>,
    /// What waits in the end.
    waits: Vec<f64>,
}

impl Split {
    /// What comes to the classes, and what waits before.
    fn take(&mut self, classes: impl Iterator<Item = (f64, f64)>) {
        self.comes.clear();
        self.demands.clear();
        for (comes, waits) in classes {
            self.comes.push(comes);
            self.demands.push(comes + waits);
        }
    }

    /// What packets of each class meet by chance, where something waits: one of a class of which nothing does goes before all
    /// others, but under strict priority not before the classes above.
    fn meet<'a>(
        &self,
        capacity: f64,
        in_order: bool,
        chances: impl Iterator<Item = &'a mut Chance>,
    ) {
        let mut above = 0.0;
        let classes = self.comes.iter().zip(&self.waits);
        for ((comes, &waits), chance) in classes.zip(chances) {
            let own = comes / capacity;
            if waits > 0.0 {
                chance.queues();
            } else {
                chance.goes_before(above + own);
            }
            if in_order {
                above += own;
            }
        }
    }

    /// What a class could have sent, had more of it come.
    fn could(&mut self, discipline: &Discipline, capacity: f64, class: usize) -> f64 {
        match discipline.sharing {
            Sharing::One => capacity,
            Sharing::Priority => capacity - self.shares[..class].iter().sum::<f64>(),
            Sharing::Weights(_) => {
                self.others.clone_from(&self.shares);
                let demand = std::mem::replace(&mut self.demands[class], f64::INFINITY);
                discipline.share(capacity, &self.demands, &mut self.others);
                self.demands[class] = demand;
                self.others[class]
            }
        }
    }
}

impl Links {
    /// Bytes that wait at a link or come to it in this step, ACKs included; zero where nobody asks.
    fn offered(&self, id: u32, lanes: &Lanes) -> f64 {
        let link = &self.links[id as usize];
        match self.telemetry {
            Some(_) => self.each_lane(link).map(|lane| lanes.offered(lane)).sum(),
            None => 0.0,
        }
    }

    /// ACKs come in the step that ends at `now`; all that comes to a link, with them.
    #[inline]
    fn take(&self, link: &Link, lanes: &mut Lanes, now: u64) -> f64 {
        let queues = link.lanes.clone();
        let mut all = queues
            .clone()
            .map(|queue| lanes.take_acks(queue, now))
            .sum();
        if link.is_fair {
            let flows = queues.flat_map(|queue| self.members(queue));
            flows.for_each(|&lane| all += lanes.comes(lane));
        }
        all
    }

    /// What packets have met at a link by chance on the mean, in bytes, if anybody asks.
    #[inline]
    fn met(&self, id: u32) -> f64 {
        let first = self.links[id as usize].lanes.start;
        let asked = self.telemetry.is_some();
        if asked {
            self.chances[first as usize].queue()
        } else {
            0.0
        }
    }

    /// Of bytes that were `offered` to a link so many wait at the end of the step: it writes that into packets, or what packets have
    /// `met` there by chance where that is more.
    fn write(&mut self, id: u32, now: u64, offered: f64, waiting: f64, met: f64) {
        if let Some(telemetry) = &mut self.telemetry {
            let capacity = self.links[id as usize].capacity;
            let sent = (offered - waiting).min(capacity);
            telemetry.note(id, now, sent / capacity, waiting.max(met) / capacity);
        }
    }

    /// Serves the links of a layer in the step that ends at `now`; returns the longest wait, in steps, about.
    ///
    /// # Errors
    /// More waits than a buffer holds.
    pub(in super::super) fn serve(
        &mut self,
        layer: usize,
        lanes: &mut Lanes,
        now: u64,
    ) -> Result<f64, Overflow> {
        let mut longest = 0.0;
        let is_last = layer + 1 == self.layers();
        self.held.clear();
        let mut listed = std::mem::take(&mut self.listed[layer]);
        let mut overflow = None;
        listed.retain(|&id| {
            let link = &self.links[id as usize];
            let (capacity, only) = (link.capacity, link.only_queue());
            let comes = self.take(link, lanes, now);
            let offered = self.offered(id, lanes);
            let squares = std::mem::take(&mut self.squares[id as usize]);
            self.chances_of(id)
                .for_each(|chance| chance.has_room(comes / capacity, squares));
            let met = self.met(id);
            let link = &mut self.links[id as usize];
            if let Some(queue) = only
                && lanes.passes(queue, now, capacity)
            {
                link.is_listed = !link.senders.is_empty();
                let is_listed = link.is_listed;
                if !is_listed {
                    self.chances[queue as usize].clear();
                }
                self.write(id, now, offered, 0.0, met);
                return is_listed;
            }
            let waits = self.serve_link(id, capacity, lanes, now);
            self.write(id, now, offered, waits, met);
            self.waited[id as usize] += waits;
            let link = &mut self.links[id as usize];
            if waits > 0.0 {
                if !is_last {
                    self.held.extend(&link.senders);
                }
                if waits > link.buffer {
                    overflow = Some(Overflow {
                        link: id,
                        now,
                        waits,
                        buffer: link.buffer,
                    });
                }
                let oldest = |lane| end_of(now) - lanes.came(lane, end_of(now));
                let all = self.each_lane(&self.links[id as usize]).map(oldest);
                longest = all.fold(longest, f64::max);
            }
            let link = &mut self.links[id as usize];
            link.is_listed = waits > 0.0 || !link.senders.is_empty();
            let is_listed = link.is_listed;
            if !is_listed {
                self.chances_of(id).for_each(Chance::clear);
            }
            is_listed
        });
        self.listed[layer] = listed;
        self.held.sort_unstable();
        self.held.dedup();
        overflow.map_or(Ok(longest), Err)
    }

    /// What packets meet by chance at a link, by queue.
    #[inline]
    fn chances_of(&mut self, id: u32) -> impl Iterator<Item = &mut Chance> {
        let Range { start, end } = self.links[id as usize].lanes;
        self.chances[start as usize..end as usize].iter_mut()
    }

    /// Serves a link; returns what waits in the end.
    fn serve_link(&mut self, id: u32, capacity: f64, lanes: &mut Lanes, now: u64) -> f64 {
        let link = &self.links[id as usize];
        let all = link.lanes.clone();
        if let Some(lane) = link.only_queue() {
            let service = Service {
                served: lanes.offered(lane).min(capacity),
                rate: capacity,
                port: None,
            };
            let waits = lanes.serve(lane, now, &service);
            if waits > 0.0 {
                self.chances[lane as usize].queues();
            }
            return waits;
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
        let mut split = std::mem::take(&mut self.split);
        split.take(all.clone().map(|queue| {
            let flows = self.members(queue).iter();
            flows.fold((lanes.comes(queue), lanes.waits(queue)), |all, &lane| {
                (all.0 + lanes.comes(lane), all.1 + lanes.waits(lane))
            })
        }));
        self.share(link, capacity, lanes, &mut split);
        let (discipline, is_fair) = (link.discipline as usize, link.is_fair);
        let port = link.marks_by_port.then(|| Backlog {
            before: waited,
            after: split.demands.iter().sum::<f64>() - split.shares.iter().sum::<f64>(),
        });
        let in_order = self.disciplines[discipline].sharing == Sharing::Priority;
        split.waits.clear();
        for (class, queue) in all.enumerate() {
            let service = Service {
                served: split.shares[class],
                rate: split.could(&self.disciplines[discipline], capacity, class),
                port,
            };
            let waits = if is_fair {
                // A class that has its turn under strict priority has all of the link.
                let rate = if in_order { capacity } else { service.served };
                self.serve_flows((queue, self.packet / rate), &service, lanes, now)
            } else {
                lanes.serve(queue, now, &service)
            };
            split.waits.push(waits);
        }
        let waits = split.waits.iter().sum();
        if waits > 0.0 {
            split.meet(capacity, in_order, self.chances_of(id));
        }
        self.split = split;
        waits
    }

    /// Divides `capacity` among the queues of classes.
    fn share(&self, link: &Link, capacity: f64, lanes: &Lanes, split: &mut Split) {
        let Split {
            demands, shares, ..
        } = split;
        shares.clear();
        shares.resize(demands.len(), 0.0);
        let discipline = &self.disciplines[link.discipline as usize];
        if discipline.sharing != Sharing::Priority {
            return discipline.share(capacity, demands, shares);
        }
        let known = link.lanes.clone().zip(demands).map(|(queue, &mut demand)| {
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

#[cfg(test)]
mod tests {
    use fctlab_link::Inside;

    use super::*;

    #[test]
    fn a_class_could_take_what_those_below_it_do() {
        let could = |sharing: Sharing, demands: [f64; 2]| {
            let discipline = Discipline {
                sharing,
                inside: Inside::Fifo,
                always_backlogged: 0.0,
            };
            let mut split = Split {
                demands: demands.into(),
                shares: vec![0.0; 2],
                ..Split::default()
            };
            discipline.share(10.0, &demands, &mut split.shares);
            [0, 1].map(|class| split.could(&discipline, 10.0, class))
        };
        assert_eq!(could(Sharing::Priority, [3.0, 20.0]), [10.0, 7.0]);
        let weights = || Sharing::Weights(vec![4.0, 1.0]);
        assert_eq!(could(weights(), [3.0, 20.0]), [8.0, 7.0]);
        assert_eq!(could(weights(), [20.0, 20.0]), [8.0, 2.0]);
        assert_eq!(could(weights(), [3.0, 1.0]), [9.0, 7.0]);
    }
}
