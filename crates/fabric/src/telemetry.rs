//! In-band network telemetry (INT), as HPCC uses it (Li et al., SIGCOMM 2019,
//! section 3.1): switch ports write what they see into data packets when their
//! transmission starts, and the ACK brings it to the sender.
//!
//! Packets stay as small as they are: what is written lies here, in slots that
//! packets refer to (`Packet::telemetry`). A packet gets its slot from the first
//! port that writes, and ports write only when a transport asks for it. Values
//! are exact; the header of the paper rounds them.

use fctlab_core::Time;

/// Ports that can write into one packet, as many as a fat-tree has on its longest path; the host's own is none
/// of them. `prepare` refuses longer ones.
pub const MAX_HOPS: usize = 5;

/// What a port writes when a transmission starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The port.
    pub port: u32,
    /// Bits per second of its link.
    pub rate: u64,
    /// When the transmission started.
    pub at: Time,
    /// Bytes that remained waiting.
    pub queue_bytes: u64,
    /// Bytes that it had sent before this packet.
    pub sent_bytes: u64,
}

/// What was written on a packet's way, first port first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    hops: [Hop; MAX_HOPS],
    count: usize,
}

impl Path {
    /// The ports passed.
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..self.count]
    }

    /// Adds a port.
    pub fn push(&mut self, hop: Hop) {
        self.hops[self.count] = hop;
        self.count += 1;
    }
}

/// What the packets in the network carry.
#[derive(Default)]
pub struct Telemetry {
    /// Slot n is entry n - 1: packets without telemetry say 0.
    paths: Vec<Path>,
    free: Vec<u32>,
}

impl Telemetry {
    /// Adds what a port sees to slot `slot`, or to a new one if that is 0.
    /// Returns the slot.
    #[inline(never)]
    pub fn record(&mut self, mut slot: u32, hop: Hop) -> u32 {
        if slot == 0 {
            slot = self.free.pop().unwrap_or_else(|| {
                self.paths.push(Path::default());
                self.paths.len() as u32
            });
        }
        self.paths[slot as usize - 1].push(hop);
        slot
    }

    /// Takes what is in slot `slot`, which is free then; nothing for 0.
    pub fn take(&mut self, slot: u32) -> Path {
        let Some(index) = slot.checked_sub(1) else {
            return Path::default();
        };
        self.free.push(slot);
        std::mem::take(&mut self.paths[index as usize])
    }

    /// Slots in use.
    pub fn in_use(&self) -> usize {
        self.paths.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again_and_start_empty() {
        let hop = |port| Hop {
            port,
            ..Hop::default()
        };
        let mut telemetry = Telemetry::default();
        let a = telemetry.record(0, hop(1));
        let b = telemetry.record(0, hop(2));
        assert_eq!(telemetry.record(a, hop(3)), a);
        assert_eq!(telemetry.in_use(), 2);
        assert_eq!(telemetry.take(a).hops(), [hop(1), hop(3)]);
        assert_eq!(telemetry.record(0, hop(4)), a);
        assert_eq!(telemetry.take(a).hops(), [hop(4)]);
        assert_eq!(telemetry.take(b).hops(), [hop(2)]);
        assert_eq!(telemetry.take(0).hops(), []);
        assert_eq!(telemetry.in_use(), 0);
    }
}
