//! A scenario as people write it: files, and single keys that are set.

use fctlab_core::SpecError;
use fctlab_core::spec::Plain;
use serde_json::{Value, json};

/// The ways to write a scenario.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// JSON.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// Reads text as a generic value.
///
/// # Errors
/// A syntax error, with its line.
pub fn parse(text: &str, format: Format) -> Result<Value, SpecError> {
    let read = match format {
        Format::Json => serde_json::from_str::<Plain>(text).map_err(|e| e.to_string()),
        Format::Toml => toml::from_str::<Plain>(text).map_err(|e: toml::de::Error| {
            let start = e.span().map_or(0, |s| s.start);
            let line = text
                .get(..start)
                .map_or(1, |before| before.matches('\n').count() + 1);
            format!("line {line}: {}", e.message())
        }),
        Format::Yaml => serde_yaml_ng::from_str::<Plain>(text).map_err(|e| e.to_string()),
    };
    let Plain(value) = read.map_err(|e| SpecError::new("", e))?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(not_a_table(&value))
    }
}

pub(crate) fn not_a_table(value: &Value) -> SpecError {
    SpecError::new(
        "",
        format!("{value} is not a scenario: write tables such as [topology]"),
    )
}

/// What a person typed after `path=`: TOML where it is, else the text itself.
pub(crate) fn bare_value(text: &str) -> Value {
    match toml::from_str(&format!("value = {text}")) {
        Ok(Plain(Value::Object(mut table))) if table.len() == 1 => table["value"].take(),
        _ => Value::String(text.to_owned()),
    }
}

/// Puts `new` at `path`, making tables on the way; the shorthand `"dctcp"` on
/// the way becomes the table that it stands for.
pub(crate) fn set(value: &mut Value, path: &str, new: Value) -> Result<(), SpecError> {
    let mut here = value;
    let mut parent = "";
    for key in path.split('.') {
        if key.is_empty() {
            return Err(SpecError::new(
                path,
                "is not a path; write keys with dots between, such as traffic.load",
            ));
        }
        if let Value::String(short) = here {
            let word = if parent == "scheme" { "preset" } else { "kind" };
            *here = json!({ word: short });
        }
        if here.is_null() {
            *here = json!({});
        }
        here = match here {
            Value::Object(map) => map.entry(key).or_insert(Value::Null),
            Value::Array(list) => {
                let n = list.len();
                let item = key.parse().ok().and_then(|i: usize| list.get_mut(i));
                item.ok_or_else(|| SpecError::new(path, format!("{key} is not in 0..{n}")))?
            }
            other => {
                let message = format!("{parent} is {other} and has no key {key}");
                return Err(SpecError::new(path, message));
            }
        };
        parent = key;
    }
    *here = new;
    Ok(())
}
