//! The registry behind every choice of the form `kind = "..."`.
//!
//! A place of the architecture (transport, tagger, discipline, topology,
//! workload, ...) lists its parts once, with [`parts!`](macro@crate::parts): one line
//! per part, naming the part's file and its specification. From that line come
//! the closed enum (so that no packet pays for a virtual call), reading with
//! precise errors, the shorthand `"dctcp"` for `{kind = "dctcp"}`, the JSON
//! Schema and the lists that `fctlab list` prints.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use crate::spec::{SpecError, hint};

/// A part as `fctlab list` shows it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PartInfo {
    /// The name that `kind` takes.
    pub name: &'static str,
    /// The first sentence of its documentation.
    pub description: String,
}

/// Splits `"dctcp"` or `{kind = "dctcp", ...}` into the kind and the rest.
///
/// # Errors
/// When it is neither, or the kind is not one of `names`.
pub fn split_kind(
    value: Value,
    what: &str,
    names: &[&str],
) -> Result<(String, Map<String, Value>), SpecError> {
    let known = || format!("known: {}", names.join(", "));
    let (kind, rest, path) = match value {
        Value::String(kind) => (kind, Map::new(), ""),
        Value::Object(mut map) => match map.shift_remove("kind") {
            Some(Value::String(kind)) => (kind, map, "kind"),
            Some(other) => {
                let message = format!("{other} is not the name of a {what}; {}", known());
                return Err(SpecError::new("kind", message));
            }
            None => return Err(SpecError::new("kind", format!("is missing; {}", known()))),
        },
        other => {
            let message = format!(
                "{other} is not a {what}: write its name or a table; {}",
                known()
            );
            return Err(SpecError::new("", message));
        }
    };
    if names.contains(&kind.as_str()) {
        return Ok((kind, rest));
    }
    let hint = hint(&kind, names);
    Err(SpecError::new(
        path,
        format!("{kind:?} is not a {what}; {hint}{}", known()),
    ))
}

/// The schema of a place: one of the parts' objects, or just a name.
pub fn schema(parts: Vec<(&'static str, Value)>) -> schemars::Schema {
    let names: Vec<_> = parts.iter().map(|(name, _)| *name).collect();
    let objects = parts.into_iter().map(|(name, mut schema)| {
        schema["type"] = json!("object");
        schema["properties"]["kind"] = json!({"const": name});
        match schema["required"].as_array_mut() {
            Some(required) => required.insert(0, json!("kind")),
            None => schema["required"] = json!(["kind"]),
        }
        schema
    });
    let mut one_of = vec![json!({"enum": names})];
    one_of.extend(objects);
    json!({"oneOf": one_of}).try_into().unwrap_or_default()
}

/// Lets the schema of a place also take changes of a part: a table without
/// `kind`, with keys of any of the kinds, none of them required. Leaves the
/// schema of anything else as it is.
pub fn allow_changes(place: &mut Value) {
    let Some(choices) = place.get_mut("oneOf").and_then(Value::as_array_mut) else {
        return;
    };
    let mut keys: Map<String, Value> = Map::new();
    let parts = choices.iter().filter_map(|c| c["properties"].as_object());
    for part in parts.filter(|part| part.contains_key("kind")) {
        for (key, schema) in part.iter().filter(|(key, _)| *key != "kind") {
            let one = keys.entry(key).or_insert_with(|| json!({"anyOf": []}));
            let seen = one["anyOf"].as_array_mut().into_iter();
            for seen in seen.filter(|seen| !seen.contains(schema)) {
                seen.push(schema.clone());
            }
        }
    }
    if !keys.is_empty() {
        choices.push(json!({
            "description": "Changes of a preset's part: keys of its kind.",
            "type": "object",
            "additionalProperties": false,
            "properties": keys,
        }));
    }
}

/// The inline schema of `T` as a value.
pub fn schema_of<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    T::json_schema(generator).to_value()
}

/// The first sentence of the documentation of `T`.
pub fn description_of<T: schemars::JsonSchema>() -> String {
    let value = schema_of::<T>(&mut SchemaGenerator::default());
    let text = value["description"]
        .as_str()
        .unwrap_or_default()
        .replace('\n', " ");
    first_sentence(&text)
}

/// The first sentence of a text without line breaks.
pub fn first_sentence(text: &str) -> String {
    match text.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => text.to_owned(),
    }
}

/// Declares the closed set of parts of one place; see the [module](self).
///
/// ```ignore
/// fctlab_core::parts! {
///     /// What the header says about a flow.
///     pub enum TaggerSpec, "tagger" {
///         "none" => None(none::Spec),
///         "remaining" => Remaining(remaining::Spec),
///     }
/// }
/// ```
#[macro_export]
macro_rules! parts {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident, $what:literal {
            $( $kind:literal => $variant:ident($spec:ty) ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = "kind")]
        #[allow(missing_docs)]
        $vis enum $name {
            $( #[serde(rename = $kind)] $variant($spec) ),+
        }

        impl $name {
            /// The names that `kind` takes.
            pub const NAMES: &'static [&'static str] = &[$($kind),+];

            /// The name of this part.
            pub fn kind(&self) -> &'static str {
                match self { $( $name::$variant(_) => $kind ),+ }
            }

            /// The keys of the part called `kind`; none where there is no such part.
            pub fn keys(kind: &str) -> &'static [&'static str] {
                match kind {
                    $( $kind => $crate::spec::keys::<$spec>(), )+
                    _ => &[],
                }
            }

            /// Every part with the first sentence of its documentation.
            pub fn catalog() -> Vec<$crate::parts::PartInfo> {
                vec![$( $crate::parts::PartInfo {
                    name: $kind,
                    description: $crate::parts::description_of::<$spec>(),
                } ),+]
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let value = <serde_json::Value as serde::Deserialize>::deserialize(d)?;
                let read = || {
                    let (kind, rest) = $crate::parts::split_kind(value, $what, Self::NAMES)?;
                    let rest = serde_json::Value::Object(rest);
                    match kind.as_str() {
                        $( $kind => $crate::spec::read(rest).map($name::$variant), )+
                        _ => unreachable!("split_kind returns only known names"),
                    }
                };
                read().map_err($crate::SpecError::into_serde)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::parts::schema(vec![
                    $( ($kind, $crate::parts::schema_of::<$spec>(generator)) ),+
                ])
            }
        }
    };
}
