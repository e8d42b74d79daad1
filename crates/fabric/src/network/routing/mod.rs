//! Which way a packet goes: shortest paths, and the choice among equal ones.
//!
//! [`Routes`] knows, for each switch and destination rack, the ports on
//! shortest paths. Which of several a packet takes is the [`Choose`] of the
//! scheme: one file and two lines below per rule.

use std::collections::{HashMap, VecDeque};

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

        /// One of the routing rules. Which one is a number of its own, since it is asked at every switch.
        #[allow(missing_docs)]
        #[repr(u8)]
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
            #[inline(always)]
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

/// What a switch knows.
#[derive(Clone, Copy, Debug)]
struct Switch {
    /// Where its row of `rows` begins, and its groups of ports in `groups`.
    row: u32,
    groups: u32,
}

/// Shortest paths from every switch to every host.
///
/// A switch has few groups of ports that lead anywhere, and many switches have the same group, by number, for each
/// rack: all edge switches of a fat-tree, all aggregation switches of a pod, all cores. So the row of numbers is
/// kept once for all of them, and what a packet looks at stays in a core's own cache however many hosts there are.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    hosts: u32,
    /// The switch of each host, and the port from there to it.
    host: Vec<(u32, u32)>,
    switches: Vec<Switch>,
    /// Rows of numbers of groups, a number for each switch up to the last that has hosts.
    rows: Vec<u16>,
    /// Slices of `ports`.
    groups: Vec<Group>,
    ports: Vec<u32>,
    /// Two switches with hosts that are farthest apart; `None` where there is one.
    farthest: Option<(u32, u32)>,
}

impl Routes {
    /// Shortest paths by breadth-first search from each rack's switch.
    pub fn new(hosts: u32, switches: usize, links: &[Link], switch_of: &[Node]) -> Self {
        let mut host: Vec<_> = switch_of.iter().map(|node| (node - hosts, 0)).collect();
        let mut has_hosts = vec![false; switches];
        let mut racks = Vec::new();
        for &(switch, _) in &host {
            if !std::mem::replace(&mut has_hosts[switch as usize], true) {
                racks.push(switch as usize);
            }
        }
        let numbered = racks.iter().max().map_or(0, |last| last + 1);
        let mut outgoing = vec![Vec::new(); switches];
        for (port, link) in links.iter().enumerate().filter(|(_, l)| l.from >= hosts) {
            match link.to.checked_sub(hosts) {
                Some(to) => outgoing[(link.from - hosts) as usize].push((port as u32, to as usize)),
                None => host[link.to as usize].1 = port as u32,
            }
        }
        // Nobody looks at the number of a switch without hosts, or of the switch itself.
        let row = vec![0; numbered];
        let mut found = vec![
            Found {
                row,
                ..Found::default()
            };
            switches
        ];
        let mut farthest = (0, None);
        for &root in &racks {
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
                let nearer = out.iter().filter(|(_, to)| {
                    distance[*to] != u32::MAX && distance[*to] + 1 == distance[s]
                });
                found[s].add(root, nearer.map(|(port, _)| *port).collect());
            }
            for &s in &racks {
                if distance[s] != u32::MAX && distance[s] > farthest.0 {
                    farthest = (distance[s], Some((s as u32, root as u32)));
                }
            }
        }
        let mut routes = Routes {
            hosts,
            host,
            switches: Vec::with_capacity(switches),
            rows: Vec::new(),
            groups: Vec::new(),
            ports: Vec::new(),
            farthest: farthest.1,
        };
        let mut rows = HashMap::new();
        for Found {
            row, groups: found, ..
        } in found
        {
            let numbers = &mut routes.rows;
            let row = *rows.entry(row).or_insert_with_key(|row| {
                numbers.extend(row);
                (numbers.len() - row.len()) as u32
            });
            let groups = routes.groups.len() as u32;
            for ports in found {
                let (first, count) = (routes.ports.len() as u32, ports.len() as u32);
                routes.groups.push(Group { first, count });
                routes.ports.extend(ports);
            }
            routes.switches.push(Switch { row, groups });
        }
        routes
    }

    /// The port of switch `switch` that leads to host `dst`.
    #[inline(always)]
    pub fn next_port(&self, switch: u32, dst: u16, hash: u32, router: &mut Router) -> u32 {
        let (last, down) = *at(&self.host, u32::from(dst));
        if last == switch {
            return down;
        }
        let Group { first, count } = self.group(switch, last);
        let chosen = match count {
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

    /// The port of switch `switch` that leads to host `dst` under ECMP; likely enough to prepare for under any rule.
    #[inline(always)]
    pub fn likely_port(&self, switch: u32, dst: u16, hash: u32) -> u32 {
        self.next_port(switch, dst, hash, &mut Router::Ecmp(ecmp::Ecmp))
    }

    /// The links that a flow with this hash takes from `src` to `dst` under ECMP, NIC first.
    pub(crate) fn taken(&self, fabric: &Fabric, src: Node, dst: Node, hash: u32) -> Vec<u32> {
        let mut link = fabric.nics[src as usize];
        let mut taken = vec![link];
        while let Some(switch) = fabric.links[link as usize].to.checked_sub(self.hosts) {
            link = self.likely_port(switch, dst as u16, hash);
            taken.push(link);
        }
        taken
    }

    /// The ports of switch `switch` toward another one that has hosts.
    #[inline(always)]
    fn group(&self, switch: u32, last: u32) -> Group {
        let Switch { row, groups } = *at(&self.switches, switch);
        let number = *at(&self.rows, row + last);
        *at(&self.groups, groups + u32::from(number))
    }

    /// The port that leads from its switch to host `dst`.
    pub fn to_host(&self, dst: Node) -> u32 {
        self.host[dst as usize].1
    }

    /// The ports of switch `switch` on shortest paths to the switch of host `dst`; none there.
    pub fn toward(&self, switch: u32, dst: Node) -> &[u32] {
        let last = self.host[dst as usize].0;
        if switch == last {
            return &[];
        }
        let Group { first, count } = self.group(switch, last);
        &self.ports[first as usize..(first + count) as usize]
    }

    /// A shortest path from `src` to `dst`, NIC first, as (link, number of
    /// links that shortest paths have at this distance); of equal ones the first.
    pub fn path(&self, fabric: &Fabric, src: Node, dst: Node) -> Vec<(u32, u32)> {
        let mut path = vec![(fabric.nics[src as usize], 1)];
        // The switches on shortest paths at this distance, the path's own first.
        let mut switches = vec![fabric.switch_of[src as usize] - self.hosts];
        loop {
            if self.toward(switches[0], dst).is_empty() {
                path.push((self.to_host(dst), 1));
                return path;
            }
            let ports = switches.iter().flat_map(|&s| self.toward(s, dst));
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
        let host_in = |switch| self.host.iter().position(|h| h.0 == switch).unwrap_or(0) as Node;
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

/// The ports of one switch, as they are found.
#[derive(Clone, Default)]
struct Found {
    /// The number of the group for each switch.
    row: Vec<u16>,
    groups: Vec<Vec<u32>>,
    numbers: HashMap<Vec<u32>, u16>,
}

impl Found {
    /// The ports toward switch `last`.
    fn add(&mut self, last: usize, ports: Vec<u32>) {
        let groups = &mut self.groups;
        let number = self.numbers.entry(ports).or_insert_with_key(|ports| {
            groups.push(ports.clone());
            (groups.len() - 1) as u16
        });
        self.row[last] = *number;
    }
}
