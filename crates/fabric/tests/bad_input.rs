//! Mistakes in a scenario: one message each, with path, value and what is allowed.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Folder, try_run};
use fctlab_fabric::disciplines::QueueSpec;
use fctlab_fabric::mappings::MappingPolicy;
use fctlab_fabric::routing::RoutingSpec;
use fctlab_fabric::scenario::{Format, parse, resolve, with_scheme};
use fctlab_fabric::scheme::PRESETS;
use fctlab_fabric::taggers::Tagger;
use fctlab_fabric::topology::TopologySpec;
use fctlab_fabric::transports::RuleSpec;
use serde_json::{Value, json};

/// A scenario without mistakes.
fn good() -> Value {
    json!({
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4,
            "host_rate": "10Gbps", "fabric_rate": "40Gbps", "base_rtt": "16us",
        },
        "traffic": {"workload": "imc10", "load": 0.5, "flows": 3},
        "scheme": "dctcp",
    })
}

/// The message when `path` (keys with dots between) is set to `value`; `null`
/// removes it. The mistake is found when the scenario is resolved or, where it
/// takes the fabric, before the first flow starts.
fn with(changes: &[(&str, Value)]) -> String {
    error(change(changes))
}

fn change(changes: &[(&str, Value)]) -> Value {
    let mut scenario = good();
    for (path, value) in changes {
        let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
        let mut table = &mut scenario;
        for key in parent.split('.').filter(|k| !k.is_empty()) {
            if !table[key].is_object() {
                table[key] = json!({});
            }
            table = &mut table[key];
        }
        let table = table.as_object_mut().unwrap();
        match value {
            Value::Null => table.remove(key),
            value => table.insert(key.to_owned(), value.clone()),
        };
    }
    scenario
}

fn error(scenario: Value) -> String {
    match try_run(scenario.clone(), std::path::Path::new("/nowhere")) {
        Err(message) => message,
        Ok(_) => panic!("no mistake was found in {scenario}"),
    }
}

fn set(path: &str, value: &str) -> String {
    let sets = [(path.to_owned(), value.to_owned())];
    resolve(good(), &sets, std::path::Path::new("/"))
        .unwrap_err()
        .to_string()
}

/// A scheme's table that starts from DCTCP's preset.
fn scheme(changes: Value) -> String {
    let mut table = json!({"preset": "dctcp"});
    table
        .as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    with(&[("scheme", table)])
}

#[test]
fn the_scenario_without_mistakes_runs() {
    try_run(good(), std::path::Path::new("/")).unwrap();
}

#[test]
fn keys() {
    assert_eq!(
        with(&[("topolgy", json!(1))]),
        "topolgy: unknown key; did you mean \"topology\"? known here: version, name, seed, packet, \
         topology, capacity, traffic, measure, scheme, record"
    );
    assert_eq!(
        with(&[("traffic.spacing", json!(-1))]),
        "traffic.spacing: -1 is not in [0, inf)"
    );
    assert_eq!(
        with(&[("traffic.laod", json!(0.5))]),
        "traffic.laod: unknown key; did you mean \"load\"? known here: workload, load, load_counts, \
         arrivals, pattern, flows, duration, trace, class, spacing, classes, share_of"
    );
    assert_eq!(
        with(&[("topology.spine", json!(2))]),
        "topology.spine: unknown key; did you mean \"spines\"? known here: leaves, spines, \
         hosts_per_leaf, host_rate, fabric_rate, base_rtt, link_delay, host_delay"
    );
    assert_eq!(
        with(&[("measure.warm_up", json!("1ms"))]),
        "measure.warm_up: unknown key; did you mean \"warmup\"? known here: warmup, window, \
         cooldown, fct_ends, stop, max_time, extras"
    );
    assert_eq!(
        scheme(json!({"prot": {}})),
        "scheme.prot: unknown key; did you mean \"port\"? known here: name, transport, shaper, \
         tagger, port, nic, routing"
    );
    assert_eq!(
        scheme(json!({"port": {"bufer": "1MB"}})),
        "scheme.port.bufer: unknown key; did you mean \"buffer\"? known here: discipline, buffer, \
         drop, ecn_threshold, ecn_scope, ecn_at"
    );
    assert_eq!(
        scheme(json!({"transport": {"gain": 0.5}})),
        "scheme.transport.gain: unknown key; known here: g, initial_alpha, initial_window, \
         max_window, rto, min_rto, initial_rto, max_rto, rto_backoff, fast_retransmit, \
         dupack_threshold, probe_after"
    );
    for key in ["topology", "traffic"] {
        assert_eq!(
            with(&[(key, Value::Null)]),
            format!("{key}: is missing and has no default")
        );
    }
    assert_eq!(
        with(&[("scheme", Value::Null)]),
        format!(
            "scheme: is missing; write a preset ({}) or a table",
            PRESETS.join(", ")
        )
    );
    assert_eq!(
        with(&[("topology.leaves", Value::Null)]),
        "topology.leaves: is missing and has no default"
    );
    assert_eq!(
        with(&[("topology.kind", Value::Null)]),
        format!(
            "topology.kind: is missing; known: {}",
            TopologySpec::NAMES.join(", ")
        )
    );
}

