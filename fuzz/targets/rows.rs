//! Files of rows: traces in CSV, packed CSV and Parquet, and tables of sizes.
#![no_main]

use fctlab_fabric::prepare::prepare;
use fctlab_fabric::run::{RunOptions, run};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let name = ["rows.csv", "rows.csv.gz", "rows.parquet", "sizes.csv"][usize::from(first) % 4];
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    std::fs::write(folder.path().join(name), rest).expect("a file in memory");
    let traffic = if name.starts_with("sizes") {
        json!({"workload": {"kind": "cdf", "file": name}, "load": 0.5, "flows": 3})
    } else {
        json!({"trace": name})
    };
    let scenario = json!({
        "topology": {"kind": "star", "senders": 4, "host_rate": "10Gbps", "link_delay": "1us"},
        "traffic": traffic,
        "measure": {"max_time": "100us"},
        "scheme": "dctcp",
    });
    if let Ok(prepared) = prepare(scenario, &[], folder.path()) {
        let _ = run(&prepared, RunOptions::default());
    }
});
