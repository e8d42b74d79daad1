//! A flow-size distribution: a cumulative distribution through given points.
//!
//! Everything that can be asked of a distribution of flow sizes is answered
//! here, exactly, from its points: samples, quantiles, the mean, and the mean
//! with packet headers. Fixed, uniform and bimodal sizes are steps.

use fctlab_core::{Bytes, PacketFormat};
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::draw;

/// What lies between two points of a cumulative distribution.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Interpolation {
    /// Sizes between the points are equally likely, as in ns-2's `RandomVariable/Empirical`.
    #[default]
    Linear,
    /// Only the points' own sizes occur: between two points, the upper one.
    Step,
}

/// One point of a cumulative distribution: P(size <= `size`) = `probability`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Payload bytes, not necessarily whole.
    pub size: f64,
    /// Cumulative probability, in [0, 1].
    pub probability: f64,
}

/// Why a list of points is not a cumulative distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointError {
    /// Which point, from 0; `None` when it is the list as a whole.
    pub index: Option<usize>,
    /// What is wrong with it and what is allowed.
    pub message: String,
}

/// A distribution of flow sizes in payload bytes; see the [module](self).
///
/// A first point with a probability above 0 is an atom, and so are two points
/// of the same size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeDistribution {
    points: Vec<Point>,
    interpolation: Interpolation,
}

/// The largest flow: 1 TB. Sums of sizes and headers stay far from overflow.
pub const MAX_SIZE: Bytes = Bytes::new(1_000_000_000_000);

impl SizeDistribution {
    /// The distribution through `points`.
    ///
    /// # Errors
    /// When there is no point, a size is not in [0, [`MAX_SIZE`]], a probability is not in
    /// [0, 1] or above 0 at size 0, either decreases, or the last probability is not 1.
    pub fn new(points: Vec<Point>, interpolation: Interpolation) -> Result<Self, PointError> {
        let mut before = Point {
            size: 0.0,
            probability: 0.0,
        };
        for (index, &point) in points.iter().enumerate() {
            let Point { size, probability } = point;
            let message = if !(0.0..=MAX_SIZE.get() as f64).contains(&size) {
                format!("size_bytes {size} is not in [0, {}]", MAX_SIZE.get())
            } else if !(0.0..=1.0).contains(&probability) {
                format!("cumulative_probability {probability} is not in [0, 1]")
            } else if size == 0.0 && probability > 0.0 {
                format!(
                    "cumulative_probability {probability} at size 0: no flow is empty, so it must be 0 there"
                )
            } else if size < before.size {
                format!(
                    "size_bytes {size} is below the {} before it; sizes must not decrease",
                    before.size
                )
            } else if probability < before.probability {
                format!(
                    "cumulative_probability {probability} is below the {} before it; \
                     probabilities must not decrease",
                    before.probability
                )
            } else {
                before = point;
                continue;
            };
            return Err(PointError {
                index: Some(index),
                message,
            });
        }
        match points.last() {
            None => Err(PointError {
                index: None,
                message: "has no points; at least one is needed".into(),
            }),
            Some(last) if last.probability < 1.0 => Err(PointError {
                index: Some(points.len() - 1),
                message: format!(
                    "the last cumulative_probability is {}; it must be 1",
                    last.probability
                ),
            }),
            Some(_) => Ok(SizeDistribution {
                points,
                interpolation,
            }),
        }
    }

    /// The distribution that takes each of `sizes` equally often; `None` when there are none.
    pub(crate) fn uniform(sizes: &[Bytes]) -> Option<Self> {
        let n = sizes.len();
        let mut sizes: Vec<_> = sizes.iter().map(|s| s.get()).collect();
        sizes.sort_unstable();
        let point = |(i, size): (usize, u64)| Point {
            size: size as f64,
            probability: (i + 1) as f64 / n as f64,
        };
        let points = sizes.into_iter().enumerate().map(point).collect();
        SizeDistribution::new(points, Interpolation::Step).ok()
    }

    /// The points, in ascending order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// What lies between the points.
    pub fn interpolation(&self) -> Interpolation {
        self.interpolation
    }