#[test]
fn names() {
    assert_eq!(
        with(&[("scheme", json!("pfabirc"))]),
        format!(
            "scheme.preset: \"pfabirc\" is not a preset; did you mean \"pfabric\"? known: {}",
            PRESETS.join(", ")
        )
    );
    assert_eq!(
        with(&[("topology.kind", json!("leafspine"))]),
        format!(
            "topology.kind: \"leafspine\" is not a topology; did you mean \"leaf-spine\"? known: {}",
            TopologySpec::NAMES.join(", ")
        )
    );
    assert_eq!(
        scheme(json!({"transport": "tpc"})),
        format!(
            "scheme.transport.kind: \"tpc\" is not a transport; did you mean \"tcp\"? known: {}",
            RuleSpec::NAMES.join(", ")
        )
    );
    assert_eq!(
        scheme(json!({"tagger": "remain"})),
        format!(
            "scheme.tagger.kind: \"remain\" is not a tagger; did you mean \"remaining\"? known: {}",
            Tagger::NAMES.join(", ")
        )
    );
    assert_eq!(
        scheme(json!({"routing": "spray"})),
        format!(
            "scheme.routing.kind: \"spray\" is not a routing rule; known: {}",
            RoutingSpec::NAMES.join(", ")
        )
    );
    assert_eq!(
        scheme(json!({"port": {"discipline": "fifi"}})),
        format!(
            "scheme.port.discipline.kind: \"fifi\" is not a discipline; did you mean \"fifo\"? known: {}",
            QueueSpec::NAMES.join(", ")
        )
    );
    assert_eq!(
        scheme(json!({"port": {"discipline": {"kind": "priority", "thresholds": "cache@0.5"}}})),
        "scheme.port.discipline.thresholds: \"cache@0.5\" is not a published set of thresholds; \
         write numbers, or one of websearch@0.5, websearch@0.6, websearch@0.7, websearch@0.8, \
         websearch@0.9, datamining@0.5, datamining@0.6, datamining@0.7, datamining@0.8, \
         datamining@0.9"
    );
    assert_eq!(
        scheme(json!({"port": {"drop": "head"}})),
        "scheme.port.drop: unknown variant `head`, expected one of `tail`, `lowest-priority`, `longest-queue`"
    );
    assert_eq!(
        with(&[("measure.fct_ends", json!("acked"))]),
        "measure.fct_ends: unknown variant `acked`, expected `delivery` or `ack`"
    );
    let message = with_scheme(good(), &[], "dctp").unwrap_err().to_string();
    assert_eq!(
        message,
        format!(
            "schemes: \"dctp\" is not a scheme; did you mean \"dctcp\"? known: {}",
            PRESETS.join(", ")
        )
    );
}

