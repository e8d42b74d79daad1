//! Lengths, times and rates that may be relative to the scenario: packets, BDPs, base RTTs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::text::factor;
use super::{Bytes, Duration, Rate};

/// A length of data that may be relative to the scenario: bytes, full packets
/// or bandwidth-delay products of a host link over the base RTT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DataLength {
    /// So many bytes on the wire.
    Bytes(Bytes),
    /// So many full data packets.
    Packets(f64),
    /// So many BDPs (host link rate x base RTT, rounded up to full packets).
    Bdp(f64),
}

/// By how much a rate grows at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Increase {
    /// So much.
    Rate(Rate),
    /// By so much data per base RTT.
    PerRtt(DataLength),
}

/// A time that may be relative to the scenario: absolute or in base RTTs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RttTime {
    /// An absolute time.
    Absolute(Duration),
    /// So many base RTTs.
    Rtts(f64),
}

/// Which bytes of a packet a window counts.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum WindowCounts {
    /// Its payload, as the published simulator of HPCC does: a BDP of it has headers besides.
    Payload,
    /// All that it takes on the wire.
    #[default]
    Wire,
}

/// The facts about a scenario that relative lengths and times need.
#[derive(Clone, Copy, Debug)]
pub struct PathScale {
    /// Bytes of a full data packet on the wire.
    pub packet_bytes: u64,
    /// Payload of a full data packet.
    pub payload_bytes: u64,
    /// Rate of a host link.
    pub host_rate: Rate,
    /// Base RTT across the longest path, transmissions included.
    pub base_rtt: Duration,
}

impl PathScale {
    /// Full packets in one bandwidth-delay product, rounded up.
    pub fn bdp_packets(&self) -> f64 {
        let bytes = self.host_rate.bytes_in(self.base_rtt).get();
        bytes.div_ceil(self.packet_bytes) as f64
    }
}

impl DataLength {
    /// The length in full packets.
    pub fn packets(self, scale: &PathScale) -> f64 {
        match self {
            DataLength::Bytes(b) => b.get() as f64 / scale.packet_bytes as f64,
            DataLength::Packets(n) => n,
            DataLength::Bdp(n) => (n * scale.bdp_packets()).ceil(),
        }
    }
    /// The length in bytes on the wire.
    pub fn bytes(self, scale: &PathScale) -> u64 {
        match self {
            DataLength::Bytes(b) => b.get(),
            other => (other.packets(scale) * scale.packet_bytes as f64).round() as u64,
        }
    }
}

impl Increase {
    /// Bits per second.
    pub fn bps(self, scale: &PathScale) -> f64 {
        match self {
            Increase::Rate(rate) => rate.bps() as f64,
            Increase::PerRtt(data) => {
                data.packets(scale) * scale.packet_bytes as f64 * 8.0 / scale.base_rtt.as_secs_f64()
            }
        }
    }
    /// Bytes on the wire per base RTT.
    pub fn bytes_per_rtt(self, scale: &PathScale) -> u64 {
        match self {
            Increase::Rate(rate) => rate.bytes_in(scale.base_rtt).get(),
            Increase::PerRtt(data) => data.bytes(scale),
        }
    }
}

impl RttTime {
    /// The time itself.
    pub fn resolve(self, scale: &PathScale) -> Duration {
        match self {
            RttTime::Absolute(d) => d,
            RttTime::Rtts(n) => Duration::from_ps((scale.base_rtt.ps() as f64 * n).round() as u64),
        }
    }
}

impl std::str::FromStr for DataLength {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let read = factor(text, "pkt")
            .map(DataLength::Packets)
            .or_else(|| factor(text, "bdp").map(DataLength::Bdp))
            .or_else(|| text.parse().ok().map(DataLength::Bytes));
        read.ok_or_else(|| format!("{text:?} is not {DATA_LENGTH}"))
    }
}
impl fmt::Display for DataLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataLength::Bytes(b) => b.fmt(f),
            DataLength::Packets(n) => write!(f, "{n}pkt"),
            DataLength::Bdp(n) => write!(f, "{n}bdp"),
        }
    }
}
impl std::str::FromStr for Increase {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let read = text.parse().ok().map(Increase::Rate);
        let read = read.or_else(|| text.parse().ok().map(Increase::PerRtt));
        read.ok_or_else(|| format!("{text:?} is not {INCREASE}"))
    }
}
impl fmt::Display for Increase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Increase::Rate(rate) => rate.fmt(f),
            Increase::PerRtt(data) => data.fmt(f),
        }
    }
}
impl std::str::FromStr for RttTime {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let read = factor(text, "rtt")
            .map(RttTime::Rtts)
            .or_else(|| text.parse().ok().map(RttTime::Absolute));
        read.ok_or_else(|| format!("{text:?} is not {RTT_TIME}"))
    }
}
impl fmt::Display for RttTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RttTime::Absolute(d) => d.fmt(f),
            RttTime::Rtts(n) => write!(f, "{n}rtt"),
        }
    }
}

const DATA_LENGTH: &str =
    "a length of data: write a number with pkt, bdp, B, KB or MB, such as \"14pkt\"";
const INCREASE: &str = "an increase: write a rate, such as \"800Mbps\", or data per base RTT \
    with pkt, bdp, B, KB or MB, such as \"1pkt\"";
const RTT_TIME: &str = "a time: write a number with rtt, ps, ns, us, ms or s, such as \"3rtt\"";

written_as_text!(DataLength, DATA_LENGTH, "^[0-9.]+ ?(pkt|bdp|B|KB|MB|GB)$");
written_as_text!(
    Increase,
    INCREASE,
    "^[0-9.]+ ?(bps|Kbps|Mbps|Gbps|Tbps|pkt|bdp|B|KB|MB|GB)$"
);
written_as_text!(RttTime, RTT_TIME, "^[0-9.]+ ?(rtt|ps|ns|us|ms|s)$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_units_follow_the_scenario() {
        let scale = PathScale {
            packet_bytes: 1500,
            payload_bytes: 1460,
            host_rate: Rate::from_gbps(10),
            base_rtt: Duration::from_us(16),
        };
        assert_eq!(scale.bdp_packets(), 14.0); // 20 KB / 1500 B, rounded up
        assert_eq!("1bdp".parse::<DataLength>().unwrap().packets(&scale), 14.0);
        assert_eq!(
            "3rtt".parse::<RttTime>().unwrap().resolve(&scale),
            Duration::from_us(48)
        );
        assert_eq!("65pkt".parse::<DataLength>().unwrap().bytes(&scale), 97_500);
    }
}
