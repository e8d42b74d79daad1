//! Demotion thresholds that PIAS published for its ns-2 simulation (Bai et al.,
//! NSDI 2015 and the code beside it), so that a scheme tuned to one workload and
//! load can be run on another: `thresholds = "datamining@0.6"`.
//!
//! Seven thresholds for eight queues, in packets of 1460 B of payload.
//! `fctlab thresholds pias` computes thresholds for any workload and load.

use fctlab_core::{SpecError, spec};
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

/// Thresholds: a list of numbers, or the name of a published set.
///
/// # Errors
/// Neither of them.
pub fn thresholds<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u32>, D::Error> {
    let name = match Value::deserialize(d)? {
        Value::String(name) => name,
        list => return spec::read(list).map_err(SpecError::into_serde),
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
    let numbers =
        json!({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": u32::MAX}});
    schemars::json_schema!({"anyOf": [numbers, {"enum": names}]})
}
