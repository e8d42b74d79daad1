//! Arrival processes: `arrivals = "poisson"`.
//!
//! A process draws the gap before each arrival; an arrival is one flow, or one
//! query with all its flows. Adding one is one file and two lines below.

use fctlab_core::Duration;
use rand_pcg::Pcg64;

use crate::draw;

/// Declares the registry and the closed enum that draws the gaps.
macro_rules! arrivals {
    ($($name:tt => $Part:ident($module:ident)),+ $(,)?) => {
        fctlab_core::parts! {
            /// The process that draws the gaps between arrivals.
            pub enum ArrivalsSpec, "arrival process" {
                $($name => $Part($module::Spec)),+
            }
        }

        /// An arrival process at a given rate.
        #[derive(Clone, Debug)]
        pub(crate) enum Arrivals {
            $($Part($module::Gaps)),+
        }

        impl ArrivalsSpec {
            /// The process, of gaps with any mean.
            pub(crate) fn build(&self) -> Arrivals {
                match self {
                    $(ArrivalsSpec::$Part(spec) => Arrivals::$Part(spec.build())),+
                }
            }
        }

        impl Arrivals {
            /// The gap before the next arrival, where gaps are `mean_s` seconds on average.
            pub(crate) fn gap(&self, mean_s: f64, rng: &mut Pcg64) -> Duration {
                in_time(match self {
                    $(Arrivals::$Part(gaps) => gaps.next_s(mean_s, rng)),+
                })
            }
            /// The gap before the first arrival that someone sees who comes at any time: the rest of
            /// a gap that is as likely as it is long.
            pub(crate) fn first_gap(&self, mean_s: f64, rng: &mut Pcg64) -> Duration {
                let whole = match self {
                    $(Arrivals::$Part(gaps) => gaps.found_s(mean_s, rng)),+
                };
                in_time(whole * draw::unit(rng))
            }
        }
    };
}

fn in_time(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds).unwrap_or(Duration::from_ps(u64::MAX))
}

pub mod lognormal;
pub mod measured;
pub mod poisson;

arrivals! {
    "poisson" => Poisson(poisson),
    "lognormal" => Lognormal(lognormal),
    "measured" => Measured(measured),
}

impl Default for ArrivalsSpec {
    fn default() -> Self {
        ArrivalsSpec::Poisson(poisson::Spec {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::random::Seed;

    /// Mean and coefficient of variation of `n` gaps, in seconds.
    pub(super) fn mean_and_cv(spec: &ArrivalsSpec, mean_gap_s: f64, n: u32) -> (f64, f64) {
        let arrivals = spec.build();
        let mut rng = Seed(1).stream("arrivals");
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let gap = arrivals.gap(mean_gap_s, &mut rng).as_secs_f64();
            sum += gap;
            squares += gap * gap;
        }
        let n = f64::from(n);
        let mean = sum / n;
        (mean, (squares / n - mean * mean).sqrt() / mean)
    }

    #[test]
    fn a_gap_beyond_the_end_of_time_is_no_panic() {
        let gap = ArrivalsSpec::default()
            .build()
            .gap(1e300, &mut Seed(1).stream("arrivals"));
        assert_eq!(gap.ps(), u64::MAX);
    }
}
