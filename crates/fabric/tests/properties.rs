//! Properties of whole runs, for random small scenarios.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Played, generated};
use proptest::prelude::*;
use serde_json::{Value, json};

fn topology() -> impl Strategy<Value = Value> {
    let delay = prop_oneof![
        Just(json!({"base_rtt": "16us"})),
        Just(json!({"base_rtt": {"value": "10us", "includes": "propagation"}})),
        Just(json!({"link_delay": "0us"})),
        Just(json!({"link_delay": "700ns", "host_delay": "3us"})),
    ];
    let rate = prop::sample::select(vec!["1Gbps", "3Gbps", "10Gbps", "40Gbps"]);
    let kind = prop_oneof![
        (1u32..4, 1u32..4, 1u32..4, rate.clone()).prop_map(|(leaves, spines, hosts, fabric)| json!({
            "kind": "leaf-spine", "leaves": leaves, "spines": spines,
            "hosts_per_leaf": if leaves == 1 { hosts + 1 } else { hosts },
            "host_rate": "10Gbps", "fabric_rate": fabric,
        })),
        (1u32..6, rate).prop_map(|(senders, bottleneck)| json!({
            "kind": "star", "senders": senders, "host_rate": "10Gbps", "bottleneck_rate": bottleneck,
        })),
        Just(json!({"kind": "fat-tree", "k": 4, "host_rate": "10Gbps"})),
    ];
    (kind, delay).prop_map(|(mut kind, delay)| {
        // Transmissions alone take more than 16 us at 1 and 3 Gbps.
        let slow = kind["fabric_rate"] == "1Gbps"
            || kind["bottleneck_rate"] == "1Gbps"
            || kind["fabric_rate"] == "3Gbps"
            || kind["bottleneck_rate"] == "3Gbps";
        let delay = if slow {
            json!({"base_rtt": "60us"})
        } else {
            delay
        };
        kind.as_object_mut()
            .unwrap()
            .extend(delay.as_object().unwrap().clone());
        kind
    })
}

fn traffic() -> impl Strategy<Value = Value> {
    let sizes = prop_oneof![
        Just(json!("imc10")),
        Just(json!({"kind": "uniform", "sizes": ["1B", "1459B", "1461B", "3KB", "50KB"]})),
        Just(json!({"kind": "bimodal", "small": "2KB", "large": "200KB"})),
        Just(json!({"kind": "fixed", "size": "14600B"})),
    ];
    let arrivals = prop::sample::select(vec!["poisson", "lognormal"]);
    let spacing = prop::sample::select(vec![0.0, 0.0, 0.7, 2.0]);
    (sizes, arrivals, 0.1f64..0.95, 1u64..40, spacing).prop_map(
        |(workload, arrivals, load, flows, spacing)| {
            json!({
                "workload": workload, "arrivals": arrivals, "load": load, "overload": true, "flows": flows,
                "spacing": spacing,
            })
        },
    )
}

fn port() -> impl Strategy<Value = Value> {
    let discipline = prop_oneof![
        Just(json!("fifo")),
        Just(json!("srpt")),
        Just(json!({"kind": "srpt", "starvation_prevention": false})),
        Just(json!({"kind": "priority", "thresholds": [1460, 10000, 60000]})),
        Just(json!("fq")),
        Just(json!("ascc")),
        Just(json!({"kind": "awafs", "interval": "100us", "window": "1ms"})),
        Just(json!({"kind": "wrr", "weights": [2, 1]})),
        Just(json!({"kind": "drr", "weights": [2, 1], "inside": "fq"})),
        Just(json!({"kind": "wfq", "weights": [2, 1], "inside": "fq"})),
        Just(json!({"kind": "strict", "classes": 1, "inside": "fq"})),
        Just(
            json!({"kind": "mapped", "queues": 3, "mapping": {"interval": "50us", "kind": "dynamic"}})
        ),
    ];
    let buffer = prop::sample::select(vec!["1pkt", "4pkt", "24pkt", "500KB"]);
    let threshold = prop::sample::select(vec!["none", "2pkt", "15pkt"]);
    let scope = prop::sample::select(vec!["port", "queue"]);
    let at = prop::sample::select(vec!["enqueue", "dequeue", "departures"]);
    (discipline, buffer, threshold, scope, at, any::<bool>()).prop_map(
        |(discipline, buffer, threshold, scope, at, evicts)| {
            let scope = if at == "departures" { "port" } else { scope };
            let by_class = !(discipline["weights"].is_null() && discipline["classes"].is_null());
            let evicts = evicts && discipline != "fifo" && !by_class;
            let policy = if discipline == "fq" {
                "longest-queue"
            } else {
                "lowest-priority"
            };
            json!({
                "discipline": discipline, "buffer": buffer, "ecn_threshold": threshold,
                "ecn_scope": scope, "ecn_at": at,
                "drop": if evicts { policy } else { "tail" },
            })
        },
    )
}

