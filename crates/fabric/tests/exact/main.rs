//! Exact answers: runs whose result follows from arithmetic by hand.
//!
//! Throughout, unless a test says otherwise: full packets of 1500 B, which
//! take 1.2 us at 10 Gbps and 0.3 us at 40 Gbps; ACKs of 40 B: 32 ns and 8 ns;
//! 1 us of propagation per link.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod alone;
mod bursts;
mod classes;
mod connections;
mod delayed;
mod marks;
mod pacing;
mod scale;
mod sharing;

use common::Given;
use serde_json::{Value, json};

fn leaf_spine(scheme: Value) -> Value {
    json!({
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2,
            "host_rate": "10Gbps", "fabric_rate": "40Gbps", "link_delay": "1us",
        },
        "scheme": scheme,
    })
}

fn fat_tree(scheme: Value) -> Value {
    json!({
        "topology": {"kind": "fat-tree", "k": 4, "host_rate": "25Gbps", "link_delay": "1us"},
        "scheme": scheme,
    })
}

/// One-packet flows from hosts `0..n` to the receiver, all at time 0.
fn burst(n: u32) -> Vec<Given> {
    (0..n).map(|host| (0, host, n, 1460)).collect()
}
