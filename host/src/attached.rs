//! A tagger at a device: put there, changed, taken away.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use aya::maps::{Array, Map, MapData, RingBuf};
use aya::programs::tc::{self, SchedClassifier, TcAttachType};
use aya::programs::{CgroupAttachMode, ProgramError, SockOps};
use aya::sys::{Stats, enable_stats};
use aya::{Ebpf, EbpfLoader};
use clap::ValueEnum;

use crate::records::Records;
use crate::settings::{Bytes, Settings};
use crate::stop::Stop;
use crate::verifier;

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/tagger.o"));
const PINS: &str = "/sys/fs/bpf/fctlab";
const TICK: Duration = Duration::from_millis(50);

/// What is compared with thresholds.
#[derive(Clone, Copy, ValueEnum)]
pub enum By {
    /// Bytes that the flow has sent (PIAS).
    Sent,
    /// Bytes that wait in the socket or are not acknowledged (ADS); the kernel needs BTF.
    Outstanding,
}

impl By {
    fn program(&self) -> &'static str {
        match self {
            By::Sent => "tag_sent",
            By::Outstanding => "tag_outstanding",
        }
    }
}

/// The map of a device's tagger, by its name in the BPF file system; removed when dropped.
struct Pin(PathBuf);

impl Pin {
    fn place(device: &str) -> PathBuf {
        Path::new(PINS).join(device)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_dir(PINS); // unless another device has a tagger
    }
}

/// Tags what leaves `device` until SIGINT or SIGTERM.
///
/// # Errors
/// The kernel refuses; of the verifier's log the file is named.
pub fn run(
    device: &str,
    by: By,
    settings: &Settings,
    records: Option<&Path>,
    cgroup: &Path,
    cost: bool,
) -> Result<()> {
    let stop = Stop::listen()?;
    let _counting = if cost {
        Some(enable_stats(Stats::RunTime)?)
    } else {
        None
    };
    let mut loaded = EbpfLoader::new()
        .load(OBJECT)
        .context("the tagger cannot be loaded")?;
    clear(device)?;
    let mut map: Array<_, Bytes> =
        Array::try_from(loaded.map_mut("settings").context("settings")?)?;
    map.set(0, settings.bytes(), 0)?;
    let place = Pin::place(device);
    fs::create_dir_all(PINS).context(PINS)?;
    loaded
        .map("settings")
        .context("settings")?
        .pin(&place)
        .context("pinning")?;
    let _pin = Pin(place);
    let mut told = match records {
        Some(file) => Some((Records::create(file)?, record(&mut loaded, cgroup)?)),
        None => None,
    };
    let tagger: &mut SchedClassifier = loaded
        .program_mut(by.program())
        .context(by.program())?
        .try_into()?;
    tagger.load().map_err(logged)?;
    // In order: clsact may be there already.
    let _ = tc::qdisc_add_clsact(device);
    tagger
        .attach(device, TcAttachType::Egress)
        .with_context(|| device.to_owned())?;
    let info = tagger.info()?;
    eprintln!("tagging what leaves {device}; Ctrl-C ends it");
    while !stop.told() {
        sleep(TICK);
        if let Some((file, ring)) = &mut told {
            while let Some(record) = ring.next() {
                file.write(&record)?;
            }
            file.flush()?;
        }
    }
    if cost {
        let (packets, time) = info_now(&info)?;
        eprintln!(
            "{packets} packets, {:.0} ns each",
            time as f64 / packets.max(1) as f64
        );
    }
    Ok(())
}

fn info_now(info: &aya::programs::ProgramInfo) -> Result<(u64, u128)> {
    let now = aya::programs::loaded_programs()
        .filter_map(Result::ok)
        .find(|each| each.id() == info.id())
        .context("the tagger is gone")?;
    Ok((now.run_count(), now.run_time().as_nanos()))
}

/// The program that writes a record when a flow ends.
fn record(loaded: &mut Ebpf, cgroup: &Path) -> Result<RingBuf<MapData>> {
    let place = File::open(cgroup).with_context(|| cgroup.display().to_string())?;
    let program: &mut SockOps = loaded
        .program_mut("flow_record")
        .context("flow_record")?
        .try_into()?;
    program.load().map_err(logged)?;
    // A link stands beside others whatever its mode.
    program
        .attach(place, CgroupAttachMode::Single)
        .with_context(|| format!("{} is no cgroup (version 2)", cgroup.display()))?;
    Ok(RingBuf::try_from(
        loaded.take_map("flows").context("flows")?,
    )?)
}

/// Keeps the verifier's log where there is one.
fn logged(error: ProgramError) -> anyhow::Error {
    if let ProgramError::LoadError { verifier_log, .. } = &error {
        let log = verifier_log.to_string();
        return verifier::kept(&log, error);
    }
    error.into()
}

/// Removes what a tagger that was killed has left at `device`.
fn clear(device: &str) -> Result<()> {
    let left = Pin::place(device);
    if !left.exists() {
        return Ok(());
    }
    let running = aya::programs::loaded_programs()
        .filter_map(Result::ok)
        .any(|each| uses(&each, &left));
    if running {
        // From Linux 6.6 on a program goes with its process: it runs. Before, a filter stays.
        let mut programs = By::value_variants().iter().map(By::program);
        let gone = |name| tc::qdisc_detach_program(device, TcAttachType::Egress, name).is_ok();
        if !programs.any(gone) {
            bail!("{device} has a tagger already: set-thresholds changes it");
        }
    }
    Ok(fs::remove_file(left)?)
}

fn uses(program: &aya::programs::ProgramInfo, pin: &Path) -> bool {
    let Ok(map) = MapData::from_pin(pin) else {
        return false;
    };
    let Ok(info) = map.info() else { return false };
    matches!(program.map_ids(), Ok(Some(ids)) if ids.contains(&info.id()))
}

fn pinned(device: &str) -> Result<Array<MapData, Bytes>> {
    let place = Pin::place(device);
    let map = MapData::from_pin(&place)
        .with_context(|| format!("{device} has no tagger ({})", place.display()))?;
    Ok(Array::try_from(Map::Array(map))?)
}

/// What the tagger of `device` does now.
///
/// # Errors
/// There is none.
pub fn now(device: &str) -> Result<Settings> {
    Ok(Settings::read(&pinned(device)?.get(&0, 0)?))
}

/// Changes thresholds, code points and priorities of the tagger of `device`.
///
/// # Errors
/// There is none.
pub fn change(device: &str, settings: Settings) -> Result<()> {
    let mut map = pinned(device)?;
    let idle_us = Settings::read(&map.get(&0, 0)?).idle_us;
    Ok(map.set(
        0,
        Settings {
            idle_us,
            ..settings
        }
        .bytes(),
        0,
    )?)
}
