//! Traces: flows replayed exactly from a CSV (plain or gzip) or Parquet file (`trace = "flows.csv"`), or from memory.
//!
//! Columns, in any order; others are ignored:
//!
//! | column | |
//! |---|---|
//! | `start_s` | start in seconds, not decreasing; to the nearest picosecond; from 10^9 on since 1970, and the first is 0 |
//! | `src`, `dst` | hosts, counted from 0, different |
//! | `size_bytes` | payload bytes, at least 1 |
//! | `traffic_class` or `class` | name of the traffic class; optional (the first of the two that exists) |
//!
//! The `flows.parquet` that fctlab writes is a trace. In CSV, decimals are read
//! exactly; lines that start with `#` are comments. Parquet columns may hold
//! integers or floats. A file is read twice, row by row: once to check all of
//! it and to learn its classes, once to replay it. Memory does not grow with it.
//! [`Rows`] in memory are for programs: text names a file.

mod csv;
mod memory;
mod origin;
mod parquet;
mod rows;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use fctlab_core::units::grouped;
use fctlab_core::{Bytes, PacketFormat, SpecError, Time};
use serde::{Deserialize, Serialize};

pub use self::memory::{RowOfFlow, Rows};
pub use self::table::flows_of;
use crate::demand::{Demand, Matrix};
use crate::sizes::{MAX_SIZE, allowed};
use crate::spec::DEFAULT_CLASS;
use crate::traffic::{Limits, Offered};
use crate::{Flow, HostLayout};

/// The columns that a trace must have.
const COLUMNS: [&str; 4] = ["start_s", "src", "dst", "size_bytes"];
/// Names of the column of traffic classes.
const CLASS_COLUMNS: [&str; 2] = ["traffic_class", "class"];

/// Flows from which on a trace has a load.
const LEAST_FLOWS: u64 = 1_000;

/// Where a trace is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, from = "PathBuf")]
pub enum TraceSource {
    /// A CSV file, gzip where its name ends in `.gz`, or a Parquet file.
    File(PathBuf),
    /// In memory; it has no text.
    #[serde(skip_serializing)]
    Rows(Arc<Rows>),
}

impl From<PathBuf> for TraceSource {
    fn from(file: PathBuf) -> Self {
        TraceSource::File(file)
    }
}

impl fmt::Display for TraceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceSource::File(file) => file.display().fmt(f),
            TraceSource::Rows(_) => f.write_str("flows in memory"),
        }
    }
}

/// A row as it is in the file.
#[derive(Debug, Default)]
struct Row {
    start: Time,
    src: u64,
    dst: u64,
    size: u64,
    class: String,
}

impl Row {
    /// The flow that it is, of the first class.
    fn flow(&self, hosts: u32) -> Result<Flow, String> {
        let host = |column: &str, host: u64| match u32::try_from(host) {
            Ok(host) if host < hosts => Ok(host),
            _ => Err(format!(
                "{column} {host} is not a host; hosts are 0 to {}",
                hosts - 1
            )),
        };
        let (src, dst) = (host("src", self.src)?, host("dst", self.dst)?);
        if src == dst {
            return Err(format!(
                "src and dst are both {src}; a flow needs two hosts"
            ));
        }
        let size = Bytes::new(self.size);
        if !allowed(size) {
            return Err(format!(
                "size_bytes {} is not in [1, {}]",
                self.size,
                MAX_SIZE.get()
            ));
        }
        Ok(Flow {
            id: 0,
            start: self.start,
            src,
            dst,
            size,
            class: 0,
            query: None,
            path_hash: 0,
        })
    }
}

/// Rows, one after the other.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one per stream, which boxes it")]
enum Reader {
    Csv(csv::Reader),
    Parquet(parquet::Reader),
    Rows(memory::Reader),
}

impl Reader {
    /// Opens a trace; a file is Parquet by its extension, CSV otherwise.
    fn open(source: &TraceSource) -> Result<Self, String> {
        let file = match source {
            TraceSource::File(file) => file,
            TraceSource::Rows(rows) => return Ok(Reader::Rows(memory::Reader::open(rows))),
        };
        match file.extension() {
            Some(e) if e.eq_ignore_ascii_case("parquet") => {
                parquet::Reader::open(file).map(Reader::Parquet)
            }
            _ => csv::Reader::open(file).map(Reader::Csv),
        }
    }
    fn class_column(&self) -> Option<&'static str> {
        match self {
            Reader::Csv(r) => r.class_column(),
            Reader::Parquet(r) => r.class_column(),
            Reader::Rows(_) => Some(CLASS_COLUMNS[0]),
        }
    }
    /// Reads the next row; false at the end of the file.
    fn read(&mut self, row: &mut Row) -> Result<bool, String> {
        match self {
            Reader::Csv(r) => r.read(row),
            Reader::Parquet(r) => r.read(row),
            Reader::Rows(r) => r.read(row),
        }
    }
    /// Where the row that was read last is in the file.
    fn place(&self) -> String {
        match self {
            Reader::Csv(r) => format!("line {}", r.line()),
            Reader::Parquet(r) => format!("row {}", r.row()),
            Reader::Rows(r) => format!("row {}", r.row()),
        }
    }
}

