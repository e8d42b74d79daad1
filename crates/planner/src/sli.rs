//! SLIs: a percentile or the mean of what happens to the flows of a class (swp, section 3.2).
//!
//! Intervals are at 95%, and at 99% for verdicts; they do not suppose that flows are independent, which in a
//! burst they are not: the run is cut into [`BATCHES`] spans of equal length, and the
//! spread over the spans that have flows counts (ratio estimator). For a percentile the spread is that
//! of the share of flows above it, and the interval's ends are the percentiles
//! whose shares are that far off: no normality of the values is supposed.

use std::borrow::Cow;

use fctlab_core::stats::{quantile, rank};
use fctlab_core::{Bytes, SpecError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Spans that a run is cut into.
pub const BATCHES: usize = 40;
/// Spans with flows that it takes at least to see a spread: the flows of a trace may lie in few of them.
const LEAST_BATCHES: usize = 10;

/// An SLI as written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SliSpec {
    /// What the SLO calls it: letters, digits and `_`.
    pub name: String,
    /// `"mean"`, `"p99"`, `"p99.9"`, or `{percentile = 0.99}`.
    pub metric: Metric,
    /// What is measured of each flow. Default: `slowdown`.
    #[serde(default)]
    pub attr: Attr,
    /// Flows of at least this size. Default: all.
    #[serde(default)]
    pub from: Bytes,
    /// Flows smaller than this. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Bytes>,
}

/// What is measured of each flow.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Attr {
    /// FCT over the time that the flow takes alone.
    #[default]
    #[serde(alias = "slowdowns")]
    Slowdown,
    /// Flow completion time, in seconds.
    Fct,
    /// Size over FCT, in bits per second.
    Throughput,
}

impl Attr {
    /// What an SLO compares it with, for errors.
    pub fn threshold(self) -> &'static str {
        match self {
            Attr::Slowdown => "a number above 0",
            Attr::Fct => "a time such as 50us",
            Attr::Throughput => "a rate such as 5Gbps",
        }
    }
}

/// How flows become one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// The mean.
    Mean,
    /// The nearest-rank percentile, as a share in (0, 1).
    Percentile(f64),
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Metric::Mean => s.serialize_str("mean"),
            Metric::Percentile(share) => {
                let percent = format!("{:.6}", share * 100.0);
                let percent = percent.trim_end_matches('0').trim_end_matches('.');
                s.serialize_str(&format!("p{percent}"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(d)?;
        let wrong = || {
            let message = format!("{value} is not \"mean\", \"p99\" or {{percentile = 0.99}}");
            SpecError::new("", message).into_serde()
        };
        let share = match &value {
            Value::String(text) if text == "mean" => return Ok(Metric::Mean),
            Value::String(text) => {
                let percent = text.strip_prefix('p').and_then(|t| t.parse::<f64>().ok());
                percent.map(|p| p / 100.0)
            }
            Value::Object(map) if map.len() == 1 => map.get("percentile").and_then(Value::as_f64),
            _ => None,
        };
        match share.ok_or_else(wrong)? {
            share if share > 0.0 && share < 1.0 => Ok(Metric::Percentile(share)),
            _ => {
                let message = format!("{value}: the percentile is not in (0, 100)");
                Err(SpecError::new("", message).into_serde())
            }
        }
    }
}

impl schemars::JsonSchema for Metric {
    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"anyOf": [
            {"type": "string", "pattern": "^(mean|p[0-9]+(\\.[0-9]+)?)$"},
            {"type": "object", "properties": {"percentile": {"type": "number",
                "exclusiveMinimum": 0, "exclusiveMaximum": 1}}, "required": ["percentile"],
                "additionalProperties": false},
        ]})
    }
}

impl SliSpec {
    /// Whether flows of `size` bytes count.
    pub fn includes(&self, size: f64) -> bool {
        size >= self.from.get() as f64 && self.below.is_none_or(|b| size < b.get() as f64)
    }

    /// Flows that it takes at least: 1,000 behind a p99, so 10 beyond any percentile.
    pub fn least_flows(&self) -> u64 {
        match self.metric {
            Metric::Mean => 100,
            Metric::Percentile(share) => (10.0 / share.min(1.0 - share)).round() as u64,
        }
    }

