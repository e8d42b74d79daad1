//! The packet: a small copyable value. It stays in one place from host to host; queues and wires hold its number.

use fctlab_core::{Duration, Time};

/// Slot of a flow in the engine's flow table, valid while the flow has a
/// packet in the network or anything left to send.
pub type FlowSlot = u32;

/// Number of a packet while it is in the network: its place among all of them (`engine::slab`).
pub type PacketId = u32;

/// What a packet is and what has happened to it, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// An acknowledgement; otherwise the packet carries data or is a probe.
    pub const ACK: Flags = Flags(1);
    /// ECN-capable transport: may be marked instead of dropped (RFC 3168).
    pub const ECT: Flags = Flags(2);
    /// Congestion experienced; on an ACK: the echo of it.
    pub const CE: Flags = Flags(4);
    /// A header-only probe (pFabric's probe mode).
    pub const PROBE: Flags = Flags(8);
    /// Sent before, at least once.
    pub const RETRANSMISSION: Flags = Flags(16);
    /// The last packet of its flow.
    pub const END: Flags = Flags(32);

    /// Neither of the bits.
    pub const NONE: Flags = Flags(0);

    /// Whether all bits of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// These bits and those of `other`.
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// These bits, and those of `other` if `condition`.
    pub fn with_if(self, other: Flags, condition: bool) -> Flags {
        Flags(self.0 | if condition { other.0 } else { 0 })
    }
}

/// A packet on a wire or in a queue.
///
/// Sequence numbers count packets of a flow from 0: every data packet but the
/// last carries a full payload, so a byte offset is a packet number times the
/// payload size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// The flow it belongs to.
    pub flow: FlowSlot,
    /// Random bits of flow and direction, for path selection.
    pub hash: u32,
    /// Data: what the tagger wrote; smaller is more urgent. ACK: [`telemetry`](Self::telemetry).
    pub tag: u32,
    /// Data: its number. ACK: where its [`sack_block`](Self::sack_block) begins.
    pub seq: u32,
    /// Data: [`telemetry`](Self::telemetry). ACK: the end of its [`sack_block`](Self::sack_block).
    pub telemetry_or_sack_end: u32,
    /// Data: [`queued_after`](Self::queued_after). ACK: [`cumulative`](Self::cumulative).
    pub queued_after_or_cumulative: u32,
    /// When the data packet left its sender; the ACK echoes it (RFC 7323).
    pub stamp: Stamp,
    /// Receiving host.
    pub dst: u16,
    /// Size on the wire.
    pub bytes: u16,
    /// What it is.
    pub flags: Flags,
    /// Index of its traffic class.
    pub class: u8,
}

impl Packet {
    /// Whether this is an acknowledgement.
    pub fn is_ack(&self) -> bool {
        self.flags.has(Flags::ACK)
    }

    /// The slot of the telemetry that it carries (see [`crate::telemetry`]), 0 without any.
    pub fn telemetry(&self) -> u32 {
        if self.is_ack() {
            self.tag
        } else {
            self.telemetry_or_sack_end
        }
    }

    /// Data: the slot of its telemetry is `slot`.
    #[inline(always)]
    pub fn set_telemetry(&mut self, slot: u32) {
        self.telemetry_or_sack_end = slot;
    }

    /// Data: how many packets that waited had left the port that holds it when it came; known only
    /// where marks follow departures.
    #[inline(always)]
    pub fn queued_after(&self) -> u32 {
        self.queued_after_or_cumulative
    }

    /// Data: see [`queued_after`](Self::queued_after).
    #[inline(always)]
    pub fn set_queued_after(&mut self, departed: u32) {
        self.queued_after_or_cumulative = departed;
    }

    /// ACK: every packet before this one has arrived.
    #[inline(always)]
    pub fn cumulative(&self) -> u32 {
        self.queued_after_or_cumulative
    }

    /// ACK: the SACK block that holds the packet being acknowledged, its end exclusive.
    #[inline(always)]
    pub fn sack_block(&self) -> (u32, u32) {
        (self.seq, self.telemetry_or_sack_end)
    }

    /// What is acknowledged: this packet's number or, of an ACK, the first that has not arrived.
    pub fn number(&self) -> u32 {
        if self.is_ack() {
            self.cumulative()
        } else {
            self.seq
        }
    }

    /// Data: it becomes its acknowledgement, and says so much. Stamp and class stay, and the telemetry if
    /// there `is_telemetry`. Where it goes and its size are up to the host.
    #[inline(always)]
    pub fn acknowledge(&mut self, cumulative: u32, sack_block: (u32, u32), is_telemetry: bool) {
        self.tag = if is_telemetry {
            self.telemetry_or_sack_end
        } else {
            0
        };
        (self.seq, self.telemetry_or_sack_end) = sack_block;
        self.queued_after_or_cumulative = cumulative;
        self.flags = Flags::ACK.with_if(Flags::CE, self.flags.has(Flags::CE));
    }

    /// Whether switches write telemetry into it: it carries data.
    pub fn collects_telemetry(&self) -> bool {
        !self.flags.has(Flags::ACK) && !self.flags.has(Flags::PROBE)
    }
}

/// A time stamp of 32 bits in units of 1.024 ns; intervals up to 4.4 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp(u32);

impl Stamp {
    /// The stamp for `now`.
    pub fn at(now: Time) -> Stamp {
        Stamp((now.ps() >> 10) as u32)
    }
    /// Whether it is of an earlier instant than `other`, not more than 2.2 s apart.
    pub fn is_before(self, other: Stamp) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }
    /// Time from the stamp until `now`.
    pub fn elapsed(self, now: Time) -> Duration {
        Duration::from_ps(u64::from(Stamp::at(now).0.wrapping_sub(self.0)) << 10)
    }
}
