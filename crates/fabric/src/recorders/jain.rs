//! Jain's fairness index over the flows in progress (Jain, Chiu, Hawe, 1984).
//!
//! The measured window is cut into intervals of 100 base RTTs. In each, the
//! index is taken of the throughputs (new payload at the receiver) of the flows
//! that were in progress all the time: started at its beginning or earlier, and
//! incomplete at its end. Intervals with fewer than two such flows, and
//! those in which none of them received anything, do not count.

use fctlab_core::stats::{jain, percentile};
use fctlab_core::{Bytes, Duration, Time};
use serde_json::{Value, json};

use super::progress::delivered_bytes;
use crate::engine::FlowState;

/// Base RTTs per interval.
const RTTS: u64 = 100;

/// Samples what flows have received.
pub struct Recorder {
    interval: Duration,
    next: Time,
    until: Time,
    payload: Bytes,
    /// By slot, at the last sample: the flow in progress and its bytes.
    before: Vec<Option<(u64, u64)>>,
    started: bool,
    indices: Vec<f64>,
    flows: u64,
}

impl Recorder {
    pub(super) fn new((from, until): (Time, Time), base_rtt: Duration, payload: Bytes) -> Self {
        let interval = Duration::from_ps(base_rtt.ps().saturating_mul(RTTS).max(1));
        Recorder {
            interval,
            next: from,
            until,
            payload,
            before: Vec::new(),
            started: false,
            indices: Vec::new(),
            flows: 0,
        }
    }

    /// When the next sample is due; never once the window is over.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    pub(super) fn sample(&mut self, now: Time, flows: &[FlowState]) {
        let after: Vec<Option<(u64, u64)>> = flows.iter().map(|flow| self.progress(flow)).collect();
        if self.started {
            let rates = self
                .before
                .iter()
                .zip(&after)
                .filter_map(|pair| match pair {
                    (Some((flow, then)), Some((same, now))) if flow == same => {
                        Some((now - then) as f64)
                    }
                    _ => None,
                });
            let rates: Vec<f64> = rates.collect();
            if rates.len() >= 2
                && let Some(index) = jain(rates.iter().copied())
            {
                self.indices.push(index);
                self.flows += rates.len() as u64;
            }
        }
        (self.before, self.started) = (after, true);
        let next = Time::from_ps(now.ps().saturating_add(self.interval.ps()));
        self.next = if next <= self.until {
            next
        } else {
            Time::NEVER
        };
    }

    /// The flow, if it is in progress, and what it has received.
    fn progress(&self, flow: &FlowState) -> Option<(u64, u64)> {
        let in_progress = flow.is_active() && flow.delivered_packets() < flow.total_packets();
        in_progress.then(|| (flow.flow.id, delivered_bytes(flow, self.payload)))
    }

    /// `{mean, p1, intervals, interval_s, avg_flows}`.
    pub(super) fn report(mut self) -> Value {
        self.indices.sort_unstable_by(f64::total_cmp);
        let n = self.indices.len();
        let mean = |sum: f64| (n > 0).then(|| sum / n as f64);
        json!({
            "mean": mean(self.indices.iter().sum()),
            "p1": percentile(&self.indices, 1.0),
            "intervals": n,
            "interval_s": self.interval.as_secs_f64(),
            "avg_flows": mean(self.flows as f64),
        })
    }
}
