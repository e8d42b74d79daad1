//! One run: started, listened to while it goes on, and what it found.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use fctlab_core::Rate;
use fctlab_core::units::{DataLength, RttTime};
use fctlab_fabric::elsewhere::{self, Told};
use fctlab_fabric::outcome::{self, Outcome, RunError};
use fctlab_fabric::run::{self, RunOptions};
use fctlab_fabric::{prepared, records};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;

use crate::calls::{Stop, call, call_with};
use crate::errors::{os_error, spec_error, value};
use crate::table::Table;

/// How often a callback is told.
const TELL_EVERY: Duration = Duration::from_millis(90);

/// How far a run has come.
#[pyclass(frozen, get_all, module = "fctlab._native")]
#[derive(Clone, Copy, Default)]
pub(crate) struct Progress {
    /// Simulated time in seconds.
    now_s: f64,
    /// Flows that have started.
    flows_started: u64,
    /// Flows that have finished.
    flows_finished: u64,
    /// Flows that will start, where that is known.
    flows_expected: Option<u64>,
    /// Packets that have crossed a link.
    packet_hops: u64,
}

impl From<&outcome::Progress> for Progress {
    fn from(p: &outcome::Progress) -> Self {
        Progress {
            now_s: p.now.as_secs_f64(),
            flows_started: p.flows_started,
            flows_finished: p.flows_finished,
            flows_expected: p.flows_expected,
            packet_hops: p.packet_hops,
        }
    }
}

/// What a run found, or what is said of flows that were made elsewhere.
#[pyclass(frozen, module = "fctlab._native")]
pub struct RunOutcome {
    report: String,
    flows: Vec<RecordBatch>,
}

#[pymethods]
impl RunOutcome {
    /// Everything except the flow records, as JSON:
    /// `{"summary", "offered", "warnings", "counters", "perf", "extras", "recordings"}`.
    fn report(&self) -> &str {
        &self.report
    }

    /// The flow records; none if they were streamed to a file.
    fn flows(&self) -> Table {
        let schema = self.flows.first();
        let schema = schema.map_or_else(|| records::schema(false), |batch| batch.schema());
        Table::new(schema, self.flows.clone())
    }
}

impl From<Outcome> for RunOutcome {
    fn from(outcome: Outcome) -> Self {
        let Outcome {
            summary,
            offered,
            warnings,
            counters,
            perf,
            extras,
            recordings,
            flows,
        } = outcome;
        let report = json!({
            "summary": summary,
            "offered": offered,
            "warnings": warnings,
            "counters": counters,
            "perf": perf,
            "extras": extras,
            "recordings": recordings,
        });
        RunOutcome {
            report: report.to_string(),
            flows,
        }
    }
}

impl From<Told> for RunOutcome {
    fn from(told: Told) -> Self {
        let Told {
            summary,
            offered,
            warnings,
            counters,
            end,
            flows,
            extras,
        } = told;
        let report = json!({
            "summary": summary,
            "offered": offered,
            "warnings": warnings,
            "counters": counters,
            "perf": {"simulated_s": end.as_secs_f64()},
            "extras": extras,
            "recordings": [],
        });
        RunOutcome {
            report: report.to_string(),
            flows,
        }
    }
}

/// A scenario in which nothing is wrong any more.
#[pyclass(frozen, module = "fctlab._native")]
pub struct Prepared(Arc<prepared::Prepared>);

impl From<prepared::Prepared> for Prepared {
    fn from(prepared: prepared::Prepared) -> Self {
        Prepared(Arc::new(prepared))
    }
}

#[pymethods]
impl Prepared {
    /// Every default filled in and every preset merged, as JSON.
    fn resolved(&self) -> String {
        json!(self.0.scenario).to_string()
    }

    /// How many flows it is expected to have.
    fn expected_flows(&self) -> u64 {
        self.0.expected_flows
    }

    /// On how many threads it can be run at most, and what stands in the way of more.
    fn most_threads(&self) -> (u32, &'static str) {
        run::most_threads(&self.0)
    }