    /// Checks what its type cannot.
    ///
    /// # Errors
    /// The first key that is wrong.
    pub fn check(&self) -> Result<(), SpecError> {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        if self.name.is_empty()
            || !self.name.chars().all(word)
            || self.name.starts_with(|c: char| c.is_ascii_digit())
        {
            let message = format!("{:?} is not a name: letters, digits and _", self.name);
            return Err(SpecError::new("name", message));
        }
        if let Some(below) = self.below
            && below <= self.from
        {
            let message = format!("{below} is not above `from` ({})", self.from);
            return Err(SpecError::new("below", message));
        }
        if self.least_flows() > 100_000_000 {
            let message =
                "is beyond what a simulation supports: it takes more than 100,000,000 flows";
            return Err(SpecError::new("metric", message));
        }
        Ok(())
    }
}

/// Values of the flows of one SLI, with the span of the run that each started in.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    values: Vec<(f32, u8)>,
}

/// An SLI with its intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value, in base units; 0 without flows.
    pub value: f64,
    /// Both ends at 95%; infinite where flows are too few.
    pub ci95: (f64, f64),
    /// At 99%. Who goes on until a threshold lies outside of an interval looks at it up to nine times, each
    /// after twice as many flows. With 95% intervals one of nine is on the wrong side of a threshold that
    /// is the value itself in 12% of cases, with these in 3% (one look at 95%: 2.5%); a test counts.
    pub ci99: (f64, f64),
    /// Flows behind it.
    pub flows: u64,
}

impl Sample {
    /// Adds a flow that started in the `batch`-th span.
    pub fn push(&mut self, value: f64, batch: usize) {
        self.values
            .push((value as f32, batch.min(BATCHES - 1) as u8));
    }

    /// Adds the flows of another part of the run.
    pub fn append(&mut self, mut other: Sample) {
        self.values.append(&mut other.values);
    }

    /// Only the value; infinite without flows.
    pub fn value(&mut self, metric: Metric) -> f64 {
        let n = self.values.len();
        if n == 0 {
            return f64::INFINITY;
        }
        match metric {
            Metric::Mean => self.values.iter().map(|v| f64::from(v.0)).sum::<f64>() / n as f64,
            Metric::Percentile(share) => {
                let rank = rank(share, n);
                let (_, v, _) = self
                    .values
                    .select_nth_unstable_by(rank - 1, |a, b| a.0.total_cmp(&b.0));
                f64::from(v.0)
            }
        }
    }

