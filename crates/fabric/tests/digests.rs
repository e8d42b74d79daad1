//! The frozen table of digests: what small runs of every scheme and engine find, byte for byte.
//!
//! `digests.json` has bases, which are scenarios without a scheme, and a digest per run. This test and
//! `python/tests/test_digests.py` compare with it, in whatever build. Where results are meant to change,
//! `UPDATE_GOLDEN=1 cargo test --release -p fctlab-fabric --test digests` writes it anew; the changelog then has to say so.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use common::on_threads;
use fctlab_fabric::scheme::PRESETS;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/digests.json")
}

fn table() -> Value {
    serde_json::from_str(&std::fs::read_to_string(file()).unwrap()).unwrap()
}

/// A column as bytes.
type Bytes = fn(&dyn Array) -> Vec<u8>;

/// What a run found: columns of flows in their order, each as bytes (little endian), then counters of packets.
fn digest(scenario: Value, threads: u32) -> String {
    let outcome = on_threads(threads, scenario, Path::new("/")).unwrap();
    let mut hash = Sha256::new();
    let columns: [(&str, Bytes); 9] = [
        ("flow", u64s),
        ("src", u32s),
        ("dst", u32s),
        ("size_bytes", u64s),
        ("start_s", f64s),
        ("fct_s", f64s),
        ("ideal_fct_s", f64s),
        ("slowdown", f64s),
        ("retransmissions", u32s),
    ];
    for (name, bytes) in columns {
        for batch in &outcome.flows {
            let batch: &RecordBatch = batch;
            hash.update(bytes(batch.column_by_name(name).unwrap().as_ref()));
        }
    }
    let c = &outcome.counters;
    for count in [c.data_packets, c.drops, c.ecn_marks, c.packet_hops] {
        hash.update(count.to_le_bytes());
    }
    let bytes = hash.finalize();
    bytes[..8].iter().map(|b| format!("{b:02x}")).collect()
}

fn u64s(column: &dyn Array) -> Vec<u8> {
    let values = column.as_primitive::<UInt64Type>().values();
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn u32s(column: &dyn Array) -> Vec<u8> {
    let values = column.as_primitive::<UInt32Type>().values();
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn f64s(column: &dyn Array) -> Vec<u8> {
    let values = column.as_primitive::<Float64Type>().values();
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// A run's scenario: `"BASE SCHEME"`.
fn scenario(table: &Value, run: &str) -> Value {
    let (base, scheme) = run.split_once(' ').unwrap();
    let mut scenario = table["bases"][base].clone();
    assert!(scenario.is_object(), "{run}: no base {base}");
    scenario["scheme"] = match scenario.get("scheme") {
        None => json!(scheme),
        Some(changed) => {
            let mut changed = changed.clone();
            changed["preset"] = json!(scheme);
            changed
        }
    };
    scenario
}

fn runs(table: &Value) -> Vec<String> {
    table["digests"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect()
}

fn found(table: &Value, threads: u32) -> BTreeMap<String, String> {
    let all = runs(table).into_iter();
    all.map(|run| (digest(scenario(table, &run), threads), run))
        .map(|(digest, run)| (run, digest))
        .collect()
}

fn frozen(table: &Value) -> BTreeMap<String, String> {
    serde_json::from_value(table["digests"].clone()).unwrap()
}

#[test]
fn every_run_finds_what_it_always_found() {
    let mut table = table();
    let now = found(&table, 1);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let digests = now.iter().map(|(run, digest)| (run.clone(), json!(digest)));
        table["digests"] = Value::Object(digests.collect::<Map<_, _>>());
        let text = serde_json::to_string_pretty(&table).unwrap() + "\n";
        return std::fs::write(file(), text).unwrap();
    }
    assert_eq!(now, frozen(&table));
}

#[test]
fn two_threads_and_a_hundredth_run_find_the_same() {
    let table = table();
    let same = |run: &str, threads: u32| {
        let digest = digest(scenario(&table, run), threads);
        assert_eq!(
            table["digests"][run],
            json!(digest),
            "{run}, {threads} threads"
        );
    };
    // Every kind of port on several threads is `threads.rs`.
    for run in ["leaf-spine dctcp", "fat-tree pfabric"] {
        same(run, 2);
    }
    for _ in 0..100 {
        same("incast dctcp", 1);
    }
}

/// glibc chooses functions for logarithms and powers by what the processor has.
#[test]
fn a_processor_without_avx2_finds_the_same() {
    if std::env::var_os("GLIBC_TUNABLES").is_some() {
        return;
    }
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "every_run_finds_what_it_always_found"])
        .env(
            "GLIBC_TUNABLES",
            "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F",
        )
        .env_remove("UPDATE_GOLDEN")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(told.contains("1 passed"), "{told}");
}

#[test]
fn every_scheme_has_a_digest() {
    let runs = runs(&table());
    for scheme in PRESETS {
        let packets = format!("leaf-spine {scheme}");
        assert!(runs.contains(&packets), "no digest of {packets}");
    }
}
