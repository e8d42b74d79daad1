//! Flows whose packets become available to their senders one after another
//! (`traffic.spacing`), at events of their own.

use fctlab_core::{Bytes, Duration, Time};
use fctlab_workload::{Flow, Spacing};

use super::Engine;
use super::probe::Probe;
use crate::index::at_mut;
use crate::packet::FlowSlot;

/// What is to come of one flow, and what it would have taken alone.
pub(super) struct Feed {
    times: Spacing,
    /// Time of one full packet at the host's rate.
    each: Duration,
    /// Alone, the host's link would be busy until then with what is available.
    busy_until: Time,
    /// Alone, the last byte would arrive (or its ACK) no earlier: the latest
    /// over the packets that find the link idle, each with all that follow it.
    ideal_end: Time,
}

impl Feed {
    /// Its completion time alone, as far as packets have become available.
    pub(super) fn ideal(&self, flow: &Flow) -> Duration {
        self.ideal_end.since(flow.start)
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
        let rate = self.fabric.links[state.nics.0 as usize].rate;
        let format = &self.settings.format;
        let alone = rate.transmission_time(format.wire_bytes(state.flow.size));
        let span = Duration::from_ps((alone.ps() as f64 * self.settings.spacing) as u64);
        state.feed = Some(Box::new(Feed {
            times: Spacing::new(self.settings.seed, &state.flow, state.total, span),
            each: rate.transmission_time(format.full()),
            busy_until: state.flow.start,
            ideal_end: state.flow.start,
        }));
        self.feed(slot);
    }

    /// The next packet of the flow is available.
    pub(super) fn feed(&mut self, slot: FlowSlot) {
        let now = self.events.now();
        let state = at_mut(&mut self.flows, slot);
        let Some(feed) = &mut state.feed else { return };
        let number = state.sender.available();
        if now >= feed.busy_until {
            let before = u64::from(number) * self.settings.format.payload.get();
            let Flow { src, dst, size, .. } = state.flow;
            let rest = self
                .ideal
                .fct(self.fabric, src, dst, Bytes::new(size.get() - before));
            feed.ideal_end = feed.ideal_end.max(now + rest);
        }
        feed.busy_until = feed.busy_until.max(now) + feed.each;
        state.wake = feed.times.next().unwrap_or(Time::NEVER);
        let config = &self.settings.sender;
        state.sender.make_available(now, number + 1, config);
    }
}
