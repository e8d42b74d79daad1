//! Leaf-spine: every leaf switch is connected to every spine switch.

use fctlab_core::units::grouped;
use fctlab_core::{Rate, SpecError, spec};

use super::{Cable, Graph, Topology};

topology_spec! {
    /// Leaf-spine: hosts under leaves, each leaf connected to each spine;
    /// oversubscribed when hosts_per_leaf x host_rate exceeds spines x fabric_rate.
    {
        /// Leaf switches.
        #[serde(deserialize_with = "spec::whole::<_, 1, 65535>")]
        #[schemars(range(min = 1, max = 65535))]
        leaves: u32,
        /// Spine switches.
        #[serde(deserialize_with = "spec::whole::<_, 1, 65535>")]
        #[schemars(range(min = 1, max = 65535))]
        spines: u32,
        /// Hosts under each leaf.
        #[serde(deserialize_with = "spec::whole::<_, 1, 65535>")]
        #[schemars(range(min = 1, max = 65535))]
        hosts_per_leaf: u32,
        /// Rate of the links between hosts and leaves.
        host_rate: Rate,
        /// Rate of the links between leaves and spines.
        fabric_rate: Rate,
    }
}

impl Topology for Spec {
    fn graph(&self) -> Result<Graph, SpecError> {
        let hosts = self.leaves.saturating_mul(self.hosts_per_leaf);
        if hosts < 2 {
            return Err(SpecError::new(
                "hosts_per_leaf",
                "a fabric needs at least two hosts",
            ));
        }
        if hosts > u32::from(u16::MAX) {
            let message = format!(
                "{} hosts in all; at most {}",
                grouped(hosts.into()),
                grouped(u16::MAX.into())
            );
            return Err(SpecError::new("hosts_per_leaf", message));
        }
        let leaf = |l| hosts + l;
        let spine = |s| hosts + self.leaves + s;
        let down = (0..hosts).map(|host| Cable {
            a: host,
            b: leaf(host / self.hosts_per_leaf),
            rate: self.host_rate,
        });
        let pairs = (0..self.leaves).flat_map(|l| (0..self.spines).map(move |s| (l, s)));
        let up = pairs.map(|(l, s)| Cable {
            a: leaf(l),
            b: spine(s),
            rate: self.fabric_rate,
        });
        let leaves = (0..self.leaves).map(|l| format!("leaf {l}"));
        let spines = (0..self.spines).map(|s| format!("spine {s}"));
        Ok(Graph {
            hosts,
            switches: leaves.chain(spines).collect(),
            cables: down.chain(up).collect(),
            sink: None,
        })
    }
}
