//! A layer of links serves its queues: each link divides its rate among classes, and a fair one among the flows of each.

use fctlab_link::Backlog;
use fctlab_link::queues::Sharing;

use super::super::lanes::{Lanes, Service};
use super::super::priority::{Class, ROUNDING, by_priority};
use super::{Layer, Link, Links, Overflow};

impl Links {
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
    pub(in super::super) fn serve(
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
