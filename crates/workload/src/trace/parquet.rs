//! Rows of a trace in Parquet; numbers may be integers or floats.

use std::fs::File;
use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::record_batch::RecordBatch;
use arrow::util::display::array_value_to_string;
use fctlab_core::{Duration, Time};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::{COLUMNS, Columns, Row, no_class, not_a_start, not_whole};

/// Rows decoded at a time.
const BATCH: usize = 8192;

/// A Parquet file of flows.
pub(super) struct Reader {
    batches: ParquetRecordBatchReader,
    class: Option<&'static str>,
    batch: Option<Batch>,
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

/// A decoded batch of rows.
struct Batch {
    rows: usize,
    starts: ArrayRef,
    starts_s: Float64Array,
    whole: [Whole; 3],
    class: Option<StringArray>,
}

/// A column of whole numbers.
struct Whole {
    column: ArrayRef,
    values: Numbers,
}

enum Numbers {
    Integers(Int64Array),
    Floats(Float64Array),
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
            batch: None,
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
        let batch = loop {
            match &self.batch {
                Some(batch) if self.next < batch.rows => break batch,
                _ => {}
            }
            let Some(batch) = self.batches.next() else {
                return Ok(false);
            };
            let batch = batch.map_err(|e| format!("cannot be read after this: {e}"))?;
            self.batch = Some(Batch::new(&batch, self.class)?);
            self.next = 0;
        };
        let i = self.next;
        self.next += 1;
        self.row += 1;
        row.start = batch.start(i)?;
        [row.src, row.dst, row.size] = [batch.whole(0, i)?, batch.whole(1, i)?, batch.whole(2, i)?];
        if let (Some(name), Some(class)) = (self.class, &batch.class) {
            if class.is_null(i) || class.value(i).is_empty() {
                return Err(no_class(name));
            }
            row.class.clear();
            row.class.push_str(class.value(i));
        }
        Ok(true)
    }
}

impl Batch {
    fn new(batch: &RecordBatch, class: Option<&str>) -> Result<Self, String> {
        let column = |name: &str| {
            let missing = || format!("has no column {name}");
            batch.column_by_name(name).cloned().ok_or_else(missing)
        };
        let as_type = |name: &str, column: &ArrayRef, to: &DataType| {
            let found = column.data_type();
            cast(column, to).map_err(|_| {
                format!(
                    "column {name} is of type {found}; it must be {}",
                    wanted(to)
                )
            })
        };
        let whole = |name: &str| {
            let column = column(name)?;
            let values = if column.data_type().is_floating() {
                let floats = as_type(name, &column, &DataType::Float64)?;
                Numbers::Floats(floats.as_primitive::<Float64Type>().clone())
            } else {
                let integers = as_type(name, &column, &DataType::Int64)?;
                Numbers::Integers(integers.as_primitive::<Int64Type>().clone())
            };
            Ok::<_, String>(Whole { column, values })
        };
        let starts = column(COLUMNS[0])?;
        let starts_s = as_type(COLUMNS[0], &starts, &DataType::Float64)?;
        let class = class
            .map(|name| as_type(name, &column(name)?, &DataType::Utf8))
            .transpose()?;
        Ok(Batch {
            rows: batch.num_rows(),
            starts_s: starts_s.as_primitive::<Float64Type>().clone(),
            starts,
            whole: [whole(COLUMNS[1])?, whole(COLUMNS[2])?, whole(COLUMNS[3])?],
            class: class.map(|c| c.as_string::<i32>().clone()),
        })
    }

    fn start(&self, i: usize) -> Result<Time, String> {
        let seconds = self.starts_s.is_valid(i).then(|| self.starts_s.value(i));
        seconds
            .filter(|s| *s >= 0.0)
            .and_then(Duration::from_secs_f64)
            .map(|d| Time::ZERO + d)
            .ok_or_else(|| not_a_start(&text(&self.starts, i)))
    }

    /// The value in row `i` of the `k`-th column of whole numbers.
    fn whole(&self, k: usize, i: usize) -> Result<u64, String> {
        let Whole { column, values } = &self.whole[k];
        let value = match values {
            Numbers::Integers(n) => n
                .is_valid(i)
                .then(|| n.value(i))
                .and_then(|n| u64::try_from(n).ok()),
            Numbers::Floats(x) => x
                .is_valid(i)
                .then(|| x.value(i))
                .filter(|x| *x >= 0.0 && x.fract() == 0.0 && *x < u64::MAX as f64)
                .map(|x| x as u64),
        };
        value.ok_or_else(|| not_whole(COLUMNS[k + 1], &text(column, i)))
    }
}

/// The value in row `i` of `column` as text.
fn text(column: &ArrayRef, i: usize) -> String {
    if column.is_null(i) {
        "null".into()
    } else {
        array_value_to_string(column, i).unwrap_or_default()
    }
}

/// A column type as people call it.
fn wanted(to: &DataType) -> &'static str {
    match to {
        DataType::Utf8 => "text",
        _ => "a number",
    }
}
