//! Presets: tables in TOML files that have a name.
//!
//! A preset is a file in the crate's `presets/`, compiled in, and a line in its
//! registry. The comment at the top of the file says what it is. A mistake in one
//! is told with its file and line.

use serde_json::{Map, Value};

use crate::lines::{line_at, line_in_toml};
use crate::parts::{PartInfo, first_sentence};
use crate::spec::{Plain, SpecError};

/// The presets with the first sentence of their comments; `text` is the registry's.
pub fn catalog(names: &[&'static str], text: fn(&str) -> Option<&'static str>) -> Vec<PartInfo> {
    let describe = |&name: &&'static str| PartInfo {
        name,
        description: description(text(name).unwrap_or_default()),
    };
    names.iter().map(describe).collect()
}

/// The first sentence of the comment at the top of a preset's file.
pub fn description(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#'));
    let words: Vec<&str> = comment.map(str::trim).collect();
    first_sentence(&words.join(" "))
}

/// The table that a preset's `file` holds, which is `text`.
///
/// # Errors
/// What is no TOML, with its line.
pub fn table(file: &str, text: &str) -> Result<Map<String, Value>, SpecError> {
    match toml::from_str::<Plain>(text) {
        Ok(Plain(Value::Object(table))) => Ok(table),
        Ok(_) => Ok(Map::new()),
        Err(error) => {
            let line = line_at(text, error.span().map_or(0, |span| span.start));
            let message = format!("line {line}: {}", error.message());
            Err(SpecError::new(file, message))
        }
    }
}

/// `error`, which is about what `text` says, as one about the `file` that holds it: with the line where
/// its path is written, if it is.
pub fn in_file(error: &SpecError, file: &str, text: &str) -> SpecError {
    let line = line_in_toml(text, &error.path);
    let line = line.map_or(String::new(), |line| format!("line {line}: "));
    SpecError::new(file, format!("{line}{error}"))
}

/// Declares the presets of a module: one line each, naming the file in the crate's `presets/`.
#[macro_export]
macro_rules! presets {
    ($( $name:literal ),+ $(,)?) => {
        /// Names of the presets.
        pub const PRESETS: &[&str] = &[$($name),+];
        fn preset_text(name: &str) -> Option<&'static str> {
            match name {
                $( $name => Some(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/presets/", $name, ".toml"))), )+
                _ => None,
            }
        }
        /// Where the repository has the preset.
        fn preset_file(name: &str) -> String {
            format!("crates/{}/presets/{name}.toml", env!("CARGO_PKG_NAME").trim_start_matches("fctlab-"))
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A scheme. More of it.\ntransport = \"tcp\"\n\n[port]\nbufer = \"1KB\"\n\
                        discipline = { kind = \"fifo\", g = 1 }\n";

    #[test]
    fn mistakes_have_a_line() {
        let told = |path| in_file(&SpecError::new(path, "is wrong"), "a.toml", TEXT).to_string();
        assert_eq!(told("port.bufer"), "a.toml: line 5: port.bufer: is wrong");
        assert_eq!(
            told("port.discipline.g[1]"),
            "a.toml: line 6: port.discipline.g[1]: is wrong"
        );
        assert_eq!(told("port.drop"), "a.toml: line 4: port.drop: is wrong");
        assert_eq!(told("tagger"), "a.toml: tagger: is wrong");
        let error = table("a.toml", "a = 1\nb = \n").unwrap_err().to_string();
        assert!(error.starts_with("a.toml: line 2: "), "{error}");
    }

    #[test]
    fn a_preset_is_described_by_its_first_sentence() {
        assert_eq!(description(TEXT), "A scheme.");
        assert_eq!(table("a.toml", TEXT).unwrap().len(), 2);
    }
}
