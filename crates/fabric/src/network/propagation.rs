//! How long links take: one delay for all, from a base RTT or as written, or each link its own.

use std::collections::HashMap;

use fctlab_core::{Duration, PacketFormat, SpecError};

use super::topology::{Delays, Graph, Includes};
use super::{Fabric, Node};

/// The delay of each cable by its ends, where cables have delays of their own.
pub(super) fn own_delays(
    graph: &Graph,
    delays: &[Option<Duration>],
) -> HashMap<(Node, Node), (usize, Option<Duration>)> {
    let ends = |(i, (cable, delay)): (usize, (&super::Cable, &Option<Duration>))| {
        ((cable.a, cable.b), (i, *delay))
    };
    graph
        .cables
        .iter()
        .zip(delays)
        .enumerate()
        .map(ends)
        .collect()
}

impl Fabric {
    /// Gives each link its own delay, or `link_delay`; the base RTT is that of the slowest pair.
    pub(super) fn set_own_delays(
        &mut self,
        own: &HashMap<(Node, Node), (usize, Option<Duration>)>,
        delays: &Delays,
        format: &PacketFormat,
    ) -> Result<(), SpecError> {
        if delays.base_rtt.is_some() {
            let message = "has no meaning where links have delays; it follows from them";
            return Err(SpecError::new("base_rtt", message));
        }
        for link in &mut self.links {
            let known = own
                .get(&(link.from, link.to))
                .or(own.get(&(link.to, link.from)));
            let &(number, written) = known.unwrap_or(&(0, None));
            let Some(delay) = written.or(delays.link_delay) else {
                let message = "is missing; write it, or topology.link_delay for all";
                return Err(SpecError::new(format!("links[{number}].delay"), message));
            };
            let at_host = link.from < self.hosts || link.to < self.hosts;
            link.delay = if at_host {
                delay + delays.host_delay
            } else {
                delay
            };
        }
        self.base_rtt = self.slowest(format);
        Ok(())
    }

    /// The longest time that a full packet and its ACK take between two hosts when nothing waits.
    fn slowest(&self, format: &PacketFormat) -> Duration {
        // There and back over a cable.
        let over = |link: u32| {
            let link = &self.links[link as usize];
            let there = link.rate.transmission_time(format.full());
            there + link.rate.transmission_time(format.ack.get()) + link.delay * 2
        };
        // The slowest two hosts of each switch, which may be the ends of a path inside it.
        let mut racks: HashMap<Node, (Node, Vec<Duration>)> = HashMap::new();
        for (host, &switch) in (0u32..).zip(&self.switch_of) {
            let rack = racks
                .entry(switch - self.hosts)
                .or_insert((host, Vec::new()));
            rack.1.push(over(self.nics[host as usize]));
        }
        let mut slowest = Duration::ZERO;
        for (&last, (dst, hosts)) in &racks {
            let mut hosts = hosts.clone();
            hosts.sort_unstable_by(|a, b| b.cmp(a));
            if let [first, second, ..] = hosts[..] {
                slowest = slowest.max(first + second);
            }
            let mut known = HashMap::from([(last, Duration::ZERO)]);
            for (&from, (_, others)) in racks.iter().filter(|(from, _)| **from != last) {
                let between = self.between(from, *dst, &over, &mut known);
                let other = others.iter().copied().max().unwrap_or_default();
                slowest = slowest.max(other + between + hosts[0]);
            }
        }
        slowest
    }

    /// The slowest shortest path from a switch to that of host `dst`.
    fn between(
        &self,
        switch: u32,
        dst: Node,
        over: &dyn Fn(u32) -> Duration,
        known: &mut HashMap<u32, Duration>,
    ) -> Duration {
        if let Some(known) = known.get(&switch) {
            return *known;
        }
        let mut slowest = Duration::ZERO;
        for &port in self.routes.toward(switch, dst) {
            let next = self.links[port as usize].to - self.hosts;
            slowest = slowest.max(over(port) + self.between(next, dst, over, known));
        }
        known.insert(switch, slowest);
        slowest
    }

    /// Gives all links one delay.
    pub(super) fn set_delays(
        &mut self,
        delays: &Delays,
        format: &PacketFormat,
    ) -> Result<(), SpecError> {
        let longest = self.routes.longest_path(self);
        let transmissions: Duration = longest.iter().fold(Duration::ZERO, |sum, &link| {
            let rate = self.links[link as usize].rate;
            let ack = rate.transmission_time(format.ack.get());
            sum + rate.transmission_time(format.full()) + ack
        });
        let in_hosts = delays.host_delay * 4;
        let link_delay = match (delays.base_rtt, delays.link_delay) {
            (None, Some(delay)) => delay,
            (Some(base), None) => {
                let least = match base.includes {
                    Includes::Transmission => in_hosts + transmissions,
                    Includes::Propagation => in_hosts,
                };
                if base.value < least {
                    let message = format!(
                        "{} is less than transmissions and host delays take ({})",
                        base.value,
                        least.rounded()
                    );
                    return Err(SpecError::new("base_rtt", message));
                }
                let rest = base.value - least;
                Duration::from_ps(rest.ps() / (2 * longest.len() as u64))
            }
            (None, None) => {
                return Err(SpecError::new(
                    "base_rtt",
                    "is missing; give base_rtt or link_delay",
                ));
            }
            (Some(_), Some(_)) => {
                let message = "has no meaning beside base_rtt; give one of the two";
                return Err(SpecError::new("link_delay", message));
            }
        };
        for link in &mut self.links {
            let at_host = link.from < self.hosts || link.to < self.hosts;
            link.delay = if at_host {
                link_delay + delays.host_delay
            } else {
                link_delay
            };
        }
        let propagation = longest.iter().map(|&l| self.links[l as usize].delay);
        self.base_rtt = propagation.fold(transmissions, |sum, delay| sum + delay * 2);
        Ok(())
    }
}
