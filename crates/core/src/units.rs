//! Units: integer newtypes, and the text that people write for them.
//!
//! Time is an integer number of picoseconds, which is exact for one byte at
//! 10, 25, 40, 100, 400 and 800 Gbps. Instants ([`Time`]) and intervals
//! ([`Duration`]) are different types. KB = 1000 bytes.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Picoseconds in one second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// An instant: picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// An interval in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A rate in bits per second; never zero when read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every instant of a run.
    pub const NEVER: Time = Time(u64::MAX);

    /// An instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Time(ps)
    }
    /// Picoseconds since the start.
    pub const fn ps(self) -> u64 {
        self.0
    }
    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// The interval from `earlier` to here; panics in debug builds when `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        debug_assert!(self >= earlier, "an interval of negative length");
        Duration(self.0.wrapping_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// An interval of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Duration(ps)
    }
    /// An interval of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Duration(us * 1_000_000)
    }
    /// An interval of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Duration(ms * 1_000_000_000)
    }
    /// The nearest interval to `s` seconds; `None` when negative, not finite or too long.
    pub fn from_secs_f64(s: f64) -> Option<Self> {
        let ps = (s * PS_PER_S as f64).round();
        (ps >= 0.0 && ps < u64::MAX as f64).then_some(Duration(ps as u64))
    }
    /// Picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }
    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// As a person writes it, to three digits and never less than it is: `"32.2 us"`.
    pub fn rounded(self) -> String {
        let unit = TIME_UNITS.iter().rfind(|unit| self.0 >= unit.scale);
        let unit = unit.unwrap_or(&TIME_UNITS[0]);
        // In the largest unit, in steps of the third digit.
        let digits = (self.0 / unit.scale).max(1).ilog10() + 1;
        let step = (unit.scale / 10u64.pow(3u32.saturating_sub(digits))).max(1);
        let step = step * 10u64.pow(digits.saturating_sub(3));
        let rounded = self.0.div_ceil(step) * step;
        // Up may be up to the next unit.
        let unit = TIME_UNITS.iter().rfind(|unit| rounded >= unit.scale);
        let unit = unit.unwrap_or(&TIME_UNITS[0]);
        let value = rounded as f64 / unit.scale as f64;
        format!("{value} {}", unit.suffix)
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, d: Duration) -> Time {
        Time(self.0 + d.0)
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}
impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0 + d.0)
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}
impl Sub for Duration {
    type Output = Duration;
    fn sub(self, d: Duration) -> Duration {
        Duration(self.0 - d.0)
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, n: u64) -> Duration {
        Duration(self.0 * n)
    }
}

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
    /// Time to put `bytes` on the wire, rounded up to a whole picosecond so
    /// that no port ever sends faster than its rate.
    pub fn transmission_time(self, bytes: u64) -> Duration {
        let bits_ps = u128::from(bytes) * 8 * u128::from(PS_PER_S);
        Duration(bits_ps.div_ceil(u128::from(self.0)) as u64)
    }
    /// Bytes that the rate carries in `d`, rounded down.
    pub fn bytes_in(self, d: Duration) -> Bytes {
        Bytes((u128::from(self.0) * u128::from(d.0) / (8 * u128::from(PS_PER_S))) as u64)
    }
}

/// One unit of a quantity: its suffix and how many base units it holds, as a
/// power of ten in numerator or denominator.
struct Unit {
    suffix: &'static str,
    scale: u64,
}

const TIME_UNITS: &[Unit] = &[
    Unit {
        suffix: "ps",
        scale: 1,
    },
    Unit {
        suffix: "ns",
        scale: 1_000,
    },
    Unit {
        suffix: "us",
        scale: 1_000_000,
    },
    Unit {
        suffix: "ms",
        scale: 1_000_000_000,
    },
    Unit {
        suffix: "s",
        scale: PS_PER_S,
    },
];
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

/// A decimal number as an exact integer over a power of ten.
fn decimal(text: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    if whole.len() + fraction.len() > 24 {
        return None;
    }
    let value = format!("{whole}{fraction}").parse().ok()?;
    Some((value, fraction.len() as u32))
}

/// Reads `text` as a non-negative decimal number followed by one of `units`,
/// rounded to the nearest base unit.
fn quantity(text: &str, units: &[Unit]) -> Option<u64> {
    let text = text.trim();
    let unit = units.iter().find(|u| {
        text.strip_suffix(u.suffix)
            .is_some_and(|rest| decimal(rest.trim_end()).is_some())
    })?;
    let (value, places) = decimal(text.strip_suffix(unit.suffix)?.trim_end())?;
    let scaled = value.checked_mul(u128::from(unit.scale))?;
    let divisor = 10u128.pow(places);
    u64::try_from((scaled + divisor / 2) / divisor).ok()
}

