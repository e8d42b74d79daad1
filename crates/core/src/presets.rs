//! Presets: tables in TOML files that have a name.
//!
//! A preset is a file in the crate's `presets/`, compiled in, and a line in its
//! registry. The comment at the top of the file says what it is.

use crate::parts::PartInfo;

/// The presets with the first sentence of their comments; `text` is the registry's.
pub fn catalog(names: &[&'static str], text: fn(&str) -> Option<&'static str>) -> Vec<PartInfo> {
    let describe = |&name: &&'static str| {
        let lines = text(name).unwrap_or_default().lines();
        let comment = lines.map_while(|line| line.strip_prefix('#'));
        let words: Vec<&str> = comment.map(str::trim).collect();
        PartInfo {
            name,
            description: crate::parts::first_sentence(&words.join(" ")),
        }
    };
    names.iter().map(describe).collect()
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
    };
}
