//! The longest waits in ports.

use fctlab_core::spec;
use serde::{Deserialize, Serialize};

/// The longest waits in ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// How many.
    #[serde(deserialize_with = "spec::whole::<_, 1, 10000000>")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub longest: u32,
}

impl Default for Spec {
    fn default() -> Self {
        Spec { longest: 100 }
    }
}
