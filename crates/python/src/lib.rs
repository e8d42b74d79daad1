//! `fctlab._native`: the engine as Python sees it.
//!
//! A thin shim. Scenarios and reports cross as JSON text. Flows leave as an Arrow
//! stream that nobody copies, and come in as Arrow IPC, which is read without
//! unsafe code. The interpreter is released while an engine
//! runs (`calls`), and the thread that called listens to Ctrl-C.

mod calls;
mod errors;
mod planning;
mod run;
mod table;

use std::path::PathBuf;

use fctlab_core::spec;
use fctlab_fabric::disciplines::mappings::{Histogram, MappingPolicy};
use fctlab_fabric::disciplines::solved;
use fctlab_fabric::scenario::{self, Format};
use fctlab_fabric::summary::SIZE_CLASSES;
use fctlab_workload::{Mixture, SizesSpec};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::calls::{call, call_telling};
use crate::errors::{guarded, spec_error, value};

/// Simulation engines of fctlab; see the package `fctlab` for the interface meant for people.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        bigswitch, build_profile, catalog, line_of, map_values, parse, pias_thresholds, schema,
        size_classes, size_distribution, sources, student_t, version, with_scheme,
    };
    #[pymodule_export]
    use crate::planning::{judge, judge_fabric, model_flows, packets, planning};
    #[pymodule_export]
    use crate::run::{Prepared, Progress, RunOutcome, prepare, run_scenario, told};
    #[pymodule_export]
    use crate::table::Table;

    use crate::errors::remember_panics;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        remember_panics();
        Ok(())
    }
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// A fingerprint of the sources that it was built from.
#[pyfunction]
fn sources() -> &'static str {
    env!("FCTLAB_SOURCES")
}

/// `"release"` or `"development"`: nobody measures one that is built quickly by mistake.
#[pyfunction]
fn build_profile() -> &'static str {
    env!("FCTLAB_PROFILE")
}

/// Reads `text` in `format` ("toml", "yaml", "json" or "dhall") and returns it as JSON.
/// A syntax error has its line as its path (`:12`). Imports of Dhall start from the folder of `file`, which holds the text.
#[pyfunction]
#[pyo3(signature = (text, format, file=PathBuf::new()))]
fn parse(py: Python<'_>, text: &str, format: &str, file: PathBuf) -> PyResult<String> {
    let format = match format {
        "dhall" => None,
        other => Some(written(other)?),
    };
    let text = text.to_owned();
    call(py, move |_| {
        let parsed = match format {
            Some(format) => scenario::parse(&text, format),
            None => fctlab_dhall::read(&text, &file),
        };
        Ok(parsed.map_err(spec_error)?.to_string())
    })
}

/// The line of `text` in `format` ("toml", "yaml" or "json") on which `path` is written, counted from 1; of the
/// innermost table of it that is there, or `None`.
#[pyfunction]
fn line_of(text: &str, format: &str, path: &str) -> PyResult<Option<usize>> {
    let format = written(format)?;
    guarded(|| Ok(scenario::line_of(text, format, path)))
}

/// A format that is read here.
fn written(format: &str) -> PyResult<Format> {
    match format {
        "toml" => Ok(Format::Toml),
        "yaml" => Ok(Format::Yaml),
        "json" => Ok(Format::Json),
        other => Err(PyValueError::new_err(format!("unknown format {other:?}"))),
    }
}

/// The scenario (JSON, not yet resolved) with its scheme replaced by the named one,
/// after those of the `sets` that are about `schemes`. Directories of presets are taken from `folder`.
#[pyfunction]
fn with_scheme(
    json: &str,
    sets: Vec<(String, String)>,
    name: &str,
    folder: PathBuf,
) -> PyResult<String> {
    guarded(|| {
        Ok(scenario::with_scheme(value(json)?, &sets, name, &folder)
            .map_err(spec_error)?
            .to_string())
    })
}

/// The JSON Schema of a scenario.
#[pyfunction]
fn schema() -> PyResult<String> {
    guarded(|| Ok(scenario::schema().to_string()))
}

