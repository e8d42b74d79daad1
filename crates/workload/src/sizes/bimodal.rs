//! Two sizes (the ADS paper's bimodal workload: half 2 KB, half 2 MB).

use fctlab_core::{Bytes, SpecError, spec};
use serde::{Deserialize, Serialize};

use super::distribution::{Interpolation, Point, SizeDistribution};
use super::flow_size;

/// Two sizes, small and large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Payload bytes of a small flow.
    #[serde(deserialize_with = "flow_size")]
    pub small: Bytes,
    /// Payload bytes of a large flow.
    #[serde(deserialize_with = "flow_size")]
    pub large: Bytes,
    /// Share of the flows that are small. Default: 0.5.
    #[serde(default = "half", deserialize_with = "spec::open_unit")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub small_share: f64,
}

fn half() -> f64 {
    0.5
}

impl Spec {
    pub(super) fn build(&self) -> Result<SizeDistribution, SpecError> {
        if self.small >= self.large {
            let message = format!("{} is not below large ({})", self.small, self.large);
            return Err(SpecError::new("small", message));
        }
        let point = |size: Bytes, probability| Point {
            size: size.get() as f64,
            probability,
        };
        let points = vec![point(self.small, self.small_share), point(self.large, 1.0)];
        SizeDistribution::new(points, Interpolation::Step)
            .map_err(|error| SpecError::new("", error.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(small: u64, large: u64, small_share: f64) -> Spec {
        Spec {
            small: Bytes::new(small),
            large: Bytes::new(large),
            small_share,
        }
    }

    #[test]
    fn mean_and_quantiles() {
        let sizes = spec(2000, 2_000_000, 0.9).build().unwrap();
        assert!((sizes.mean() - 201_800.0).abs() < 1e-6);
        assert_eq!([0.9, 0.91].map(|u| sizes.quantile(u)), [2000.0, 2e6]);
    }

    #[test]
    fn small_must_be_below_large() {
        let error = spec(2000, 2000, 0.5).build().unwrap_err().to_string();
        assert_eq!(error, "small: 2KB is not below large (2KB)");
    }
}
