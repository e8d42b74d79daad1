//! Windows of chosen flows.

use serde::{Deserialize, Serialize};

/// Windows of chosen flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The flows, by their number in the stream, from 0.
    pub flows: Vec<u64>,
}
