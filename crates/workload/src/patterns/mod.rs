//! Traffic patterns: who sends to whom.
//!
//! A pattern draws the endpoints of each flow and says over which host links
//! its load is spread, so that `load` has one meaning everywhere:
//! bytes offered per loaded link as a share of its rate. Adding a
//! pattern is one file here and two lines below.

use std::ops::Range;
use std::path::Path;

use fctlab_core::{Bytes, SpecError};
use rand_pcg::Pcg64;

use crate::{HostLayout, draw};

/// The endpoints of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoints {
    /// Sending host.
    pub src: u32,
    /// Receiving host, never the sender.
    pub dst: u32,
    /// The query that the flow belongs to, counted from 0.
    pub query: Option<u32>,
    /// Place among the flows of the same arrival; 0 starts a new arrival.
    pub place: u32,
}

impl Endpoints {
    /// An arrival of one flow.
    pub(crate) fn pair(src: u32, dst: u32) -> Self {
        Endpoints {
            src,
            dst,
            query: None,
            place: 0,
        }
    }
}

/// What a pattern that draws endpoints does.
trait Draw {
    /// The endpoints of the next flow.
    fn next(&mut self, rng: &mut Pcg64) -> Endpoints;
    /// Who gets flows of `src`: ranges of hosts, and the share of all flows that each host
    /// of a range gets of this sender's. The shares of all pairs add up to 1.
    fn receivers(&self, src: u32, to: &mut dyn FnMut(Range<u32>, f64));
    /// The endpoints of the next flow that arrives at `host`: it sends the flow, or asks for it.
    fn next_at(&mut self, host: u32, rng: &mut Pcg64) -> Endpoints {
        let mut sum = 0.0;
        self.receivers(host, &mut |to, each| sum += each * to.len() as f64);
        let (mut left, mut dst) = (draw::unit(rng) * sum, host);
        self.receivers(host, &mut |to, each| {
            let (hosts, part) = (to.len() as u32, each * to.len() as f64);
            if left >= 0.0 && part > 0.0 {
                // In this range, or the last of it until a later one is found.
                dst = to.start + ((left / each) as u32).min(hosts - 1);
            }
            left -= part;
        });
        Endpoints::pair(host, dst)
    }
    /// The share of all queries that `host` asks, where arrivals are queries.
    fn queries_at(&self, host: u32) -> Option<f64> {
        let _ = host;
        None
    }
    /// Whether the load is a share of this host's link, among others: all, unless said otherwise.
    fn is_loaded(&self, host: u32) -> bool {
        let _ = host;
        true
    }
    /// Flows that start together at each arrival.
    fn flows_per_arrival(&self) -> u32 {
        1
    }
    /// Payload bytes of all flows of an arrival together, when the pattern sets them.
    fn query_size(&self) -> Option<Bytes> {
        None
    }
}

/// What the specification of a pattern does.
trait Part {
    type Pattern: Draw;
    /// Writes out the defaults that depend on the topology.
    fn resolve(&mut self, layout: &HostLayout) {
        let _ = layout;
    }
    /// The pattern on `layout`, which has at least two hosts.
    fn build(&self, layout: &HostLayout, rng: &mut Pcg64) -> Result<Self::Pattern, SpecError>;
}

/// Declares the registry and the closed enum that draws the endpoints.
macro_rules! patterns {
    ($($name:tt => $Part:ident($module:ident)),+ $(,)?) => {
        fctlab_core::parts! {
            /// Who sends to whom.
            pub enum PatternSpec, "pattern" {
                $($name => $Part($module::Spec)),+
            }
        }

        /// A traffic pattern on a given layout.
        #[derive(Clone, Debug)]
        pub(crate) enum Pattern {
            $($Part($module::Pattern)),+
        }

        impl PatternSpec {
            /// Writes out the defaults that depend on the topology.
            pub fn resolve(&mut self, layout: &HostLayout) {
                match self { $(PatternSpec::$Part(spec) => spec.resolve(layout)),+ }
            }

            /// The pattern on `layout`.
            pub(crate) fn build(&self, layout: &HostLayout, rng: &mut Pcg64) -> Result<Pattern, SpecError> {
                match self {
                    $(PatternSpec::$Part(spec) => spec.build(layout, rng).map(Pattern::$Part)),+
                }
            }
        }

        impl Pattern {
            /// The endpoints of the next flow.
            pub(crate) fn next(&mut self, rng: &mut Pcg64) -> Endpoints {
                match self { $(Pattern::$Part(p) => p.next(rng)),+ }
            }
            /// See [`Draw::next_at`].
            pub(crate) fn next_at(&mut self, host: u32, rng: &mut Pcg64) -> Endpoints {
                match self { $(Pattern::$Part(p) => p.next_at(host, rng)),+ }
            }
            /// See [`Draw::queries_at`].
            pub(crate) fn queries_at(&self, host: u32) -> Option<f64> {
                match self { $(Pattern::$Part(p) => p.queries_at(host)),+ }
            }
            /// See [`Draw::receivers`].
            pub(crate) fn receivers(&self, src: u32, to: &mut dyn FnMut(Range<u32>, f64)) {
                match self { $(Pattern::$Part(p) => p.receivers(src, to)),+ }
            }
            /// See [`Draw::is_loaded`].
            pub(crate) fn is_loaded(&self, host: u32) -> bool {
                match self { $(Pattern::$Part(p) => p.is_loaded(host)),+ }
            }
            /// Flows that start together at each arrival.
            pub(crate) fn flows_per_arrival(&self) -> u32 {
                match self { $(Pattern::$Part(p) => p.flows_per_arrival()),+ }
            }
            /// Payload bytes of all flows of an arrival together, when the pattern sets them.
            pub(crate) fn query_size(&self) -> Option<Bytes> {
                match self { $(Pattern::$Part(p) => p.query_size()),+ }
            }
        }
    };
}

