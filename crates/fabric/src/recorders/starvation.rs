//! Starvation: the longest time for which a flow with data to send received nothing.
//!
//! A flow has data to send from its start until its last byte has arrived. Its
//! gaps are the times between its start, the arrivals of new payload at the
//! receiver and, for a flow that is incomplete then, the end of the run; the
//! longest counts, one number per measured flow. That of an incomplete flow is a
//! lower bound, and so is what rests on it.

use fctlab_core::stats::Censored;
use fctlab_core::{Duration, Time};
use serde_json::{Value, json};

use super::bounded_s;
use crate::engine::FlowState;
use crate::packet::FlowSlot;

/// A measured flow that is incomplete.
#[derive(Clone, Copy)]
struct Open {
    flow: u64,
    /// When it last received something.
    last: Time,
    longest: Duration,
}

/// Finds the longest gaps.
pub struct Recorder {
    window: (Time, Time),
    /// By slot.
    open: Vec<Option<Open>>,
    /// Longest gaps of flows, and whether each is complete.
    gaps: Vec<(Duration, bool)>,
    /// The longest of all and its flow.
    worst: Option<(Duration, u64)>,
}

impl Recorder {
    pub(super) fn new(window: (Time, Time)) -> Self {
        Recorder {
            window,
            open: Vec::new(),
            gaps: Vec::new(),
            worst: None,
        }
    }

    pub(super) fn on_flow_start(&mut self, now: Time, slot: FlowSlot, flow: &FlowState) {
        let slot = slot as usize;
        if self.open.len() <= slot {
            self.open.resize(slot + 1, None);
        }
        let measured = now >= self.window.0 && now < self.window.1;
        let open = Open {
            flow: flow.flow.id,
            last: now,
            longest: Duration::ZERO,
        };
        self.open[slot] = measured.then_some(open);
    }

    /// The receiver has got something new.
    pub(super) fn on_payload(&mut self, now: Time, slot: FlowSlot, flow: &FlowState) {
        let place = &mut self.open[slot as usize];
        let Some(open) = place else { return };
        open.longest = open.longest.max(now.since(open.last));
        open.last = now;
        if flow.delivered_packets() == flow.total_packets() {
            let closed = *open;
            *place = None;
            self.close(closed, true);
        }
    }

    fn close(&mut self, Open { flow, longest, .. }: Open, complete: bool) {
        self.gaps.push((longest, complete));
        if self.worst.is_none_or(|(worst, _)| longest > worst) {
            self.worst = Some((longest, flow));
        }
    }

    /// `{max_s, max_flow, p99_s, flows}`, and whether the times are lower bounds.
    pub(super) fn report(mut self, end: Time) -> Value {
        for mut open in std::mem::take(&mut self.open).into_iter().flatten() {
            open.longest = open.longest.max(end.since(open.last));
            self.close(open, false);
        }
        let flows = self.gaps.len();
        let gaps = Censored::new(self.gaps, Duration::cmp);
        let (p99, p99_lower_bound) = bounded_s(gaps.percentile(99.0));
        json!({
            "max_s": self.worst.map(|(gap, _)| gap.as_secs_f64()),
            "max_flow": self.worst.map(|(_, flow)| flow),
            "p99_s": p99,
            "flows": flows,
            "max_s_lower_bound": gaps.unknown() > 0,
            "p99_s_lower_bound": p99_lower_bound,
        })
    }
}
