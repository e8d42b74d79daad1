//! Flows that were made elsewhere: by another simulator, or on a testbed.
//!
//! The scenario says where they ran: its fabric and packets give the ideal completion times,
//! `measure` what counts. A table says which flows there were and when each ended:
//!
//! | column | |
//! |---|---|
//! | `start_s`, `src`, `dst`, `size_bytes` | the flow, as in a trace; rows in any order |
//! | `flow` | tells flows apart; without the four above the flow of the scenario's traffic that it numbers |
//! | `fct_s` or `finish_s` | how long it took, or when it ended; empty for one that did not finish |
//! | `finished` | false: `fct_s` is how long it had been going on |
//! | `traffic_class` or `class` | a class of the scenario's traffic; needed where there are several |
//! | `query`, `unfinished_reason`, `retransmissions`, `timeouts`, `source_delay_s` | as in `flows.parquet` |
//!
//! A flow without any end had been going on at least until the last instant that the table tells
//! of, and counts with that time: a lower bound, as for the flows that a run of ours cuts short.

mod ends;
mod flows;
mod more;

use std::io::Read;
use std::iter::once;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use fctlab_core::{Duration, SpecError, Time};
use fctlab_workload::Flow;
use serde_json::{Map, Value, json};

use self::ends::{Ended, Ends};
use self::flows::{are_of, flows};
use self::more::{COUNTS, More};
use crate::collect::{Collected, Collector};
use crate::measure::Extra;
use crate::network::ideal::{Ideal, Spaced};
use crate::offered::Tier;
use crate::outcome::RunError;
use crate::prepared::Prepared;
use crate::records::{Fct, Record};
use crate::scenario::record::RecordSpec;
use crate::summary::SummaryRow;

/// What is said of the flows.
pub struct Told {
    /// One row per size class and, where there are several, traffic class.
    pub summary: Vec<SummaryRow>,
    /// The load of each tier of links, where the flows are those of the scenario's traffic.
    pub offered: Vec<Tier>,
    /// What to say of scenario and flows: a line each.
    pub warnings: Vec<String>,
    /// `flows_started`, `flows_finished`, and totals of columns that the table has.
    pub counters: Map<String, Value>,
    /// The last instant that the table tells of.
    pub end: Time,
    /// Records in order of start; no columns of which the table says nothing.
    pub flows: Vec<RecordBatch>,
    /// `measured` and, where the scenario asks for them, `queries`.
    pub extras: Map<String, Value>,
}

/// Reads the flows of an Arrow IPC stream.
///
/// # Errors
/// A column that is missing; the first row that is no flow of the fabric, that has no time, or
/// whose flow is in another row; a table that measures no flow.
pub fn told(prepared: &Prepared, table: impl Read) -> Result<Told, SpecError> {
    let table = read(table).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    let mut flows = flows(prepared, &table)?;
    flows.sort_by_key(|(flow, _)| (flow.start, flow.id));
    (0..)
        .zip(&mut flows)
        .for_each(|(id, (flow, _))| flow.id = id);
    let ends = Ends::of(&table).map_err(wrong)?;
    let more = More::of(&table).map_err(wrong)?;
    let mut ended = Vec::with_capacity(flows.len());
    let mut end = Time::ZERO;
    for (flow, row) in &mut flows {
        let found = ends.get(*row, flow.start).map_err(|e| at(*row, &e))?;
        more.query(*row, flow).map_err(|e| at(*row, &e))?;
        end = end.max(flow.start + found.seen());
        ended.push(found);
    }

    let failed = |e| match e {
        RunError::Spec(error) => error,
        other => wrong(other.to_string()),
    };
    let mut collector =
        Collector::new(prepared, more.source_delays.is_some(), None).map_err(failed)?;
    let ideals = Ideals::of(prepared);
    let (from, until) = prepared.settings.window;
    let mut totals = [0; 2];
    let (mut finished, mut faster, mut fastest) = (0u64, 0u64, f64::INFINITY);
    for ((flow, row), ended) in flows.iter().zip(ended) {
        let [retransmissions, timeouts] = more.counts(*row).map_err(|e| at(*row, &e))?;
        totals[0] += u64::from(retransmissions);
        totals[1] += u64::from(timeouts);
        let fct = match ended {
            Ended::After(time) => Fct::Finished(time),
            Ended::Not(age) => Fct::Unfinished(age, more.reason(*row)),
            Ended::Open => Fct::Unfinished(end.since(flow.start), more.reason(*row)),
        };
        let record = Record {
            flow: *flow,
            fct,
            ideal: ideals.of_flow(flow, fct),
            source_delay: more.source_delay(*row).map_err(|e| at(*row, &e))?,
            measured: flow.start >= from && flow.start < until,
            retransmissions,
            timeouts,
        };
        if record.finished() {
            finished += 1;
            faster += u64::from(record.slowdown() < 1.0);
            fastest = fastest.min(record.slowdown());
        }
        collector
            .push(&record)
            .map_err(|e| failed(collector.failed(e)))?;
    }
    let Collected {
        flows: records,
        summary,
        measured,
        queries,
    } = collector.finish().map_err(failed)?;

    let mut warnings = prepared.warnings.clone();
    warnings.extend(unseen(prepared));
    if faster > 0 {
        warnings.push(format!(
            "flows: {faster} of {finished} took less time than alone on the idle path, the fastest {fastest:.3} \
             of it: topology, packets or measure.fct_ends are others than those of these flows"
        ));
    }
    let mut counters = Map::new();
    counters.insert("flows_started".into(), json!(flows.len()));
    counters.insert("flows_finished".into(), json!(finished));
    let known = COUNTS.iter().zip(totals).zip(&more.counts);
    counters.extend(known.filter_map(|((name, total), column)| {
        column.as_ref().map(|_| ((*name).into(), json!(total)))
    }));
    let mut extras = Map::new();
    extras.insert("measured".into(), measured);
    extras.extend(queries.map(|queries| ("queries".into(), queries)));
    Ok(Told {
        summary,
        offered: if are_of(prepared, &flows)? {
            prepared.offered.clone()
        } else {
            Vec::new()
        },
        warnings,
        counters,
        end,
        flows: more.known(records),
        extras,
    })
}

