//! Which flows a table has: those that its rows describe, or those of the scenario's traffic that
//! they number.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use fctlab_core::SpecError;
use fctlab_workload::columns::Whole;
use fctlab_workload::{Flow, trace};

use super::{at, wrong};
use crate::prepared::Prepared;

/// Columns of which all make a flow.
const FLOW: [&str; 4] = ["start_s", "src", "dst", "size_bytes"];

/// The flows and their rows. Their ids order those that start at the same instant.
pub(super) fn flows(
    prepared: &Prepared,
    table: &RecordBatch,
) -> Result<Vec<(Flow, usize)>, SpecError> {
    if table.num_rows() == 0 {
        return Err(wrong("has no flows; at least one is needed".into()));
    }
    let ids = Whole::of(table, "flow").map_err(wrong)?;
    let ids = ids
        .map(|ids| distinct(&ids, table.num_rows()))
        .transpose()?;
    let told = FLOW.iter().any(|name| table.column_by_name(name).is_some());
    let flows = match ids {
        Some(ids) if !told => return numbered(prepared, &ids),
        Some(ids) => {
            let mut flows = listed(prepared, table)?;
            for (flow, id) in flows.iter_mut().zip(ids) {
                flow.id = id;
            }
            flows
        }
        None if !told => {
            let columns = FLOW.join(", ");
            let message =
                format!("has no columns {columns}, nor flow, which numbers the scenario's own");
            return Err(wrong(message));
        }
        None => {
            let flows = listed(prepared, table)?;
            let mut seen = HashMap::with_capacity(flows.len());
            for (row, flow) in flows.iter().enumerate() {
                let key = (flow.start, flow.src, flow.dst, flow.size);
                if let Some(other) = seen.insert(key, row) {
                    let message = format!(
                        "has start, hosts and size of row {}; if these are two flows, a column flow must number them",
                        other + 1
                    );
                    return Err(at(row, &message));
                }
            }
            flows
        }
    };
    Ok(flows.into_iter().zip(0..).collect())
}

/// The flows that rows describe.
fn listed(prepared: &Prepared, table: &RecordBatch) -> Result<Vec<Flow>, SpecError> {
    trace::flows_of(table, prepared.fabric.hosts, &prepared.classes).map_err(wrong)
}

/// The numbers of the rows' flows.
fn distinct(ids: &Whole, rows: usize) -> Result<Vec<u64>, SpecError> {
    let mut seen = HashMap::with_capacity(rows);
    let id = |row| {
        let id = ids.need(row).map_err(|e| at(row, &e))?;
        match seen.insert(id, row) {
            None => Ok(id),
            Some(other) => Err(at(row, &format!("flow {id} is in row {} too", other + 1))),
        }
    };
    (0..rows).map(id).collect()
}

/// The flows of the scenario's traffic that rows number: each of them up to the last.
fn numbered(prepared: &Prepared, ids: &[u64]) -> Result<Vec<(Flow, usize)>, SpecError> {
    let mut rows: Vec<(u64, usize)> = ids.iter().copied().zip(0..).collect();
    rows.sort_unstable();
    let mut traffic = prepared.traffic()?;
    let found = rows.iter().zip(0..).map(|(&(id, row), place)| {
        if id != place {
            let message =
                format!("has no row for flow {place}; every flow before one that it has needs one");
            return Err(wrong(message));
        }
        match traffic.next() {
            Some(flow) => Ok((flow, row)),
            None => {
                let message =
                    format!("flow {id} is not one of the {place} of the scenario's traffic");
                Err(at(row, &message))
            }
        }
    });
    found.collect()
}

/// Whether the flows are the first of the scenario's traffic.
pub(super) fn are_of(prepared: &Prepared, flows: &[(Flow, usize)]) -> Result<bool, SpecError> {
    let mut traffic = prepared.traffic()?;
    let key = |flow: &Flow| (flow.start, flow.src, flow.dst, flow.size);
    let mut same = flows
        .iter()
        .map(|(flow, _)| traffic.next().is_some_and(|own| key(&own) == key(flow)));
    Ok(same.all(|same| same))
}
