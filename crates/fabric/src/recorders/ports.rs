//! Time series of ports: what they hold, what they do, what they drop and mark.
//!
//! `port_series.parquet` has one row per sample, port and queue. What counts a
//! whole port (everything after `up_to`) stands in the row of its first
//! queue and is null in the others, so that sums over the file are right. A
//! last, shorter interval ends with the run.
//!
//! | column | unit | meaning |
//! |---|---|---|
//! | `time_s` | s | end of the interval |
//! | `port` | | `FROM -> TO` |
//! | `queue` | | number of the queue, 0 is served first |
//! | `queued_bytes` | bytes | waiting at that instant, the packet in transmission not included |
//! | `up_to` | tag | the largest tag that the queue takes at that instant; null for the last queue, and where tags do not choose the queue by thresholds |
//! | `utilisation` | share | of the interval that transmissions took |
//! | `packets` | packets | that reached the far end in the interval |
//! | `state_bytes` | bytes | that the discipline remembers beside the packets that wait |
//! | `drops`, `marks` | packets | dropped, and marked with CE, in the interval |

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayBuilder, Float64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow::datatypes::DataType;
use fctlab_core::{Duration, SpecError, Time, spec};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::output::Table;
use crate::engine::port::{Port, PortCounters};
use crate::engine::slab::Slab;
use crate::network::Fabric;
use crate::outcome::RunError;

/// Time series of ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Time between samples.
    pub interval: Duration,
    /// The ports: `"all"`, or a list of names such as `"leaf 0 -> host 3"`.
    #[serde(default)]
    pub which: Which,
}

/// A choice of ports.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Which {
    /// All of them.
    #[default]
    All,
    /// Those with these names.
    Named(Vec<String>),
}

impl Serialize for Which {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Which::All => s.serialize_str("all"),
            Which::Named(names) => names.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Which {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::String(s) if s == "all" => Ok(Which::All),
            list @ Value::Array(_) => spec::read(list)
                .map(Which::Named)
                .map_err(SpecError::into_serde),
            other => {
                let message = format!(
                    "{other} is not a choice of ports: write \"all\" or a list such as [\"leaf 0 -> host 3\"]"
                );
                Err(serde::de::Error::custom(message))
            }
        }
    }
}

impl schemars::JsonSchema for Which {
    fn schema_name() -> Cow<'static, str> {
        "Which".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names =
            serde_json::json!({"type": "array", "items": {"type": "string"}, "minItems": 1});
        schemars::json_schema!({"anyOf": [{"const": "all"}, names]})
    }
}

impl Spec {
    /// The ports by number, with their names.
    ///
    /// # Errors
    /// An interval of zero, an unknown port, or no port at all.
    pub fn resolve(&self, fabric: &Fabric) -> Result<Vec<(u32, String)>, SpecError> {
        if self.interval == Duration::ZERO {
            return Err(SpecError::new("interval", "0s is not above zero"));
        }
        let Which::Named(names) = &self.which else {
            let all = 0..fabric.links.len() as u32;
            return Ok(all.map(|id| (id, fabric.port_name(id))).collect());
        };
        if names.is_empty() {
            return Err(SpecError::new(
                "which",
                "is empty; list at least one port, or write \"all\"",
            ));
        }
        let mut chosen: Vec<(u32, String)> = Vec::with_capacity(names.len());
        for (i, name) in names.iter().enumerate() {
            let wrong = |message| SpecError::new(format!("which[{i}]"), message);
            let id = fabric.port_named(name).map_err(wrong)?;
            if chosen.iter().any(|(known, _)| *known == id) {
                return Err(wrong(format!("{name:?} is there twice")));
            }
            chosen.push((id, name.clone()));
        }
        Ok(chosen)
    }
}

/// A port, as of the last sample.
struct Watched {
    id: u32,
    name: String,
    counters: PortCounters,
    busy: Duration,
}

/// Samples ports.
pub struct Recorder {
    interval: Duration,
    last: Time,
    next: Time,
    watched: Vec<Watched>,
    rows: Rows,
    table: Table,
}

/// The queues of a port at an instant: bytes, and the largest tag of all but the last.
struct Queues {
    queued: Vec<u64>,
    thresholds: Vec<u32>,
}

#[derive(Default)]
struct Rows {
    time: Float64Builder,
    port: StringBuilder,
    queue: UInt32Builder,
    queued: UInt64Builder,
    up_to: UInt32Builder,
    utilisation: Float64Builder,
    state: UInt64Builder,
    packets: UInt64Builder,
    drops: UInt64Builder,
    marks: UInt64Builder,
}