    /// The value with its intervals.
    pub fn estimate(&mut self, metric: Metric) -> Estimate {
        let n = self.values.len();
        if n == 0 {
            return Estimate {
                value: 0.0,
                ci95: (0.0, f64::INFINITY),
                ci99: (0.0, f64::INFINITY),
                flows: 0,
            };
        }
        let value = self.value(metric);
        let (mut counts, mut sums) = ([0.0; BATCHES], [0.0; BATCHES]);
        for &(x, batch) in &self.values {
            counts[usize::from(batch)] += 1.0;
            sums[usize::from(batch)] += match metric {
                Metric::Mean => f64::from(x),
                Metric::Percentile(_) => f64::from(u8::from(f64::from(x) > value)),
            };
        }
        let spans = counts.iter().filter(|c| **c > 0.0).count();
        let mean = sums.iter().sum::<f64>() / n as f64;
        let squares: f64 = sums
            .iter()
            .zip(&counts)
            .map(|(s, c)| (s - mean * c).powi(2))
            .sum();
        let m = spans as f64;
        let deviation = match metric {
            // No flow is beyond: nothing to see a spread of. That of independent flows, at least.
            Metric::Percentile(share) if mean == 0.0 => (share * (1.0 - share) / n as f64).sqrt(),
            _ => (squares * m / (m - 1.0)).sqrt() / n as f64,
        };
        if let Metric::Percentile(_) = metric {
            self.values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        let interval = |confidence: f64| {
            let half = match StudentsT::new(0.0, 1.0, m - 1.0) {
                Ok(t) if spans >= LEAST_BATCHES => {
                    t.inverse_cdf(0.5 + confidence / 2.0) * deviation
                }
                _ => f64::INFINITY,
            };
            let Metric::Percentile(share) = metric else {
                return (value - half, value + half);
            };
            let at = |share: f64| match share {
                s if s <= 0.0 => 0.0,
                s if s >= 1.0 => f64::INFINITY,
                s => quantile(&self.values, s).map_or(0.0, |v| f64::from(v.0)),
            };
            (at(share - half), at(share + half))
        };
        Estimate {
            value,
            ci95: interval(0.95),
            ci99: interval(0.99),
            flows: n as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::random::{mix, unit_interval};

    #[test]
    fn intervals_cover_the_truth() {
        // Uniform on [0, 1): mean 0.5, p99 0.99. Of 400 intervals at 95% about 380
        // cover; five standard deviations are 22.
        let (mut mean, mut tail, mut missed) = (0, 0, 0);
        for seed in 0..400 {
            let mut sample = Sample::default();
            for i in 0..4000 {
                let uniform = unit_interval(mix(seed << 32 | i));
                sample.push(uniform, i as usize * BATCHES / 4000);
            }
            let e = sample.estimate(Metric::Mean);
            mean += u32::from(e.ci95.0 <= 0.5 && 0.5 <= e.ci95.1);
            let e = sample.estimate(Metric::Percentile(0.99));
            tail += u32::from(e.ci95.0 <= 0.99 && 0.99 <= e.ci95.1);
            missed += u32::from(e.ci99.0 > 0.99 || e.ci99.1 < 0.99);
            assert_eq!(e.flows, 4000);
        }
        assert!(
            mean.abs_diff(380) <= 22 && tail.abs_diff(380) <= 22,
            "{mean} {tail}"
        );
        // At 99% about 4 do not; five standard deviations are 10.
        assert!(missed <= 14, "{missed}");
    }

    #[test]
    fn looking_again_until_it_decides_is_what_the_wider_interval_is_for() {
        // Uniform on [0, 1), whose mean is 0.5, looked at after 40, 80, ... 10,240 values: how often
        // is the whole interval on one side of 0.5 at least once?
        let (mut at_95, mut at_99) = (0, 0);
        for seed in 0..2000 {
            let mut sample = Sample::default();
            let (mut low_95, mut low_99) = (false, false);
            for look in 0..9 {
                let until = BATCHES << look;
                let from = if look == 0 { 0 } else { until / 2 };
                for i in from..until {
                    sample.push(unit_interval(mix(seed << 32 | i as u64)), i % BATCHES);
                }
                let e = sample.estimate(Metric::Mean);
                low_95 |= e.ci95.1 < 0.5;
                low_99 |= e.ci99.1 < 0.5;
            }
            at_95 += u32::from(low_95);
            at_99 += u32::from(low_99);
        }
        println!("of 2000 on the wrong side at least once: {at_95} at 95%, {at_99} at 99%");
        // 14% and 3.4% of Brownian motions at times 1, 2, 4, ... 256; five standard deviations.
        assert!(
            at_95.abs_diff(278) <= 77 && at_99.abs_diff(67) <= 40,
            "{at_95} {at_99}"
        );
    }

    #[test]
    fn too_few_flows_have_an_open_interval() {
        let mut sample = Sample::default();
        (0..50).for_each(|i| sample.push(f64::from(i), i as usize * BATCHES / 50));
        let e = sample.estimate(Metric::Percentile(0.99));
        // 2.0227 x sqrt(0.99 x 0.01 / 50) is 0.0285: from the p96.15, the 49th, to beyond all.
        assert_eq!((e.value, e.ci95), (49.0, (48.0, f64::INFINITY)));
        assert!(
            Sample::default()
                .estimate(Metric::Mean)
                .ci99
                .1
                .is_infinite()
        );
    }

    #[test]
    fn flows_in_few_spans_show_no_spread() {
        let mut sample = Sample::default();
        (0..5000).for_each(|i| sample.push(f64::from(i % 100), 3));
        for metric in [Metric::Mean, Metric::Percentile(0.9)] {
            let e = sample.estimate(metric);
            assert!(e.ci95.1.is_infinite() && e.ci99.0 <= 0.0, "{e:?}");
        }
        // As wide for all spans as for those that have flows, but for Student's t.
        (0..5000).for_each(|i| sample.push(f64::from(i % 100), i as usize % LEAST_BATCHES));
        let e = sample.estimate(Metric::Mean);
        assert!(e.ci95.1.is_finite() && e.ci95.1 < e.ci99.1, "{e:?}");
    }

    #[test]
    fn metrics_read_back() {
        for (text, share) in [("p99", 0.99), ("p99.9", 0.999), ("p50", 0.5), ("p1", 0.01)] {
            let m: Metric = fctlab_core::spec::read(Value::String(text.into())).unwrap();
            let Metric::Percentile(found) = m else {
                panic!("{text}")
            };
            assert!((found - share).abs() < 1e-12, "{text}");
            assert_eq!(serde_json::to_value(m).unwrap(), text);
        }
        let error = fctlab_core::spec::read::<Metric>(Value::String("p100".into())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"p100\": the percentile is not in (0, 100)"
        );
    }
}
