//! Congestion control as a function (swp, section 4.2, tables 1 and 2).

use std::borrow::Cow;

use fctlab_core::parts::{PartInfo, schema_of};
use fctlab_core::spec::{hint, keys, read, unknown_key};
use fctlab_core::units::{DataLength, PathScale};
use fctlab_core::{Bytes, Rate, SpecError, WindowCounts, presets};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::Link;
use crate::laws::{Law, table};

/// The parameters of table 1, named as in figure 4: a law, and what all laws share. All are written into one
/// table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Control {
    /// What all laws share.
    #[serde(flatten)]
    pub shared: Shared,
    /// How flows react, with the keys of all laws.
    #[serde(flatten)]
    pub law: Law,
}

/// The parameters of table 1, named as in figure 4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// r_init: the rate of a flow during its first round trip; `"line"`, or a rate.
    pub r_init: InitialRate,
    /// T: the queue that is not reacted to; what leaves while more waits is marked. A time is what the link sends
    /// in it.
    pub thresh: DataLength,
    /// Payload of a full packet; at least 1B.
    pub payload: Bytes,
    /// What every packet has on the wire beside its payload. Not in the paper.
    pub header: Bytes,
    /// The scheme of the packet engine that this stands for.
    pub scheme: String,
}

/// A rate that may follow the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InitialRate {
    /// The link's rate.
    Line,
    /// A rate of its own, at most the link's.
    Fixed(Rate),
}

impl Serialize for InitialRate {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            InitialRate::Line => s.serialize_str("line"),
            InitialRate::Fixed(rate) => rate.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for InitialRate {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(d)?;
        if value == "line" {
            return Ok(InitialRate::Line);
        }
        read(value)
            .map(InitialRate::Fixed)
            .map_err(SpecError::into_serde)
    }
}

impl schemars::JsonSchema for InitialRate {
    fn schema_name() -> Cow<'static, str> {
        "InitialRate".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let rate = generator.subschema_for::<Rate>();
        schemars::json_schema!({"anyOf": [{"const": "line"}, rate]})
    }
}

/// The preset that is meant where none is named.
const DEFAULT: &str = "swp-d";

fctlab_core::presets! {
    "swp-d",
    "swp-h",
    "dctcp-rate",
    "hpcc",
}

/// A preset's table.
fn preset(name: &str) -> Result<Map<String, Value>, SpecError> {
    let Some(text) = preset_text(name) else {
        let hint = hint(name, PRESETS);
        let message = format!(
            "{name:?} is not a preset; {hint}known: {}",
            PRESETS.join(", ")
        );
        return Err(SpecError::new("", message));
    };
    presets::table(&preset_file(name), text)
}

impl Control {
    /// Every preset, described by the comment at the top of its file.
    ///
    /// # Errors
    /// The first mistake in one of them, with its file and line.
    pub fn catalog() -> Result<Vec<PartInfo>, SpecError> {
        for name in PRESETS {
            let (file, text) = (preset_file(name), preset_text(name).unwrap_or_default());
            let table = presets::table(&file, text)?;
            Control::read(table).map_err(|e| presets::in_file(&e, &file, text))?;
        }
        Ok(presets::catalog(PRESETS, preset_text))
    }

    /// The preset called `name`.
    ///
    /// # Errors
    /// There is none.
    pub fn preset(name: &str) -> Result<Self, SpecError> {
        read(Value::String(name.to_owned()))
    }

    /// Whether what a person wrote differs from something that it does not name. What was resolved needs nothing.
    pub fn needs_base(given: &Value) -> bool {
        let table = given.as_object();
        table.is_some_and(|table| !table.contains_key("preset") && !Control::is_whole(table))
    }

    /// What a person wrote: a preset's name, or a table of what differs from the preset it names
    /// or, if it names none, from `base`.
    ///
    /// # Errors
    /// The first mistake, with its path.
    pub fn written(given: Value, base: Option<&Self>) -> Result<Self, SpecError> {
        let mut given = match given {
            Value::String(name) => Map::from_iter([("preset".to_owned(), Value::String(name))]),
            Value::Object(table) => table,
            other => {
                let message = format!(
                    "{other} is not a congestion control: write a preset's name or a table"
                );
                return Err(SpecError::new("", message));
            }
        };
        let mut table = match given.shift_remove("preset") {
            Some(Value::String(name)) => preset(&name)?,
            Some(other) => {
                return Err(SpecError::new("preset", format!("{other} is not a name")));
            }
            None => base.map_or_else(Map::new, table),
        };
        table.extend(given);
        Control::read(table)
    }

