//! The value of an SLI with its intervals, from the flows of a run.
//!
//! Intervals are at 95%, and at 99% for verdicts; they do not suppose that flows are independent, which in a
//! burst they are not: the run is cut into [`BATCHES`] spans of equal length, and the
//! spread over the spans that have flows counts (ratio estimator). For a percentile the spread is that
//! of the share of flows above it, and the interval's ends are the percentiles
//! whose shares are that far off: no normality of the values is supposed. Two things that make such
//! intervals too short are corrected as in Skart (Tafazzoli, Wilson, Lada, Steiger, "Performance of
//! Skart", INFORMS J. Computing 23(2), 2011): spans that follow each other are alike (their first
//! autocorrelation counts), and sums over bursts are skewed (Willink, "A confidence interval and test for
//! the mean of an asymmetric distribution", 2005), of which only what makes an interval longer is taken.
//! What no interval mends is a run that has seen too few bursts: [`COUNT_KNOWN`].

use fctlab_core::stats::{quantile, rank};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Metric;

/// Spans that a run is cut into.
pub const BATCHES: usize = 40;
/// Spans with flows that it takes at least to see a spread: the flows of a trace may lie in few of them.
const LEAST_BATCHES: usize = 10;

/// How well the number of flows in so long a time has to be known, as a share of it (standard error), for an
/// interval to be worth anything: in bursts flows are more than what is independent. Of independent
/// arrivals 400 do. (Half of the 10% that Cochran, "Sampling Techniques", section 6.8, has for ratios.)
pub const COUNT_KNOWN: f64 = 0.05;
/// Spans that follow each other count as alike up to this autocorrelation.
const MOST_ALIKE: f64 = 0.8;

/// The share of its chance to be wrong that an interval may spend in the `look`-th of several looks (from 1),
/// which end when it decides: all shares add up to 1, however many looks there are.
pub fn spent(look: u32) -> f64 {
    let look = f64::from(look.max(1));
    1.0 / (look * (look + 1.0))
}
/// The same for who looks only once.
pub const ONCE: f64 = 1.0;

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
    /// At 99%. Of several looks the intervals of all of them together hold so often ([`spent`]).
    pub ci99: (f64, f64),
    /// Flows behind it.
    pub flows: u64,
    /// Standard error of the number of flows in so long a time, as a share of it; see [`COUNT_KNOWN`].
    pub count_error: f64,
    /// The same of the bytes that all classes bring, where that is known; up to as much.
    pub work_error: f64,
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

    /// The value with its intervals, which may be wrong in `share` of 5 and 1% of cases ([`spent`]).
    pub fn estimate(&mut self, metric: Metric, share: f64) -> Estimate {
        let n = self.values.len();
        if n == 0 {
            return Estimate {
                value: 0.0,
                ci95: (0.0, f64::INFINITY),
                ci99: (0.0, f64::INFINITY),
                flows: 0,
                count_error: f64::INFINITY,
                work_error: 0.0,
            };
        }
        let value = self.value(metric);
        let spans = self.spans(metric, value);
        if let Metric::Percentile(_) = metric {
            self.values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        let interval = |confidence: f64| {
            let (below, above) = spans.off_by(1.0 - (1.0 - confidence) * share);
            let Metric::Percentile(share) = metric else {
                return (value - below, value + above);
            };
            let at = |share: f64| match share {
                s if s <= 0.0 => 0.0,
                s if s >= 1.0 => f64::INFINITY,
                s => quantile(&self.values, s).map_or(0.0, |v| f64::from(v.0)),
            };
            (at(share - below), at(share + above))
        };
        Estimate {
            value,
            ci95: interval(0.95),
            ci99: interval(0.99),
            flows: n as u64,
            count_error: spans.count_error,
            work_error: 0.0,
        }
    }

    /// What the spans say of how far off the mean, or the share of flows above the percentile, may be.
    fn spans(&self, metric: Metric, value: f64) -> Spans {
        let n = self.values.len() as f64;
        let (mut counts, mut sums, mut squares) = ([0.0; BATCHES], [0.0; BATCHES], 0.0);
        for &(x, batch) in &self.values {
            let x = match metric {
                Metric::Mean => f64::from(x),
                Metric::Percentile(_) => f64::from(u8::from(f64::from(x) > value)),
            };
            counts[usize::from(batch)] += 1.0;
            sums[usize::from(batch)] += x;
            squares += x * x;
        }
        let mean = sums.iter().sum::<f64>() / n;
        let with_flows = counts.iter().filter(|c| **c > 0.0).count();
        let off: Vec<f64> = sums
            .iter()
            .zip(&counts)
            .map(|(s, c)| s - mean * c)
            .collect();
        let more: Vec<f64> = counts.iter().map(|c| c - n / BATCHES as f64).collect();
        // At least that of independent flows; also of a percentile beyond which there is none.
        let independent = match metric {
            Metric::Mean => (squares / n - mean * mean).max(0.0),
            Metric::Percentile(share) => share * (1.0 - share),
        };
        let skew = match metric {
            Metric::Mean => skew(&off, with_flows),
            // The share's ends are looked up among values, which is as skewed.
            Metric::Percentile(_) => 0.0,
        };
        let variance_off = variance(&off, with_flows);
        Spans {
            with_flows,
            deviation: variance_off.max(independent * n).sqrt() / n,
            skew,
            count_error: variance(&more, BATCHES).sqrt() / n,
        }
    }
}

