//! Averages and percentiles of the measured flows, by size class and traffic class.
//!
//! Flows that had not finished when the run ended enter with lower bounds of their times, and
//! what rests on one of these is marked as a lower bound itself.

use fctlab_core::stats::{Bounded, Censored};
use serde::Serialize;

use crate::records::Record;

/// Size classes by name, with their upper ends in bytes, inclusive.
pub const SIZE_CLASSES: [(&str, u64); 3] = [
    ("small", 100_000),
    ("medium", 10_000_000),
    ("large", u64::MAX),
];

/// Summary of the measured flows of one size class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryRow {
    /// Name of the scheme.
    pub scheme: String,
    /// `all`, `small` (0, 100 KB], `medium` (100 KB, 10 MB] or `large`.
    pub class: String,
    /// Name of the traffic class, or `all`.
    pub traffic_class: String,
    /// Measured flows, finished or not.
    pub flows: u64,
    /// Measured flows that had not finished when the run ended. They enter averages and
    /// percentiles with lower bounds: their age, and a slowdown of at least 1.
    pub unfinished: u64,
    /// Mean flow completion time in seconds.
    pub avg_fct_s: f64,
    /// Median (nearest rank).
    pub p50_fct_s: f64,
    /// 99th percentile (nearest rank).
    pub p99_fct_s: f64,
    /// Mean of FCT / ideal FCT.
    pub avg_slowdown: f64,
    /// Median (nearest rank).
    pub p50_slowdown: f64,
    /// 99th percentile (nearest rank).
    pub p99_slowdown: f64,
    /// Whether `avg_fct_s` is a lower bound, because of unfinished flows.
    pub avg_fct_s_lower_bound: bool,
    /// The same of `p50_fct_s`: unfinished flows could move it.
    pub p50_fct_s_lower_bound: bool,
    /// The same of `p99_fct_s`.
    pub p99_fct_s_lower_bound: bool,
    /// The same of `avg_slowdown`.
    pub avg_slowdown_lower_bound: bool,
    /// The same of `p50_slowdown`.
    pub p50_slowdown_lower_bound: bool,
    /// The same of `p99_slowdown`.
    pub p99_slowdown_lower_bound: bool,
}

/// One measured flow, as small as the percentiles allow.
#[derive(Clone, Copy)]
struct Sample {
    fct_ps: u64,
    slowdown: f64,
    size_class: u8,
    finished: bool,
    traffic_class: u16,
}

/// Collects measured flows.
#[derive(Default)]
pub struct Summary {
    samples: Vec<Sample>,
}

impl Summary {
    /// Adds a record if it is of a measured flow.
    pub fn push(&mut self, record: &Record) {
        if record.measured {
            let size = record.flow.size.get();
            let class = SIZE_CLASSES
                .iter()
                .position(|(_, end)| size <= *end)
                .unwrap_or(0);
            self.samples.push(Sample {
                fct_ps: record.fct().ps(),
                slowdown: record.slowdown(),
                size_class: class as u8,
                finished: record.finished(),
                traffic_class: record.flow.class,
            });
        }
    }

    /// The rows: for all traffic, then for each traffic class if there are
    /// several; in each all sizes, then every size class, flows or not.
    pub fn rows(&self, scheme: &str, classes: &[String]) -> Vec<SummaryRow> {
        let each = classes.iter().enumerate().filter(|_| classes.len() > 1);
        let each = each.map(|(i, name)| (name.as_str(), Some(i as u16)));
        let traffic = std::iter::once(("all", None)).chain(each);
        let mut rows = Vec::new();
        for (traffic_name, traffic_class) in traffic {
            let of_class = |s: &&Sample| traffic_class.is_none_or(|c| s.traffic_class == c);
            let sizes = SIZE_CLASSES
                .iter()
                .enumerate()
                .map(|(i, (name, _))| (*name, Some(i as u8)));
            for (size_name, size_class) in std::iter::once(("all", None)).chain(sizes) {
                let of_size = |s: &&Sample| size_class.is_none_or(|c| s.size_class == c);
                let chosen: Vec<Sample> = self
                    .samples
                    .iter()
                    .filter(of_class)
                    .filter(of_size)
                    .copied()
                    .collect();
                rows.push(row(scheme, size_name, traffic_name, &chosen));
            }
        }
        rows
    }
}

fn row(scheme: &str, class: &str, traffic_class: &str, samples: &[Sample]) -> SummaryRow {
    let fcts = Censored::new(samples.iter().map(|s| (s.fct_ps, s.finished)), u64::cmp);
    let slowdowns = samples.iter().map(|s| (s.slowdown, s.finished));
    let slowdowns = Censored::new(slowdowns, f64::total_cmp);
    let n = samples.len() as f64;
    let unfinished = fcts.unknown();
    let fct = |p| {
        let found = fcts.percentile(p);
        found.map_or((f64::NAN, false), |b| {
            (b.value as f64 / 1e12, b.lower_bound)
        })
    };
    let slowdown = |p| {
        let found: Option<Bounded<f64>> = slowdowns.percentile(p);
        found.map_or((f64::NAN, false), |b| (b.value, b.lower_bound))
    };
    let (p50_fct_s, p50_fct_s_lower_bound) = fct(50.0);
    let (p99_fct_s, p99_fct_s_lower_bound) = fct(99.0);
    let (p50_slowdown, p50_slowdown_lower_bound) = slowdown(50.0);
    let (p99_slowdown, p99_slowdown_lower_bound) = slowdown(99.0);
    let total_fct: u128 = fcts.all().iter().map(|&ps| u128::from(ps)).sum();
    SummaryRow {
        scheme: scheme.into(),
        class: class.into(),
        traffic_class: traffic_class.into(),
        flows: samples.len() as u64,
        unfinished: unfinished as u64,
        avg_fct_s: total_fct as f64 / 1e12 / n,
        p50_fct_s,
        p99_fct_s,
        avg_slowdown: slowdowns.all().iter().sum::<f64>() / n,
        p50_slowdown,
        p99_slowdown,
        avg_fct_s_lower_bound: unfinished > 0,
        p50_fct_s_lower_bound,
        p99_fct_s_lower_bound,
        avg_slowdown_lower_bound: unfinished > 0,
        p50_slowdown_lower_bound,
        p99_slowdown_lower_bound,
    }
}
