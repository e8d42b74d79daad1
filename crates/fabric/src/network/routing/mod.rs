//! Which way a packet goes: shortest paths, and the choice among equal ones.
//!
//! [`Routes`] holds, for each switch and destination rack, the ports on
//! shortest paths. Which of several a packet takes is the [`Choose`] of the
//! scheme: one file and two lines below per rule.

use std::collections::VecDeque;

use fctlab_core::random::Seed;

use crate::index::at;
use crate::network::{Fabric, Link, Node};

/// A choice to make.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Index of the switch.
    pub switch: u32,
    /// Receiving host.
    pub dst: u16,
    /// Random bits of flow and direction.
    pub hash: u32,
    /// Number of equal-cost ports, at least 2.
    pub count: u32,
}

/// A rule that chooses among equal-cost ports.
pub trait Choose {
    /// A number in `0..choice.count`.
    fn choose(&mut self, choice: &Choice) -> u32;
}

/// How a routing rule's specification becomes its state.
pub trait RoutingPart {
    /// The state.
    type State: Choose;
    /// Whether the packets of one flow may take several paths at once.
    const SPRAYS: bool;
    /// The state at the start of a run.
    fn start(&self, fabric: &Fabric, seed: Seed) -> Self::State;
}

/// Declares the routing rules: one line each, naming file and name; the file's `mod` line is beside them.
macro_rules! routings {
    ($( $kind:literal => $variant:ident($file:ident) ),+ $(,)?) => {
        fctlab_core::parts! {
            /// The choice of a routing rule.
            pub enum RoutingSpec, "routing rule" { $( $kind => $variant($file::Spec) ),+ }
        }

        /// One of the routing rules.
        #[allow(missing_docs)]
        pub enum Router { $( $variant(<$file::Spec as RoutingPart>::State) ),+ }

        impl RoutingSpec {
            /// The state at the start of a run.
            pub fn start(&self, fabric: &Fabric, seed: Seed) -> Router {
                match self { $( RoutingSpec::$variant(s) => Router::$variant(s.start(fabric, seed)) ),+ }
            }
            /// Whether the packets of one flow may take several paths at once.
            pub fn sprays(&self) -> bool {
                match self { $( RoutingSpec::$variant(_) => <$file::Spec as RoutingPart>::SPRAYS ),+ }
            }
        }

        impl Router {
            #[inline]
            fn choose(&mut self, choice: &Choice) -> u32 {
                match self { $( Router::$variant(r) => r.choose(choice) ),+ }
            }
        }
    };
}

pub mod ecmp;
pub mod spray_random;
pub mod spray_round_robin;

routings! {
    "ecmp" => Ecmp(ecmp),
    "spray-round-robin" => SprayRoundRobin(spray_round_robin),
    "spray-random" => SprayRandom(spray_random),
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first: u32,
    count: u32,
}

/// Shortest paths from every switch to every host.
#[derive(Clone, Debug)]
pub struct Routes {
    hosts: u32,
    /// Number of switches with hosts ("racks").
    racks: u32,
    /// Rack of each host, and the port from its switch to it.
    host: Vec<(u32, u32)>,
    /// For switch s and rack r at `s * racks + r`: a slice of `ports`; empty
    /// where the switch is the rack's own.
    groups: Vec<Group>,
    ports: Vec<u32>,
    /// Links from each rack's switch to each other rack's, the largest with
    /// its racks; `None` with a single rack.
    farthest: Option<(u32, u32)>,
}

