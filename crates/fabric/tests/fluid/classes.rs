//! Classes at ports and NICs, beside packets.

use std::ops::Range;

use fctlab_core::random::{mix, unit_interval};
use serde_json::json;

use crate::common::{Folder, Played, everything, generated, try_run};
use crate::{leaf_spine, on, web_search};

/// Under strict priority the lower class is less near, least where windows are not paced.
#[test]
fn classes_are_served_by_their_weights_or_in_their_order() {
    let strict = json!({"kind": "strict", "classes": 2});
    let wfq = json!({"kind": "wfq", "weights": [4, 1]});
    let near = (0.05, 0.15);
    let cases = [
        ("dctcp-rate", wfq.clone(), near),
        ("dctcp", strict.clone(), (0.15, 0.25)),
        ("dctcp-rate", strict, (0.1, 0.15)),
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
        let mut scenario = web_search(leaf_spine(4, 8), 0.5, 2_500);
        scenario["traffic"]["classes"] = json!([
            {"class": "a", "share": 0.5},
            {"class": "b", "share": 0.5},
        ]);
        scenario["scheme"] = json!({"preset": scheme,
            "port": {"discipline": discipline, "buffer": "1GB"}, "nic": {"discipline": "fifo"}});
        // A lower class's tail is that of a few episodes: of several seeds.
        let [fluid, packets] = ["fluid", "packet"].map(|engine| {
            [1, 2, 3].map(|seed| {
                scenario["seed"] = json!(seed);
                generated(on(engine, &scenario))
            })
        });
        for (class, most) in [("a", near), ("b", most_of_lower)] {
            let of = |runs: &[Played; 3]| {
                let rows = runs.iter().flat_map(|run| &run.summary);
                let rows = rows.filter(|r| r.traffic_class == class && r.class == "all");
                rows.fold((0.0, 0.0), |all, row| {
                    (
                        all.0 + row.avg_slowdown / 3.0,
                        all.1 + row.p99_slowdown / 3.0,
                    )
                })
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
            start -= 33.5e-6 * (1.0 - unit_interval(next())).ln();
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
