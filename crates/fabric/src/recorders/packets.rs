//! Packet trace of chosen flows, `packets.pcapng`, for Wireshark.
//!
//! A packet appears when its host hands it to the NIC (before it waits there)
//! and when it reaches the other host. Each host is an interface of the file:
//! `frame.interface_name == "host 3"` shows what that host sees, and with
//! `at = "sender"` only the sender's view is written, which suits Wireshark's
//! TCP analysis best: seeing each packet twice, it takes the second for a
//! retransmission.
//!
//! The simulator has packets, not bytes, so headers are made up from what it
//! knows, as IPv4 and TCP would write it:
//!
//! | field | value |
//! |---|---|
//! | addresses | 10.0.x.y for host 256 x + y |
//! | ports | from the flow's number, 49152 upwards; 49152 for flows 0 to 16383 at the receiver |
//! | IP identification | low 16 bits of the packet's number |
//! | ECN | ECT(0), CE; ECE on the ACK that echoes it |
//! | sequence number | byte offset of the payload (no SYN: it starts at 0), modulo 2^32 |
//! | SACK | the block of the ACK, in bytes |
//! | checksums | right, for a payload of zeros |
//!
//! Packets begin with their IPv4 header (link type "raw IP"), which is what the
//! default 40-byte header stands for, so that a frame's length is the
//! simulated one. Only headers are captured. An ACK with a SACK block, or a
//! header configured smaller than 40 bytes, is longer here than simulated.

use std::io::Write;
use std::path::Path;

use fctlab_core::{PacketFormat, Time};
use serde_json::{Value, json};

use super::chosen::Chosen;
use super::output::Output;
use super::pcapng::{self, Direction};
use crate::engine::FlowState;
use crate::outcome::RunError;
use crate::packet::{Flags, FlowSlot, Packet};
use crate::scenario::record::packets::{At, Spec};

/// Traces packets.
pub struct Recorder {
    chosen: Chosen,
    format: PacketFormat,
    at: At,
    max_packets: u64,
    written: u64,
    left_out: u64,
    /// The hosts that are interfaces, in the order of the file.
    interfaces: Vec<u32>,
    output: Output,
}

/// Bytes of a packet that are kept at most.
const SNAP_LENGTH: u32 = 64;

impl Recorder {
    /// Prepares the file in `dir`.
    pub(super) fn new(spec: &Spec, format: &PacketFormat, dir: &Path) -> Result<Self, RunError> {
        let mut recorder = Recorder {
            chosen: Chosen::new(&spec.flows),
            format: *format,
            at: spec.at,
            max_packets: spec.max_packets,
            written: 0,
            left_out: 0,
            interfaces: Vec::new(),
            output: Output::create(dir, "packets.pcapng")?,
        };
        recorder.write(&pcapng::section_header())?;
        Ok(recorder)
    }

    fn write(&mut self, block: &[u8]) -> Result<(), RunError> {
        self.output
            .write_all(block)
            .map_err(|e| self.output.error(e))
    }

    pub(super) fn on_flow_start(
        &mut self,
        slot: FlowSlot,
        flow: &FlowState,
    ) -> Result<(), RunError> {
        if !self.chosen.on_flow_start(slot, flow) {
            return Ok(());
        }
        let (src, dst) = (flow.flow.src, flow.flow.dst);
        let hosts = [(src, self.at != At::Receiver), (dst, self.at != At::Sender)];
        for (host, _) in hosts.into_iter().filter(|(_, wanted)| *wanted) {
            if !self.interfaces.contains(&host) {
                self.interfaces.push(host);
                self.write(&pcapng::interface(&format!("host {host}"), SNAP_LENGTH))?;
            }
        }
        Ok(())
    }

    /// A host hands a packet to its NIC.
    #[inline]
    pub(super) fn on_send(
        &mut self,
        now: Time,
        slot: FlowSlot,
        flow: &FlowState,
        packet: &Packet,
    ) -> Result<(), RunError> {
        self.trace(now, slot, flow, packet, Direction::Outbound)
    }

