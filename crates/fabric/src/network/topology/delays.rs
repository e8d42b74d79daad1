//! Delays: a base RTT, or one per link and host.

use fctlab_core::{Duration, SpecError};
use serde::{Deserialize, Serialize};

/// Delays of a fabric: a base RTT, or per link and host. Exactly one of
/// `base_rtt` and `link_delay` is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delays {
    /// RTT across the longest path on an idle fabric; spread evenly over links
    /// after host delays.
    pub base_rtt: Option<BaseRtt>,
    /// Propagation delay of each link, one way.
    pub link_delay: Option<Duration>,
    /// Delay inside a host, for each packet that it sends or receives.
    pub host_delay: Duration,
}

/// A base RTT and what it includes: `"16us"` is
/// `{value = "16us", includes = "transmission"}`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BaseRtt {
    /// The round-trip time.
    pub value: Duration,
    /// What it includes besides propagation and host delays.
    pub includes: Includes,
}

/// What a base RTT includes besides propagation and host delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Includes {
    /// One full data packet on every link out and one ACK on every link back.
    #[default]
    Transmission,
    /// Nothing: propagation (and host delays) only.
    Propagation,
}

impl<'de> Deserialize<'de> for BaseRtt {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            value: Duration,
            #[serde(default)]
            includes: Includes,
        }
        let value = serde_json::Value::deserialize(d)?;
        let read = if value.is_object() {
            fctlab_core::spec::read::<Table>(value).map(|t| (t.value, t.includes))
        } else {
            fctlab_core::spec::read(value).map(|v| (v, Includes::default()))
        };
        let (value, includes) = read.map_err(SpecError::into_serde)?;
        Ok(BaseRtt { value, includes })
    }
}

impl schemars::JsonSchema for BaseRtt {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BaseRtt".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let time = generator.subschema_for::<Duration>();
        let includes = generator.subschema_for::<Includes>();
        let described = |schema: schemars::Schema, text: &str| {
            let mut schema = schema.to_value();
            schema["description"] = text.into();
            schema
        };
        let value = described(time.clone(), "The round-trip time.");
        let mut includes = described(
            includes,
            "What it includes besides propagation and host delays.",
        );
        includes["default"] = "transmission".into();
        schemars::json_schema!({"anyOf": [time, {
            "type": "object",
            "properties": {"value": value, "includes": includes},
            "required": ["value"],
            "additionalProperties": false,
        }]})
    }
}
