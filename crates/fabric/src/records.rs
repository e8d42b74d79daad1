//! One record per flow, and the columns that they become.
//!
//! Rows are in order of start, so that row i is the same flow under every
//! scheme and the file can be replayed as a trace. Flows finish in another
//! order: a record waits until those before it are there.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fctlab_core::Duration;
use fctlab_table::{BATCH, TableFile};
use fctlab_workload::Flow;

/// When a flow finished, or that it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fct {
    /// Its completion time.
    Finished(Duration),
    /// How long it had been going on when the run ended, and what it was doing.
    Unfinished(Duration, Unfinished),
}

/// What an unfinished flow was doing when the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It had packets in the network or in its NIC.
    Sending,
    /// Nothing of it was in the network; its timer had yet to expire.
    WaitingForTimeout,
    /// It was in probe mode.
    Probing,
    /// Everything available had been acknowledged; more was to come.
    WaitingForData,
    /// All data had arrived, the last ACK had not.
    WaitingForAck,
    /// Whoever made the flow does not say.
    Untold,
}

impl Unfinished {
    const ALL: [Unfinished; 6] = [
        Unfinished::Sending,
        Unfinished::WaitingForTimeout,
        Unfinished::Probing,
        Unfinished::WaitingForData,
        Unfinished::WaitingForAck,
        Unfinished::Untold,
    ];

    /// The one that `flows.parquet` calls so.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|each| each.as_str() == text)
    }

    fn as_str(self) -> &'static str {
        match self {
            Unfinished::Sending => "sending",
            Unfinished::WaitingForTimeout => "waiting for timeout",
            Unfinished::Probing => "probing",
            Unfinished::WaitingForData => "waiting for data",
            Unfinished::WaitingForAck => "waiting for ack",
            Unfinished::Untold => "not told",
        }
    }
}

/// What is known about a flow at its end.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// The flow.
    pub flow: Flow,
    /// Its completion time.
    pub fct: Fct,
    /// What it would have taken alone.
    pub ideal: Duration,
    /// Time during which the shaper held back a packet of it.
    pub source_delay: Duration,
    /// Whether it started inside the measured window.
    pub measured: bool,
    /// Data packets sent again.
    pub retransmissions: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
}

impl Record {
    /// Completion time; for an unfinished flow the time until the end of the
    /// run, a lower bound ("censored").
    pub fn fct(&self) -> Duration {
        match self.fct {
            Fct::Finished(d) | Fct::Unfinished(d, _) => d,
        }
    }
    /// FCT / ideal FCT; for an unfinished flow a lower bound, which is at least 1: no flow is
    /// faster than alone.
    pub fn slowdown(&self) -> f64 {
        let slowdown = self.fct().ps() as f64 / self.ideal.ps() as f64;
        match self.fct {
            Fct::Finished(_) => slowdown,
            Fct::Unfinished(..) => slowdown.max(1.0),
        }
    }
    /// Whether its times are known, and not lower bounds.
    pub fn finished(&self) -> bool {
        matches!(self.fct, Fct::Finished(_))
    }
}

/// Declares the columns of `flows.parquet` once: name, type, builder, value.
macro_rules! columns {
    ($( $name:literal, $type:ident, $nullable:literal, $field:ident: $builder:ty,
        |$record:ident, $classes:ident| $value:expr; )+) => {
        #[derive(Default)]
        struct Builders { $( $field: $builder ),+ }

        /// The schema of flow records; of a scheme with a shaper, `shaped`, they
        /// end with the source delay.
        pub fn schema(shaped: bool) -> SchemaRef {
            let mut fields = vec![ $( Field::new($name, DataType::$type, $nullable) ),+ ];
            if shaped {
                fields.push(Field::new("source_delay_s", DataType::Float64, false));
            }
            Arc::new(Schema::new(fields))
        }

        impl Builders {
            fn push(&mut self, record: &Record, classes: &[String]) {
                $( { let ($record, $classes) = (record, classes); let _ = $classes; self.$field.append_option($value); } )+
            }
            fn finish(&mut self) -> Vec<ArrayRef> {
                vec![ $( Arc::new(self.$field.finish()) as ArrayRef ),+ ]
            }
        }
    };
}

