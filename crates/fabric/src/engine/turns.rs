//! Flows that share a FIFO NIC take turns.
//!
//! A flow may have few packets waiting in its NIC, so each must hear when one
//! of them starts. A FIFO knows those instants on arrival, in order: a list
//! per host, whose head is an event.

use fctlab_core::Time;

use super::ring::Ring;
use crate::packet::FlowSlot;

/// The packets that wait in FIFO NICs: when each starts and whose it is.
pub struct Turns {
    hosts: Vec<Ring<(Time, FlowSlot)>>,
}

impl Turns {
    /// Nothing waits at any of the hosts.
    pub fn new(hosts: u32) -> Self {
        Turns {
            hosts: (0..hosts).map(|_| Ring::new()).collect(),
        }
    }

    /// A packet of `flow` waits at `host` and starts at `start`. Returns the
    /// instant of the host's next turn if that has to be scheduled.
    #[inline]
    pub fn wait(&mut self, host: u32, start: Time, flow: FlowSlot) -> Option<Time> {
        let waiting = &mut self.hosts[host as usize];
        let first = waiting.is_empty();
        waiting.push((start, flow));
        first.then_some(start)
    }

    /// The turn of `host` has come: whose it is, and when the next one comes.
    #[inline]
    pub fn take(&mut self, host: u32) -> (FlowSlot, Option<Time>) {
        let waiting = &mut self.hosts[host as usize];
        let Some((_, flow)) = waiting.pop() else {
            unreachable!("a turn without a packet");
        };
        (flow, waiting.front().map(|next| next.0))
    }
}
