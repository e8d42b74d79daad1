//! The priorities that ports see: what a static table is computed from (ADS,
//! section 3.3: "recording the priority values seen by each switch").
//!
//! `values.parquet` has one row per port and value with packets, and one with
//! no packets for a port that has seen none.
//!
//! | column | unit | meaning |
//! |---|---|---|
//! | `port`, `node` | | `FROM -> TO`, and `FROM` |
//! | `rate_bps` | bit/s | of the port |
//! | `span_s` | s | length of the run |
//! | `value` | `unit` | the tag of data packets, rounded up, at most `largest` |
//! | `packets` | packets | that reached the port with this value, dropped ones included |

use std::path::Path;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{Float64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_schema::DataType;
use fctlab_core::Time;

use super::output::Table;
use crate::network::Fabric;
use crate::outcome::RunError;
use crate::packet::Packet;
use crate::scenario::record::values::Spec;
use crate::taggers::Tagger;

/// Counts values.
pub struct Recorder {
    largest: u64,
    unit: u64,
    /// Name, node and rate of each port, and its packets by value.
    ports: Vec<(String, String, u64, Vec<u64>)>,
    table: Table,
}

impl Recorder {
    /// Prepares the file in `dir`.
    pub(super) fn new(
        spec: &Spec,
        tagger: &Tagger,
        fabric: &Fabric,
        dir: &Path,
    ) -> Result<Self, RunError> {
        let columns = [
            ("port", DataType::Utf8, false),
            ("node", DataType::Utf8, false),
            ("rate_bps", DataType::UInt64, false),
            ("span_s", DataType::Float64, false),
            ("value", DataType::UInt32, false),
            ("packets", DataType::UInt64, false),
        ];
        let ports = (0..).zip(&fabric.links).map(|(id, link)| {
            let node = fabric.node_name(link.from);
            (fabric.port_name(id), node, link.rate.bps(), Vec::new())
        });
        Ok(Recorder {
            largest: u64::from(spec.largest),
            unit: if tagger.in_bytes() {
                spec.unit.get()
            } else {
                1
            },
            ports: ports.collect(),
            table: Table::create(dir, "values.parquet", &columns)?,
        })
    }

    pub(super) fn on_accept(&mut self, id: u32, packet: &Packet) {
        if packet.is_ack() {
            return;
        }
        let value = u64::from(packet.tag).div_ceil(self.unit);
        let value = value.min(self.largest) as usize;
        let seen = &mut self.ports[id as usize].3;
        if seen.len() <= value {
            seen.resize(value + 1, 0);
        }
        seen[value] += 1;
    }

    pub(super) fn finish(mut self, end: Time) -> Result<String, RunError> {
        let (mut port, mut node) = (StringBuilder::new(), StringBuilder::new());
        let (mut rate, mut span) = (UInt64Builder::new(), Float64Builder::new());
        let (mut value, mut packets) = (UInt32Builder::new(), UInt64Builder::new());
        for (name, from, bps, seen) in &self.ports {
            let nothing = seen.is_empty();
            let counts = if nothing { &[0][..] } else { &seen[..] };
            for (v, &count) in (0..).zip(counts).filter(|(_, c)| nothing || **c > 0) {
                port.append_value(name);
                node.append_value(from);
                rate.append_value(*bps);
                span.append_value(end.as_secs_f64());
                value.append_value(v);
                packets.append_value(count);
            }
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(port.finish()),
            Arc::new(node.finish()),
            Arc::new(rate.finish()),
            Arc::new(span.finish()),
            Arc::new(value.finish()),
            Arc::new(packets.finish()),
        ];
        self.table.write(columns)?;
        self.table.finish()
    }
}
