//! Where a flow's completion time ends, for every engine.
//!
//! A scenario's default is delivery ([`FctEnds::default`]); a specification's is the ACK, as in swp, where
//! the ideal is RTT + size / rate.

use serde::{Deserialize, Serialize};

/// Where a flow's completion time ends; the ideal ends there too.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FctEnds {
    /// When the last byte reaches the receiver.
    #[default]
    Delivery,
    /// When the ACK of the last byte reaches the sender (ns-2, HPCC, swp).
    Ack,
}
