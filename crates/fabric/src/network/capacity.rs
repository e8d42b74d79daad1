//! Links whose available capacity changes over time: `[[capacity]]`.
//!
//! "Some bandwidth is reserved for special usage, like delivering the control
//! traffic in SDN area, or in multiple-service scenario [...] the traffic for
//! each service can only use a portion of the link capacity" (D-SRTF, section
//! 1; case study 3.1.2). What is left of a link is a rate that is constant
//! between changes; a packet that is on its way through a change takes as long
//! as its bits take at the rates that it meets.

use std::sync::Arc;

use fctlab_core::spec::OrNone;
use fctlab_core::units::PS_PER_S;
use fctlab_core::{Duration, Rate, SpecError, Time, spec};
use serde::{Deserialize, Serialize};

use crate::network::Fabric;

/// What is available of some links, over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The links, each in one direction, `FROM -> TO`: `["host 0 -> leaf 0"]`.
    pub links: Vec<String>,
    /// The changes, in order of time; until the first one a link has all of its rate.
    pub changes: Vec<Change>,
}

/// From an instant on, another rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The instant.
    pub at: Duration,
    /// The rate from then on, at most the link's own; `"none"` while nothing is available.
    #[serde(with = "spec::or_none")]
    #[schemars(with = "OrNone<Rate>")]
    pub rate: Option<Rate>,
}

/// What is available of one link, over time.
#[derive(Debug)]
pub struct Schedule {
    /// Starts of the intervals, the first at 0, and the bits per second in them.
    intervals: Vec<(u64, u64)>,
}

impl Schedule {
    /// When `bytes` that start at `start` have left; both in picoseconds.
    ///
    /// The last interval has a rate above zero, so there is an answer.
    pub fn end(&self, start: u64, bytes: u16) -> u64 {
        let mut left = u128::from(bytes) * 8 * u128::from(PS_PER_S);
        let first = self.intervals.partition_point(|&(from, _)| from <= start) - 1;
        let mut at = start;
        for (i, &(_, rate)) in (first..).zip(&self.intervals[first..]) {
            let until = self.intervals.get(i + 1).map_or(u64::MAX, |next| next.0);
            let fits = u128::from(until - at) * u128::from(rate);
            if left <= fits {
                return at + left.div_ceil(u128::from(rate)) as u64;
            }
            left -= fits;
            at = until;
        }
        u64::MAX
    }

    /// Bits per second available on average before `until`.
    pub fn mean_rate(&self, until: Time) -> f64 {
        let until = until.ps();
        let ends = self.intervals.iter().skip(1).map(|next| next.0);
        let parts = self.intervals.iter().zip(ends.chain([u64::MAX]));
        let bits = parts.map(|(&(from, rate), end)| {
            let length = end.min(until).saturating_sub(from);
            length as f64 * rate as f64
        });
        match until {
            0 => self.rate(Time::ZERO) as f64,
            _ => bits.sum::<f64>() / until as f64,
        }
    }

    /// Bits per second available at `now`.
    pub fn rate(&self, now: Time) -> u64 {
        let after = self
            .intervals
            .partition_point(|&(from, _)| from <= now.ps());
        self.intervals[after - 1].1
    }
}