columns! {
    "flow", UInt64, false, flow: UInt64Builder, |r, c| Some(r.flow.id);
    "traffic_class", Utf8, false, class: StringBuilder, |r, c| c.get(usize::from(r.flow.class));
    "src", UInt32, false, src: UInt32Builder, |r, c| Some(r.flow.src);
    "dst", UInt32, false, dst: UInt32Builder, |r, c| Some(r.flow.dst);
    "size_bytes", UInt64, false, size: UInt64Builder, |r, c| Some(r.flow.size.get());
    "start_s", Float64, false, start: Float64Builder, |r, c| Some(r.flow.start.as_secs_f64());
    "fct_s", Float64, false, fct: Float64Builder, |r, c| Some(r.fct().as_secs_f64());
    "ideal_fct_s", Float64, false, ideal: Float64Builder, |r, c| Some(r.ideal.as_secs_f64());
    "slowdown", Float64, false, slowdown: Float64Builder, |r, c| Some(r.slowdown());
    "finished", Boolean, false, finished: BooleanBuilder, |r, c| Some(r.finished());
    "unfinished_reason", Utf8, true, reason: StringBuilder, |r, c| match r.fct {
        Fct::Finished(_) => None,
        Fct::Unfinished(_, why) => Some(why.as_str()),
    };
    "measured", Boolean, false, measured: BooleanBuilder, |r, c| Some(r.measured);
    "retransmissions", UInt32, false, retransmissions: UInt32Builder, |r, c| Some(r.retransmissions);
    "timeouts", UInt32, false, timeouts: UInt32Builder, |r, c| Some(r.timeouts);
    "query", UInt32, true, query: UInt32Builder, |r, c| r.flow.query;
}

/// Where records go: batches in memory, or a Parquet file.
enum Target {
    Memory(Vec<RecordBatch>),
    File(Box<TableFile>),
}

/// Collects records into batches.
pub struct Records {
    builders: Builders,
    /// Only of a scheme with a shaper.
    source_delays: Option<Float64Builder>,
    /// Records that wait for earlier flows; the first is of flow `next`.
    waiting: VecDeque<Option<Record>>,
    next: u64,
    classes: Vec<String>,
    target: Target,
}

impl Records {
    /// Keeps records in memory, or streams them into `file`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn new(classes: Vec<String>, shaped: bool, file: Option<File>) -> std::io::Result<Self> {
        let target = match file {
            None => Target::Memory(Vec::new()),
            Some(file) => Target::File(Box::new(TableFile::new(file, schema(shaped))?)),
        };
        Ok(Records {
            builders: Builders::default(),
            source_delays: shaped.then(Float64Builder::default),
            waiting: VecDeque::new(),
            next: 0,
            classes,
            target,
        })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push(&mut self, record: &Record) -> std::io::Result<()> {
        let index = (record.flow.id - self.next) as usize;
        if self.waiting.len() <= index {
            self.waiting.resize(index + 1, None);
        }
        self.waiting[index] = Some(*record);
        while let Some(Some(record)) = self.waiting.front() {
            self.builders.push(record, &self.classes);
            if let Some(delays) = &mut self.source_delays {
                delays.append_value(record.source_delay.as_secs_f64());
            }
            self.waiting.pop_front();
            self.next += 1;
            if self.builders.flow.len() == BATCH {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let mut columns = self.builders.finish();
        if let Some(delays) = &mut self.source_delays {
            columns.push(Arc::new(delays.finish()));
        }
        let schema = schema(self.source_delays.is_some());
        let batch = RecordBatch::try_new(schema, columns).map_err(std::io::Error::other)?;
        match &mut self.target {
            Target::Memory(batches) => batches.push(batch),
            Target::File(table) => table.write(&batch)?,
        }
        Ok(())
    }

    /// Ends the collection; the batches, unless they went to a file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> std::io::Result<Vec<RecordBatch>> {
        self.flush()?;
        match self.target {
            Target::Memory(batches) => Ok(batches),
            Target::File(table) => table.finish().map(|_| Vec::new()),
        }
    }
}
