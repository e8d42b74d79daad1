//! The network: a graph of hosts, switches and links, and what follows from it.
//!
//! A [`topology`] is a graph. From it follow the ports ([`Fabric::links`], one per direction of a
//! cable), delays and the base RTT, shortest paths and the choice among them ([`routing`]), what is
//! available of links over time ([`capacity`]) and ideal completion times ([`ideal`]).

pub mod capacity;
pub mod ideal;
mod order;
mod partition;
mod propagation;
mod reach;
pub mod routing;
mod tiers;
pub mod topology;

use std::sync::Arc;

use fctlab_core::units::grouped;
use fctlab_core::{Duration, PacketFormat, Rate, SpecError, spec};
use fctlab_workload::HostLayout;

use self::capacity::Schedule;
use self::propagation::own_delays;
use self::routing::Routes;
use self::tiers::layers;
use self::topology::{Cable, Delays, Details, Graph};

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
    /// Names of the hosts, where they have any of their own.
    pub host_names: Vec<String>,
    /// The rack of each host, where that is not its switch.
    pub racks: Vec<u32>,
    /// Names of the switches: nodes `hosts..`, and their layers.
    pub switches: Vec<String>,
    layers: Vec<String>,
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
        mut graph: Graph,
        details: Details,
        down: &[String],
        delays: &Delays,
        format: &PacketFormat,
    ) -> Result<Self, SpecError> {
        let hosts = graph.hosts;
        if hosts > u32::from(u16::MAX) {
            let message = format!(
                "{} hosts; at most {}",
                grouped(hosts.into()),
                grouped(u16::MAX.into())
            );
            return Err(SpecError::new("", message));
        }
        let host_names = details.hosts;
        let all = graph.switches.clone();
        let delay_of = own_delays(&graph, &details.delays);
        reach::take_out(&mut graph, down, |node| {
            name_of(node, hosts, &host_names, &all)
        })?;
        let Graph {
            switches,
            cables,
            sink,
            ..
        } = graph;
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
        let mut fabric = Fabric {
            hosts,
            layers: layers(&switches, &details.layers),
            host_names,
            racks: details.racks,
            switches,
            links,
            nics,
            switch_of,
            sink,
            routes: Routes::default(),
            base_rtt: Duration::ZERO,
        };
        fabric.check_reach(if down.is_empty() { "links" } else { "down" })?;
        fabric.routes = Routes::new(
            hosts,
            fabric.switches.len(),
            &fabric.links,
            &fabric.switch_of,
        );
        if delay_of.is_empty() {
            fabric.set_delays(delays, format)?;
        } else {
            fabric.set_own_delays(&delay_of, delays, format)?;
        }
        Ok(fabric)
    }

    /// What the workload needs to know about the hosts.
    pub fn layout(&self) -> HostLayout {
        let racks = &self.racks;
        let by_switch = self.by_switch();
        HostLayout {
            rack_of: if racks.is_empty() {
                by_switch.rack_of
            } else {
                racks.clone()
            },
            ..by_switch
        }
    }

    /// The same where each switch counts as a rack.
    pub fn by_switch(&self) -> HostLayout {
        let rates: Vec<Rate> = (0..self.hosts).map(|host| self.host_rate(host)).collect();
        let fastest = rates.iter().copied().max().unwrap_or(rates[0]);
        let host_rate = self.sink.map_or(fastest, |sink| self.host_rate(sink));
        let differ = self.sink.is_none() && rates.iter().any(|rate| *rate != fastest);
        HostLayout {
            rack_of: self.switch_of.iter().map(|s| s - self.hosts).collect(),
            host_rate,
            rates: if differ { rates } else { Vec::new() },
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
        name_of(node, self.hosts, &self.host_names, &self.switches)
    }
}

#[cfg(test)]
impl Fabric {
    /// Hosts and switches with cables of 10 Gbps between pairs of nodes, of 1 us each.
    pub(crate) fn of(
        hosts: u32,
        switches: u32,
        cables: impl Iterator<Item = (Node, Node)>,
    ) -> Self {
        let rate = Rate::from_gbps(10);
        let graph = Graph {
            hosts,
            switches: (0..switches).map(|i| format!("switch {i}")).collect(),
            cables: cables.map(|(a, b)| Cable { a, b, rate }).collect(),
            sink: None,
        };
        let delays = Delays {
            base_rtt: None,
            link_delay: Some(Duration::from_us(1)),
            host_delay: Duration::ZERO,
        };
        let format = PacketFormat::default();
        Fabric::new(graph, Details::default(), &[], &delays, &format).unwrap()
    }
}

/// What a node is called.
fn name_of(node: Node, hosts: u32, host_names: &[String], switches: &[String]) -> String {
    match node.checked_sub(hosts) {
        None => match host_names.get(node as usize) {
            Some(name) => name.clone(),
            None => format!("host {node}"),
        },
        Some(switch) => switches[switch as usize].clone(),
    }
}