    /// Whether nothing is left to a base.
    fn is_whole(given: &Map<String, Value>) -> bool {
        let (own, shared) = (Law::neutral(), keys::<Shared>());
        let mut all = own.keys().map(String::as_str).chain(shared.iter().copied());
        given.contains_key("law") && all.all(|key| given.contains_key(key))
    }

    fn read(mut table: Map<String, Value>) -> Result<Self, SpecError> {
        let (own, shared) = (Law::neutral(), keys::<Shared>());
        let known = || {
            shared
                .iter()
                .copied()
                .chain(["law"])
                .chain(own.keys().map(String::as_str))
        };
        if let Some(key) = table.keys().find(|key| known().all(|known| known != *key)) {
            return Err(unknown_key("", key, &known().collect::<Vec<_>>()));
        }
        let law = Law::take(&mut table)?;
        let shared: Shared = read(Value::Object(table))?;
        if shared.payload.get() == 0 {
            return Err(SpecError::new("payload", "0B is not at least 1B"));
        }
        Ok(Control { shared, law })
    }

    /// The bytes on the wire that `size` bytes of payload take.
    pub fn wire_bytes(&self, size: f64) -> f64 {
        let payload = self.shared.payload.get() as f64;
        size + (size / payload).ceil() * self.shared.header.get() as f64
    }

    /// The bytes of a full packet; nothing under the paper's law, which knows none.
    pub fn full_packet(&self) -> f64 {
        match self.law {
            Law::Rate(_) => 0.0,
            _ => (self.shared.payload.get() + self.shared.header.get()) as f64,
        }
    }

    /// The bytes of a full packet that a window counts.
    pub fn counted(&self) -> f64 {
        match self.law.counts() {
            WindowCounts::Payload => self.shared.payload.get() as f64,
            WindowCounts::Wire => self.full_packet(),
        }
    }

    /// The bytes of a flow that its sender's link has taken before any is at the bottleneck: its first
    /// packet, which [`crate::simulate`] does not count. Nothing under the paper's law.
    pub fn first_packet(&self, size: f64) -> f64 {
        match self.law {
            Law::Rate(_) => 0.0,
            _ => self.wire_bytes(size.min(self.shared.payload.get() as f64)),
        }
    }

    /// T in bytes on a `link`.
    pub fn threshold_on(&self, link: &Link) -> f64 {
        let payload_bytes = self.shared.payload.get();
        let packet_bytes = payload_bytes + self.shared.header.get();
        let scale = PathScale {
            packet_bytes,
            payload_bytes,
            host_rate: link.rate,
            base_rtt: link.rtt + link.rate.transmission_time(packet_bytes) * 2,
        };
        self.shared.thresh.bytes(&scale) as f64
    }

    /// The load that counts, where `wire` is that of bytes on the wire and `uncontrolled` of it is
    /// sent in flows' first round trips, all as shares of the link: overload from 1 on. Under the
    /// paper's law controlled flows aim at U less beta times the uncontrolled (swp, equation 2).
    pub fn used(&self, wire: f64, uncontrolled: f64) -> f64 {
        match &self.law {
            Law::Rate(law) => ((wire - (1.0 - law.beta) * uncontrolled) / law.u_target).max(wire),
            _ => wire,
        }
    }

    /// Bytes of a flow's first round trip on a `link`.
    pub fn first_round_trip(&self, link: &Link) -> f64 {
        self.initial_rate_on(link.bytes_per_s()) * link.rtt.as_secs_f64()
    }

    /// r_init in bytes per second on a link of `capacity` bytes per second.
    pub fn initial_rate_on(&self, capacity: f64) -> f64 {
        match self.shared.r_init {
            InitialRate::Line => capacity,
            InitialRate::Fixed(rate) => rate.bytes_per_s().min(capacity),
        }
    }
}

/// `"swp-d"`, or a table: a preset (swp-d unless given) and what differs from it.
impl<'de> Deserialize<'de> for Control {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let given = Value::deserialize(d)?;
        // A preset is read here, too, and needs none.
        let base = Control::needs_base(&given).then(|| Control::preset(DEFAULT));
        let base = base.transpose().map_err(SpecError::into_serde)?;
        let written = Control::written(given, base.as_ref());
        written.map_err(SpecError::into_serde)
    }
}

