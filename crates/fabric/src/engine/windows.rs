//! What many places of a run have to agree on is settled between two *windows* of time.
//!
//! A flow that is done gives its slot back, and the run is over when no flow is left: both hang on what happens at
//! its sender, at its receiver and wherever its packets are. Where these are simulated side by side
//! (`parallel`), what one of them does reaches another a window later ([`Fabric::window`]). So a flow that is over in
//! one window is over for everyone at the end of the next, and a run ends with a window. One thread keeps to the
//! same rule, so that a run is the same on any number of them.
//!
//! [`Fabric::window`]: crate::network::Fabric::window

use std::collections::VecDeque;

use fctlab_core::{Duration, Time};

use super::Engine;
use super::probe::Probe;
use crate::index::at;
use crate::packet::FlowSlot;
use crate::records::Record;

/// The windows of a run, and the flows that are to be settled.
pub(super) struct Windows {
    /// In picoseconds.
    length: u64,
    /// Where a run ends when all measured flows have finished: the first window in which none starts any more.
    measured: Option<u64>,
    /// Before which window a flow is settled, and which flow; in order of the windows.
    due: VecDeque<(u64, FlowSlot)>,
}

impl Windows {
    /// Windows of a length; measured flows, if they end the run, start before an instant.
    pub(super) fn new(length: Duration, measured_until: Option<Time>) -> Self {
        let length = length.ps();
        Windows {
            length,
            measured: measured_until.map(|until| until.ps().div_ceil(length)),
            due: VecDeque::new(),
        }
    }

    pub(super) fn length(&self) -> Duration {
        Duration::from_ps(self.length)
    }

    /// The number of the window that holds an instant.
    pub(super) fn of(&self, time: Time) -> u64 {
        time.ps() / self.length
    }

    /// The last instant before a window.
    pub(super) fn before(&self, window: u64) -> Time {
        Time::from_ps(window.saturating_mul(self.length) - 1)
    }

    /// Before which window after `window` there is something to settle; `u64::MAX` if there is nothing.
    pub(super) fn next_due(&self, window: u64) -> u64 {
        let flow = self.due.front().map_or(u64::MAX, |first| first.0);
        let measured = self.measured.filter(|&measured| measured > window);
        flow.min(measured.unwrap_or(u64::MAX))
    }

    /// The flow is settled before a window, no earlier than those before it.
    fn settle_before(&mut self, window: u64, slot: FlowSlot) {
        debug_assert!(self.due.back().is_none_or(|last| last.0 <= window));
        self.due.push_back((window, slot));
    }

    /// A flow that is settled before a window.
    fn take(&mut self, window: u64) -> Option<FlowSlot> {
        self.due.front().filter(|first| first.0 <= window)?;
        self.due.pop_front().map(|first| first.1)
    }
}

impl<P: Probe> Engine<'_, P> {
    /// Where nobody else says when windows end: one ends before `window`.
    fn end_before(&mut self, window: u64) {
        if self.across.is_none() && window != u64::MAX {
            self.events.end_window(self.windows.before(window));
        }
    }

    /// Before the first event.
    pub(super) fn begin_windows(&mut self) {
        self.end_before(self.windows.next_due(0));
    }

    /// Nothing of the flow is left to do here, or on its way, in the window of `now`.
    #[inline]
    pub(super) fn settle_if_done(&mut self, slot: FlowSlot) {
        let state = at(&self.flows, slot);
        if state.in_network == 0 && state.sender.is_done() {
            self.settle_after(self.windows.of(self.now()), slot);
        }
    }

    /// Nothing of the flow was left to do at the end of `window`: all know of it a window later.
    #[cold]
    pub(super) fn settle_after(&mut self, window: u64, slot: FlowSlot) {
        if self.settings.paced {
            self.let_go(slot);
        }
        self.windows.settle_before(window + 2, slot);
        self.end_before(window + 2);
    }

    /// A measured flow has finished; it may have been the last.
    pub(super) fn look_after_measured(&mut self) {
        if self.measured_open == 0 && self.windows.measured.is_some() {
            self.end_before(self.windows.of(self.now()) + 1);
        }
    }

    /// The flows that are settled before `window`, with their records.
    pub(super) fn settled(&mut self, window: u64) -> Vec<(FlowSlot, Record)> {
        let mut settled = Vec::new();
        while let Some(slot) = self.windows.take(window) {
            settled.push((slot, self.record(slot, self.now())));
        }
        settled
    }

    /// The flows in these slots, in ascending order, are over for everyone.
    pub(super) fn release(&mut self, slots: impl Iterator<Item = FlowSlot>) {
        for slot in slots {
            if let Some(state) = self.flows.get_mut(slot as usize) {
                state.active = false;
            }
            self.free.push(slot);
            self.in_flight -= 1;
        }
    }

    /// Whether the run ends before `window` by its own rule, `open` measured flows not having finished.
    pub(super) fn is_over(&self, window: u64, open: i64) -> bool {
        let drained = self.next_flow.is_none() && self.in_flight == 0;
        let measured = self.windows.measured.is_some_and(|first| window >= first);
        drained || (measured && open == 0)
    }

    /// On one thread: a window has ended; whether the run has.
    pub(super) fn on_window_end(&mut self) -> bool {
        let window = self.windows.of(self.now()) + 1;
        let mut settled = self.settled(window);
        settled.sort_unstable_by_key(|flow| flow.0);
        for (_, record) in &settled {
            self.keep(record);
        }
        self.release(settled.iter().map(|flow| flow.0));
        self.end_before(self.windows.next_due(window));
        self.is_over(window, self.measured_open) || self.failed.is_some()
    }

    /// Gives a record to whoever collects them.
    pub(super) fn keep(&mut self, record: &Record) {
        if let Err(error) = (self.sink)(record) {
            self.failed.get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_by_hand() {
        let at = Time::from_ps;
        let mut windows = Windows::new(Duration::from_ps(10), Some(at(35)));
        assert_eq!([0, 9, 10, 19].map(|t| windows.of(at(t))), [0, 0, 1, 1]);
        assert_eq!(windows.before(2), at(19));
        // The last measured flow starts in window 3.
        assert_eq!(
            [0, 3, 4].map(|window| windows.next_due(window)),
            [4, 4, u64::MAX]
        );
        windows.settle_before(3, 7);
        windows.settle_before(5, 8);
        assert_eq!(windows.next_due(0), 3);
        assert_eq!((windows.take(4), windows.take(4)), (Some(7), None));
        assert_eq!((windows.next_due(4), windows.take(5)), (5, Some(8)));
    }
}
