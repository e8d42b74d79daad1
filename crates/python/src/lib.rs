//! `fctlab._native`: the engine as Python sees it.
//!
//! A thin shim. Scenarios and reports cross as JSON text, flow records as an
//! Arrow stream that nobody copies. The interpreter is released while an engine
//! runs; about ten times a second the engine asks whether to go on, which is
//! when Ctrl-C and the progress callback get their turn.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use arrow::array::{RecordBatchIterator, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use fctlab_core::{SpecError, spec};
use fctlab_fabric::mappings::{Histogram, MappingPolicy};
use fctlab_fabric::records;
use fctlab_fabric::run::{self, Outcome, RunError, RunOptions};
use fctlab_fabric::scenario::{self, Format};
use fctlab_planner::evaluate::Meter;
use fctlab_table::TableFile;
use fctlab_workload::SizesSpec;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::{Value, json};

mod errors {
    pyo3::import_exception!(fctlab.errors, SpecError);
    pyo3::import_exception!(fctlab.errors, InternalError);
}

/// Simulation engines of fctlab; see the package `fctlab` for the interface meant for people.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        Progress, RunOutcome, bigswitch, build_profile, catalog, map_values, parse, planning,
        resolve, run_scenario, schema, size_distribution, version, with_scheme,
    };

    use super::{PyModule, PyResult, remember_panics};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        remember_panics();
        Ok(())
    }
}

/// How far a run has come.
#[pyclass(frozen, get_all, module = "fctlab._native")]
struct Progress {
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
struct RunOutcome(Outcome);

impl RunOutcome {
    /// The columns of this run's records.
    fn schema(&self) -> SchemaRef {
        let batch = self.0.flows.first();
        batch.map_or_else(|| records::schema(false), |b| b.schema())
    }
}

#[pymethods]
impl RunOutcome {
    /// Everything except the flow records, as JSON:
    /// `{"summary", "counters", "perf", "extras", "recordings"}`.
    fn report(&self) -> String {
        let Outcome {
            summary,
            counters,
            perf,
            extras,
            recordings,
            flows: _,
        } = &self.0;
        json!({
            "summary": summary,
            "counters": counters,
            "perf": perf,
            "extras": extras,
            "recordings": recordings,
        })
        .to_string()
    }

    /// Writes the flow records into a Parquet file, the same bytes as `run` streams.
    fn write_flows(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let write = || {
            let mut table = TableFile::new(File::create(&path)?, self.schema())?;
            for batch in &self.0.flows {
                table.write(batch)?;
            }
            table.finish()
        };
        py.detach(write)
            .map(|_| ())
            .map_err(|e| os_error(&path, &e))
    }

    /// The flow records as an Arrow C stream, sharing the engine's memory; none
    /// if they were streamed to a file.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // a wish that the protocol lets producers ignore
        let batches: Vec<_> = self.0.flows.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.schema());
        let reader: Box<dyn RecordBatchReader + Send> = Box::new(reader);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
    }
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// `"release"` or `"debug"`: nobody measures a debug build by mistake.
#[pyfunction]
fn build_profile() -> &'static str {
    if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    }
}

/// Reads `text` in `format` ("toml", "yaml", "json" or "dhall") and returns it as JSON.
/// Imports of Dhall start from the folder of `file`, which holds the text.
#[pyfunction]
#[pyo3(signature = (text, format, file=PathBuf::new()))]
fn parse(py: Python<'_>, text: &str, format: &str, file: PathBuf) -> PyResult<String> {
    let parsed = match format {
        "toml" => guarded(|| Ok(scenario::parse(text, Format::Toml))),
        "yaml" => guarded(|| Ok(scenario::parse(text, Format::Yaml))),
        "json" => guarded(|| Ok(scenario::parse(text, Format::Json))),
        "dhall" => py.detach(|| guarded(|| Ok(fctlab_dhall::read(text, &file)))),
        other => return Err(PyValueError::new_err(format!("unknown format {other:?}"))),
    };
    Ok(parsed?.map_err(spec_error)?.to_string())
}

/// Resolves a scenario given as JSON: applies `sets` in order, merges presets,
/// fills in defaults and validates; returns JSON.
#[pyfunction]
fn resolve(json: &str, sets: Vec<(String, String)>, base_dir: PathBuf) -> PyResult<String> {
    guarded(|| {
        let resolved = scenario::resolve(value(json)?, &sets, &base_dir).map_err(spec_error)?;
        Ok(json!(resolved).to_string())
    })
}

/// The scenario (JSON, not yet resolved) with its scheme replaced by the named one,
/// after those of the `sets` that are about `schemes`.
#[pyfunction]
fn with_scheme(json: &str, sets: Vec<(String, String)>, name: &str) -> PyResult<String> {
    guarded(|| {
        Ok(scenario::with_scheme(value(json)?, &sets, name)
            .map_err(spec_error)?
            .to_string())
    })
}

/// The JSON Schema of a scenario.
#[pyfunction]
fn schema() -> PyResult<String> {
    guarded(|| Ok(scenario::schema().to_string()))
}

