//! One fluid for all links in place of packets: the same scenarios and flows.

#![allow(clippy::unwrap_used)]

mod common;

use std::ops::Range;
use std::path::Path;

use common::{Folder, Played, US, everything, generated, play, star, trace, try_run};
use fctlab_core::random::mix;
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

/// Slow start from 10 packets on, up to what the NIC takes; below a window nothing is waited for.
#[test]
fn a_flow_of_dctcp_alone_starts_slowly() {
    for (host, sizes) in [
        ("10Gbps", [1, 9_000, 100_000, 1_000_000]),
        ("100Gbps", [1, 9_000, 100_000, 10_000_000]),
    ] {
        for size in sizes {
            let mut topology = leaf_spine(2, 1);
            topology["host_rate"] = json!(host);
            let scenario = json!({"topology": topology, "scheme": "dctcp"});
            let slowdown = |engine| {
                let run = play(on(engine, &scenario), &[(0, 0, 1, size)]);
                run.flows[0].slowdown
            };
            let [fluid, packets] = ["fluid", "packet"].map(slowdown);
            let off = fluid / packets - 1.0;
            assert!(off.abs() < 0.03, "{host} {size}: {fluid} {packets}");
        }
    }
}

/// A flow alone on links that HPCC keeps to 95%, one of which is slower than the others.
#[test]
fn a_flow_of_hpcc_alone_follows_its_slowest_link() {
    let mut topology = leaf_spine(2, 1);
    topology["fabric_rate"] = json!("5Gbps");
    for topology in [topology, leaf_spine(2, 1)] {
        let scenario = json!({"topology": topology, "scheme": "hpcc"});
        let slowdown = |engine| {
            let run = play(on(engine, &scenario), &[(0, 0, 1, 10_000_000)]);
            run.flows[0].slowdown
        };
        let [fluid, packets] = ["fluid", "packet"].map(slowdown);
        assert!((fluid / packets - 1.0).abs() < 0.01, "{fluid} {packets}");
        assert!((1.03..1.2).contains(&fluid), "{fluid}");
    }
}

#[test]
fn a_flow_alone_takes_its_ideal_time() {
    for ends in ["ack", "delivery"] {
        for size in [1, 1460, 100_000, 3_000_000] {
            let mut scenario = star(2, json!("dctcp-rate"));
            scenario["engine"] = json!("fluid");
            scenario["measure"] = json!({"fct_ends": ends});
            let run = play(scenario, &[(0, 0, 2, size)]);
            let slowdown = run.flows[0].slowdown;
            assert!((slowdown - 1.0).abs() < 1e-3, "{ends} {size}: {slowdown}");
        }
    }
}

#[test]
fn a_small_flow_waits_for_what_was_there_before_it() {
    // 100 KB come to the receiver from each of two senders at once, and nothing is heard meanwhile.
    let scheme = json!({"preset": "dctcp-rate", "port": {"ecn_threshold": "1MB"}});
    let mut scenario = star(3, scheme);
    scenario["topology"]["link_delay"] = json!("50us");
    scenario["engine"] = json!({"kind": "fluid", "step": "4us"});
    let flows = [
        (0, 0, 3, 100_000),
        (0, 1, 3, 100_000),
        (40 * US, 2, 3, 1_000),
    ];
    let run = play(scenario, &flows);
    let waits = |flow: usize| (run.flows[flow].fct - run.flows[flow].ideal) as f64 / 1e6;
    // A packet of 0.83 us is there after 40.83 us: as much waits as came beyond what was sent, itself included.
    assert!((waits(2) - 41.7).abs() < 0.5, "{}", waits(2));
    // Of the others the last bytes leave when all three have: 82.2 us later, and the packet.
    // Its step is not over then, and of others' bytes in it those count that came until then, as if they came evenly.
    assert!((waits(0) - 83.0).abs() < 1.5, "{}", waits(0));
}

#[test]
fn the_same_scenario_gives_the_same_flows() {
    let scenario = on("fluid", &web_search(leaf_spine(3, 4), 0.6, 1_000));
    assert_eq!(generated(scenario.clone()).flows, generated(scenario).flows);
}

