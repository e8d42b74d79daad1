//! One run on several threads: byte for byte what it is on one.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use common::{Folder, on_threads, toml};
use serde_json::{Value, json};

const LEAF_SPINE: &str = r#"
seed = 3
topology = { kind = "leaf-spine", leaves = 4, spines = 3, hosts_per_leaf = 4, host_rate = "10Gbps", fabric_rate = "10Gbps", link_delay = "3us" }
traffic = { workload = "cache", load = 0.7, flows = 600 }
scheme = "dctcp"
"#;

const FAT_TREE: &str = r#"
topology = { kind = "fat-tree", k = 4, host_rate = "10Gbps", link_delay = "2us" }
traffic = { workload = "cache", load = 0.5, flows = 500 }
scheme = "pfabric"
"#;

/// Runs a scenario on one thread, on two and on four.
fn same(scenario: &Value) {
    same_on(&[2, 4], scenario);
}

/// Runs a scenario on one thread, and on so many.
fn same_on(several: &[u32], scenario: &Value) {
    // One at a time: threads that wait for each other need their cores.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Folder::new();
    let alone = on_threads(1, scenario.clone(), folder.path()).unwrap();
    for &threads in several {
        let found = on_threads(threads, scenario.clone(), folder.path()).unwrap();
        assert_eq!(found.perf.threads, threads);
        assert_eq!(found.counters, alone.counters, "{threads} threads");
        assert_eq!(found.flows, alone.flows, "{threads} threads");
        assert_eq!(found.perf.simulated_s, alone.perf.simulated_s);
        assert_eq!(json!(found.summary), json!(alone.summary));
        assert_eq!(json!(found.extras), json!(alone.extras));
    }
}

fn with(text: &str, keys: Value) -> Value {
    let mut scenario = toml(text);
    for (key, value) in keys.as_object().unwrap() {
        scenario[key] = value.clone();
    }
    scenario
}

#[test]
fn every_kind_of_port() {
    for scheme in [
        "dctcp", "pfabric", "pias", "las", "ads", "l2dct", "fq", "ascc", "awafs", "tcp",
    ] {
        same_on(&[2], &with(LEAF_SPINE, json!({"scheme": scheme})));
    }
}

#[test]
fn every_routing_rule() {
    for routing in ["ecmp", "spray-random", "spray-round-robin"] {
        let scheme = json!({"preset": "dctcp", "routing": routing});
        same(&with(FAT_TREE, json!({"scheme": scheme})));
    }
    same(&toml(FAT_TREE));
}

/// Buffers of a few packets: drops wherever packets are, timeouts, flows whose last packet dies elsewhere.
#[test]
fn losses() {
    let traffic = json!({"workload": "websearch", "load": 0.7, "flows": 60});
    for preset in ["dctcp", "pfabric"] {
        let scheme = json!({"preset": preset, "port": {"buffer": "6pkt"}});
        same(&with(
            LEAF_SPINE,
            json!({"traffic": traffic, "scheme": scheme}),
        ));
    }
}

#[test]
fn every_end() {
    let measure = |measure: Value| with(LEAF_SPINE, json!({"measure": measure}));
    same(&measure(json!({"max_time": "700us"})));
    same(&measure(json!({"fct_ends": "ack"})));
    same(&measure(
        json!({"warmup": "100us", "window": "300us", "stop": "measured"}),
    ));
    let ack = json!({"warmup": "100us", "window": "200us", "stop": "measured", "fct_ends": "ack"});
    same(&measure(ack));
}

/// Connections that stay, marks at dequeue, links of which less is available at times, a switch without hosts.
#[test]
fn what_few_runs_have() {
    let scheme = json!({"preset": "pias-ns2"});
    same(&with(LEAF_SPINE, json!({"scheme": scheme})));
    let at_dequeue = json!({"preset": "dctcp", "port": {"ecn_at": "dequeue"}});
    same(&with(LEAF_SPINE, json!({"scheme": at_dequeue})));
    let changes = json!([{"at": "100us", "rate": "2Gbps"}, {"at": "400us", "rate": "10Gbps"}]);
    let less = json!([{"links": ["leaf 0 -> spine 1", "host 5 -> leaf 1"], "changes": changes}]);
    same(&with(LEAF_SPINE, json!({"capacity": less})));
    let mut down = toml(LEAF_SPINE);
    down["topology"]["down"] = json!(["spine 2"]);
    down["traffic"]["load"] = json!(0.4);
    same(&down);
}

#[test]
fn one_thread_where_there_can_be_no_more() {
    let threads = |scenario: &Value| {
        let found = on_threads(4, scenario.clone(), Path::new("/")).unwrap();
        found.perf.threads
    };
    let star = json!({"kind": "star", "senders": 8, "host_rate": "10Gbps", "link_delay": "1us"});
    let few = json!({"workload": "cache", "load": 0.3, "flows": 20});
    assert_eq!(
        threads(&with(LEAF_SPINE, json!({"topology": star, "traffic": few}))),
        1
    );
    assert_eq!(
        threads(&with(LEAF_SPINE, json!({"scheme": "hpcc", "traffic": few}))),
        1
    );
    assert_eq!(
        threads(&with(LEAF_SPINE, json!({"measure": {"extras": ["jain"]}}))),
        1
    );
    assert_eq!(
        threads(&with(
            LEAF_SPINE,
            json!({"measure": {"extras": ["queries"]}})
        )),
        4
    );
}