impl Recorder {
    /// Prepares the file in `dir`.
    pub(super) fn new(spec: &Spec, fabric: &Fabric, dir: &Path) -> Result<Self, RunError> {
        let ports = spec.resolve(fabric).map_err(|e| e.under("record.ports"))?;
        let watched = ports.into_iter().map(|(id, name)| Watched {
            id,
            name,
            counters: PortCounters::default(),
            busy: Duration::ZERO,
        });
        let columns = [
            ("time_s", DataType::Float64, false),
            ("port", DataType::Utf8, false),
            ("queue", DataType::UInt32, false),
            ("queued_bytes", DataType::UInt64, false),
            ("up_to", DataType::UInt32, true),
            ("utilisation", DataType::Float64, true),
            ("state_bytes", DataType::UInt64, true),
            ("packets", DataType::UInt64, true),
            ("drops", DataType::UInt64, true),
            ("marks", DataType::UInt64, true),
        ];
        Ok(Recorder {
            interval: spec.interval,
            last: Time::ZERO,
            next: Time::ZERO + spec.interval,
            watched: watched.collect(),
            rows: Rows::default(),
            table: Table::create(dir, "port_series.parquet", &columns)?,
        })
    }

    /// When the next sample is due.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    pub(super) fn sample(
        &mut self,
        now: Time,
        ports: &mut [Port],
        slab: &mut Slab,
    ) -> Result<(), RunError> {
        let length = now.since(self.last);
        for watched in &mut self.watched {
            let port = &mut ports[watched.id as usize];
            let queued = port.waiting_by_queue(now, slab);
            let thresholds = port.thresholds(now).unwrap_or_default().to_vec();
            let queues = Queues { queued, thresholds };
            self.rows.push(watched, now, length, port, queues);
        }
        self.last = now;
        // Saturates to never.
        self.next = Time::from_ps(now.ps().saturating_add(self.interval.ps()));
        if Table::is_batch(self.rows.time.len()) {
            self.table.write(self.rows.finish())
        } else {
            Ok(())
        }
    }

    /// The run has ended, and with it the last interval.
    pub(super) fn on_end(
        &mut self,
        now: Time,
        ports: &mut [Port],
        slab: &mut Slab,
    ) -> Result<(), RunError> {
        if now > self.last {
            self.sample(now, ports, slab)
        } else {
            Ok(())
        }
    }

    pub(super) fn finish(mut self) -> Result<String, RunError> {
        self.table.write(self.rows.finish())?;
        self.table.finish()
    }
}

impl Rows {
    fn push(
        &mut self,
        watched: &mut Watched,
        now: Time,
        interval: Duration,
        port: &Port,
        Queues { queued, thresholds }: Queues,
    ) {
        let busy = port.busy_time(now);
        let share = busy.ps().saturating_sub(watched.busy.ps()) as f64 / interval.ps() as f64;
        let (counters, before) = (port.counters, watched.counters);
        for (queue, bytes) in queued.into_iter().enumerate() {
            let whole = queue == 0;
            self.time.append_value(now.as_secs_f64());
            self.port.append_value(&watched.name);
            self.queue.append_value(queue as u32);
            self.queued.append_value(bytes);
            self.up_to.append_option(thresholds.get(queue).copied());
            self.utilisation
                .append_option(whole.then_some(share.min(1.0)));
            self.state
                .append_option(whole.then_some(port.state_bytes()));
            let packets = counters.delivered_packets - before.delivered_packets;
            self.packets.append_option(whole.then_some(packets));
            self.drops
                .append_option(whole.then_some(counters.dropped_packets - before.dropped_packets));
            self.marks
                .append_option(whole.then_some(counters.marked_packets - before.marked_packets));
        }
        (watched.counters, watched.busy) = (counters, busy);
    }

    fn finish(&mut self) -> Vec<arrow::array::ArrayRef> {
        vec![
            Arc::new(self.time.finish()),
            Arc::new(self.port.finish()),
            Arc::new(self.queue.finish()),
            Arc::new(self.queued.finish()),
            Arc::new(self.up_to.finish()),
            Arc::new(self.utilisation.finish()),
            Arc::new(self.state.finish()),
            Arc::new(self.packets.finish()),
            Arc::new(self.drops.finish()),
            Arc::new(self.marks.finish()),
        ]
    }
}
