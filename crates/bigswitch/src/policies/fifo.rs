//! FIFO: the packet that arrived first (section IV).

use serde::{Deserialize, Serialize};

use super::{FlowView, Policy, Priority};

/// The packet that arrived first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

impl Policy for Spec {
    #[inline]
    fn priority(&self, flow: &FlowView) -> Priority {
        Priority::new(0, flow)
    }
    fn is_oblivious(&self) -> bool {
        true
    }
}
