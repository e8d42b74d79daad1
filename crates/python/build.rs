//! A fingerprint of the engine's sources, so that two builds of the same ones agree; and how it is built.
//!
//! Tests find no numbers of anybody's, so they are not in it: results that are kept outlive a new one.

use std::env::var;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in fs::read_dir(&crates).into_iter().flatten().flatten() {
        let krate = entry.path();
        files.push(krate.join("Cargo.toml"));
        for part in ["src", "presets", "data"] {
            collect(&krate.join(part), &mut files);
        }
    }
    files.push(crates.join("../Cargo.lock"));
    files.retain(|file| file.is_file());
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&crates).unwrap_or(file);
        hash.update(name.to_string_lossy().as_bytes());
        let text = fs::read(file).unwrap_or_default();
        hash.update(without_tests(&String::from_utf8_lossy(&text)));
    }
    println!("cargo::rustc-env=FCTLAB_SOURCES={:x}", hash.finalize());
    // .cargo/dev.toml optimises less.
    let fast = var("OPT_LEVEL").is_ok_and(|level| level == "3");
    let profile = if fast { "release" } else { "development" };
    println!("cargo::rustc-env=FCTLAB_PROFILE={profile}");
}

/// A file without the tests at its end.
fn without_tests(source: &str) -> &str {
    let tests = source.find("\n#[cfg(test)]\nmod tests {");
    &source[..tests.unwrap_or(source.len())]
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.file_stem().is_some_and(|name| name == "tests") => {}
            path if path.is_dir() => collect(&path, files),
            path => files.push(path),
        }
    }
}
