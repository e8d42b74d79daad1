//! What a run finds, and why one has no outcome.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use fctlab_core::{SpecError, Time};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::offered::Tier;
use crate::summary::SummaryRow;

/// What a run found.
pub struct Outcome {
    /// One row per size class and, where there are several, traffic class.
    pub summary: Vec<SummaryRow>,
    /// The load of each tier of links, as expected; empty for a trace of few flows.
    pub offered: Vec<Tier>,
    /// Parts of the scenario that do not meet, and a load that is high: a line each.
    pub warnings: Vec<String>,
    /// What was counted.
    pub counters: Counters,
    /// How fast it went.
    pub perf: Perf,
    /// Flow records, unless they were streamed to a file.
    pub flows: Vec<RecordBatch>,
    /// Files that recorders wrote, relative to `recordings_out`.
    pub recordings: Vec<String>,
    /// Always `measured`, the window as resolved; `cut`, what was under way or had yet to start
    /// when `measure.max_time` ended the run, if it did; then the extra summaries that
    /// the scenario asked for (`goodput`, `jain`, `starvation`, `queries`) and
    /// `recordings`, what recorders of chosen flows left out or did not see.
    pub extras: Map<String, Value>,
}

/// What a run counted, over the whole run (warm-up included).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Flows that started.
    pub flows_started: u64,
    /// Flows that finished.
    pub flows_finished: u64,
    /// Data packets sent, retransmissions included.
    pub data_packets: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets dropped at full buffers.
    pub drops: u64,
    /// Packets marked with CE.
    pub ecn_marks: u64,
    /// Packets (data, ACK or probe) that crossed a link.
    pub packet_hops: u64,
    /// Events that the engine handled, and choices of ports that were none.
    pub events: u64,
    /// Most flows in progress at once: started and not finished.
    pub peak_flows_in_flight: u64,
}

impl Counters {
    /// Adds what another part of the same fabric counted; every part knows of all flows when they start and finish.
    pub(crate) fn add_part(&mut self, other: &Counters) {
        self.data_packets += other.data_packets;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.drops += other.drops;
        self.ecn_marks += other.ecn_marks;
        self.packet_hops += other.packet_hops;
        self.events += other.events;
    }
}

/// How fast a run went. Not part of a result's identity.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Perf {
    /// Wall-clock time of the simulation in seconds.
    pub wall_s: f64,
    /// CPU time of the simulating threads in seconds.
    pub cpu_s: f64,
    /// How many there were.
    pub threads: u32,
    /// Packet-hops per wall-clock second.
    pub packet_hops_per_s: f64,
    /// Simulated time at the end of the run in seconds.
    pub simulated_s: f64,
    /// Peak resident memory of the process in bytes.
    pub peak_rss_bytes: u64,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Progress {
    /// Simulated time.
    #[serde(skip)]
    pub now: Time,
    /// Flows that have started.
    pub flows_started: u64,
    /// Flows that have finished.
    pub flows_finished: u64,
    /// Flows that will start, where that is known.
    pub flows_expected: Option<u64>,
    /// Packets that have crossed a link.
    pub packet_hops: u64,
}

/// Why a run has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The observer asked to stop.
    #[error("interrupted after {finished} of {started} flows")]
    Interrupted {
        /// Flows that had finished.
        finished: u64,
        /// Flows that had started.
        started: u64,
    },
}
