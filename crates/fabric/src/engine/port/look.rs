//! What others ask of a port: recorders, observers, checks of the engine itself.

use fctlab_core::{Duration, Time};

use super::choosing::Choosing;
use super::wire::FRACTION;
use super::{Half, Port};
use crate::disciplines::Discipline;
use crate::engine::slab::Slab;

impl Port {
    fn choosing(&self) -> Option<&Choosing> {
        match &self.half {
            Half::Fifo(_) => None,
            Half::Choosing(choosing) => Some(choosing),
        }
    }

    /// Bytes waiting at `now`, by queue.
    pub fn waiting_by_queue(&mut self, now: Time, slab: &mut Slab) -> Vec<u64> {
        match &mut self.half {
            Half::Choosing(choosing) => choosing.queue.bytes_by_queue(),
            Half::Fifo(fifo) => {
                fifo.quiet = 0; // Who looks once will look again.
                fifo.list_waiting(&mut self.wire, now.ps(), slab);
                vec![fifo.waiting.bytes(self.wire.counters.accepted_bytes)]
            }
        }
    }

    /// What the discipline remembers beside the packets that wait: bytes.
    pub fn state_bytes(&self) -> u64 {
        self.choosing().map_or(0, |c| c.queue.state_bytes())
    }

    /// The largest tag that each queue but the last takes now, where tags
    /// choose the queue.
    pub fn thresholds(&mut self, now: Time) -> Option<&[u32]> {
        match &mut self.half {
            Half::Fifo(_) => None,
            Half::Choosing(choosing) => choosing.queue.thresholds(now),
        }
    }

    /// Packets queued or on the wire.
    pub fn packets_inside(&self, slab: &Slab) -> u64 {
        self.wire.packets(slab).count() as u64 + u64::from(self.wire.held_back)
    }

    /// How long a packet that arrives now will wait, where that is known now:
    /// at FIFO ports, and at others when nothing waits or is transmitted.
    pub fn wait(&self, now: Time) -> Option<Duration> {
        let wait = self.wire.busy_until.saturating_sub(now.ps());
        let known = !self.is_choosing() || (self.wire.held_back == 0 && wait == 0);
        known.then_some(Duration::from_ps(wait))
    }

    /// Time that transmissions have taken until `now`.
    pub fn busy_time(&self, now: Time) -> Duration {
        let wire = &self.wire;
        let held = self.choosing().map_or(0, |c| c.waiting_bytes);
        let bytes = wire.counters.accepted_bytes - wire.counters.evicted_bytes - held;
        let ps = (u128::from(bytes) * u128::from(wire.ps_per_byte)) >> FRACTION;
        // What has been given to the wire, less what will leave after `now`.
        Duration::from_ps((ps as u64).saturating_sub(wire.busy_until.saturating_sub(now.ps())))
    }
}
