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
        // A file is read with its prelude, which takes ten times as long as finding out that it is not Dhall. Of those
        // that are not, one in sixteen is read.
        let sum = data.iter().fold(0_u8, |sum, &byte| sum.wrapping_add(byte));
        if sum % 16 > 0 && dhall::syntax::parse_expr(text).is_err() {
            return;
        }
        if let Err(error) = fctlab_dhall::read(text, Path::new("/nonexistent/a.dhall")) {
            assert!(!error.to_string().is_empty());
        }
    }
);
