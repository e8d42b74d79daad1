//! Inter-rack: sender uniform, receiver uniform over the hosts of other racks.
//!
//! On a star, which has no racks, every host counts as a rack of its own.

use std::ops::Range;

use fctlab_core::SpecError;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use super::{Draw, Endpoints, Part};
use crate::{HostLayout, draw::below};

/// Any host to any host of another rack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {}

/// Inter-rack traffic; its load is spread over every host's link (when racks
/// differ in size, `load` is the mean over the hosts).
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// Hosts, rack by rack.
    by_rack: Vec<u32>,
    /// For each place in `by_rack`, the places of its rack.
    rack: Vec<Range<u32>>,
    /// The place of each host in `by_rack`.
    place: Vec<u32>,
}

impl Part for Spec {
    type Pattern = Pattern;
    fn build(&self, layout: &HostLayout, _: &mut Pcg64) -> Result<Pattern, SpecError> {
        let rack_of = |host: u32| match layout.sink {
            Some(_) => host,
            None => layout.rack_of[host as usize],
        };
        let mut by_rack: Vec<u32> = (0..layout.hosts()).collect();
        by_rack.sort_by_key(|&host| rack_of(host));
        let mut rack = Vec::with_capacity(by_rack.len());
        for group in by_rack.chunk_by(|&a, &b| rack_of(a) == rack_of(b)) {
            let start = rack.len() as u32;
            rack.extend(group.iter().map(|_| start..start + group.len() as u32));
        }
        if rack.first().is_none_or(|r| r.len() == by_rack.len()) {
            return Err(SpecError::new(
                "",
                "inter-rack needs at least 2 racks; the topology has 1",
            ));
        }
        let mut place = vec![0; by_rack.len()];
        for (i, &host) in (0..).zip(&by_rack) {
            place[host as usize] = i;
        }
        Ok(Pattern {
            by_rack,
            rack,
            place,
        })
    }
}

impl Draw for Pattern {
    fn next(&mut self, rng: &mut Pcg64) -> Endpoints {
        let src = below(rng, self.by_rack.len() as u32);
        let own = &self.rack[src as usize];
        let size = own.end - own.start;
        let i = below(rng, self.by_rack.len() as u32 - size);
        let dst = if i < own.start { i } else { i + size };
        Endpoints::pair(self.by_rack[src as usize], self.by_rack[dst as usize])
    }
    fn receivers(&self, src: u32, to: &mut dyn FnMut(Range<u32>, f64)) {
        let hosts = self.by_rack.len() as u32;
        let own = self.rack[self.place[src as usize] as usize].clone();
        let share = 1.0 / f64::from(hosts) / f64::from(hosts - (own.end - own.start));
        // The hosts of a rack are in ascending order; the others lie between them.
        let mut from = 0;
        for &host in &self.by_rack[own.start as usize..own.end as usize] {
            to(from..host, share);
            from = host + 1;
        }
        to(from..hosts, share);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{build, draw, leaf_spine};
    use crate::HostLayout;

    #[test]
    fn receivers_are_uniform_over_other_racks_however_hosts_are_numbered() {
        let layout = HostLayout {
            rack_of: vec![0, 1, 0, 2, 1, 0],
            ..leaf_spine(1, 1)
        };
        let mut counts = [[0u32; 6]; 6];
        for e in draw("inter-rack".into(), &layout, 360_000) {
            counts[e.src as usize][e.dst as usize] += 1;
        }
        for (src, row) in counts.iter().enumerate() {
            let others = layout
                .rack_of
                .iter()
                .filter(|&&r| r != layout.rack_of[src])
                .count() as u32;
            for (dst, &n) in row.iter().enumerate() {
                let same = layout.rack_of[src] == layout.rack_of[dst];
                let expected = if same { 0 } else { 60_000 / others };
                // Five standard deviations of a count of at most 20000 are below 707.
                assert!(n.abs_diff(expected) < 707, "{src} -> {dst}: {n}");
            }
        }
    }

    #[test]
    fn one_rack_is_an_error() {
        let error = build("inter-rack".into(), &leaf_spine(1, 4))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "inter-rack needs at least 2 racks; the topology has 1"
        );
    }
}
