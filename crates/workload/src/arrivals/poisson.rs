//! Poisson arrivals: independent, exponentially distributed gaps.

use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::draw;

/// Poisson arrivals: independent exponential gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {}

/// The gaps of a Poisson process.
#[derive(Clone, Debug)]
pub(crate) struct Gaps;

impl Spec {
    pub(super) fn build(&self) -> Gaps {
        Gaps
    }
}

impl Gaps {
    pub(super) fn next_s(&self, mean_s: f64, rng: &mut Pcg64) -> f64 {
        mean_s * draw::exponential(rng)
    }
    /// A gap that is as likely as it is long: two of them.
    pub(super) fn found_s(&self, mean_s: f64, rng: &mut Pcg64) -> f64 {
        self.next_s(mean_s, rng) + self.next_s(mean_s, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ArrivalsSpec, tests::mean_and_cv};

    #[test]
    fn mean_and_coefficient_of_variation() {
        // Standard errors at n = 10^6: 0.1% of the mean, and 0.1% of the CV
        // (its asymptotic variance is 1/n for the exponential). Five of each.
        let (mean, cv) = mean_and_cv(&ArrivalsSpec::default(), 1e-5, 1_000_000);
        assert!((mean / 1e-5 - 1.0).abs() < 0.005, "{mean}");
        assert!((cv - 1.0).abs() < 0.005, "{cv}");
    }
}
