//! A handful of flows, one by one.

use serde_json::{Value, json};

use crate::common::{Folder, US, generated, play, star, try_run};
use crate::{leaf_spine, mean, on, slowdowns, web_search};

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

/// A fluid's queue has half a packet more of each sender than has come whole with packets: so much later a small flow is at most.
#[test]
fn a_small_flow_behind_a_standing_queue_is_late_by_packets_that_have_not_come_whole() {
    const PACKET_US: f64 = 0.832;
    for senders in [2_u32, 3] {
        let scheme = json!({"preset": "dctcp-rate", "port": {"ecn_threshold": "1MB"}});
        let mut scenario = star(5, scheme);
        scenario["topology"]["link_delay"] = json!("50us");
        let late = |scenario: &Value| {
            let late = (0..40).map(|nth| {
                let large = (0..senders).map(|host| (0, host, 4, 100_000));
                let mut flows: Vec<_> = large.collect();
                flows.push((30 * US + nth * 137_000, 3, 4, 1_000));
                let run = play(scenario.clone(), &flows);
                let small = &run.flows[senders as usize];
                (small.fct - small.ideal) as f64 / 1e6
            });
            mean(&late.collect::<Vec<f64>>())
        };
        let packets = late(&on("packet", &scenario));
        scenario["engine"] = json!({"kind": "fluid", "step": "4us"});
        let fluid = late(&scenario);
        println!("{senders} senders: {fluid:.2} us late, with packets {packets:.2} us");
        let halves = (fluid - packets) / PACKET_US / 0.5;
        assert!(
            (-0.5..f64::from(senders) + 0.5).contains(&halves),
            "{halves}"
        );
    }
}

/// A small flow shares its NIC from when it starts, be that in the middle of a step: with a large flow that fills the NIC, or half of
/// it, since one of another sender meets it at the receiver.
#[test]
fn who_starts_within_a_step_shares_its_nic_from_then_on() {
    let alone = vec![(0, 0, 1, 30_000_000)];
    let met = vec![(0, 0, 1, 30_000_000), (0, 4, 1, 30_000_000)];
    // Beside half of a NIC's rate packets of the two come in an order that short steps do not know.
    let cases: [(_, &[_], _); 2] = [
        (alone, &["1rtt", "0.5rtt", "0.25rtt", "0.125rtt"], 0.1),
        (met, &["1rtt"], 0.4),
    ];
    for (large, steps, most) in cases {
        let before = large.len();
        let mut flows = large;
        flows.extend((0..200).map(|nth| {
            let start = 100 * US + nth * 97_300_000;
            (start, 0, 2 + nth as u32 % 2, 5_000)
        }));
        let late = |scenario| {
            let run = play(scenario, &flows);
            let late = run.flows[before..].iter().map(|flow| flow.fct - flow.ideal);
            let late: Vec<f64> = late.map(|ps| ps as f64 / 1e6).collect();
            mean(&late)
        };
        let scenario = star(5, json!("dctcp-rate"));
        let packets = late(on("packet", &scenario));
        for step in steps {
            let mut scenario = scenario.clone();
            scenario["engine"] = json!({"kind": "fluid", "step": step});
            let fluid = late(scenario);
            println!(
                "{before} large, steps of {step}: {fluid:.2} us late, with packets {packets:.2} us"
            );
            assert!((fluid - packets).abs() < most, "{step}: {fluid} {packets}");
        }
    }
}

/// Windows that are paced take steps of a base RTT, or half of one under fair queueing, and all else a quarter.
#[test]
fn how_long_a_step_is_follows_from_the_scenario() {
    let ports = |discipline: Value| {
        json!({
            "preset": "dctcp-rate",
            "port": {"discipline": discipline},
            "nic": {"discipline": "fifo"},
        })
    };
    let strict = ports(json!({"kind": "strict", "classes": 2}));
    for (scheme, step) in [
        (json!("dctcp-rate"), "1rtt"),
        (ports(json!({"kind": "fq"})), "0.5rtt"),
        (strict, "0.25rtt"),
        (json!("hpcc"), "1rtt"),
        (json!("dctcp"), "0.25rtt"),
    ] {
        let mut scenario = web_search(leaf_spine(2, 2), 0.5, 40);
        scenario["scheme"] = scheme.clone();
        let derived = generated(on("fluid", &scenario));
        scenario["engine"] = json!({"kind": "fluid", "step": step});
        assert_eq!(derived.flows, generated(scenario).flows, "{scheme}");
    }
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
