//! Goodput: payload delivered per second, over the measured window.
//!
//! Each byte counts once, when it first reaches its receiver, whether or not
//! its flow is a measured one. Without an end the window lasts until the run
//! ends, which includes the time in which the last flows finish; give
//! `measure.window` for a rate under load. Per host: over all hosts of the
//! fabric, whether they receive anything or not.

use fctlab_core::Time;
use serde_json::{Value, json};

/// Counts payload.
pub struct Recorder {
    from: Time,
    until: Time,
    hosts: u32,
    bytes: u64,
}

impl Recorder {
    pub(super) fn new((from, until): (Time, Time), hosts: u32) -> Self {
        Recorder {
            from,
            until,
            hosts,
            bytes: 0,
        }
    }

    pub(super) fn on_payload(&mut self, now: Time, new_bytes: u64) {
        if now >= self.from && now < self.until {
            self.bytes += new_bytes;
        }
    }

    /// `{total_bps, per_host_bps, delivered_bytes, hosts, from_s, until_s}`;
    /// rates are null when the run ended before the window began.
    pub(super) fn report(&self, end: Time) -> Value {
        let until = self.until.min(end);
        let seconds = until.as_secs_f64() - self.from.as_secs_f64();
        let total = (seconds > 0.0).then(|| self.bytes as f64 * 8.0 / seconds);
        json!({
            "total_bps": total,
            "per_host_bps": total.map(|bps| bps / f64::from(self.hosts)),
            "delivered_bytes": self.bytes,
            "hosts": self.hosts,
            "from_s": self.from.as_secs_f64(),
            "until_s": until.as_secs_f64(),
        })
    }
}
