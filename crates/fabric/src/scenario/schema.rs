//! The JSON Schema of a scenario, and everything that there is to choose from.

use std::path::Path;

use fctlab_core::{SpecError, parts};
use fctlab_workload::{ArrivalsSpec, PatternSpec, SizesSpec};
use serde_json::{Map, Value, json};

use super::{EngineSpec, Scenario};
use crate::disciplines::QueueSpec;
use crate::disciplines::mappings::MappingPolicy;
use crate::network::routing::RoutingSpec;
use crate::network::topology::TopologySpec;
use crate::scheme::{self, Names, PRESETS, SchemeSpec};
use crate::taggers::Tagger;
use crate::transports::RuleSpec;

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
    let name = json!({"anyOf": [{"enum": PRESETS}, {"type": "string"}]});
    table["properties"]["preset"] = name.clone();
    table["properties"]["preset"]["description"] = json!(
        "The preset that the other keys change. Default: none, `transport` then has to be given."
    );
    definitions["SchemeSpec"] = json!({"anyOf": [name, table]});
    schema["properties"]["presets"] = json!({
        "description": "A directory of presets of your own, files NAME.toml, from the folder of the scenario; or a list of them. Default: none.",
        "type": ["string", "array"],
        "items": {"type": "string"},
    });
    schema["properties"]["ports"] = json!({
        "description": "What is different at the ports of one tier under any scheme, as `scheme.ports`: `nic` of all hosts, \
            `leaf-up`, `spine-down`, or another that the topology has. Default: none.",
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/NicSpec"},
    });
    schema["properties"]["schemes"] = json!({
        "description": "Named schemes for `fctlab compare --schemes`. Default: none.",
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/SchemeSpec"},
    });
    schema
}

/// Everything that `fctlab list` shows: place -> list of {name, description}; with the presets of one's own in
/// `directories`.
///
/// # Errors
/// The first mistake in a preset, with its file and line.
pub fn catalog(directories: &[String]) -> Result<Value, SpecError> {
    let named = Map::from_iter([("presets".to_owned(), json!(directories))]);
    let own = Names::of(&named, Path::new(""))?;
    let own = own
        .own()
        .map(|(name, description)| json!({"name": name, "description": description}));
    let built_in = scheme::catalog()?.into_iter().map(|preset| json!(preset));
    Ok(json!({
        "schemes": built_in.chain(own).collect::<Vec<_>>(),
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
    }))
}
