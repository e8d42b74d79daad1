//! Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): a queue per class, quanta by weight.
//!
//! As a fluid it shares as `wfq` does: what a turn is too long or too short is gone.

use serde::{Deserialize, Serialize};

use super::Inside;

/// Deficit round robin over the classes, quanta by weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Who is served first among the flows of one class. Default: `fifo`.
    pub inside: Inside,
}
