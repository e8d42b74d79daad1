//! Compiles for BPF what this program loads.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const SOURCES: &str = "../python/fctlab/data";
/// Names of files, and what is defined for them.
const PROGRAMS: [(&str, &[&str]); 2] = [("tagger", &["-DOUTSTANDING"]), ("dctcp", &[])];
const PACKAGES: &str = "clang, libbpf-dev and linux-libc-dev";

fn main() {
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let machine = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    for (name, defined) in PROGRAMS {
        let source = format!("{SOURCES}/{name}.bpf.c");
        println!("cargo::rerun-if-changed={source}");
        let status = Command::new("clang")
            .args(["-O2", "-g", "-Wall", "-target", "bpf"])
            .args(defined)
            .arg(format!("-D__TARGET_ARCH_{}", kernels(&machine)))
            .arg(format!("-I/usr/include/{machine}-linux-gnu"))
            .args(["-c", &source, "-o"])
            .arg(out.join(format!("{name}.o")))
            .status();
        match status {
            Ok(done) if done.success() => {}
            Ok(_) => panic!("{source} does not compile: {PACKAGES} are needed"),
            Err(error) => panic!("clang: {error} (Debian packages {PACKAGES})"),
        }
    }
}

/// What the kernel calls a machine.
fn kernels(machine: &str) -> &str {
    match machine {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        other => other,
    }
}
