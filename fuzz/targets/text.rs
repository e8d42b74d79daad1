//! A scenario in TOML, YAML or JSON: it is prepared, or one error says what is wrong.
#![no_main]

use std::path::Path;

use fctlab_fabric::prepare::prepare;
use fctlab_fabric::scenario::{Format, line_of, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let format = [Format::Toml, Format::Yaml, Format::Json][usize::from(first) % 3];
    let Ok(value) = parse(text, format) else {
        return;
    };
    // Files of this machine are no input.
    if text.contains("trace") || text.contains("file") || text.contains("presets") {
        return;
    }
    if let Err(error) = prepare(value, &[], Path::new("/nonexistent")) {
        let message = error.to_string();
        assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
        line_of(text, format, &error.path);
    }
});
