//! Which hosts, switches and links there are.
//!
//! A topology is a graph; everything else (ports, shortest paths, base RTT,
//! ideal completion times) follows from it. One file and two lines below per
//! topology.

mod delays;

use fctlab_core::{Duration, PacketFormat, Rate, SpecError};

pub use self::delays::{BaseRtt, Delays, Includes};
use super::{Fabric, Node};

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

/// What a graph may say beside its rates; lists are empty where it says nothing.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// The rack of each host, where that is not its switch.
    pub racks: Vec<u32>,
    /// The layer of each switch, where that is not its name without its number.
    pub layers: Vec<Option<String>>,
    /// The propagation delay of each cable, where that is not the same for all.
    pub delays: Vec<Option<Duration>>,
}

/// A rule that builds a graph.
pub trait Topology {
    /// The graph.
    ///
    /// # Errors
    /// When parameters do not fit each other.
    fn graph(&self) -> Result<Graph, SpecError>;
    /// What it says beside that.
    ///
    /// # Errors
    /// When parameters do not fit each other.
    fn details(&self) -> Result<Details, SpecError> {
        Ok(Details::default())
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
            /// `{value, includes = "transmission" | "propagation"}`. Either this or
            /// `link_delay` has to be given. Default: none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub base_rtt: Option<$crate::network::topology::BaseRtt>,
            /// Propagation delay of each link, one way. Default: what `base_rtt` leaves to each.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub link_delay: Option<fctlab_core::Duration>,
            /// Delay inside a host, for each packet that it sends or receives.
            #[serde(default)]
            pub host_delay: fctlab_core::Duration,
            /// What is absent: links, `"leaf 0 -> spine 1"` in either direction, and all links of a
            /// switch, `"spine 1"`. Default: nothing.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub down: Vec<String>,
        }
        impl Spec {
            pub(super) fn delays(&self) -> $crate::network::topology::Delays {
                $crate::network::topology::Delays {
                    base_rtt: self.base_rtt,
                    link_delay: self.link_delay,
                    host_delay: self.host_delay,
                }
            }
        }
    };
}

/// Declares the topologies: one line each, naming file and name; the file's `mod` line is beside them.
macro_rules! topologies {
    ($( $kind:literal => $variant:ident($file:ident) ),+ $(,)?) => {
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
                let (graph, details, delays, down) = match self {
                    $( TopologySpec::$variant(spec) => {
                        (spec.graph()?, spec.details()?, spec.delays(), &spec.down)
                    } ),+
                };
                Fabric::new(graph, details, down, &delays, format)
            }
        }
    };
}

pub mod fat_tree;
pub mod graph;
pub mod leaf_spine;
pub mod star;

topologies! {
    "leaf-spine" => LeafSpine(leaf_spine),
    "star" => Star(star),
    "fat-tree" => FatTree(fat_tree),
    "graph" => Graph(graph),
}
