//! A specification of SLOs: expressions, and tables.
#![no_main]

use std::path::Path;

use fctlab_fabric::scenario::{Format, parse};
use fctlab_planner::Spec;
use fctlab_workload::slo::Slo;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Err(message) = Slo::parse(text, &[]) {
        assert!(!message.is_empty());
    }
    let Ok(value) = parse(text, Format::Toml) else {
        return;
    };
    if text.contains("trace") || text.contains("file") || text.contains("log") {
        return;
    }
    if let Ok(spec) = Spec::read(value, Path::new("/nonexistent")) {
        let _ = spec.classes();
    }
});
