//! One queue for all classes, first in, first out.

use serde::{Deserialize, Serialize};

/// One queue for all classes, first in, first out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}
