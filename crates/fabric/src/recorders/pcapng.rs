//! Blocks of a pcapng file (draft-ietf-opsawg-pcapng), as bytes: section
//! header, interface descriptions, enhanced packets. Little-endian.

/// Packets begin with their IPv4 header.
const LINKTYPE_RAW: u16 = 101;
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// Which way a packet crosses an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Into the host.
    Inbound = 1,
    /// Out of the host.
    Outbound = 2,
}

/// The block that begins a file.
pub(super) fn section_header() -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(0x1A2B_3C4D_u32.to_le_bytes()); // byte order
    body.extend(1_u16.to_le_bytes()); // version 1.0
    body.extend(0_u16.to_le_bytes());
    body.extend(u64::MAX.to_le_bytes()); // length of the section: not given
    option(&mut body, 4, b"fctlab"); // shb_userappl
    option(&mut body, 0, b"");
    block(SECTION_HEADER, &body)
}

/// Describes the next interface: its name, how many bytes of a packet are
/// kept, time stamps in nanoseconds.
pub(super) fn interface(name: &str, snap_length: u32) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(LINKTYPE_RAW.to_le_bytes());
    body.extend(0_u16.to_le_bytes());
    body.extend(snap_length.to_le_bytes());
    option(&mut body, 2, name.as_bytes()); // if_name
    option(&mut body, 9, &[9]); // if_tsresol: 10^-9 s
    option(&mut body, 0, b"");
    block(INTERFACE, &body)
}

/// A packet on interface number `interface`, at `ns` nanoseconds: its first
/// bytes, and how many it had.
pub(super) fn packet(
    interface: u32,
    ns: u64,
    captured: &[u8],
    length: u32,
    direction: Direction,
) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(interface.to_le_bytes());
    body.extend(((ns >> 32) as u32).to_le_bytes());
    body.extend((ns as u32).to_le_bytes());
    body.extend((captured.len() as u32).to_le_bytes());
    body.extend(length.to_le_bytes());
    body.extend(captured);
    pad(&mut body);
    option(&mut body, 2, &(direction as u32).to_le_bytes()); // epb_flags
    option(&mut body, 0, b"");
    block(ENHANCED_PACKET, &body)
}

/// A block: type, length, body, length again.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes(), &length, body, &length].concat()
}

/// Appends an option; code 0 ends the list.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_framed_and_padded() {
        let block = packet(3, (7 << 32) + 5, &[0xAA; 41], 1500, Direction::Inbound);
        let word = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
        assert_eq!(block.len() % 4, 0);
        assert_eq!((word(0), word(4)), (6, block.len() as u32));
        assert_eq!(word(block.len() - 4), block.len() as u32);
        assert_eq!(
            [word(8), word(12), word(16), word(20), word(24)],
            [3, 7, 5, 41, 1500]
        );
        // 41 bytes are padded to 44; then epb_flags.
        assert_eq!((word(28 + 44), word(28 + 48)), (2 | 4 << 16, 1));
    }
}
