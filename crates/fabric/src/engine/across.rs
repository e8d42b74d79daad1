//! One part of a fabric among several (`parallel`): what leaves it, and what comes to it.
//!
//! Every part reads all of the traffic and numbers flows alike. A flow has its sender in one part and its receiver
//! in another or the same; a part without either knows its number alone. A packet crosses when its last byte could
//! not reach the far end within the window: a window before it does.

use std::mem::take;

use fctlab_core::{FctEnds, Time};
use fctlab_workload::Flow;

use super::Engine;
use super::probe::Probe;
use super::slab::PacketId;
use crate::packet::{FlowSlot, Packet};

/// What goes to another part at the end of a window.
#[derive(Default)]
pub(super) struct Outbox {
    /// When each packet reaches the far end of which link.
    pub(super) packets: Vec<(Time, u32, Packet)>,
    /// Flows that have their sender there, once for each packet that was dropped here.
    pub(super) deaths: Vec<FlowSlot>,
    /// Flows that have their sender there, and when their last byte was here.
    pub(super) delivered: Vec<(FlowSlot, Time)>,
}

/// Where this part is among the others.
pub(super) struct Across {
    part: u32,
    /// The part of each node.
    parts: Vec<u32>,
    /// The part of each flow's sender.
    senders: Vec<u32>,
    /// For each part.
    out: Vec<Outbox>,
    /// When flows started anywhere in this window, and finished here.
    pub(super) starts: Vec<Time>,
    pub(super) finishes: Vec<Time>,
}

impl Across {
    /// Part `part` of `count`, given the part of each node.
    pub(super) fn new(part: u32, count: u32, parts: Vec<u32>) -> Self {
        Across {
            part,
            parts,
            senders: Vec::new(),
            out: (0..count).map(|_| Outbox::default()).collect(),
            starts: Vec::new(),
            finishes: Vec::new(),
        }
    }

    /// Whether a node is simulated here.
    pub(super) fn has(&self, node: u32) -> bool {
        self.parts[node as usize] == self.part
    }
}

impl<P: Probe> Engine<'_, P> {
    /// A flow has a slot; whether it sends here, and whether it receives here.
    pub(super) fn place(&mut self, slot: FlowSlot, flow: &Flow) -> (bool, bool) {
        let Some(across) = &mut self.across else {
            return (true, true);
        };
        let sender = across.parts[flow.src as usize];
        if slot as usize == across.senders.len() {
            across.senders.push(sender);
        }
        across.senders[slot as usize] = sender;
        let sends = sender == across.part;
        self.uncounted += u64::from(!sends);
        (sends, across.has(flow.dst))
    }

    /// What goes to the flow's sender, if that is in another part.
    #[inline]
    pub(super) fn elsewhere(&mut self, slot: FlowSlot) -> Option<&mut Outbox> {
        let across = self.across.as_mut()?;
        let sender = across.senders[slot as usize];
        (sender != across.part).then(|| &mut across.out[sender as usize])
    }

    /// What goes to each other part.
    pub(super) fn outboxes(&mut self) -> impl Iterator<Item = (u32, &mut Outbox)> {
        let here = self.across.as_ref().map_or(0, |across| across.part);
        let across = self.across.iter_mut();
        let out = across.flat_map(|across| (0..).zip(&mut across.out));
        out.filter(move |(part, _)| *part != here)
    }

    /// In this window flows have finished at these instants, in all parts.
    pub(super) fn finished_everywhere(&mut self, finishes: Vec<Time>) {
        if let Some(across) = &mut self.across {
            self.in_progress.replay(&across.starts, finishes);
            across.starts.clear();
        }
    }

    /// When flows have finished here in this window.
    pub(super) fn finishes(&mut self) -> Vec<Time> {
        let across = self.across.as_mut();
        across.map_or_else(Vec::new, |across| take(&mut across.finishes))
    }

    /// The packet on link `link` reaches another part in a window from now.
    #[cold]
    #[inline(never)]
    pub(super) fn cross(&mut self, link: u32, id: PacketId) {
        let at = self.now() + self.windows.length();
        let packet = self.slab.remove(id);
        self.uncounted += 1;
        if let Some(across) = &mut self.across {
            let part = across.parts[self.fabric.links[link as usize].to as usize];
            across.out[part as usize].packets.push((at, link, packet));
        }
    }

    /// What came from another part in `window`, whose boxes are empty then.
    pub(super) fn take_in(&mut self, window: u64, from: &mut Outbox) {
        for (at, link, packet) in from.packets.drain(..) {
            let id = self.slab.insert(packet);
            let (slab, events) = (&mut self.slab, &mut self.events);
            self.ports[link as usize].come_in(at, id, slab, events);
        }
        for (slot, at) in from.delivered.drain(..) {
            let state = &mut self.flows[slot as usize];
            state.delivered_at = Some(at);
            if self.settings.fct_ends == FctEnds::Delivery {
                state.finished_at = Some(at);
            }
        }
        for slot in from.deaths.drain(..) {
            let state = &mut self.flows[slot as usize];
            state.in_network -= 1;
            if state.in_network == 0 && state.sender.is_done() {
                self.settle_after(window, slot);
            }
        }
    }
}
