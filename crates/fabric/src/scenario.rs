//! The scenario: one specification, one validator.
//!
//! A scenario is a serde type with a JSON Schema. TOML, YAML and JSON are only
//! ways to write it. [`resolve`] fills in every default; the resolved scenario
//! is part of every result, and running it again gives the same bytes.

use std::path::Path;

use fctlab_core::random::Seed;
use fctlab_core::spec::Plain;
use fctlab_core::{Duration, PacketFormat, SpecError, Time, parts, spec};
use fctlab_workload::{ArrivalsSpec, PatternSpec, SizesSpec, TrafficSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::capacity;
use crate::disciplines::{QueueSpec, published};
use crate::functional;
use crate::mappings::MappingPolicy;
use crate::offered;
use crate::recorders::RecordSpec;
use crate::routing::RoutingSpec;
use crate::scheme::{self, SchemeSpec};
use crate::taggers::Tagger;
use crate::topology::{Fabric, TopologySpec};
use crate::transports::RuleSpec;

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

fn version() -> String {
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

    /// How many flows a run is expected to have.
    ///
    /// # Errors
    /// A mistake in it, or in a file that it names.
    pub fn expected_flows(&self) -> Result<u64, SpecError> {
        let layout = self.fabric()?.layout();
        let traffic = self.traffic.build(&layout, &self.packet, self.seed());
        Ok(traffic.map_err(|e| e.under("traffic"))?.expected_flows())
    }
}

parts! {
    /// What simulates a scenario.
    pub enum EngineSpec, "kind of engine" {
        "packet" => Packet(PacketByPacket),
        "model" => Model(functional::Spec),
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

/// Which flows count, where their time ends, and when the run does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeasureSpec {
    /// Flows that start earlier are simulated and not measured.
    pub warmup: Duration,
    /// Length of the window, after the warm-up, in which a measured flow
    /// starts; until the last flow unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
    /// Flows that start within this time before `traffic.duration` are not
    /// measured. Needs `traffic.duration`; instead of `window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Duration>,
    /// Where a flow's completion time ends.
    pub fct_ends: FctEnds,
    /// When the run ends.
    pub stop: Stop,
    /// The run ends at this time at the latest; flows in progress are then
    /// reported as unfinished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
    /// Further summaries.
    pub extras: Vec<Extra>,
}

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

/// When the run ends.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// When all flows have finished.
    #[default]
    Drained,
    /// When the window is over and all measured flows have finished; flows go
    /// on arriving until then, so that the load does not fall.
    Measured,
}

/// A further summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extra {
    /// Payload delivered, per second and host.
    Goodput,
    /// Jain's fairness index over the flows in progress.
    Jain,
    /// The longest times that a flow with data to send received nothing.
    Starvation,
    /// Completion times of queries (incast): the last of a query's flows.
    Queries,
}

impl MeasureSpec {
    /// First and last start (exclusive) of a measured flow.
    ///
    /// # Errors
    /// Keys that do not fit each other.
    pub fn window(&self, traffic: &TrafficSpec) -> Result<(Time, Time), SpecError> {
        let from = Time::ZERO + self.warmup;
        let until = match (self.window, self.cooldown) {
            (Some(_), Some(_)) => {
                return Err(SpecError::new(
                    "cooldown",
                    "has no meaning beside window; give one of the two",
                ));
            }
            (Some(window), None) => from + window,
            (None, Some(cooldown)) => {
                let Some(duration) = traffic.duration else {
                    let message = "needs traffic.duration, to be counted back from";
                    return Err(SpecError::new("cooldown", message));
                };
                if self.warmup + cooldown >= duration {
                    let message = format!(
                        "with the warm-up nothing is left of traffic.duration ({duration})"
                    );
                    return Err(SpecError::new("cooldown", message));
                }
                Time::ZERO + (duration - cooldown)
            }
            (None, None) => Time::NEVER,
        };
        if until <= from {
            return Err(SpecError::new("window", "0s is not above zero"));
        }
        if self.stop == Stop::Measured && until == Time::NEVER {
            let message =
                "\"measured\" needs measure.window or measure.cooldown, or it would never end";
            return Err(SpecError::new("stop", message));
        }
        Ok((from, until))
    }
}

