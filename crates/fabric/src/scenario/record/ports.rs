//! Time series of ports.

use std::borrow::Cow;

use fctlab_core::{Duration, SpecError, spec};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::network::Fabric;

/// Time series of ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Time between samples.
    pub interval: Duration,
    /// The ports: `"all"`, or a list of names such as `"leaf 0 -> host 3"`.
    #[serde(default)]
    pub which: Which,
}

/// A choice of ports.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Which {
    /// All of them.
    #[default]
    All,
    /// Those with these names.
    Named(Vec<String>),
}

impl Serialize for Which {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Which::All => s.serialize_str("all"),
            Which::Named(names) => names.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Which {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::String(s) if s == "all" => Ok(Which::All),
            list @ Value::Array(_) => spec::read(list)
                .map(Which::Named)
                .map_err(SpecError::into_serde),
            other => {
                let message = format!(
                    "{other} is not a choice of ports: write \"all\" or a list such as [\"leaf 0 -> host 3\"]"
                );
                Err(serde::de::Error::custom(message))
            }
        }
    }
}

impl schemars::JsonSchema for Which {
    fn schema_name() -> Cow<'static, str> {
        "Which".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names =
            serde_json::json!({"type": "array", "items": {"type": "string"}, "minItems": 1});
        schemars::json_schema!({"anyOf": [{"const": "all"}, names]})
    }
}

impl Spec {
    /// The ports by number, with their names.
    ///
    /// # Errors
    /// An interval of zero, an unknown port, or no port at all.
    pub fn resolve(&self, fabric: &Fabric) -> Result<Vec<(u32, String)>, SpecError> {
        if self.interval == Duration::ZERO {
            return Err(SpecError::new("interval", "0s is not above zero"));
        }
        let Which::Named(names) = &self.which else {
            let all = 0..fabric.links.len() as u32;
            return Ok(all.map(|id| (id, fabric.port_name(id))).collect());
        };
        if names.is_empty() {
            return Err(SpecError::new(
                "which",
                "is empty; list at least one port, or write \"all\"",
            ));
        }
        let mut chosen: Vec<(u32, String)> = Vec::with_capacity(names.len());
        for (i, name) in names.iter().enumerate() {
            let wrong = |message| SpecError::new(format!("which[{i}]"), message);
            let id = fabric.port_named(name).map_err(wrong)?;
            if chosen.iter().any(|(known, _)| *known == id) {
                return Err(wrong(format!("{name:?} is there twice")));
            }
            chosen.push((id, name.clone()));
        }
        Ok(chosen)
    }
}
