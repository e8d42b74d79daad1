//! What sees inside a run.
//!
//! The engine is compiled twice: in full, for runs that are looked into or that have what few
//! runs have ([`Settings::is_rare`](crate::settings::Settings::is_rare)), and without all of that,
//! with [`Blind`], where it costs nothing. A probe only looks: flow records are the same, bit for
//! bit, with any of them.

use fctlab_core::Time;

use super::FlowState;
use super::port::Port;
use super::slab::Slab;
use crate::packet::{FlowSlot, Packet};

/// Is told what happens in a run.
pub trait Probe {
    /// Whether the engine is compiled in full: with these calls, and with pacing, shaping, spacing,
    /// telemetry and delayed ACKs.
    const FULL: bool;

    /// When the next sample is due.
    fn next_sample(&self) -> Option<Time> {
        None
    }

    /// Takes the samples that are due; when the next one is.
    fn sample(
        &mut self,
        _now: Time,
        _ports: &mut [Port],
        _slab: &mut Slab,
        _flows: &[FlowState],
    ) -> Option<Time> {
        None
    }

    /// A flow has started.
    fn on_flow_start(&mut self, _now: Time, _slot: FlowSlot, _flow: &FlowState) {}

    /// A host hands a packet to its NIC. For an ACK: the receiver has just
    /// taken in what it acknowledges.
    fn on_send(&mut self, _now: Time, _slot: FlowSlot, _flow: &FlowState, _packet: &Packet) {}

    /// A packet reaches its host, which has not looked at it yet.
    fn on_deliver(&mut self, _now: Time, _slot: FlowSlot, _flow: &FlowState, _packet: &Packet) {}

    /// A sender's window may have changed.
    fn on_window(&mut self, _now: Time, _slot: FlowSlot, _flow: &FlowState) {}

    /// A port is about to take a packet in or drop it.
    fn on_accept(&mut self, _now: Time, _id: u32, _port: &Port, _packet: &Packet) {}

    /// A port that held a packet back starts to transmit it.
    fn on_transmit(&mut self, _now: Time, _id: u32, _packet: &Packet) {}

    /// A packet is dropped at a port.
    fn on_drop(&mut self, _now: Time, _id: u32, _packet: &Packet) {}

    /// The run is over.
    fn on_end(&mut self, _now: Time, _ports: &mut [Port], _slab: &mut Slab) {}
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl Probe for Blind {
    const FULL: bool = false;
}
