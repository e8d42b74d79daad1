//! Tiny scenarios of every scheme through every engine, drawn from bytes, with what must hold of any run checked
//! inside. A fuzzer may give `checked::check` bytes that coverage guides.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod checked;
mod draw;
mod seen;

use std::path::Path;

use arbitrary::Unstructured;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn of_any_run(bytes in prop::collection::vec(any::<u8>(), 40..260)) {
        let _ = checked::check(&mut Unstructured::new(&bytes));
    }
}

/// `make fuzz` has chosen these by what they reach.
#[test]
fn of_runs_that_fuzzing_kept() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/engine");
    for file in kept.read_dir().unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let _ = checked::check(&mut Unstructured::new(&bytes));
    }
}
