//! `kind = "graph"`, and links that are absent.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{Folder, Row, US, trace, try_run};
use fctlab_fabric::prepare::prepare;
use serde_json::{Value, json};

fn link(a: &str, b: &str, rate: &str, delay: &str) -> Value {
    json!({"a": a, "b": b, "rate": rate, "delay": delay})
}

/// Two switches with two hosts each, between them two ways: over `up` and over `down`.
fn links() -> Vec<Value> {
    vec![
        link("a1", "tor-1", "10Gbps", "1us"),
        link("a2", "tor-1", "10Gbps", "1us"),
        link("b1", "tor-2", "25Gbps", "1us"),
        link("b2", "tor-2", "25Gbps", "1us"),
        link("tor-1", "up", "40Gbps", "2us"),
        link("tor-2", "up", "40Gbps", "2us"),
    ]
}

fn scenario(topology: Value) -> Value {
    json!({
        "topology": topology,
        "traffic": {"workload": {"kind": "fixed", "size": "1460B"}, "load": 0.3, "flows": 200},
        "scheme": "dctcp",
    })
}

fn graph(links: &[Value]) -> Value {
    json!({"kind": "graph", "links": links})
}

/// The flows of this scenario, or what is wrong with it.
fn run(scenario: Value) -> Result<Vec<Row>, String> {
    try_run(scenario, Path::new("/")).map(|played| played.flows)
}

fn error(topology: Value) -> String {
    run(scenario(topology)).unwrap_err()
}

/// One packet of 1500 B alone: each link its own time and delay.
#[test]
fn rates_and_delays_are_those_of_the_links() {
    let folder = Folder::new();
    folder.write(
        "flows.csv",
        &trace(&[
            (0, 0, 2, 1460),
            (50 * US, 0, 1, 1460),
            (90 * US, 2, 3, 1460),
        ]),
    );
    let mut alone = scenario(graph(&links()));
    alone["traffic"] = json!({"trace": "flows.csv"});
    let flows = try_run(alone, folder.path()).unwrap().flows;
    // 1500 B take 1.2 us at 10 Gbps, 0.48 us at 25, 0.3 us at 40.
    assert_eq!(flows[0].fct, 1_200_000 + 2 * 300_000 + 480_000 + 6 * US);
    assert_eq!(flows[1].fct, 2 * 1_200_000 + 2 * US);
    assert_eq!(flows[2].fct, 2 * 480_000 + 2 * US);
    assert!(flows.iter().all(|flow| flow.ideal == flow.fct), "{flows:?}");
    // The slowest pair: a packet there, 40 B back: 32 ns at 10 Gbps, 12.8 at 25, 8 at 40.
    let prepared = prepare(scenario(graph(&links())), &[], Path::new("/")).unwrap();
    let base = 1200e-9 + 2.0 * 300e-9 + 480e-9 + 32e-9 + 12.8e-9 + 2.0 * 8e-9 + 12e-6;
    assert!((prepared.scenario.base_rtt_s.unwrap() / base - 1.0).abs() < 1e-9);
}

/// A leaf-spine written as a graph is the leaf-spine, flow by flow.
#[test]
fn a_leaf_spine_as_a_graph() {
    let spec = json!({"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4,
        "host_rate": "10Gbps", "fabric_rate": "10Gbps", "link_delay": "1us"});
    let mut links = Vec::new();
    for host in 0..8 {
        links.push(link(
            &format!("h{host}"),
            &format!("leaf {}", host / 4),
            "10Gbps",
            "1us",
        ));
    }
    for (leaf, spine) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        links.push(link(
            &format!("leaf {leaf}"),
            &format!("spine {spine}"),
            "10Gbps",
            "1us",
        ));
    }
    let same = run(scenario(graph(&links))).unwrap();
    assert_eq!(run(scenario(spec.clone())).unwrap(), same);
    let csv: String = links
        .iter()
        .map(|l| {
            let cell = |key: &str| l[key].as_str().unwrap().to_owned();
            format!(
                "{},{},{},{}\n",
                cell("a"),
                cell("b"),
                cell("rate"),
                cell("delay")
            )
        })
        .collect();
    let folder = Folder::new();
    folder.write("links.csv", &format!("a,b,rate,delay\n{csv}"));
    folder.write("fabric.json", &json!({"links": links}).to_string());
    for file in ["links.csv", "fabric.json"] {
        let of_file = scenario(json!({"kind": "graph", "file": file}));
        let prepared = prepare(of_file.clone(), &[], folder.path()).unwrap();
        assert_eq!(try_run(of_file, folder.path()).unwrap().flows, same);
        // What comes out needs no file.
        let written = serde_json::to_value(&prepared.scenario).unwrap();
        assert_eq!(run(written).unwrap(), same);
    }
    // Without a spine, and with one of two links between layers gone.
    let mut down = spec;
    down["down"] = json!(["spine 1"]);
    let one = run(scenario(down.clone())).unwrap();
    assert_ne!(one, same);
    down["down"] = json!(["leaf 0 -> spine 1", "spine 1 -> leaf 1"]);
    assert_eq!(run(scenario(down)).unwrap(), one);
}

