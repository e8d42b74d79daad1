//! Weighted round robin: a queue per class, served in turns of as many packets as its weight.
//!
//! As a fluid it shares bytes as `wfq` does: packets are of one size.

use serde::{Deserialize, Serialize};

use super::Inside;

/// Weighted round robin over the classes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Who is served first among the flows of one class. Default: `fifo`.
    pub inside: Inside,
}
