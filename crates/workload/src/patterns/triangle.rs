//! Triangle: one half of the traffic matrix, all its pairs equally likely.
//!
//! Two classes, one per half, make the heterogeneous matrix of AWAFS (section
//! 5): pairs whose sender has the smaller number carry one workload, all others
//! another. Host i of n is the receiver of i pairs of the upper half, so one
//! half alone loads the hosts unevenly; `load` is the mean over all of them.

use std::ops::Range;

use fctlab_core::SpecError;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use super::{Draw, Endpoints, Part, other};
use crate::{HostLayout, draw::below};

/// One half of the matrix: senders with smaller numbers than their receivers, or with larger ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Which half.
    pub half: Half,
}

/// A half of the matrix of (sender, receiver).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    /// sender < receiver
    Upper,
    /// sender > receiver
    Lower,
}

/// The load is spread over every host's link.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    hosts: u32,
    half: Half,
}

impl Part for Spec {
    type Pattern = Pattern;
    fn build(&self, layout: &HostLayout, _: &mut Pcg64) -> Result<Pattern, SpecError> {
        Ok(Pattern {
            hosts: layout.hosts(),
            half: self.half,
        })
    }
}

impl Draw for Pattern {
    fn next(&mut self, rng: &mut Pcg64) -> Endpoints {
        // A pair of distinct hosts in any order, then the order of this half.
        let a = below(rng, self.hosts);
        let b = other(below(rng, self.hosts - 1), a);
        match self.half {
            Half::Upper => Endpoints::pair(a.min(b), a.max(b)),
            Half::Lower => Endpoints::pair(a.max(b), a.min(b)),
        }
    }
    fn receivers(&self, src: u32, to: &mut dyn FnMut(Range<u32>, f64)) {
        let pairs = f64::from(self.hosts) * f64::from(self.hosts - 1);
        match self.half {
            Half::Upper => to(src + 1..self.hosts, 2.0 / pairs),
            Half::Lower => to(0..src, 2.0 / pairs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{draw, leaf_spine};
    use serde_json::json;

    #[test]
    fn all_pairs_of_a_half_are_equally_likely() {
        for (half, upper) in [("upper", true), ("lower", false)] {
            let mut counts = [[0u32; 4]; 4];
            let pattern = json!({"kind": "triangle", "half": half});
            for e in draw(pattern, &leaf_spine(2, 2), 60_000) {
                counts[e.src as usize][e.dst as usize] += 1;
            }
            for (src, row) in counts.iter().enumerate() {
                for (dst, &n) in row.iter().enumerate() {
                    // Binomial(60000, 1/6): five standard deviations are 457.
                    let expected = if src != dst && (src < dst) == upper {
                        10_000
                    } else {
                        0
                    };
                    assert!(n.abs_diff(expected) < 457, "{half} {src} -> {dst}: {n}");
                }
            }
        }
    }
}
