//! The scenario: one specification.
//!
//! A scenario is a serde type with a JSON Schema ([`schema`]). TOML, YAML and JSON are only
//! ways to write it ([`parse`]). [`prepare`](crate::prepare) fills in every default; the resolved
//! scenario is part of every result, and running it again gives the same bytes.

mod engine;
pub mod record;
mod schema;
mod text;

use fctlab_core::random::Seed;
use fctlab_core::{PacketFormat, SpecError, edit, spec};
use fctlab_workload::{Traffic, TrafficSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::engine::{EngineSpec, Model, PacketByPacket};
use self::record::RecordSpec;
pub use self::schema::{catalog, schema};
pub(crate) use self::text::not_a_table;
pub use self::text::{Format, parse};
use crate::measure::MeasureSpec;
use crate::network::Fabric;
use crate::network::capacity;
use crate::network::topology::TopologySpec;
use crate::scheme::{self, SchemeSpec};

/// A fully resolved scenario: every default filled in, every preset merged.
/// Serializing it and reading it back gives the same run, byte for byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The version of fctlab that resolved it.
    #[serde(default = "version")]
    pub version: String,
    /// What it is, for people.
    #[serde(default)]
    pub name: String,
    /// The seed from which every random stream follows.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// What simulates it.
    #[serde(default)]
    pub engine: EngineSpec,
    /// Sizes of packets.
    #[serde(default)]
    pub packet: PacketFormat,
    /// Hosts, switches and links.
    pub topology: TopologySpec,
    /// The base RTT that follows from them, in seconds: a full packet and its ACK along the longest
    /// path, nothing waiting. Computed; it is not to be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("readOnly" = true))]
    pub base_rtt_s: Option<f64>,
    /// Links of which less is available at times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacity: Vec<capacity::Spec>,
    /// Which flows start where and when.
    pub traffic: TrafficSpec,
    /// Which flows count, and when the run ends.
    #[serde(default)]
    pub measure: MeasureSpec,
    /// How the network schedules them.
    pub scheme: SchemeSpec,
    /// What to record besides the flows.
    #[serde(default)]
    pub record: RecordSpec,
}

/// That of this build.
pub(crate) fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

fn default_seed() -> u64 {
    1
}

impl Scenario {
    /// Its seed.
    pub fn seed(&self) -> Seed {
        Seed(self.seed)
    }
    /// Its flows, from the first on.
    ///
    /// # Errors
    /// What makes no flows on this fabric, and files that cannot be read.
    pub fn traffic_on(&self, fabric: &Fabric) -> Result<Traffic, SpecError> {
        let traffic = self
            .traffic
            .build(&fabric.layout(), &self.packet, self.seed());
        traffic.map_err(|e| e.under("traffic"))
    }
    /// Its hosts, switches and links.
    ///
    /// # Errors
    /// What makes no fabric, or names no link of it.
    pub fn fabric(&self) -> Result<Fabric, SpecError> {
        let fabric = self.topology.build(&self.packet);
        let mut fabric = fabric.map_err(|e| e.under("topology"))?;
        capacity::apply(&self.capacity, &mut fabric)?;
        Ok(fabric)
    }
}

/// The scenario `value` under the scheme `name`: a table of the scenario
/// (`[schemes.NAME]`), its own `[scheme]` if that is called so, or a preset.
/// Those of the `sets` that are about `schemes` apply first.
///
/// # Errors
/// When there is no such scheme, or a set is wrong.
pub fn with_scheme(
    mut value: Value,
    sets: &[(String, String)],
    name: &str,
) -> Result<Value, SpecError> {
    for (path, text) in sets.iter().filter(|(path, _)| path.starts_with("schemes.")) {
        edit::set(&mut value, path, text)?;
    }
    let Value::Object(map) = &value else {
        return Err(not_a_table(&value));
    };
    let own = map.get("scheme");
    let named = |scheme: &Value| {
        let given = scheme
            .get("name")
            .or(scheme.get("preset"))
            .unwrap_or(scheme);
        given.as_str() == Some(name)
    };
    let tables = map.get("schemes").and_then(Value::as_object);
    let mut scheme = if let Some(table) = tables.and_then(|t| t.get(name)) {
        table.clone()
    } else if let Some(own) = own.filter(|own| named(own)) {
        own.clone()
    } else if scheme::PRESETS.contains(&name) {
        json!(name)
    } else {
        let mut known: Vec<&str> = tables
            .into_iter()
            .flatten()
            .map(|(k, _)| k.as_str())
            .collect();
        known.extend(scheme::PRESETS);
        let hint = spec::hint(name, &known);
        let message = format!(
            "{name:?} is not a scheme; {hint}known: {}",
            known.join(", ")
        );
        return Err(SpecError::new("schemes", message));
    };
    if let Value::String(preset) = &scheme {
        scheme = json!({ "preset": preset });
    }
    if let Value::Object(table) = &mut scheme {
        table.insert("name".into(), name.into());
    }
    let mut map = map.clone();
    map.insert("scheme".into(), scheme);
    Ok(Value::Object(map))
}
