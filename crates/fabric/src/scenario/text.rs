//! A scenario as people write it: files.

use fctlab_core::SpecError;
use fctlab_core::lines::line_at;
use fctlab_core::spec::Plain;
use serde::de::{DeserializeOwned, DeserializeSeed};
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

/// What a reader says of a text, and on which line.
#[derive(Debug)]
pub(super) struct Fault {
    pub line: Option<usize>,
    message: String,
}

impl Format {
    pub(super) fn read<T: DeserializeOwned>(self, text: &str) -> Result<T, Fault> {
        self.seek(text, std::marker::PhantomData)
    }

    pub(super) fn seek<'a, S: DeserializeSeed<'a>>(
        self,
        text: &'a str,
        seed: S,
    ) -> Result<S::Value, Fault> {
        match self {
            Format::Json => {
                let mut reader = serde_json::Deserializer::from_str(text);
                let read = seed.deserialize(&mut reader);
                read.and_then(|value| reader.end().map(|()| value))
                    .map_err(Fault::of_json)
            }
            Format::Toml => toml::Deserializer::parse(text)
                .and_then(|reader| seed.deserialize(reader))
                .map_err(|e| Fault::of_toml(&e, text)),
            Format::Yaml => seed
                .deserialize(serde_yaml_ng::Deserializer::from_str(text))
                .map_err(|e| Fault::of_yaml(&e)),
        }
    }
}

impl Fault {
    fn of_json(error: serde_json::Error) -> Fault {
        let at = format!(" at line {} column {}", error.line(), error.column());
        Fault {
            line: Some(error.line()).filter(|&line| line > 0),
            message: error.to_string().replace(&at, ""),
        }
    }
    fn of_toml(error: &toml::de::Error, text: &str) -> Fault {
        Fault {
            line: error.span().map(|span| line_at(text, span.start)),
            message: error.message().to_owned(),
        }
    }
    fn of_yaml(error: &serde_yaml_ng::Error) -> Fault {
        let place = error.location();
        let message = error.to_string();
        let end = place.as_ref().and_then(|place| {
            message.rfind(&format!(
                " at line {} column {}",
                place.line(),
                place.column()
            ))
        });
        Fault {
            line: place.map(|place| place.line()),
            message: message[..end.unwrap_or(message.len())].to_owned(),
        }
    }
}

/// Reads text as a generic value.
///
/// # Errors
/// A syntax error, with its line as its path: `:12`.
pub fn parse(text: &str, format: Format) -> Result<Value, SpecError> {
    let Plain(value) = format.read(text).map_err(|fault| {
        let line = fault.line.map(|line| format!(":{line}"));
        SpecError::new(line.unwrap_or_default(), fault.message)
    })?;
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
