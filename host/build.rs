//! Compiles the tagger for BPF.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "../python/fctlab/data/tagger.bpf.c";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("tagger.o");
    let machine = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    let status = Command::new("clang")
        .args(["-O2", "-g", "-Wall", "-DOUTSTANDING", "-target", "bpf"])
        .arg(format!("-I/usr/include/{machine}-linux-gnu"))
        .args(["-c", SOURCE, "-o"])
        .arg(&out)
        .status();
    match status {
        Ok(done) if done.success() => {}
        Ok(_) => {
            panic!("the tagger does not compile: clang, libbpf-dev and linux-libc-dev are needed")
        }
        Err(error) => panic!("clang: {error} (Debian packages clang, libbpf-dev)"),
    }
}
