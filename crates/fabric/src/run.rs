//! Running a scenario: what goes in, what comes out.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use fctlab_core::{SpecError, Time};
use serde_json::{Map, Value, json};

use crate::engine;
use crate::engine::probe::Blind;
use crate::measure::Extra;
use crate::model;
use crate::outcome::{Counters, Outcome, Perf, Progress, RunError};
use crate::prepared::{End, Ended, Observer, Prepared};
use crate::recorders::Recorders;
use crate::recorders::queries::Queries;
use crate::records::{Record, Records};
use crate::scenario::{EngineSpec, Scenario};
use crate::summary::{Summary, SummaryRow};

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
        classes,
        ..
    } = prepared;
    let window = settings.window;
    let mut recorders =
        Recorders::new(scenario, fabric, window, options.recordings_out.as_deref())?;
    let io = |path: &Option<PathBuf>, source| RunError::Io {
        path: path.clone().unwrap_or_default(),
        source,
    };
    let file = options.flows_out.as_ref().map(File::create).transpose();
    let file = file.map_err(|e| io(&options.flows_out, e))?;
    let mut records = Records::new(classes.clone(), scenario.scheme.shaper.is_some(), file)
        .map_err(|e| io(&options.flows_out, e))?;
    let mut summary = Summary::default();
    let mut queries = scenario
        .measure
        .extras
        .contains(&Extra::Queries)
        .then(Queries::default);
    let mut last_start = Time::ZERO;
    let mut sink = |record: &Record| {
        last_start = last_start.max(record.flow.start);
        summary.push(record);
        if let Some(queries) = &mut queries {
            queries.push(record);
        }
        records.push(record)
    };
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
        End::Failed(error) => return Err(io(&options.flows_out, error)),
    }
    let flows = records.finish().map_err(|e| io(&options.flows_out, e))?;
    let summary = summary.rows(&scenario.scheme.name, classes);
    if summary[0].flows == 0 {
        return Err(nothing_measured(scenario, window, &counters, last_start).into());
    }
    let found = recorders.finish(now)?;
    let mut extras = Map::new();
    extras.insert("measured".into(), measured(window, &summary[0]));
    if now >= settings.end_at
        && let Some(cut) = cut(now, prepared.expected_flows, &counters)
    {
        extras.insert("cut".into(), cut);
    }
    extras.extend(found.extras);
    if let Some(queries) = queries {
        extras.insert("queries".into(), queries.report());
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

/// Why no flow counts.
fn nothing_measured(
    scenario: &Scenario,
    (from, until): (Time, Time),
    counters: &Counters,
    last_start: Time,
) -> SpecError {
    let measure = &scenario.measure;
    let flows = counters.flows_started;
    let start = last_start.since(Time::ZERO).rounded();
    match (flows, measure.max_time) {
        (0, Some(end)) => {
            let message = format!("{end}: no flow has started by then, so that none is measured");
            SpecError::new("measure.max_time", message)
        }
        (0, None) => SpecError::new("traffic", "no flow starts, so that none is measured"),
        _ if last_start < from => {
            let message = format!(
                "{}: no flow is measured; the last of {flows} starts at {start}",
                measure.warmup
            );
            SpecError::new("measure.warmup", message)
        }
        _ => {
            let key = if measure.window.is_some() {
                "window"
            } else {
                "cooldown"
            };
            let until = until.since(Time::ZERO).rounded();
            let from = from.since(Time::ZERO).rounded();
            let message =
                format!("no flow is measured: none of {flows} starts from {from} to {until}");
            SpecError::new(key, message).under("measure")
        }
    }
}

/// The measured window as resolved, and the flows that started in it.
fn measured((from, until): (Time, Time), all: &SummaryRow) -> Value {
    json!({
        "from_s": from.as_secs_f64(),
        "until_s": (until != Time::NEVER).then(|| until.as_secs_f64()),
        "flows": all.flows,
        "unfinished": all.unfinished,
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
