//! Traffic: patterns, traces, workloads.

use serde_json::{Value, json};

use crate::common::{Folder, toml, try_run};
use crate::{error, good, with};

#[test]
fn loads_and_lengths() {
    for load in [json!(1.3), json!(0), json!(1), json!(-0.5), json!("0.5")] {
        let message = format!("traffic.load: {load} is not in (0, 1)");
        assert_eq!(with(&[("traffic.load", load)]), message);
    }
    // JSON has no NaN; TOML does, and it is read as text.
    let nan = toml("topology = \"x\"\nscheme = \"tcp\"\ntraffic = { load = nan }");
    let message =
        error(json!({"topology": good()["topology"], "traffic": nan["traffic"], "scheme": "tcp"}));
    assert_eq!(message, "traffic.load: \"nan\" is not in (0, 1)");
    assert_eq!(
        with(&[("traffic.flows", json!(0))]),
        "traffic.flows: 0 is not a whole number above 0"
    );
    assert_eq!(
        with(&[("traffic.flows", json!(2.5))]),
        "traffic.flows: 2.5 is not a whole number above 0"
    );
    assert_eq!(
        with(&[("traffic.duration", json!("0s"))]),
        "traffic.duration: 0s is not above 0"
    );
    assert_eq!(
        with(&[("traffic.spacing", json!(-1))]),
        "traffic.spacing: -1 is not in [0, inf)"
    );
}

#[test]
fn patterns() {
    assert_eq!(
        with(&[("traffic.pattern", json!({"kind": "incast", "fanin": 8}))]),
        "traffic.pattern.fanin: 8 is not in [1, 7]: the hosts without the receiver"
    );
    assert_eq!(
        with(&[(
            "traffic.pattern",
            json!({"kind": "many-to-one", "receiver": 8})
        )]),
        "traffic.pattern.receiver: 8 is not a host; hosts are 0 to 7"
    );
    assert_eq!(
        with(&[
            ("traffic.pattern", json!("inter-rack")),
            ("topology.leaves", json!(1))
        ]),
        "traffic.pattern: inter-rack needs at least 2 racks; the topology has 1"
    );
}

#[test]
fn files() {
    let folder = Folder::new();
    let message = |traffic: Value, text: &str| {
        folder.write("in.csv", text);
        let mut scenario = good();
        scenario["traffic"] = traffic;
        let message = try_run(scenario, folder.path()).err().unwrap();
        message.replace(&folder.path().display().to_string(), "DIR")
    };
    let trace = |text: &str| message(json!({"trace": "in.csv"}), text);
    let head = "start_s,src,dst,size_bytes\n";
    assert_eq!(
        trace(&format!("{head}0,3,3,10\n")),
        "traffic.trace: DIR/in.csv: line 2: src and dst are both 3; a flow needs two hosts"
    );
    assert_eq!(
        trace(&format!("{head}0,0,8,10\n")),
        "traffic.trace: DIR/in.csv: line 2: dst 8 is not a host; hosts are 0 to 7"
    );
    assert_eq!(
        trace(&format!("{head}1,0,1,10\n0.5,0,1,10\n")),
        "traffic.trace: DIR/in.csv: line 3: start_s 0.5 is before the 1 of the flow before it; \
         starts must not decrease (fctlab trace puts rows in order)"
    );
    assert_eq!(
        trace(&format!("{head}NaN,0,1,10\n")),
        "traffic.trace: DIR/in.csv: line 2: start_s \"NaN\" is not a number of seconds from 0 to 18,446,744"
    );
    assert_eq!(
        trace(head),
        "traffic.trace: DIR/in.csv: has no flows; at least one is needed"
    );
    let both = message(json!({"trace": "in.csv", "load": 0.5}), head);
    assert_eq!(
        both,
        "traffic.load: has no meaning with a trace; leave it out, or leave out `trace`"
    );

    let cdf = json!({"workload": {"kind": "cdf", "file": "in.csv"}, "load": 0.5, "flows": 1});
    for (rows, what) in [
        (
            "100,0.5\n200,NaN\n",
            "line 3: cumulative_probability NaN is not in [0, 1]",
        ),
        (
            "100,0.5\n200,0.4\n300,1\n",
            "line 3: cumulative_probability 0.4 is below the 0.5 before it; probabilities must not decrease",
        ),
        (
            "100,0.5\n200,0.9\n",
            "line 3: the last cumulative_probability is 0.9; it must be 1",
        ),
        (
            "100,0.5\n50,1\n",
            "line 3: size_bytes 50 is below the 100 before it; sizes must not decrease",
        ),
    ] {
        let text = format!("size_bytes,cumulative_probability\n{rows}");
        assert_eq!(
            message(cdf.clone(), &text),
            format!("traffic.workload.file: DIR/in.csv: {what}")
        );
    }
}

/// 2^32 packets are one too many for the engine's packet numbers.
#[test]
fn a_flow_of_too_many_packets() {
    let message = with(&[
        (
            "traffic.workload",
            json!({"kind": "fixed", "size": "10000GB"}),
        ),
        ("measure.max_time", json!("1us")),
    ]);
    assert!(message.starts_with("traffic."), "{message}");
}

/// A few packed bytes unpack to any length: a line is a megabyte at most, and an error repeats little of it.
#[test]
fn a_line_of_a_trace_that_is_long() {
    let folder = Folder::new();
    let mut scenario = good();
    scenario["traffic"] = json!({"trace": "in.csv"});
    let message = |length: usize| {
        let text = format!("start_s,src,dst,size_bytes\n{},0,1,9\n", "x".repeat(length));
        folder.write("in.csv", &text);
        try_run(scenario.clone(), folder.path()).err().unwrap()
    };
    let long = message(3 << 20);
    assert!(
        long.contains("a line has more than 1048576 bytes"),
        "{}",
        long.len()
    );
    let repeated = message(9_000);
    assert!(repeated.contains("\"xxxx") && repeated.contains("\"... is not a number of seconds"));
    assert!(repeated.len() < 300, "{}", repeated.len());
}
