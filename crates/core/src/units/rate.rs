//! Rates, and the time that bytes take at them.

use super::text::Unit;
use super::{Bytes, Duration, PS_PER_S};

/// A rate in bits per second; never zero when read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Rate(bps)
    }
    /// `gbps` gigabits per second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Rate(gbps * 1_000_000_000)
    }
    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }
    /// Bytes per second.
    pub fn bytes_per_s(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// Time to put `bytes` on the wire, rounded up to a whole picosecond so
    /// that no port ever sends faster than its rate.
    pub fn transmission_time(self, bytes: u64) -> Duration {
        let bits_ps = u128::from(bytes) * 8 * u128::from(PS_PER_S);
        Duration::from_ps(bits_ps.div_ceil(u128::from(self.0)) as u64)
    }
    /// Bytes that the rate carries in `d`, rounded down.
    pub fn bytes_in(self, d: Duration) -> Bytes {
        Bytes::new((u128::from(self.0) * u128::from(d.ps()) / (8 * u128::from(PS_PER_S))) as u64)
    }
}

const RATE_UNITS: &[Unit] = &[
    Unit {
        suffix: "Kbps",
        scale: 1_000,
    },
    Unit {
        suffix: "Mbps",
        scale: 1_000_000,
    },
    Unit {
        suffix: "Gbps",
        scale: 1_000_000_000,
    },
    Unit {
        suffix: "Tbps",
        scale: PS_PER_S,
    },
    Unit {
        suffix: "bps",
        scale: 1,
    },
];

text_unit!(
    Rate,
    RATE_UNITS,
    "a rate above zero and at most 8Tbps: write a number with bps, Kbps, Mbps, Gbps or Tbps, such as \"10Gbps\"",
    "^[0-9.]+ ?(bps|Kbps|Mbps|Gbps|Tbps)$",
    |v| v > 0 && v <= 8 * PS_PER_S
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_takes_whole_picoseconds_at_common_rates() {
        for (gbps, ps) in [
            (10, 800),
            (25, 320),
            (40, 200),
            (100, 80),
            (400, 20),
            (800, 10),
        ] {
            assert_eq!(Rate::from_gbps(gbps).transmission_time(1).ps(), ps);
        }
        // 3 Gbps: 2666.67 ps per byte, rounded up.
        assert_eq!(Rate::from_gbps(3).transmission_time(1).ps(), 2667);
    }
}
