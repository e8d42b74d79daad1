//! GA(A): any policy A made oblivious to flow sizes (section VI, algorithm 1).
//!
//! Flows whose last packet has arrived come first, in the order of A; the others
//! come after them in the order of an oblivious policy, FIFO in the paper. A sees a
//! flow as if it had arrived whole with its last packet, less what had been sent
//! before: then a run of GA(A) is a run of A on those flows, which is the first step
//! in the proof of theorem 8, for every A.

use fctlab_core::SpecError;
use serde::{Deserialize, Serialize};

use super::{FlowView, Policy, PolicySpec, Priority, fifo};

/// Any policy without flow sizes: complete flows first, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The order of complete flows.
    pub policy: Box<PolicySpec>,
    /// The order of the others: a policy that needs no flow sizes.
    #[serde(default = "fifo_second")]
    pub second: Box<PolicySpec>,
}

pub(super) fn fifo_second() -> Box<PolicySpec> {
    Box::new(PolicySpec::Fifo(fifo::Spec {}))
}

impl Policy for Spec {
    #[inline]
    fn priority(&self, flow: &FlowView) -> Priority {
        two_groups(flow, &*self.policy, &self.second)
    }
    fn is_oblivious(&self) -> bool {
        true
    }
    fn check(&self) -> Result<(), SpecError> {
        self.policy.check().map_err(|e| e.under("policy"))?;
        check_second(&self.second)
    }
}

/// Complete flows before the others.
#[inline]
pub(super) fn two_groups(flow: &FlowView, first: &impl Policy, second: &PolicySpec) -> Priority {
    const SECOND: u64 = 1 << 63; // priorities are below
    match flow.arrived_whole() {
        Some(whole) => first.priority(&whole),
        None => {
            let Priority { major, since } = match second {
                // The usual one, without asking further.
                PolicySpec::Fifo(fifo) => fifo.priority(flow),
                second => second.priority(flow),
            };
            Priority {
                major: major | SECOND,
                since,
            }
        }
    }
}

pub(super) fn check_second(second: &PolicySpec) -> Result<(), SpecError> {
    let nested = matches!(second, PolicySpec::Ga(_) | PolicySpec::Asrpt(_));
    if !second.is_oblivious() || nested {
        let message = format!(
            "{:?} cannot order flows of unknown size; known: fifo, brr, las, pias",
            second.kind()
        );
        return Err(SpecError::new("second", message));
    }
    second.check().map_err(|e| e.under("second"))
}
