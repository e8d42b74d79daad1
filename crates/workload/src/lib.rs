//! Flow sizes, arrivals, patterns and traces: everything that turns a
//! `[traffic]` table into a stream of flows.
//!
//! 1. [`TrafficSpec`] is the table. [`TrafficSpec::resolve`] checks its keys
//!    against each other, fills in defaults and makes file names absolute.
//! 2. [`TrafficSpec::build`] meets the topology ([`HostLayout`]): it computes
//!    the arrival rate that the load asks for, or validates the trace.
//! 3. [`Traffic`] is the stream: an iterator that makes one [`Flow`] at a time,
//!    in order of start, with memory that does not grow with the flows made.
//!
//! A generated flow is four independent draws, each from a random stream of its
//! own, so that changing one leaves the others as they were:
//!
//! | stream | draws | module |
//! |---|---|---|
//! | `arrivals` | the gap before it, and of [`places`] with processes of their own where it is | [`arrivals`]: Poisson, log-normal, measured |
//! | `sizes` | its payload bytes | [`sizes`]: published tables, fixed, uniform, bimodal, a CSV file |
//! | `endpoints` | sender and receiver | [`patterns`]: all-to-all, triangle, inter-rack, permutation, many-to-one, incast, matrix |
//! | `paths` | bits for path selection | [`traffic`] |
//!
//! Several such streams at once are [`classes`]; each has its own `arrivals`,
//! `sizes` and `endpoints`, so that a class keeps its flows whatever is beside it.
//!
//! **Load** has one meaning: bytes offered per loaded host link as a share of
//! its rate, headers included unless `load_counts = "payload"`. Each pattern
//! says over which links its load is spread; where rates differ they add up.
//!
//! What is asked of a class, its SLIs and SLO, is in [`sli`], [`slo`] and [`asked`].
//!
//! [`trace`] replays flows from a CSV or Parquet file, or from memory, instead.

use std::path::{Path, PathBuf};

use fctlab_core::{Bytes, Rate, Time};

pub mod arrivals;
pub mod asked;
pub mod classes;
pub mod columns;
pub mod demand;
mod draw;
mod generator;
mod lines;
mod mix;
pub mod patterns;
pub mod places;
pub mod sizes;
pub mod sli;
pub mod slo;
pub mod spacing;
pub mod spec;
pub mod trace;
pub mod traffic;

pub use arrivals::ArrivalsSpec;
pub use classes::{ClassSpec, ShareOf};
pub use demand::{Demand, Matrix};
pub use patterns::PatternSpec;
pub use places::Per;
pub use sizes::{Mixture, SizeDistribution, SizesSpec};
pub use spacing::Spacing;
pub use spec::{LoadCounts, TrafficSpec};
pub use trace::{RowOfFlow, Rows, TraceSource};
pub use traffic::{Offered, Traffic};

/// One flow, before anything has happened to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Position in the stream, from 0.
    pub id: u64,
    /// When its first byte is available at the sender.
    pub start: Time,
    /// Sending host.
    pub src: u32,
    /// Receiving host, never the sender.
    pub dst: u32,
    /// Payload bytes, at least 1.
    pub size: Bytes,
    /// Index into the stream's class names.
    pub class: u16,
    /// The query (incast request) that the flow belongs to.
    pub query: Option<u32>,
    /// Random bits for path selection.
    pub path_hash: u32,
}

/// What traffic needs to know about the hosts of a fabric.
#[derive(Clone, Debug)]
pub struct HostLayout {
    /// The rack of each host; its length is the number of hosts.
    pub rack_of: Vec<u32>,
    /// Rate of the link that `load` refers to: a host link, or a star's bottleneck.
    pub host_rate: Rate,
    /// The rate of each host's link, where they differ.
    pub rates: Vec<Rate>,
    /// The one receiver, on topologies that have one (star).
    pub sink: Option<u32>,
}

impl HostLayout {
    /// The rate of a host's link, as `load` refers to it.
    pub fn rate(&self, host: u32) -> Rate {
        let own = self.rates.get(host as usize);
        own.copied().unwrap_or(self.host_rate)
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        u32::try_from(self.rack_of.len()).unwrap_or(u32::MAX)
    }
}

/// `file` as an absolute name; a relative one is taken from `base_dir`.
fn absolute(base_dir: &Path, file: &Path) -> PathBuf {
    let joined = base_dir.join(file);
    std::path::absolute(&joined).unwrap_or(joined)
}
