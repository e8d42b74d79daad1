//! Running a scenario: what goes in, what comes out.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use fctlab_core::Time;
use serde_json::{Map, Value, json};

use crate::collect::{Collected, Collector};
use crate::cpu::thread_cpu;
use crate::engine;
use crate::engine::parallel;
use crate::engine::probe::Blind;
use crate::fluid;
use crate::measure::Extra;
use crate::model;
use crate::network::Fabric;
use crate::outcome::{Counters, Outcome, Perf, Progress, RunError};
use crate::prepared::{End, Ended, Observer, Prepared};
use crate::recorders::Recorders;
use crate::records::Record;
use crate::scenario::EngineSpec;
use crate::scenario::record::RecordSpec;

/// What the caller wants of a run besides its scenario.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// Stream flow records into this Parquet file instead of keeping them in
    /// memory. The file is complete only when [`run`] returns `Ok`.
    pub flows_out: Option<PathBuf>,
    /// Directory for what the scenario's recorders write; without it a
    /// scenario that asks for recordings is an error.
    pub recordings_out: Option<PathBuf>,
    /// Called about ten times a second; `Break` ends the run with
    /// [`RunError::Interrupted`].
    pub observer: Option<&'a mut Observer<'a>>,
    /// Threads on which to run it, the calling one among them; no more than
    /// [`most_threads`]. 0: one.
    pub threads: u32,
}

/// On how many threads `prepared` can be run at most, and what stands in the way of more. Its result is the same on
/// any number.
pub fn most_threads(prepared: &Prepared) -> (u32, &'static str) {
    let extras = &prepared.scenario.measure.extras;
    match prepared.scenario.engine {
        EngineSpec::Packet(_) if prepared.scenario.record != RecordSpec::default() => {
            (1, "what a run records is recorded on one thread")
        }
        EngineSpec::Packet(_) if extras.iter().any(|extra| *extra != Extra::Queries) => {
            (1, "what measure.extras asks for is seen on one thread")
        }
        EngineSpec::Packet(_) => parallel::most_threads(prepared),
        EngineSpec::Model(_) => (1, "the link model has one link, which is one thread's"),
        EngineSpec::Fluid(_) => (1, "the fluid's links are served one after the other"),
    }
}

/// Runs `prepared` to its end, on the calling thread and others that it asks for.
///
/// # Errors
/// [`RunError`]; nothing that was written may then be read as a result.
pub fn run(prepared: &Prepared, mut options: RunOptions<'_>) -> Result<Outcome, RunError> {
    let Prepared {
        scenario,
        fabric,
        settings,
        ..
    } = prepared;
    let mut recorders = Recorders::new(
        scenario,
        fabric,
        settings.window,
        options.recordings_out.as_deref(),
    )?;
    let shaped = scenario.scheme.shaper.is_some();
    let mut collector = Collector::new(prepared, shaped, options.flows_out)?;
    let mut sink = |record: &Record| collector.push(record);
    let mut idle = |_: &Progress| ControlFlow::Continue(());
    let observer: &mut dyn FnMut(&Progress) -> ControlFlow<()> = match &mut options.observer {
        Some(observer) => observer,
        None => &mut idle,
    };
    let mut last_look = Instant::now();
    let mut observe = |progress: &Progress| {
        if last_look.elapsed().as_millis() < 100 {
            return ControlFlow::Continue(());
        }
        last_look = Instant::now();
        observer(progress)
    };
    let threads = options.threads.clamp(1, most_threads(prepared).0);
    let (wall, cpu) = (Instant::now(), thread_cpu());
    let ended = match &scenario.engine {
        EngineSpec::Model(spec) => model::run(spec, prepared, &mut sink, &mut observe),
        EngineSpec::Fluid(spec) => fluid::run(spec, prepared, &mut sink, &mut observe),
        EngineSpec::Packet(_) if recorders.any() || settings.is_rare() => {
            engine::run(prepared, &mut recorders, &mut sink, &mut observe)
        }
        EngineSpec::Packet(_) if threads > 1 => {
            parallel::run(prepared, threads, &mut sink, &mut observe)
        }
        EngineSpec::Packet(_) => engine::run(prepared, &mut Blind, &mut sink, &mut observe),
    };
    let (cpu, wall_s) = (thread_cpu() - cpu, wall.elapsed().as_secs_f64());
    let Ended {
        end,
        counters,
        now,
        others_cpu,
        waited,
    } = ended?;
    match end {
        End::Complete => {}
        End::Interrupted => {
            let (finished, started) = (counters.flows_finished, counters.flows_started);
            return Err(RunError::Interrupted { finished, started });
        }
        End::Failed(error) => return Err(collector.failed(error)),
    }
    let Collected {
        flows,
        summary,
        measured,
        queries,
    } = collector.finish()?;
    let found = recorders.finish(now)?;
    let mut extras = Map::new();
    extras.insert("measured".into(), measured);
    if now >= settings.end_at
        && let Some(cut) = cut(now, prepared.expected_flows, &counters)
    {
        extras.insert("cut".into(), cut);
    }
    extras.extend(found.extras);
    if let Some(queries) = queries {
        extras.insert("queries".into(), queries);
    }
    if scenario.measure.extras.contains(&Extra::Waits) {
        extras.insert("waits".into(), waits(fabric, &waited));
    }
    Ok(Outcome {
        summary,
        offered: prepared.offered.clone(),
        warnings: prepared.warnings.clone(),
        counters,
        perf: Perf {
            wall_s,
            cpu_s: (cpu + others_cpu).as_secs_f64(),
            threads,
            packet_hops_per_s: counters.packet_hops as f64 / wall_s,
            simulated_s: now.as_secs_f64(),
            peak_rss_bytes: peak_rss_bytes(),
        },
        flows,
        recordings: found.files,
        extras,
    })
}

/// What `measure.max_time` left undone, if anything. How many flows there are is an expectation
/// where the traffic ends at a time.
fn cut(now: Time, expected: u64, counters: &Counters) -> Option<Value> {
    let started = counters.flows_started;
    let not_started = expected.saturating_sub(started);
    let unfinished = started - counters.flows_finished;
    (not_started + unfinished > 0).then(|| {
        json!({
            "at_s": now.as_secs_f64(),
            "flows_not_started": not_started,
            "flows_unfinished": unfinished,
        })
    })
}

/// Where bytes have waited, for how long: a row for each link at which some have, by number.
fn waits(fabric: &Fabric, waited: &[f64]) -> Value {
    let links = (0u32..).zip(waited).filter(|(_, waited)| **waited > 0.0);
    let rows = links.map(|(id, waited)| {
        json!({
            "link": fabric.port_name(id),
            "tier": fabric.tier(id),
            "byte_seconds": waited,
        })
    });
    rows.collect()
}

/// Peak resident memory of the process as the kernel tells it; 0 where it does not.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kb = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kb.unwrap_or(0) * 1024
}