fn read(table: impl Read) -> Result<RecordBatch, ArrowError> {
    let reader = StreamReader::try_new(table, None)?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<Vec<_>, _>>()?;
    concat_batches(&schema, &batches)
}

/// What is wrong with the table.
fn wrong(message: String) -> SpecError {
    SpecError::new("flows", message)
}

/// What is wrong with a row, which is counted from 0 here and from 1 by people.
fn at(row: usize, message: &str) -> SpecError {
    wrong(format!("row {}: {message}", row + 1))
}

/// What the scenario asks for that happens inside a run: a line each.
fn unseen(prepared: &Prepared) -> Vec<String> {
    let scenario = &prepared.scenario;
    let line = |asked: String| {
        format!("{asked} is seen inside a run; flows that were made elsewhere do not tell it")
    };
    let extras = scenario
        .measure
        .extras
        .iter()
        .filter(|extra| **extra != Extra::Queries);
    let mut lines: Vec<String> = extras
        .map(|extra| line(format!("measure.extras: {}", json!(extra))))
        .collect();
    if scenario.record != RecordSpec::default() {
        lines.push(line("record: what it asks for".into()));
    }
    lines
}

/// Ideal completion times on the scenario's fabric.
struct Ideals<'a> {
    prepared: &'a Prepared,
    ideal: Ideal,
}

impl<'a> Ideals<'a> {
    fn of(prepared: &'a Prepared) -> Self {
        let (scenario, settings) = (&prepared.scenario, &prepared.settings);
        let sprays = scenario.scheme.routing.sprays();
        let ideal = Ideal::new(&settings.format, sprays, settings.fct_ends);
        Ideals { prepared, ideal }
    }

    fn of_flow(&self, flow: &Flow, fct: Fct) -> Duration {
        let Prepared {
            fabric, settings, ..
        } = self.prepared;
        let ideal = &self.ideal;
        if settings.spacing == 0.0 {
            return ideal.fct(fabric, flow.src, flow.dst, flow.size);
        }
        // Of an unfinished flow what had become available.
        let until = match fct {
            Fct::Finished(_) => Time::NEVER,
            Fct::Unfinished(age, _) => flow.start + age,
        };
        let packets = settings.format.packets(flow.size) as u32;
        let later = settings.available(flow, packets, fabric.host_rate(flow.src));
        let mut alone = Spaced::new(ideal, fabric, flow);
        for now in once(flow.start)
            .chain(later)
            .take_while(|now| *now <= until)
        {
            alone.available(ideal, fabric, flow, now);
        }
        alone.fct(flow)
    }
}
