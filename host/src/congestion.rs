//! DCTCP (`dctcp.bpf.c`) given to a kernel that is built without it, for as long as this process is.
//!
//! The kernel drops it with the link that this process holds: nothing is left, however it ends.

use std::fs;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use libbpf_rs::{MapCore as _, ObjectBuilder, PrintLevel, set_print};

use crate::stop::Stop;
use crate::verifier;

/// Aligned as libbpf reads it.
#[repr(C, align(8))]
struct Aligned<T: ?Sized>(T);

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/dctcp.o")));
const TYPES: &str = "/sys/kernel/btf/vmlinux";
const UNIQUE: &str = "/proc/sys/kernel/random/uuid";
/// As `dctcp.bpf.c` has it, where a name that no other has is written instead.
const NAME: &[u8; 16] = b"fctlab\0\0\0\0\0\0\0\0\0\0";
const TICK: Duration = Duration::from_millis(50);

/// What libbpf says.
static TOLD: Mutex<String> = Mutex::new(String::new());

/// Registers it under a name of its own, prints that, and stays until SIGINT or SIGTERM.
///
/// # Errors
/// The kernel has no types, or refuses; of the verifier's log the file is named.
pub fn run() -> Result<()> {
    let stop = Stop::listen()?;
    ensure!(
        fs::exists(TYPES)?,
        "this kernel has no {TYPES} (CONFIG_DEBUG_INFO_BTF), which struct_ops needs"
    );
    set_print(Some((PrintLevel::Warn, |_, said| {
        if let Ok(mut told) = TOLD.lock() {
            told.push_str(&said);
        }
    })));
    let name = format!("fctlab_{:.8}", fs::read_to_string(UNIQUE)?);
    let mut open = ObjectBuilder::default().open_memory(&OBJECT.0)?;
    for mut map in open.maps_mut() {
        let Some(value) = map.initial_value_mut() else {
            continue;
        };
        if let Some(at) = value.windows(NAME.len()).position(|each| each == NAME) {
            value[at..at + name.len()].copy_from_slice(name.as_bytes());
        }
    }
    let mut loaded = open.load().map_err(refused)?;
    let mut map = loaded
        .maps_mut()
        .find(|map| map.name() == "dctcp")
        .context("dctcp")?;
    let _link = map.attach_struct_ops().map_err(refused)?;
    println!("{name}");
    while !stop.told() {
        sleep(TICK);
    }
    Ok(())
}

fn refused(error: libbpf_rs::Error) -> anyhow::Error {
    let told = TOLD.lock().map(|told| told.clone()).unwrap_or_default();
    verifier::kept(&told, error).context("DCTCP cannot be loaded")
}
