//! Whole runs with recorders on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, UInt32Type, UInt64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::outcome::{Outcome, RunError};
use crate::prepare::prepare;
use crate::run::{RunOptions, run};

/// A directory that goes when the test does.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Dir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("fctlab-recorders-{}-{n}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Dir(path)
    }
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0)
            .unwrap()
            .map(|f| f.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
    fn table(&self, name: &str) -> RecordBatch {
        let file = fs::File::open(self.0.join(name)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .unwrap()
            .build()
            .unwrap();
        let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
        arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn execute(scenario: Value, out: Option<&Path>) -> Result<Outcome, RunError> {
    let scenario = prepare(scenario, &[], Path::new("."))?;
    run(
        &scenario,
        RunOptions {
            recordings_out: out.map(Path::to_owned),
            ..RunOptions::default()
        },
    )
}

fn error(scenario: Value) -> String {
    execute(scenario, None)
        .err()
        .map(|e| e.to_string())
        .unwrap_or_default()
}

/// A busy leaf-spine, with losses and marks.
fn busy(scheme: &str) -> Value {
    json!({
        "topology": {
            "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4,
            "host_rate": "10Gbps", "fabric_rate": "10Gbps", "base_rtt": "20us",
        },
        "traffic": {"workload": "websearch", "load": 0.7, "flows": 60, "pattern": "all-to-all"},
        "scheme": {"preset": scheme, "port": {"buffer": "30KB"}},
    })
}

fn with(mut scenario: Value, table: &str, content: Value) -> Value {
    scenario[table] = content;
    scenario
}

fn everything() -> Value {
    json!({
        "ports": {"interval": "50us"},
        "windows": {"flows": [0, 7]},
        "packets": {"flows": [3]},
        "waits": {},
    })
}

/// Flows of a star with 10 Gbps links, 1 us each: lines of a trace.
fn star(dir: &Dir, trace: &str) -> Value {
    let file = dir.0.join("trace.csv");
    fs::write(&file, format!("start_s,src,dst,size_bytes\n{trace}")).unwrap();
    json!({
        "topology": {"kind": "star", "senders": 2, "host_rate": "10Gbps", "link_delay": "1us"},
        "traffic": {"trace": file},
        "scheme": "dctcp",
    })
}

#[test]
fn recorders_only_look() {
    for scheme in ["tcp", "dctcp", "pfabric"] {
        let off = execute(busy(scheme), None).unwrap();
        let dir = Dir::new();
        let extras = json!({"extras": ["goodput", "jain", "starvation", "queries"]});
        let on = with(
            with(busy(scheme), "record", everything()),
            "measure",
            extras,
        );
        let on = execute(on, Some(&dir.0)).unwrap();
        assert!(on.flows == off.flows, "{scheme}");
        assert_eq!(on.summary, off.summary);
        let events = off.counters.events; // samples are events
        assert_eq!(
            crate::outcome::Counters {
                events,
                ..on.counters
            },
            off.counters
        );
        assert_eq!(
            on.recordings,
            [
                "port_series.parquet",
                "windows.parquet",
                "packets.pcapng",
                "waits.csv"
            ]
        );
        let mut names = on.recordings.clone();
        names.sort();
        assert_eq!(dir.files(), names, "only whole files");
    }
}

#[test]
fn port_series_add_up_to_what_was_counted() {
    for scheme in ["dctcp", "pfabric"] {
        let dir = Dir::new();
        let record = json!({"ports": {"interval": "30us"}});
        let outcome = execute(with(busy(scheme), "record", record), Some(&dir.0)).unwrap();
        let table = dir.table("port_series.parquet");
        let sum = |name: &str| {
            let column = table
                .column_by_name(name)
                .unwrap()
                .as_primitive::<UInt64Type>();
            arrow::compute::sum(column).unwrap_or(0)
        };
        assert!(outcome.counters.drops > 0);
        assert_eq!(sum("drops"), outcome.counters.drops);
        assert_eq!(sum("marks"), outcome.counters.ecn_marks);
        assert_eq!(sum("packets"), outcome.counters.packet_hops);
        let shares = table
            .column_by_name("utilisation")
            .unwrap()
            .as_primitive::<Float64Type>();
        assert!(shares.iter().flatten().all(|u| (0.0..=1.0).contains(&u)));
        let queued = table
            .column_by_name("queued_bytes")
            .unwrap()
            .as_primitive::<UInt64Type>();
        assert!(arrow::compute::max(queued).unwrap() > 10_000);
    }
}

/// Two packets of 1500 B at 10 Gbps, 1.2 us each, to one receiver at once.
#[test]
fn a_port_by_hand() {
    let dir = Dir::new();
    let scenario = star(&dir, "0,0,2,1460\n0,1,2,1460\n");
    let ports = json!({"interval": "2.8us", "which": ["switch -> host 2"]});
    let record = json!({"ports": ports, "waits": {"longest": 5}});
    execute(with(scenario, "record", record), Some(&dir.0)).unwrap();
    let table = dir.table("port_series.parquet");
    let values = |name: &str| {
        table
            .column_by_name(name)
            .unwrap()
            .as_primitive::<Float64Type>()
            .values()
            .to_vec()
    };
    // Both arrive at 2.2 us; one is sent until 3.4 us, the other until 4.6 us.
    let (times, shares) = (values("time_s"), values("utilisation"));
    assert!((times[0] - 2.8e-6).abs() < 1e-15 && (times[1] - 5.6e-6).abs() < 1e-15);
    assert!(
        (shares[0] - 0.6 / 2.8).abs() < 1e-6 && (shares[1] - 1.8 / 2.8).abs() < 1e-6,
        "{shares:?}"
    );
    assert_eq!(
        table
            .column_by_name("queued_bytes")
            .unwrap()
            .as_primitive::<UInt64Type>()
            .value(0),
        1500
    );
    let text = dir.text("waits.csv");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "time_s,port,flow,seq,kind,waited_s");
    assert_eq!(
        lines[1..],
        ["0.0000022,switch -> host 2,1,0,data,0.0000012"]
    );
}

/// At a choosing port, waits end when the packet is chosen.
#[test]
fn waits_at_a_choosing_port_by_hand() {
    let dir = Dir::new();
    let scenario = star(&dir, "0,0,2,1460\n0,1,2,1460\n0.000000001,0,2,1460\n");
    let nic = json!({"discipline": "fifo", "drop": "tail"});
    let mut scenario = with(scenario, "record", json!({"waits": {}}));
    scenario["scheme"] = json!({"preset": "pfabric", "nic": nic});
    execute(scenario, Some(&dir.0)).unwrap();
    let text = dir.text("waits.csv");
    // Flow 2 waits 1.199 us in its NIC, and then for flow 1 at the switch.
    let at_switch: Vec<&str> = text
        .lines()
        .filter(|l| l.contains("switch -> host 2"))
        .collect();
    assert_eq!(
        at_switch,
        [
            "0.0000022,switch -> host 2,1,0,data,0.0000012",
            "0.0000034,switch -> host 2,2,0,data,0.0000012",
        ],
        "{text}"
    );
    assert!(
        text.contains("0.000000001,host 0 -> switch,2,0,data,0.000001199"),
        "{text}"
    );
}

#[test]
fn windows_by_hand() {
    let dir = Dir::new();
    let mut scenario = star(&dir, "0,0,2,14600\n0,1,2,1460\n");
    scenario["scheme"] = json!({
        "preset": "dctcp",
        "transport": {"initial_window": "4pkt", "initial_alpha": 0.5},
        "nic": {"per_flow_limit": "none"},
    });
    execute(
        with(scenario, "record", json!({"windows": {"flows": [0]}})),
        Some(&dir.0),
    )
    .unwrap();
    let table = dir.table("windows.parquet");
    let floats = |i: usize| {
        table
            .column(i)
            .as_primitive::<Float64Type>()
            .values()
            .to_vec()
    };
    let in_flight = table
        .column(3)
        .as_primitive::<UInt32Type>()
        .values()
        .to_vec();
    // Four packets at once; each ACK lets two more go; alpha decays once per window of data.
    assert_eq!((floats(0)[0], floats(2)[0], in_flight[0]), (0.0, 4.0, 4));
    assert_eq!(floats(2)[1..4], [5.0, 6.0, 7.0]);
    assert_eq!(in_flight[1..4], [5, 6, 7]);
    assert_eq!(floats(4)[1], 0.5 * 15.0 / 16.0);
    assert_eq!(*in_flight.last().unwrap(), 0);
    assert!(floats(0).is_sorted());
}

/// Interface, nanoseconds, captured bytes and original length of each packet,
/// and the names of the interfaces.
type Capture = (Vec<String>, Vec<(u32, u64, Vec<u8>, u32)>);

fn read_pcapng(bytes: &[u8]) -> Capture {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut names, mut packets) = (0, Vec::new(), Vec::new());
    while at < bytes.len() {
        let length = word(at + 4) as usize;
        assert_eq!(word(at + length - 4) as usize, length);
        match word(at) {
            1 => {
                let name = word(at + 16);
                assert_eq!(name & 0xFFFF, 2);
                let end = at + 20 + (name >> 16) as usize;
                names.push(String::from_utf8(bytes[at + 20..end].to_vec()).unwrap());
            }
            6 => {
                let captured = word(at + 20) as usize;
                let ns = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
                let data = bytes[at + 28..at + 28 + captured].to_vec();
                packets.push((word(at + 8), ns, data, word(at + 24)));
            }
            kind => assert_eq!(kind, 0x0A0D_0D0A),
        }
        at += length;
    }
    (names, packets)
}

/// A flow of two packets: seen leaving, arriving, and so their ACKs.
#[test]
fn a_packet_trace_by_hand() {
    let dir = Dir::new();
    let scenario = star(&dir, "0,0,2,2000\n0.5,1,2,1460\n");
    let outcome = execute(
        with(scenario, "record", json!({"packets": {"flows": [0]}})),
        Some(&dir.0),
    )
    .unwrap();
    let (names, packets) = read_pcapng(&fs::read(dir.0.join("packets.pcapng")).unwrap());
    assert_eq!(names, ["host 0", "host 2"]);
    let seen: Vec<(u32, u64, u32, u32)> = packets
        .iter()
        .map(|(interface, ns, data, length)| {
            let number = u32::from_be_bytes(data[24..28].try_into().unwrap());
            let ack = u32::from_be_bytes(data[28..32].try_into().unwrap());
            assert!(data.len() == 40 && (number == 0 || ack == 0));
            (*interface, *ns, number + ack, *length)
        })
        .collect();
    // 1500 B take 1200 ns per link, 580 B 464 ns, 40 B 32 ns; links 1 us.
    let expected = [
        (0, 0, 0, 1500),
        (0, 0, 1460, 580),
        (1, 4400, 0, 1500),
        (1, 4400, 1460, 40),
        (1, 4864, 1460, 580),
        (1, 4864, 2000, 40),
        (0, 6464, 1460, 40),
        (0, 6928, 2000, 40),
    ];
    assert_eq!(seen, expected);
    let report = json!({"written_packets": 8, "left_out_packets": 0, "flows_not_seen": []});
    assert_eq!(outcome.extras["recordings"]["packets"], report);
}

#[test]
fn a_packet_trace_has_a_limit_and_a_view() {
    let dir = Dir::new();
    let scenario = star(&dir, "0,0,2,20000\n");
    let record = json!({"packets": {"flows": [0], "at": "sender", "max_packets": 5}});
    let outcome = execute(with(scenario, "record", record), Some(&dir.0)).unwrap();
    let (names, packets) = read_pcapng(&fs::read(dir.0.join("packets.pcapng")).unwrap());
    assert_eq!((names.len(), packets.len()), (1, 5));
    // 14 data packets and 14 ACKs.
    assert_eq!(
        outcome.extras["recordings"]["packets"]["left_out_packets"],
        23
    );
}

/// Wireshark's own reading, where it is installed.
#[test]
fn wireshark_reads_the_packet_trace() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed");
        return;
    }
    let dir = Dir::new();
    let flows: Vec<u32> = (0..60).collect();
    let record = json!({"packets": {"flows": flows, "at": "sender", "max_packets": 20_000}});
    let mut scenario = with(busy("dctcp"), "record", record);
    scenario["scheme"]["port"]["ecn_threshold"] = json!("5pkt");
    execute(scenario, Some(&dir.0)).unwrap();
    let fields = [
        "_ws.malformed",
        "ip.checksum.status",
        "tcp.checksum.status",
        "tcp.len",
        "frame.len",
        "ip.dsfield.ecn",
        "tcp.options.sack_le",
        "tcp.flags.ece",
        "tcp.analysis.retransmission",
    ];
    let mut tshark = Command::new("tshark");
    tshark.args([
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
        "-T",
        "fields",
    ]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = tshark
        .arg("-r")
        .arg(dir.0.join("packets.pcapng"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(rows.len(), 20_000);
    for row in &rows {
        // Not malformed; IPv4's checksum good (1), TCP's good or, without the payload, not verified (2).
        assert!(
            row[0].is_empty() && row[1] == "1" && ["1", "2"].contains(&row[2]),
            "{row:?}"
        );
    }
    let some = |test: &dyn Fn(&[&str]) -> bool| rows.iter().any(|row| test(row));
    assert!(some(&|row| row[3..6] == ["1460", "1500", "2"]));
    assert!(some(&|row| !row[6].is_empty()), "no SACK block");
    assert!(some(&|row| row[7] == "1"), "no ECE");
    assert!(some(&|row| !row[8].is_empty()), "no retransmission");
}

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

/// Two queries of 15.2 us, the second of which is cut 5 us before its last byte arrives, whose ACK takes
/// 2.064 us.
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
    let at = whole.perf.simulated_s - 7.064e-6;
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

#[test]
fn mistakes_name_path_value_and_what_is_allowed() {
    let wrong = |record: Value| error(with(busy("dctcp"), "record", record));
    let ports = |which: Value| wrong(json!({"ports": {"interval": "1us", "which": which}}));
    let text = ports(json!(["leaf 0 -> host 3", "leaf 0 -> hots 2"]));
    assert!(
        text.starts_with("record.ports.which[1]: \"leaf 0 -> hots 2\" is not a port; did you mean"),
        "{text}"
    );
    assert!(text.contains("\"leaf 0 -> host 2\""), "{text}");
    assert!(ports(json!([])).starts_with("record.ports.which: is empty"));
    assert!(
        ports(json!("leaf 0"))
            .starts_with("record.ports.which: \"leaf 0\" is not a choice of ports")
    );
    assert!(ports(json!(["leaf 0 -> host 3", "leaf 0 -> host 3"])).contains("twice"));
    assert_eq!(
        wrong(json!({"ports": {"interval": "0s"}})),
        "record.ports.interval: 0s is not above zero"
    );
    assert!(wrong(json!({"windows": {"flows": []}})).starts_with("record.windows.flows: is empty"));
    let text = wrong(json!({"packets": {"flows": [0, 60]}}));
    assert!(
        text.starts_with("record.packets.flows[1]: 60 is not in [0, 59]"),
        "{text}"
    );
    assert!(wrong(json!({"packets": {"flows": [-1]}})).starts_with("record.packets.flows[0]: "));
    assert!(wrong(json!({"waits": {"longest": 0}})).starts_with("record.waits.longest: 0 is not"));
    assert!(wrong(json!({"prots": {}})).contains("did you mean \"ports\""));
    let text = wrong(everything());
    assert!(
        text.starts_with("record: asks for recordings") && text.contains("--out"),
        "{text}"
    );
}

#[test]
fn a_file_that_cannot_be_written_fails_the_run() {
    let dir = Dir::new();
    let gone = dir.0.join("gone");
    let result = execute(
        with(busy("dctcp"), "record", json!({"waits": {}})),
        Some(&gone),
    );
    assert!(matches!(result, Err(RunError::Io { path, .. }) if path.starts_with(&gone)));
}

/// An interrupted run leaves nothing behind that could be read as whole.
#[test]
fn an_interrupted_run_leaves_no_files() {
    let dir = Dir::new();
    let mut scenario = with(busy("dctcp"), "record", everything());
    scenario["traffic"]["flows"] = json!(100_000);
    let scenario = prepare(scenario, &[], Path::new(".")).unwrap();
    let mut stop = |_: &crate::outcome::Progress| std::ops::ControlFlow::Break(());
    let options = RunOptions {
        recordings_out: Some(dir.0.clone()),
        observer: Some(&mut stop),
        ..RunOptions::default()
    };
    assert!(matches!(
        run(&scenario, options),
        Err(RunError::Interrupted { .. })
    ));
    assert_eq!(dir.files(), Vec::<String>::new());
}

/// A resolved scenario with recorders resolves to itself.
#[test]
fn specifications_read_back() {
    for which in [json!("all"), json!(["leaf 0 -> host 3"])] {
        let mut record = everything();
        record["ports"]["which"] = which;
        let prepared = |value| prepare(value, &[], Path::new(".")).unwrap().scenario;
        let first = prepared(with(busy("dctcp"), "record", record));
        let again = serde_json::to_value(&first).unwrap();
        assert_eq!(prepared(again), first);
    }
}