/// Where the columns of a file are.
#[derive(Debug)]
struct Columns {
    /// Places of [`COLUMNS`].
    places: [usize; 4],
    /// Name and place of the class column.
    class: Option<(&'static str, usize)>,
}

impl Columns {
    /// Looks up every column in a header.
    fn find<'a>(header: impl Iterator<Item = &'a str> + Clone) -> Result<Self, String> {
        let find = |name: &str| {
            let mut places = header
                .clone()
                .enumerate()
                .filter(|(_, column)| *column == name);
            match (places.next(), places.next()) {
                (Some(_), Some(_)) => Err(format!("names the column {name} twice")),
                (first, _) => Ok(first.map(|(place, _)| place)),
            }
        };
        let mut places = [0; 4];
        for (place, name) in places.iter_mut().zip(COLUMNS) {
            *place = find(name)?.ok_or_else(|| Columns::missing(name))?;
        }
        let mut class = None;
        for name in CLASS_COLUMNS {
            class = class.or(find(name)?.map(|place| (name, place)));
        }
        Ok(Columns { places, class })
    }

    /// What is wrong with a header that lacks a column.
    fn missing(name: &str) -> String {
        format!("has no column {name}; needed: {}", COLUMNS.join(", "))
    }
}

/// What is wrong with an empty class.
fn no_class(column: &str) -> String {
    format!("{column} is empty; every row needs a class, or leave the column out")
}

/// The traffic classes of a trace, in order of appearance.
#[derive(Debug, Default)]
struct Classes {
    names: Vec<String>,
    index: BTreeMap<String, u16>,
    /// There are no others.
    closed: bool,
}

impl Classes {
    /// The index of `name`, which is new or known.
    fn index(&mut self, name: &str) -> Result<u16, String> {
        if let Some(&index) = self.index.get(name) {
            return Ok(index);
        }
        if self.closed {
            let known = self.names.join(", ");
            return Err(format!("class {name:?} is none of classes ({known})"));
        }
        let too_many = |_| {
            format!(
                "class {name:?} is one too many; at most {} are allowed",
                grouped(u64::from(u16::MAX) + 1)
            )
        };
        let index = u16::try_from(self.names.len()).map_err(too_many)?;
        self.names.push(name.to_owned());
        self.index.insert(name.to_owned(), index);
        Ok(index)
    }
}

/// A checked trace, being replayed.
#[derive(Debug)]
pub(crate) struct Trace {
    source: TraceSource,
    reader: Reader,
    row: Row,
    hosts: u32,
    last_start: Time,
    classes: Classes,
    /// Rows read so far, and how many there are once that is known.
    read: u64,
    rows: Option<u64>,
}

/// What a trace holds within its limits.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// Flows.
    pub flows: u64,
    payload_bytes: u128,
    wire_bytes: u128,
    packets: u128,
    /// Payload bytes and packets by sender and receiver.
    pairs: BTreeMap<(u32, u32), (u64, u64)>,
    first_start: Time,
    last_start: Time,
}

impl Summary {
    fn add(&mut self, flow: &Flow, format: &PacketFormat) {
        if self.flows == 0 {
            self.first_start = flow.start;
        }
        self.flows += 1;
        self.payload_bytes += u128::from(flow.size.get());
        self.wire_bytes += u128::from(format.wire_bytes(flow.size));
        let packets = format.packets(flow.size);
        self.packets += u128::from(packets);
        let pair = self.pairs.entry((flow.src, flow.dst)).or_default();
        pair.0 = pair.0.saturating_add(flow.size.get());
        pair.1 = pair.1.saturating_add(packets);
        self.last_start = flow.start;
    }

    /// What the flows send to whom, per second of the time in which they start; `None` for a
    /// list of fewer than [`LEAST_FLOWS`], which is a burst rather than a load.
    pub(crate) fn demand(&self, layout: &HostLayout) -> Option<Demand> {
        let span_s = self.last_start.as_secs_f64() - self.first_start.as_secs_f64();
        if self.flows < LEAST_FLOWS || span_s <= 0.0 {
            return None;
        }
        let of = |count: fn(&(u64, u64)) -> u64| {
            let pairs = self.pairs.iter();
            let rates = pairs.map(|(&(src, dst), pair)| (src, dst, count(pair) as f64 / span_s));
            Matrix::of_pairs(layout, rates)
        };
        Some(Demand {
            active: (Time::ZERO, Time::NEVER),
            payload: of(|pair| pair.0),
            packets: of(|pair| pair.1),
        })
    }

