//! Completion times of queries (incast): from the start of a query's first
//! flow until its last one is complete.
//!
//! Only measured flows count. A query with an unfinished flow enters averages and
//! percentiles with the time that it had taken when the run ended, and what rests
//! on it is marked as a lower bound.

use std::collections::BTreeMap;

use fctlab_core::stats::Censored;
use fctlab_core::{Duration, Time};
use serde_json::{Value, json};

use super::bounded_s;
use crate::records::Record;

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
        query.finished &= record.finished();
    }

    /// `{count, unfinished, avg_s, p50_s, p99_s}`, and for each of the latter whether it is a
    /// lower bound (`avg_s_lower_bound`, ...).
    pub fn report(&self) -> Value {
        let times = self.0.values().map(|q| (q.end.since(q.start), q.finished));
        let times = Censored::new(times, Duration::cmp);
        let (count, unfinished) = (times.all().len(), times.unknown());
        let total: f64 = times.all().iter().map(|t| t.as_secs_f64()).sum();
        let (p50, p50_lower_bound) = bounded_s(times.percentile(50.0));
        let (p99, p99_lower_bound) = bounded_s(times.percentile(99.0));
        json!({
            "count": count,
            "unfinished": unfinished,
            "avg_s": (count > 0).then(|| total / count as f64),
            "p50_s": p50,
            "p99_s": p99,
            "avg_s_lower_bound": unfinished > 0,
            "p50_s_lower_bound": p50_lower_bound,
            "p99_s_lower_bound": p99_lower_bound,
        })
    }
}