    /// P(size <= `x` bytes), before rounding to whole bytes.
    pub fn cdf(&self, x: f64) -> f64 {
        let above = self.points.partition_point(|p| p.size <= x);
        let (Some(a), b) = (
            above.checked_sub(1).map(|i| self.points[i]),
            self.points.get(above),
        ) else {
            return 0.0;
        };
        match (self.interpolation, b) {
            (Interpolation::Linear, Some(b)) => {
                let share = (x - a.size) / (b.size - a.size);
                a.probability + share * (b.probability - a.probability)
            }
            _ => a.probability,
        }
    }

    /// The smallest size in bytes with P(size <= it) >= `u`, before rounding to whole bytes.
    pub fn quantile(&self, u: f64) -> f64 {
        let last = self.points.len() - 1;
        let i = self.points.partition_point(|p| p.probability < u).min(last);
        let b = self.points[i];
        match (self.interpolation, i.checked_sub(1).map(|i| self.points[i])) {
            (Interpolation::Linear, Some(a)) if b.probability > a.probability => {
                let share = (u - a.probability) / (b.probability - a.probability);
                a.size + share.min(1.0) * (b.size - a.size)
            }
            _ => b.size,
        }
    }

    /// Draws a flow size: one random number, its quantile, rounded to the
    /// nearest byte and at least 1.
    pub fn sample(&self, rng: &mut impl Rng) -> Bytes {
        // 1 - u lies in (0, 1]: a first point of probability 0 has no mass.
        Bytes::new(whole(self.quantile(1.0 - draw::unit(rng))) as u64)
    }

    /// Mean flow size in payload bytes, as sampled: rounding and the minimum of 1 included.
    pub fn mean(&self) -> f64 {
        self.mean_packets(Bytes::new(1))
    }

    /// Mean number of packets of a flow, when each carries up to `payload` bytes; exact.
    pub fn mean_packets(&self, payload: Bytes) -> f64 {
        let payload = payload.get().max(1) as f64;
        let first = self.points[0];
        let atom = first.probability * packets(first.size, payload);
        let rest = self.points.windows(2).map(|pair| {
            let (a, b) = (pair[0], pair[1]);
            (b.probability - a.probability)
                * match self.interpolation {
                    Interpolation::Linear => mean_packets_between(a.size, b.size, payload),
                    Interpolation::Step => packets(b.size, payload),
                }
        });
        atom + rest.sum::<f64>()
    }

    /// Mean of the squared size: how unevenly flows bring their bytes.
    pub fn mean_square(&self) -> f64 {
        let first = self.points[0];
        let rest = self.points.windows(2).map(|pair| {
            let (a, b) = (pair[0].size, pair[1].size);
            (pair[1].probability - pair[0].probability)
                * match self.interpolation {
                    Interpolation::Linear => (a * a + a * b + b * b) / 3.0,
                    Interpolation::Step => b * b,
                }
        });
        first.probability * first.size * first.size + rest.sum::<f64>()
    }

    /// Mean bytes of a flow on the wire, headers included: E\[S\] + header E\[ceil(S / payload)\]; exact.
    pub fn mean_wire(&self, format: &PacketFormat) -> f64 {
        self.mean() + format.header.get() as f64 * self.mean_packets(format.payload)
    }
}

/// A size in whole bytes: to the nearest, at least 1.
fn whole(size: f64) -> f64 {
    (size + 0.5).floor().max(1.0)
}

/// Packets of `payload` bytes that a flow of `size` bytes needs.
fn packets(size: f64, payload: f64) -> f64 {
    (whole(size) / payload).ceil()
}

