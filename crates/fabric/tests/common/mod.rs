//! What the tests of whole runs share: small scenarios over written-out flows.

#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use fctlab_fabric::outcome::{Counters, Outcome};
use fctlab_fabric::prepare::prepare;
use fctlab_fabric::run::{RunOptions, run};
use fctlab_fabric::scenario::{Format, parse};
use fctlab_fabric::summary::SummaryRow;
use serde_json::{Value, json};

/// Whether tests look at all they can, for minutes more: `FCTLAB_TESTS=all`.
pub(crate) fn everything() -> bool {
    std::env::var("FCTLAB_TESTS").is_ok_and(|tests| tests == "all")
}

/// Picoseconds in a microsecond.
pub(crate) const US: u64 = 1_000_000;

/// A folder of its own under the system's, removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fctlab-test-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A flow to play: start in picoseconds, source, destination, payload bytes.
pub(crate) type Given = (u64, u32, u32, u64);

/// One row of the flow records.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub flow: u64,
    pub src: u32,
    pub dst: u32,
    pub size: u64,
    pub start: u64,
    pub fct: u64,
    pub ideal: u64,
    pub slowdown: f64,
    pub finished: bool,
    pub reason: Option<String>,
    pub retransmissions: u32,
    pub timeouts: u32,
    /// Only of a scheme with a shaper, picoseconds.
    pub source_delay: Option<u64>,
}

/// What a run gave.
pub(crate) struct Played {
    pub flows: Vec<Row>,
    pub counters: Counters,
    pub summary: Vec<SummaryRow>,
}

impl Played {
    /// Completion times in picoseconds, in order of start.
    pub(crate) fn fcts(&self) -> Vec<u64> {
        self.flows.iter().map(|f| f.fct).collect()
    }
}

/// Seconds as picoseconds; exact for every time below an hour that started
/// life as a whole number of picoseconds (53 bits hold 9e15 of them).
fn ps(seconds: f64) -> u64 {
    (seconds * 1e12).round() as u64
}

fn rows(batch: &RecordBatch) -> Vec<Row> {
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let u64s = |name: &str| column(name).as_primitive::<UInt64Type>();
    let u32s = |name: &str| column(name).as_primitive::<UInt32Type>();
    let f64s = |name: &str| column(name).as_primitive::<Float64Type>();
    let reasons = column("unfinished_reason").as_string::<i32>();
    (0..batch.num_rows())
        .map(|i| Row {
            flow: u64s("flow").value(i),
            src: u32s("src").value(i),
            dst: u32s("dst").value(i),
            size: u64s("size_bytes").value(i),
            start: ps(f64s("start_s").value(i)),
            fct: ps(f64s("fct_s").value(i)),
            ideal: ps(f64s("ideal_fct_s").value(i)),
            slowdown: f64s("slowdown").value(i),
            finished: column("finished").as_boolean().value(i),
            reason: reasons.is_valid(i).then(|| reasons.value(i).to_owned()),
            retransmissions: u32s("retransmissions").value(i),
            timeouts: u32s("timeouts").value(i),
            source_delay: batch
                .column_by_name("source_delay_s")
                .map(|c| ps(c.as_primitive::<Float64Type>().value(i))),
        })
        .collect()
}

impl From<Outcome> for Played {
    fn from(outcome: Outcome) -> Self {
        Played {
            flows: outcome.flows.iter().flat_map(rows).collect(),
            counters: outcome.counters,
            summary: outcome.summary,
        }
    }
}

/// Runs `scenario`; what is wrong with it otherwise.
pub(crate) fn try_run(scenario: Value, base_dir: &Path) -> Result<Played, String> {
    on_threads(1, scenario, base_dir).map(Played::from)
}

/// Runs `scenario` on so many threads, or as many as there can be; what is wrong with it otherwise.
pub(crate) fn on_threads(
    threads: u32,
    scenario: Value,
    base_dir: &Path,
) -> Result<Outcome, String> {
    let scenario = prepare(scenario, &[], base_dir).map_err(|e| e.to_string())?;
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    run(&scenario, options).map_err(|e| e.to_string())
}

/// Runs `scenario`, which generates its own flows.
pub(crate) fn generated(scenario: Value) -> Played {
    try_run(scenario, Path::new("/")).unwrap()
}

/// A trace in CSV; starts are written out to the picosecond.
pub(crate) fn trace(flows: &[Given]) -> String {
    let mut text = String::from("start_s,src,dst,size_bytes\n");
    for (start, src, dst, size) in flows {
        let (s, ps) = (start / 1_000_000_000_000, start % 1_000_000_000_000);
        text += &format!("{s}.{ps:012},{src},{dst},{size}\n");
    }
    text
}

/// Runs `scenario` over `flows`.
pub(crate) fn play(mut scenario: Value, flows: &[Given]) -> Played {
    let folder = Folder::new();
    folder.write("flows.csv", &trace(flows));
    scenario["traffic"]["trace"] = json!("flows.csv");
    try_run(scenario, folder.path()).unwrap()
}

/// Reads TOML as `fctlab run` does.
pub(crate) fn toml(text: &str) -> Value {
    parse(text, Format::Toml).unwrap()
}

/// A star: 10 Gbps links (1500 B take 1.2 us) of 1 us each.
pub(crate) fn star(senders: u32, scheme: Value) -> Value {
    json!({
        "topology": {"kind": "star", "senders": senders, "host_rate": "10Gbps", "link_delay": "1us"},
        "scheme": scheme,
    })
}

/// A scheme that never gets in the way of a single flow: windows and buffers
/// beyond any flow of these tests.
pub(crate) fn unlimited(transport: &str) -> Value {
    json!({
        "transport": {"kind": transport, "initial_window": "100000pkt", "min_rto": "100ms"},
        "port": {"buffer": "100MB"},
    })
}
