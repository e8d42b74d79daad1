//! The network: a graph of hosts, switches and links, and what follows from it.
//!
//! A [`topology`] is a graph. From it follow the ports ([`Fabric::links`], one per direction of a
//! cable), delays and the base RTT, shortest paths and the choice among them ([`routing`]), what is
//! available of links over time ([`capacity`]) and ideal completion times ([`ideal`]).

pub mod capacity;
pub mod ideal;
pub mod routing;
pub mod topology;

use std::sync::Arc;

use fctlab_core::units::grouped;
use fctlab_core::{Duration, PacketFormat, Rate, SpecError, spec};
use fctlab_workload::HostLayout;

use self::capacity::Schedule;
use self::routing::Routes;
use self::topology::{Cable, Delays, Graph, Includes};

/// A host or switch. Hosts come first: node `h` is host `h`.
pub type Node = u32;

/// One direction of a cable: the port at its tail and the wire behind it.
#[derive(Clone, Debug)]
pub struct Link {
    /// The node that sends.
    pub from: Node,
    /// The node that receives.
    pub to: Node,
    /// Rate.
    pub rate: Rate,
    /// Propagation delay, delays inside hosts included.
    pub delay: Duration,
    /// What is available of the rate over time, where that is not all of it.
    pub schedule: Option<Arc<Schedule>>,
}

/// A fabric: a graph with delays, its ports numbered.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// Number of hosts: nodes `0..hosts`.
    pub hosts: u32,
    /// Names of the switches: nodes `hosts..`.
    pub switches: Vec<String>,
    /// The links; a link's number is also that of the port that feeds it. The
    /// NIC of host `h` is link `nics[h]`.
    pub links: Vec<Link>,
    /// The NIC of each host.
    pub nics: Vec<u32>,
    /// The switch of each host.
    pub switch_of: Vec<Node>,
    /// The one receiver, on topologies that have one.
    pub sink: Option<Node>,
    /// Shortest paths.
    pub routes: Routes,
    /// Base RTT with transmissions.
    pub base_rtt: Duration,
}

impl Fabric {
    /// The ports of a graph, with its delays.
    ///
    /// # Errors
    /// Too many hosts, or delays that do not fit each other, with the path of the key.
    pub(crate) fn new(
        graph: Graph,
        delays: &Delays,
        format: &PacketFormat,
    ) -> Result<Self, SpecError> {
        let Graph {
            hosts,
            switches,
            cables,
            sink,
        } = graph;
        if hosts > u32::from(u16::MAX) {
            let message = format!(
                "{} hosts; at most {}",
                grouped(hosts.into()),
                grouped(u16::MAX.into())
            );
            return Err(SpecError::new("", message));
        }
        let mut links = Vec::with_capacity(cables.len() * 2);
        let mut nics = vec![u32::MAX; hosts as usize];
        let mut switch_of = vec![u32::MAX; hosts as usize];
        for Cable { a, b, rate } in cables {
            for (from, to) in [(a, b), (b, a)] {
                if from < hosts {
                    nics[from as usize] = links.len() as u32;
                    switch_of[from as usize] = to;
                }
                links.push(Link {
                    from,
                    to,
                    rate,
                    delay: Duration::ZERO,
                    schedule: None,
                });
            }
        }
        let routes = Routes::new(hosts, switches.len(), &links, &switch_of);
        let base_rtt = Duration::ZERO;
        let mut fabric = Fabric {
            hosts,
            switches,
            links,
            nics,
            switch_of,
            sink,
            routes,
            base_rtt,
        };
        fabric.set_delays(delays, format)?;
        Ok(fabric)
    }

    fn set_delays(&mut self, delays: &Delays, format: &PacketFormat) -> Result<(), SpecError> {
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

    /// What the workload needs to know about the hosts.
    pub fn layout(&self) -> HostLayout {
        let nic = self.sink.unwrap_or(0) as usize;
        HostLayout {
            rack_of: self.switch_of.iter().map(|s| s - self.hosts).collect(),
            host_rate: self.links[self.nics[nic] as usize].rate,
            sink: self.sink,
        }
    }

    /// The rate of a host's own link.
    pub fn host_rate(&self, host: u32) -> Rate {
        self.links[self.nics[host as usize] as usize].rate
    }

    /// The name of the port that feeds link `id`: `FROM -> TO`.
    pub fn port_name(&self, id: u32) -> String {
        let link = &self.links[id as usize];
        format!(
            "{} -> {}",
            self.node_name(link.from),
            self.node_name(link.to)
        )
    }

    /// The number of the port called `name`.
    ///
    /// # Errors
    /// When there is none: what is wrong, and a name that is near.
    pub fn port_named(&self, name: &str) -> Result<u32, String> {
        let names: Vec<String> = (0..self.links.len() as u32)
            .map(|id| self.port_name(id))
            .collect();
        if let Some(id) = names.iter().position(|known| known == name) {
            return Ok(id as u32);
        }
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = spec::hint(name, &known);
        let example = known.last().copied().unwrap_or_default();
        Err(format!(
            "{name:?} is not a port; {hint}ports are named FROM -> TO, such as {example:?}"
        ))
    }

    /// The name of a node: `host 3`, `leaf 0`.
    pub fn node_name(&self, node: Node) -> String {
        match node.checked_sub(self.hosts) {
            None => format!("host {node}"),
            Some(switch) => self.switches[switch as usize].clone(),
        }
    }
}