#[test]
fn units() {
    let time = "is not a time: write a number with ps, ns, us, ms or s, such as \"85.2us\"";
    let rate = "is not a rate above zero: write a number with bps, Kbps, Mbps, Gbps or Tbps, such as \"10Gbps\"";
    let length =
        "is not a length of data: write a number with pkt, bdp, B, KB or MB, such as \"14pkt\"";
    let size =
        "is not a size: write a number with B, KB, MB or GB (KB = 1000 bytes), such as \"500KB\"";
    assert_eq!(
        with(&[("topology.base_rtt", json!("16"))]),
        format!("topology.base_rtt: \"16\" {time}")
    );
    assert_eq!(
        with(&[("topology.base_rtt", json!(16))]),
        format!("topology.base_rtt: 16 {time}")
    );
    assert_eq!(
        with(&[("topology.base_rtt", json!("-1us"))]),
        format!("topology.base_rtt: \"-1us\" {time}")
    );
    assert_eq!(
        with(&[("measure.warmup", json!("1KB"))]),
        format!("measure.warmup: \"1KB\" {time}")
    );
    assert_eq!(
        with(&[("topology.host_rate", json!("10GB"))]),
        format!("topology.host_rate: \"10GB\" {rate}")
    );
    assert_eq!(
        with(&[("topology.host_rate", json!("0Gbps"))]),
        format!("topology.host_rate: \"0Gbps\" {rate}")
    );
    assert_eq!(
        scheme(json!({"port": {"buffer": "9us"}})),
        format!("scheme.port.buffer: \"9us\" {length}")
    );
    assert_eq!(
        scheme(json!({"port": {"ecn_threshold": 65}})),
        format!("scheme.port.ecn_threshold: 65 {length}")
    );
    assert_eq!(
        scheme(json!({"transport": {"min_rto": "3pkt"}})),
        "scheme.transport.min_rto: \"3pkt\" is not a time: write a number with rtt, ps, ns, us, ms or s, such as \"3rtt\""
    );
    assert_eq!(
        with(&[("traffic.workload", json!({"kind": "fixed", "size": "2MiB"}))]),
        format!("traffic.workload.size: \"2MiB\" {size}")
    );
}

#[test]
fn numbers() {
    for load in [json!(1.3), json!(0), json!(1), json!(-0.5), json!("0.5")] {
        let message = format!("traffic.load: {load} is not in (0, 1)");
        assert_eq!(with(&[("traffic.load", load)]), message);
    }
    // JSON has no NaN; TOML does, and it is read as null.
    let nan = common::toml("topology = \"x\"\nscheme = \"tcp\"\ntraffic = { load = nan }");
    let message =
        error(json!({"topology": good()["topology"], "traffic": nan["traffic"], "scheme": "tcp"}));
    assert_eq!(message, "traffic.load: null is not in (0, 1)");
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
    for g in [json!(0), json!(2)] {
        let message = format!("scheme.transport.g: {g} is not in (0, 1]");
        assert_eq!(scheme(json!({"transport": {"g": g}})), message);
    }
    assert_eq!(
        scheme(json!({"transport": {"initial_alpha": 1.5}})),
        "scheme.transport.initial_alpha: 1.5 is not in [0, 1]"
    );
    assert_eq!(
        with(&[("topology.leaves", json!(0))]),
        "topology.leaves: 0 is not a whole number in [1, 65535]"
    );
    assert_eq!(
        with(&[("topology.hosts_per_leaf", json!(40000))]),
        "topology.hosts_per_leaf: 80000 hosts in all; at most 65535"
    );
    assert_eq!(
        with(&[(
            "topology",
            json!({"kind": "fat-tree", "k": 5, "host_rate": "10Gbps", "link_delay": "1us"})
        )]),
        "topology.k: 5 is not even"
    );
    assert_eq!(
        with(&[(
            "topology",
            json!({"kind": "fat-tree", "k": 2, "host_rate": "10Gbps", "link_delay": "1us"})
        )]),
        "topology.k: 2 is not a whole number in [4, 62]"
    );
    assert_eq!(
        with(&[(
            "topology",
            json!({"kind": "star", "senders": 0, "host_rate": "10Gbps", "link_delay": "1us"})
        )]),
        "topology.senders: 0 is not a whole number in [1, 65534]"
    );
    assert_eq!(
        with(&[("packet.payload", json!("0B"))]),
        "packet.payload: 0B with its header is not in [1B, 65535B]"
    );
    assert_eq!(
        with(&[("packet.payload", json!("70KB"))]),
        "packet.payload: 70KB with its header is not in [1B, 65535B]"
    );
    assert_eq!(
        with(&[("packet.ack", json!("0B"))]),
        "packet.ack: 0B is not in [1B, 65535B]"
    );
}