/// How far a mean or a share may be off, from spans of a run.
#[derive(Clone, Copy, Debug)]
struct Spans {
    with_flows: usize,
    /// Standard error.
    deviation: f64,
    /// Of the spans' sums.
    skew: f64,
    count_error: f64,
}

impl Spans {
    /// How far the truth may be below and above, with this confidence; infinite for too few spans.
    fn off_by(&self, confidence: f64) -> (f64, f64) {
        let m = self.with_flows as f64;
        let t = match StudentsT::new(0.0, 1.0, m - 1.0) {
            Ok(t) if self.with_flows >= LEAST_BATCHES => t.inverse_cdf(0.5 + confidence / 2.0),
            _ => return (f64::INFINITY, f64::INFINITY),
        };
        let bent = |z: f64| willink(z, self.skew / (6.0 * m.sqrt()));
        let (below, above) = (t.max(bent(t)), t.max(-bent(-t)));
        (below * self.deviation, above * self.deviation)
    }
}

/// Where Student's t of a mean lies if values are skewed by 6 sqrt(m) `beta` (Willink, equation 8).
fn willink(z: f64, beta: f64) -> f64 {
    if beta.abs() < 1e-6 {
        z
    } else {
        ((1.0 + 6.0 * beta * (z - beta)).cbrt() - 1.0) / (2.0 * beta)
    }
}

/// The variance of the sum over spans of what is 0 on average, `with_flows` of them having any, neighbours
/// being alike.
fn variance(off: &[f64], with_flows: usize) -> f64 {
    let squares: f64 = off.iter().map(|d| d * d).sum();
    if squares == 0.0 || with_flows < 2 {
        return 0.0;
    }
    let m = with_flows as f64;
    let products: f64 = off.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // Of independent spans whose mean is taken off it is -1 / m on average.
    let alike = (products / squares + 1.0 / m).clamp(0.0, MOST_ALIKE);
    squares * m / (m - 1.0) * (1.0 + alike) / (1.0 - alike)
}

