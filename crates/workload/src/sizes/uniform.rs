//! Uniform over listed sizes (the ADS paper: fixed values in [1 KB, 3 MB]).

use fctlab_core::{Bytes, SpecError};
use serde::{Deserialize, Serialize};

use super::{SizeDistribution, allowed, not_a_flow_size};

/// Each of the listed sizes is equally likely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Payload bytes; a size that is listed twice is twice as likely.
    #[schemars(length(min = 1))]
    pub sizes: Vec<Bytes>,
}

impl Spec {
    pub(super) fn build(&self) -> Result<SizeDistribution, SpecError> {
        if let Some((i, &size)) = self.sizes.iter().enumerate().find(|(_, s)| !allowed(**s)) {
            return Err(SpecError::new(format!("sizes[{i}]"), not_a_flow_size(size)));
        }
        SizeDistribution::uniform(&self.sizes)
            .ok_or_else(|| SpecError::new("sizes", "is empty; list at least one size"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(sizes: &[u64]) -> Spec {
        Spec {
            sizes: sizes.iter().copied().map(Bytes::new).collect(),
        }
    }

    #[test]
    fn equal_shares_in_any_order() {
        let sizes = spec(&[3000, 1000, 2000, 2000]).build().unwrap();
        assert_eq!(sizes.mean(), 2000.0);
        assert_eq!(
            [0.25, 0.26, 0.75, 0.76].map(|u| sizes.quantile(u)),
            [1000.0, 2000.0, 2000.0, 3000.0]
        );
    }

    #[test]
    fn errors() {
        let error = |s: Spec| s.build().unwrap_err().to_string();
        assert_eq!(error(spec(&[])), "sizes: is empty; list at least one size");
        assert_eq!(error(spec(&[5, 0])), "sizes[1]: 0B is not in [1B, 1000GB]");
    }
}
