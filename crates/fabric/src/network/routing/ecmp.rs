//! ECMP: one path per flow by hash (RFC 2992). Each switch mixes the flow's
//! hash with its own number through a finalizer in which every bit of both
//! reaches every bit of the choice, so that what one switch chose says nothing
//! about what the next one will.

use fctlab_core::random::{Seed, mix};
use serde::{Deserialize, Serialize};

use super::{Choice, Choose, RoutingPart};
use crate::network::Fabric;

/// One path per flow, by hash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

/// No state: the hash decides.
pub struct Ecmp;

impl RoutingPart for Spec {
    type State = Ecmp;
    const SPRAYS: bool = false;
    fn start(&self, _: &Fabric, _: Seed) -> Ecmp {
        Ecmp
    }
}

impl Choose for Ecmp {
    #[inline]
    fn choose(&mut self, choice: &Choice) -> u32 {
        let key = u64::from(choice.switch) << 32 | u64::from(choice.hash);
        // The upper half of the product of two numbers below 2^32 is below `count`.
        (((mix(key) >> 32) * u64::from(choice.count)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    const FLOWS: u32 = 100_000;

    /// How many of `FLOWS` flows take each pair of ports, port `b` of switch
    /// `second` after port `a` of switch `first`, at `a * count + b`.
    fn paths(first: u32, second: u32, count: u32, flows: &mut impl Rng) -> Vec<u32> {
        let mut taken = vec![0; (count * count) as usize];
        for _ in 0..FLOWS {
            let hash = flows.next_u32();
            let choose = |switch| {
                Ecmp.choose(&Choice {
                    switch,
                    dst: 0,
                    hash,
                    count,
                })
            };
            taken[(choose(first) * count + choose(second)) as usize] += 1;
        }
        taken
    }

    /// The p-value of uniform counts (Pearson's chi-squared).
    fn p_value(taken: &[u32]) -> f64 {
        let expected = f64::from(FLOWS) / taken.len() as f64;
        let distances = taken.iter().map(|&n| (f64::from(n) - expected).powi(2));
        let freedom = (taken.len() - 1) as f64;
        ChiSquared::new(freedom)
            .unwrap()
            .sf(distances.sum::<f64>() / expected)
    }

    /// Every switch with hosts and every switch above it in its pod, of fat-trees
    /// with k ports per switch: the flows that both see spread evenly over the
    /// pairs of ports, no pair of switches is worse than chance makes it.
    #[test]
    fn two_switches_in_a_row_choose_independently() {
        let mut flows = Seed(11).stream("flows");
        for k in [4, 8, 16] {
            let half = k / 2;
            let edges = k * half;
            let (mut p_values, mut largest) = (Vec::new(), 0.0f64);
            let pairs = (0..edges).flat_map(|edge| {
                let pod = edge / half;
                (0..half).map(move |up| (edge, edges + pod * half + up))
            });
            for (edge, aggregation) in pairs {
                let taken = paths(edge, aggregation, half, &mut flows);
                let expected = f64::from(FLOWS) / taken.len() as f64;
                let most = f64::from(*taken.iter().max().unwrap());
                largest = largest.max((most - expected) / expected.sqrt());
                p_values.push(p_value(&taken));
            }
            // The largest of n normal deviates is below this in 99.9% of cases.
            let cells = (p_values.len() * (half * half) as usize) as f64;
            let bound = (2.0 * (cells / 1e-3).ln()).sqrt();
            assert!(largest < bound, "k = {k}: {largest} standard deviations");
            // Kolmogorov and Smirnov, at 0.1%.
            p_values.sort_by(f64::total_cmp);
            let n = p_values.len() as f64;
            let distance = p_values.iter().enumerate().map(|(i, p)| {
                let (below, above) = (i as f64 / n, (i + 1) as f64 / n);
                (p - below).abs().max((above - p).abs())
            });
            let distance = distance.fold(0.0, f64::max);
            assert!(distance < 1.95 / n.sqrt(), "k = {k}: {distance} apart");
        }
    }
}
