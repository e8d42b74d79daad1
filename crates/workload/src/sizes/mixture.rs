//! Several flow-size distributions as one, and what queues with thresholds see of it.

use super::{Interpolation, SizeDistribution};

/// Flow sizes of several streams together, in payload bytes before rounding.
///
/// Between its points the cumulative distribution is linear; a jump is two points of the same size.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    sizes: Vec<f64>,
    shares: Vec<f64>,
    /// E\[min(S, size)\] at each point.
    work: Vec<f64>,
}

impl Mixture {
    /// Of `parts`, each with the number of its flows in any unit; `None` where there are no flows.
    pub fn of(parts: &[(f64, &SizeDistribution)]) -> Option<Self> {
        let flows: f64 = parts.iter().map(|(flows, _)| flows).sum();
        let each = parts.iter().flat_map(|(_, part)| part.points());
        let mut places: Vec<f64> = each.map(|point| point.size).chain([0.0]).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        if flows.is_nan() || flows <= 0.0 {
            return None;
        }
        let mut sizes = Vec::new();
        let mut shares = Vec::new();
        for place in places {
            let sum = |of: fn(&SizeDistribution, f64) -> f64| -> f64 {
                let each = parts.iter().map(|(flows, part)| flows * of(part, place));
                (each.sum::<f64>() / flows).min(1.0)
            };
            let (below, here) = (sum(below), sum(SizeDistribution::cdf));
            if below < here {
                sizes.push(place);
                shares.push(below);
            }
            sizes.push(place);
            shares.push(here);
        }
        let mut work = vec![0.0; sizes.len()];
        for i in 1..sizes.len() {
            let rest = 1.0 - (shares[i - 1] + shares[i]) / 2.0;
            work[i] = work[i - 1] + rest * (sizes[i] - sizes[i - 1]);
        }
        Some(Mixture {
            sizes,
            shares,
            work,
        })
    }

    /// The sizes at which the distribution bends or jumps, ascending.
    pub fn sizes(&self) -> &[f64] {
        &self.sizes
    }

    /// The largest size.
    pub fn largest(&self) -> f64 {
        self.sizes[self.sizes.len() - 1]
    }

    /// Mean size.
    pub fn mean(&self) -> f64 {
        self.work[self.work.len() - 1]
    }

    /// P(S <= `size`).
    pub fn share_up_to(&self, size: f64) -> f64 {
        let (i, into) = self.place(size);
        self.shares[i] + into * self.slope(i)
    }

    /// E\[min(S, `size`)\]: what of a flow's bytes is sent before `size` of them are.
    pub fn work_up_to(&self, size: f64) -> f64 {
        let (i, into) = self.place(size);
        self.work[i] + into * (1.0 - self.shares[i] - into * self.slope(i) / 2.0)
    }

    /// The last point that is not above `size`, and how far that goes beyond it.
    fn place(&self, size: f64) -> (usize, f64) {
        let above = self.sizes.partition_point(|&s| s <= size);
        let i = above.saturating_sub(1);
        let end = self.sizes[above.min(self.sizes.len() - 1)];
        (i, (size.min(end) - self.sizes[i]).max(0.0))
    }

    /// How fast the share rises after a point.
    fn slope(&self, i: usize) -> f64 {
        match self.sizes.get(i + 1) {
            Some(next) if *next > self.sizes[i] => {
                (self.shares[i + 1] - self.shares[i]) / (next - self.sizes[i])
            }
            _ => 0.0,
        }
    }
}

/// P(S < `size`).
fn below(sizes: &SizeDistribution, size: f64) -> f64 {
    let points = sizes.points();
    let next = points.partition_point(|p| p.size < size);
    let Some(before) = next.checked_sub(1).map(|i| points[i]) else {
        return 0.0;
    };
    match (sizes.interpolation(), points.get(next)) {
        (Interpolation::Linear, Some(next)) => {
            let share = (size - before.size) / (next.size - before.size);
            before.probability + share * (next.probability - before.probability)
        }
        _ => before.probability,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SizesSpec;
    use serde_json::{Value, json};

    fn sizes(spec: Value) -> SizeDistribution {
        let spec: SizesSpec = fctlab_core::spec::read(spec).unwrap();
        spec.build().unwrap()
    }

    fn one(spec: Value) -> Mixture {
        Mixture::of(&[(1.0, &sizes(spec))]).unwrap()
    }

    #[test]
    fn what_queues_see_of_sizes() {
        let step = one(json!({"kind": "uniform", "sizes": ["1KB", "3KB"]}));
        assert_eq!((step.mean(), step.largest()), (2000.0, 3000.0));
        let at = [0.0, 999.0, 1000.0, 2000.0, 3000.0, 9000.0];
        assert_eq!(
            at.map(|a| step.share_up_to(a)),
            [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
        );
        // E[min(S, a)]: a up to 1000, then half of what is beyond.
        let work = [0.0, 999.0, 1000.0, 1500.0, 2000.0, 2000.0];
        assert_eq!(at.map(|a| step.work_up_to(a)), work);

        for name in ["websearch", "facebook_hadoop_bytes", "google_rpc"] {
            let (whole, line) = (sizes(json!(name)), one(json!(name)));
            let step = line.largest() / 2e6;
            let mut sum = 0.0;
            for i in 0..2_000_000 {
                let at = f64::from(i) * step;
                sum += step * (1.0 - whole.cdf(at + step / 2.0));
                if i % 100_000 == 0 {
                    assert!(
                        (line.share_up_to(at) - whole.cdf(at)).abs() < 1e-12,
                        "{name} {at}"
                    );
                    let found = line.work_up_to(at + step);
                    assert!(
                        (found - sum).abs() < 1e-3 * sum + step,
                        "{name} {at}: {found} {sum}"
                    );
                }
            }
            // Samples are whole bytes, at least 1.
            assert!((line.mean() - whole.mean()).abs() < 1.0, "{name}");
        }
    }

    #[test]
    fn a_mix_is_weighted_by_flows() {
        // Sizes 1 KB and 3 KB, with equal bytes: three flows of 1 KB for each of 3 KB.
        let parts = ["1KB", "3KB"].map(|size| sizes(json!({"kind": "fixed", "size": size})));
        let mix = Mixture::of(&[(3.0, &parts[0]), (1.0, &parts[1])]).unwrap();
        assert!((mix.mean() - 1500.0).abs() < 1e-9);
        let at = [900.0, 1000.0, 2900.0, 3000.0];
        assert_eq!(at.map(|a| mix.share_up_to(a)), [0.0, 0.75, 0.75, 1.0]);
        let (web, mining) = (sizes(json!("websearch")), sizes(json!("datamining")));
        let rates = [1.0 / web.mean(), 1.0 / mining.mean()];
        let both = Mixture::of(&[(rates[0], &web), (rates[1], &mining)]).unwrap();
        assert!((both.mean() * (rates[0] + rates[1]) / 2.0 - 1.0).abs() < 1e-5);
        assert_eq!(Mixture::of(&[]), None);
        assert_eq!(Mixture::of(&[(0.0, &web)]), None);
    }
}
