//! A fingerprint of the engine's sources, so that two builds of the same ones agree.

use std::fs;
use std::path::{Path, PathBuf};

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
    let mut hash = Fnv::default();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&crates).unwrap_or(file);
        hash.add(name.to_string_lossy().as_bytes());
        hash.add(&fs::read(file).unwrap_or_default());
    }
    println!("cargo::rustc-env=FCTLAB_SOURCES={:016x}", hash.0);
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

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
