//! Flows by size, beside packets.

use serde_json::{Value, json};

use crate::common::{Played, everything, generated};
use crate::{leaf_spine, mean, on, slowdowns, tail, web_search};

const SIZES: [(u64, u64); 5] = [
    (0, 10_000),
    (10_000, 100_000),
    (100_000, 1_000_000),
    (1_000_000, u64::MAX),
    (0, u64::MAX),
];

/// Runs a scenario in both engines; for each of [`SIZES`] by how much means of the fluid may be off, and between what tails
/// have to be.
fn compare(name: &str, scenario: &Value, most: [(f64, (f64, f64)); 5]) -> [Played; 2] {
    let both = ["fluid", "packet"].map(|engine| generated(on(engine, scenario)));
    for (sizes, (most_of_mean, most_of_tail)) in SIZES.into_iter().zip(most) {
        let [a, b] = both.each_ref().map(|run| slowdowns(run, sizes));
        let means = mean(&a) / mean(&b) - 1.0;
        let tails = tail(&a) / tail(&b) - 1.0;
        println!(
            "{name} {sizes:?}, {} flows: mean {:+.1}%, tail {:+.1}%",
            a.len(),
            means * 100.0,
            tails * 100.0
        );
        assert!(means.abs() < most_of_mean, "{name} {sizes:?}: mean {means}");
        let (low, high) = most_of_tail;
        assert!(
            (low..high).contains(&tails),
            "{name} {sizes:?}: tail {tails}"
        );
    }
    both
}

/// Web search on links of `host` and `fabric`.
fn under(scheme: Value, (host, fabric): (&str, &str), load: f64, flows: u64) -> Value {
    let mut topology = leaf_spine(4, 8);
    topology["host_rate"] = json!(host);
    topology["fabric_rate"] = json!(fabric);
    let mut scenario = web_search(topology, load, flows);
    scenario["scheme"] = scheme;
    scenario
}

/// The bars are for cells of a thousand flows and more; these are small, and so what can be told of them is less.
#[test]
fn flows_take_as_long_as_with_packets() {
    let star = json!({"kind": "star", "senders": 8, "host_rate": "10Gbps", "base_rtt": "20us"});
    for (name, topology, load) in [
        ("star", star, 0.6),
        ("leaf-spine", leaf_spine(4, 8), 0.5),
        ("2:1", leaf_spine(2, 16), 0.4),
    ] {
        let scenario = web_search(topology, load, 3_000);
        let [fluid, packets] = compare(name, &scenario, [(0.05, (-0.15, 0.15)); 5]);
        for (a, b) in fluid.flows.iter().zip(&packets.flows) {
            assert_eq!((a.flow, a.src, a.dst), (b.flow, b.src, b.dst));
            assert_eq!((a.size, a.start, a.ideal), (b.size, b.start, b.ideal));
        }
        assert_eq!(fluid.counters.packet_hops, 0);
    }
}

/// Windows that follow the load of the busiest link: on average as with packets. With them flows that are ahead stay
/// ahead, and with packets by more: the tail of large flows is shorter here.
#[test]
fn flows_of_hpcc_take_as_long_as_with_packets() {
    for (links, load) in [(("10Gbps", "40Gbps"), 0.5), (("100Gbps", "400Gbps"), 0.7)] {
        let mut most = [(0.075, (-0.15, 0.15)); 5];
        most[3].1.0 = -0.30;
        let scenario = under(json!("hpcc"), links, load, 3_000);
        compare(links.0, &scenario, most);
    }
}

/// Windows that are not paced: slow start, marks at enqueue, and trains of packets that meet. Small flows lose some of their
/// waits.
#[test]
fn flows_of_dctcp_take_as_long_as_with_packets() {
    for (links, load) in [(("10Gbps", "40Gbps"), 0.5), (("100Gbps", "400Gbps"), 0.6)] {
        let scheme = json!({"preset": "dctcp", "port": {"buffer": "10MB"}});
        compare(
            links.0,
            &under(scheme, links, load, 4_000),
            [(0.075, (-0.15, 0.15)); 5],
        );
    }
}

/// Flows that do not wait for each other, whatever bounds their windows.
#[test]
fn flows_of_a_fair_port_do_not_wait_for_each_other() {
    let cases = [
        ("dctcp-rate", 0.7, 0.05),
        ("dctcp", 0.5, 0.06),
        ("dctcp-rate", 0.3, 0.05),
        ("hpcc", 0.5, 0.06),
    ];
    let usual = if everything() { cases.len() } else { 2 };
    for (scheme, load, most) in cases.into_iter().take(usual) {
        let mut scenario = web_search(leaf_spine(4, 8), load, 4_000);
        scenario["scheme"] = json!({"preset": scheme,
            "port": {"discipline": "fq", "buffer": "1GB"}, "nic": {"discipline": "fifo"}});
        let within = (-0.15, 0.15);
        let most = [(most, within); 5];
        compare(&format!("{scheme}, fair, {load}"), &scenario, most);
    }
}