impl Routes {
    /// Shortest paths by breadth-first search from each rack's switch.
    pub fn new(hosts: u32, switches: usize, links: &[Link], switch_of: &[Node]) -> Self {
        let mut rack_of_switch = vec![None; switches];
        let mut rack_switches = Vec::new();
        let mut host = vec![(0, 0); hosts as usize];
        for (h, &node) in switch_of.iter().enumerate() {
            let switch = (node - hosts) as usize;
            let rack = *rack_of_switch[switch].get_or_insert_with(|| {
                rack_switches.push(switch);
                rack_switches.len() as u32 - 1
            });
            host[h].0 = rack;
        }
        let mut outgoing = vec![Vec::new(); switches];
        for (port, link) in links.iter().enumerate().filter(|(_, l)| l.from >= hosts) {
            match link.to.checked_sub(hosts) {
                Some(to) => outgoing[(link.from - hosts) as usize].push((port as u32, to as usize)),
                None => host[link.to as usize].1 = port as u32,
            }
        }
        let racks = rack_switches.len();
        let mut groups = vec![Group { first: 0, count: 0 }; switches * racks];
        let mut ports = Vec::new();
        let mut farthest = (0, None);
        for (rack, &root) in rack_switches.iter().enumerate() {
            // All links are full duplex, so distances from the root are those to it.
            let mut distance = vec![u32::MAX; switches];
            distance[root] = 0;
            let mut queue = VecDeque::from([root]);
            while let Some(s) = queue.pop_front() {
                for &(_, to) in &outgoing[s] {
                    if distance[to] == u32::MAX {
                        distance[to] = distance[s] + 1;
                        queue.push_back(to);
                    }
                }
            }
            for (s, out) in outgoing.iter().enumerate().filter(|(s, _)| *s != root) {
                let first = ports.len() as u32;
                let nearer = out.iter().filter(|(_, to)| {
                    distance[*to] != u32::MAX && distance[*to] + 1 == distance[s]
                });
                ports.extend(nearer.map(|(port, _)| port));
                let count = ports.len() as u32 - first;
                groups[s * racks + rack] = Group { first, count };
            }
            for (other, &s) in rack_switches.iter().enumerate() {
                if distance[s] != u32::MAX && distance[s] > farthest.0 {
                    farthest = (distance[s], Some((other as u32, rack as u32)));
                }
            }
        }
        let racks = racks as u32;
        Routes {
            hosts,
            racks,
            host,
            groups,
            ports,
            farthest: farthest.1,
        }
    }

    /// The port of switch `switch` that leads to host `dst`.
    #[inline(always)]
    pub fn next_port(&self, switch: u32, dst: u16, hash: u32, router: &mut Router) -> u32 {
        let (rack, down) = *at(&self.host, u32::from(dst));
        let Group { first, count } = *at(&self.groups, switch * self.racks + rack);
        let chosen = match count {
            0 => return down,
            1 => 0,
            _ => router.choose(&Choice {
                switch,
                dst,
                hash,
                count,
            }),
        };
        *at(&self.ports, first + chosen)
    }

    /// The port that leads from its switch to host `dst`.
    pub fn to_host(&self, dst: Node) -> u32 {
        self.host[dst as usize].1
    }

    /// The ports of switch `switch` on shortest paths to the switch of host `dst`; none there.
    pub fn toward(&self, switch: u32, dst: Node) -> &[u32] {
        let rack = self.host[dst as usize].0;
        let Group { first, count } = self.groups[(switch * self.racks + rack) as usize];
        &self.ports[first as usize..(first + count) as usize]
    }

    /// A shortest path from `src` to `dst`, NIC first, as (link, number of
    /// links that shortest paths have at this distance); of equal ones the first.
    pub fn path(&self, fabric: &Fabric, src: Node, dst: Node) -> Vec<(u32, u32)> {
        let mut path = vec![(fabric.nics[src as usize], 1)];
        // The switches on shortest paths at this distance, the path's own first.
        let mut switches = vec![fabric.switch_of[src as usize] - self.hosts];
        let (rack, down) = self.host[dst as usize];
        loop {
            let group = |s: u32| self.groups[(s * self.racks + rack) as usize];
            if group(switches[0]).count == 0 {
                path.push((down, 1));
                return path;
            }
            let ports = switches.iter().flat_map(|&s| {
                let Group { first, count } = group(s);
                &self.ports[first as usize..(first + count) as usize]
            });
            let ports: Vec<u32> = ports.copied().collect();
            path.push((ports[0], ports.len() as u32));
            let mut next = Vec::new();
            for port in ports {
                let switch = fabric.links[port as usize].to - self.hosts;
                if !next.contains(&switch) {
                    next.push(switch);
                }
            }
            switches = next;
        }
    }

    /// The links of a path between two hosts that are farthest apart.
    pub fn longest_path(&self, fabric: &Fabric) -> Vec<u32> {
        let host_in = |rack| self.host.iter().position(|h| h.0 == rack).unwrap_or(0) as Node;
        let (src, dst) = match self.farthest {
            Some((a, b)) => (host_in(a), host_in(b)),
            None => (0, self.hosts - 1),
        };
        self.path(fabric, src, dst)
            .into_iter()
            .map(|(link, _)| link)
            .collect()
    }
}
