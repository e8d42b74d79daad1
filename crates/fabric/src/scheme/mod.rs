//! A scheme: one choice for each place of the architecture.
//!
//! `preset = "dctcp"` stands for a file of `presets/`; what a scenario writes
//! beside it changes the preset. Changing the `kind` of a part replaces the
//! part; of a transport, whose kinds share most keys, those that the preset
//! writes and the new kind knows stay. Anything else is merged.

mod names;
mod nic;
mod places;
mod port;
mod shaper;

use std::collections::BTreeMap;

use fctlab_core::SpecError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::names::{Names, PRESETS, catalog};
pub use self::nic::NicSpec;
pub(crate) use self::places::Place;
pub use self::port::{EcnAt, EcnScope, PortSpec};
pub use self::shaper::{Per, ShaperSpec};
use crate::network::routing::RoutingSpec;
use crate::taggers::Tagger;
use crate::transports::TransportSpec;

/// One choice for each place: how a network schedules its flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemeSpec {
    /// What results call it. Default: the preset's name, or the transport's.
    pub name: String,
    /// How fast a host sends. Default: the preset's.
    pub transport: TransportSpec,
    /// A leaky bucket at every source. Default: the preset's, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<ShaperSpec>,
    /// What the header says. Default: the preset's, or `none`.
    pub tagger: Tagger,
    /// The switch ports: what leaves next, what is dropped, what is marked. Default: the preset's, or what its
    /// keys have.
    pub port: PortSpec,
    /// The host ports. Default: as the switch ports.
    pub nic: NicSpec,
    /// What is different at the ports of one tier, `leaf-up` or `"leaf -> spine"`, or at one port,
    /// `"leaf 0 -> spine 1"`; `nic` is `scheme.nic`. Default: `port` is that of all switches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ports: BTreeMap<String, PortSpec>,
    /// Which of several equal paths a packet takes. Default: the preset's, or `ecmp`.
    pub routing: RoutingSpec,
}

/// Keys of a scheme's table whose values are parts: a name or `{kind = ...}`.
const PARTS: [&str; 6] = [
    "transport",
    "tagger",
    "routing",
    "discipline",
    "mapping",
    "policy",
];

/// Writes the table of a scheme out in full: preset and changes merged, the
/// NIC filled up from the port. Still to be read as a [`SchemeSpec`].
///
/// # Errors
/// A preset that is not among the `names`, or something that is no scheme at all.
pub fn expand(scheme: Value, names: &Names) -> Result<Value, SpecError> {
    let mut given = table_of(scheme)?;
    let mut base = Map::new();
    if let Some(name) = given.shift_remove("preset") {
        base = names.whole(&name)?;
        base.insert("name".into(), name);
    }
    merge(&mut base, given);
    for (key, default) in [("tagger", "none"), ("routing", "ecmp")] {
        base.entry(key).or_insert_with(|| default.into());
    }
    if !base.contains_key("transport") {
        return Err(SpecError::new(
            "transport",
            "is missing; write one, or a preset",
        ));
    }
    let kind = base["transport"]["kind"]
        .as_str()
        .or(base["transport"].as_str());
    let name = kind.unwrap_or("custom").to_owned();
    base.entry("name").or_insert_with(|| name.into());
    let port = base
        .entry("port")
        .or_insert_with(|| Map::new().into())
        .clone();
    let ports = base.get_mut("ports").and_then(Value::as_object_mut);
    if let Some(nic) = ports.and_then(|ports| ports.shift_remove("nic")) {
        merge(&mut base, Map::from_iter([("nic".to_owned(), nic)]));
    }
    if port.is_object() {
        let nic = base.shift_remove("nic");
        base.insert("nic".into(), changed(&port, nic.unwrap_or(Value::Null)));
        if let Some(Value::Object(ports)) = base.get_mut("ports") {
            for table in ports.values_mut() {
                *table = changed(&port, table.take());
            }
        }
    }
    Ok(Value::Object(base))
}

/// The written scheme with the scenario's `[ports.TIER]` in it, which hold under any scheme.
///
/// # Errors
/// Something that is no scheme at all.
pub(crate) fn with_ports(scheme: Value, ports: Value) -> Result<Value, SpecError> {
    let mut table = table_of(scheme)?;
    merge(&mut table, Map::from_iter([("ports".to_owned(), ports)]));
    Ok(Value::Object(table))
}

/// The table of a port with `changes`; what is no table is left as it is, to be told as that.
fn changed(port: &Value, changes: Value) -> Value {
    let mut full = Map::from_iter([("port".to_owned(), port.clone())]);
    if !changes.is_null() {
        merge(&mut full, Map::from_iter([("port".to_owned(), changes)]));
    }
    full["port"].take()
}

/// The table of a scheme that is written as one, or as a preset's name.
fn table_of(scheme: Value) -> Result<Map<String, Value>, SpecError> {
    match scheme {
        Value::String(_) => Ok(Map::from_iter([("preset".to_owned(), scheme)])),
        Value::Object(table) => Ok(table),
        other => {
            let message = format!("{other} is not a scheme: write a preset's name or a table");
            Err(SpecError::new("", message))
        }
    }
}

