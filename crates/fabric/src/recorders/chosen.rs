//! Flows that a recorder was asked to follow, by their numbers in the stream.

use crate::engine::FlowState;
use crate::packet::FlowSlot;

/// Which of the chosen flows lives in which slot.
pub(super) struct Chosen {
    /// Their numbers, ascending.
    flows: Vec<u64>,
    seen: Vec<bool>,
    /// By slot: the place in `flows` of the one that lives there.
    places: Vec<Option<usize>>,
}

impl Chosen {
    /// The flows of this list, in any order.
    pub(super) fn new(flows: &[u64]) -> Self {
        let mut flows = flows.to_vec();
        flows.sort_unstable();
        flows.dedup();
        Chosen {
            seen: vec![false; flows.len()],
            flows,
            places: Vec::new(),
        }
    }

    /// Their number.
    pub(super) fn len(&self) -> usize {
        self.flows.len()
    }

    /// The number in the stream of the flow at `place`.
    pub(super) fn flow(&self, place: usize) -> u64 {
        self.flows[place]
    }

    /// A flow has started; whether it is one of them.
    pub(super) fn on_flow_start(&mut self, slot: FlowSlot, flow: &FlowState) -> bool {
        let slot = slot as usize;
        if self.places.len() <= slot {
            self.places.resize(slot + 1, None);
        }
        let place = self.flows.binary_search(&flow.flow.id).ok();
        self.places[slot] = place;
        if let Some(place) = place {
            self.seen[place] = true;
        }
        place.is_some()
    }

    /// The place of the flow in `slot`, if it is one of them.
    pub(super) fn place(&self, slot: FlowSlot) -> Option<usize> {
        self.places.get(slot as usize).copied().flatten()
    }

    /// The flows that have not started.
    pub(super) fn unseen(&self) -> Vec<u64> {
        let unseen = self
            .flows
            .iter()
            .zip(&self.seen)
            .filter(|(_, seen)| !**seen);
        unseen.map(|(flow, _)| *flow).collect()
    }
}
