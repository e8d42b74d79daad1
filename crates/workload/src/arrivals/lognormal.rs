//! Log-normal arrivals: bursty, independent gaps (swp, sections 2 and 5: sigma from 1 to 2).
//!
//! A gap is exp(mu + sigma Z) with Z standard normal; mu = ln(mean gap) -
//! sigma^2 / 2 gives the mean that the load asks for. The coefficient of
//! variation is sqrt(exp(sigma^2) - 1): 7.3 at sigma = 2, against 1 for Poisson.

use fctlab_core::spec;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::draw;

/// Log-normal gaps: bursty arrivals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The shape: standard deviation of the gap's logarithm. Default: 2 (swp).
    #[serde(default = "two", deserialize_with = "spec::positive")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub sigma: f64,
}

fn two() -> f64 {
    2.0
}

/// The gaps of log-normal arrivals.
#[derive(Clone, Debug)]
pub(crate) struct Gaps {
    sigma: f64,
}

impl Spec {
    pub(super) fn build(&self) -> Gaps {
        Gaps { sigma: self.sigma }
    }
}

impl Gaps {
    pub(super) fn next_s(&self, mean_s: f64, rng: &mut Pcg64) -> f64 {
        let mu = libm::log(mean_s) - self.sigma * self.sigma / 2.0;
        libm::exp(mu + self.sigma * draw::normal(rng))
    }
    /// A gap that is as likely as it is long: log-normal too, mu larger by sigma^2.
    pub(super) fn found_s(&self, mean_s: f64, rng: &mut Pcg64) -> f64 {
        self.next_s(mean_s * libm::exp(self.sigma * self.sigma), rng)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ArrivalsSpec, tests::mean_and_cv};
    use super::*;
    use fctlab_core::random::Seed;

    #[test]
    fn mean_and_coefficient_of_variation() {
        // sigma = 0.5: CV^2 = e^0.25 - 1 = 0.2840, CV = 0.5329. Standard error
        // of the mean at n = 10^6: 0.053%. The CV's is below 0.2% (delta method
        // with the log-normal's kurtosis of 8.9). Five of each.
        let spec = ArrivalsSpec::Lognormal(Spec { sigma: 0.5 });
        let (mean, cv) = mean_and_cv(&spec, 1e-5, 1_000_000);
        assert!((mean / 1e-5 - 1.0).abs() < 0.0027, "{mean}");
        assert!((cv / 0.532_94 - 1.0).abs() < 0.01, "{cv}");
        // sigma = 2: CV = 7.32, standard error of the mean 0.73% at 10^6.
        let spec = ArrivalsSpec::Lognormal(Spec { sigma: 2.0 });
        let (mean, _) = mean_and_cv(&spec, 1e-5, 1_000_000);
        assert!((mean / 1e-5 - 1.0).abs() < 0.037, "{mean}");
    }

    #[test]
    fn the_logarithm_is_normal() {
        let gaps = Spec { sigma: 2.0 }.build();
        let mut rng = Seed(1).stream("arrivals");
        let below = (0..100_000)
            .filter(|_| gaps.next_s(1.0, &mut rng) < libm::exp(-2.0))
            .count();
        // exp(mu) is the median: half of 10^5, five standard deviations are 791.
        assert!(below.abs_diff(50_000) < 791, "{below}");
    }
}
