//! Lengths, times and rates that may be relative to the scenario: packets, BDPs, base RTTs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::text::factor;
use super::{Bytes, Duration, Rate};

/// A length of data that may be relative to the scenario: a sum of bytes, full packets, bandwidth-delay
/// products of a host link over the base RTT, and what a link sends in a time or in base RTTs
/// (`"10pkt + 0.143rtt"`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataLength {
    fixed: Bytes,
    packets: f64,
    bdps: f64,
    /// What a link sends in it: that of the port in question, a host's where there is none.
    time: Duration,
    /// The same in so many base RTTs.
    rtts: f64,
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
    const NOTHING: Self = DataLength {
        fixed: Bytes::new(0),
        packets: 0.0,
        bdps: 0.0,
        time: Duration::ZERO,
        rtts: 0.0,
    };

    /// So many bytes on the wire.
    pub const fn of_bytes(bytes: Bytes) -> Self {
        DataLength {
            fixed: bytes,
            ..Self::NOTHING
        }
    }
    /// So many full data packets.
    pub const fn of_packets(packets: f64) -> Self {
        DataLength {
            packets,
            ..Self::NOTHING
        }
    }
    /// So many BDPs (host link rate x base RTT, rounded up to full packets).
    pub const fn of_bdps(bdps: f64) -> Self {
        DataLength {
            bdps,
            ..Self::NOTHING
        }
    }

    /// The length in full packets, at a host's link.
    pub fn packets(self, scale: &PathScale) -> f64 {
        self.in_bytes(scale.host_rate, scale) as f64 / scale.packet_bytes as f64
            + self.in_packets(scale)
    }
    /// The length in bytes on the wire, at a host's link.
    pub fn bytes(self, scale: &PathScale) -> u64 {
        self.bytes_at(scale.host_rate, scale)
    }
    /// The length in bytes on the wire, at a link of `rate`.
    pub fn bytes_at(self, rate: Rate, scale: &PathScale) -> u64 {
        let whole = (self.in_packets(scale) * scale.packet_bytes as f64).round() as u64;
        self.in_bytes(rate, scale).saturating_add(whole)
    }
    /// The terms that count bytes, at a link of `rate`.
    fn in_bytes(self, rate: Rate, scale: &PathScale) -> u64 {
        let rtts = RttTime::Rtts(self.rtts).resolve(scale);
        let time = Duration::from_ps(self.time.ps().saturating_add(rtts.ps()));
        self.fixed.get().saturating_add(rate.bytes_in(time).get())
    }
    /// The terms that count packets.
    fn in_packets(self, scale: &PathScale) -> f64 {
        self.packets + (self.bdps * scale.bdp_packets()).ceil()
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
        let mut length = DataLength::NOTHING;
        for term in text.split('+') {
            if let Some(packets) = factor(term, "pkt") {
                length.packets += packets;
            } else if let Some(bdps) = factor(term, "bdp") {
                length.bdps += bdps;
            } else if let Some(rtts) = factor(term, "rtt") {
                length.rtts += rtts;
            } else if let Ok(bytes) = term.parse::<Bytes>() {
                length.fixed = Bytes::new(length.fixed.get().saturating_add(bytes.get()));
            } else if let Ok(time) = term.parse::<Duration>() {
                length.time = Duration::from_ps(length.time.ps().saturating_add(time.ps()));
            } else {
                return Err(format!("{text:?} is not {DATA_LENGTH}"));
            }
        }
        Ok(length)
    }
}
impl fmt::Display for DataLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relative = |n: f64, unit: &str| (n != 0.0).then(|| format!("{n}{unit}"));
        let terms = [
            (self.fixed.get() > 0).then(|| self.fixed.to_string()),
            relative(self.packets, "pkt"),
            relative(self.bdps, "bdp"),
            (self.time > Duration::ZERO).then(|| self.time.to_string()),
            relative(self.rtts, "rtt"),
        ];
        let terms: Vec<String> = terms.into_iter().flatten().collect();
        if terms.is_empty() {
            return f.write_str("0B");
        }
        f.write_str(&terms.join(" + "))
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

const DATA_LENGTH: &str = "a length of data: write a number with pkt, bdp, B, KB or MB, such as \"14pkt\", or a time or \
    base RTTs at the link's rate, such as \"24us\" or \"2rtt\"; or a sum, such as \"10pkt + 0.143rtt\"";
const INCREASE: &str = "an increase: write a rate, such as \"800Mbps\", or data per base RTT \
    with pkt, bdp, B, KB or MB, such as \"1pkt\"";
const RTT_TIME: &str = "a time: write a number with rtt, ps, ns, us, ms or s, such as \"3rtt\"";

written_as_text!(
    DataLength,
    DATA_LENGTH,
    "^ *[0-9.]+ ?(pkt|bdp|rtt|B|KB|MB|GB|ps|ns|us|ms|s)( *\\+ *[0-9.]+ ?(pkt|bdp|rtt|B|KB|MB|GB|ps|ns|us|ms|s))* *$"
);
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

    #[test]
    fn lengths_are_sums_and_follow_the_link() {
        let scale = PathScale {
            packet_bytes: 1500,
            payload_bytes: 1460,
            host_rate: Rate::from_gbps(10),
            base_rtt: Duration::from_us(16),
        };
        let length = |text: &str| text.parse::<DataLength>().unwrap();
        // 10 packets and 3 of the 14 of a BDP.
        assert_eq!(length("10pkt + 0.143bdp").packets(&scale), 13.0);
        assert_eq!(length("0.5bdp+1KB").bytes(&scale), 7 * 1500 + 1000);
        // 3 KB per Gbps.
        let (time, fabric) = (length("24us"), Rate::from_gbps(40));
        assert_eq!(time.bytes(&scale), 30_000);
        assert_eq!(time.packets(&scale), 20.0);
        assert_eq!(time.bytes_at(fabric, &scale), 120_000);
        // BDPs are those of hosts everywhere, RTTs at the link's rate.
        assert_eq!(length("1bdp").bytes_at(fabric, &scale), 14 * 1500);
        assert_eq!(length("1rtt").bytes(&scale), 20_000);
        assert_eq!(length("1us + 0.5rtt").bytes_at(fabric, &scale), 45_000);
        for text in ["0B", "24us", "500KB + 10pkt + 0.143bdp + 1us + 0.5rtt"] {
            assert_eq!(length(text).to_string(), text);
        }
        let most = length("18446744073709551615B + 1B + 10ms");
        assert_eq!(most.bytes(&scale), u64::MAX);
        for text in ["", "8pkt +", "8pkt - 1pkt", "3rt"] {
            assert!(text.parse::<DataLength>().is_err(), "{text:?}");
        }
    }
}