/// The ways to write a scenario.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// JSON.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// Reads text as a generic value.
///
/// # Errors
/// A syntax error, with its line.
pub fn parse(text: &str, format: Format) -> Result<Value, SpecError> {
    let read = match format {
        Format::Json => serde_json::from_str::<Plain>(text).map_err(|e| e.to_string()),
        Format::Toml => toml::from_str::<Plain>(text).map_err(|e: toml::de::Error| {
            let start = e.span().map_or(0, |s| s.start);
            let line = text
                .get(..start)
                .map_or(1, |before| before.matches('\n').count() + 1);
            format!("line {line}: {}", e.message())
        }),
        Format::Yaml => serde_yaml_ng::from_str::<Plain>(text).map_err(|e| e.to_string()),
    };
    let Plain(value) = read.map_err(|e| SpecError::new("", e))?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(not_a_table(&value))
    }
}

fn not_a_table(value: &Value) -> SpecError {
    SpecError::new(
        "",
        format!("{value} is not a scenario: write tables such as [topology]"),
    )
}

/// Resolves a scenario: applies `sets` (`path=value` pairs, the value in TOML
/// or bare text) in order, merges presets, fills in defaults and validates.
/// Relative file names are taken from `base_dir`.
///
/// # Errors
/// The first mistake, with its path, the value and what is allowed.
pub fn resolve(
    mut value: Value,
    sets: &[(String, String)],
    base_dir: &Path,
) -> Result<Scenario, SpecError> {
    for (path, text) in sets {
        set(&mut value, path, bare_value(text))?;
    }
    let Value::Object(map) = &mut value else {
        return Err(not_a_table(&value));
    };
    map.shift_remove("schemes");
    if let Some(written) = map.get("version") {
        check_version(written).map_err(|e| e.under("version"))?;
    }
    // A resolved scenario is resolved anew, by this version.
    map.insert("version".into(), version().into());
    let given = map.get_mut("scheme").map(Value::take);
    let given = given.ok_or_else(|| {
        let message = format!(
            "is missing; write a preset ({}) or a table",
            scheme::PRESETS.join(", ")
        );
        SpecError::new("scheme", message)
    })?;
    map["scheme"] = scheme::expand(given)
        .and_then(|scheme| published::check_units(&scheme).map(|()| scheme))
        .map_err(|e| e.under("scheme"))?;
    let cc = map.get_mut("engine").and_then(functional::take_cc);
    let mut scenario: Scenario = spec::read(value)?;
    check_format(&scenario.packet)?;
    scenario
        .traffic
        .resolve(base_dir)
        .map_err(|e| e.under("traffic"))?;
    scenario
        .measure
        .window(&scenario.traffic)
        .map_err(|e| e.under("measure"))?;
    let fabric = scenario.fabric()?;
    scenario.traffic.resolve_on(&fabric.layout());
    let SchemeSpec { port, nic, .. } = &mut scenario.scheme;
    for (key, port) in [("scheme.port", port), ("scheme.nic", &mut nic.port)] {
        let resolved = port.discipline.resolve(base_dir, &fabric);
        resolved.map_err(|e| e.under("discipline").under(key))?;
    }
    scenario
        .record
        .check(&fabric, scenario.traffic.flows)
        .map_err(|e| e.under("record"))?;
    let settings = crate::run::settings(&scenario, &fabric)?;
    if let EngineSpec::Model(spec) = &scenario.engine {
        let resolved = spec.resolve(cc, &scenario, &settings, &fabric)?;
        scenario.engine = EngineSpec::Model(resolved);
    }
    if scenario.traffic.trace.is_none() {
        let traffic = scenario
            .traffic
            .build(&fabric.layout(), &scenario.packet, scenario.seed())
            .map_err(|e| e.under("traffic"))?;
        let tiers = offered::tiers(&scenario, &fabric, &settings, &traffic);
        offered::check(&scenario, &tiers)?;
    }
    Ok(scenario)
}

