//! Tiny scenarios of every scheme through every engine: what `crates/fabric/tests/invariants` checks, on bytes that
//! coverage guides.
#![no_main]

#[path = "../../crates/fabric/tests/invariants/checked.rs"]
mod checked;
#[path = "../../crates/fabric/tests/invariants/draw.rs"]
mod draw;
#[path = "../../crates/fabric/tests/invariants/seen.rs"]
mod seen;

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = checked::check(&mut Unstructured::new(data));
});
