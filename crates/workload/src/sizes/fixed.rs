//! Point distribution: every flow has the same size (the ADS paper's point workload is 2 MB).

use fctlab_core::{Bytes, SpecError};
use serde::{Deserialize, Serialize};

use super::{SizeDistribution, flow_size};

/// Every flow has the same size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Payload bytes of every flow.
    #[serde(deserialize_with = "flow_size")]
    pub size: Bytes,
}

impl Spec {
    pub(super) fn build(&self) -> Result<SizeDistribution, SpecError> {
        SizeDistribution::uniform(&[self.size])
            .ok_or_else(|| SpecError::new("size", super::not_a_flow_size(self.size)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::PacketFormat;

    #[test]
    fn two_packets_for_two_kilobytes() {
        let sizes = Spec {
            size: Bytes::new(2000),
        }
        .build()
        .unwrap();
        assert_eq!(sizes.mean(), 2000.0);
        assert_eq!(sizes.mean_wire(&PacketFormat::default()), 2080.0);
        assert_eq!(sizes.quantile(0.0), 2000.0);
        assert_eq!((sizes.cdf(1999.9), sizes.cdf(2000.0)), (0.0, 1.0));
    }
}