/// Mean of [`packets`] over sizes uniform in `[a, b]`.
///
/// In y = size - 1/2, `packets` is floor(y / payload) + 1 (and 1 below y = 0).
/// Its integral is y^2 / (2 payload) + y / 2 plus the periodic term below.
/// Taking the mean of the polynomial part by hand keeps large sizes exact.
fn mean_packets_between(a: f64, b: f64, payload: f64) -> f64 {
    if b <= a {
        return packets(b, payload);
    }
    let periodic = |y: f64| {
        let r = y - (y / payload).floor().max(0.0) * payload;
        r * (1.0 - r / payload) / 2.0
    };
    let (a, b) = (a - 0.5, b - 0.5);
    (a + b) / (2.0 * payload) + 0.5 + (periodic(b) - periodic(a)) / (b - a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::random::Seed;
    use proptest::prelude::*;

    fn points(points: &[(f64, f64)]) -> Vec<Point> {
        points
            .iter()
            .map(|&(size, probability)| Point { size, probability })
            .collect()
    }

    fn linear(list: &[(f64, f64)]) -> SizeDistribution {
        SizeDistribution::new(points(list), Interpolation::Linear).unwrap()
    }

    #[test]
    fn means_by_hand() {
        // Uniform on [0, 3]: 1 byte below 1.5 (1/2), 2 below 2.5 (1/3), 3 (1/6).
        let sizes = linear(&[(0.0, 0.0), (3.0, 1.0)]);
        assert!((sizes.mean() - 10.0 / 6.0).abs() < 1e-12);
        // Packets of 2 bytes: 1 below 2.5 (5/6), 2 (1/6); headers of 10 bytes.
        let format = PacketFormat {
            payload: Bytes::new(2),
            header: Bytes::new(10),
            ack: Bytes::new(40),
        };
        assert!((sizes.mean_wire(&format) - (10.0 / 6.0 + 10.0 * 7.0 / 6.0)).abs() < 1e-12);
        // An atom of 1/2 at 1460 and, stepped, one of 1/2 at 2920.
        let sizes =
            SizeDistribution::new(points(&[(1460.0, 0.5), (2920.0, 1.0)]), Interpolation::Step)
                .unwrap();
        assert_eq!(sizes.mean(), 2190.0);
        assert_eq!(sizes.mean_wire(&PacketFormat::default()), 2190.0 + 60.0);
        // 1460^2 x (1 + 4) / 2; uniform on [0, 3]: 3.
        assert_eq!(sizes.mean_square(), 1460.0 * 1460.0 * 2.5);
        assert_eq!(linear(&[(0.0, 0.0), (3.0, 1.0)]).mean_square(), 3.0);
    }

    #[test]
    fn an_atom_and_a_slope() {
        let sizes = linear(&[(1460.0, 0.0), (1460.0, 0.5), (2920.0, 1.0)]);
        assert_eq!(
            [0.1, 0.5, 0.75, 1.0].map(|u| sizes.quantile(u)),
            [1460.0, 1460.0, 2190.0, 2920.0]
        );
        assert_eq!(
            [1459.9, 1460.0, 2190.0, 2920.0, 1e9].map(|x| sizes.cdf(x)),
            [0.0, 0.5, 0.75, 1.0, 1.0]
        );
    }

    #[test]
    fn mistakes() {
        let error = |list: &[(f64, f64)]| {
            let PointError { index, message } =
                SizeDistribution::new(points(list), Interpolation::Linear).unwrap_err();
            (index, message)
        };
        for (list, index, message) in [
            (&[][..], None, "has no points; at least one is needed"),
            (
                &[(f64::NAN, 1.0)],
                Some(0),
                "size_bytes NaN is not in [0, 1000000000000]",
            ),
            (
                &[(-1.0, 1.0)],
                Some(0),
                "size_bytes -1 is not in [0, 1000000000000]",
            ),
            (
                &[(1.0, f64::NAN)],
                Some(0),
                "cumulative_probability NaN is not in [0, 1]",
            ),
            (
                &[(1.0, 1.5)],
                Some(0),
                "cumulative_probability 1.5 is not in [0, 1]",
            ),
            (
                &[(0.0, 0.3), (2.0, 1.0)],
                Some(0),
                "cumulative_probability 0.3 at size 0: no flow is empty, so it must be 0 there",
            ),
            (
                &[(2.0, 0.5), (1.0, 1.0)],
                Some(1),
                "size_bytes 1 is below the 2 before it; sizes must not decrease",
            ),
            (
                &[(1.0, 0.5), (2.0, 0.4)],
                Some(1),
                "cumulative_probability 0.4 is below the 0.5 before it; probabilities must not decrease",
            ),
            (
                &[(1.0, 0.5), (2.0, 0.9)],
                Some(1),
                "the last cumulative_probability is 0.9; it must be 1",
            ),
        ] {
            assert_eq!(error(list), (index, message.to_owned()));
        }
    }

    /// Any distribution with sizes up to a few thousand bytes. Sizes avoid k + 1/2,
    /// where the brute force would need the cdf's left limit.
    fn distribution() -> impl Strategy<Value = SizeDistribution> {
        let sizes = prop::collection::vec(0u32..12_000, 1..8);
        let shares = prop::collection::vec(0u32..5, 8);
        (sizes, shares, any::<bool>()).prop_map(|(mut sizes, shares, step)| {
            sizes.sort_unstable();
            let total: u32 = 1 + shares[..sizes.len()].iter().sum::<u32>();
            let mut sum = 0;
            let mut list: Vec<_> = (sizes.iter().zip(&shares))
                .map(|(&size, share)| {
                    let quarters = size - u32::from(size % 4 == 2);
                    // No flow is empty.
                    sum += if quarters == 0 { 0 } else { *share };
                    (f64::from(quarters) / 4.0, f64::from(sum) / f64::from(total))
                })
                .collect();
            if let Some(last) = list.last_mut() {
                last.1 = 1.0;
            }
            let interpolation = if step {
                Interpolation::Step
            } else {
                Interpolation::Linear
            };
            SizeDistribution::new(points(&list), interpolation).unwrap()
        })
    }

    /// Mean wire bytes, one size after the other.
    fn brute_force_mean_wire(sizes: &SizeDistribution, format: &PacketFormat) -> f64 {
        let largest = whole(sizes.points().last().unwrap().size) as u64;
        let (mut mean, mut below) = (0.0, 0.0);
        for size in 1..=largest {
            let up_to = sizes.cdf(size as f64 + 0.5);
            mean += (up_to - below) * format.wire_bytes(Bytes::new(size)) as f64;
            below = up_to;
        }
        mean
    }

    proptest! {
        #[test]
        fn mean_wire_is_exact(sizes in distribution(), payload in 1u64..2000, header in 0u64..100) {
            let format = PacketFormat { payload: Bytes::new(payload), header: Bytes::new(header), ack: Bytes::new(40) };
            let exact = brute_force_mean_wire(&sizes, &format);
            prop_assert!((sizes.mean_wire(&format) / exact - 1.0).abs() < 1e-9);
        }

        #[test]
        fn quantile_inverts_cdf(sizes in distribution(), u in 0.0f64..=1.0, x in 0.0f64..4000.0) {
            let size = sizes.quantile(u);
            prop_assert!(sizes.cdf(size) >= u - 1e-12);
            // Nothing smaller reaches u; and no size reaches below its own cdf.
            prop_assert!(sizes.cdf(size - 0.01) <= u + 1e-12 || sizes.cdf(size - 0.01) == 0.0);
            prop_assert!(sizes.quantile(sizes.cdf(x)) <= x.max(sizes.points()[0].size) + 1e-6);
        }
    }

    #[test]
    fn mean_wire_of_websearch_is_exact() {
        let sizes = crate::SizesSpec::Websearch(Default::default())
            .build()
            .unwrap();
        let format = PacketFormat::default();
        let exact = brute_force_mean_wire(&sizes, &format);
        assert!((sizes.mean_wire(&format) / exact - 1.0).abs() < 1e-9);
    }

    #[test]
    fn samples_follow_the_cdf() {
        const N: usize = 100_000;
        for (i, kind) in ["websearch", "hadoop", "google_rpc"]
            .into_iter()
            .enumerate()
        {
            for interpolation in ["linear", "step"] {
                let spec = serde_json::json!({"kind": kind, "interpolation": interpolation});
                let sizes = fctlab_core::spec::read::<crate::SizesSpec>(spec)
                    .unwrap()
                    .build()
                    .unwrap();
                let mut rng = Seed(i as u64).stream("sizes");
                let mut drawn: Vec<u64> = (0..N).map(|_| sizes.sample(&mut rng).get()).collect();
                drawn.sort_unstable();
                // Largest distance between the two cdfs over all sizes drawn.
                let distance =
                    drawn
                        .chunk_by(|a, b| a == b)
                        .fold((0, 0.0f64), |(below, max), equal| {
                            let up_to = below + equal.len();
                            let expected = sizes.cdf(equal[0] as f64 + 0.499_999);
                            (up_to, max.max((up_to as f64 / N as f64 - expected).abs()))
                        });
                // Dvoretzky-Kiefer-Wolfowitz: above 2.69 / sqrt(n) once in 10^6.
                assert!(
                    distance.1 < 2.69 / (N as f64).sqrt(),
                    "{kind} {interpolation}: {}",
                    distance.1
                );
            }
        }
    }

    #[test]
    fn a_sample_has_at_least_one_byte() {
        let sizes = linear(&[(0.0, 0.0), (1.0, 1.0)]);
        let mut stream = Seed(1).stream("sizes");
        assert!((0..100).all(|_| sizes.sample(&mut stream).get() == 1));
    }
}