#[test]
fn the_last_byte_of_a_flow_is_not_behind_what_never_comes() {
    // One of these flows ends with the last byte of a step and of its queue, where sums differ in the last digit.
    let fixed = |class: &str, size: &str| json!({"class": class, "workload": {"kind": "fixed", "size": size}, "share": 1});
    let played = generated(json!({
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate": "10Gbps",
            "fabric_rate": "20Gbps", "base_rtt": "20us",
        },
        "traffic": {"load": 0.5, "flows": 8000, "classes": [fixed("rpc", "20KB"), fixed("bulk", "60KB")]},
        "scheme": {
            "preset": "dctcp-rate", "port": {"discipline": {"kind": "wfq", "weights": [3, 1]}},
        },
        "measure": {"max_time": "1s"},
        "engine": "fluid",
        "seed": 1001,
    }));
    assert!(played.flows.iter().all(|flow| flow.finished));
}

/// Under strict priority the lower class is less near where windows are not paced.
#[test]
fn classes_are_served_by_their_weights_or_in_their_order() {
    let strict = json!({"kind": "strict", "classes": 2});
    let wfq = json!({"kind": "wfq", "weights": [4, 1]});
    let near = (0.05, 0.15);
    let cases = [
        ("dctcp-rate", wfq.clone(), near),
        ("dctcp", strict.clone(), (0.15, 0.25)),
        ("dctcp-rate", strict, near),
        (
            "dctcp-rate",
            json!({"kind": "drr", "weights": [1, 3]}),
            near,
        ),
        (
            "dctcp-rate",
            json!({"kind": "wfq", "weights": [4, 1], "inside": "fq"}),
            near,
        ),
        (
            "dctcp-rate",
            json!({"kind": "strict", "classes": 2, "inside": "fq"}),
            near,
        ),
        ("dctcp", wfq, near),
    ];
    let usual = if everything() { cases.len() } else { 3 };
    for (scheme, discipline, most_of_lower) in cases.into_iter().take(usual) {
        let mut scenario = web_search(leaf_spine(4, 8), 0.5, 4_000);
        scenario["traffic"]["classes"] = json!([
            {"class": "a", "share": 0.5},
            {"class": "b", "share": 0.5},
        ]);
        scenario["scheme"] = json!({"preset": scheme,
            "port": {"discipline": discipline, "buffer": "1GB"}, "nic": {"discipline": "fifo"}});
        let [fluid, packets] = ["fluid", "packet"].map(|engine| generated(on(engine, &scenario)));
        for (class, most) in [("a", near), ("b", most_of_lower)] {
            let of = |run: &Played| {
                let rows = run.summary.iter();
                let mut rows = rows.filter(|r| r.traffic_class == class && r.class == "all");
                let row = rows.next().unwrap();
                (row.avg_slowdown, row.p99_slowdown)
            };
            let ((mean, tail), (means, tails)) = (of(&fluid), of(&packets));
            println!(
                "{scheme} {discipline} {class}: mean {means:.2} {:+.1}%, p99 {tails:.2} {:+.1}%",
                100.0 * (mean / means - 1.0),
                100.0 * (tail / tails - 1.0)
            );
            assert!(
                (mean / means - 1.0).abs() < most.0,
                "{scheme} {discipline} {class}"
            );
            assert!(
                (tail / tails - 1.0).abs() < most.1,
                "{scheme} {discipline} {class}"
            );
        }
    }
}

/// A class below one whose flow sends as fast as its link lives on what that flow loses: its window is paced, so on nearly the
/// longest wait of its packets and ACKs per round trip. On average they wait a fraction of that.
#[test]
fn a_class_below_lives_on_what_a_paced_window_loses() {
    let (first, second) = (1..8, 9..16);
    let elsewhere = || 16..24;
    for (name, senders, receivers) in [
        ("data meets others", first.clone(), second.clone()),
        ("ACKs meet others", second, first),
        ("the receiver sends", 8..9, elsewhere()),
    ] {
        let takes = ["fluid", "packet"].map(|engine| {
            let of = |seed| time_of_the_class_below(engine, seed, &senders, &receivers);
            (1..=8).map(of).sum::<f64>() / 8.0
        });
        let off = takes[0] / takes[1] - 1.0;
        println!("{name}: {:.0} us, fluid {:+.0}%", takes[1], 100.0 * off);
        assert!(off.abs() < 0.4, "{name}: {takes:?}");
    }
}