/// Every part there is, by place, as JSON: `{place: [{"name", "description"}]}`.
#[pyfunction]
fn catalog() -> PyResult<String> {
    guarded(|| Ok(scenario::catalog().to_string()))
}

/// A workload's flow sizes: `{"sizes_bytes", "probabilities", "interpolation", "mean_bytes"}`.
#[pyfunction]
fn size_distribution(workload_json: &str, base_dir: PathBuf) -> PyResult<String> {
    guarded(|| {
        let mut sizes: SizesSpec = spec::read(value(workload_json)?).map_err(spec_error)?;
        sizes.resolve(&base_dir);
        let sizes = sizes.build().map_err(spec_error)?;
        let points = sizes.points();
        Ok(json!({
            "sizes_bytes": points.iter().map(|p| p.size).collect::<Vec<_>>(),
            "probabilities": points.iter().map(|p| p.probability).collect::<Vec<_>>(),
            "interpolation": sizes.interpolation(),
            "mean_bytes": sizes.mean(),
        })
        .to_string())
    })
}

/// The largest value of each of `queues` queues but the last, by a mapping
/// policy given as JSON. `packets` counts them by value from 0 on, `capacity`
/// is how many the port could have sent meanwhile.
#[pyfunction]
fn map_values(
    packets: Vec<u64>,
    capacity: f64,
    queues: usize,
    policy_json: &str,
) -> PyResult<Vec<u32>> {
    guarded(|| {
        let policy: MappingPolicy = spec::read(value(policy_json)?).map_err(spec_error)?;
        policy.check().map_err(spec_error)?;
        let packets = &packets[..];
        Ok(policy.thresholds(&Histogram { packets, capacity }, queues))
    })
}

/// Answers a question about the slotted big switch: JSON in, JSON out. The
/// interpreter is released meanwhile.
#[pyfunction]
fn bigswitch(py: Python<'_>, question_json: &str) -> PyResult<String> {
    py.detach(|| {
        guarded(|| {
            let answer =
                fctlab_bigswitch::api::answer(value(question_json)?).map_err(spec_error)?;
            Ok(answer.to_string())
        })
    })
}

/// Answers a question about SLOs: JSON in, JSON out. The work is done on other
/// threads while this one looks for Ctrl-C, which ends it.
#[pyfunction]
fn planning(py: Python<'_>, question_json: &str) -> PyResult<String> {
    let question = value(question_json)?;
    let meter = Meter::default();
    let answered = AtomicBool::new(false);
    py.detach(|| {
        thread::scope(|scope| {
            let work = scope.spawn(|| {
                let answer = guarded(|| {
                    let answer = fctlab_planner::api::answer(question, &meter);
                    Ok(answer.map_err(spec_error)?.to_string())
                });
                answered.store(true, Ordering::Release);
                answer
            });
            let mut stopped = None;
            while !answered.load(Ordering::Acquire) {
                thread::park_timeout(LISTEN_EVERY);
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    meter.stop.store(true, Ordering::Relaxed);
                    stopped.get_or_insert(error);
                }
            }
            match (stopped, work.join()) {
                (Some(error), _) => Err(error),
                (None, Ok(answer)) => answer,
                (None, Err(_)) => Err(errors::InternalError::new_err(LAST_PANIC.take())),
            }
        })
    })
}

/// How often a question about SLOs looks for Ctrl-C.
const LISTEN_EVERY: Duration = Duration::from_millis(5);

/// Runs a resolved scenario on the calling thread, with the interpreter released.
#[pyfunction]
#[pyo3(name = "run", signature = (resolved_json, flows_out=None, recordings_out=None, progress=None))]
fn run_scenario(
    py: Python<'_>,
    resolved_json: &str,
    flows_out: Option<PathBuf>,
    recordings_out: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunOutcome> {
    let mut stopped = None;
    let mut observe = |p: &run::Progress| {
        let turn = Python::attach(|py| {
            py.check_signals()?;
            let Some(callback) = &progress else {
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
        });
        match turn {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                stopped = Some(error);
                ControlFlow::Break(())
            }
        }
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

/// JSON that this package wrote itself.
fn value(json: &str) -> PyResult<Value> {
    serde_json::from_str(json).map_err(|e| PyValueError::new_err(e.to_string()))
}

fn spec_error(error: SpecError) -> PyErr {
    errors::SpecError::new_err((error.path, error.message))
}

fn os_error(path: &Path, source: &io::Error) -> PyErr {
    match source.raw_os_error() {
        // Python picks the subclass and the text from the number.
        Some(number) => PyOSError::new_err((number, os_text(source), path.to_owned())),
        None => PyOSError::new_err(format!("{}: {source}", path.display())),
    }
}

/// What the system says, without Rust's " (os error 28)".
fn os_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps what a panic says for [`guarded`] instead of printing it.
fn remember_panics() {
    set_hook(Box::new(|info| LAST_PANIC.set(info.to_string())));
}

/// Runs `f`; a panic (a broken invariant of the engine) becomes an `InternalError`.
fn guarded<T>(f: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(f))
        .unwrap_or_else(|_| Err(errors::InternalError::new_err(LAST_PANIC.take())))
}
