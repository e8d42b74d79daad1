//! A scenario as people write it: files.

use fctlab_core::SpecError;
use fctlab_core::lines::line_at;
use fctlab_core::spec::Plain;
use serde_json::Value;

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
            let line = line_at(text, e.span().map_or(0, |span| span.start));
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
