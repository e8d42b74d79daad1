//! What the next events will need is asked of memory while this one is handled.
//!
//! In a fabric of thousands of hosts, or with many packets on the wires, an event finds none of what it looks at in
//! a core's own cache, and looks at one thing to know where the next is: the port, the packet at the head of its wire,
//! the packet's flow or next port, the packet behind which it goes there. So a few events ahead of the clock each is
//! followed along this chain, a step at a time, each step of which asks for what the one after it reads.

use super::Engine;
use super::events::{NONE, Source};
use super::port::{self, Port};
use super::probe::Probe;
use crate::index::prefetch;

/// Events between two steps.
const STEP: usize = 4;
/// Events that are followed.
const FOLLOWED: usize = 4 * STEP;

/// Ports that leave nothing of a core's own cache (1 MB) for anything else.
pub(super) const MANY_PORTS: usize = 1 << 12;

/// Packets that leave nothing of it.
pub(super) const MANY_PACKETS: usize = 1 << 14;

/// The events that are followed.
#[derive(Default)]
pub(super) struct Ahead {
    /// The bucket of each, and the link whose packet arrives, then the port to which that packet goes.
    followed: [(u64, u32); FOLLOWED],
    /// The oldest of them.
    oldest: usize,
}

impl<P: Probe> Engine<'_, P> {
    /// Follows one more event, as long as there are not enough between it and the clock.
    #[inline(never)]
    pub(super) fn look_ahead(&mut self) {
        let Ahead { followed, oldest } = &mut self.ahead;
        let place = *oldest % FOLLOWED;
        let (first, last) = (
            followed[place].0,
            followed[(place + FOLLOWED - 1) % FOLLOWED].0,
        );
        let Some((bucket, source)) = self.events.beyond(last, first) else {
            return;
        };
        *oldest = place + 1;
        let ports = self.ports.len() as Source;
        followed[place] = (bucket, source.wrapping_sub(ports));
        prefetch(&self.ports, followed[place].1);
        self.events.prefetch(source);
        let earlier = |steps: usize| (place + FOLLOWED - steps * STEP) % FOLLOWED;

        let link = followed[earlier(1)].1;
        if let Some(id) = self.ports.get(link as usize).and_then(Port::next_arriving) {
            self.slab.prefetch(id);
        }

        let second = &mut followed[earlier(2)].1;
        let arrives = self.ports.get(*second as usize);
        *second = NONE;
        if let Some(port) = arrives
            && let Some(id) = port.next_arriving()
        {
            let packet = &self.slab.get(id).packet;
            if port.switch() == port::HOST {
                prefetch(&self.flows, packet.flow);
            } else if port.switch() != port::AWAY {
                let routes = &self.fabric.routes;
                *second = routes.likely_port(port.switch(), packet.dst, packet.hash);
                prefetch(&self.ports, *second);
                self.events.prefetch(*second + ports);
            }
        }

        let out = followed[earlier(3)].1;
        if let Some(id) = self.ports.get(out as usize).and_then(Port::last_sent) {
            self.slab.prefetch(id);
        }
    }
}
