//! Strict priority: a queue per class, in the order in which the scenario lists the classes.
//!
//! A class is served when those before it have nothing waiting.

use serde::{Deserialize, Serialize};

use super::Inside;

/// Strict priority, in the order of the classes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Who is served first among the flows of one class. Default: `fifo`.
    pub inside: Inside,
}