    /// A packet reaches its host.
    #[inline]
    pub(super) fn on_deliver(
        &mut self,
        now: Time,
        slot: FlowSlot,
        flow: &FlowState,
        packet: &Packet,
    ) -> Result<(), RunError> {
        self.trace(now, slot, flow, packet, Direction::Inbound)
    }

    fn trace(
        &mut self,
        now: Time,
        slot: FlowSlot,
        flow: &FlowState,
        packet: &Packet,
        direction: Direction,
    ) -> Result<(), RunError> {
        if self.chosen.place(slot).is_none() {
            return Ok(());
        }
        let at_sender = packet.is_ack() == (direction == Direction::Inbound);
        let (host, unwanted) = if at_sender {
            (flow.flow.src, At::Receiver)
        } else {
            (flow.flow.dst, At::Sender)
        };
        if self.at == unwanted {
            return Ok(());
        }
        if self.written == self.max_packets {
            self.left_out += 1;
            return Ok(());
        }
        let Some(interface) = self.interfaces.iter().position(|h| *h == host) else {
            unreachable!("the hosts of a chosen flow are interfaces");
        };
        self.written += 1;
        let ends = Ends {
            flow: flow.flow.id,
            src: flow.flow.src,
            dst: flow.flow.dst,
            size: flow.flow.size.get(),
        };
        let (headers, payload) = headers(&ends, packet, self.format.payload.get());
        let shown = headers.len() as u64 + payload;
        let length = shown.max(u64::from(packet.bytes)) as u32;
        let block = pcapng::packet(
            interface as u32,
            now.ps() / 1000,
            &headers,
            length,
            direction,
        );
        self.write(&block)
    }

    /// What the file holds.
    pub(super) fn report(&self) -> Value {
        json!({
            "written_packets": self.written,
            "left_out_packets": self.left_out,
            "flows_not_seen": self.chosen.unseen(),
        })
    }

    pub(super) fn finish(self) -> Result<String, RunError> {
        self.output.finish()
    }
}

/// What a header needs to know about a flow.
struct Ends {
    flow: u64,
    src: u32,
    dst: u32,
    size: u64,
}

/// First port of the dynamic range (RFC 6335), and how many there are.
const FIRST_PORT: u64 = 49152;
const PORTS: u64 = 1 << 14;

/// IPv4 and TCP headers of `packet`, and the length of its payload, when full
/// packets carry `mss` bytes.
fn headers(ends: &Ends, packet: &Packet, mss: u64) -> (Vec<u8>, u64) {
    let offset = |number: u32| (u64::from(number) * mss).min(ends.size);
    let address = |host: u32| [10, 0, (host >> 8) as u8, host as u8];
    let ports = (
        FIRST_PORT + ends.flow % PORTS,
        FIRST_PORT + ends.flow / PORTS % PORTS,
    );
    let (ack, probe) = (packet.is_ack(), packet.flags.has(Flags::PROBE));
    let marked = packet.flags.has(Flags::CE);
    let payload = if ack || probe {
        0
    } else {
        offset(packet.seq.saturating_add(1)) - offset(packet.seq)
    };
    let (left, right) = packet.sack_block();
    let sack = (ack && right > left).then(|| (offset(left), offset(right)));

    let mut tcp = Vec::with_capacity(32);
    let (from, to) = if ack { (ports.1, ports.0) } else { ports };
    tcp.extend((from as u16).to_be_bytes());
    tcp.extend((to as u16).to_be_bytes());
    let (sequence, acknowledged) = if ack {
        (0, offset(packet.cumulative()))
    } else {
        (offset(packet.seq), 0)
    };
    tcp.extend((sequence as u32).to_be_bytes());
    tcp.extend((acknowledged as u32).to_be_bytes());
    let words: u8 = if sack.is_some() { 8 } else { 5 };
    let echo = if ack && marked { 0x40 } else { 0 }; // ECE
    tcp.extend([words << 4, 0x10 | echo]); // ACK
    tcp.extend(u16::MAX.to_be_bytes()); // window: receivers do not limit senders
    tcp.extend([0; 4]); // checksum, urgent pointer
    if let Some((left, right)) = sack {
        tcp.extend([1, 1, 5, 10]); // two no-operations, SACK with one block
        tcp.extend((left as u32).to_be_bytes());
        tcp.extend((right as u32).to_be_bytes());
    }

    let ecn = match (packet.flags.has(Flags::ECT), marked && !ack) {
        (_, true) => 0b11,
        (true, false) => 0b10,
        (false, false) => 0b00,
    };
    let (src, dst) = if ack {
        (ends.dst, ends.src)
    } else {
        (ends.src, ends.dst)
    };
    // A payload may exceed what IPv4 can say only with a payload near 64 KB.
    let total = (20 + tcp.len() as u64 + payload).min(u64::from(u16::MAX)) as u16;
    let number = packet.number();
    let mut ip = Vec::with_capacity(52);
    ip.extend([0x45, ecn]);
    ip.extend(total.to_be_bytes());
    ip.extend((number as u16).to_be_bytes());
    ip.extend([0x40, 0, 64, 6, 0, 0]); // don't fragment; 64 hops; TCP; checksum
    ip.extend(address(src));
    ip.extend(address(dst));
    let sum = checksum(&ip, 0);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());

    // The pseudo-header: addresses, protocol, length. Zeros in the payload add nothing.
    let segment = u32::from(total) - 20;
    let pseudo = ip[12..20]
        .chunks(2)
        .map(|b| u32::from(b[0]) << 8 | u32::from(b[1]))
        .sum::<u32>();
    let sum = checksum(&tcp, pseudo + 6 + segment);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    ip.extend(tcp);
    (ip, payload)
}