    /// Means over the flows; the rate is that between the first and the last start.
    pub(crate) fn offered(&self) -> Offered {
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let flows = self.flows as f64;
        let span_s = self.last_start.as_secs_f64() - self.first_start.as_secs_f64();
        Offered {
            mean_size_bytes: ratio(self.payload_bytes as f64, flows),
            mean_wire_bytes: ratio(self.wire_bytes as f64, flows),
            mean_packets: ratio(self.packets as f64, flows),
            flows_per_s: ratio(flows - 1.0, span_s),
        }
    }
}

impl Trace {
    /// Opens a trace, checks all of it and returns to its start. Flows are of
    /// the class `class` when it does not say; where some are `known` there are no others.
    ///
    /// # Errors
    /// The first mistake, with the file, its line (CSV) or row (Parquet, from
    /// 1) and what is allowed there.
    pub(crate) fn open(
        source: &TraceSource,
        class: Option<&str>,
        known: &[&str],
        hosts: u32,
        format: &PacketFormat,
        mut limits: Limits,
    ) -> Result<(Self, Summary), SpecError> {
        let wrong = |message: String| in_source(source, &message);
        let reader = Reader::open(source).map_err(wrong)?;
        let mut classes = Classes::default();
        for name in known {
            classes.index(name).map_err(wrong)?;
        }
        classes.closed = !known.is_empty();
        match (reader.class_column(), class) {
            (Some(column), Some(_)) => {
                let message = format!("has no meaning: {source} has a column {column}");
                return Err(SpecError::new("class", message));
            }
            (Some(_), None) => {}
            (None, _) if known.len() == 1 => {}
            (None, _) if classes.closed => {
                let columns = CLASS_COLUMNS.join(" or ");
                return Err(wrong(format!(
                    "has no column {columns} that tells classes apart"
                )));
            }
            (None, class) => classes
                .names
                .push(class.unwrap_or(DEFAULT_CLASS).to_owned()),
        }
        let mut trace = Trace {
            source: source.clone(),
            reader,
            row: Row::default(),
            hosts,
            last_start: Time::ZERO,
            classes,
            read: 0,
            rows: None,
        };

        let mut summary = Summary::default();
        while let Some(flow) = trace.next()? {
            if limits.admit(flow.start) {
                summary.add(&flow, format);
            }
        }
        if trace.read == 0 {
            return Err(wrong("has no flows; at least one is needed".into()));
        }
        trace.rows = Some(trace.read);
        trace.read = 0;
        trace.last_start = Time::ZERO;
        trace.reader = Reader::open(source).map_err(wrong)?;
        Ok((trace, summary))
    }

    /// The sizes of its flows within `limits`: the trace is read once more.
    ///
    /// # Errors
    /// It has changed since it was checked.
    pub(crate) fn sizes(&self, mut limits: Limits) -> Result<Vec<Bytes>, SpecError> {
        let wrong = |message: String| in_source(&self.source, &message);
        let mut reader = Reader::open(&self.source).map_err(wrong)?;
        let (mut row, mut sizes) = (Row::default(), Vec::new());
        while !limits.are_reached() && reader.read(&mut row).map_err(wrong)? {
            if !limits.admit(row.start) {
                break;
            }
            sizes.push(Bytes::new(row.size));
        }
        Ok(sizes)
    }

    /// The names of the classes.
    pub(crate) fn class_names(&self) -> &[String] {
        &self.classes.names
    }

    /// The column that names them, where there is one.
    pub(crate) fn class_column(&self) -> Option<&'static str> {
        self.reader.class_column()
    }

    /// The next flow, checked; its id and path are the caller's to set.
    pub(crate) fn next(&mut self) -> Result<Option<Flow>, SpecError> {
        let flow = match self.reader.read(&mut self.row) {
            Ok(true) => self.flow(),
            Ok(false) if self.rows.is_none_or(|rows| rows == self.read) => return Ok(None),
            Ok(false) => Err("the file ends here now".into()),
            Err(message) => Err(message),
        };
        self.read += 1;
        flow.map(Some).map_err(|message| {
            let changed = if self.rows.is_some() {
                "has changed since it was checked: "
            } else {
                ""
            };
            in_source(
                &self.source,
                &format!("{changed}{}: {message}", self.reader.place()),
            )
        })
    }

    /// The current row as a flow.
    fn flow(&mut self) -> Result<Flow, String> {
        let mut flow = self.row.flow(self.hosts)?;
        if flow.start < self.last_start {
            return Err(format!(
                "start_s {} is before the {} of the flow before it; starts must not decrease (fctlab trace \
                 puts rows in order)",
                flow.start.as_secs_f64(),
                self.last_start.as_secs_f64()
            ));
        }
        self.last_start = flow.start;
        if self.reader.class_column().is_some() {
            flow.class = self.classes.index(&self.row.class)?;
        }
        Ok(flow)
    }
}

/// An error in a trace.
fn in_source(source: &TraceSource, message: &str) -> SpecError {
    SpecError::new("trace", format!("{source}: {message}"))
}

#[cfg(test)]
mod tests;
