//! Questions about SLOs, which end with Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fctlab_core::SpecError;
use fctlab_planner::evaluate::Meter;
use fctlab_planner::{api, tables};
use pyo3::prelude::*;

use crate::errors::{broken, guarded, spec_error, value};
use crate::table::Table;

/// How often a question looks for Ctrl-C.
const LISTEN_EVERY: Duration = Duration::from_millis(5);

/// Answers a question about SLOs: JSON in, JSON out.
#[pyfunction]
pub fn planning(py: Python<'_>, question_json: &str) -> PyResult<String> {
    let question = value(question_json)?;
    answered(py, |meter| Ok(api::answer(question, meter)?.to_string()))
}

/// Runs flows in the model: `{"spec", "flows", "until_s"?}` in, `start_s`, `size_bytes`, `class` (its
/// place), `fct_s` and `slowdown` of each out.
#[pyfunction]
pub fn model_flows(py: Python<'_>, question_json: &str) -> PyResult<Table> {
    let question = value(question_json)?;
    let flows = answered(py, |meter| tables::flows(question, meter))?;
    Ok(Table::new(flows.schema(), vec![flows]))
}

/// SLIs and verdicts, as JSON, of flows that were run elsewhere: `{"spec", "until_s"}`, and an Arrow IPC
/// stream of `class`, `start_s`, `size_bytes` and `fct_s`.
#[pyfunction]
pub fn judge(py: Python<'_>, question_json: &str, flows: &[u8]) -> PyResult<String> {
    let question = value(question_json)?;
    answered(py, |_| Ok(tables::judge(question, flows)?.to_string()))
}

/// Runs `work` on another thread while this one looks for Ctrl-C, which ends it; the interpreter is
/// released meanwhile.
fn answered<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Meter) -> Result<T, SpecError> + Send,
) -> PyResult<T> {
    let meter = Meter::default();
    let is_answered = AtomicBool::new(false);
    py.detach(|| {
        thread::scope(|scope| {
            let work = scope.spawn(|| {
                let answer = guarded(|| work(&meter).map_err(spec_error));
                is_answered.store(true, Ordering::Release);
                answer
            });
            let mut stopped = None;
            while !is_answered.load(Ordering::Acquire) {
                thread::park_timeout(LISTEN_EVERY);
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    meter.stop.store(true, Ordering::Relaxed);
                    stopped.get_or_insert(error);
                }
            }
            match (stopped, work.join()) {
                (Some(error), _) => Err(error),
                (None, Ok(answer)) => answer,
                (None, Err(_)) => Err(broken()),
            }
        })
    })
}
