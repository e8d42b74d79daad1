//! A fixed order of flows: how offline schedules are written down.
//!
//! On one port some fixed order is optimal: take the flows in the order in which an
//! optimal schedule ends them.

use fctlab_core::SpecError;
use serde::{Deserialize, Serialize};

use super::{FlowView, Policy, Priority};
use crate::instance::Instance;

/// A fixed order of flows; knows everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// One number per flow; the smallest goes first.
    pub ranks: Vec<u32>,
}

impl Spec {
    /// The flows in this order.
    pub fn in_order(order: &[usize]) -> Spec {
        let mut ranks = vec![0; order.len()];
        for (rank, &flow) in (0..).zip(order) {
            ranks[flow] = rank;
        }
        Spec { ranks }
    }
}

impl Policy for Spec {
    #[inline]
    fn priority(&self, flow: &FlowView) -> Priority {
        Priority::new(u64::from(self.ranks[flow.flow as usize]), flow)
    }
    fn is_oblivious(&self) -> bool {
        false
    }
    fn fits(&self, instance: &Instance) -> Result<(), SpecError> {
        if self.ranks.len() != instance.flows.len() {
            let message = format!("{} for {} flows", self.ranks.len(), instance.flows.len());
            return Err(SpecError::new("ranks", message));
        }
        Ok(())
    }
}
