//! Demotion thresholds that PIAS published for its ns-2 simulation (Bai et al.,
//! NSDI 2015 and the code beside it), so that a scheme tuned to one workload and
//! load can be run on another: `thresholds = "datamining@0.6"`.
//!
//! Seven thresholds for eight queues, in packets of 1460 B of payload.
//! `fctlab thresholds pias` computes thresholds for any workload and load.

use fctlab_core::{Bytes, Duration, SpecError, spec};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// Payload of PIAS's packets in bytes.
const PACKET: u32 = 1460;

/// Workload and load, and the thresholds in packets.
const SETS: [(&str, [u32; 7]); 10] = [
    ("websearch@0.5", [1059, 1412, 1643, 1869, 2008, 2115, 2184]),
    ("websearch@0.6", [956, 1381, 1718, 2028, 2297, 2551, 2660]),
    ("websearch@0.7", [999, 1305, 1564, 1763, 1956, 2149, 2309]),
    ("websearch@0.8", [909, 1329, 1648, 1960, 2143, 2337, 2484]),
    ("websearch@0.9", [759, 1132, 1456, 1737, 2010, 2199, 2325]),
    (
        "datamining@0.5",
        [805, 1106, 1401, 10693, 11970, 21162, 22272],
    ),
    (
        "datamining@0.6",
        [840, 1232, 1617, 11950, 12238, 21494, 25720],
    ),
    (
        "datamining@0.7",
        [907, 1301, 1619, 12166, 12915, 21313, 26374],
    ),
    (
        "datamining@0.8",
        [745, 1083, 1391, 13689, 14936, 21149, 27245],
    ),
    (
        "datamining@0.9",
        [750, 1083, 1416, 13705, 14952, 21125, 28253],
    ),
];

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

/// Whether thresholds with units, as `scheme` writes them, are in the unit of its tags.
///
/// # Errors
/// A size where tags are times, or the other way round.
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
        let thresholds = discipline["thresholds"].as_array();
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

/// Thresholds: a list of numbers, or the name of a published set.
///
/// # Errors
/// Neither of them.
pub fn thresholds<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u32>, D::Error> {
    let name = match Value::deserialize(d)? {
        Value::String(name) => name,
        Value::Array(list) => {
            let read = list
                .into_iter()
                .enumerate()
                .map(|(i, value)| one(value).map_err(|e| e.under(&format!("[{i}]"))));
            return read
                .collect::<Result<_, _>>()
                .map_err(SpecError::into_serde);
        }
        other => return spec::read(other).map_err(SpecError::into_serde),
    };
    if let Some((_, packets)) = SETS.iter().find(|(known, _)| *known == name) {
        return Ok(packets.map(|n| n * PACKET).to_vec());
    }
    let known: Vec<&str> = SETS.iter().map(|(known, _)| *known).collect();
    let message = format!(
        "{name:?} is not a published set of thresholds; write numbers, or one of {}",
        known.join(", ")
    );
    Err(serde::de::Error::custom(message))
}

/// The schema of [`thresholds`].
pub fn schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let names = SETS.map(|(name, _)| name);
    let number = json!({"type": "integer", "minimum": 0, "maximum": u32::MAX});
    let unit = json!({"type": "string", "pattern": "^[0-9.]+ ?(B|KB|MB|GB|ps|ns|us|ms|s)$"});
    let numbers = json!({"type": "array", "items": {"anyOf": [number, unit]}});
    schemars::json_schema!({"anyOf": [numbers, {"enum": names}]})
}
