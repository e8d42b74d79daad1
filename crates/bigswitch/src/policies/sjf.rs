//! SJF: shortest job first, with preemption; needs flow sizes.

use serde::{Deserialize, Serialize};

use super::{FlowView, Policy, Priority};

/// The smallest flow; needs flow sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

impl Policy for Spec {
    #[inline]
    fn priority(&self, flow: &FlowView) -> Priority {
        Priority::new(u64::from(flow.size), flow)
    }
    fn is_oblivious(&self) -> bool {
        false
    }
}
