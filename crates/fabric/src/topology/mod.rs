//! Which hosts, switches and links there are.
//!
//! A topology is a graph; everything else (ports, shortest paths, base RTT,
//! ideal completion times) follows from it. One file and one line below per
//! topology.

use std::sync::Arc;

use fctlab_core::{Duration, PacketFormat, Rate, SpecError, spec};
use fctlab_workload::HostLayout;
use serde::{Deserialize, Serialize};

use crate::capacity::Schedule;
use crate::routing::Routes;

/// A host or switch. Hosts come first: node `h` is host `h`.
pub type Node = u32;

/// A full-duplex cable; each direction becomes a port.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// One end.
    pub a: Node,
    /// The other end.
    pub b: Node,
    /// Rate of each direction.
    pub rate: Rate,
}

/// Hosts, switches and the cables between them. Every host has exactly one cable.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Number of hosts: nodes `0..hosts`.
    pub hosts: u32,
    /// Names of the switches: nodes `hosts..`.
    pub switches: Vec<String>,
    /// The cables; equal-cost choices are numbered in this order.
    pub cables: Vec<Cable>,
    /// The one receiver, on topologies that have one.
    pub sink: Option<Node>,
}

/// A rule that builds a graph.
pub trait Topology {
    /// The graph.
    ///
    /// # Errors
    /// When parameters do not fit each other.
    fn graph(&self) -> Result<Graph, SpecError>;
}

/// Delays of a fabric: a base RTT, or per link and host. Exactly one of
/// `base_rtt` and `link_delay` is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delays {
    /// RTT across the longest path on an idle fabric; spread evenly over links
    /// after host delays.
    pub base_rtt: Option<BaseRtt>,
    /// Propagation delay of each link, one way.
    pub link_delay: Option<Duration>,
    /// Delay inside a host, for each packet that it sends or receives.
    pub host_delay: Duration,
}

/// A base RTT and what it includes: `"16us"` is
/// `{value = "16us", includes = "transmission"}`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BaseRtt {
    /// The round-trip time.
    pub value: Duration,
    /// What it includes besides propagation and host delays.
    pub includes: Includes,
}

/// What a base RTT includes besides propagation and host delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Includes {
    /// One full data packet on every link out and one ACK on every link back.
    #[default]
    Transmission,
    /// Nothing: propagation (and host delays) only.
    Propagation,
}

impl<'de> Deserialize<'de> for BaseRtt {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            value: Duration,
            #[serde(default)]
            includes: Includes,
        }
        let value = serde_json::Value::deserialize(d)?;
        let read = if value.is_object() {
            fctlab_core::spec::read::<Table>(value).map(|t| (t.value, t.includes))
        } else {
            fctlab_core::spec::read(value).map(|v| (v, Includes::default()))
        };
        let (value, includes) = read.map_err(SpecError::into_serde)?;
        Ok(BaseRtt { value, includes })
    }
}

impl schemars::JsonSchema for BaseRtt {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BaseRtt".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let time = generator.subschema_for::<Duration>();
        let includes = generator.subschema_for::<Includes>();
        schemars::json_schema!({"anyOf": [time, {
            "type": "object",
            "properties": {"value": time, "includes": includes},
            "required": ["value"],
            "additionalProperties": false,
        }]})
    }
}

/// Declares the specification of a topology: its own fields and the delays
/// that all topologies take, in one flat table.
macro_rules! topology_spec {
    ($(#[$meta:meta])* { $( $(#[$fmeta:meta])* $field:ident: $type:ty, )* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Spec {
            $( $(#[$fmeta])* pub $field: $type, )*
            /// RTT across the longest path on an idle fabric: a time, or
            /// `{value, includes = "transmission" | "propagation"}`. Instead of `link_delay`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub base_rtt: Option<$crate::topology::BaseRtt>,
            /// Propagation delay of each link, one way. Instead of `base_rtt`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub link_delay: Option<fctlab_core::Duration>,
            /// Delay inside a host, for each packet that it sends or receives.
            #[serde(default)]
            pub host_delay: fctlab_core::Duration,
        }
        impl Spec {
            pub(super) fn delays(&self) -> $crate::topology::Delays {
                $crate::topology::Delays {
                    base_rtt: self.base_rtt,
                    link_delay: self.link_delay,
                    host_delay: self.host_delay,
                }
            }
        }
    };
}

/// Declares the topologies: one line each, naming file and name.
macro_rules! topologies {
    ($( $kind:literal => $variant:ident($file:ident) ),+ $(,)?) => {
        $( pub mod $file; )+

        fctlab_core::parts! {
            /// The choice of a topology.
            pub enum TopologySpec, "topology" { $( $kind => $variant($file::Spec) ),+ }
        }

        impl TopologySpec {
            /// Builds the fabric.
            ///
            /// # Errors
            /// Parameters that do not fit each other, with the path of the key.
            pub fn build(&self, format: &PacketFormat) -> Result<Fabric, SpecError> {
                let (graph, delays) = match self {
                    $( TopologySpec::$variant(spec) => (spec.graph()?, spec.delays()) ),+
                };
                Fabric::new(graph, &delays, format)
            }
        }
    };
}

topologies! {
    "leaf-spine" => LeafSpine(leaf_spine),
    "star" => Star(star),
    "fat-tree" => FatTree(fat_tree),
}

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
    fn new(graph: Graph, delays: &Delays, format: &PacketFormat) -> Result<Self, SpecError> {
        let Graph {
            hosts,
            switches,
            cables,
            sink,
        } = graph;
        if hosts > u32::from(u16::MAX) {
            let message = format!("{hosts} hosts; at most {}", u16::MAX);
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
