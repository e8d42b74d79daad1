//! The scenario: one specification.
//!
//! A scenario is a serde type with a JSON Schema ([`schema`]). TOML, YAML and JSON are only
//! ways to write it ([`parse`]). [`prepare`](crate::prepare) fills in every default; the resolved
//! scenario is part of every result, and running it again gives the same bytes.

mod engine;
mod line;
pub mod record;
mod schema;
mod text;

use std::path::Path;

use fctlab_core::random::Seed;
use fctlab_core::{PacketFormat, SpecError, Time, edit, spec};
use fctlab_workload::{Traffic, TrafficSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::engine::{EngineSpec, Fluid, Model, PacketByPacket};
pub use self::line::line_of;
use self::record::RecordSpec;
pub use self::schema::{catalog, schema};
pub(crate) use self::text::not_a_table;
pub use self::text::{Format, parse};
use crate::measure::MeasureSpec;
use crate::network::Fabric;
use crate::network::capacity;
use crate::network::topology::TopologySpec;
use crate::scheme::{Names, SchemeSpec};

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
    /// Links of which less is available at times. Default: none.
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
        let warmup = Time::ZERO + self.measure.warmup;
        let traffic = self
            .traffic
            .build_after(warmup, &fabric.layout(), &self.packet, self.seed());
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
/// Those of the `sets` that are about `schemes` apply first, to a preset as well. Relative
/// directories of presets are taken from `folder`.
///
/// # Errors
/// When there is no such scheme, or a set is wrong; a mistake in a preset of one's own.
pub fn with_scheme(
    mut value: Value,
    sets: &[(String, String)],
    name: &str,
    folder: &Path,
) -> Result<Value, SpecError> {
    for (path, text) in sets.iter().filter(|(path, _)| path == "presets") {
        edit::set(&mut value, path, text)?;
    }
    let Value::Object(map) = &mut value else {
        return Err(not_a_table(&value));
    };
    let names = Names::of(map, folder)?;
    let sets = sets.iter().filter(|(path, _)| path.starts_with("schemes."));
    let inside = format!("schemes.{name}.");
    if sets.clone().any(|(path, _)| path.starts_with(&inside)) {
        // What is changed there is what goes by the name, written or not.
        let own = called(map.get("scheme"), name, &names);
        let tables = map.entry("schemes").or_insert_with(|| json!({}));
        if let (Some(tables), Some(scheme)) = (tables.as_object_mut(), own) {
            tables.entry(name).or_insert(scheme);
        }
    }
    for (path, text) in sets {
        edit::set(&mut value, path, text)?;
    }
    let Value::Object(map) = &value else {
        return Err(not_a_table(&value));
    };
    let tables = map.get("schemes").and_then(Value::as_object);
    let table = tables.and_then(|t| t.get(name)).cloned();
    let Some(mut scheme) = table.or_else(|| called(map.get("scheme"), name, &names)) else {
        let known = names.known();
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

/// The scheme that goes by `name` without a table of its own, as a table: the scenario's `own`, or a preset.
fn called(own: Option<&Value>, name: &str, names: &Names) -> Option<Value> {
    let given = |scheme: &Value| {
        let named = scheme.get("name").or(scheme.get("preset"));
        named.unwrap_or(scheme).as_str() == Some(name)
    };
    match own.filter(|own| given(own)) {
        Some(own) if own.is_object() => Some(own.clone()),
        Some(_) => Some(json!({ "preset": name })),
        None => names.has_preset(name).then(|| json!({ "preset": name })),
    }
}
