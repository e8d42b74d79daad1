//! ASRPT, agnostic SRPT: GA(SRPT) (section V).
//!
//! Flows whose last packet has arrived come first, by remaining processing time
//! (with weights: divided by the weight); the others after them in FIFO order, or
//! that of another policy that needs no flow sizes.

use fctlab_core::SpecError;
use serde::{Deserialize, Serialize};

use super::{FlowView, Policy, PolicySpec, Priority, ga, srpt};

/// Complete flows first, by remaining packets; needs no flow sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// The order of flows that are not complete: a policy that needs no flow sizes.
    pub second: Box<PolicySpec>,
    /// Divide by the flow's weight.
    pub weighted: bool,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            second: ga::fifo_second(),
            weighted: false,
        }
    }
}

impl Policy for Spec {
    #[inline]
    fn priority(&self, flow: &FlowView) -> Priority {
        ga::two_groups(
            flow,
            &srpt::Spec {
                weighted: self.weighted,
            },
            &self.second,
        )
    }
    fn is_oblivious(&self) -> bool {
        true
    }
    fn check(&self) -> Result<(), SpecError> {
        ga::check_second(&self.second)
    }
}