/// Refuses what a later version has resolved: its keys may mean something else.
fn check_version(written: &Value) -> Result<(), SpecError> {
    let numbers = |text: &str| {
        let parts: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        parts.ok().filter(|parts| parts.len() == 3)
    };
    let (this, text) = (version(), written.as_str().unwrap_or_default());
    let message = match numbers(text) {
        None => format!("{written} is not a version such as {this:?}"),
        Some(later) if Some(&later) > numbers(&this).as_ref() => {
            format!("{text} is later than this fctlab ({this}); leave it out to read it as it is")
        }
        Some(_) => return Ok(()),
    };
    Err(SpecError::new("", message))
}

fn check_format(format: &PacketFormat) -> Result<(), SpecError> {
    let limit = u64::from(u16::MAX);
    if format.payload.get() == 0 || format.full() > limit {
        let message = format!(
            "{} with its header is not in [1B, {limit}B]",
            format.payload
        );
        return Err(SpecError::new("packet.payload", message));
    }
    if format.ack.get() == 0 || format.ack.get() > limit {
        let message = format!("{} is not in [1B, {limit}B]", format.ack);
        return Err(SpecError::new("packet.ack", message));
    }
    Ok(())
}

/// What a person typed after `path=`: TOML where it is, else the text itself.
fn bare_value(text: &str) -> Value {
    match toml::from_str(&format!("value = {text}")) {
        Ok(Plain(Value::Object(mut table))) if table.len() == 1 => table["value"].take(),
        _ => Value::String(text.to_owned()),
    }
}

/// Puts `new` at `path`, making tables on the way; the shorthand `"dctcp"` on
/// the way becomes the table that it stands for.
fn set(value: &mut Value, path: &str, new: Value) -> Result<(), SpecError> {
    let mut here = value;
    let mut parent = "";
    for key in path.split('.') {
        if key.is_empty() {
            return Err(SpecError::new(
                path,
                "is not a path; write keys with dots between, such as traffic.load",
            ));
        }
        if let Value::String(short) = here {
            let word = if parent == "scheme" { "preset" } else { "kind" };
            *here = json!({ word: short });
        }
        if here.is_null() {
            *here = json!({});
        }
        here = match here {
            Value::Object(map) => map.entry(key).or_insert(Value::Null),
            Value::Array(list) => {
                let n = list.len();
                let item = key.parse().ok().and_then(|i: usize| list.get_mut(i));
                item.ok_or_else(|| SpecError::new(path, format!("{key} is not in 0..{n}")))?
            }
            other => {
                let message = format!("{parent} is {other} and has no key {key}");
                return Err(SpecError::new(path, message));
            }
        };
        parent = key;
    }
    *here = new;
    Ok(())
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
        set(&mut value, path, bare_value(text))?;
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

/// The JSON Schema of a scenario as people write it: `scheme` may name a
/// preset, and `schemes` may define further ones for comparisons. Parts of a
/// scheme may leave their `kind` to the preset that they change.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    schema["title"] = json!("fctlab scenario");
    let definitions = &mut schema["$defs"];
    let of_schemes = schemars::schema_for!(SchemeSpec).to_value();
    for name in of_schemes["$defs"]
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
    {
        parts::allow_changes(&mut definitions[name]);
    }
    let mut table = definitions["SchemeSpec"].take();
    if let Some(map) = table.as_object_mut() {
        map.shift_remove("required"); // a preset may stand for all of it
    }
    table["properties"]["preset"] =
        json!({"enum": scheme::PRESETS, "description": "The preset that the other keys change."});
    definitions["SchemeSpec"] = json!({"anyOf": [{"enum": scheme::PRESETS}, table]});
    schema["properties"]["schemes"] = json!({
        "description": "Named schemes for `fctlab compare --schemes`.",
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/SchemeSpec"},
    });
    schema
}

/// Everything that `fctlab list` shows: place -> list of {name, description}.
pub fn catalog() -> Value {
    json!({
        "schemes": scheme::catalog(),
        "workloads": SizesSpec::catalog(),
        "topologies": TopologySpec::catalog(),
        "transports": RuleSpec::catalog(),
        "taggers": Tagger::catalog(),
        "disciplines": QueueSpec::catalog(),
        "mappings": MappingPolicy::catalog(),
        "routings": RoutingSpec::catalog(),
        "arrivals": ArrivalsSpec::catalog(),
        "patterns": PatternSpec::catalog(),
        "engines": EngineSpec::catalog(),
    })
}
