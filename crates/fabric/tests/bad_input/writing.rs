//! How things are written: keys, names, units, `--set`, syntax.

use fctlab_fabric::disciplines::QueueSpec;
use fctlab_fabric::network::routing::RoutingSpec;
use fctlab_fabric::network::topology::TopologySpec;
use fctlab_fabric::scenario::{Format, parse, with_scheme};
use fctlab_fabric::scheme::PRESETS;
use fctlab_fabric::taggers::Tagger;
use fctlab_fabric::transports::RuleSpec;
use serde_json::{Value, json};

use crate::{good, scheme, set, with};

#[test]
fn keys() {
    assert_eq!(
        with(&[("topolgy", json!(1))]),
        "topolgy: unknown key; did you mean \"topology\"? known here: version, name, seed, engine, packet, \
         topology, base_rtt_s, capacity, traffic, measure, scheme, record"
    );
    assert_eq!(
        with(&[("traffic.laod", json!(0.5))]),
        "traffic.laod: unknown key; did you mean \"load\"? known here: workload, load, load_counts, \
         arrivals, per, pattern, flows, duration, trace, class, spacing, overload, classes, share_of"
    );
    assert_eq!(
        with(&[("topology.spine", json!(2))]),
        "topology.spine: unknown key; did you mean \"spines\"? known here: leaves, spines, \
         hosts_per_leaf, host_rate, fabric_rate, base_rtt, link_delay, host_delay, down"
    );
    assert_eq!(
        with(&[("measure.warm_up", json!("1ms"))]),
        "measure.warm_up: unknown key; did you mean \"warmup\"? known here: warmup, window, \
         cooldown, fct_ends, stop, max_time, extras"
    );
    assert_eq!(
        scheme(json!({"prot": {}})),
        "scheme.prot: unknown key; did you mean \"port\"? known here: name, transport, shaper, \
         tagger, port, nic, ports, routing"
    );
    assert_eq!(
        scheme(json!({"port": {"bufer": "1MB"}})),
        "scheme.port.bufer: unknown key; did you mean \"buffer\"? known here: discipline, buffer, \
         drop, ecn_threshold, ecn_scope, ecn_at"
    );
    assert_eq!(
        scheme(json!({"transport": {"gain": 0.5}})),
        "scheme.transport.gain: unknown key; known here: g, initial_alpha, echoes, \
         initial_window, max_window, window_limits, reduction, connections, handshake, rto, min_rto, \
         initial_rto, max_rto, rto_backoff, rto_restarts, fast_retransmit, dupack_threshold, holes, probe_after, \
         ack_every, ack_delay, quick_acks, ack_jitter, abc_limit"
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
         write numbers, \"workload\" or \"solve\" for those that fit the traffic, or one of websearch@0.5, websearch@0.6, websearch@0.7, websearch@0.8, \
         websearch@0.9, datamining@0.5, datamining@0.6, datamining@0.7, datamining@0.8, \
         datamining@0.9"
    );
    assert_eq!(
        scheme(json!({"port": {"drop": "head"}})),
        "scheme.port.drop: \"head\" is not known; known: tail, lowest-priority, longest-queue"
    );
    assert_eq!(
        with(&[("measure.fct_ends", json!("acked"))]),
        "measure.fct_ends: \"acked\" is not known; did you mean \"ack\"? known: delivery, ack"
    );
    let message = with_scheme(good(), &[], "dctp", "".as_ref())
        .unwrap_err()
        .to_string();
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
    let rate = "is not a rate above zero and at most 8Tbps: write a number with bps, Kbps, Mbps, Gbps or Tbps, such as \"10Gbps\"";
    let length = "is not a length of data: write a number with pkt, bdp, B, KB or MB, such as \"14pkt\", or a \
        time or base RTTs at the link's rate, such as \"24us\" or \"2rtt\"; or a sum, such as \"10pkt + 0.143rtt\"";
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
        scheme(json!({"port": {"buffer": "9rt"}})),
        format!("scheme.port.buffer: \"9rt\" {length}")
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
fn sets_and_syntax() {
    assert_eq!(
        set("traffic.load", "1.3"),
        "traffic.load: 1.3 is not in (0, 1)"
    );
    assert_eq!(
        set("scheme.transport.min_rot", "1us"),
        "scheme.transport.min_rot: unknown key; did you mean \"min_rto\"? known here: g, \
         initial_alpha, echoes, initial_window, max_window, window_limits, reduction, connections, handshake, rto, \
         min_rto, initial_rto, max_rto, rto_backoff, rto_restarts, fast_retransmit, dupack_threshold, holes, probe_after, \
         ack_every, ack_delay, quick_acks, ack_jitter, abc_limit"
    );
    assert_eq!(
        set("traffic..load", "1"),
        "traffic..load: is not a path; write keys with dots between, such as traffic.load"
    );
    assert_eq!(
        set("seed", "-1"),
        "seed: -1 is not a whole number from 0 to 18,446,744,073,709,551,615"
    );
    let message = parse("a = 1\nb = = 2\n", Format::Toml)
        .unwrap_err()
        .to_string();
    assert!(message.starts_with(":2: "), "{message}");
    let message = parse("[1]", Format::Json).unwrap_err().to_string();
    assert_eq!(
        message,
        "[1] is not a scenario: write tables such as [topology]"
    );
}