    /// What to say about it before it is simulated: a line each.
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    /// What ports and racks are called, as JSON: `{"racks", "rack_of", "sides", "offered"}`: names; the rack of each
    /// host; by tier what its ports are called (`nic`, `leaf-up`); the busiest link of each tier, with its rate and load, and the mean of all.
    fn places(&self) -> String {
        let fabric = &self.0.fabric;
        let layout = fabric.layout();
        let own = !fabric.racks.is_empty();
        let racks = layout.rack_of.iter().max().map_or(0, |&last| last + 1);
        let name = |rack: u32| match fabric.switches.get(rack as usize) {
            Some(switch) if !own => switch.clone(),
            _ => format!("rack {rack}"),
        };
        let sides = (0u32..).zip(fabric.sides());
        let sides: BTreeMap<String, String> =
            sides.map(|(id, side)| (fabric.tier(id), side)).collect();
        let offered = self.0.offered.iter().map(|tier| {
            let link = fabric.port_named(&tier.link).ok();
            let rate = link.map(|id| fabric.links[id as usize].rate.bps());
            json!({"tier": tier.tier, "link": tier.link, "load": tier.load, "mean": tier.mean, "data": tier.data, "rate_bps": rate})
        });
        let places = json!({
            "racks": (0..racks).map(name).collect::<Vec<String>>(),
            "rack_of": layout.rack_of,
            "sides": sides,
            "offered": offered.collect::<Vec<_>>(),
        });
        places.to_string()
    }

    /// A length of data such as `"10pkt + 0.143rtt"` in bytes, at a port that sends `rate_bps`.
    fn bytes_at(&self, length: &str, rate_bps: u64) -> PyResult<u64> {
        let length: DataLength = length.parse().map_err(PyValueError::new_err)?;
        Ok(length.bytes_at(Rate::from_bps(rate_bps), &self.0.settings.scale))
    }

    /// A time such as `"0.5rtt"`, in seconds.
    fn seconds(&self, time: &str) -> PyResult<f64> {
        let time: RttTime = time.parse().map_err(PyValueError::new_err)?;
        Ok(time.resolve(&self.0.settings.scale).as_secs_f64())
    }
}

/// Prepares a scenario given as JSON: applies `sets` in order, merges presets, fills in defaults
/// and makes every check there is.
#[pyfunction]
pub(crate) fn prepare(
    py: Python<'_>,
    json: &str,
    sets: Vec<(String, String)>,
    folder: PathBuf,
) -> PyResult<Prepared> {
    let scenario = value(json)?;
    call(py, move |_| {
        let prepared = fctlab_fabric::prepare::prepare(scenario, &sets, &folder);
        Ok(Prepared::from(prepared.map_err(spec_error)?))
    })
}

/// Runs what is prepared on so many threads, or as many as there can be, with the interpreter released. About ten times a second, also while its input
/// is read, the thread that called has `progress` told how far it has come.
#[pyfunction]
#[pyo3(name = "run", signature = (prepared, flows_out=None, recordings_out=None, progress=None, threads=1))]
pub(crate) fn run_scenario(
    py: Python<'_>,
    prepared: &Prepared,
    flows_out: Option<PathBuf>,
    recordings_out: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    threads: u32,
) -> PyResult<RunOutcome> {
    let prepared = prepared.0.clone();
    let seen = Arc::new(Mutex::new(Progress::default()));
    let tell = seen.clone();
    let work = move |stop: &Stop| {
        let mut observe = |p: &outcome::Progress| {
            *tell.lock().unwrap_or_else(PoisonError::into_inner) = Progress::from(p);
            if stop.is_set() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let options = RunOptions {
            flows_out,
            recordings_out,
            observer: Some(&mut observe),
            threads,
        };
        run::run(&prepared, options).map_err(failure)
    };
    let mut told = Instant::now();
    let listen = |py: Python<'_>| {
        let Some(callback) = progress.as_ref().filter(|_| told.elapsed() >= TELL_EVERY) else {
            return Ok(());
        };
        told = Instant::now();
        let seen = *seen.lock().unwrap_or_else(PoisonError::into_inner);
        callback.call1(py, (seen,)).map(drop)
    };
    call_with(py, work, listen).map(RunOutcome::from)
}

/// What is said of flows that were made elsewhere: an Arrow IPC stream, whose columns
/// [`fctlab_fabric::elsewhere`] names.
#[pyfunction]
pub(crate) fn told(py: Python<'_>, prepared: &Prepared, flows: Vec<u8>) -> PyResult<RunOutcome> {
    let prepared = prepared.0.clone();
    let told = call(py, move |_| {
        elsewhere::told(&prepared, &flows[..]).map_err(spec_error)
    })?;
    Ok(told.into())
}

fn failure(error: RunError) -> PyErr {
    match error {
        RunError::Spec(error) => spec_error(error),
        RunError::Io { path, source } => os_error(&path, &source),
        // Nobody hears of it: the call ends with what has stopped it.
        error @ RunError::Interrupted { .. } => PyRuntimeError::new_err(error.to_string()),
    }
}
