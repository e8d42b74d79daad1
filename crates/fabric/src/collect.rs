//! Records of flows as they come, and what a result says of them: one summary, whoever made the
//! flows.

use std::fs::File;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use fctlab_core::{SpecError, Time};
use serde_json::{Value, json};

use crate::measure::Extra;
use crate::outcome::RunError;
use crate::prepared::Prepared;
use crate::recorders::queries::Queries;
use crate::records::{Record, Records};
use crate::scenario::Scenario;
use crate::summary::{Summary, SummaryRow};

/// Takes records.
pub struct Collector<'a> {
    prepared: &'a Prepared,
    file: Option<PathBuf>,
    records: Records,
    summary: Summary,
    queries: Option<Queries>,
    flows: u64,
    last_start: Time,
}

/// What is said of the flows.
pub struct Collected {
    /// Their records, unless they went to a file.
    pub flows: Vec<RecordBatch>,
    /// One row per size class and, where there are several, traffic class.
    pub summary: Vec<SummaryRow>,
    /// The measured window as resolved, and the flows that started in it.
    pub measured: Value,
    /// Of queries, where the scenario asks for them.
    pub queries: Option<Value>,
}

impl<'a> Collector<'a> {
    /// Keeps records in memory, or streams them into `file`; they end with source delays if
    /// `shaped`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn new(
        prepared: &'a Prepared,
        shaped: bool,
        file: Option<PathBuf>,
    ) -> Result<Self, RunError> {
        let open = || {
            let open = file.as_ref().map(File::create).transpose()?;
            Records::new(prepared.classes.clone(), shaped, open)
        };
        let records = open().map_err(|source| io(file.as_ref(), source))?;
        let asked = &prepared.scenario.measure.extras;
        Ok(Collector {
            prepared,
            file,
            records,
            summary: Summary::default(),
            queries: asked.contains(&Extra::Queries).then(Queries::default),
            flows: 0,
            last_start: Time::ZERO,
        })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push(&mut self, record: &Record) -> std::io::Result<()> {
        self.flows += 1;
        self.last_start = self.last_start.max(record.flow.start);
        self.summary.push(record);
        if let Some(queries) = &mut self.queries {
            queries.push(record);
        }
        self.records.push(record)
    }

    /// An error of the file.
    pub fn failed(&self, source: std::io::Error) -> RunError {
        io(self.file.as_ref(), source)
    }

    /// Ends the collection.
    ///
    /// # Errors
    /// When the file cannot be written, or no flow is measured.
    pub fn finish(self) -> Result<Collected, RunError> {
        let Prepared {
            scenario,
            settings,
            classes,
            ..
        } = self.prepared;
        let window = settings.window;
        let records = self.records.finish();
        let flows = records.map_err(|source| io(self.file.as_ref(), source))?;
        let summary = self.summary.rows(&scenario.scheme.name, classes);
        if summary[0].flows == 0 {
            return Err(nothing_measured(scenario, window, self.flows, self.last_start).into());
        }
        Ok(Collected {
            flows,
            measured: measured(window, &summary[0]),
            summary,
            queries: self.queries.map(|queries| queries.report()),
        })
    }
}

fn io(path: Option<&PathBuf>, source: std::io::Error) -> RunError {
    RunError::Io {
        path: path.cloned().unwrap_or_default(),
        source,
    }
}

/// Why no flow counts.
fn nothing_measured(
    scenario: &Scenario,
    (from, until): (Time, Time),
    flows: u64,
    last_start: Time,
) -> SpecError {
    let measure = &scenario.measure;
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
