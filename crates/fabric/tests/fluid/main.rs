//! One fluid for all links in place of packets: the same scenarios and flows.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod classes;
mod few;
mod near;
mod refused;

use common::Played;
use serde_json::{Value, json};

fn on(engine: &str, scenario: &Value) -> Value {
    let mut scenario = scenario.clone();
    scenario["engine"] = json!(engine);
    scenario
}

fn leaf_spine(leaves: u32, hosts_per_leaf: u32) -> Value {
    json!({"kind": "leaf-spine", "leaves": leaves, "spines": 2, "hosts_per_leaf": hosts_per_leaf,
        "host_rate": "10Gbps", "fabric_rate": "40Gbps", "base_rtt": "20us"})
}

fn web_search(topology: Value, load: f64, flows: u64) -> Value {
    json!({
        "packet": {"payload": "1000B", "header": "48B", "ack": "60B"},
        "topology": topology,
        "traffic": {"workload": "websearch", "load": load, "flows": flows},
        "scheme": "dctcp-rate",
    })
}

/// Slowdowns of flows of a size from `sizes`, in order.
fn slowdowns(run: &Played, sizes: (u64, u64)) -> Vec<f64> {
    let flows = run.flows.iter();
    let flows = flows.filter(|f| f.size > sizes.0 && f.size <= sizes.1);
    let mut all: Vec<f64> = flows.map(|f| f.slowdown).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

/// The largest percentile with ten flows beyond it, at most the 99th.
fn tail(of: &[f64]) -> f64 {
    of[of.len() - (of.len() / 100).max(10)]
}
