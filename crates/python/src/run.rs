//! One run: started, listened to while it goes on, and what it found.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use fctlab_fabric::records;
use fctlab_fabric::run::{self, Outcome, RunError, RunOptions};
use fctlab_fabric::scenario;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::{guarded, os_error, spec_error, value};
use crate::table::Table;

/// How far a run has come.
#[pyclass(frozen, get_all, module = "fctlab._native")]
pub struct Progress {
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

/// What a run found.
#[pyclass(frozen, module = "fctlab._native")]
pub struct RunOutcome(Outcome);

#[pymethods]
impl RunOutcome {
    /// Everything except the flow records, as JSON:
    /// `{"summary", "offered", "warnings", "counters", "perf", "extras", "recordings"}`.
    fn report(&self) -> String {
        let Outcome {
            summary,
            offered,
            warnings,
            counters,
            perf,
            extras,
            recordings,
            flows: _,
        } = &self.0;
        json!({
            "summary": summary,
            "offered": offered,
            "warnings": warnings,
            "counters": counters,
            "perf": perf,
            "extras": extras,
            "recordings": recordings,
        })
        .to_string()
    }

    /// The flow records; none if they were streamed to a file.
    fn flows(&self) -> Table {
        let batches = self.0.flows.clone();
        let schema = batches
            .first()
            .map_or_else(|| records::schema(false), |b| b.schema());
        Table::new(schema, batches)
    }
}

/// What to say about a resolved scenario before it is simulated: a line each.
#[pyfunction]
pub fn warnings(resolved_json: &str) -> PyResult<Vec<String>> {
    guarded(|| {
        let scenario = scenario::resolve(value(resolved_json)?, &[], Path::new(""));
        let scenario = scenario.map_err(spec_error)?;
        fctlab_fabric::warnings::of(&scenario).map_err(spec_error)
    })
}

/// Runs a resolved scenario on the calling thread, with the interpreter released.
#[pyfunction]
#[pyo3(name = "run", signature = (resolved_json, flows_out=None, recordings_out=None, progress=None))]
pub fn run_scenario(
    py: Python<'_>,
    resolved_json: &str,
    flows_out: Option<PathBuf>,
    recordings_out: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunOutcome> {
    let mut stopped = None;
    let mut observe = |p: &run::Progress| {
        let Err(error) = Python::attach(|py| listen(py, progress.as_ref(), p)) else {
            return ControlFlow::Continue(());
        };
        stopped = Some(error);
        ControlFlow::Break(())
    };
    let observer: &mut (dyn FnMut(&run::Progress) -> ControlFlow<()> + Send) = &mut observe;
    let outcome = py.detach(|| {
        guarded(|| {
            let scenario =
                scenario::resolve(value(resolved_json)?, &[], Path::new("")).map_err(spec_error)?;
            let options = RunOptions {
                flows_out,
                recordings_out,
                observer: Some(observer),
            };
            Ok(run::run(&scenario, options))
        })
    })?;
    match outcome {
        Ok(outcome) => Ok(RunOutcome(outcome)),
        Err(RunError::Spec(error)) => Err(spec_error(error)),
        Err(RunError::Io { path, source }) => Err(os_error(&path, &source)),
        Err(error @ RunError::Interrupted { .. }) => {
            Err(stopped.unwrap_or_else(|| PyRuntimeError::new_err(error.to_string())))
        }
    }
}

/// The turn of Ctrl-C and of the progress callback.
fn listen(py: Python<'_>, callback: Option<&Py<PyAny>>, p: &run::Progress) -> PyResult<()> {
    py.check_signals()?;
    let Some(callback) = callback else {
        return Ok(());
    };
    let seen = Progress {
        now_s: p.now.as_secs_f64(),
        flows_started: p.flows_started,
        flows_finished: p.flows_finished,
        flows_expected: p.flows_expected,
        packet_hops: p.packet_hops,
    };
    callback.call1(py, (seen,)).map(drop)
}
