//! Ideal: pFabric's greedy algorithm (Alizadeh et al., SIGCOMM 2013, algorithm 1).
//!
//! Go through the flows in order of their remaining size and take each whose ports
//! are free. Since every policy here serves such a matching in its own order, this
//! is SRPT under the name that it has on several ports.

use serde::{Deserialize, Serialize};

use super::{FlowView, Policy, Priority, srpt};

/// A greedy matching by remaining size on several ports; needs flow sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

impl Policy for Spec {
    #[inline]
    fn priority(&self, flow: &FlowView) -> Priority {
        srpt::Spec { weighted: false }.priority(flow)
    }
    fn is_oblivious(&self) -> bool {
        false
    }
}
