//! Congestion control as a function (swp, section 4.2, tables 1 and 2).

use std::borrow::Cow;

use fctlab_core::parts::PartInfo;
use fctlab_core::spec::{OrNone, half_open_unit, hint, non_negative, or_none, positive, read};
use fctlab_core::{Bytes, Rate, SpecError, presets};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The parameters of table 1, named as in figure 4.
// The derived code of "Self" knows nothing of presets; `impl Deserialize` below merges them in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
#[schemars(transform = with_presets)]
pub struct Control {
    /// r_init: the rate of a flow during its first round trip; `"line"`, or a rate.
    pub r_init: InitialRate,
    /// U, in (0, 1]: the share of the capacity that controlled flows aim at.
    #[serde(deserialize_with = "half_open_unit")]
    pub u_target: f64,
    /// T: the queue that is not reacted to.
    pub thresh: Bytes,
    /// Beta: how much controlled flows make room for uncontrolled traffic (0 or 1 in the paper).
    #[serde(deserialize_with = "non_negative")]
    pub beta: f64,
    /// Eta: rates approach their ideal within eta x tau. Under `Law::Inflight` the load is
    /// averaged over as long.
    #[serde(deserialize_with = "positive")]
    pub eta: f64,
    /// What flows hear. `Inflight` is not in the paper.
    pub law: Law,
    /// Under `Law::Inflight`, by how much of a BDP a flow's window rises per round trip besides;
    /// above zero there.
    #[serde(deserialize_with = "non_negative")]
    pub additive_increase: f64,
    /// The most by which a flow's rate times 2 tau rises per round trip (additive
    /// increase); `"none"` for no bound. Not in the paper.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<Bytes>")]
    pub rise: Option<Bytes>,
    /// Whether a flow has at most its rate times 2 tau in flight, so that it sends more
    /// slowly while bytes wait (ACK clocking), and shrinks that for nothing but bytes
    /// beyond T: all flows of a class together aim at a BDP and T. Not in the paper.
    pub window: bool,
    /// Whose queue, capacity and flows a flow hears of. `Port` is not in the paper.
    pub scope: Scope,
    /// Payload of a full packet; at least 1B.
    pub payload: Bytes,
    /// What every packet has on the wire beside its payload. Not in the paper.
    pub header: Bytes,
    /// The scheme of the packet engine that this stands for.
    pub scheme: String,
}

impl Serialize for Control {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        Control::serialize(self, s)
    }
}

/// All keys of a [`Control`].
#[derive(Deserialize)]
#[serde(transparent)]
struct Complete(#[serde(deserialize_with = "Control::deserialize")] Control);

/// What flows hear.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Law {
    /// A rate to approach, for all the same (equations 6, 7 and 11).
    #[default]
    Rate,
    /// The load: they have U over it in flight, times what they had, as HPCC's.
    Inflight,
}

/// Whose state switches report.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The class's own (equation 11).
    #[default]
    Class,
    /// The whole port's, as HPCC's telemetry does: flows hear nothing of weights.
    Port,
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
    let table = toml::from_str(text);
    Ok(table.unwrap_or_else(|e| unreachable!("presets/{name}.toml is checked by a test: {e}")))
}

impl Control {
    /// Every preset, described by the comment at the top of its file.
    pub fn catalog() -> Vec<PartInfo> {
        presets::catalog(PRESETS, preset_text)
    }

    /// The preset called `name`.
    ///
    /// # Errors
    /// There is none.
    pub fn preset(name: &str) -> Result<Self, SpecError> {
        read(Value::String(name.to_owned()))
    }

    /// Keys that say nothing under the law are not given, and what it takes is.
    fn check_law(&self) -> Result<(), SpecError> {
        let (law, others) = match self.law {
            Law::Rate => (
                "rate",
                vec![("additive_increase", self.additive_increase > 0.0)],
            ),
            Law::Inflight => (
                "inflight",
                vec![
                    ("beta", self.beta > 0.0),
                    ("rise", self.rise.is_some()),
                    ("window", self.window),
                ],
            ),
        };
        if let Some((key, _)) = others.iter().find(|(_, given)| *given) {
            let message = format!("has no meaning under law = \"{law}\"");
            return Err(SpecError::new(*key, message));
        }
        if self.law == Law::Inflight && self.additive_increase == 0.0 {
            // Products of factors come back from nearly nothing, but not from nothing.
            let message = "0 is not above zero; windows that are only multiplied may end at 0";
            return Err(SpecError::new("additive_increase", message));
        }
        Ok(())
    }

