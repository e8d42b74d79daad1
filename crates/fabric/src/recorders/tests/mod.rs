//! Whole runs with recorders on.

mod extras;
mod packets;
mod ports;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use arrow_array::RecordBatch;
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
        arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap()
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
