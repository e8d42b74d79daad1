//! Fair queueing among all flows, whatever their class (Demers, Keshav, Shenker, SIGCOMM 1989).

use serde::{Deserialize, Serialize};

/// Fair queueing among all flows, whatever their class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}
