//! What a scheme may be called.
//!
//! A name is, in this order, that of a preset that is compiled in; of a file `NAME.toml` in a directory of
//! one's own, which the scenario has at `presets`; or of a table `[schemes.NAME]` of the scenario. Each of
//! them may change another one (`preset = "dctcp"`). What a scenario resolves to holds no name any more.

use std::fs;
use std::path::Path;

use fctlab_core::parts::PartInfo;
use fctlab_core::{SpecError, presets, spec};
use serde_json::{Map, Value};

use super::{SchemeSpec, expand, merge, table_of};

fctlab_core::presets! {
    "tcp",
    "dctcp",
    "dctcp-paper",
    "pfabric",
    "pfabric-paper",
    "pfabric-pias",
    "fq",
    "sjf",
    "srpt",
    "ads",
    "pias",
    "pias-ns2",
    "las",
    "l2dct",
    "dctcp-rate",
    "hpcc",
    "d-srtf",
    "d-srtf-ia",
    "d-srtf-paper",
    "awafs",
    "awafs-ns2",
    "awafs-equal-bytes",
    "ascc",
    "ascc-deployable",
}

/// The presets that are compiled in, with the first sentence of their descriptions.
///
/// # Errors
/// The first mistake in one of them, with its file and line.
pub fn catalog() -> Result<Vec<PartInfo>, SpecError> {
    for name in PRESETS {
        let text = preset_text(name).unwrap_or_default();
        let found = built_in(name).unwrap_or_else(|| Ok(Map::new()));
        check(found?, &Names::default())
            .map_err(|e| presets::in_file(&e, &preset_file(name), text))?;
    }
    Ok(presets::catalog(PRESETS, preset_text))
}

/// The table of a preset that is compiled in; nothing where there is none.
fn built_in(name: &str) -> Option<Result<Map<String, Value>, SpecError>> {
    preset_text(name).map(|text| presets::table(&preset_file(name), text))
}

/// Reads the scheme whose table is given.
fn check(table: Map<String, Value>, names: &Names) -> Result<(), SpecError> {
    let whole = expand(Value::Object(table), names)?;
    spec::read::<SchemeSpec>(whole).map(drop)
}

/// The names that a scenario may use beside those of presets that are compiled in.
#[derive(Clone, Debug, Default)]
pub struct Names {
    own: Vec<OwnPreset>,
    tables: Map<String, Value>,
}

/// A preset in a file of one's own.
#[derive(Clone, Debug)]
struct OwnPreset {
    name: String,
    file: String,
    text: String,
    table: Map<String, Value>,
}

impl Names {
    /// Those of a scenario, which has directories at `presets` and tables at `schemes`. Relative directories
    /// are taken from `folder`.
    ///
    /// # Errors
    /// A directory that cannot be read or has no presets; the first mistake in a preset, with its file and line.
    pub fn of(scenario: &Map<String, Value>, folder: &Path) -> Result<Self, SpecError> {
        let directories = match scenario.get("presets") {
            None => Vec::new(),
            Some(Value::Array(several)) => several.iter().collect(),
            Some(one) => vec![one],
        };
        let mut names = Names::default();
        for directory in directories {
            let Value::String(directory) = directory else {
                let message =
                    format!("{directory} is not a directory: write its name, or a list of names");
                return Err(SpecError::new("presets", message));
            };
            names.read(&folder.join(directory))?;
        }
        names.check()?;
        if let Some(Value::Object(tables)) = scenario.get("schemes") {
            names.tables = tables.clone();
        }
        Ok(names)
    }