/// The skewness of spans' sums, 0 on average.
fn skew(off: &[f64], with_flows: usize) -> f64 {
    let m = with_flows as f64;
    let moment = |power: i32| off.iter().map(|d| d.powi(power)).sum::<f64>() / m;
    if moment(2) > 0.0 && with_flows > 2 {
        moment(3) / moment(2).powf(1.5) * m * m / ((m - 1.0) * (m - 2.0))
    } else {
        0.0
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
            let e = sample.estimate(Metric::Mean, ONCE);
            mean += u32::from(e.ci95.0 <= 0.5 && 0.5 <= e.ci95.1);
            let e = sample.estimate(Metric::Percentile(0.99), ONCE);
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
    fn looking_again_until_it_decides_is_accounted_for() {
        // Uniform on [0, 1), whose mean is 0.5, looked at after 40, 80, ... 10,240 values: how often
        // is the whole 99% interval on one side of 0.5 at least once?
        let (mut as_if_once, mut shared) = (0, 0);
        for seed in 0..2000 {
            let mut sample = Sample::default();
            let (mut low_once, mut low_shared) = (false, false);
            for look in 0..9 {
                let until = BATCHES << look;
                let from = if look == 0 { 0 } else { until / 2 };
                for i in from..until {
                    sample.push(unit_interval(mix(seed << 32 | i as u64)), i % BATCHES);
                }
                low_once |= sample.estimate(Metric::Mean, ONCE).ci99.1 < 0.5;
                low_shared |= sample.estimate(Metric::Mean, spent(look + 1)).ci99.1 < 0.5;
            }
            as_if_once += u32::from(low_once);
            shared += u32::from(low_shared);
        }
        println!(
            "of 2000 on the wrong side at least once: {as_if_once} as if once, {shared} shared"
        );
        // At most 0.5% are to be: 10, and five standard deviations.
        assert!(shared <= 10 + 16, "{shared}");
        assert!(as_if_once > shared, "{as_if_once}");
        let all: f64 = (1..=1000).map(spent).sum();
        assert!((all - 1.0).abs() < 0.002, "{all}");
    }

    #[test]
    fn spans_that_are_alike_and_skewed_make_intervals_longer() {
        let of = |spans: &dyn Fn(usize) -> f64| {
            let mut sample = Sample::default();
            for i in 0..BATCHES * 100 {
                sample.push(spans(i / 100) + (i % 2) as f64, i / 100);
            }
            sample.estimate(Metric::Mean, ONCE)
        };
        let half = |e: Estimate| (e.value - e.ci99.0, e.ci99.1 - e.value);
        // The same values span by span, then all large ones one after the other.
        let (apart, (alike, _)) = (
            half(of(&|span| (span % 2) as f64)),
            half(of(&|span| (span / 20) as f64)),
        );
        assert!((apart.0 - apart.1).abs() < 1e-9, "{apart:?}");
        // (1 + 0.8) / (1 - 0.8) is 9, of the variance.
        assert!((alike / apart.0 - 3.0).abs() < 0.01, "{alike} {apart:?}");
        // One span of 40 is far above: so may those be that were not seen.
        let (below, above) = half(of(&|span| if span == 20 { 10.0 } else { 0.0 }));
        assert!(above > 1.5 * below, "{below} {above}");
    }

    #[test]
    fn bursts_are_worth_few_flows() {
        let count_error = |per_span: &dyn Fn(usize) -> usize| {
            let mut sample = Sample::default();
            for span in 0..BATCHES {
                (0..per_span(span)).for_each(|i| sample.push(i as f64, span));
            }
            sample.estimate(Metric::Mean, ONCE).count_error
        };
        assert!(count_error(&|_| 100) < COUNT_KNOWN);
        // Half of all in one span of 40.
        assert!(count_error(&|span| if span == 7 { 3900 } else { 100 }) > 0.4);
    }

    #[test]
    fn too_few_flows_have_an_open_interval() {
        let mut sample = Sample::default();
        (0..50).for_each(|i| sample.push(f64::from(i), i as usize * BATCHES / 50));
        let e = sample.estimate(Metric::Percentile(0.99), ONCE);
        // 2.0227 x sqrt(0.99 x 0.01 / 50) is 0.0285: from the p96.15, the 49th, to beyond all.
        assert_eq!((e.value, e.ci95), (49.0, (48.0, f64::INFINITY)));
        assert!(
            Sample::default()
                .estimate(Metric::Mean, ONCE)
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
            let e = sample.estimate(metric, ONCE);
            assert!(e.ci95.1.is_infinite() && e.ci99.0 <= 0.0, "{e:?}");
        }
        // As wide for all spans as for those that have flows, but for Student's t.
        (0..5000).for_each(|i| sample.push(f64::from(i % 100), i as usize % LEAST_BATCHES));
        let e = sample.estimate(Metric::Mean, ONCE);
        assert!(e.ci95.1.is_finite() && e.ci95.1 < e.ci99.1, "{e:?}");
    }
}
