//! What a scenario writes about a host's port.

use std::borrow::Cow;

use fctlab_core::spec::OrNone;
use fctlab_core::{SpecError, spec};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::PortSpec;

/// A host port: a port, and how much of its queue one flow may fill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NicSpec {
    /// What leaves next, what is dropped, what is marked.
    #[serde(flatten)]
    pub port: PortSpec,
    /// Data packets that one flow may have waiting here (as Linux's TCP small
    /// queues): 1 lets flows take turns per packet, `"none"` lets a flow queue
    /// its whole window at once, as ns-2 does.
    #[serde(with = "spec::or_none")]
    pub per_flow_limit: Option<u32>,
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
struct PerFlowLimit {
    /// Data packets that one flow may have waiting in the NIC: 1 lets flows
    /// take turns per packet, `"none"` lets a flow queue its whole window.
    #[serde(default = "one_packet", with = "spec::or_none")]
    #[schemars(with = "OrNone<u32>")]
    per_flow_limit: Option<u32>,
}

fn one_packet() -> Option<u32> {
    Some(1)
}

impl<'de> Deserialize<'de> for NicSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let mut map = Map::deserialize(d)?;
        let own = map
            .shift_remove_entry("per_flow_limit")
            .into_iter()
            .collect();
        let read = || {
            let PerFlowLimit { per_flow_limit } = spec::read(Value::Object(own))?;
            if per_flow_limit == Some(0) {
                return Err(SpecError::new("per_flow_limit", "0 is not at least 1"));
            }
            Ok(NicSpec {
                port: spec::read(Value::Object(map))?,
                per_flow_limit,
            })
        };
        read().map_err(SpecError::into_serde)
    }
}

impl schemars::JsonSchema for NicSpec {
    fn schema_name() -> Cow<'static, str> {
        "NicSpec".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = fctlab_core::parts::schema_of::<PortSpec>(generator);
        let ports = schema["properties"].as_object_mut();
        for (name, key) in ports.into_iter().flatten() {
            let text = key["description"].as_str().unwrap_or_default();
            key["description"] = format!("{text} Default: `scheme.port.{name}`.").into();
            if let Some(key) = key.as_object_mut() {
                key.shift_remove("default"); // the port's stands in
            }
        }
        let own = fctlab_core::parts::schema_of::<PerFlowLimit>(generator);
        schema["properties"]["per_flow_limit"] = own["properties"]["per_flow_limit"].clone();
        schema.try_into().unwrap_or_default()
    }
}