/// A preset's name will do, and no key is required.
impl schemars::JsonSchema for Control {
    fn schema_name() -> Cow<'static, str> {
        "Control".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut table = schema_of::<Shared>(generator);
        if let Some(properties) = table["properties"].as_object_mut() {
            properties.extend(Law::properties(generator));
            for key in properties.values_mut() {
                let text = key["description"].as_str().unwrap_or_default();
                key["description"] = format!("{text} Default: that of the preset.").into();
            }
            let preset = format!("The preset that the other keys change. Default: `{DEFAULT}`.");
            let preset = json!({"enum": PRESETS, "description": preset});
            properties.insert("preset".into(), preset);
        }
        if let Some(table) = table.as_object_mut() {
            table.shift_remove("required");
        }
        schemars::json_schema!({"anyOf": [{"enum": PRESETS}, table]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::{Scope, rate};

    #[test]
    fn presets_are_table_2() {
        let d = Control::preset("swp-d").unwrap();
        let expected = Control {
            shared: Shared {
                r_init: InitialRate::Line,
                thresh: "8us".parse().unwrap(),
                payload: Bytes::new(1000),
                header: Bytes::new(0),
                scheme: "dctcp-rate".into(),
            },
            law: Law::Rate(rate::Spec {
                start: rate::Start::Initial,
                u_target: 1.0,
                beta: 0.0,
                eta: 5.5,
                scope: Scope::Class,
            }),
        };
        assert_eq!(d, expected);
        let h = Control::preset("swp-h").unwrap();
        let expected = Control {
            shared: Shared {
                thresh: "0B".parse().unwrap(),
                scheme: "hpcc".into(),
                ..expected.shared
            },
            law: Law::Rate(rate::Spec {
                u_target: 0.9,
                beta: 1.0,
                eta: 5.0,
                ..rate::Spec::default()
            }),
        };
        assert_eq!(h, expected);
        for control in [d, h] {
            let written = serde_json::to_value(&control).unwrap();
            assert_eq!(read::<Control>(written).unwrap(), control);
        }
        assert_eq!(
            Control::catalog().unwrap()[0].description,
            "DCTCP as swp's table 2 has it (SWP-D)."
        );
    }

    #[test]
    fn a_table_changes_a_preset() {
        let c: Control = read(json!({"preset": "swp-h", "eta": 0.5, "r_init": "50Gbps"})).unwrap();
        assert!(matches!(&c.law, Law::Rate(rate) if (rate.eta, rate.u_target) == (0.5, 0.9)));
        assert_eq!(c.initial_rate_on(12.5e9), 6.25e9);
        assert_eq!(c.initial_rate_on(1e9), 1e9);
        let c: Control = read(json!({"eta": 0.5})).unwrap();
        assert!(matches!(&c.law, Law::Rate(rate) if (rate.eta, rate.u_target) == (0.5, 1.0)));
    }

    #[test]
    fn mistakes() {
        let error = |value| read::<Control>(value).unwrap_err().to_string();
        assert_eq!(
            error(json!("swp-x")),
            "\"swp-x\" is not a preset; did you mean \"swp-d\"? known: swp-d, swp-h, dctcp-rate, hpcc"
        );
        assert_eq!(
            error(json!({"u_target": 1.5})),
            "u_target: 1.5 is not in (0, 1]"
        );
        assert!(error(json!({"smooth": 1})).starts_with("smooth: unknown key; "));
        for key in ["heder", "lwa", "u_taget", "rse"] {
            assert!(error(json!({key: 1})).contains("did you mean"), "{key}");
        }
        assert!(error(json!(3)).starts_with("3 is not a congestion control"));
        assert_eq!(
            error(json!({"preset": "hpcc", "beta": 1.0})),
            "beta: has no meaning under law = \"hpcc\""
        );
        assert_eq!(
            error(json!({"preset": "dctcp-rate", "eta": 5.5})),
            "eta: has no meaning under law = \"dctcp\""
        );
        assert_eq!(
            error(json!({"additive_increase": 0.001})),
            "additive_increase: has no meaning under law = \"rate\""
        );
        assert_eq!(
            error(json!({"law": "hpc"})),
            "law: \"hpc\" is not a law; did you mean \"hpcc\"? known: rate, dctcp, hpcc"
        );
        assert_eq!(
            error(json!({"law": 3})),
            "law: 3 is not a law; known: rate, dctcp, hpcc"
        );
        assert_eq!(
            error(json!({"preset": "dctcp-rate", "window_counts": "payload"})),
            "window_counts: has no meaning under law = \"dctcp\""
        );
        assert_eq!(
            error(json!({"preset": "hpcc", "start": "ideal"})),
            "start: has no meaning under law = \"hpcc\""
        );
        assert!(error(json!({"start": "r_init"})).ends_with("known: initial, ideal"));
        for (preset, key, none) in [
            ("hpcc", "additive_increase", json!(0)),
            ("dctcp-rate", "gain", json!(0)),
            ("dctcp-rate", "rise", json!("none")),
            ("dctcp-rate", "min_rate", json!(0)),
            ("hpcc", "min_rate", json!(0)),
        ] {
            let law = Control::preset(preset).unwrap().law.name();
            assert_eq!(
                error(json!({"preset": preset, key: none})),
                format!("{key}: has to be above zero under law = \"{law}\"")
            );
        }
    }
}
