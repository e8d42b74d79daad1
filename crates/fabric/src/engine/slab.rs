//! Where packets are while they are on a wire: a slab whose slots are used
//! again, linked into one list per wire.
//!
//! A packet keeps its slot from host to host while no port holds it back, so a
//! hop changes a few words of it and copies nothing.

use crate::index::{at, at_mut, prefetch};
use crate::packet::Packet;
pub use crate::packet::PacketId;
use crate::telemetry::Telemetry;

/// No slot.
pub const NONE: PacketId = u32::MAX;

/// A packet on a wire; one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct InFlight {
    /// The packet.
    pub packet: Packet,
    /// The packet behind it on the same wire, or the next free slot.
    pub next: PacketId,
    /// When the packet reaches the far end of the wire.
    pub arrival: u64,
    /// When the packet behind it does, so that a hop looks at one slot only.
    pub next_arrival: u64,
}

/// The packets on all wires.
pub struct Slab {
    slots: Vec<InFlight>,
    free: PacketId,
    /// How many slots are many, and whether there are.
    many_from: usize,
    many: bool,
    /// What packets carry beside themselves.
    pub telemetry: Telemetry,
}

impl Default for Slab {
    fn default() -> Self {
        Slab {
            slots: Vec::new(),
            free: NONE,
            many_from: usize::MAX,
            many: false,
            telemetry: Telemetry::default(),
        }
    }
}

impl Slab {
    /// The same, where more than so many packets are many.
    pub fn many_from(self, many_from: usize) -> Self {
        Slab { many_from, ..self }
    }

    /// A slot for a packet; it holds what was there before.
    #[inline(always)]
    pub fn claim(&mut self) -> PacketId {
        let id = self.free;
        match self.slots.get(id as usize) {
            Some(slot) => {
                self.free = slot.next;
                id
            }
            None => self.grow(),
        }
    }

    #[inline(never)]
    fn grow(&mut self) -> PacketId {
        let packet = Packet::default();
        self.slots.push(InFlight {
            packet,
            next: NONE,
            arrival: 0,
            next_arrival: 0,
        });
        self.many = self.slots.len() > self.many_from;
        self.slots.len() as PacketId - 1
    }

    /// Gives `packet` a slot.
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let id = self.claim();
        self.get_mut(id).packet = packet;
        id
    }

    /// Frees a slot.
    #[inline(always)]
    pub fn remove(&mut self, id: PacketId) -> Packet {
        let free = self.free;
        let slot = self.get_mut(id);
        slot.next = free;
        let packet = slot.packet;
        self.free = id;
        packet
    }

    /// The slot `id`.
    #[inline(always)]
    pub fn get(&self, id: PacketId) -> &InFlight {
        at(&self.slots, id)
    }

    /// Whether there are so many packets that asking for what they need ahead of time pays.
    #[inline(always)]
    pub fn has_many(&self) -> bool {
        self.many
    }

    /// The slot `id` will be needed soon.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        prefetch(&self.slots, id);
    }

    /// The slot `id`.
    #[inline(always)]
    pub fn get_mut(&mut self, id: PacketId) -> &mut InFlight {
        at_mut(&mut self.slots, id)
    }
}
