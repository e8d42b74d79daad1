//! Golden tables: whole small runs, compared as text.
//!
//! `UPDATE_GOLDEN=1 cargo test -p fctlab-fabric --test golden` writes the tables anew;
//! `git diff` then shows what a change of a mechanism did.

#![allow(clippy::unwrap_used)]

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::{Played, generated, toml};

fn table(played: &Played) -> String {
    let mut text = String::from(
        "class   flows unfinished  avg_fct_us  p50_fct_us  p99_fct_us avg_slow p50_slow p99_slow\n",
    );
    for row in &played.summary {
        let us = |s: f64| s * 1e6;
        writeln!(
            text,
            "{:<7} {:>5} {:>10} {:>11.3} {:>11.3} {:>11.3} {:>8.4} {:>8.4} {:>8.4}",
            row.class,
            row.flows,
            row.unfinished,
            us(row.avg_fct_s),
            us(row.p50_fct_s),
            us(row.p99_fct_s),
            row.avg_slowdown,
            row.p50_slowdown,
            row.p99_slowdown,
        )
        .unwrap();
    }
    // Events are left out: they are the engine's own business.
    let c = &played.counters;
    for (name, count) in [
        ("flows_started", c.flows_started),
        ("flows_finished", c.flows_finished),
        ("data_packets", c.data_packets),
        ("retransmissions", c.retransmissions),
        ("timeouts", c.timeouts),
        ("drops", c.drops),
        ("ecn_marks", c.ecn_marks),
        ("packet_hops", c.packet_hops),
        ("peak_flows_in_flight", c.peak_flows_in_flight),
    ] {
        writeln!(text, "{name} {count}").unwrap();
    }
    text
}

fn golden(name: &str, scenario: &str) {
    let found = table(&generated(toml(scenario)));
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(&file, found).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == expected,
        "{name}.txt is different now; UPDATE_GOLDEN=1 writes it anew.\n--- expected\n{expected}\n+++ found\n{found}"
    );
}

const LEAF_SPINE: &str = r#"
seed = 7
[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
host_rate = "10Gbps"
fabric_rate = "40Gbps"
base_rtt = "16us"
[traffic]
workload = "websearch"
load = 0.6
flows = 300
"#;

#[test]
fn tcp() {
    golden(
        "tcp",
        &format!("{LEAF_SPINE}\n[scheme]\npreset = \"tcp\"\nport.buffer = \"100pkt\""),
    );
}

#[test]
fn dctcp() {
    golden(
        "dctcp",
        &format!("{LEAF_SPINE}\n[scheme]\npreset = \"dctcp\""),
    );
}

#[test]
fn pfabric() {
    golden(
        "pfabric",
        &format!("{LEAF_SPINE}\n[scheme]\npreset = \"pfabric\""),
    );
}

#[test]
fn strict_priority_with_thresholds() {
    let scheme = r#"
[scheme]
preset = "dctcp"
tagger = "sent"
transport = { initial_window = "14pkt" }
port = { discipline = { kind = "priority", thresholds = [20000, 200000, 1000000] }, buffer = "100pkt", ecn_threshold = "20pkt" }
nic = { per_flow_limit = "none" }
"#;
    golden("strict-priority", &format!("{LEAF_SPINE}{scheme}"));
}

#[test]
fn fair_queueing() {
    let scheme = r#"
[scheme]
preset = "fq"
transport = { min_rto = "100us" }
port = { buffer = "60pkt" }
"#;
    golden("fq", &format!("{LEAF_SPINE}{scheme}"));
}

#[test]
fn ads() {
    let scheme = r#"
[scheme]
preset = "ads"
transport = { kind = "dctcp", min_rto = "100us" }
port = { ecn_threshold = "15pkt", discipline = { queues = 4, mapping = { interval = "200us" } } }
"#;
    golden("ads", &format!("{LEAF_SPINE}{scheme}"));
}

#[test]
fn incast_with_losses() {
    golden(
        "incast",
        r#"
seed = 3
[topology]
kind = "star"
senders = 16
host_rate = "10Gbps"
base_rtt = "16us"
[traffic]
load = 0.4
flows = 320
pattern = { kind = "incast", fanin = 16, query_size = "800KB" }
[scheme]
preset = "tcp"
transport = { min_rto = "200us" }
port = { buffer = "40pkt" }
[measure]
fct_ends = "ack"
"#,
    );
}

#[test]
fn fat_tree_with_spraying() {
    golden(
        "fat-tree",
        r#"
seed = 5
[topology]
kind = "fat-tree"
k = 4
host_rate = "25Gbps"
link_delay = "500ns"
[traffic]
workload = "imc10"
load = 0.7
flows = 985
[scheme]
preset = "pfabric"
routing = "spray-round-robin"
[measure]
warmup = "100us"
"#,
    );
}

/// swp's bottleneck, smaller: 100 Gbps, 10 us, bursty arrivals.
const BOTTLENECK: &str = r#"
seed = 11
[packet]
payload = "1000B"
header = "48B"
ack = "60B"
[topology]
kind = "star"
senders = 16
host_rate = "100Gbps"
base_rtt = { value = "10us", includes = "propagation" }
[traffic]
workload = "websearch_bytes"
load = 0.6
load_counts = "payload"
arrivals = { kind = "lognormal", sigma = 2.0 }
flows = 300
[measure]
fct_ends = "ack"
"#;

#[test]
fn dctcp_on_a_rate() {
    golden(
        "dctcp-rate",
        &format!("{BOTTLENECK}\n[scheme]\npreset = \"dctcp-rate\""),
    );
}

#[test]
fn hpcc() {
    golden(
        "hpcc",
        &format!("{BOTTLENECK}\n[scheme]\npreset = \"hpcc\""),
    );
}

#[test]
fn weighted_classes() {
    let scheme = r#"
[[traffic.classes]]
class = "small"
workload = "google_rpc"
share = 1
[[traffic.classes]]
class = "large"
share = 200
[scheme]
preset = "dctcp-rate"
port = { discipline = { kind = "wfq", weights = [1, 2], inside = "fq" } }
nic = { discipline = "fifo" }
shaper = { rate = "50Gbps", bucket = "200KB" }
"#;
    let scenario = BOTTLENECK.replace("[measure]\nfct_ends = \"ack\"\n", "");
    golden("weighted-classes", &format!("{scenario}{scheme}"));
}
