//! Columns of a table of flows: numbers, text and truth, of whatever type they were written in.
//!
//! A value is checked when it is asked for, so that an error can say which one it was and how it
//! was written.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow_buffer::NullBuffer;
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use fctlab_core::Duration;
use fctlab_core::units::{PS_PER_S, grouped};

/// Characters of a stranger's text that an error repeats.
const SHOWN: usize = 60;

/// What a file says, in quotes, and no more of it than a person reads.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// What is wrong with seconds that cannot be read.
pub(crate) fn not_seconds(column: &str, text: &str) -> String {
    format!(
        "{column} {} is not a number of seconds from 0 to {}",
        shown(text),
        grouped(u64::MAX / PS_PER_S)
    )
}

/// What is wrong with a host, a size or a number that cannot be read.
pub(crate) fn not_whole(column: &str, text: &str) -> String {
    format!(
        "{column} {} is not a whole number of at least 0",
        shown(text)
    )
}

/// A column as it was written.
#[derive(Debug)]
struct Written {
    name: &'static str,
    column: ArrayRef,
    /// Rows without a value, also in columns that have none at all.
    nulls: Option<NullBuffer>,
}

impl Written {
    fn of(batch: &RecordBatch, name: &'static str) -> Option<Self> {
        let column = batch.column_by_name(name)?.clone();
        let nulls = column.logical_nulls();
        Some(Written {
            name,
            column,
            nulls,
        })
    }

    fn cast(&self, to: &DataType, wanted: &str) -> Result<ArrayRef, String> {
        cast(&self.column, to).map_err(|_| {
            let (name, found) = (self.name, self.column.data_type());
            format!("column {name} is of type {found}; it must be {wanted}")
        })
    }

    /// What was read in `row`; `None` where there is nothing.
    ///
    /// # Errors
    /// What is `wrong` with a value that could not be read.
    fn get<T>(
        &self,
        row: usize,
        value: Option<T>,
        wrong: fn(&str, &str) -> String,
    ) -> Result<Option<T>, String> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(None);
        }
        value
            .map(Some)
            .ok_or_else(|| wrong(self.name, &self.text(row)))
    }

    /// What is written in `row`.
    fn text(&self, row: usize) -> String {
        array_value_to_string(&self.column, row).unwrap_or_default()
    }
}

/// The valid value in `row`.
fn valid<T>(array: &impl Array, row: usize, value: impl FnOnce() -> T) -> Option<T> {
    array.is_valid(row).then(value)
}

/// A column of times in seconds, at least 0.
#[derive(Debug)]
pub struct Seconds(Written, Float64Array);

impl Seconds {
    /// The column `name`, if there is one.
    ///
    /// # Errors
    /// It holds no numbers.
    pub fn of(batch: &RecordBatch, name: &'static str) -> Result<Option<Self>, String> {
        let read = |written: Written| {
            let values = written.cast(&DataType::Float64, "a number")?;
            Ok(Seconds(
                written,
                values.as_primitive::<Float64Type>().clone(),
            ))
        };
        Written::of(batch, name).map(read).transpose()
    }

    /// To the nearest picosecond; `None` where the row has none.
    ///
    /// # Errors
    /// A value that is none.
    pub fn get(&self, row: usize) -> Result<Option<Duration>, String> {
        let time = self.seconds(row).and_then(Duration::from_secs_f64);
        self.0.get(row, time, not_seconds)
    }

    fn seconds(&self, row: usize) -> Option<f64> {
        valid(&self.1, row, || self.1.value(row)).filter(|s| *s >= 0.0)
    }

    /// The picoseconds of a row that must have some, however many they are.
    ///
    /// # Errors
    /// A value that is none, or none at all.
    pub(crate) fn picoseconds(&self, row: usize) -> Result<u128, String> {
        let seconds = self.0.get(row, self.seconds(row), not_seconds)?;
        let seconds = seconds.ok_or_else(|| not_seconds(self.0.name, "null"))?;
        // The seconds and what is behind their point apart: of both together a float has fewer digits.
        let parts = (seconds.trunc() as u128, seconds.fract() * PS_PER_S as f64);
        Ok(parts.0 * u128::from(PS_PER_S) + parts.1.round() as u128)
    }

