//! Weighted fair queueing: a queue per class, those with bytes waiting share the link by weight.
//!
//! The fluid itself (generalised processor sharing): Parekh and Gallager, ToN 1(3), 1993.

use serde::{Deserialize, Serialize};

use super::Inside;

/// Weighted fair queueing over the classes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Who is served first among the flows of one class. Default: `fifo`.
    pub inside: Inside,
}