/// Five switches in a ring, a host at each: packets go the shorter way round.
#[test]
fn a_ring() {
    let mut links: Vec<Value> = (0..5)
        .map(|i| link(&format!("h{i}"), &format!("s{i}"), "10Gbps", "1us"))
        .collect();
    links.extend((0..5).map(|i| {
        link(
            &format!("s{i}"),
            &format!("s{}", (i + 1) % 5),
            "10Gbps",
            "1us",
        )
    }));
    let ideal = |flow: &Row| {
        let apart = flow.src.abs_diff(flow.dst);
        let hops = apart.min(5 - apart) + 2;
        u64::from(hops) * (1_200_000 + US)
    };
    let flows = run(scenario(graph(&links))).unwrap();
    assert_eq!(flows.len(), 200);
    assert!(flows.iter().all(|flow| flow.ideal == ideal(flow)));
    // The ports between switches are neither up nor down.
    let mut across = scenario(graph(&links));
    across["ports"] = json!({"s-across": {"discipline": "fq"}});
    assert!(run(across).is_ok());
}

#[test]
fn racks_layers_and_hosts_of_different_rates() {
    let host = |name: &str, rack: &str| json!({"name": name, "rack": rack, "address": "10.0.0.1"});
    let mut topology = graph(&links());
    topology["hosts"] = json!([
        host("a1", "x"),
        host("a2", "y"),
        host("b1", "x"),
        host("b2", "y")
    ]);
    topology["switches"] =
        json!([{"name": "tor-1"}, {"name": "tor-2"}, {"name": "up", "layer": "core"}]);
    let mut local = scenario(topology);
    local["traffic"]["pattern"] = json!({"kind": "matrix", "rack_local": 1.0});
    let prepared = prepare(local.clone(), &[], Path::new("/")).unwrap();
    let tiers: Vec<&str> = prepared
        .offered
        .iter()
        .map(|tier| tier.tier.as_str())
        .collect();
    assert_eq!(
        tiers,
        ["host -> tor", "tor -> host", "tor -> core", "core -> tor"]
    );
    // Racks are across the switches; all hosts send alike: 0.3 of (10 + 10 + 25 + 25) / 4.
    let load = 0.3 * 17.5 / 10.0 * 1540.0 / 1500.0;
    assert!(
        (prepared.offered[0].load - load).abs() < 1e-12,
        "{:?}",
        prepared.offered[0]
    );
    let flows = run(local).unwrap();
    assert!(flows.iter().all(|flow| flow.src.abs_diff(flow.dst) == 2));
}

#[test]
fn mistakes() {
    let with = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut links = links();
        change(&mut links);
        error(graph(&links))
    };
    assert_eq!(
        error(json!({"kind": "graph"})),
        "topology.links: is missing; write [[topology.links]], or `file`"
    );
    assert_eq!(
        with(&|links| links[2]["b"] = json!("tor-3")),
        "topology.links[2]: joins two hosts; a host's link is to a switch"
    );
    assert_eq!(
        with(&|links| links.push(link("up", "up", "1Gbps", "1us"))),
        "topology.links[6]: leads from \"up\" to itself"
    );
    assert_eq!(
        with(&|links| links.push(link("up", "tor-1", "1Gbps", "1us"))),
        "topology.links[6]: joins \"up\" and \"tor-1\", as links[4] does; write one with the rate of both"
    );
    assert_eq!(
        with(&|links| {
            links[4].as_object_mut().unwrap().shift_remove("delay");
        }),
        "topology.links[4].delay: is missing; write it, or topology.link_delay for all"
    );
    let mut base = graph(&links());
    base["base_rtt"] = json!("20us");
    assert_eq!(
        error(base),
        "topology.base_rtt: has no meaning where links have delays; it follows from them"
    );
    let mut hosts = graph(&links());
    hosts["hosts"] = json!([{"name": "a1"}, {"name": "a2"}, {"name": "b1"}, {"name": "b3"}]);
    let text = error(hosts.clone());
    let expected = "topology.links[3].a: \"b2\" is neither a host nor a switch; did you mean ";
    assert!(text.starts_with(expected), "{text}");
    hosts["hosts"][3]["name"] = json!("b2");
    hosts["links"]
        .as_array_mut()
        .unwrap()
        .push(link("a1", "up", "1Gbps", "1us"));
    assert_eq!(
        error(hosts.clone()),
        "topology.hosts[0]: \"a1\" has 2 links; a host has one, to a switch"
    );
    hosts["hosts"][1]["rack"] = json!("x");
    hosts["links"].as_array_mut().unwrap().pop();
    assert_eq!(
        error(hosts),
        "topology.hosts[0].rack: is missing; other hosts have one"
    );
    let down = |down: Value| {
        let mut topology = graph(&links());
        topology["down"] = down;
        error(topology)
    };
    assert_eq!(
        down(json!(["up"])),
        "topology.down: leaves no path between a1 and b1"
    );
    assert_eq!(
        down(json!(["a1 -> tor-1"])),
        "topology.down: leaves a1 without its link"
    );
    assert_eq!(
        down(json!(["tor-1 -> upp"])),
        "topology.down[0]: \"tor-1 -> upp\" is neither a link nor a switch; did you mean \"tor-1 -> up\"? a link \
         is such as \"tor-2 -> up\""
    );
    let file = |name: &str, text: &str| {
        let folder = Folder::new();
        folder.write(name, text);
        let of_file = scenario(json!({"kind": "graph", "file": name}));
        try_run(of_file, folder.path()).err().unwrap()
    };
    assert_eq!(
        file("links.csv", "from,to,rate\n"),
        "topology.file: links.csv: line 1: the columns are \"from,to,rate\"; they must be a,b,rate and may be delay"
    );
    assert_eq!(
        file("fabric.txt", ""),
        "topology.file: fabric.txt: is not a .toml, .yaml, .json or .csv file"
    );
    let text = file(
        "fabric.toml",
        "[[links]]\na = \"x\"\nb = \"y\"\nrate = \"10Gbp\"\n",
    );
    assert!(
        text.starts_with("topology.file: fabric.toml: links[0].rate: "),
        "{text}"
    );
}