/// What a flow of 20 KB takes to host 8, in us, while another class's from host 0 has all of its link, and `senders` send as
/// much as half of their links takes to `receivers`, in flows of 20 KB.
fn time_of_the_class_below(
    engine: &str,
    seed: u64,
    senders: &Range<u64>,
    receivers: &Range<u64>,
) -> f64 {
    let mut random = seed;
    let mut next = || {
        random = mix(random);
        random
    };
    let mut rows = vec![(0.0, 0, 8, 20_000_000, "a"), (5e-4, 1, 8, 20_000, "b")];
    for sender in senders.clone() {
        let mut start = 0.0;
        while start < 5e-3 {
            let uniform = (next() >> 11) as f64 / (1u64 << 53) as f64;
            start -= 33.5e-6 * (1.0 - uniform).ln();
            let count = receivers.end - receivers.start;
            rows.push((start, sender, receivers.start + next() % count, 20_000, "a"));
        }
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let rows = rows
        .iter()
        .map(|(start, src, dst, size, class)| format!("{start:.12},{src},{dst},{size},{class}\n"));
    let folder = Folder::new();
    let text = rows.collect::<String>();
    folder.write(
        "flows.csv",
        &format!("start_s,src,dst,size_bytes,class\n{text}"),
    );
    let scenario = json!({
        "packet": {"payload": "1000B", "header": "48B", "ack": "60B"},
        "topology": leaf_spine(3, 8),
        "traffic": {"trace": "flows.csv", "classes": [{"class": "a"}, {"class": "b"}]},
        "scheme": {"preset": "dctcp-rate", "nic": {"discipline": "fifo"},
            "port": {"discipline": {"kind": "strict", "classes": 2}, "buffer": "1GB"}},
    });
    let run = try_run(on(engine, &scenario), folder.path()).unwrap();
    let below = run.flows.iter().find(|f| (f.src, f.dst) == (1, 8));
    below.unwrap().fct as f64 / 1e6
}

/// Packets of flows that start together come to a queue in turns, so that marks meet some of them and not others. If all heard
/// the same they would leave the link to those that were there before.
#[test]
fn flows_that_start_together_do_not_hear_the_same_marks() {
    let starts = (0..6).flat_map(|query| {
        let at = 0.05 * f64::from(query);
        // Eight large flows to host 0, and sixteen more once those share its link.
        let flow = move |(src, start, size)| format!("{start},{src},0,{size}\n");
        let before = (24..32).map(move |src| (src, at, 3_000_000));
        let together = (8..24).map(move |src| (src, at + 0.003, 200_000));
        before.chain(together).map(flow)
    });
    let text = starts.collect::<String>();
    let folder = Folder::new();
    folder.write("flows.csv", &format!("start_s,src,dst,size_bytes\n{text}"));
    let scenario = json!({
        "packet": {"payload": "1000B", "header": "48B", "ack": "60B"},
        "topology": leaf_spine(4, 8),
        "traffic": {"trace": "flows.csv"},
        "scheme": "dctcp-rate",
    });
    let [fluid, packets] = ["fluid", "packet"].map(|engine| {
        let run = try_run(on(engine, &scenario), folder.path()).unwrap();
        mean(&slowdowns(&run, (0, 1_000_000)))
    });
    let off = fluid / packets - 1.0;
    println!("{packets:.1}, fluid {:+.1}%", 100.0 * off);
    assert!(off.abs() < 0.06, "{fluid} {packets}");
}

/// A flow whose packets are spaced has none there when its last one has left: at a NIC that divides its rate among classes
/// it takes every other turn at most while others wait, whatever it weighs. One that is not spaced has its share.
#[test]
fn a_flow_alone_in_its_class_may_lose_its_turn() {
    for (scheme, expected) in [
        ("dctcp-rate", [2.0, 8.0 / 3.0, 3.0]),
        ("dctcp", [1.75, 2.5, 3.0]),
    ] {
        let folder = Folder::new();
        let rows = [("a", 2), ("b", 3), ("c", 2)];
        let rows = rows.map(|(class, to)| format!("0,0,{to},10000000,{class}\n"));
        let text = format!("start_s,src,dst,size_bytes,class\n{}", rows.concat());
        folder.write("flows.csv", &text);
        let scenario = json!({
            "topology": leaf_spine(2, 2),
            "traffic": {"trace": "flows.csv"},
            "scheme": {"preset": scheme, "port": {"discipline": "fifo", "buffer": "1GB"},
                "nic": {"discipline": {"kind": "wfq", "weights": [4, 2, 1]}}},
        });
        for engine in ["fluid", "packet"] {
            let run = try_run(on(engine, &scenario), folder.path()).unwrap();
            for (flow, expected) in run.flows.iter().zip(expected) {
                let off = flow.slowdown / expected - 1.0;
                assert!(off.abs() < 0.01, "{scheme} {engine}: {}", flow.slowdown);
            }
        }
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

#[test]
fn what_a_fluid_cannot_know_is_refused_by_name() {
    let error = |change: &dyn Fn(&mut Value)| {
        let mut scenario = on("fluid", &web_search(leaf_spine(2, 2), 0.5, 10));
        change(&mut scenario);
        try_run(scenario, Path::new("/")).err().unwrap()
    };
    let set = |path: &[&str], value: Value| {
        error(&|scenario| {
            let mut here = &mut *scenario;
            for key in path {
                here = &mut here[*key];
            }
            *here = value.clone();
        })
    };
    let or_packets = ", or run the scenario with engine = \"packet\"";
    for (path, value, expected) in [
        (
            vec!["scheme"],
            json!("tcp"),
            "scheme.transport.kind: the fluid has no tcp; take dctcp, dctcp-rate or hpcc",
        ),
        (
            vec!["scheme"],
            json!({"preset": "hpcc", "transport": {"max_stage": 5}}),
            "scheme.transport.max_stage: the fluid knows only what the preset says here; remove it",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp-rate", "routing": "spray-random"}),
            "scheme.routing: the fluid has one path for each flow, and spray-random has several; take ecmp",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp-rate", "port": {"discipline": "srpt"}}),
            "scheme.port.discipline: the fluid has no srpt; take fifo, fq, strict, wrr, drr or wfq",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp-rate", "port": {"ecn_at": "enqueue"}}),
            "scheme.port.ecn_at: the fluid knows only what the preset says here; remove it",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp-rate", "transport": {"initial_alpha": 0.0}}),
            "scheme.transport.initial_alpha: the fluid knows only what the preset says here; remove it",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp-rate", "port": {"discipline": {"kind": "strict", "classes": 2}}}),
            "scheme.nic.discipline: the fluid's flows take turns at their NICs; write fifo, fq or wfq there",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp", "nic": {"per_flow_limit": "none"}}),
            "scheme.nic.per_flow_limit: the fluid knows only what the preset says here; remove it",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp", "transport": {"ack_every": 2}}),
            "scheme.transport.ack_every: the fluid knows only what the preset says here; remove it",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp", "transport": {"echoes": "grow"}}),
            "scheme.transport.echoes: windows of the fluid do not grow with marks; write \"hold\"",
        ),
        (
            vec!["scheme"],
            json!({"preset": "dctcp", "port": {"ecn_at": "departures"}}),
            "scheme.port.ecn_at: the fluid marks by what waits; write \"enqueue\" or \"dequeue\"",
        ),
        (
            vec!["traffic", "spacing"],
            json!(1.0),
            "traffic.spacing: the fluid's flows have all their bytes at once; remove it",
        ),
        (
            vec!["measure"],
            json!({"extras": ["jain"]}),
            "measure.extras: the fluid knows of \"queries\" and \"waits\" only; remove the others",
        ),
    ] {
        assert_eq!(set(&path, value), format!("{expected}{or_packets}"));
    }
    assert_eq!(
        set(&["engine"], json!({"kind": "fluid", "step": "1rtt"})),
        "engine.step: 1rtt is not in (0, 0.5rtt]"
    );
}

#[test]
fn a_buffer_that_is_full_ends_the_run() {
    let mut scenario = star(
        8,
        json!({"preset": "dctcp-rate", "port": {"buffer": "30KB"}}),
    );
    scenario["engine"] = json!("fluid");
    let folder = Folder::new();
    let flows: Vec<_> = (0..8).map(|sender| (0, sender, 8, 100_000)).collect();
    folder.write("flows.csv", &trace(&flows));
    scenario["traffic"] = json!({"trace": "flows.csv"});
    let text = try_run(scenario, folder.path()).err().unwrap();
    assert!(
        text.starts_with("scheme.port.buffer: is full at switch -> host 8"),
        "{text}"
    );
}
