//! The network: packets arrive at switches, ports take them in, send them or
//! drop them.

use fctlab_core::Time;

use super::Engine;
use super::port::{self, Fate};
use super::probe::Probe;
use super::slab::PacketId;
use crate::index::at_mut;
use crate::packet::{FlowSlot, Packet};

impl<P: Probe> Engine<'_, P> {
    /// The packet at the head of wire `link` reaches the far end.
    #[inline(always)]
    pub(super) fn on_arrival(&mut self, link: u32) {
        let port = at_mut(&mut self.ports, link);
        let (id, header) = port.arrive(&mut self.slab, &mut self.events);
        let switch = port.switch();
        if self.slab.has_many() {
            self.look_ahead();
        }
        if switch >= port::AWAY {
            return match switch {
                port::HOST => self.deliver(id),
                _ => self.cross(link, id),
            };
        }
        let routes = &self.fabric.routes;
        let out = routes.next_port(switch, header.dst, header.hash, &mut self.router);
        self.hand_over(out, id, header.bytes);
    }

    /// Gives packet `id` to port `out`, accounting for what is dropped.
    #[inline(always)]
    pub(super) fn hand_over(&mut self, out: u32, id: PacketId, bytes: u16) -> Fate {
        let now = self.now();
        let port = at_mut(&mut self.ports, out);
        if P::FULL {
            let packet = &self.slab.get(id).packet;
            self.probe.on_accept(now, out, port, packet);
        }
        let (slab, events) = (&mut self.slab, &mut self.events);
        let fate = port.accept(now, id, bytes, slab, events, &mut self.evicted);
        if fate.drops() {
            self.after_drops(out, fate, id);
        }
        fate
    }

    #[cold]
    fn after_drops(&mut self, out: u32, fate: Fate, id: PacketId) {
        if fate == Fate::Dropped {
            let packet = self.slab.remove(id);
            self.drop_packet(out, &packet);
        }
        let at_nic = self.fabric.links[out as usize].from < self.fabric.hosts;
        for victim in std::mem::take(&mut self.evicted) {
            let from_nic = at_nic && !victim.is_ack();
            if from_nic {
                self.flows[victim.flow as usize].in_nic.leave();
            }
            self.drop_packet(out, &victim);
            // What was evicted had been received before: no timer runs that
            // would let the flow go on.
            if from_nic && self.waits_for_no_timer(victim.flow) {
                self.pump(victim.flow);
            }
        }
    }

    fn waits_for_no_timer(&self, slot: FlowSlot) -> bool {
        let state = &self.flows[slot as usize];
        let waits = state.active && !state.sender.is_done();
        waits && state.sender.deadline() == Time::NEVER
    }

    fn drop_packet(&mut self, port: u32, packet: &Packet) {
        if P::FULL {
            self.probe.on_drop(self.now(), port, packet);
        }
        self.slab.telemetry.take(packet.telemetry());
        if let Some(sender) = self.elsewhere(packet.flow) {
            return sender.deaths.push(packet.flow);
        }
        self.flows[packet.flow as usize].in_network -= 1;
        self.settle_if_done(packet.flow);
    }

    /// A transmission of port `port` has ended while packets wait.
    pub(super) fn on_transmission_end(&mut self, port: u32) {
        let now = self.now();
        let choosing = at_mut(&mut self.ports, port);
        if !choosing.is_choosing() {
            return self.on_turn(port);
        }
        let ended = choosing.transmission_ended(now, &mut self.slab, &mut self.events);
        let Some(id) = ended else { return };
        let packet = self.slab.get(id).packet;
        if P::FULL {
            self.probe.on_transmit(now, port, &packet);
        }
        if !packet.is_ack() && self.fabric.links[port as usize].from < self.fabric.hosts {
            self.flows[packet.flow as usize].in_nic.leave();
            if P::FULL && self.settings.paced {
                self.pace(packet.flow, now, packet.bytes);
            }
            self.pump(packet.flow);
        }
    }
}