/// Every part there is, by place, as JSON: `{place: [{"name", "description"}]}`; with the presets of one's own
/// in `directories`.
#[pyfunction]
fn catalog(directories: Vec<String>) -> PyResult<String> {
    guarded(|| {
        Ok(scenario::catalog(&directories)
            .map_err(spec_error)?
            .to_string())
    })
}

/// The quantile of Student's t distribution with so many degrees of freedom, at a probability in (0, 1).
#[pyfunction]
fn student_t(probability: f64, freedom: u32) -> PyResult<f64> {
    match StudentsT::new(0.0, 1.0, freedom.into()) {
        Ok(t) if probability > 0.0 && probability < 1.0 => Ok(t.inverse_cdf(probability)),
        _ => Err(PyValueError::new_err(format!(
            "no t distribution has a quantile at {probability} with {freedom} degrees of freedom"
        ))),
    }
}

/// Size classes of summaries, by name, with the largest size in bytes; null where there is none.
#[pyfunction]
fn size_classes() -> Vec<(&'static str, Option<u64>)> {
    let each = SIZE_CLASSES.into_iter();
    each.map(|(name, end)| (name, (end < u64::MAX).then_some(end)))
        .collect()
}

/// A workload's flow sizes: `{"sizes_bytes", "probabilities", "interpolation", "mean_bytes"}`.
#[pyfunction]
fn size_distribution(py: Python<'_>, workload_json: &str, base_dir: PathBuf) -> PyResult<String> {
    let workload = value(workload_json)?;
    call(py, move |_| {
        let mut sizes: SizesSpec = spec::read(workload).map_err(spec_error)?;
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

/// PIAS's demotion thresholds in bytes, and their objective, for flows of workloads (each as JSON) that have equal
/// shares of the bytes.
#[pyfunction]
fn pias_thresholds(
    py: Python<'_>,
    workloads: Vec<String>,
    load: f64,
    queues: usize,
    base_dir: PathBuf,
) -> PyResult<(Vec<u64>, f64)> {
    call(py, move |_| {
        let sizes = |workload: &String| {
            let mut sizes: SizesSpec = spec::read(value(workload)?).map_err(spec_error)?;
            sizes.resolve(&base_dir);
            sizes.build().map_err(spec_error)
        };
        let sizes = workloads.iter().map(sizes).collect::<PyResult<Vec<_>>>()?;
        let parts: Vec<_> = sizes.iter().map(|s| (1.0 / s.mean(), s)).collect();
        let none = || PyValueError::new_err("no workloads");
        let mix = Mixture::of(&parts).ok_or_else(none)?;
        let found = solved::thresholds(&mix, load, queues);
        let cuts: Vec<f64> = found.iter().map(|&cut| cut as f64).collect();
        Ok((found, solved::objective(&mix, load, &cuts)))
    })
}

/// The largest value of each of `queues` queues but the last, by a mapping
/// policy given as JSON. `packets` counts them by value from 0 on, `capacity`
/// is how many the port could have sent meanwhile.
#[pyfunction]
fn map_values(
    py: Python<'_>,
    packets: Vec<u64>,
    capacity: f64,
    queues: usize,
    policy_json: &str,
) -> PyResult<Vec<u32>> {
    let policy = value(policy_json)?;
    call(py, move |_| {
        let policy: MappingPolicy = spec::read(policy).map_err(spec_error)?;
        policy.check().map_err(spec_error)?;
        let packets = &packets[..];
        Ok(policy.thresholds(&Histogram { packets, capacity }, queues))
    })
}

/// Answers a question about the slotted big switch: JSON in, JSON out. `told` is called with None
/// again and again meanwhile; what it raises ends it.
#[pyfunction]
#[pyo3(signature = (question_json, told=None))]
fn bigswitch(py: Python<'_>, question_json: &str, told: Option<Py<PyAny>>) -> PyResult<String> {
    let question = value(question_json)?;
    call_telling(py, told, |_| {
        let answer = fctlab_bigswitch::api::answer(question).map_err(spec_error)?;
        Ok(answer.to_string())
    })
}
