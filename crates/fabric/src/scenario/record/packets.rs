//! A packet trace of chosen flows.

use serde::{Deserialize, Serialize};

/// Packet trace of chosen flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The flows, by their number in the stream, from 0.
    pub flows: Vec<u64>,
    /// Whose view to write.
    #[serde(default)]
    pub at: At,
    /// Most packets in the file; later ones are counted and left out.
    #[serde(default = "default_max_packets")]
    pub max_packets: u64,
}

fn default_max_packets() -> u64 {
    100_000
}

/// Where packets are seen.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// At the flow's sender.
    Sender,
    /// At its receiver.
    Receiver,
    /// At both.
    #[default]
    Both,
}
