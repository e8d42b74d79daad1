//! Gaps with a measured distribution, for arrivals that are neither Poisson nor log-normal.
//!
//! What counts is its shape: the gaps are scaled to the mean that the load asks for.
//! They are independent; a log whose gaps are not is replayed as a trace.

use fctlab_core::SpecError;
use rand_pcg::Pcg64;
use serde::{Deserialize, Deserializer, Serialize};

use crate::draw;

/// Gaps with a measured distribution, scaled to the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Points `[gap, cumulative probability]` in order, gaps in any unit, the last
    /// probability 1; linear between them, and what the first has is that gap itself.
    #[serde(deserialize_with = "points")]
    pub cdf: Vec<(f64, f64)>,
}

fn points<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<(f64, f64)>, D::Error> {
    let points = Vec::<(f64, f64)>::deserialize(d)?;
    check(&points).map_err(|message| SpecError::new("", message).into_serde())?;
    Ok(points)
}

fn check(points: &[(f64, f64)]) -> Result<(), String> {
    let mut last = (0.0, 0.0);
    for &(gap, share) in points {
        if !(gap >= 0.0 && gap.is_finite()) {
            return Err(format!("the gap {gap} is not in [0, inf)"));
        }
        if !(0.0..=1.0).contains(&share) {
            return Err(format!(
                "the cumulative probability {share} is not in [0, 1]"
            ));
        }
        if gap < last.0 || share < last.1 {
            let before = format!("[{}, {}]", last.0, last.1);
            return Err(format!("[{gap}, {share}] is below the {before} before it"));
        }
        last = (gap, share);
    }
    match last {
        (_, share) if share != 1.0 => Err(format!(
            "the last cumulative probability is {share}; it must be 1"
        )),
        (0.0, _) => Err("every gap is 0; flows would all start at once".into()),
        _ => Ok(()),
    }
}

/// Gaps drawn from a table.
#[derive(Clone, Debug)]
pub(crate) struct Gaps {
    points: Vec<(f64, f64)>,
    /// The mean, in the table's unit.
    mean: f64,
}

impl Spec {
    fn mean(&self) -> f64 {
        let first = self.cdf.first().map_or(0.0, |p| p.0 * p.1);
        let pairs = self.cdf.windows(2);
        first
            + pairs
                .map(|p| (p[1].1 - p[0].1) * (p[0].0 + p[1].0) / 2.0)
                .sum::<f64>()
    }

    pub(super) fn build(&self) -> Gaps {
        Gaps {
            mean: self.mean(),
            points: self.cdf.clone(),
        }
    }
}

impl Gaps {
    /// A gap that is as likely as it is long.
    pub(super) fn found_s(&self, mean_s: f64, rng: &mut Pcg64) -> f64 {
        let mut left = draw::unit(rng) * self.mean;
        let mut before = (self.points[0].0, 0.0);
        for &(gap, share) in &self.points {
            let (low, from) = before;
            let part = (share - from) * (low + gap) / 2.0;
            if left < part {
                // Uniform in the square of the gap.
                let (low2, high2) = (low * low, gap * gap);
                let gap = (low2 + left / part * (high2 - low2)).sqrt();
                return gap * (mean_s / self.mean);
            }
            left -= part;
            before = (gap, share);
        }
        before.0 * (mean_s / self.mean)
    }
    pub(super) fn next_s(&self, mean_s: f64, rng: &mut Pcg64) -> f64 {
        let share = draw::unit(rng);
        let above = self.points.partition_point(|p| p.1 <= share);
        let gap = match (above.checked_sub(1), self.points.get(above)) {
            (Some(below), Some(&(gap, to))) => {
                let (low, from) = self.points[below];
                low + (gap - low) * (share - from) / (to - from)
            }
            (None, Some(&(gap, _))) => gap,
            (_, None) => self.points.last().map_or(0.0, |p| p.0),
        };
        gap * (mean_s / self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ArrivalsSpec, tests::mean_and_cv};
    use super::*;
    use fctlab_core::random::Seed;
    use serde_json::json;

    fn read(cdf: serde_json::Value) -> Result<ArrivalsSpec, String> {
        let spec = json!({"kind": "measured", "cdf": cdf});
        fctlab_core::spec::read(spec).map_err(|e: SpecError| e.to_string())
    }

    #[test]
    fn mean_and_coefficient_of_variation() {
        // Uniform over [0, 2]: CV = 1 / sqrt(3), the mean is off by at most five standard
        // errors of 0.058% at 10^6. Half of the gaps 1, half 3: CV = 1 / 2.
        let uniform = read(json!([[0, 0], [2, 1]])).unwrap();
        let (mean, cv) = mean_and_cv(&uniform, 1e-5, 1_000_000);
        assert!((mean / 1e-5 - 1.0).abs() < 0.0029, "{mean}");
        assert!((cv / (1.0 / 3f64.sqrt()) - 1.0).abs() < 0.005, "{cv}");
        let two = read(json!([[1, 0.5], [3, 0.5], [3, 1]])).unwrap();
        let (mean, cv) = mean_and_cv(&two, 1e-5, 1_000_000);
        assert!((mean / 1e-5 - 1.0).abs() < 0.0025, "{mean}");
        assert!((cv / 0.5 - 1.0).abs() < 0.005, "{cv}");
    }

    #[test]
    fn quantiles_are_those_of_the_table() {
        let gaps = Spec {
            cdf: vec![(1.0, 0.2), (2.0, 0.7), (10.0, 1.0)],
        };
        let scale = gaps.mean();
        // 0.2 x 1 + 0.5 x 1.5 + 0.3 x 6.
        assert!((scale - 2.75).abs() < 1e-12);
        let gaps = gaps.build();
        let mut rng = Seed(1).stream("arrivals");
        let drawn: Vec<f64> = (0..100_000).map(|_| gaps.next_s(scale, &mut rng)).collect();
        for (gap, share) in [
            (1.0, 0.2),
            (1.5, 0.45),
            (2.0, 0.7),
            (6.0, 0.85),
            (10.0, 1.0),
        ] {
            let below = drawn.iter().filter(|d| **d <= gap + 1e-12).count() as f64 / 1e5;
            // Five standard deviations are at most 0.0079.
            assert!((below - share).abs() < 0.008, "{gap}: {below}");
        }
    }

    #[test]
    fn mistakes() {
        for (cdf, message) in [
            (
                json!([]),
                "the last cumulative probability is 0; it must be 1",
            ),
            (
                json!([[1, 0.5]]),
                "the last cumulative probability is 0.5; it must be 1",
            ),
            (
                json!([[0, 1]]),
                "every gap is 0; flows would all start at once",
            ),
            (json!([[-1, 0.5], [2, 1]]), "the gap -1 is not in [0, inf)"),
            (
                json!([[1, 50]]),
                "the cumulative probability 50 is not in [0, 1]",
            ),
            (
                json!([[2, 0.5], [1, 1]]),
                "[1, 1] is below the [2, 0.5] before it",
            ),
        ] {
            let error = read(cdf).unwrap_err();
            assert!(error.ends_with(message), "{error}");
            assert!(error.contains("cdf"), "{error}");
        }
    }
}
