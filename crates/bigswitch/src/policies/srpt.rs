//! SRPT: shortest remaining processing time (section II); needs flow sizes.
//!
//! The remaining time counts every unsent packet of the flow, arrived or not. With
//! weights it is divided by the weight (section V).

use serde::{Deserialize, Serialize};

use super::{FlowView, Policy, Priority};

/// The flow with the fewest packets left; needs flow sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Divide by the flow's weight.
    pub weighted: bool,
}

impl Policy for Spec {
    #[inline]
    fn priority(&self, flow: &FlowView) -> Priority {
        let left = u64::from(flow.left());
        let major = if self.weighted {
            per_weight(left, flow.weight)
        } else {
            left
        };
        Priority::new(major, flow)
    }
    fn is_oblivious(&self) -> bool {
        false
    }
}

/// `packets / weight` so that numbers compare as the fractions do: different
/// fractions with denominators below 2^16 are more than 2^-32 apart.
#[inline]
pub(crate) fn per_weight(packets: u64, weight: u32) -> u64 {
    (packets << 33) / u64::from(weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{MOST_PACKETS, MOST_WEIGHT};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_per_weight_compare_as_fractions(
            a in 1..=u64::from(MOST_PACKETS), b in 1..=u64::from(MOST_PACKETS),
            v in 1..=MOST_WEIGHT, w in 1..=MOST_WEIGHT,
        ) {
            let fractions = (a * u64::from(w)).cmp(&(b * u64::from(v)));
            prop_assert_eq!(per_weight(a, v).cmp(&per_weight(b, w)), fractions);
            prop_assert!(per_weight(a, v) < 1 << 63);
        }
    }
}
