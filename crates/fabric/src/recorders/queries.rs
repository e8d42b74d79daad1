//! Completion times of queries (incast): from the start of a query's first
//! flow until its last one is complete.
//!
//! Only measured flows count. A query with an unfinished flow is counted, as
//! unfinished, and its time is in no average or percentile.

use std::collections::BTreeMap;

use fctlab_core::stats::percentile;
use fctlab_core::{Duration, Time};
use serde_json::{Value, json};

use crate::records::{Fct, Record};

struct Query {
    start: Time,
    end: Time,
    finished: bool,
}

/// Collects the flows of queries.
#[derive(Default)]
pub struct Queries(BTreeMap<u32, Query>);

impl Queries {
    /// Adds a flow, if it is a measured one of a query.
    pub fn push(&mut self, record: &Record) {
        let Some(number) = record.flow.query.filter(|_| record.measured) else {
            return;
        };
        let (start, end) = (record.flow.start, record.flow.start + record.fct());
        let query = self.0.entry(number).or_insert(Query {
            start,
            end,
            finished: true,
        });
        query.start = query.start.min(start);
        query.end = query.end.max(end);
        query.finished &= matches!(record.fct, Fct::Finished(_));
    }

    /// `{count, unfinished, avg_s, p50_s, p99_s}`.
    pub fn report(&self) -> Value {
        let finished = self.0.values().filter(|q| q.finished);
        let mut times: Vec<Duration> = finished.map(|q| q.end.since(q.start)).collect();
        times.sort_unstable();
        let total: f64 = times.iter().map(|t| t.as_secs_f64()).sum();
        let seconds = |p| percentile(&times, p).map(Duration::as_secs_f64);
        json!({
            "count": self.0.len(),
            "unfinished": self.0.len() - times.len(),
            "avg_s": (!times.is_empty()).then(|| total / times.len() as f64),
            "p50_s": seconds(50.0),
            "p99_s": seconds(99.0),
        })
    }
}
