//! Congestion control as a function (swp, section 4.2, tables 1 and 2).

use std::borrow::Cow;

use fctlab_core::parts::PartInfo;
use fctlab_core::spec::{
    OrNone, closed_unit, half_open_unit, hint, non_negative, or_none, positive, read,
};
use fctlab_core::{Bytes, Rate, SpecError, WindowCounts, presets};
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
    /// Under `Law::Rate`, the rate from which a flow goes on after that. Only `Initial` is in the paper.
    pub start: Start,
    /// U, in (0, 1]: the share of the capacity that controlled flows aim at.
    #[serde(deserialize_with = "half_open_unit")]
    pub u_target: f64,
    /// T: the queue that is not reacted to; what leaves while more waits is marked.
    pub thresh: Bytes,
    /// Beta: how much controlled flows make room for uncontrolled traffic (0 or 1 in the paper).
    #[serde(deserialize_with = "non_negative")]
    pub beta: f64,
    /// Eta: rates approach their ideal within eta x tau. Under `Law::Hpcc` the load is
    /// averaged over as long.
    #[serde(deserialize_with = "positive")]
    pub eta: f64,
    /// How flows react. Only `Rate` is in the paper.
    pub law: Law,
    /// Under `Law::Hpcc`, by how much of a BDP a flow's window is raised besides (W_AI); above zero there.
    #[serde(deserialize_with = "non_negative")]
    pub additive_increase: f64,
    /// Under `Law::Dctcp`, the gain g of the estimated share of marks; in (0, 1] there.
    #[serde(deserialize_with = "closed_unit")]
    pub gain: f64,
    /// Under `Law::Dctcp`, by how much a flow's window rises per round trip without a mark; `"none"` elsewhere.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<Bytes>")]
    pub rise: Option<Bytes>,
    /// Under `Law::Dctcp` and `Law::Hpcc`, the smallest rate of a flow as a share of the link's; in (0, 1] there.
    #[serde(deserialize_with = "closed_unit")]
    pub min_rate: f64,
    /// Which bytes of a packet a window counts; `Payload` under `Law::Hpcc` alone.
    pub window_counts: WindowCounts,
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

/// How flows react to what they hear.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Law {
    /// They approach one rate, the same for all (equations 6, 7 and 11).
    #[default]
    Rate,
    /// They have windows that marks shrink, as DCTCP's; see `dctcp`.
    Dctcp,
    /// They have windows that are multiplied by what the load asks for, as HPCC's; see `hpcc`.
    Hpcc,
}

impl Law {
    /// As it is written.
    fn name(self) -> &'static str {
        match self {
            Law::Rate => "rate",
            Law::Dctcp => "dctcp",
            Law::Hpcc => "hpcc",
        }
    }
}

/// The rate with which a flow's control begins, one round trip after its start.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// r_init, from which it approaches R(t) (equation 7 from where equation 2 leaves it).
    #[default]
    Initial,
    /// R(t) as it is then; from there on it follows equation 7 as well.
    Ideal,
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

    /// What a person wrote: a preset's name, or a table of what differs from the preset it names
    /// or, if it names none, from `base`.
    ///
    /// # Errors
    /// The first mistake, with its path.
    pub fn written(
        given: Value,
        base: impl FnOnce() -> Result<Self, SpecError>,
    ) -> Result<Self, SpecError> {
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
            // One that was resolved needs no base, which there may not be.
            None => match read(Value::Object(given.clone())) {
                Ok(Complete(_)) => Map::new(),
                Err(_) => base()?.table(),
            },
        };
        table.extend(given);
        let Complete(control) = read(Value::Object(table))?;
        if control.payload.get() == 0 {
            return Err(SpecError::new("payload", "0B is not at least 1B"));
        }
        control.check_law()?;
        Ok(control)
    }

    fn table(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(table)) => table,
            _ => unreachable!("a struct is a table"),
        }
    }

    /// Keys that say nothing under the law are not given, and what it takes is.
    fn check_law(&self) -> Result<(), SpecError> {
        use Law::{Dctcp, Hpcc, Rate};
        let counts_payload = self.window_counts == WindowCounts::Payload;
        // Key, whether it says something, the laws that know it, and whether they can do without:
        // windows that only shrink end at 0.
        let keys: [(&str, bool, &[Law], bool); 10] = [
            ("start", self.start != Start::Initial, &[Rate], false),
            ("u_target", self.u_target != 1.0, &[Rate, Hpcc], false),
            ("beta", self.beta != 0.0, &[Rate], false),
            ("eta", self.eta != 1.0, &[Rate, Hpcc], false),
            ("scope", self.scope != Scope::Class, &[Rate, Hpcc], false),
            ("window_counts", counts_payload, &[Hpcc], false),
            ("gain", self.gain != 0.0, &[Dctcp], true),
            ("rise", self.rise.is_some(), &[Dctcp], true),
            (
                "additive_increase",
                self.additive_increase != 0.0,
                &[Hpcc],
                true,
            ),
            ("min_rate", self.min_rate != 0.0, &[Dctcp, Hpcc], true),
        ];
        let law = self.law.name();
        for (key, given, laws, needed) in keys {
            let known = laws.contains(&self.law);
            if given && !known {
                let message = format!("has no meaning under law = \"{law}\"");
                return Err(SpecError::new(key, message));
            }
            if needed && known && !given {
                let message = format!("has to be above zero under law = \"{law}\"");
                return Err(SpecError::new(key, message));
            }
        }
        Ok(())
    }

    /// The bytes on the wire that `size` bytes of payload take.
    pub fn wire_bytes(&self, size: f64) -> f64 {
        let payload = self.payload.get() as f64;
        size + (size / payload).ceil() * self.header.get() as f64
    }

    /// The bytes of a full packet; nothing under the paper's law, which knows none.
    pub fn full_packet(&self) -> f64 {
        match self.law {
            Law::Rate => 0.0,
            Law::Dctcp | Law::Hpcc => (self.payload.get() + self.header.get()) as f64,
        }
    }

    /// The bytes of a full packet that a window counts.
    pub fn counted(&self) -> f64 {
        match self.window_counts {
            WindowCounts::Payload => self.payload.get() as f64,
            WindowCounts::Wire => self.full_packet(),
        }
    }

    /// The bytes of a flow that its sender's link has taken before any is at the bottleneck: its first
    /// packet, which [`crate::simulate`] does not count. Nothing under the paper's law.
    pub fn first_packet(&self, size: f64) -> f64 {
        match self.law {
            Law::Rate => 0.0,
            Law::Dctcp | Law::Hpcc => self.wire_bytes(size.min(self.payload.get() as f64)),
        }
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
        let given = Value::deserialize(d)?;
        let written = Control::written(given, || Control::preset(PRESETS[0]));
        written.map_err(SpecError::into_serde)
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
            start: Start::Initial,
            u_target: 1.0,
            thresh: Bytes::new(100_000),
            beta: 0.0,
            eta: 5.5,
            law: Law::Rate,
            additive_increase: 0.0,
            gain: 0.0,
            rise: None,
            min_rate: 0.0,
            window_counts: WindowCounts::Wire,
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
        assert!(error(json!({"law": "window"})).contains("window"));
        assert_eq!(
            error(json!({"preset": "dctcp-rate", "window_counts": "payload"})),
            "window_counts: has no meaning under law = \"dctcp\""
        );
        assert_eq!(
            error(json!({"preset": "hpcc", "start": "ideal"})),
            "start: has no meaning under law = \"hpcc\""
        );
        assert!(error(json!({"start": "r_init"})).contains("`initial` or `ideal`"));
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
