//! Rows of a trace in a table: numbers may be integers or floats.

use arrow_array::RecordBatch;

use crate::columns::{Seconds, Text, Whole};

use super::origin::Origin;
use super::{COLUMNS, Columns, Row, no_class};

/// A batch of rows.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) count: usize,
    starts: Seconds,
    whole: [Whole; 3],
    class: Option<(&'static str, Text)>,
}

impl Rows {
    /// The rows of `batch`; the column of their classes is `class`.
    ///
    /// # Errors
    /// A column that is missing, or holds something else.
    pub(super) fn of(batch: &RecordBatch, class: Option<&'static str>) -> Result<Self, String> {
        let whole = |i: usize| {
            let found = Whole::of(batch, COLUMNS[i])?;
            found.ok_or_else(|| Columns::missing(COLUMNS[i]))
        };
        let starts = Seconds::of(batch, COLUMNS[0])?;
        let class = match class {
            Some(name) => Text::of(batch, name)?.map(|text| (name, text)),
            None => None,
        };
        Ok(Rows {
            count: batch.num_rows(),
            starts: starts.ok_or_else(|| Columns::missing(COLUMNS[0]))?,
            whole: [whole(1)?, whole(2)?, whole(3)?],
            class,
        })
    }

    /// Reads row `i`, whose start is since `origin`.
    ///
    /// # Errors
    /// The first value that is missing, or is something else.
    pub(super) fn read(&self, i: usize, origin: &mut Origin, row: &mut Row) -> Result<(), String> {
        row.start = origin.time(self.starts.picoseconds(i)?, || self.starts.text(i))?;
        row.src = self.whole[0].need(i)?;
        row.dst = self.whole[1].need(i)?;
        row.size = self.whole[2].need(i)?;
        if let Some((name, class)) = &self.class {
            let class = class.get(i).filter(|class| !class.is_empty());
            row.class.clear();
            row.class.push_str(class.ok_or_else(|| no_class(name))?);
        }
        Ok(())
    }
}