    /// The bytes on the wire that `size` bytes of payload take.
    pub fn wire_bytes(&self, size: f64) -> f64 {
        let payload = self.payload.get() as f64;
        size + (size / payload).ceil() * self.header.get() as f64
    }

    /// r_init in bytes per second on a link of `capacity` bytes per second.
    pub fn initial_rate_on(&self, capacity: f64) -> f64 {
        match self.r_init {
            InitialRate::Line => capacity,
            InitialRate::Fixed(rate) => (rate.bps() as f64 / 8.0).min(capacity),
        }
    }
}

/// `"swp-d"`, or a table: a preset (swp-d unless given) and what differs from it.
impl<'de> Deserialize<'de> for Control {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let merged = || {
            let mut given = match Value::deserialize(d).map_err(|e| e.to_string()) {
                Ok(Value::String(name)) => {
                    Map::from_iter([("preset".to_owned(), Value::String(name))])
                }
                Ok(Value::Object(table)) => table,
                Ok(other) => {
                    let message = format!(
                        "{other} is not a congestion control: write a preset's name or a table"
                    );
                    return Err(SpecError::new("", message));
                }
                Err(message) => return Err(SpecError::new("", message)),
            };
            let mut table = match given.shift_remove("preset") {
                None => preset(PRESETS[0])?,
                Some(Value::String(name)) => preset(&name)?,
                Some(other) => {
                    return Err(SpecError::new("preset", format!("{other} is not a name")));
                }
            };
            for (key, value) in given {
                table.insert(key, value);
            }
            let Complete(control) = read(Value::Object(table))?;
            if control.payload.get() == 0 {
                return Err(SpecError::new("payload", "0B is not at least 1B"));
            }
            control.check_law()?;
            Ok(control)
        };
        merged().map_err(SpecError::into_serde)
    }
}

/// A preset's name will do, and no key is required.
fn with_presets(schema: &mut schemars::Schema) {
    let mut table = schema.clone().to_value();
    table["properties"]["preset"] = serde_json::json!({"enum": PRESETS});
    if let Some(object) = table.as_object_mut() {
        object.remove("required");
    }
    *schema = schemars::json_schema!({"anyOf": [{"enum": PRESETS}, table]});
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn presets_are_table_2() {
        let d = Control::preset("swp-d").unwrap();
        let expected = Control {
            r_init: InitialRate::Line,
            u_target: 1.0,
            thresh: Bytes::new(100_000),
            beta: 0.0,
            eta: 5.5,
            law: Law::Rate,
            additive_increase: 0.0,
            rise: None,
            window: false,
            scope: Scope::Class,
            payload: Bytes::new(1000),
            header: Bytes::new(0),
            scheme: "dctcp-rate".into(),
        };
        assert_eq!(d, expected);
        let h = Control::preset("swp-h").unwrap();
        let expected = Control {
            u_target: 0.9,
            thresh: Bytes::new(0),
            beta: 1.0,
            eta: 5.0,
            scheme: "hpcc".into(),
            ..expected
        };
        assert_eq!(h, expected);
        for control in [d, h] {
            let written = serde_json::to_value(&control).unwrap();
            assert_eq!(read::<Control>(written).unwrap(), control);
        }
        assert_eq!(
            Control::catalog()[0].description,
            "DCTCP as swp's table 2 has it (SWP-D)."
        );
    }

    #[test]
    fn a_table_changes_a_preset() {
        let c: Control = read(json!({"preset": "swp-h", "eta": 0.5, "r_init": "50Gbps"})).unwrap();
        assert_eq!((c.eta, c.u_target), (0.5, 0.9));
        assert_eq!(c.initial_rate_on(12.5e9), 6.25e9);
        assert_eq!(c.initial_rate_on(1e9), 1e9);
        let c: Control = read(json!({"eta": 0.5})).unwrap();
        assert_eq!(c.u_target, 1.0);
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
        assert!(error(json!(3)).starts_with("3 is not a congestion control"));
        assert_eq!(
            error(json!({"preset": "hpcc", "beta": 1.0})),
            "beta: has no meaning under law = \"inflight\""
        );
        assert_eq!(
            error(json!({"additive_increase": 0.001})),
            "additive_increase: has no meaning under law = \"rate\""
        );
        assert!(error(json!({"law": "window"})).contains("window"));
        assert!(
            error(json!({"preset": "hpcc", "additive_increase": 0}))
                .starts_with("additive_increase: 0 is not above zero")
        );
    }
}
