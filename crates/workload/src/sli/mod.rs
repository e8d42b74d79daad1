//! SLIs: a percentile or the mean of what happens to the flows of a class (swp, section 3.2).
//!
//! What is written is here, what flows make of it and how sure that is in `sample`.

mod sample;

use std::borrow::Cow;

use fctlab_core::{Bytes, SpecError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub use self::sample::{BATCHES, COUNT_KNOWN, Estimate, ONCE, Sample, spent};

/// Flows behind every SLI at least.
pub const LEAST_FLOWS: u64 = 1000;
/// An SLI as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SliSpec {
    /// What the SLO calls it: letters, digits and `_`.
    pub name: String,
    /// `"mean"`, `"p99"`, `"p99.9"`, or `{percentile = 0.99}`.
    pub metric: Metric,
    /// What is measured of each flow. Default: `slowdown`.
    #[serde(default)]
    pub attr: Attr,
    /// Flows of at least this size. Default: all.
    #[serde(default)]
    pub from: Bytes,
    /// Flows smaller than this. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Bytes>,
}

/// What is measured of each flow.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Attr {
    /// FCT over the time that the flow takes alone.
    #[default]
    #[serde(alias = "slowdowns")]
    Slowdown,
    /// Flow completion time, in seconds.
    Fct,
    /// Size over FCT, in bits per second.
    Throughput,
}

impl Attr {
    /// What an SLO compares it with, for errors.
    pub fn threshold(self) -> &'static str {
        match self {
            Attr::Slowdown => "a number above 0",
            Attr::Fct => "a time such as 50us",
            Attr::Throughput => "a rate such as 5Gbps",
        }
    }
}

/// How flows become one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// The mean.
    Mean,
    /// The nearest-rank percentile, as a share in (0, 1).
    Percentile(f64),
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Metric::Mean => s.serialize_str("mean"),
            Metric::Percentile(share) => {
                let percent = format!("{:.6}", share * 100.0);
                let percent = percent.trim_end_matches('0').trim_end_matches('.');
                s.serialize_str(&format!("p{percent}"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(d)?;
        let wrong = || {
            let message = format!("{value} is not \"mean\", \"p99\" or {{percentile = 0.99}}");
            SpecError::new("", message).into_serde()
        };
        let share = match &value {
            Value::String(text) if text == "mean" => return Ok(Metric::Mean),
            Value::String(text) => {
                let percent = text.strip_prefix('p').and_then(|t| t.parse::<f64>().ok());
                percent.map(|p| p / 100.0)
            }
            Value::Object(map) if map.len() == 1 => map.get("percentile").and_then(Value::as_f64),
            _ => None,
        };
        match share.ok_or_else(wrong)? {
            share if share > 0.0 && share < 1.0 => Ok(Metric::Percentile(share)),
            _ => {
                let message = format!("{value}: the percentile is not in (0, 100)");
                Err(SpecError::new("", message).into_serde())
            }
        }
    }
}

impl schemars::JsonSchema for Metric {
    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"anyOf": [
            {"type": "string", "pattern": "^(mean|p[0-9]+(\\.[0-9]+)?)$"},
            {"type": "object", "properties": {"percentile": {"type": "number",
                "description": "As a share: 0.99 is p99.",
                "exclusiveMinimum": 0, "exclusiveMaximum": 1}}, "required": ["percentile"],
                "additionalProperties": false},
        ]})
    }
}

impl SliSpec {
    /// Whether flows of `size` bytes count.
    pub fn includes(&self, size: f64) -> bool {
        size >= self.from.get() as f64 && self.below.is_none_or(|b| size < b.get() as f64)
    }

    /// Flows that it takes at least: [`LEAST_FLOWS`], and 10 beyond any percentile.
    pub fn least_flows(&self) -> u64 {
        match self.metric {
            Metric::Mean => LEAST_FLOWS,
            Metric::Percentile(share) => {
                let beyond = (10.0 / share.min(1.0 - share)).round() as u64;
                beyond.max(LEAST_FLOWS)
            }
        }
    }

    /// Checks what its type cannot.
    ///
    /// # Errors
    /// The first key that is wrong.
    pub fn check(&self) -> Result<(), SpecError> {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        if self.name.is_empty()
            || !self.name.chars().all(word)
            || self.name.starts_with(|c: char| c.is_ascii_digit())
        {
            let message = format!("{:?} is not a name: letters, digits and _", self.name);
            return Err(SpecError::new("name", message));
        }
        if let Some(below) = self.below
            && below <= self.from
        {
            let message = format!("{below} is not above `from` ({})", self.from);
            return Err(SpecError::new("below", message));
        }
        if self.least_flows() > 100_000_000 {
            let message =
                "is beyond what a simulation supports: it takes more than 100,000,000 flows";
            return Err(SpecError::new("metric", message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_read_back() {
        for (text, share) in [("p99", 0.99), ("p99.9", 0.999), ("p50", 0.5), ("p1", 0.01)] {
            let m: Metric = fctlab_core::spec::read(Value::String(text.into())).unwrap();
            let Metric::Percentile(found) = m else {
                panic!("{text}")
            };
            assert!((found - share).abs() < 1e-12, "{text}");
            assert_eq!(serde_json::to_value(m).unwrap(), text);
        }
        let error = fctlab_core::spec::read::<Metric>(Value::String("p100".into())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"p100\": the percentile is not in (0, 100)"
        );
    }
}