fn scheme() -> impl Strategy<Value = Value> {
    let transport = prop::sample::select(vec![
        "tcp",
        "dctcp",
        "mintcp",
        "l2dct",
        "ascc",
        "dctcp-rate",
        "hpcc",
    ]);
    let window = prop::sample::select(vec!["1pkt", "10pkt", "1bdp", "70pkt"]);
    let tagger = prop::sample::select(vec![
        "none",
        "remaining",
        "size",
        "sent",
        "outstanding",
        "complete",
    ]);
    let routing = prop::sample::select(vec!["ecmp", "spray-random", "spray-round-robin"]);
    let limit = prop_oneof![Just(json!(1)), Just(json!(4)), Just(json!("none"))];
    let shaper = prop::option::of(prop_oneof![
        Just(json!({"rate": "2Gbps", "bucket": "1pkt"})),
        Just(json!({"rate": "9Gbps", "bucket": "30KB", "per": "class"})),
    ]);
    let every = prop::sample::select(vec![1, 1, 2, 5]);
    let hosts = (limit, shaper, every);
    (transport, window, tagger, routing, port(), hosts).prop_map(
        |(transport, window, tagger, routing, port, (limit, shaper, every))| {
            // Fixed timers that expire while packets wait for the bucket fill its
            // queue without end, unless few packets of a flow may wait there.
            let endless = transport == "mintcp" && shaper.is_some() && limit == "none";
            let limit = if endless { json!(4) } else { limit };
            // More than a BDP is refused there.
            let window = if transport == "hpcc" { "1bdp" } else { window };
            let every = if transport == "hpcc" { 1 } else { every };
            let paced = transport == "hpcc" || transport == "dctcp-rate";
            let growth = if paced || every < 3 {
                json!(1)
            } else {
                json!("none")
            };
            let mapped = port["discipline"]["kind"] == "mapped";
            let tagger = if mapped { "outstanding" } else { tagger };
            let mut scheme = json!({
                "transport": {
                    "kind": transport, "initial_window": window, "min_rto": "5rtt",
                    "ack_every": every, "ack_delay": "30us", "abc_limit": growth,
                },
                "tagger": tagger, "routing": routing, "port": port,
                "nic": {"per_flow_limit": limit},
            });
            if let Some(shaper) = shaper {
                scheme["shaper"] = shaper;
            }
            scheme
        },
    )
}

fn scenario() -> impl Strategy<Value = Value> {
    let ends = prop::sample::select(vec!["delivery", "ack"]);
    (topology(), traffic(), scheme(), ends, any::<u16>()).prop_map(
        |(topology, traffic, scheme, ends, seed)| {
            json!({
                "seed": seed, "topology": topology, "traffic": traffic, "scheme": scheme,
                "measure": {"fct_ends": ends},
            })
        },
    )
}

/// What must hold of every run.
fn check(scenario: &Value, played: &Played) -> Result<(), TestCaseError> {
    let c = &played.counters;
    prop_assert_eq!(played.flows.len() as u64, c.flows_started);
    let finished = played.flows.iter().filter(|f| f.finished).count() as u64;
    prop_assert_eq!(finished, c.flows_finished);
    for (i, f) in played.flows.iter().enumerate() {
        prop_assert_eq!(f.flow, i as u64);
        prop_assert!(f.start >= played.flows[i.saturating_sub(1)].start);
        prop_assert_eq!(f.finished, f.reason.is_none());
        if f.finished {
            prop_assert!(f.slowdown >= 1.0 && f.fct >= f.ideal, "{:?}", f);
        }
    }
    let sum =
        |of: fn(&common::Row) -> u32| played.flows.iter().map(|f| u64::from(of(f))).sum::<u64>();
    prop_assert_eq!(sum(|f| f.retransmissions), c.retransmissions);
    prop_assert_eq!(sum(|f| f.timeouts), c.timeouts);
    let packets: u64 = played.flows.iter().map(|f| f.size.div_ceil(1460)).sum();
    prop_assert!(c.data_packets <= packets + c.retransmissions);
    if finished == c.flows_started {
        // Everything was sent once, and what was sent again comes on top.
        prop_assert_eq!(c.data_packets, packets + c.retransmissions);
    }
    let kind = scenario["scheme"]["transport"]["kind"].as_str();
    if !matches!(kind, Some("dctcp" | "l2dct" | "ascc" | "dctcp-rate"))
        || scenario["scheme"]["port"]["ecn_threshold"] == "none"
    {
        prop_assert_eq!(c.ecn_marks, 0);
    }
    if c.drops == 0 && scenario["scheme"]["transport"]["kind"] == "mintcp" {
        // Only timers make minTCP send again; a timer may be too short under load.
        prop_assert!(c.retransmissions == 0 || c.timeouts > 0);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 300, ..ProptestConfig::default() })]

    /// Every flow finishes; packets are conserved; slowdown is at least 1; a
    /// second run, in another thread, gives the same records and counters.
    #[test]
    fn flows_finish_and_runs_repeat(scenario in scenario()) {
        let played = generated(scenario.clone());
        check(&scenario, &played)?;
        prop_assert_eq!(played.counters.flows_finished, scenario["traffic"]["flows"].as_u64().unwrap());
        let copy = scenario.clone();
        let other = std::thread::spawn(move || generated(copy));
        let again = generated(scenario);
        let other = other.join().unwrap();
        for run in [again, other] {
            prop_assert_eq!(&run.flows, &played.flows);
            prop_assert_eq!(run.counters, played.counters);
        }
    }

    /// A run that is cut off reports every flow that had started, finished or
    /// unfinished with a reason, and what finished before is as in the whole run.
    #[test]
    fn a_run_that_is_cut_off_reports_every_flow(scenario in scenario(), at in 1u64..2000) {
        let whole = generated(scenario.clone());
        prop_assume!(whole.flows.iter().any(|f| f.start <= at * common::US));
        let mut cut = scenario.clone();
        cut["measure"]["max_time"] = json!(format!("{at}us"));
        let played = generated(cut);
        check(&scenario, &played)?;
        let end = at * common::US;
        let started = whole.flows.iter().filter(|f| f.start <= end).count();
        prop_assert_eq!(played.flows.len(), started);
        for (f, w) in played.flows.iter().zip(&whole.flows) {
            prop_assert_eq!((f.start, f.src, f.dst, f.size), (w.start, w.src, w.dst, w.size));
            prop_assert_eq!(f.finished, w.start + w.fct <= end, "{:?} {:?}", f, w);
            prop_assert_eq!(f.fct, if f.finished { w.fct } else { end - f.start });
        }
    }

    /// Two schemes see the same flows.
    #[test]
    fn schemes_see_the_same_flows(scenario in scenario(), other in scheme()) {
        let mut changed = scenario.clone();
        changed["scheme"] = other;
        let flows = |s: Value| -> Vec<_> {
            generated(s).flows.iter().map(|f| (f.start, f.src, f.dst, f.size)).collect()
        };
        prop_assert_eq!(flows(scenario), flows(changed));
    }
}

