//! All-to-all: sender uniform, receiver uniform over the other hosts.

use std::ops::Range;

use fctlab_core::SpecError;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use super::{Draw, Endpoints, Part, all_others, other};
use crate::{HostLayout, draw::below};

/// Any host to any other, all pairs equally likely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {}

/// All-to-all traffic; its load is spread over every host's link.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    hosts: u32,
}

impl Part for Spec {
    type Pattern = Pattern;
    fn build(&self, layout: &HostLayout, _: &mut Pcg64) -> Result<Pattern, SpecError> {
        Ok(Pattern {
            hosts: layout.hosts(),
        })
    }
}

impl Draw for Pattern {
    fn next(&mut self, rng: &mut Pcg64) -> Endpoints {
        let src = below(rng, self.hosts);
        Endpoints::pair(src, other(below(rng, self.hosts - 1), src))
    }
    fn receivers(&self, src: u32, to: &mut dyn FnMut(Range<u32>, f64)) {
        let pairs = f64::from(self.hosts) * f64::from(self.hosts - 1);
        all_others(self.hosts, src, pairs, to);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{draw, leaf_spine};

    #[test]
    fn all_pairs_are_equally_likely() {
        let mut counts = [[0u32; 4]; 4];
        for e in draw("all-to-all".into(), &leaf_spine(2, 2), 120_000) {
            counts[e.src as usize][e.dst as usize] += 1;
        }
        for (src, row) in counts.iter().enumerate() {
            for (dst, &n) in row.iter().enumerate() {
                // Binomial(120000, 1/12): five standard deviations are 479.
                let expected = if src == dst { 0 } else { 10_000 };
                assert!(n.abs_diff(expected) < 479, "{src} -> {dst}: {n}");
            }
        }
    }
}
