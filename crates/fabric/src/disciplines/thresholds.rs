//! The thresholds between queues as a scenario writes them: numbers, a published set, or those that
//! fit the traffic.

use std::borrow::Cow;
use std::fmt;

use fctlab_core::units::grouped;
use fctlab_core::{Bytes, Duration, SpecError, spec};
use fctlab_workload::{HostLayout, Traffic};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::{Surroundings, published, solved};
use crate::taggers::Tagger;

/// Thresholds, or what asks for them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Thresholds {
    /// One by one; numbers in a resolved scenario.
    Written(Vec<Cut>),
    /// To be found from the traffic; not in a resolved scenario.
    Asked(Asked),
}

/// One threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Cut {
    /// In the tag's unit.
    Number(u32),
    /// Data; where tags are times, the time in which a host's link sends it.
    Size(Bytes),
    /// A time.
    Time(Duration),
}

impl Cut {
    /// The largest tag that is not above it.
    ///
    /// # Errors
    /// A unit that the tags do not have, or more than a tag holds.
    fn number(self, around: &Surroundings<'_>) -> Result<u32, SpecError> {
        let tagger = around.tagger;
        let takes_time = matches!(tagger, Tagger::RemainingTime(_));
        let number = match self {
            Cut::Number(number) => return Ok(number),
            Cut::Size(size) if takes_time => {
                let rate = around.fabric.layout().host_rate;
                rate.transmission_time(size.get()).ps() / 1_000
            }
            Cut::Size(size) if tagger.in_bytes() => size.get(),
            Cut::Time(time) if takes_time => time.ps() / 1_000,
            Cut::Size(_) | Cut::Time(_) => {
                let unit = if tagger.in_bytes() {
                    "sizes, such as \"10KB\""
                } else {
                    "plain numbers"
                };
                let message = format!("{self}: the tags of {} are {unit}", tagger.kind());
                return Err(SpecError::new("", message));
            }
        };
        number.try_into().map_err(|_| {
            let most = grouped(u32::MAX.into());
            let unit = if takes_time { "ns" } else { "B" };
            let message = format!("{self} is more than a tag holds: at most {most} {unit}");
            SpecError::new("", message)
        })
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cut::Number(number) => number.fmt(f),
            Cut::Size(size) => size.fmt(f),
            Cut::Time(time) => time.fmt(f),
        }
    }
}

impl Thresholds {
    /// The thresholds of `n` queues as numbers.
    ///
    /// # Errors
    /// A unit that the tags do not have; traffic without flows.
    pub fn resolve(&self, around: &Surroundings<'_>, n: usize) -> Result<Vec<u32>, SpecError> {
        let cuts = match self {
            Thresholds::Written(cuts) => cuts.clone(),
            Thresholds::Asked(asked) => asked.answer(around, n)?,
        };
        let each = cuts.iter().enumerate();
        let each = each.map(|(i, cut)| cut.number(around).map_err(|e| e.under(&format!("[{i}]"))));
        each.collect()
    }

    /// As numbers, if they are resolved.
    pub fn numbers(&self) -> Option<Vec<u32>> {
        let Thresholds::Written(cuts) = self else {
            return None;
        };
        let number = |cut: &Cut| match cut {
            Cut::Number(number) => Some(*number),
            Cut::Size(_) | Cut::Time(_) => None,
        };
        cuts.iter().map(number).collect()
    }
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
/// Of a trace with too few flows to have a load.
const LOAD_OF_FEW: f64 = 0.5;

impl Asked {
    /// The thresholds for `queues` queues, or fewer where some would stay empty.
    ///
    /// # Errors
    /// Traffic without flows.
    fn answer(self, around: &Surroundings<'_>, queues: usize) -> Result<Vec<Cut>, SpecError> {
        let traffic = around.traffic;
        let load = load(traffic, &around.fabric.layout()).unwrap_or(LOAD_OF_FEW);
        if self == Asked::Workload
            && let Some(workload) = around.workload
            && let Some(found) = published::nearest(workload, load)
            && found.len() + 1 == queues
        {
            return Ok(sizes(found));
        }
        let Some(of_flows) = traffic.sizes()? else {
            return Err(SpecError::new(
                "",
                "there are no flows whose sizes they could follow",
            ));
        };
        let found = solved::thresholds(&of_flows, load.min(MOST_LOAD), queues);
        let largest = |cut: u64| u32::try_from(cut).unwrap_or(u32::MAX);
        let mut found: Vec<u32> = found.into_iter().map(largest).collect();
        found.dedup();
        Ok(sizes(found))
    }
}

fn sizes(bytes: Vec<u32>) -> Vec<Cut> {
    let size = |n: u32| Cut::Size(Bytes::new(n.into()));
    bytes.into_iter().map(size).collect()
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
    let loads = (0..).zip(received);
    let loads = loads.map(|(host, bytes)| bytes * wire / layout.rate(host).bytes_per_s());
    let most = loads.fold(0.0, f64::max);
    (most > 0.0).then_some(most)
}

/// A number, or a size or a time with its unit.
fn one(value: Value) -> Result<Cut, SpecError> {
    let Value::String(text) = &value else {
        return spec::read(value).map(Cut::Number);
    };
    let time = || text.parse().map(Cut::Time).ok();
    let cut = text.parse().map(Cut::Size).ok().or_else(time);
    cut.ok_or_else(|| {
        let message = format!(
            "{text:?} is not a threshold: write a number, a size such as \"10KB\" or, for tags \
             that are times, a time such as \"120us\""
        );
        SpecError::new("", message)
    })
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
        other => {
            let message =
                format!("{other} is not a list of thresholds, nor the name of a published set");
            return Err(SpecError::new("", message));
        }
    };
    if let Some(found) = published::named(&name) {
        return Ok(Thresholds::Written(sizes(found)));
    }
    match name.as_str() {
        "workload" => Ok(Thresholds::Asked(Asked::Workload)),
        "solve" => Ok(Thresholds::Asked(Asked::Solve)),
        _ => {
            let known: Vec<&str> = published::names().collect();
            let hint = spec::hint(&name, &[&known[..], &["workload", "solve"]].concat());
            let message = format!(
                "{name:?} is not a published set of thresholds; {hint}write numbers, \"workload\" or \"solve\" for \
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