/// The Internet checksum (RFC 1071) of `bytes`, an even number, beginning with `start`.
fn checksum(bytes: &[u8], start: u32) -> u16 {
    let mut sum = start
        + bytes
            .chunks(2)
            .map(|b| u32::from(b[0]) << 8 | u32::from(b[1]))
            .sum::<u32>();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Ends = Ends {
        flow: 16_385,
        src: 3,
        dst: 258,
        size: 10_000,
    };

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    /// The sum over everything, checksum included, is all ones: folded and inverted 0.
    fn verify(headers: &[u8], payload: u64) {
        assert_eq!(checksum(&headers[..20], 0), 0, "IPv4");
        let pseudo: u32 = headers[12..20]
            .chunks(2)
            .map(|b| u32::from(b[0]) << 8 | u32::from(b[1]))
            .sum();
        let length = headers.len() as u32 - 20 + payload as u32;
        assert_eq!(checksum(&headers[20..], pseudo + 6 + length), 0, "TCP");
    }

    #[test]
    fn the_last_data_packet() {
        let flags = Flags::ECT.with(Flags::CE);
        let packet = Packet {
            seq: 6,
            bytes: 1280,
            flags,
            ..Packet::default()
        };
        let (bytes, payload) = headers(&ENDS, &packet, 1460);
        assert_eq!(payload, 10_000 - 6 * 1460);
        assert_eq!(bytes.len(), 40);
        assert_eq!(bytes[1], 0b11); // CE
        assert_eq!(bytes[12..20], [10, 0, 0, 3, 10, 0, 1, 2]);
        assert_eq!(word(&bytes, 20), (49153 << 16) + 49153);
        assert_eq!(word(&bytes, 24), 6 * 1460);
        verify(&bytes, payload);
    }

    #[test]
    fn an_ack_with_a_block_and_an_echo() {
        let flags = Flags::ACK.with(Flags::CE);
        let packet = Packet {
            seq: 4,
            telemetry_or_sack_end: 7,
            queued_after_or_cumulative: 2,
            bytes: 40,
            flags,
            ..Packet::default()
        };
        let (bytes, payload) = headers(&ENDS, &packet, 1460);
        assert_eq!((payload, bytes.len()), (0, 52));
        assert_eq!(bytes[1], 0);
        assert_eq!(word(&bytes, 28), 2 * 1460); // acknowledgement number
        assert_eq!(bytes[33], 0x50); // ACK, ECE
        assert_eq!((word(&bytes, 44), word(&bytes, 48)), (4 * 1460, 10_000));
        verify(&bytes, payload);
    }
}
