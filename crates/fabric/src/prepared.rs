//! A run that is ready: what every engine takes, and what it gives.

use std::ops::ControlFlow;

use fctlab_core::{Duration, SpecError, Time};
use fctlab_workload::Traffic;

use crate::network::Fabric;
use crate::offered::Tier;
use crate::outcome::{Counters, Progress};
use crate::records::Record;
use crate::scenario::Scenario;
use crate::settings::Settings;

/// A scenario in which nothing is wrong any more, and what follows from it. It can be run any
/// number of times; each run draws the same flows.
#[derive(Debug)]
pub struct Prepared {
    /// Every default filled in, every preset merged.
    pub scenario: Scenario,
    /// Its hosts, switches and links.
    pub fabric: Fabric,
    /// What it says, resolved against the fabric.
    pub settings: Settings,
    /// Names of the traffic classes.
    pub classes: Vec<String>,
    /// How many flows there are, or are expected where the traffic ends at a time.
    pub expected_flows: u64,
    /// The load of each tier of links, as expected; empty for a trace of few flows.
    pub offered: Vec<Tier>,
    /// Parts that do not meet, and a load that is high: a line each.
    pub warnings: Vec<String>,
}

impl Prepared {
    /// Its flows, from the first on.
    ///
    /// # Errors
    /// A file that has changed since it was prepared.
    pub fn traffic(&self) -> Result<Traffic, SpecError> {
        self.scenario.traffic_on(&self.fabric)
    }
}

/// Takes the record of each flow that is over, and those of flows that are not at the end.
pub type Sink<'a> = dyn FnMut(&Record) -> std::io::Result<()> + 'a;

/// Sees how far a run has come and says whether to go on.
pub type Observer<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

/// What an engine says of a run that is over.
pub struct Ended {
    /// How it ended.
    pub end: End,
    /// What was counted.
    pub counters: Counters,
    /// Simulated time at the end.
    pub now: Time,
    /// CPU time of threads other than the caller's.
    pub others_cpu: Duration,
    /// Bytes that waited at the tail of each link times the seconds for which they did; empty where nobody counted.
    pub waited: Vec<f64>,
}

/// How a run ended.
pub enum End {
    /// By its own rule.
    Complete,
    /// The observer asked to stop.
    Interrupted,
    /// The sink of records failed.
    Failed(std::io::Error),
}
