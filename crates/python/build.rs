//! A fingerprint of the engine's sources, so that two builds of the same ones agree; and how it is built.

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
        hash.update(fs::read(file).unwrap_or_default());
    }
    println!("cargo::rustc-env=FCTLAB_SOURCES={:x}", hash.finalize());
    // .cargo/dev.toml optimises less.
    let fast = var("OPT_LEVEL").is_ok_and(|level| level == "3");
    let profile = if fast { "release" } else { "development" };
    println!("cargo::rustc-env=FCTLAB_PROFILE={profile}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => collect(&path, files),
            path => files.push(path),
        }
    }
}
