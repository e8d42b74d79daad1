//! A specification in Dhall. The library panics on some texts, which the reader turns into an error; a panic
//! elsewhere, or a crash, is found.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: std::panic::set_hook(Box::new(|_| ())),
    |data: &[u8]| {
        let Ok(text) = std::str::from_utf8(data) else {
            return;
        };
        // Each bracket inside another doubles the library's time.
        if data.iter().filter(|byte| b"([{<".contains(byte)).count() > 8 {
            return;
        }
        if let Err(error) = fctlab_dhall::read(text, Path::new("/nonexistent/a.dhall")) {
            assert!(!error.to_string().is_empty());
        }
    }
);
