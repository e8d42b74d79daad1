//! Scenarios from bytes.

use std::fmt::Write;

use arbitrary::{Result, Unstructured};
use fctlab_fabric::scheme::PRESETS;
use serde_json::{Value, json};

/// Hosts of every topology here: 0 to 4.
const HOSTS: u32 = 5;
/// Most flows.
const MOST: usize = 12;

/// A flow: start in nanoseconds, source, destination, bytes.
pub(crate) type Given = (u64, u32, u32, u64);

/// Some flows in order of start, all to the last host where a star is to play them.
pub(crate) fn flows(u: &mut Unstructured<'_>) -> Result<Vec<Given>> {
    let mut found = Vec::new();
    let mut start = 0;
    for _ in 0..u.int_in_range(1..=MOST)? {
        start += u64::from(u.arbitrary::<u16>()?);
        let (src, size) = (u.int_in_range(0..=HOSTS - 2)?, u.int_in_range(1..=60_000)?);
        found.push((start, src, HOSTS - 1, size));
    }
    Ok(found)
}

/// The file of a trace.
pub(crate) fn trace(flows: &[Given]) -> String {
    let mut text = String::from("start_s,src,dst,size_bytes,class\n");
    for (i, (start, src, dst, size)) in flows.iter().enumerate() {
        let (s, ns) = (start / 1_000_000_000, start % 1_000_000_000);
        let class = if i % 2 == 0 { "a" } else { "b" };
        writeln!(text, "{s}.{ns:09},{src},{dst},{size},{class}").expect("memory");
    }
    text
}

fn of<T: Clone>(u: &mut Unstructured<'_>, from: &[T]) -> Result<T> {
    u.choose(from).cloned()
}

fn star() -> Value {
    json!({"kind": "star", "senders": HOSTS - 1, "host_rate": "10Gbps", "link_delay": "1us"})
}

fn topology(u: &mut Unstructured<'_>) -> Result<Value> {
    let mut slow = star();
    slow["bottleneck_rate"] = json!("3Gbps");
    let leaf_spine = json!({"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2,
        "host_rate": "10Gbps", "fabric_rate": "10Gbps", "link_delay": "1us"});
    let tree = json!({"kind": "fat-tree", "k": 4, "host_rate": "10Gbps", "link_delay": "0us"});
    of(u, &[star(), slow, leaf_spine, tree])
}

fn discipline(u: &mut Unstructured<'_>) -> Result<Value> {
    of(
        u,
        &[
            json!("fifo"),
            json!("fq"),
            json!("srpt"),
            json!({"kind": "srpt", "starvation_prevention": false}),
            json!({"kind": "priority", "thresholds": [1460, 10_000]}),
            json!("ascc"),
            json!({"kind": "awafs", "interval": "20us", "window": "100us"}),
            json!({"kind": "strict", "classes": 2}),
            json!({"kind": "wrr", "weights": [2, 1]}),
            json!({"kind": "drr", "weights": [2, 1], "inside": "fq"}),
            json!({"kind": "wfq", "weights": [1, 3], "inside": "fq"}),
            json!({"kind": "mapped", "queues": 3, "mapping": {"interval": "10us", "kind": "dynamic"}}),
        ],
    )
}

fn scheme(u: &mut Unstructured<'_>) -> Result<Value> {
    let mut scheme = json!({"preset": of(u, PRESETS)?});
    if u.arbitrary()? {
        scheme["port"]["buffer"] = json!(of(u, &["1pkt", "3pkt", "20pkt", "300KB"])?);
    }
    if u.ratio(1, 3)? {
        scheme["port"]["discipline"] = discipline(u)?;
        scheme["port"]["drop"] = json!(of(u, &["tail", "lowest-priority", "longest-queue"])?);
        scheme["tagger"] = json!(of(
            u,
            &[
                "none",
                "remaining",
                "size",
                "sent",
                "outstanding",
                "complete"
            ]
        )?);
    }
    if u.ratio(1, 4)? {
        scheme["routing"] = json!(of(u, &["ecmp", "spray-random", "spray-round-robin"])?);
    }
    if u.ratio(1, 4)? {
        let kinds = [
            "tcp",
            "dctcp",
            "mintcp",
            "l2dct",
            "ascc",
            "dctcp-rate",
            "hpcc",
            "fixed-window",
        ];
        scheme["transport"] = json!({"kind": of(u, &kinds)?});
        if u.arbitrary()? {
            scheme["transport"]["initial_window"] =
                json!(of(u, &["1pkt", "10pkt", "1bdp", "40pkt"])?);
        }
        scheme["transport"]["min_rto"] = json!(of(u, &["3rtt", "20rtt"])?);
    }
    if u.ratio(1, 6)? {
        scheme["shaper"] = json!({"rate": "2Gbps", "bucket": of(u, &["1pkt", "30KB"])?});
    }
    Ok(scheme)
}

/// A scenario that plays `flows.csv`, which may not fit together.
pub(crate) fn scenario(u: &mut Unstructured<'_>) -> Result<Value> {
    let mut scenario = json!({
        "seed": u.arbitrary::<u16>()?,
        "topology": topology(u)?,
        "traffic": {"trace": "flows.csv"},
        "scheme": scheme(u)?,
        // No run lasts longer than a fuzzer has patience for.
        "measure": {
            "fct_ends": of(u, &["delivery", "ack"])?,
            "max_time": of(u, &["5us", "60us", "400us", "20ms"])?,
        },
    });
    match u.int_in_range(0..=7)? {
        0 => {
            scenario["engine"] = json!("fluid");
            scenario["scheme"]["preset"] = json!("dctcp-rate");
        }
        1 => {
            scenario["engine"] = json!("model");
            scenario["scheme"]["preset"] = json!(of(u, &["dctcp-rate", "hpcc"])?);
            scenario["topology"] = star();
        }
        _ => {}
    }
    Ok(scenario)
}

/// The same flows, all their packets at once, over one link under FIFO and under another discipline.
pub(crate) fn at_once(u: &mut Unstructured<'_>) -> Result<(Value, Value)> {
    let with = |discipline: Value, tagger: &str| {
        json!({
            "topology": star(),
            "traffic": {"trace": "flows.csv"},
            "scheme": {
                "transport": {"kind": "fixed-window", "initial_window": "1000pkt"},
                "tagger": tagger,
                "port": {"discipline": discipline, "buffer": "10MB"},
                "nic": {"discipline": "fifo", "per_flow_limit": "none"},
            },
        })
    };
    let discipline = discipline(u)?;
    let mapped = discipline["kind"] == "mapped";
    let tagger = of(u, &["remaining", "size", "sent", "complete"])?;
    let tagger = if mapped { "outstanding" } else { tagger };
    Ok((with(json!("fifo"), "none"), with(discipline, tagger)))
}