    /// Reads every `NAME.toml` of a directory.
    fn read(&mut self, directory: &Path) -> Result<(), SpecError> {
        let place = directory.display().to_string();
        if !directory.is_dir() {
            return Err(SpecError::new(
                "presets",
                format!("{place} is no directory"),
            ));
        }
        let unread = |e: std::io::Error| SpecError::new("presets", format!("{place}: {e}"));
        let mut files = Vec::new();
        // One directory may be named twice.
        let directory = directory.canonicalize().map_err(unread)?;
        for entry in fs::read_dir(directory).map_err(unread)? {
            files.push(entry.map_err(unread)?.path());
        }
        files.retain(|file| file.extension().is_some_and(|kind| kind == "toml"));
        files.sort();
        if files.is_empty() {
            let message = format!("{place} holds no presets, which are files NAME.toml");
            return Err(SpecError::new("presets", message));
        }
        for path in files {
            let file = path.display().to_string();
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if PRESETS.contains(&name.as_str()) {
                let message = format!("fctlab has a preset {name:?} of its own; rename the file");
                return Err(SpecError::new(file, message));
            }
            match self.own.iter().find(|own| own.name == name) {
                Some(other) if other.file == file => continue,
                Some(other) => {
                    let message = format!("has the name of {}; rename one of them", other.file);
                    return Err(SpecError::new(file, message));
                }
                None => {}
            }
            let text =
                fs::read_to_string(&path).map_err(|e| SpecError::new(&file, e.to_string()))?;
            let table = presets::table(&file, &text)?;
            self.own.push(OwnPreset {
                name,
                file,
                text,
                table,
            });
        }
        Ok(())
    }

    /// Reads each as a scheme: a mistake is found where it is, whatever is run.
    fn check(&self) -> Result<(), SpecError> {
        let changes_own = |preset: &&OwnPreset| {
            let changed = preset.table.get("preset").and_then(Value::as_str);
            self.own
                .iter()
                .any(|own| Some(own.name.as_str()) == changed)
        };
        // What one has from another is that one's mistake.
        let (later, first): (Vec<_>, Vec<_>) = self.own.iter().partition(changes_own);
        for own in first.into_iter().chain(later) {
            let found = check(own.table.clone(), self);
            found.map_err(|e| presets::in_file(&e, &own.file, &own.text))?;
        }
        Ok(())
    }

    /// The names that are not those of presets that are compiled in, and then those.
    pub fn known(&self) -> Vec<&str> {
        let tables = self.tables.keys().map(String::as_str);
        let own = self.own.iter().map(|own| own.name.as_str());
        tables.chain(own).chain(PRESETS.iter().copied()).collect()
    }

    /// Whether a preset is called so, compiled in or not.
    pub fn has_preset(&self, name: &str) -> bool {
        PRESETS.contains(&name) || self.own.iter().any(|own| own.name == name)
    }

    /// Presets of one's own, each with the first sentence of the comment at its top.
    pub fn own(&self) -> impl Iterator<Item = (&str, String)> {
        let told = |own: &OwnPreset| format!("{} ({})", presets::description(&own.text), own.file);
        self.own
            .iter()
            .map(move |own| (own.name.as_str(), told(own).trim().to_owned()))
    }

    /// The table of the scheme called `name`, merged into the one that it changes if it names one.
    ///
    /// # Errors
    /// There is none, or it changes itself.
    pub fn whole(&self, name: &Value) -> Result<Map<String, Value>, SpecError> {
        self.merged(name, &mut Vec::new())
    }

    fn merged(
        &self,
        name: &Value,
        within: &mut Vec<String>,
    ) -> Result<Map<String, Value>, SpecError> {
        let wrong = |message| SpecError::new("preset", message);
        let text = name.as_str().unwrap_or_default();
        if within.iter().any(|outer| outer == text) {
            let message = format!("{} and {text:?} name each other", within.join(", "));
            return Err(wrong(message));
        }
        let Some(table) = self.table(text) else {
            let known = self.known();
            let hint = spec::hint(text, &known);
            return Err(wrong(format!(
                "{name} is not a preset; {hint}known: {}",
                known.join(", ")
            )));
        };
        let mut table = table?;
        let Some(changed) = table.shift_remove("preset") else {
            return Ok(table);
        };
        within.push(text.to_owned());
        let mut whole = self.merged(&changed, within)?;
        merge(&mut whole, table);
        Ok(whole)
    }

    fn table(&self, name: &str) -> Option<Result<Map<String, Value>, SpecError>> {
        let own = || {
            self.own
                .iter()
                .find(|own| own.name == name)
                .map(|own| Ok(own.table.clone()))
        };
        let written = || self.tables.get(name).cloned().map(table_of);
        built_in(name).or_else(own).or_else(written)
    }
}
