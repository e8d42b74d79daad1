//! Questions about SLOs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fctlab_planner::evaluate::Meter;
use fctlab_planner::{api, fabric, tables};
use pyo3::prelude::*;

use crate::calls::{Stop, call, call_with};
use crate::errors::{spec_error, value};
use crate::run::Prepared;
use crate::table::Table;

/// Answers a question about SLOs: JSON in, JSON out. `told` is called with (runs, flows), as many as there
/// were until then, again and again meanwhile; what it raises ends it.
#[pyfunction]
#[pyo3(signature = (question_json, told=None))]
pub(crate) fn planning(
    py: Python<'_>,
    question_json: &str,
    told: Option<Py<PyAny>>,
) -> PyResult<String> {
    let question = value(question_json)?;
    let (runs, flows) = <(Arc<AtomicU64>, Arc<AtomicU64>)>::default();
    let counted = (runs.clone(), flows.clone());
    let work = move |stop: &Stop| {
        let meter = Meter {
            evaluations: counted.0,
            flows: counted.1,
            stop: stop.flag(),
        };
        let answer = api::answer(question, &meter).map_err(spec_error)?;
        Ok(answer.to_string())
    };
    call_with(py, work, move |py| {
        let seen = (runs.load(Ordering::Relaxed), flows.load(Ordering::Relaxed));
        told.as_ref()
            .map_or(Ok(()), |told| told.call1(py, (seen,)).map(drop))
    })
}

/// Runs flows in the model: `{"spec", "flows", "until_s"?}` in, `start_s`, `size_bytes`, `class` (its
/// place), `fct_s` and `slowdown` of each out.
#[pyfunction]
pub(crate) fn model_flows(py: Python<'_>, question_json: &str) -> PyResult<Table> {
    let question = value(question_json)?;
    let flows = call(py, |stop| {
        tables::flows(question, &meter(stop)).map_err(spec_error)
    })?;
    Ok(Table::new(flows.schema(), vec![flows]))
}

/// Flows over the link of a specification, ready to run packet by packet: `{"spec", "scheme"?}`, and an Arrow
/// IPC stream of `class`, `start_s` and `size_bytes`.
#[pyfunction]
pub(crate) fn packets(py: Python<'_>, question_json: &str, flows: Vec<u8>) -> PyResult<Prepared> {
    let question = value(question_json)?;
    call(py, move |_| {
        let prepared = tables::packets(question, &flows[..]).map_err(spec_error)?;
        Ok(Prepared::from(prepared))
    })
}

/// SLIs and verdicts, as JSON, of flows that were run elsewhere: `{"spec", "until_s"}`, and an Arrow IPC
/// stream of `class`, `start_s`, `size_bytes` and `fct_s`.
#[pyfunction]
pub(crate) fn judge(py: Python<'_>, question_json: &str, flows: Vec<u8>) -> PyResult<String> {
    let question = value(question_json)?;
    call(py, move |_| {
        let found = tables::judge(question, &flows[..]).map_err(spec_error)?;
        Ok(found.to_string())
    })
}

/// SLIs and verdicts, as JSON, of flows of a whole fabric: `{"classes", "until", "look"}`, and an Arrow IPC
/// stream of `class`, `start`, `size_bytes`, `fct_s` and `slowdown`.
#[pyfunction]
pub(crate) fn judge_fabric(
    py: Python<'_>,
    question_json: &str,
    flows: Vec<u8>,
) -> PyResult<String> {
    let question = value(question_json)?;
    call(py, move |_| {
        let found = fabric::judge(question, &flows[..]).map_err(spec_error)?;
        Ok(found.to_string())
    })
}

fn meter(stop: &Stop) -> Meter {
    Meter {
        stop: stop.flag(),
        ..Meter::default()
    }
}
