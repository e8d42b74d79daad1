//! Persistent connections between pairs of hosts (`connections = "persistent"`),
//! as in the ns-2 experiments that pFabric and PIAS published.
//!
//! A flow takes the connection of its pair that has been idle for longest, and
//! gives it back once its last byte is acknowledged: no flow waits for another.
//! Every pair has one connection from the start, open and unused. A flow that
//! finds all of its pair busy opens another one, and sends when the answer to
//! its first packet, a bare header, is there; that takes part of its FCT.
//! Connections are never closed. With `handshake` the first one of a pair has to be opened, too.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use fctlab_workload::Flow;

use crate::transports::sender::Kept;

/// The connection that a new flow finds.
pub(super) enum Found {
    /// Never used.
    New,
    /// Idle, with what earlier flows have left.
    Idle(Box<Kept>),
    /// None: it has to be opened.
    Closed,
}

/// The idle connections of pairs of hosts: those that have had a flow.
#[derive(Default)]
pub(super) struct Connections(HashMap<(u32, u32), VecDeque<Box<Kept>>>);

impl Connections {
    /// The connection of a flow that starts.
    pub(super) fn take(&mut self, flow: &Flow) -> Found {
        match self.0.entry((flow.src, flow.dst)) {
            Entry::Vacant(unused) => {
                unused.insert(VecDeque::new());
                Found::New
            }
            Entry::Occupied(mut idle) => match idle.get_mut().pop_front() {
                Some(kept) => Found::Idle(kept),
                None => Found::Closed,
            },
        }
    }

    /// The connection of a flow all of which is acknowledged is idle.
    pub(super) fn give_back(&mut self, flow: &Flow, kept: Kept) {
        let idle = self.0.entry((flow.src, flow.dst)).or_default();
        idle.push_back(Box::new(kept));
    }
}
