//! The least capacity at which every loss is negative, for the flows at hand.
//!
//! The logarithm of a value over its threshold falls about evenly with that of the capacity, so each capacity is where
//! the line with the slope of the last ones would be zero (secant), between one that does not do and one that does. Where
//! there are weights to choose, one evaluation moves both: weights towards equal losses ([`Balance`]), and the
//! capacity by the loss that all would have then. What ends the search supposes none of that: at the
//! capacity found every SLO is met, and at one less by the tolerance some is not, there with weights
//! searched for as long as that helps.

use crate::evaluate::Meter;
use crate::optimize::{BALANCED, Balance, Trial, Until, normalized, spread};

/// Rounds of weights at a capacity that has to be decided.
const ROUNDS: usize = 10;
/// Evaluations after which each capacity is decided, and halves what is left.
const PATIENCE: usize = 12;
/// Where in the tolerance a capacity lies above the one that should just do: whichever it turns out, what is left is
/// less than the tolerance.
const ABOVE: f64 = 0.4;
/// The largest change of capacity at once, as a logarithm.
const LONGEST: f64 = 0.5;
/// Of smaller moves, as a logarithm, a slope is not learned.
const LEAST_MOVE: f64 = 0.01;
/// Slopes of the logarithm of a loss (as a factor of the threshold) in that of the capacity.
const SLOPES: (f64, f64) = (-12.0, -0.3);

/// Capacities between which the least one lies.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Here the link is overloaded, whatever the flows at hand say.
    pub overloaded: f64,
    /// Beyond this none is tried.
    pub most: f64,
}

/// A capacity that meets every SLO.
#[derive(Clone, Debug)]
pub struct Met {
    /// Bits per second.
    pub capacity: f64,
    /// With which weights, none where there are none to choose.
    pub weights: Vec<f64>,
}

/// A search, with what the last flows have taught it: it goes on with others from there.
#[derive(Clone, Debug)]
pub struct Search {
    range: Range,
    /// Tried next.
    capacity: f64,
    weights: Vec<f64>,
    balance: Option<Balance>,
    /// Of the logarithm of the losses' level in that of the capacity.
    slope: f64,
    /// Where, the level and the trial before.
    last: Option<(f64, f64, Trial)>,
    /// Evaluations.
    pub tried: usize,
}

impl Search {
    /// With nothing to choose but the capacity.
    pub fn of_capacity(range: Range, first: f64) -> Self {
        Search {
            range,
            capacity: first.clamp(range.overloaded, range.most),
            weights: Vec::new(),
            balance: None,
            slope: -2.0,
            last: None,
            tried: 0,
        }
    }

    /// With weights to choose, from `shares` of the capacity in bits per second.
    pub fn of_weights(range: Range, shares: &[f64]) -> Self {
        Search {
            weights: normalized(shares),
            balance: Some(Balance::of(shares.len())),
            ..Search::of_capacity(range, shares.iter().sum())
        }
    }

    /// Goes to about the least capacity, until the next step is one by less than `nearness` as a share; where it ends
    /// is where [`Search::least`] begins, and is all that is promised.
    pub fn approach(
        &mut self,
        nearness: f64,
        meter: &Meter,
        mut losses_of: impl FnMut(f64, &[f64]) -> Vec<f64>,
    ) -> f64 {
        self.last = None;
        for _ in 0..PATIENCE {
            let at = self.capacity;
            let trial = self.evaluate(at, false, &mut losses_of);
            self.go_on(at, trial);
            if (self.capacity / at).ln().abs() < nearness || meter.stopped() {
                break;
            }
        }
        self.capacity
    }

    /// The least capacity, to `tolerance` as a share of it; nothing where the most does not do. `losses_of` says for
    /// a capacity and weights what each class's loss is.
    pub fn least(
        &mut self,
        tolerance: f64,
        meter: &Meter,
        mut losses_of: impl FnMut(f64, &[f64]) -> Vec<f64>,
    ) -> Option<Met> {
        let (wide, most) = (1.0 + tolerance, self.range.most);
        let (mut low, mut high) = (self.range.overloaded, f64::INFINITY);
        let mut met = None;
        // What was learned of other flows stays, where they were does not.
        self.last = None;
        for round in 0.. {
            if high / low <= wide * (1.0 + 1e-9) || low >= most || meter.stopped() {
                break;
            }
            let least = self.capacity;
            // Where it should lie within the tolerance of an end, at most so far from that end.
            let (at, decide) = match high / wide {
                _ if round > PATIENCE && high < f64::INFINITY => ((low * high).sqrt(), true),
                _ if round > PATIENCE => (low * LONGEST.exp(), true),
                at if least >= at => (at, true),
                _ => (least.max(low) * (1.0 + ABOVE * tolerance), false),
            };
            let at = at.min(most);
            let decide = decide || at == most;
            let trial = self.evaluate(at, decide, &mut losses_of);
            if trial.worst() < 0.0 {
                high = at;
                met = Some(Met {
                    capacity: at,
                    weights: trial.weights.clone(),
                });
            } else if decide || self.is_hopeless(&trial) {
                low = at;
            }
            self.go_on(at, trial);
        }
        met
    }

