//! Rows of a trace in Parquet.

use std::fs::File;
use std::path::Path;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::origin::Origin;
use super::rows::Rows;
use super::{Columns, Row};

/// Rows decoded at a time.
const BATCH: usize = 8192;

/// A Parquet file of flows.
pub(super) struct Reader {
    batches: ParquetRecordBatchReader,
    class: Option<&'static str>,
    rows: Option<Rows>,
    origin: Origin,
    /// The next row of the batch.
    next: usize,
    /// Rows read so far.
    row: u64,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("row", &self.row)
            .finish_non_exhaustive()
    }
}

impl Reader {
    pub(crate) fn open(file: &Path) -> Result<Self, String> {
        let unreadable = |e: &dyn std::fmt::Display| format!("cannot be read: {e}");
        let file = File::open(file).map_err(|e| unreadable(&e))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| unreadable(&e))?;
        let schema = builder.schema();
        let names = schema.fields().iter().map(|f| f.name().as_str());
        let Columns { places, class } = Columns::find(names)?;
        let wanted = places.into_iter().chain(class.map(|(_, place)| place));
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
        let reader = builder.with_projection(mask).with_batch_size(BATCH).build();
        let batches = reader.map_err(|e| unreadable(&e))?;
        Ok(Reader {
            batches,
            class: class.map(|(name, _)| name),
            rows: None,
            origin: Origin::default(),
            next: 0,
            row: 0,
        })
    }

    pub(crate) fn class_column(&self) -> Option<&'static str> {
        self.class
    }

    /// The row that was read last, from 1.
    pub(crate) fn row(&self) -> u64 {
        self.row
    }

    pub(crate) fn read(&mut self, row: &mut Row) -> Result<bool, String> {
        let rows = loop {
            match &self.rows {
                Some(rows) if self.next < rows.count => break rows,
                _ => {}
            }
            let Some(batch) = self.batches.next() else {
                return Ok(false);
            };
            let batch = batch.map_err(|e| format!("cannot be read after this: {e}"))?;
            self.rows = Some(Rows::of(&batch, self.class)?);
            self.next = 0;
        };
        let i = self.next;
        self.next += 1;
        self.row += 1;
        rows.read(i, &mut self.origin, row)?;
        Ok(true)
    }
}