pub mod all_to_all;
pub mod incast;
pub mod inter_rack;
pub mod many_to_one;
pub mod matrix;
pub mod permutation;
pub mod triangle;

patterns! {
    "all-to-all" => AllToAll(all_to_all),
    "triangle" => Triangle(triangle),
    "inter-rack" => InterRack(inter_rack),
    "permutation" => Permutation(permutation),
    "many-to-one" => ManyToOne(many_to_one),
    "incast" => Incast(incast),
    "matrix" => Matrix(matrix),
}

impl Pattern {
    /// How many links the load is a share of, each as a multiple of the rate that it refers to.
    pub(crate) fn links(&self, layout: &HostLayout) -> f64 {
        let loaded = (0..layout.hosts()).filter(|host| self.is_loaded(*host));
        let one = layout.host_rate.bytes_per_s();
        loaded
            .map(|host| layout.rate(host).bytes_per_s() / one)
            .sum()
    }
}

impl PatternSpec {
    /// Makes file names absolute; relative ones are taken from `base_dir`.
    pub fn locate(&mut self, base_dir: &Path) {
        if let PatternSpec::Matrix(spec) = self {
            spec.locate(base_dir);
        }
    }

    /// The pattern of a scenario that names none: many-to-one on a topology
    /// with one receiver, all-to-all otherwise.
    pub fn default_on(layout: &HostLayout) -> Self {
        let mut pattern = match layout.sink {
            Some(_) => PatternSpec::ManyToOne(many_to_one::Spec::default()),
            None => PatternSpec::AllToAll(all_to_all::Spec {}),
        };
        pattern.resolve(layout);
        pattern
    }
}

/// `host`, if it is one of the layout's.
fn receiver(host: u32, layout: &HostLayout) -> Result<u32, SpecError> {
    if host < layout.hosts() {
        return Ok(host);
    }
    let message = format!(
        "{host} is not a host; hosts are 0 to {}",
        layout.hosts() - 1
    );
    Err(SpecError::new("receiver", message))
}

/// Every host but `src` gets the same share: 1 / `parts`.
fn all_others(hosts: u32, src: u32, parts: f64, to: &mut dyn FnMut(Range<u32>, f64)) {
    to(0..src, 1.0 / parts);
    to(src + 1..hosts, 1.0 / parts);
}

/// The `i`-th host when `left_out` is not counted.
fn other(i: u32, left_out: u32) -> u32 {
    i + u32::from(i >= left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::Rate;
    use fctlab_core::random::Seed;

    /// `racks` racks of `per_rack` hosts.
    pub(super) fn leaf_spine(racks: u32, per_rack: u32) -> HostLayout {
        let rack_of = (0..racks * per_rack).map(|h| h / per_rack).collect();
        HostLayout {
            rack_of,
            host_rate: Rate::from_gbps(10),
            rates: Vec::new(),
            sink: None,
        }
    }

    /// A star of `hosts` hosts whose receiver is the last.
    pub(super) fn star(hosts: u32) -> HostLayout {
        let layout = leaf_spine(1, hosts);
        HostLayout {
            sink: Some(hosts - 1),
            ..layout
        }
    }

    /// The pattern that `json` specifies, or its error.
    pub(super) fn build(
        json: serde_json::Value,
        layout: &HostLayout,
    ) -> Result<Pattern, SpecError> {
        let spec: PatternSpec = fctlab_core::spec::read(json)?;
        spec.build(layout, &mut Seed(1).stream("endpoints"))
    }

    /// The first `n` endpoints of the pattern.
    pub(super) fn draw(json: serde_json::Value, layout: &HostLayout, n: usize) -> Vec<Endpoints> {
        let mut pattern = build(json, layout).unwrap();
        let mut rng = Seed(2).stream("endpoints");
        (0..n).map(|_| pattern.next(&mut rng)).collect()
    }

    #[test]
    fn every_pattern_is_valid_everywhere() {
        for kind in PatternSpec::NAMES {
            for layout in [star(2), star(16), leaf_spine(2, 1), leaf_spine(9, 16)] {
                // One rack keeps everything, racks of one host nothing.
                let one_rack = layout.rack_of.iter().all(|rack| *rack == 0);
                let local = match layout.hosts() {
                    _ if one_rack => 1.0,
                    2 => 0.0,
                    _ => 0.3,
                };
                let json = match *kind {
                    "incast" => serde_json::json!({"kind": kind, "fanin": 1}),
                    "triangle" => serde_json::json!({"kind": kind, "half": "upper"}),
                    "matrix" => serde_json::json!({"kind": kind, "rack_local": local}),
                    _ => serde_json::json!(kind),
                };
                for e in draw(json, &layout, 1000) {
                    assert!(
                        e.src != e.dst && e.src.max(e.dst) < layout.hosts(),
                        "{kind} {e:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_default_follows_the_topology() {
        let default =
            |layout: &HostLayout| serde_json::to_value(PatternSpec::default_on(layout)).unwrap();
        assert_eq!(
            default(&leaf_spine(2, 2)),
            serde_json::json!({"kind": "all-to-all"})
        );
        assert_eq!(
            default(&star(4)),
            serde_json::json!({"kind": "many-to-one", "receiver": 3})
        );
    }
}
