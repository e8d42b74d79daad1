//! What ports are called: one by one, and tier by tier.
//!
//! A layer is what switches have in common that differ by a number: `leaf 0` and `leaf 1` are
//! `leaf`. A tier is the links between two layers in one direction, `leaf -> spine`. The ports
//! that feed it are also called after the side on which they are: `leaf-up`. Up is away from the
//! hosts: to a switch that is farther from the nearest of them.

use std::collections::VecDeque;

use fctlab_core::spec;

use super::{Fabric, Node};

/// The layer of each switch: as `written`, or its name without its number.
pub(super) fn layers(switches: &[String], written: &[Option<String>]) -> Vec<String> {
    let layer = |(i, name): (usize, &String)| {
        if let Some(Some(layer)) = written.get(i) {
            return layer.clone();
        }
        let layer = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let layer = layer.trim_end_matches([' ', '-', '_', '.']);
        if layer.is_empty() { name } else { layer }.to_owned()
    };
    switches.iter().enumerate().map(layer).collect()
}

impl Fabric {
    /// The layer of a node.
    pub fn layer(&self, node: Node) -> &str {
        match node.checked_sub(self.hosts) {
            None => "host",
            Some(switch) => &self.layers[switch as usize],
        }
    }

    /// The tier of link `id`: `leaf -> spine`.
    pub fn tier(&self, id: u32) -> String {
        let link = &self.links[id as usize];
        format!("{} -> {}", self.layer(link.from), self.layer(link.to))
    }

    /// How many links each node is from the nearest host.
    fn heights(&self) -> Vec<u32> {
        let mut outgoing = vec![Vec::new(); self.hosts as usize + self.switches.len()];
        for link in &self.links {
            outgoing[link.from as usize].push(link.to);
        }
        let mut heights = vec![u32::MAX; outgoing.len()];
        let mut queue: VecDeque<Node> = (0..self.hosts).collect();
        heights[..self.hosts as usize].fill(0);
        while let Some(node) = queue.pop_front() {
            for &to in &outgoing[node as usize] {
                if heights[to as usize] == u32::MAX {
                    heights[to as usize] = heights[node as usize] + 1;
                    queue.push_back(to);
                }
            }
        }
        heights
    }

    /// What the ports of each link's tier are called: `nic`, `leaf-up`, `spine-down`.
    pub fn sides(&self) -> Vec<String> {
        let heights = self.heights();
        let side = |link: &super::Link| {
            if link.from < self.hosts {
                return "nic".to_owned();
            }
            let [from, to] = [link.from, link.to].map(|node| heights[node as usize]);
            let side = match from.cmp(&to) {
                std::cmp::Ordering::Less => "up",
                std::cmp::Ordering::Equal => "across",
                std::cmp::Ordering::Greater => "down",
            };
            format!("{}-{side}", self.layer(link.from))
        };
        self.links.iter().map(side).collect()
    }

    /// The switch ports that go by `name`: a side of a layer (`leaf-up`), a tier (`leaf -> spine`), or one port
    /// (`leaf 0 -> spine 1`); and whether it is one.
    ///
    /// # Errors
    /// When there are none: what is wrong, and what there is.
    pub fn switch_ports(&self, name: &str, sides: &[String]) -> Result<(Vec<u32>, bool), String> {
        let of_switch = |id: &u32| self.links[*id as usize].from >= self.hosts;
        let all = || (0..self.links.len() as u32).filter(of_switch);
        let tier: Vec<u32> = all()
            .filter(|&id| sides[id as usize] == name || self.tier(id) == name)
            .collect();
        if !tier.is_empty() {
            return Ok((tier, false));
        }
        if let Some(port) = all().find(|&id| self.port_name(id) == name) {
            return Ok((vec![port], true));
        }
        let mut known: Vec<&str> = Vec::new();
        for side in sides {
            if !known.contains(&side.as_str()) {
                known.push(side);
            }
        }
        let hint = spec::hint(name, &known);
        let example = all().next_back().map_or(String::new(), |id| {
            format!(
                "; a tier is also called such as {:?}, one port such as {:?}",
                self.tier(id),
                self.port_name(id)
            )
        });
        Err(format!(
            "{name:?} is not a tier; {hint}known: {}{example}",
            known.join(", ")
        ))
    }
}