/// Unfinished flows say why; each reason by a run that is cut off.
#[test]
fn reasons_of_unfinished_flows() {
    let reason = |transport: Value, buffer: &str, senders: u32, end: &str, ends: &str| {
        let mut s = common::star(
            senders,
            json!({"transport": transport, "port": {"buffer": buffer}}),
        );
        s["measure"] = json!({"max_time": end, "fct_ends": ends});
        let flows: Vec<_> = (0..senders).map(|h| (0, h, senders, 1460)).collect();
        common::play(s, &flows).flows.last().unwrap().reason.clone()
    };
    // One packet reaches the receiver after 2 x 1.2 + 2 x 1 = 4.4 us; its ACK
    // 2.064 us later.
    assert_eq!(
        reason(json!("tcp"), "9pkt", 1, "4us", "delivery").as_deref(),
        Some("sending")
    );
    assert_eq!(
        reason(json!("tcp"), "9pkt", 1, "5us", "ack").as_deref(),
        Some("waiting for ack")
    );
    assert_eq!(reason(json!("tcp"), "9pkt", 1, "5us", "delivery"), None);
    assert_eq!(reason(json!("tcp"), "9pkt", 1, "7us", "ack"), None);
    // The third of three at a port of one packet is lost at 2.2 us.
    let why = reason(json!("tcp"), "1pkt", 3, "20us", "delivery");
    assert_eq!(why.as_deref(), Some("waiting for timeout"));
    // With 9 senders 7 lose the first round, 5 the second, ...: the last one
    // has lost 4 rounds of 10 us and, if it probes after 3, is probing.
    let mintcp = json!({"kind": "mintcp", "min_rto": "10us", "probe_after": 3});
    assert_eq!(
        reason(mintcp, "1pkt", 9, "30.5us", "delivery").as_deref(),
        Some("probing")
    );
}

/// A flow whose packets have all been received may have a copy of one waiting in
/// its NIC, evicted there while no timer runs: it must go on nevertheless.
#[test]
fn a_flow_goes_on_when_its_last_copy_is_evicted() {
    let played = generated(json!({
        "seed": 43600,
        "topology": {
            "kind": "star", "senders": 1, "host_rate": "10Gbps", "bottleneck_rate": "40Gbps",
            "link_delay": "0us",
        },
        "traffic": {
            "workload": {"kind": "bimodal", "small": "2KB", "large": "200KB"},
            "arrivals": "lognormal", "load": 0.157_905_685_243_608_65, "flows": 18,
        },
        "scheme": {
            "transport": {"kind": "tcp", "initial_window": "10pkt", "min_rto": "5rtt"},
            "tagger": "outstanding",
            "port": {"discipline": "ascc", "buffer": "4pkt", "drop": "lowest-priority"},
            "nic": {"per_flow_limit": 1},
        },
    }));
    assert_eq!(played.counters.flows_finished, 18);
}
