//! Permutation: every host sends to one fixed other host and receives from one.

use std::ops::Range;

use fctlab_core::SpecError;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use super::{Draw, Endpoints, Part};
use crate::{HostLayout, draw::below};

/// Each host to one fixed other host: a random derangement, drawn once per seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {}

/// Permutation traffic: senders uniform; its load is spread over every host's link.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    receiver_of: Vec<u32>,
}

impl Part for Spec {
    type Pattern = Pattern;
    fn build(&self, layout: &HostLayout, rng: &mut Pcg64) -> Result<Pattern, SpecError> {
        Ok(Pattern {
            receiver_of: derangement(layout.hosts(), rng),
        })
    }
}

/// A uniformly random permutation of `0..n`, n >= 2, without fixed points:
/// shuffles until there is none, e times on average.
fn derangement(n: u32, rng: &mut Pcg64) -> Vec<u32> {
    let mut to: Vec<u32> = (0..n).collect();
    loop {
        for i in (1..n).rev() {
            to.swap(i as usize, below(rng, i + 1) as usize);
        }
        if (0..n).zip(&to).all(|(i, &t)| i != t) {
            return to;
        }
    }
}

impl Draw for Pattern {
    fn next(&mut self, rng: &mut Pcg64) -> Endpoints {
        let src = below(rng, self.receiver_of.len() as u32);
        Endpoints::pair(src, self.receiver_of[src as usize])
    }
    fn receivers(&self, src: u32, to: &mut dyn FnMut(Range<u32>, f64)) {
        let dst = self.receiver_of[src as usize];
        to(dst..dst + 1, 1.0 / self.receiver_of.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::random::Seed;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_a_permutation_without_fixed_points(n in 2u32..200, seed: u64) {
            let to = derangement(n, &mut Seed(seed).stream("endpoints"));
            prop_assert!((0..n).zip(&to).all(|(i, &t)| i != t));
            let mut sorted = to;
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..n));
        }
    }

    #[test]
    fn all_nine_derangements_of_four_are_equally_likely() {
        let mut rng = Seed(1).stream("endpoints");
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..90_000 {
            *counts.entry(derangement(4, &mut rng)).or_insert(0u32) += 1;
        }
        // Binomial(90000, 1/9): five standard deviations are 472.
        assert_eq!(counts.len(), 9);
        assert!(
            counts.values().all(|n| n.abs_diff(10_000) < 472),
            "{counts:?}"
        );
    }
}
