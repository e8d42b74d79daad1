//! LAS, least attained service: the packet with the smallest number (section IV).

use serde::{Deserialize, Serialize};

use super::{FlowView, Policy, Priority};

/// The flow that has sent least.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

impl Policy for Spec {
    #[inline]
    fn priority(&self, flow: &FlowView) -> Priority {
        Priority::new(u64::from(flow.sent), flow)
    }
    fn is_oblivious(&self) -> bool {
        true
    }
}
