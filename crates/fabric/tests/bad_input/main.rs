//! Mistakes in a scenario: one message each, with path, value and what is allowed.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod measure;
mod scheme;
mod topology;
mod traffic;
mod writing;

use common::try_run;
use fctlab_fabric::prepare::prepare;
use serde_json::{Value, json};

/// A scenario without mistakes.
fn good() -> Value {
    json!({
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4,
            "host_rate": "10Gbps", "fabric_rate": "40Gbps", "base_rtt": "16us",
        },
        "traffic": {"workload": "imc10", "load": 0.5, "flows": 3},
        "scheme": "dctcp",
    })
}

/// The message when `path` (keys with dots between) is set to `value`; `null`
/// removes it. The mistake is found when the scenario is resolved or, where it
/// takes the fabric, before the first flow starts.
fn with(changes: &[(&str, Value)]) -> String {
    error(change(changes))
}

fn change(changes: &[(&str, Value)]) -> Value {
    let mut scenario = good();
    for (path, value) in changes {
        let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
        let mut table = &mut scenario;
        for key in parent.split('.').filter(|k| !k.is_empty()) {
            if !table[key].is_object() {
                table[key] = json!({});
            }
            table = &mut table[key];
        }
        let table = table.as_object_mut().unwrap();
        match value {
            Value::Null => table.remove(key),
            value => table.insert(key.to_owned(), value.clone()),
        };
    }
    scenario
}

fn error(scenario: Value) -> String {
    match try_run(scenario.clone(), std::path::Path::new("/nowhere")) {
        Err(message) => message,
        Ok(_) => panic!("no mistake was found in {scenario}"),
    }
}

fn set(path: &str, value: &str) -> String {
    let sets = [(path.to_owned(), value.to_owned())];
    prepare(good(), &sets, std::path::Path::new("/"))
        .unwrap_err()
        .to_string()
}

/// A scheme's table that starts from DCTCP's preset.
fn scheme(changes: Value) -> String {
    let mut table = json!({"preset": "dctcp"});
    table
        .as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    with(&[("scheme", table)])
}

#[test]
fn the_scenario_without_mistakes_runs() {
    try_run(good(), std::path::Path::new("/")).unwrap();
}
