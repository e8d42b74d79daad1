//! Parts of a fabric that may be simulated side by side.
//!
//! A host belongs to the part of its switch; so what goes from one part to another takes the delay of a link between
//! switches at least. That is the *window*: what happens within one in one part reaches no other before the next.

use std::collections::HashMap;

use fctlab_core::Duration;

use super::{Fabric, Node};

impl Fabric {
    /// The least delay of a link between switches, or of any link where there is none; of no link, the base RTT.
    pub fn window(&self) -> Duration {
        let least = |between: bool| {
            let links = self.links.iter();
            let links = links.filter(|l| !between || (l.from >= self.hosts && l.to >= self.hosts));
            links.map(|link| link.delay).min()
        };
        let window = least(true).or(least(false)).unwrap_or_default();
        if window == Duration::ZERO {
            self.base_rtt.max(Duration::from_ps(1))
        } else {
            window
        }
    }

    /// Into how many parts the fabric can be cut at most: one for each switch that has hosts, and one where nothing
    /// takes time between switches.
    pub fn most_parts(&self) -> u32 {
        let has_delay = |link: &super::Link| {
            link.from < self.hosts || link.to < self.hosts || link.delay > Duration::ZERO
        };
        if !self.links.iter().all(has_delay) {
            return 1;
        }
        let mut edges = self.switch_of.clone();
        edges.sort_unstable();
        edges.dedup();
        edges.len() as u32
    }

    /// The part of each node: switches by their place in their layer, so that neighbours stay together, and hosts
    /// with their switch. Layers are cut into stretches of equally many, those with hosts into ones with equally many
    /// hosts, about.
    pub fn parts(&self, count: u32) -> Vec<u32> {
        let mut weight = vec![0u64; self.switches.len()];
        for switch in &self.switch_of {
            weight[(switch - self.hosts) as usize] += 1;
        }
        let mut layers: HashMap<&str, Vec<usize>> = HashMap::new();
        for switch in 0..self.switches.len() {
            let layer = self.layer(self.hosts + switch as Node);
            layers.entry(layer).or_default().push(switch);
        }
        let mut part = vec![0; self.hosts as usize + self.switches.len()];
        for switches in layers.values() {
            let bare = switches.iter().all(|&switch| weight[switch] == 0);
            let of = |switch: usize| if bare { 1 } else { weight[switch] };
            let total: u64 = switches.iter().map(|&switch| of(switch)).sum();
            let mut before = 0;
            for &switch in switches {
                // By the middle of what it adds, so that a part begins at the nearest switch.
                let middle = 2 * before + of(switch);
                let place = middle * u64::from(count) / (2 * total);
                part[self.hosts as usize + switch] = (place as u32).min(count - 1);
                before += of(switch);
            }
        }
        for host in 0..self.hosts as usize {
            part[host] = part[self.switch_of[host] as usize];
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fctlab_core::Duration;
    use serde_json::{Value, json};

    use crate::network::Fabric;

    fn fabric(topology: Value) -> Fabric {
        let traffic = json!({"workload": "cache", "load": 0.1, "flows": 1});
        let scenario = json!({"topology": topology, "traffic": traffic, "scheme": "dctcp"});
        crate::prepare::prepare(scenario, &[], Path::new("/"))
            .unwrap()
            .fabric
    }

    /// The layer, number and part of every node.
    fn parts(fabric: &Fabric, count: u32) -> Vec<(String, u32)> {
        let parts = fabric.parts(count);
        (0..)
            .map(|node| fabric.node_name(node))
            .zip(parts)
            .collect()
    }

    #[test]
    fn neighbours_stay_together() {
        let fabric =
            fabric(json!({"kind": "fat-tree", "k": 4, "host_rate": "10Gbps", "link_delay": "2us"}));
        assert_eq!(
            (fabric.window(), fabric.most_parts()),
            (Duration::from_us(2), 8)
        );
        for (name, part) in parts(&fabric, 2) {
            let number: u32 = name.rsplit(' ').next().unwrap().parse().unwrap();
            let many = if name.starts_with("core") {
                4
            } else if name.starts_with("host") {
                16
            } else {
                8
            };
            assert_eq!(part, number * 2 / many, "{name}");
        }
        let of_three = fabric.parts(3);
        let hosts = |part| of_three[..16].iter().filter(|&&p| p == part).count();
        assert_eq!([0, 1, 2].map(hosts), [6, 4, 6]);
    }

    /// Nothing that takes no time may lie between two parts.
    #[test]
    fn without_a_delay_there_is_one_part() {
        let rate = json!({"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "host_rate": "10Gbps",
            "fabric_rate": "10Gbps", "link_delay": "0s", "host_delay": "1us"});
        let none = fabric(rate);
        assert_eq!((none.most_parts(), none.window()), (1, none.base_rtt));
        let star =
            json!({"kind": "star", "senders": 3, "host_rate": "10Gbps", "link_delay": "1us"});
        assert_eq!(fabric(star).most_parts(), 1);
    }
}
