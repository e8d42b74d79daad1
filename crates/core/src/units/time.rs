//! Instants and intervals.

use std::ops::{Add, AddAssign, Mul, Sub};

use super::text::Unit;

/// Picoseconds in one second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// An instant: picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// An interval in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

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
text_unit!(
    Duration,
    TIME_UNITS,
    "a time: write a number with ps, ns, us, ms or s, such as \"85.2us\"",
    "^[0-9.]+ ?(ps|ns|us|ms|s)$",
    |_v| true
);
