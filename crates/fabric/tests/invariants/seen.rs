//! What a run's packets did.

use std::collections::HashMap;

use fctlab_core::Time;
use fctlab_fabric::engine::FlowState;
use fctlab_fabric::engine::port::Port;
use fctlab_fabric::engine::probe::Probe;
use fctlab_fabric::engine::slab::Slab;
use fctlab_fabric::packet::{Flags, FlowSlot, Packet};

/// Counts packets, and sees their order.
pub(crate) struct Seen {
    in_order: bool,
    last: HashMap<u64, u32>,
    sent: u64,
    delivered: u64,
    dropped: u64,
    inside: u64,
}

impl Seen {
    /// Where a flow's packets that are sent once have to arrive `in_order`.
    pub(crate) fn new(in_order: bool) -> Seen {
        Seen {
            in_order,
            last: HashMap::new(),
            sent: 0,
            delivered: 0,
            dropped: 0,
            inside: 0,
        }
    }

    /// Packets are conserved. A shaper has some of them when a run is cut off.
    pub(crate) fn check(&self, shaped: bool, drops: u64) {
        let gone = self.delivered + self.dropped + self.inside;
        if shaped {
            assert!(self.sent >= gone, "{} sent, {gone} gone", self.sent);
        } else {
            assert_eq!(self.sent, gone, "packets sent, and what became of them");
        }
        assert_eq!(self.dropped, drops);
    }
}

impl Probe for Seen {
    const FULL: bool = true;

    fn on_send(&mut self, _: Time, _: FlowSlot, _: &FlowState, _: &Packet) {
        self.sent += 1;
    }

    fn on_deliver(&mut self, _: Time, _: FlowSlot, flow: &FlowState, packet: &Packet) {
        self.delivered += 1;
        let once = ![Flags::ACK, Flags::PROBE, Flags::RETRANSMISSION]
            .iter()
            .any(|&f| packet.flags.has(f));
        if self.in_order && once {
            let last = self.last.insert(flow.flow.id, packet.seq);
            assert!(
                last.is_none_or(|last| last < packet.seq),
                "packet {} after {last:?}",
                packet.seq
            );
        }
    }

    fn on_drop(&mut self, _: Time, _: u32, _: &Packet) {
        self.dropped += 1;
    }

    fn on_end(&mut self, _: Time, ports: &mut [Port], slab: &mut Slab) {
        self.inside = ports.iter().map(|port| port.packets_inside(slab)).sum();
    }
}
