//! Sizes. KB = 1000 bytes.

use super::text::Unit;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// `n` bytes.
    pub const fn new(n: u64) -> Self {
        Bytes(n)
    }
    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

const BYTE_UNITS: &[Unit] = &[
    Unit {
        suffix: "KB",
        scale: 1_000,
    },
    Unit {
        suffix: "MB",
        scale: 1_000_000,
    },
    Unit {
        suffix: "GB",
        scale: 1_000_000_000,
    },
    Unit {
        suffix: "B",
        scale: 1,
    },
];
text_unit!(
    Bytes,
    BYTE_UNITS,
    "a size: write a number with B, KB, MB or GB (KB = 1000 bytes), such as \"500KB\"",
    "^[0-9.]+ ?(B|KB|MB|GB)$",
    |_v| true
);