/// The shortest text that reads back as the same quantity.
fn quantity_text(value: u64, units: &[Unit]) -> String {
    let base = units.iter().find(|u| u.scale == 1).map_or("", |u| u.suffix);
    let mut best = format!("{value}{base}");
    for unit in units.iter().filter(|u| u.scale > 1) {
        let (whole, rest) = (value / unit.scale, value % unit.scale);
        let places = unit.scale.ilog10() as usize;
        let fraction = format!("{rest:0places$}");
        let fraction = fraction.trim_end_matches('0');
        let text = match fraction {
            "" => format!("{whole}{}", unit.suffix),
            _ => format!("{whole}.{fraction}{}", unit.suffix),
        };
        if text.len() < best.len() {
            best = text;
        }
    }
    best
}

/// Serde and JSON Schema of a type by its `Display` and `FromStr`.
macro_rules! written_as_text {
    ($type:ident, $what:expr, $pattern:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                text(d, $what)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": $pattern, "description": $what})
            }
        }
    };
}

macro_rules! text_unit {
    ($type:ident, $units:ident, $what:literal, $pattern:literal, |$value:ident| $allowed:expr) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&quantity_text(self.0, $units))
            }
        }
        impl std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                quantity(text, $units)
                    .filter(|&$value| $allowed)
                    .map($type)
                    .ok_or_else(|| format!("{text:?} is not {}", $what))
            }
        }
        written_as_text!($type, $what, $pattern);
    };
}

text_unit!(
    Duration,
    TIME_UNITS,
    "a time: write a number with ps, ns, us, ms or s, such as \"85.2us\"",
    "^[0-9.]+ ?(ps|ns|us|ms|s)$",
    |_v| true
);
text_unit!(
    Bytes,
    BYTE_UNITS,
    "a size: write a number with B, KB, MB or GB (KB = 1000 bytes), such as \"500KB\"",
    "^[0-9.]+ ?(B|KB|MB|GB)$",
    |_v| true
);
text_unit!(
    Rate,
    RATE_UNITS,
    "a rate above zero and at most 8Tbps: write a number with bps, Kbps, Mbps, Gbps or Tbps, such as \"10Gbps\"",
    "^[0-9.]+ ?(bps|Kbps|Mbps|Gbps|Tbps)$",
    |v| v > 0 && v <= 8 * PS_PER_S
);

/// Deserializes a value that is written as text; a bare number is an error
/// that says which text is wanted.
fn text<'de, T, D>(d: D, what: &'static str) -> Result<T, D::Error>
where
    T: std::str::FromStr<Err = String>,
    D: Deserializer<'de>,
{
    let value = serde_json::Value::deserialize(d)?;
    let read = match &value {
        serde_json::Value::String(s) => s.parse(),
        other => Err(format!("{other} is not {what}")),
    };
    read.map_err(serde::de::Error::custom)
}

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
            RttTime::Rtts(n) => Duration((scale.base_rtt.ps() as f64 * n).round() as u64),
        }
    }
}

/// Reads `"2.5xyz"` with the suffix `xyz` as 2.5.
fn factor(text: &str, suffix: &str) -> Option<f64> {
    let number = text.trim().strip_suffix(suffix)?.trim_end();
    decimal(number)?;
    number.parse().ok()
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
    fn text_reads_back_exactly() {
        for text in ["85.2us", "16us", "0s", "1ps", "1.5s", "250ms", "20.2us"] {
            let d: Duration = text.parse().unwrap();
            assert_eq!(d.to_string().parse::<Duration>().unwrap(), d, "{text}");
        }
        assert_eq!("85.2us".parse::<Duration>().unwrap().ps(), 85_200_000);
        assert_eq!("500KB".parse::<Bytes>().unwrap().get(), 500_000);
        assert_eq!("10Gbps".parse::<Rate>().unwrap().bps(), 10_000_000_000);
        assert_eq!(Rate::from_gbps(40).to_string(), "40Gbps");
        assert_eq!(Duration::from_us(16).to_string(), "16us");
    }

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        for text in [
            "16",
            "16 parsecs",
            "-1us",
            "us",
            "1e3us",
            "NaN",
            "",
            ".",
            "1.2.3us",
        ] {
            let err = text.parse::<Duration>().unwrap_err();
            assert!(err.contains(text) && err.contains("85.2us"), "{err}");
        }
        assert!("0Gbps".parse::<Rate>().is_err());
    }

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
