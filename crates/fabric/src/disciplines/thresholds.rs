//! The thresholds between queues as a scenario writes them: numbers, a published set, or those that
//! fit the traffic.

use std::borrow::Cow;

use fctlab_core::{Bytes, Duration, SpecError, spec};
use fctlab_workload::{HostLayout, Traffic};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::{Surroundings, published, solved};

/// Thresholds, or what asks for them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Thresholds {
    /// In the tag's unit.
    Written(Vec<u32>),
    /// To be found from the traffic; not in a resolved scenario.
    Asked(Asked),
}

/// What asks for thresholds that fit the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// Those published for the workload at the nearest load where there are some, else the solved ones.
    Workload,
    /// Those that minimise PIAS's objective.
    Solve,
}

/// At most this load is solved for: the last queue has to be stable, and a trace may be a burst.
const MOST_LOAD: f64 = 0.95;

impl Asked {
    /// The thresholds in bytes for `queues` queues, or fewer where some would stay empty.
    ///
    /// # Errors
    /// Traffic that has no load.
    pub fn answer(self, around: &Surroundings<'_>, queues: usize) -> Result<Vec<u32>, SpecError> {
        let traffic = around.traffic;
        let Some(load) = load(traffic, &around.fabric.layout()) else {
            let message = "the trace has too few flows to have a load, which thresholds follow \
                from; write numbers";
            return Err(SpecError::new("", message));
        };
        if self == Asked::Workload
            && let Some(workload) = around.workload
            && let Some(found) = published::nearest(workload, load)
            && found.len() + 1 == queues
        {
            return Ok(found);
        }
        let Some(sizes) = traffic.sizes()? else {
            return Err(SpecError::new(
                "",
                "there are no flows whose sizes they could follow",
            ));
        };
        let found = solved::thresholds(&sizes, load.min(MOST_LOAD), queues);
        let largest = |cut: u64| u32::try_from(cut).unwrap_or(u32::MAX);
        let mut found: Vec<u32> = found.into_iter().map(largest).collect();
        found.dedup();
        Ok(found)
    }
}

/// The load of the busiest host's link, headers included, if all classes are active; of a trace, over the
/// time in which its flows start.
fn load(traffic: &Traffic, layout: &HostLayout) -> Option<f64> {
    let demands = traffic.demands(layout);
    let mut received = vec![0.0; layout.rack_of.len()];
    for demand in &demands {
        for (sum, bytes) in received.iter_mut().zip(&demand.payload.received) {
            *sum += bytes;
        }
    }
    let offered = traffic.offered();
    let wire = offered.mean_wire_bytes / offered.mean_size_bytes;
    let most = received.into_iter().fold(0.0, f64::max);
    (most > 0.0).then(|| most * wire / layout.host_rate.bytes_per_s())
}

/// One threshold in the tag's unit: a number, or a size or a time with its unit.
fn one(value: Value) -> Result<u32, SpecError> {
    let Value::String(text) = &value else {
        return spec::read(value);
    };
    let bytes = text.parse().map(Bytes::get);
    let ns = || text.parse().map(|time: Duration| time.ps() / 1_000);
    let number = bytes.or_else(|_: String| ns()).ok();
    number.and_then(|n| n.try_into().ok()).ok_or_else(|| {
        let message = format!(
            "{text:?} is not a threshold: write a number, a size such as \"10KB\" or, for tags \
             that are times, a time such as \"120us\"; at most {}",
            u32::MAX
        );
        SpecError::new("", message)
    })
}

/// Whether thresholds with units or by name, as `scheme` writes them, are in the unit of its tags.
///
/// # Errors
/// A size, or a name, where tags are times, or the other way round.
pub fn check_units(scheme: &Value) -> Result<(), SpecError> {
    let tagger = &scheme["tagger"];
    let kind = tagger["kind"]
        .as_str()
        .or(tagger.as_str())
        .unwrap_or("none");
    for port in ["port", "nic"] {
        let discipline = &scheme[port]["discipline"];
        if discipline["kind"] != "priority" {
            continue;
        }
        let thresholds = &discipline["thresholds"];
        let counts_bytes = !["remaining-time", "class", "complete", "outstanding"].contains(&kind);
        if let Some(name) = thresholds.as_str()
            && !counts_bytes
        {
            let message = format!("{name:?} stands for bytes, and the tags of {kind} are none");
            return Err(SpecError::new(
                format!("{port}.discipline.thresholds"),
                message,
            ));
        }
        let thresholds = thresholds.as_array();
        for (i, value) in thresholds.into_iter().flatten().enumerate() {
            let Some(text) = value.as_str() else { continue };
            let (fits, unit) = match kind {
                "remaining-time" => (text.parse::<Duration>().is_ok(), "times, such as \"120us\""),
                "class" | "complete" => (false, "numbers"),
                "outstanding" => (false, "numbers of packets"),
                _ => (text.parse::<Bytes>().is_ok(), "sizes, such as \"10KB\""),
            };
            if !fits {
                let message = format!("{text:?}: the tags of {kind} are {unit}");
                let path = format!("{port}.discipline.thresholds[{i}]");
                return Err(SpecError::new(path, message));
            }
        }
    }
    Ok(())
}

impl<'de> Deserialize<'de> for Thresholds {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        read(Value::deserialize(d)?).map_err(SpecError::into_serde)
    }
}

fn read(value: Value) -> Result<Thresholds, SpecError> {
    let name = match value {
        Value::String(name) => name,
        Value::Array(list) => {
            let each = list.into_iter().enumerate();
            let each = each.map(|(i, value)| one(value).map_err(|e| e.under(&format!("[{i}]"))));
            return Ok(Thresholds::Written(each.collect::<Result<_, _>>()?));
        }
        other => return spec::read(other).map(Thresholds::Written),
    };
    if let Some(found) = published::named(&name) {
        return Ok(Thresholds::Written(found));
    }
    match name.as_str() {
        "workload" => Ok(Thresholds::Asked(Asked::Workload)),
        "solve" => Ok(Thresholds::Asked(Asked::Solve)),
        _ => {
            let known: Vec<&str> = published::names().collect();
            let message = format!(
                "{name:?} is not a published set of thresholds; write numbers, \"workload\" or \"solve\" for \
                 those that fit the traffic, or one of {}",
                known.join(", ")
            );
            Err(SpecError::new("", message))
        }
    }
}

impl JsonSchema for Thresholds {
    fn schema_name() -> Cow<'static, str> {
        "PriorityThresholds".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = ["workload", "solve"].into_iter().chain(published::names());
        let number = json!({"type": "integer", "minimum": 0, "maximum": u32::MAX});
        let unit = json!({"type": "string", "pattern": "^[0-9.]+ ?(B|KB|MB|GB|ps|ns|us|ms|s)$"});
        let numbers = json!({"type": "array", "items": {"anyOf": [number, unit]}});
        schemars::json_schema!({"anyOf": [numbers, {"enum": words.collect::<Vec<_>>()}]})
    }
}
