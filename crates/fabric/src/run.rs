//! Running a scenario: what goes in, what comes out.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use fctlab_core::Time;
use serde_json::{Map, Value, json};

use crate::collect::{Collected, Collector};
use crate::engine;
use crate::engine::probe::Blind;
use crate::model;
use crate::outcome::{Counters, Outcome, Perf, Progress, RunError};
use crate::prepared::{End, Ended, Observer, Prepared};
use crate::recorders::Recorders;
use crate::records::Record;
use crate::scenario::EngineSpec;

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
}

/// Runs `prepared` to its end on the calling thread.
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
    let (wall, cpu) = (Instant::now(), thread_cpu_s());
    let ended = match &scenario.engine {
        EngineSpec::Model(spec) => model::run(spec, prepared, &mut sink, &mut observe),
        EngineSpec::Packet(_) if recorders.any() || settings.is_rare() => {
            engine::run(prepared, &mut recorders, &mut sink, &mut observe)
        }
        EngineSpec::Packet(_) => engine::run(prepared, &mut Blind, &mut sink, &mut observe),
    };
    let (cpu_s, wall_s) = (thread_cpu_s() - cpu, wall.elapsed().as_secs_f64());
    let Ended { end, counters, now } = ended?;
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
    Ok(Outcome {
        summary,
        offered: prepared.offered.clone(),
        warnings: prepared.warnings.clone(),
        counters,
        perf: Perf {
            wall_s,
            cpu_s,
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

fn thread_cpu_s() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// Peak resident memory of the process as the kernel tells it; 0 where it does not.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kb = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kb.unwrap_or(0) * 1024
}