    /// What is written in a row.
    pub(crate) fn text(&self, row: usize) -> String {
        self.0.text(row)
    }

    /// The same of a row that must have one.
    ///
    /// # Errors
    /// A value that is none, or none at all.
    pub fn need(&self, row: usize) -> Result<Duration, String> {
        self.get(row)?
            .ok_or_else(|| not_seconds(self.0.name, "null"))
    }
}

/// A column of whole numbers, at least 0.
#[derive(Debug)]
pub struct Whole(Written, Numbers);

#[derive(Debug)]
enum Numbers {
    Integers(Int64Array),
    Floats(Float64Array),
}

impl Whole {
    /// The column `name`, if there is one.
    ///
    /// # Errors
    /// It holds no numbers.
    pub fn of(batch: &RecordBatch, name: &'static str) -> Result<Option<Self>, String> {
        let read = |written: Written| {
            let values = if written.column.data_type().is_floating() {
                let floats = written.cast(&DataType::Float64, "a number")?;
                Numbers::Floats(floats.as_primitive::<Float64Type>().clone())
            } else {
                let integers = written.cast(&DataType::Int64, "a number")?;
                Numbers::Integers(integers.as_primitive::<Int64Type>().clone())
            };
            Ok(Whole(written, values))
        };
        Written::of(batch, name).map(read).transpose()
    }

    /// The number; `None` where the row has none.
    ///
    /// # Errors
    /// A value that is none.
    pub fn get(&self, row: usize) -> Result<Option<u64>, String> {
        let value = match &self.1 {
            Numbers::Integers(n) => {
                valid(n, row, || n.value(row)).and_then(|n| u64::try_from(n).ok())
            }
            Numbers::Floats(x) => valid(x, row, || x.value(row))
                .filter(|x| *x >= 0.0 && x.fract() == 0.0 && *x < u64::MAX as f64)
                .map(|x| x as u64),
        };
        self.0.get(row, value, not_whole)
    }

    /// The same of a row that must have one.
    ///
    /// # Errors
    /// A value that is none, or none at all.
    pub fn need(&self, row: usize) -> Result<u64, String> {
        self.get(row)?.ok_or_else(|| not_whole(self.0.name, "null"))
    }
}

/// A column of text.
#[derive(Debug)]
pub struct Text(StringArray);

impl Text {
    /// The column `name`, if there is one.
    ///
    /// # Errors
    /// It holds no text.
    pub fn of(batch: &RecordBatch, name: &'static str) -> Result<Option<Self>, String> {
        let read = |written: Written| {
            let values = written.cast(&DataType::Utf8, "text")?;
            Ok(Text(values.as_string::<i32>().clone()))
        };
        Written::of(batch, name).map(read).transpose()
    }

    /// The text; `None` where the row has none.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.0.is_valid(row).then(|| self.0.value(row))
    }
}

/// A column of truth.
#[derive(Debug)]
pub struct Flags(Written, BooleanArray);

impl Flags {
    /// The column `name`, if there is one.
    ///
    /// # Errors
    /// It holds something else.
    pub fn of(batch: &RecordBatch, name: &'static str) -> Result<Option<Self>, String> {
        let read = |written: Written| {
            let values = written.cast(&DataType::Boolean, "true or false")?;
            Ok(Flags(written, values.as_boolean().clone()))
        };
        Written::of(batch, name).map(read).transpose()
    }

    /// Whether it is so; `None` where the row does not say.
    ///
    /// # Errors
    /// A value that says neither.
    pub fn get(&self, row: usize) -> Result<Option<bool>, String> {
        let value = valid(&self.1, row, || self.1.value(row));
        let wrong = |column: &str, text: &str| format!("{column} {text:?} is not true or false");
        self.0.get(row, value, wrong)
    }
}