#[test]
fn delays() {
    assert_eq!(
        with(&[("topology.link_delay", json!("1us"))]),
        "topology.link_delay: has no meaning beside base_rtt; give one of the two"
    );
    assert_eq!(
        with(&[("topology.base_rtt", Value::Null)]),
        "topology.base_rtt: is missing; give base_rtt or link_delay"
    );
    // 1.2 + 0.3 + 0.3 + 1.2 us and ACKs of 80 ns, and four host delays of 1 us.
    assert_eq!(
        with(&[("topology.base_rtt", json!("3us"))]),
        "topology.base_rtt: 3us is less than transmissions and host delays take (3080ns)"
    );
    assert_eq!(
        with(&[
            ("topology.base_rtt", json!("7us")),
            ("topology.host_delay", json!("1us"))
        ]),
        "topology.base_rtt: 7us is less than transmissions and host delays take (7080ns)"
    );
    assert_eq!(
        with(&[(
            "topology.base_rtt",
            json!({"value": "9us", "includes": "both"})
        )]),
        "topology.base_rtt.includes: unknown variant `both`, expected `transmission` or `propagation`"
    );
    assert_eq!(
        with(&[("topology.base_rtt", json!({"includes": "propagation"}))]),
        "topology.base_rtt.value: is missing and has no default"
    );
}

#[test]
fn ports() {
    assert_eq!(
        scheme(json!({"nic": {"buffer": "0.5pkt"}})),
        "scheme.nic.buffer: 0.5pkt holds less than one full packet"
    );
    assert_eq!(
        scheme(json!({"nic": {"drop": "lowest-priority"}})),
        "scheme.nic.drop: \"lowest-priority\" is not for fifo, which knows \"tail\""
    );
    assert_eq!(
        scheme(json!({"nic": {"discipline": {"kind": "priority", "thresholds": [10, 30, 20]}}})),
        "scheme.nic.discipline.thresholds[2]: 20 after 30; thresholds must increase"
    );
    assert_eq!(
        scheme(json!({"port": {"discipline": "priority"}})),
        "scheme.port.discipline.thresholds: is missing and has no default"
    );
    assert_eq!(
        scheme(json!({"nic": {"per_flow_limit": 0}})),
        "scheme.nic.per_flow_limit: 0 is not at least 1"
    );
}

/// The NIC takes after the port, but the mistake is where it was written.
#[test]
fn a_mistake_in_the_port_is_not_blamed_on_the_nic() {
    assert_eq!(
        scheme(json!({"port": {"buffer": "1499B"}})),
        "scheme.port.buffer: 1499B holds less than one full packet"
    );
    assert_eq!(
        scheme(json!({"port": {"drop": "lowest-priority"}})),
        "scheme.port.drop: \"lowest-priority\" is not for fifo, which knows \"tail\""
    );
    assert_eq!(
        scheme(json!({"port": {"discipline": {"kind": "priority", "thresholds": [10, 30, 20]}}})),
        "scheme.port.discipline.thresholds[2]: 20 after 30; thresholds must increase"
    );
}

