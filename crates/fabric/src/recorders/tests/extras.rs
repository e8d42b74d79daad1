//! Extra summaries, and runs that are cut.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use serde_json::{Value, json};

use super::{Dir, execute, star, with};

#[test]
fn extras_by_hand() {
    let dir = Dir::new();
    // One packet alone takes 2 x (1.2 + 1) us.
    let measure = json!({"extras": ["goodput", "starvation", "jain"], "window": "10us"});
    let scenario = star(&dir, "0,0,2,1460\n0.001,0,2,1460\n");
    let outcome = execute(with(scenario, "measure", measure), None).unwrap();
    assert_eq!(outcome.recordings, Vec::<String>::new());
    let measured = json!({"from_s": 0.0, "until_s": 1e-5, "flows": 1, "unfinished": 0});
    assert_eq!(outcome.extras["measured"], measured);
    let goodput = &outcome.extras["goodput"];
    assert_eq!(goodput["delivered_bytes"], 1460);
    assert!((goodput["total_bps"].as_f64().unwrap() - 1460.0 * 8.0 / 1e-5).abs() < 1.0);
    let starvation = json!({"max_s": 4.4e-6, "max_flow": 0, "p99_s": 4.4e-6, "flows": 1,
        "max_s_lower_bound": false, "p99_s_lower_bound": false});
    assert_eq!(outcome.extras["starvation"], starvation);
    assert_eq!(outcome.extras["jain"]["intervals"], 0);
    assert_eq!(outcome.extras["jain"]["mean"], Value::Null);
}

#[test]
fn equal_flows_are_fair_and_the_shortest_first_is_not() {
    let dir = Dir::new();
    let jain = |scheme: Value| {
        let mut scenario = star(&dir, "0,0,2,10000000\n0,1,2,9000000\n");
        scenario["scheme"] = scheme;
        let outcome = execute(
            with(
                scenario,
                "measure",
                json!({"extras": ["jain", "starvation"]}),
            ),
            None,
        )
        .unwrap();
        let starved = outcome.extras["starvation"]["max_s"].as_f64().unwrap();
        (outcome.extras["jain"]["mean"].as_f64().unwrap(), starved)
    };
    let (fair, _) = jain(json!({"preset": "dctcp", "port": {"ecn_threshold": "65pkt"}}));
    let (unfair, starved) = jain(json!("pfabric"));
    assert!(unfair < 0.6 && fair > unfair + 0.1, "{unfair} {fair}");
    // The long one waits for the 9 MB of the short one.
    assert!(starved > 5e-3, "{starved}");
}

#[test]
fn queries_end_with_their_last_flow() {
    let scenario = json!({
        "topology": {"kind": "star", "senders": 10, "host_rate": "10Gbps", "link_delay": "1us"},
        "traffic": {"load": 0.1, "flows": 20, "pattern": {"kind": "incast", "fanin": 10, "query_size": "14600B"}},
        "scheme": "dctcp",
        "measure": {"extras": ["queries"]},
    });
    let outcome = execute(scenario, None).unwrap();
    let queries = &outcome.extras["queries"];
    // Ten packets of 1.2 us, one after the other, over the last link.
    let expected = 2.2e-6 + 10.0 * 1.2e-6 + 1e-6;
    assert_eq!(
        (&queries["count"], &queries["unfinished"]),
        (&json!(2), &json!(0))
    );
    assert!(
        (queries["avg_s"].as_f64().unwrap() - expected).abs() < 1e-12,
        "{queries}"
    );
}

