//! How many bytes a packet has.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Packet format: payload and header of a full data packet, and an ACK.
///
/// Defaults: 1460 B + 40 B = 1500 B on the wire, ACK 40 B.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PacketFormat {
    /// Payload of a full data packet (the MSS).
    pub payload: Bytes,
    /// Header of every data packet.
    pub header: Bytes,
    /// An ACK, or a probe, on the wire.
    pub ack: Bytes,
}

impl Default for PacketFormat {
    fn default() -> Self {
        PacketFormat {
            payload: Bytes::new(1460),
            header: Bytes::new(40),
            ack: Bytes::new(40),
        }
    }
}

impl PacketFormat {
    /// Bytes of a full data packet on the wire.
    pub fn full(&self) -> u64 {
        self.payload.get() + self.header.get()
    }
    /// Packets that a flow of `size` payload bytes needs; at least one.
    pub fn packets(&self, size: Bytes) -> u64 {
        size.get().div_ceil(self.payload.get()).max(1)
    }
    /// Bytes of a flow of `size` payload bytes on the wire, headers included.
    pub fn wire_bytes(&self, size: Bytes) -> u64 {
        size.get() + self.packets(size) * self.header.get()
    }
}