    /// The losses at a capacity, with the weights at hand or the best that are found there.
    fn evaluate(
        &mut self,
        at: f64,
        decide: bool,
        losses_of: &mut impl FnMut(f64, &[f64]) -> Vec<f64>,
    ) -> Trial {
        let mut tried = 0;
        let mut losses_of = |weights: &[f64]| {
            tried += 1;
            losses_of(at, weights)
        };
        let trial = match &mut self.balance {
            Some(balance) if decide => balance.search(&self.weights, ROUNDS, Until::Met, losses_of),
            _ => Trial {
                losses: losses_of(&self.weights),
                weights: self.weights.clone(),
            },
        };
        self.tried += tried;
        trial
    }

    /// Whether no other weights would do where these do not.
    fn is_hopeless(&self, trial: &Trial) -> bool {
        self.balance.is_none() || spread(&trial.losses) < BALANCED
    }

    /// Learns from what was found at a capacity, and moves to where the losses should be zero.
    fn go_on(&mut self, at: f64, trial: Trial) {
        let level = match &mut self.balance {
            None => trial.worst(),
            Some(balance) => {
                if let Some((_, _, last)) = &self.last {
                    balance.learn(&last.about_mean(), &trial.about_mean());
                }
                self.weights = balance.step(&trial, 1.0);
                balance.level(&trial).min(trial.worst())
            }
        };
        let level = level.clamp(-0.9, 9.0).ln_1p();
        if let Some((last_at, last_level, _)) = self.last {
            let moved = (at / last_at).ln();
            let slope = (level - last_level) / moved;
            if moved.abs() > LEAST_MOVE && slope.is_finite() {
                self.slope = (self.slope + slope.clamp(SLOPES.0, SLOPES.1)) / 2.0;
            }
        }
        let step = (-level / self.slope).clamp(-LONGEST, LONGEST);
        self.capacity = (at * step.exp()).clamp(self.range.overloaded, self.range.most);
        self.last = Some((at, level, trial));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RANGE: Range = Range {
        overloaded: 1.0,
        most: 64.0,
    };

    /// What a search finds, and every capacity that it tried, with the worst loss there.
    fn found(
        mut search: Search,
        losses_of: impl Fn(f64, &[f64]) -> Vec<f64>,
    ) -> (Option<Met>, Vec<(f64, f64)>) {
        let (before, mut tried) = (search.tried, Vec::new());
        let met = search.least(0.01, &Meter::default(), |capacity, weights| {
            let losses = losses_of(capacity, weights);
            let worst = losses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            tried.push((capacity, worst));
            losses
        });
        assert_eq!(search.tried - before, tried.len());
        (met, tried)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn both_sides_are_tried_whatever_the_losses_look_like(
            least in 1.02..60.0f64, first in 1.0..64.0f64, power in 0.05..40.0f64, jump in 0.0..2.0f64,
        ) {
            // Flat, steep, and with a jump where it counts.
            let losses = |capacity: f64, _: &[f64]| {
                let jump = if capacity < least { jump } else { -jump.min(0.5) };
                vec![((least / capacity).powf(power) - 1.0 + jump).max(-0.99)]
            };
            let (met, tried) = found(Search::of_capacity(RANGE, first), losses);
            let met = met.unwrap().capacity;
            prop_assert!(met >= least && met <= least * 1.0101, "{} {}", met, least);
            prop_assert!(tried.contains(&(met, losses(met, &[])[0])));
            let below = |&(at, worst): &(f64, f64)| at < met && at * 1.0101 >= met && worst >= 0.0;
            prop_assert!(tried.iter().any(below), "{:?}", tried);
            prop_assert!(tried.len() < 30, "{}", tried.len());
        }

        #[test]
        fn weights_and_capacity_together(needs in prop::collection::vec(0.5..4.0f64, 2..6)) {
            // Each class needs so much of the link, whatever the others have.
            let losses = |capacity: f64, weights: &[f64]| {
                let each = weights.iter().zip(&needs);
                each.map(|(w, need)| need / (w * capacity) - 1.0).collect()
            };
            let shares = vec![2.0; needs.len()];
            let (met, tried) = found(Search::of_weights(RANGE, &shares), losses);
            let (met, least) = (met.unwrap(), needs.iter().sum::<f64>());
            // Losses that are balanced are within so much of their mean.
            let most = least * 1.011 * (1.0 + BALANCED);
            prop_assert!(met.capacity >= least && met.capacity <= most, "{} {}", met.capacity, least);
            prop_assert!(losses(met.capacity, &met.weights).iter().all(|loss| *loss < 0.0));
            prop_assert!(tried.len() < 30, "{}", tried.len());
        }
    }

    #[test]
    fn where_the_most_does_not_do_there_is_none() {
        let (met, tried) = found(Search::of_capacity(RANGE, 2.0), |_, _| vec![0.5]);
        assert!(met.is_none());
        assert!(tried.contains(&(RANGE.most, 0.5)));
    }

    #[test]
    fn few_flows_only_say_where_to_begin() {
        let mut search = Search::of_capacity(RANGE, 2.0);
        let near = search.approach(0.04, &Meter::default(), |capacity, _| {
            vec![20.0 / capacity - 1.0]
        });
        assert!((near / 20.0 - 1.0).abs() < 0.04, "{near}");
        let (met, tried) = found(search, |capacity, _| vec![30.0 / capacity - 1.0]);
        assert!((1.0..1.0101).contains(&(met.unwrap().capacity / 30.0)));
        assert!((tried[0].0 / near - 1.0).abs() < 0.01);
    }
}
