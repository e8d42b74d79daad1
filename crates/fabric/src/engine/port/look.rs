//! What others ask of a port: recorders, observers, checks of the engine itself.

use fctlab_core::{Duration, Time};

use super::{FRACTION, Port};
use crate::disciplines::Discipline;
use crate::engine::slab::Slab;

impl Port {
    /// Bytes waiting at `now`, by queue.
    pub fn waiting_by_queue(&mut self, now: Time, slab: &mut Slab) -> Vec<u64> {
        match &self.choosing {
            Some(c) => c.queue.bytes_by_queue(),
            None => {
                self.limits.quiet = 0; // Who looks once will look again.
                self.list_waiting(now.ps(), slab);
                vec![self.limits.waiting.bytes(self.counters.accepted_bytes)]
            }
        }
    }

    /// What the discipline remembers beside the packets that wait: bytes.
    pub fn state_bytes(&self) -> u64 {
        self.choosing.as_ref().map_or(0, |c| c.queue.state_bytes())
    }

    /// The largest tag that each queue but the last takes now, where tags
    /// choose the queue.
    pub fn thresholds(&mut self, now: Time) -> Option<&[u32]> {
        self.choosing.as_mut()?.queue.thresholds(now)
    }

    /// Packets queued or on the wire.
    pub fn packets_inside(&self, slab: &Slab) -> u64 {
        self.on_wire(slab).count() as u64 + u64::from(self.waiting_packets)
    }

    /// How long a packet that arrives now will wait, where that is known now:
    /// at FIFO ports, and at others when nothing waits or is transmitted.
    pub fn wait(&self, now: Time) -> Option<Duration> {
        let wait = self.busy_until.saturating_sub(now.ps());
        let known = self.choosing.is_none() || (self.waiting_packets == 0 && wait == 0);
        known.then_some(Duration::from_ps(wait))
    }

    /// Time that transmissions have taken until `now`.
    pub fn busy_time(&self, now: Time) -> Duration {
        let held = self.choosing.as_ref().map_or(0, |c| c.waiting_bytes);
        let bytes = self.counters.accepted_bytes - self.counters.evicted_bytes - held;
        let ps = (u128::from(bytes) * u128::from(self.ps_per_byte)) >> FRACTION;
        // What has been given to the wire, less what will leave after `now`.
        Duration::from_ps((ps as u64).saturating_sub(self.busy_until.saturating_sub(now.ps())))
    }
}
