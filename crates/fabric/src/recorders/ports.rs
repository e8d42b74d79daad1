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

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, Float64Builder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_schema::DataType;
use fctlab_core::{Duration, Time};

use super::output::Table;
use crate::engine::port::{Port, PortCounters};
use crate::engine::slab::Slab;
use crate::network::Fabric;
use crate::outcome::RunError;
use crate::scenario::record::ports::Spec;

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
        let (counters, before) = (*port.counters(), watched.counters);
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

    fn finish(&mut self) -> Vec<arrow_array::ArrayRef> {
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
