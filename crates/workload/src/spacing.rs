//! When the packets of a flow become available at its sender (ASCC, section VIII).
//!
//! "Let dt be the minimum possible time that it takes to send all packets of a
//! flow out of the sender's host interface. We distribute arrival times of \[its\]
//! packets uniformly in [a, a + alpha dt]": the first packet at the flow's start
//! a, the others at sorted uniform times. Order statistics are drawn one after
//! another, so memory does not grow with the flow: the least of m uniform
//! numbers on [t, 1] is 1 - (1 - t) U^(1/m) (Devroye, Non-Uniform Random Variate
//! Generation, 1986, section V.2).

use fctlab_core::random::{Seed, mix};
use fctlab_core::{Duration, Time};
use rand_pcg::Pcg64;

use crate::Flow;
use crate::draw::unit;

/// The times at which a flow's packets become available, one after another.
#[derive(Clone, Debug)]
pub struct Spacing {
    draws: Pcg64,
    from: Time,
    span_ps: f64,
    /// Packets to come, and where the last one was as a share of the span.
    left: u32,
    at: f64,
}

impl Spacing {
    /// The packets of `flow` after its first, `packets` in all, over `span`.
    pub fn new(seed: Seed, flow: &Flow, packets: u32, span: Duration) -> Self {
        Spacing {
            draws: Seed(mix(seed.0 ^ mix(flow.id))).stream("spacing"),
            from: flow.start,
            span_ps: span.ps() as f64,
            left: packets - 1,
            at: 0.0,
        }
    }
}

impl Iterator for Spacing {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        if self.left == 0 {
            return None;
        }
        let least = libm::exp(libm::log(1.0 - unit(&mut self.draws)) / f64::from(self.left));
        self.left -= 1;
        self.at = 1.0 - (1.0 - self.at) * least;
        let after = Duration::from_ps((self.at * self.span_ps) as u64);
        Some(self.from + after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::Bytes;

    fn flow(id: u64) -> Flow {
        Flow {
            id,
            start: Time::from_ps(1_000_000),
            src: 0,
            dst: 1,
            size: Bytes::new(1),
            class: 0,
            query: None,
            path_hash: 0,
        }
    }

    fn times(id: u64, packets: u32) -> Vec<f64> {
        let span = Duration::from_ps(1_000_000_000);
        let at = |t: Time| (t.ps() - 1_000_000) as f64 / 1e9;
        Spacing::new(Seed(1), &flow(id), packets, span)
            .map(at)
            .collect()
    }

    #[test]
    fn sorted_uniform_and_different_from_flow_to_flow() {
        let n = 4000;
        let all: Vec<f64> = times(7, n + 1);
        assert_eq!(all.len(), n as usize);
        assert!(
            all.windows(2).all(|w| w[0] <= w[1]) && all[0] >= 0.0 && *all.last().unwrap() <= 1.0
        );
        // Kolmogorov-Smirnov: the largest distance from the diagonal is below
        // 1.95 / sqrt(n) with probability 0.999.
        let distance = (1..)
            .zip(&all)
            .map(|(i, t)| (f64::from(i) / f64::from(n) - t).abs());
        assert!(distance.fold(0.0, f64::max) < 1.95 / f64::from(n).sqrt());
        assert_ne!(times(7, 3), times(8, 3));
        assert!(times(7, 1).is_empty());
    }

    #[test]
    fn the_last_of_two_is_uniform() {
        let mean = (0..4000).map(|id| times(id, 2)[0]).sum::<f64>() / 4000.0;
        // Five standard errors of a uniform mean: 5 / sqrt(12 x 4000).
        assert!((mean - 0.5).abs() < 0.023, "{mean}");
    }
}