/// Two queries of 15.2 us, the second of which is cut 5 us before its last byte arrives.
#[test]
fn a_query_that_is_cut_makes_lower_bounds() {
    let mut scenario = json!({
        "topology": {"kind": "star", "senders": 10, "host_rate": "10Gbps", "link_delay": "1us"},
        "traffic": {"load": 0.1, "flows": 20, "pattern": {"kind": "incast", "fanin": 10, "query_size": "14600B"}},
        "scheme": "dctcp",
        "measure": {"extras": ["queries", "starvation"]},
    });
    let whole = execute(scenario.clone(), None).unwrap();
    let queries = &whole.extras["queries"];
    for key in ["avg_s", "p50_s", "p99_s"] {
        assert_eq!(queries[format!("{key}_lower_bound")], false, "{queries}");
    }
    let at = last_end_s(&whole.flows) - 5e-6;
    scenario["measure"]["max_time"] = json!(format!("{:.0}ns", at * 1e9));
    let cut = execute(scenario, None).unwrap();
    let queries = &cut.extras["queries"];
    assert_eq!(
        (&queries["count"], &queries["unfinished"]),
        (&json!(2), &json!(1))
    );
    let close = |key: &str, expected: f64| {
        let found = queries[key].as_f64().unwrap();
        assert!((found - expected).abs() < 2e-9, "{key}: {queries}");
        assert_eq!(queries[format!("{key}_lower_bound")], true, "{queries}");
    };
    // The shorter time is the one that is not known, so the longer need not be the longest.
    close("p50_s", 10.2e-6);
    close("p99_s", 15.2e-6);
    close("avg_s", 12.7e-6);
    assert_eq!(cut.extras["starvation"]["max_s_lower_bound"], true);
}

/// When the last flow ended, in seconds.
fn last_end_s(flows: &[RecordBatch]) -> f64 {
    let ends = flows.iter().flat_map(|batch| {
        let column = |name| {
            batch
                .column_by_name(name)
                .unwrap()
                .as_primitive::<Float64Type>()
        };
        let (start, fct) = (column("start_s"), column("fct_s"));
        (0..batch.num_rows()).map(move |row| start.value(row) + fct.value(row))
    });
    ends.fold(0.0, f64::max)
}

/// Of three flows one finishes, one is cut after an eighth of its time and one never starts.
#[test]
fn a_run_that_is_cut_says_what_it_left() {
    let dir = Dir::new();
    for engine in ["packet", "model"] {
        let mut scenario = star(&dir, "0,0,2,1460\n0,1,2,10000000\n0.5,0,2,1460\n");
        scenario["scheme"] = json!("dctcp-rate");
        scenario["engine"] = json!(engine);
        scenario["measure"] = json!({"max_time": "1ms"});
        let outcome = execute(scenario.clone(), None).unwrap();
        let cut = json!({"at_s": 1e-3, "flows_not_started": 1, "flows_unfinished": 1});
        assert_eq!(outcome.extras["cut"], cut, "{engine}");
        let row = &outcome.summary[0];
        assert_eq!((row.flows, row.unfinished), (2, 1), "{engine}");
        assert!(row.avg_fct_s_lower_bound && row.avg_slowdown_lower_bound);
        assert!(row.p99_fct_s_lower_bound && row.p99_slowdown_lower_bound);
        assert!(
            !row.p50_fct_s_lower_bound,
            "{engine}: the short flow is done"
        );
        assert!(row.p50_fct_s < 1e-4 && row.p99_fct_s == 1e-3, "{engine}");
        // A flow that has had an eighth of its ideal time has a slowdown of at least 1.
        assert!(
            row.p99_slowdown >= 1.0 && row.avg_slowdown >= 1.0,
            "{engine}"
        );
        let (small, medium) = (&outcome.summary[1], &outcome.summary[2]);
        assert!(!small.avg_fct_s_lower_bound && !small.p99_slowdown_lower_bound);
        assert!(medium.avg_fct_s_lower_bound && medium.avg_slowdown >= 1.0);

        scenario["measure"] = json!({"max_time": "2s"});
        let whole = execute(scenario, None).unwrap();
        assert_eq!(whole.extras.get("cut"), None, "{engine}");
        assert!(!whole.summary[0].avg_fct_s_lower_bound, "{engine}");
    }
}

#[test]
fn flows_that_never_start_are_reported() {
    let dir = Dir::new();
    let record = json!({"windows": {"flows": [1, 0, 9]}, "packets": {"flows": [8]}});
    let scenario = with(star(&dir, "0,0,2,1460\n0,1,2,1460\n"), "record", record);
    let outcome = execute(scenario, Some(&dir.0)).unwrap();
    assert_eq!(
        outcome.extras["recordings"]["windows"],
        json!({"flows_not_seen": [9]})
    );
    assert_eq!(
        outcome.extras["recordings"]["packets"]["flows_not_seen"],
        json!([8])
    );
}
