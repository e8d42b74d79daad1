//! BRR, bit round robin: one packet of each flow in turn (section IV; Demers, Keshav and
//! Shenker, SIGCOMM 1989).
//!
//! Flows with waiting packets form a cycle. A flow that had nothing to send joins
//! before those that have just had their turn.

use serde::{Deserialize, Serialize};

use super::{FlowView, Policy, Priority};

/// One packet of each flow in turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

impl Policy for Spec {
    #[inline]
    fn priority(&self, flow: &FlowView) -> Priority {
        Priority::new(flow.turn.order(), flow)
    }
    fn is_oblivious(&self) -> bool {
        true
    }
}