/// Merges `changes` into `base`, table by table.
fn merge(base: &mut Map<String, Value>, changes: Map<String, Value>) {
    for (key, mut change) in changes {
        let is_part = PARTS.contains(&key.as_str());
        if is_part && let Value::String(kind) = change {
            change = Map::from_iter([("kind".to_owned(), Value::String(kind))]).into();
        }
        let slot = base.entry(&key).or_insert(Value::Null);
        if is_part && let Value::String(kind) = slot {
            *slot = Map::from_iter([("kind".to_owned(), Value::String(kind.clone()))]).into();
        }
        let replaces = is_part
            && change
                .get("kind")
                .is_some_and(|new| slot.get("kind").is_none_or(|old| old != new));
        match (slot, change) {
            (Value::Object(old), Value::Object(new)) if !replaces => merge(old, new),
            (Value::Object(old), Value::Object(new)) if key == "transport" => {
                let known = TransportSpec::keys(new["kind"].as_str().unwrap_or_default());
                old.retain(|key, _| known.contains(&key.as_str()));
                merge(old, new);
            }
            (slot, change) => *slot = change,
        }
    }
}

#[cfg(test)]
mod tests {
    use fctlab_core::spec;
    use serde_json::json;

    use super::*;
    use crate::transports::RuleSpec;

    fn scheme(value: Value) -> Result<SchemeSpec, SpecError> {
        spec::read(expand(value, &Names::default())?)
    }

    #[test]
    fn every_preset_is_a_scheme_and_is_its_own_expansion() {
        for name in PRESETS {
            let full = scheme(json!(name)).unwrap();
            assert_eq!(full.name, *name);
            let again = scheme(serde_json::to_value(&full).unwrap()).unwrap();
            assert_eq!(full, again);
        }
        assert!(
            catalog()
                .unwrap()
                .iter()
                .all(|p| p.description.ends_with('.'))
        );
    }

    #[test]
    fn changes_are_merged_and_a_new_kind_replaces() {
        let changed = json!({"preset": "pfabric", "transport": {"min_rto": "7us"}, "port": {"buffer": "50pkt"}});
        let changed = scheme(changed).unwrap();
        let preset = scheme(json!("pfabric")).unwrap();
        assert_eq!(changed.transport.rule, preset.transport.rule);
        assert_eq!(
            changed.transport.sender.initial_window,
            preset.transport.sender.initial_window
        );
        assert_ne!(
            changed.transport.sender.min_rto,
            preset.transport.sender.min_rto
        );
        // The NIC follows the port.
        assert_eq!(changed.nic.port.buffer, changed.port.buffer);
        let replaced = json!({"preset": "pfabric", "port": {"discipline": "fq"}});
        assert_eq!(
            scheme(replaced).unwrap().port.discipline,
            spec::read(json!("fq")).unwrap()
        );
    }

    #[test]
    fn a_new_transport_keeps_what_the_preset_writes() {
        let changed = |kind: &str| {
            let changed =
                json!({"preset": "pias-ns2", "transport": {"kind": kind, "max_window": "100pkt"}});
            scheme(changed).unwrap().transport
        };
        let l2dct = changed("l2dct");
        let preset = scheme(json!("pias-ns2")).unwrap().transport.sender;
        assert_eq!(l2dct.rule.kind(), "l2dct");
        assert_eq!(l2dct.sender.initial_window, preset.initial_window);
        assert_eq!(l2dct.sender.rto, preset.rto);
        assert!(!l2dct.sender.fast_retransmit);
        let RuleSpec::L2dct(rule) = &l2dct.rule else {
            panic!("{l2dct:?}");
        };
        assert_eq!(rule.initial_alpha, 0.0, "L2DCT's default is 1");
        assert_eq!(l2dct.sender.max_window.unwrap().to_string(), "100pkt");
        // TCP has no alpha.
        assert_eq!(changed("tcp").sender, l2dct.sender);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |value| scheme(value).unwrap_err().to_string();
        assert_eq!(
            error(json!("dtcp")),
            format!(
                "preset: \"dtcp\" is not a preset; did you mean \"dctcp\"? known: {}",
                PRESETS.join(", ")
            )
        );
        let text = error(json!({"preset": "dctcp", "transport": {"g": 2}}));
        assert_eq!(text, "transport.g: 2 is not in (0, 1]");
        let text = error(json!({"preset": "dctcp", "transport": {"min_rot": "1us"}}));
        assert!(
            text.starts_with("transport.min_rot: unknown key; did you mean \"min_rto\"?"),
            "{text}"
        );
        let text = error(json!({"preset": "dctcp", "nic": {"bufer": "1KB"}}));
        assert!(
            text.starts_with("nic.bufer: unknown key; did you mean \"buffer\"?"),
            "{text}"
        );
        let text = error(json!({"preset": "dctcp", "port": {"discipline": "sprt"}}));
        assert!(
            text.starts_with("port.discipline.kind: \"sprt\" is not a discipline"),
            "{text}"
        );
    }
}
