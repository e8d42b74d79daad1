//! Rows of a trace in memory.

use std::sync::Arc;

use fctlab_core::{Bytes, Time};

use super::Row;

/// Flows to replay that are in no file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Names of classes, which [`RowOfFlow::class`] points into; one that no flow has is none of the trace.
    pub classes: Vec<String>,
    /// The flows, in order of start.
    pub flows: Vec<RowOfFlow>,
}

/// What a row says of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowOfFlow {
    /// When it starts.
    pub start: Time,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload bytes.
    pub size: Bytes,
    /// Its class.
    pub class: u16,
}

/// Reads them one by one.
#[derive(Debug)]
pub(super) struct Reader {
    rows: Arc<Rows>,
    /// Rows read so far.
    read: usize,
}

impl Reader {
    pub(super) fn open(rows: &Arc<Rows>) -> Self {
        Reader {
            rows: rows.clone(),
            read: 0,
        }
    }

    /// The row that was read last, from 1.
    pub(super) fn row(&self) -> usize {
        self.read
    }

    pub(super) fn read(&mut self, row: &mut Row) -> Result<bool, String> {
        let Rows { classes, flows } = &*self.rows;
        let Some(flow) = flows.get(self.read) else {
            return Ok(false);
        };
        self.read += 1;
        row.start = flow.start;
        (row.src, row.dst) = (flow.src.into(), flow.dst.into());
        row.size = flow.size.get();
        let class = classes.get(usize::from(flow.class));
        let missing = || {
            let (class, known) = (flow.class, classes.len());
            format!("class {class} is not one of the {known} that have names")
        };
        row.class.clear();
        row.class.push_str(class.ok_or_else(missing)?);
        Ok(true)
    }
}