/// Gives the links of `fabric` their schedules.
///
/// # Errors
/// An unknown link, or one that two tables name; changes out of order, above
/// the link's rate, or that leave nothing for ever.
pub fn apply(specs: &[Spec], fabric: &mut Fabric) -> Result<(), SpecError> {
    for (i, spec) in specs.iter().enumerate() {
        let wrong = |key: String, message: String| {
            Err(SpecError::new(format!("capacity[{i}].{key}"), message))
        };
        if spec.links.is_empty() {
            return wrong("links".into(), "is empty; name at least one link".into());
        }
        let Some(last) = spec.changes.last() else {
            return wrong(
                "changes".into(),
                "is empty; write at least one change".into(),
            );
        };
        if last.rate.is_none() {
            let key = format!("changes[{}].rate", spec.changes.len() - 1);
            let message = "\"none\" as the last change leaves nothing for ever; end with a rate";
            return wrong(key, message.into());
        }
        for (k, pair) in spec.changes.windows(2).enumerate() {
            if pair[1].at <= pair[0].at {
                let message = format!("{} after {}; times must increase", pair[1].at, pair[0].at);
                return wrong(format!("changes[{}].at", k + 1), message);
            }
        }
        for (j, name) in spec.links.iter().enumerate() {
            let key = format!("links[{j}]");
            let port = match fabric.port_named(name) {
                Ok(port) => port,
                Err(message) => return wrong(key, message),
            };
            let link = &mut fabric.links[port as usize];
            if link.schedule.is_some() {
                return wrong(key, format!("{name:?} has a schedule already"));
            }
            let mut intervals = vec![(0, link.rate.bps())];
            for (k, change) in spec.changes.iter().enumerate() {
                if let Some(rate) = change.rate.filter(|rate| *rate > link.rate) {
                    let message = format!("{rate} is above the rate of {name:?} ({})", link.rate);
                    return wrong(format!("changes[{k}].rate"), message);
                }
                if change.at == Duration::ZERO {
                    intervals.clear();
                }
                intervals.push((change.at.ps(), change.rate.map_or(0, Rate::bps)));
            }
            link.schedule = Some(Arc::new(Schedule { intervals }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000_000;

    #[test]
    fn by_hand() {
        // 1 Gbps, from 1 ms on nothing, from 3 ms on 0.5 Gbps. 1250 B are 10 us.
        let schedule = Schedule {
            intervals: vec![(0, 1_000_000_000), (MS, 0), (3 * MS, 500_000_000)],
        };
        let us = MS / 1000;
        assert_eq!(schedule.end(0, 1250), 10 * us);
        assert_eq!(schedule.end(MS - 10 * us, 1250), MS);
        // Half before the outage, half after it at half the rate.
        assert_eq!(schedule.end(MS - 5 * us, 1250), 3 * MS + 10 * us);
        assert_eq!(schedule.end(2 * MS, 1250), 3 * MS + 20 * us);
        assert_eq!(schedule.end(4 * MS, 1250), 4 * MS + 20 * us);
        let mean = schedule.mean_rate(Time::from_ps(4 * MS));
        assert!((mean / 0.375e9 - 1.0).abs() < 1e-12, "{mean}");
        let rates = [0, MS - 1, MS, 3 * MS, 9 * MS].map(|at| schedule.rate(Time::from_ps(at)));
        assert_eq!(
            rates,
            [1_000_000_000, 1_000_000_000, 0, 500_000_000, 500_000_000]
        );
    }

    proptest! {
        /// Packets one after another leave no gap and lose no capacity: what has
        /// left by any end is what the rates give, to a byte per change.
        #[test]
        fn no_bit_is_lost(
            steps in prop::collection::vec((1u64..500, 0u64..11), 0..6),
            bytes in prop::collection::vec(1u16..1501, 1..60),
        ) {
            let mut intervals = vec![(0, 10u64)];
            for (gap, rate) in steps {
                intervals.push((intervals[intervals.len() - 1].0 + gap * 1000, rate));
            }
            let last = intervals[intervals.len() - 1].0;
            intervals.push((last + 1, 7));
            let scaled = intervals.iter().map(|&(at, gbps)| (at, gbps * 1_000_000_000)).collect();
            let schedule = Schedule { intervals: scaled };
            let (mut now, mut sent) = (0, 0u128);
            for size in bytes {
                now = schedule.end(now, size);
                sent += u128::from(size) * 8 * 1000; // in bits at 1 Gbps: 1000 ps each
                let given: u128 = intervals.iter().enumerate().map(|(i, &(from, rate))| {
                    let until = intervals.get(i + 1).map_or(u64::MAX, |n| n.0).min(now);
                    u128::from(until.saturating_sub(from)) * u128::from(rate)
                }).sum();
                prop_assert!(given >= sent && given < sent + 11 * 60, "{given} {sent}");
            }
        }
    }
}
