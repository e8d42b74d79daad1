//! How much new payload a flow's receiver has got.

use fctlab_core::Bytes;

use crate::engine::FlowState;
use crate::packet::FlowSlot;

/// Payload bytes of a flow that have reached its receiver, each counted once.
/// The last packet of a flow counts in full until the others are there too.
pub(super) fn delivered_bytes(flow: &FlowState, payload: Bytes) -> u64 {
    (u64::from(flow.delivered_packets()) * payload.get()).min(flow.flow.size.get())
}

/// What has been delivered of each flow, by slot.
pub(super) struct Progress {
    payload: Bytes,
    delivered: Vec<u64>,
}

impl Progress {
    /// For packets with this payload.
    pub(super) fn new(payload: Bytes) -> Self {
        Progress {
            payload,
            delivered: Vec::new(),
        }
    }

    /// A flow has started.
    pub(super) fn on_flow_start(&mut self, slot: FlowSlot) {
        let slot = slot as usize;
        if self.delivered.len() <= slot {
            self.delivered.resize(slot + 1, 0);
        }
        self.delivered[slot] = 0;
    }

    /// Payload bytes that have arrived since the last call.
    pub(super) fn new_bytes(&mut self, slot: FlowSlot, flow: &FlowState) -> u64 {
        let now = delivered_bytes(flow, self.payload);
        let before = std::mem::replace(&mut self.delivered[slot as usize], now);
        now - before
    }
}
