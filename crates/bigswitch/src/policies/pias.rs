//! PIAS: LAS in steps (section IV).
//!
//! The relaxed number of a packet is the index of the largest threshold that does
//! not exceed its number, packets being numbered from 1 (0 if there is none). The
//! packet with the smallest relaxed number goes, ties in FIFO order.

use fctlab_core::SpecError;
use serde::{Deserialize, Serialize};

use super::{FlowView, Policy, Priority};

/// LAS in steps, FIFO within a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Packet numbers from which the next step holds, rising.
    pub thresholds: Vec<u32>,
}

impl Policy for Spec {
    #[inline]
    fn priority(&self, flow: &FlowView) -> Priority {
        let number = flow.sent + 1;
        let passed = self.thresholds.iter().take_while(|&&t| t <= number);
        Priority::new(passed.count() as u64, flow)
    }
    fn is_oblivious(&self) -> bool {
        true
    }
    fn check(&self) -> Result<(), SpecError> {
        if self.thresholds.is_empty() || !self.thresholds.is_sorted_by(|a, b| a < b) {
            let message = format!(
                "{:?} is not a rising list of packet numbers",
                self.thresholds
            );
            return Err(SpecError::new("thresholds", message));
        }
        Ok(())
    }
}
