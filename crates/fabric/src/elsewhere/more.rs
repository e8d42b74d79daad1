//! What else a table may say of flows, as `flows.parquet` has it.

use arrow_array::RecordBatch;
use fctlab_core::Duration;
use fctlab_core::units::grouped;
use fctlab_workload::Flow;
use fctlab_workload::columns::{Seconds, Text, Whole};

use crate::records::Unfinished;

/// Columns that a result has where the table has them.
pub(super) const COUNTS: [&str; 2] = ["retransmissions", "timeouts"];

/// Columns that a table may have besides.
pub(super) struct More {
    queries: Option<Whole>,
    reasons: Option<Text>,
    pub(super) source_delays: Option<Seconds>,
    /// Those of [`COUNTS`].
    pub(super) counts: [Option<Whole>; 2],
}

impl More {
    pub(super) fn of(table: &RecordBatch) -> Result<Self, String> {
        Ok(More {
            queries: Whole::of(table, "query")?,
            reasons: Text::of(table, "unfinished_reason")?,
            source_delays: Seconds::of(table, "source_delay_s")?,
            counts: [Whole::of(table, COUNTS[0])?, Whole::of(table, COUNTS[1])?],
        })
    }

    /// Says of which query `flow` is, where the row does.
    pub(super) fn query(&self, row: usize, flow: &mut Flow) -> Result<(), String> {
        if let Some(query) = self
            .queries
            .as_ref()
            .map(|c| c.get(row))
            .transpose()?
            .flatten()
        {
            flow.query = Some(small("query", query)?);
        }
        Ok(())
    }

    pub(super) fn reason(&self, row: usize) -> Unfinished {
        let told = self.reasons.as_ref().and_then(|column| column.get(row));
        told.and_then(Unfinished::named)
            .unwrap_or(Unfinished::Untold)
    }

    pub(super) fn source_delay(&self, row: usize) -> Result<Duration, String> {
        let told = self.source_delays.as_ref().map(|column| column.need(row));
        told.unwrap_or(Ok(Duration::ZERO))
    }

    pub(super) fn counts(&self, row: usize) -> Result<[u32; 2], String> {
        let count = |i: usize| match &self.counts[i] {
            Some(column) => small(COUNTS[i], column.need(row)?),
            None => Ok(0),
        };
        Ok([count(0)?, count(1)?])
    }

    /// Records without columns of which the table says nothing.
    pub(super) fn known(&self, mut records: Vec<RecordBatch>) -> Vec<RecordBatch> {
        let unknown = |name: &str| {
            COUNTS
                .iter()
                .zip(&self.counts)
                .any(|(n, c)| *n == name && c.is_none())
        };
        for batch in &mut records {
            for place in (0..batch.num_columns()).rev() {
                if unknown(batch.schema().field(place).name()) {
                    batch.remove_column(place);
                }
            }
        }
        records
    }
}

fn small(column: &str, value: u64) -> Result<u32, String> {
    u32::try_from(value)
        .map_err(|_| format!("{column} {value} is above {}", grouped(u32::MAX.into())))
}
