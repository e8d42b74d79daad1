//! Flows whose packets become available to their senders one after another
//! (`traffic.spacing`), at events of their own.

use fctlab_core::{Duration, Time};
use fctlab_workload::{Flow, Spacing};

use super::Engine;
use super::probe::Probe;
use crate::index::at_mut;
use crate::network::ideal::Spaced;
use crate::packet::FlowSlot;

/// What is to come of one flow, and what it would have taken alone.
pub(super) struct Feed {
    times: Spacing,
    alone: Spaced,
}

impl Feed {
    /// Its completion time alone, as far as packets have become available.
    pub(super) fn ideal(&self, flow: &Flow) -> Duration {
        self.alone.fct(flow)
    }
}

impl<P: Probe> Engine<'_, P> {
    /// Makes a new flow's packets available: all, or the first of them.
    pub(super) fn start_feed(&mut self, slot: FlowSlot) {
        let state = at_mut(&mut self.flows, slot);
        if self.settings.spacing == 0.0 {
            let (now, config) = (self.events.now(), &self.settings.sender);
            return state.sender.make_available(now, state.total, config);
        }
        let rate = self.fabric.host_rate(state.flow.src);
        state.feed = Some(Box::new(Feed {
            times: self.settings.available(&state.flow, state.total, rate),
            alone: Spaced::new(&self.ideal, self.fabric, &state.flow),
        }));
        self.feed(slot);
    }

    /// The next packet of the flow is available.
    pub(super) fn feed(&mut self, slot: FlowSlot) {
        let now = self.events.now();
        let state = at_mut(&mut self.flows, slot);
        let Some(feed) = &mut state.feed else { return };
        feed.alone
            .available(&self.ideal, self.fabric, &state.flow, now);
        state.wake = feed.times.next().unwrap_or(Time::NEVER);
        let (number, config) = (state.sender.available(), &self.settings.sender);
        state.sender.make_available(now, number + 1, config);
    }
}