/// ADS: tables, hosts' estimates, and files of tables.
#[test]
fn mapped_queues() {
    let discipline = |value: Value| scheme(json!({"port": {"discipline": value}}));
    let dynamic = |key: &str, value: Value| {
        discipline(
            json!({"kind": "mapped", "queues": 8, "mapping": {"kind": "dynamic", key: value}}),
        )
    };
    let fixed = |queues: u32, thresholds: Value| {
        let mapping = json!({"kind": "static", "thresholds": thresholds});
        discipline(json!({"kind": "mapped", "queues": queues, "mapping": mapping}))
    };
    let at = "scheme.port.discipline";
    assert_eq!(
        discipline(json!({"kind": "mapped", "queues": 0})),
        format!("{at}.queues: 0 is not in [1, 64]")
    );
    assert_eq!(
        dynamic("interval", json!("0s")),
        format!("{at}.mapping.interval: 0s is not above zero")
    );
    assert_eq!(
        dynamic("window", json!(0)),
        format!("{at}.mapping.window: 0 is not at least 1")
    );
    assert_eq!(
        dynamic("policy", json!("equal")),
        format!(
            "{at}.mapping.policy: \"equal\" is not a mapping policy; known: {}",
            MappingPolicy::NAMES.join(", ")
        )
    );
    assert_eq!(
        fixed(8, json!([1, 2])),
        format!(
            "{at}.mapping.thresholds: 2 thresholds for 8 queues; it takes one less than queues"
        )
    );
    assert_eq!(
        fixed(3, json!([5, 2])),
        format!("{at}.mapping.thresholds[1]: 2 after 5; thresholds must not fall")
    );
    assert_eq!(
        fixed(2, json!({"leaf 77": [2]})),
        format!(
            "{at}.mapping.thresholds: \"leaf 77\" is not a node or port here: it is for another topology"
        )
    );
    let message = fixed(2, json!({"host 0": [2]}));
    assert!(message.ends_with("it is for another topology"), "{message}");
    let missing = json!({"kind": "static", "file": "no-such.json"});
    let message = discipline(json!({"kind": "mapped", "queues": 2, "mapping": missing}));
    assert!(
        message.starts_with(&format!("{at}.mapping.file: no-such.json: cannot be read")),
        "{message}"
    );
    assert_eq!(
        discipline(json!({"kind": "mapped", "queues": 2, "mapping": "static"})),
        format!("{at}.mapping: needs either thresholds or a file that has them")
    );
    assert_eq!(
        scheme(json!({"tagger": {"kind": "outstanding", "cap": "1KB"}})),
        "scheme.tagger.cap: 1KB is less than one MTU (1500B)"
    );
    assert_eq!(
        scheme(
            json!({"tagger": "remaining", "port": {"discipline": {"kind": "mapped", "queues": 8}}})
        ),
        "scheme.tagger: remaining writes tags up to 4294967295, but mapped (scheme.port) takes no more than 4095"
    );
    assert_eq!(
        scheme(json!({"preset": "ads", "tagger": {"cap": "20MB", "write_buffer": "30MB"}})),
        "scheme.tagger: outstanding writes tags up to 13334, but mapped (scheme.port) takes no more than 4095"
    );
    assert_eq!(
        scheme(json!({"port": {"discipline": "fq", "drop": "lowest-priority"}})),
        "scheme.port.drop: \"lowest-priority\" is not for fq, which knows \"tail\" and \"longest-queue\""
    );
    assert_eq!(
        with(&[("record", json!({"values": {"unit": "0B"}}))]),
        "record.values.unit: 0B is not above zero"
    );
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

#[test]
fn transports() {
    for (key, value, message) in [
        (
            "initial_window",
            json!("0.5pkt"),
            "0.5pkt is less than one full packet",
        ),
        (
            "max_window",
            json!("100B"),
            "100B is less than one full packet",
        ),
        ("min_rto", json!("0us"), "0s is not above zero"),
        ("max_rto", json!("10us"), "10us is less than min_rto (1ms)"),
        ("dupack_threshold", json!(0), "0 is not at least 1"),
        (
            "probe_after",
            json!(0),
            "0 is not at least 1; write \"none\" for never",
        ),
    ] {
        let message = format!("scheme.transport.{key}: {message}");
        assert_eq!(scheme(json!({"transport": {key: value}})), message);
    }
}

#[test]
fn measuring() {
    assert_eq!(
        with(&[("measure.stop", json!("measured"))]),
        "measure.stop: \"measured\" needs measure.window or measure.cooldown, or it would never end"
    );
    assert_eq!(
        with(&[
            ("measure.window", json!("1ms")),
            ("measure.cooldown", json!("1ms"))
        ]),
        "measure.cooldown: has no meaning beside window; give one of the two"
    );
    assert_eq!(
        with(&[("measure.cooldown", json!("1ms"))]),
        "measure.cooldown: needs traffic.duration, to be counted back from"
    );
    let short = [
        ("measure.cooldown", json!("1ms")),
        ("measure.warmup", json!("1ms")),
        ("traffic.duration", json!("2ms")),
    ];
    assert_eq!(
        with(&short),
        "measure.cooldown: with the warm-up nothing is left of traffic.duration (2ms)"
    );
    assert_eq!(
        with(&[("measure.window", json!("0s"))]),
        "measure.window: 0s is not above zero"
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
    assert_eq!(
        with(&[
            ("topology.leaves", json!(1)),
            ("topology.hosts_per_leaf", json!(1))
        ]),
        "topology.hosts_per_leaf: a fabric needs at least two hosts"
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
         starts must not decrease"
    );
    assert_eq!(
        trace(&format!("{head}NaN,0,1,10\n")),
        "traffic.trace: DIR/in.csv: line 2: start_s \"NaN\" is not a number of seconds in [0, 18446744]"
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

#[test]
fn sets_and_syntax() {
    assert_eq!(
        set("traffic.load", "1.3"),
        "traffic.load: 1.3 is not in (0, 1)"
    );
    assert_eq!(
        set("scheme.transport.min_rot", "1us"),
        "scheme.transport.min_rot: unknown key; did you mean \"min_rto\"? known here: g, \
         initial_alpha, initial_window, max_window, rto, min_rto, initial_rto, max_rto, \
         rto_backoff, fast_retransmit, dupack_threshold, probe_after"
    );
    assert_eq!(
        set("traffic..load", "1"),
        "traffic..load: is not a path; write keys with dots between, such as traffic.load"
    );
    assert_eq!(
        set("seed", "-1"),
        "seed: invalid value: integer `-1`, expected u64"
    );
    let message = parse("a = 1\nb = = 2\n", Format::Toml)
        .unwrap_err()
        .to_string();
    assert!(message.starts_with("line 2: "), "{message}");
    let message = parse("[1]", Format::Json).unwrap_err().to_string();
    assert_eq!(
        message,
        "[1] is not a scenario: write tables such as [topology]"
    );
}

#[test]
fn classes_of_a_port() {
    for (discipline, expected) in [
        (
            json!({"kind": "wrr", "weights": [1, 0]}),
            "weights[1]: 0 is not above zero",
        ),
        (
            json!({"kind": "drr", "weights": [1], "quantum": "1B"}),
            "quantum: 1B is not in [64B, 1GB]",
        ),
        (
            json!({"kind": "wfq", "weights": []}),
            "weights: 0 weights; write 1 to 256, one per class",
        ),
        (
            json!({"kind": "strict", "classes": 0}),
            "classes: 0 is not a whole number in [1, 256]",
        ),
        (
            json!({"kind": "wfq", "weights": [1], "inside": "lifo"}),
            "inside: unknown variant `lifo`, expected `fifo` or `fq`",
        ),
    ] {
        assert_eq!(
            scheme(json!({"port": {"discipline": discipline}})),
            format!("scheme.port.discipline.{expected}")
        );
    }
    let weights =
        json!({"preset": "dctcp", "port": {"discipline": {"kind": "drr", "weights": [1]}}});
    let two = json!([{"class": "web"}, {"class": "bulk"}]);
    assert_eq!(
        with(&[("scheme", weights), ("traffic.classes", two)]),
        "scheme.port.discipline: drr serves 1 of the 2 classes of the traffic (web, bulk)"
    );
}

#[test]
fn shapers() {
    assert_eq!(
        scheme(json!({"shaper": {"rate": "1Gbps", "bucket": "1KB"}})),
        "scheme.shaper.bucket: 1KB holds less than one full packet"
    );
    assert_eq!(
        scheme(json!({"shaper": {"rate": "1Gbps"}})),
        "scheme.shaper.bucket: is missing and has no default"
    );
    assert_eq!(
        scheme(json!({"shaper": {"rate": "1Gbps", "bucket": "10KB", "per": "flow"}})),
        "scheme.shaper.per: unknown variant `flow`, expected `host` or `class`"
    );
}
