//! Flows as Arrow tables: millions of them are no JSON. Those that come in are Arrow IPC streams.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt16Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, PrimitiveArray, RecordBatch, UInt16Array,
};
use arrow_ipc::reader::StreamReader;
use arrow_schema::ArrowError;
use fctlab_core::{Duration, SpecError, spec};
use fctlab_fabric::prepared::Prepared;
use fctlab_link::{Arrival, Done};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::evaluate::{Candidate, Meter};
use crate::flows::{Flows, MOST_FLOWS, span};
use crate::packets;
use crate::predict;
use crate::spec::Spec;
use fctlab_workload::sli::ONCE;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowsQuestion {
    spec: Value,
    flows: u64,
    until_s: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PacketsQuestion {
    spec: Value,
    scheme: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JudgeQuestion {
    spec: Value,
    until_s: f64,
}

/// Runs about `flows` flows of `spec`, or all that start before `until_s`, in the model. Returns `start_s`,
/// `size_bytes`, `class` (its place in the specification), `fct_s` and `slowdown` of each, in order of start.
///
/// # Errors
/// A mistake in the question, with its path.
pub fn flows(question: Value, meter: &Meter) -> Result<RecordBatch, SpecError> {
    let question: FlowsQuestion = spec::read(question)?;
    let spec = Spec::read(question.spec, Path::new(""))?;
    let classes = spec.classes()?;
    let candidate = Candidate::of(&spec, &classes);
    let until = question.until_s.and_then(Duration::from_secs_f64);
    let until = until.unwrap_or_else(|| span(&classes, question.flows));
    // Exactly the flows of a run of so many that its number has ended.
    let most = question.until_s.map_or(MOST_FLOWS, |_| question.flows);
    let flows = Flows::at_most(&classes, spec.seed, until, most)?;
    let mut done = candidate.flows(&flows, meter);
    done.sort_unstable_by_key(|d| d.index);
    let seconds = |of: &dyn Fn(&Done) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(done.iter().map(of)))
    };
    let sizes = done.iter().map(|d| d.arrival.size_bytes as i64);
    let classes = done.iter().map(|d| d.arrival.class);
    let columns: [(&str, ArrayRef); 5] = [
        ("start_s", seconds(&|d| d.arrival.start_s)),
        ("size_bytes", Arc::new(Int64Array::from_iter_values(sizes))),
        ("class", Arc::new(UInt16Array::from_iter_values(classes))),
        ("fct_s", seconds(&|d| d.fct_s)),
        ("slowdown", seconds(&|d| candidate.slowdown(d))),
    ];
    RecordBatch::try_from_iter(columns).map_err(|e| unreadable(&e))
}

/// Flows over the link of `spec`, ready to run packet by packet, under `scheme` if it is given: a table of
/// `class` (u16), `start_s` and `size_bytes` (f64).
///
/// # Errors
/// A mistake in the question, with its path; a table that cannot be read.
pub fn packets(question: Value, flows: impl Read) -> Result<Prepared, SpecError> {
    let question: PacketsQuestion = spec::read(question)?;
    let spec = Spec::read(question.spec, Path::new(""))?;
    let mut all = Vec::new();
    for batch in batches(flows)? {
        all.extend(arrivals(&batch)?);
    }
    packets::prepare(&spec, all.into_iter(), question.scheme.as_deref())
}

/// SLIs and verdicts of flows that were run elsewhere and started before `until_s`: a table of `class` (u16),
/// `start_s`, `size_bytes` and `fct_s` (f64).
///
/// # Errors
/// A mistake in the question, with its path; a table that cannot be read.
pub fn judge(question: Value, runs: impl Read) -> Result<Value, SpecError> {
    let question: JudgeQuestion = spec::read(question)?;
    let spec = Spec::read(question.spec, Path::new(""))?;
    let classes = spec.classes()?;
    let mut flows = Vec::new();
    for batch in batches(runs)? {
        let fcts = column::<Float64Type>(&batch, "fct_s")?.values();
        let pairs = arrivals(&batch)?.into_iter().zip(fcts);
        for (arrival, &fct_s) in pairs {
            let index = flows.len() as u64;
            flows.push(Done {
                index,
                arrival,
                fct_s,
            });
        }
    }
    let candidate = Candidate::of(&spec, &classes);
    let mut found = candidate.collect(question.until_s, flows.into_iter());
    Ok(json!(predict::judge(
        &classes,
        &found.estimates(&classes, ONCE)
    )))
}

pub(crate) fn batches(table: impl Read) -> Result<Vec<RecordBatch>, SpecError> {
    let reader = StreamReader::try_new(table, None);
    let batches = reader.and_then(Iterator::collect);
    batches.map_err(|e| unreadable(&e))
}

fn arrivals(batch: &RecordBatch) -> Result<Vec<Arrival>, SpecError> {
    let class = column::<UInt16Type>(batch, "class")?;
    let start_s = column::<Float64Type>(batch, "start_s")?;
    let size_bytes = column::<Float64Type>(batch, "size_bytes")?;
    let rows = (0..batch.num_rows()).map(|row| Arrival {
        start_s: start_s.value(row),
        size_bytes: size_bytes.value(row),
        class: class.value(row),
    });
    Ok(rows.collect())
}

pub(crate) fn column<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a PrimitiveArray<T>, SpecError> {
    let column = batch.column_by_name(name).map(|c| c.as_primitive_opt());
    let whole = column
        .flatten()
        .filter(|c: &&PrimitiveArray<T>| c.null_count() == 0);
    whole.ok_or_else(|| {
        let message = format!("is not a column of {} for every flow", T::DATA_TYPE);
        SpecError::new(format!("flows.{name}"), message)
    })
}

fn unreadable(error: &ArrowError) -> SpecError {
    SpecError::new("flows", error.to_string())
}
