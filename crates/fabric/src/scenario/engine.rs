//! What simulates a scenario.

use fctlab_core::parts;
use fctlab_core::units::RttTime;
use fctlab_link::Control;
use serde::{Deserialize, Serialize};

parts! {
    /// What simulates a scenario.
    pub enum EngineSpec, "kind of engine" {
        "packet" => Packet(PacketByPacket),
        "model" => Model(Model),
        "fluid" => Fluid(Fluid),
    }
}

/// Packet by packet, on any topology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PacketByPacket {}

impl Default for EngineSpec {
    fn default() -> Self {
        EngineSpec::Packet(PacketByPacket {})
    }
}

/// The functional model of one bottleneck: rates instead of packets, in a fraction of the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// Congestion control as a function: a preset, or what differs from one or from the default.
    /// Default: the preset of the scheme's transport, with the scenario's packets, and the
    /// scheme's marking threshold and parameters where the model has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cc: Option<Control>,
}

/// One fluid for all links: rates instead of packets, on any topology whose paths go up and then down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fluid {
    /// How long a step is; at most a base RTT. Half as long takes twice the time.
    /// Default: a base RTT for DCTCP on rates; half of one where switches serve flows fairly, and for HPCC; a quarter under
    /// strict priority and for DCTCP as hosts have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<RttTime>,
}
