//! Flows that share a FIFO NIC take turns.
//!
//! A flow may have few packets waiting in its NIC, so each must hear when one
//! of them starts. A FIFO knows those instants on arrival, in order: a list
//! per port, whose head is an event.

use std::collections::VecDeque;

use fctlab_core::Time;

use crate::index::at_mut;
use crate::packet::FlowSlot;

/// The packets that wait in FIFO NICs: when each starts and whose it is.
pub(super) struct Turns {
    ports: Vec<VecDeque<(Time, FlowSlot)>>,
}

impl Turns {
    /// Nothing waits at any of so many ports.
    pub(super) fn new(ports: u32) -> Self {
        Turns {
            ports: vec![VecDeque::new(); ports as usize],
        }
    }

    /// A packet of `flow` waits at `port` and starts at `start`. Returns the
    /// instant of the port's next turn if that has to be scheduled.
    #[inline]
    pub(super) fn wait(&mut self, port: u32, start: Time, flow: FlowSlot) -> Option<Time> {
        let waiting = at_mut(&mut self.ports, port);
        let first = waiting.is_empty();
        waiting.push_back((start, flow));
        first.then_some(start)
    }

    /// The turn of `port` has come: whose it is, and when the next one comes.
    #[inline]
    pub(super) fn take(&mut self, port: u32) -> (FlowSlot, Option<Time>) {
        let waiting = at_mut(&mut self.ports, port);
        let Some((_, flow)) = waiting.pop_front() else {
            unreachable!("a turn without a packet");
        };
        (flow, waiting.front().map(|next| next.0))
    }
}
