//! Weights: where to start, the paper's loop, and a search that does better.
//!
//! Most often a class's loss falls with its own weight and rises with the others', so the
//! worst loss is least where all are equal (or where a class gains nothing from
//! more weight). [`Balance`] supposes that and goes there directly: each round moves the logarithm
//! of every weight in proportion to the class's distance from the mean loss, by
//! the slope that the last rounds have shown. It goes on after all losses are
//! negative, which is how spare capacity is spread. All rounds run the same flows.
//!
//! Where flows hear of the whole port (HPCC), a class's loss may rise with its own weight. So [`compass`]
//! goes on from the best weights known and tries which way is better.

use rayon::prelude::*;

use crate::evaluate::{Candidate, Meter};
use crate::flows::Flows;

/// Weights above this do not exist on the device, below 1 neither.
pub const GRID: u32 = 100;

/// Weights, and the loss of each class with them.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Positive, sum 1.
    pub weights: Vec<f64>,
    /// By class.
    pub losses: Vec<f64>,
}

impl Trial {
    /// The largest loss; negative when every SLO is met.
    pub fn worst(&self) -> f64 {
        self.losses
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// The same with losses as distances from their mean.
    pub fn about_mean(&self) -> Trial {
        let losses = counted(&self.losses);
        let mean = mean(&losses);
        let about = losses
            .iter()
            .map(|loss| loss.map_or(f64::NEG_INFINITY, |l| l - mean));
        Trial {
            weights: self.weights.clone(),
            losses: about.collect(),
        }
    }

    /// The class with the largest loss.
    pub fn binding(&self) -> usize {
        let losses = self.losses.iter().enumerate();
        losses
            .max_by(|a, b| a.1.total_cmp(b.1))
            .map_or(0, |(k, _)| k)
    }

    /// The class with the smallest loss.
    pub fn slack(&self) -> usize {
        let losses = self.losses.iter().enumerate();
        losses
            .min_by(|a, b| a.1.total_cmp(b.1))
            .map_or(0, |(k, _)| k)
    }
}

/// The one with the least worst loss.
pub fn least_worst(trials: impl IntoIterator<Item = Trial>) -> Option<Trial> {
    let trials = trials.into_iter();
    trials.min_by(|a, b| a.worst().total_cmp(&b.worst()))
}

/// `weights` such that they sum to 1.
pub fn normalized(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

/// The least share of the link with which each class, alone against others that
/// always have bytes waiting, meets its SLO (swp, section 3.3); nothing where
/// the whole link does not do. `flows` are each class's own.
pub fn baselines(candidate: &Candidate, flows: &[Flows], meter: &Meter) -> Vec<Option<f64>> {
    let classes = flows.par_iter().enumerate();
    let each = classes.map(|(k, flows)| baseline(candidate, k, flows, meter));
    each.collect()
}

/// How far a baseline may be from the least share, as a share of it.
const BASELINE_TOLERANCE: f64 = 0.01;

fn baseline(candidate: &Candidate, k: usize, flows: &Flows, meter: &Meter) -> Option<f64> {
    let class = &candidate.classes[k..=k];
    let inside = candidate.discipline.inside;
    let mut alone = candidate.with_weights(&[1.0], inside);
    alone.classes = class;
    let mut meets = |share: f64| {
        alone.discipline = alone.with_weights(&[share], inside).discipline;
        alone.discipline.always_backlogged = 1.0 - share;
        alone.losses(flows, meter)[0] <= 0.0
    };
    class[0].slo.as_ref()?;
    if !meets(1.0) {
        return None;
    }
    // With less than what it offers its queue would only grow.
    let offered = class[0].rate_bps / candidate.link.rate.bps() as f64;
    let (mut low, mut high) = (offered.clamp(1e-3, 1.0), 1.0);
    while high / low > 1.0 + BASELINE_TOLERANCE && !meter.stopped() {
        let middle = (low * high).sqrt();
        if meets(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// Algorithm 1 of the paper, for at most `rounds` rounds; every round is
/// returned, and whether the last met every SLO.
pub fn algorithm_1(
    start: &[f64],
    rounds: usize,
    mut losses_of: impl FnMut(&[f64]) -> Vec<f64>,
) -> (Vec<Trial>, bool) {
    let mut weights = normalized(start);
    let mut trials: Vec<Trial> = Vec::new();
    for _ in 0..rounds {
        let losses = losses_of(&weights);
        trials.push(Trial {
            weights: weights.clone(),
            losses: losses.clone(),
        });
        if losses.iter().all(|l| *l < 0.0) {
            return (trials, true);
        }
        let mut order: Vec<usize> = (0..losses.len()).collect();
        order.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        if losses[order[0]] > 0.0 {
            break;
        }
        for (&k, &q) in order.iter().zip(order.iter().rev()) {
            if losses[k] >= 0.0 || losses[q] <= 0.0 {
                break;
            }
            // At most all that it has, whatever its loss: a class without an SLO has no end to it.
            let moved = (losses[k] / 2.0).abs().min(0.5) * weights[k];
            weights[k] -= moved;
            weights[q] += moved;
        }
    }
    (trials, false)
}

/// Losses closer together than this are balanced well enough to go on with.
pub const BALANCED: f64 = 0.02;

/// When [`Balance::search`] may stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// Losses are closer together than this: spare capacity is spread.
    Balanced(f64),
    /// Every SLO is met, or it looks as if it could not be.
    Met,
}

/// Rounds without gain after which the search ends.
const PATIENCE: usize = 3;

/// Moves weights from classes with little loss to those with much, and learns how much that moves.
#[derive(Clone, Debug)]
pub struct Balance {
    /// The slope of each loss in the logarithm of the class's weight.
    slopes: Vec<f64>,
}

/// Losses as they count in a step: beyond, a class has no end to what it may want; none of a class without an SLO.
fn counted(losses: &[f64]) -> Vec<Option<f64>> {
    let each = losses.iter();
    each.map(|&l| (l > f64::NEG_INFINITY).then(|| l.clamp(-1.0, 4.0)))
        .collect()
}

/// The mean of those that count.
fn mean(losses: &[Option<f64>]) -> f64 {
    let there = losses.iter().flatten();
    there.clone().sum::<f64>() / there.count() as f64
}

/// How far the losses of classes with an SLO are from their mean, at most.
pub fn spread(losses: &[f64]) -> f64 {
    let losses = counted(losses);
    let mean = mean(&losses);
    let there = losses.iter().flatten();
    there.map(|l| (l - mean).abs()).fold(0.0, f64::max)
}

impl Balance {
    /// Of so many classes, of which nothing is known yet.
    pub fn of(classes: usize) -> Self {
        Balance {
            slopes: vec![-1.0; classes],
        }
    }

    /// Searches from `start`; the best trial is returned.
    pub fn search(
        &mut self,
        start: &[f64],
        rounds: usize,
        until: Until,
        mut losses_of: impl FnMut(&[f64]) -> Vec<f64>,
    ) -> Trial {
        let within = match until {
            Until::Balanced(within) => within,
            Until::Met => BALANCED,
        };
        let mut weights = normalized(start);
        let mut best: Option<Trial> = None;
        let mut last: Option<Trial> = None;
        let mut without_gain = 0;
        for _ in 0..rounds.max(1) {
            let trial = Trial {
                losses: losses_of(&weights),
                weights: weights.clone(),
            };
            let worst = trial.worst();
            let gain = best.as_ref().map_or(f64::INFINITY, |b| b.worst() - worst);
            without_gain = if gain > within / 4.0 {
                0
            } else {
                without_gain + 1
            };
            if let Some(last) = &last {
                self.learn(last, &trial);
            }
            if gain > 0.0 {
                best = Some(trial.clone());
            }
            let met = until == Until::Met && worst < 0.0;
            let balanced = spread(&trial.losses) < within || weights.len() == 1;
            if met || balanced || without_gain >= PATIENCE {
                break;
            }
            // From the best so far, more carefully, when the last step did not help.
            let from = match (&best, without_gain) {
                (Some(best), 1..) => best,
                _ => &trial,
            };
            weights = self.step(from, 0.5f64.powi(without_gain as i32));
            last = Some(trial);
        }
        best.unwrap_or(Trial {
            losses: vec![f64::INFINITY; weights.len()],
            weights,
        })
    }

    /// The weights with which losses should be equal, or a share `care` of the way there.
    pub fn step(&self, from: &Trial, care: f64) -> Vec<f64> {
        normalized(&self.moved(from, care))
    }

    /// The loss that all classes should have with those weights.
    pub fn level(&self, from: &Trial) -> f64 {
        let losses = counted(&from.losses);
        // What all are given beyond what there is, all give back.
        let beyond = self.moved(from, 1.0).iter().sum::<f64>().ln();
        let with_slo = self.slopes.iter().zip(&losses);
        let slopes = with_slo.map(|(slope, loss)| loss.map(|_| *slope));
        mean(&losses) - beyond * mean(&slopes.collect::<Vec<_>>())
    }

    /// The weights with which each loss should be the mean of all, before they share what there is. A class
    /// without an SLO gives what it has, down to the least that a device has.
    fn moved(&self, from: &Trial, care: f64) -> Vec<f64> {
        let losses = counted(&from.losses);
        let mean = mean(&losses);
        let largest = from.weights.iter().copied().fold(0.0, f64::max);
        let each = from.weights.iter().zip(&losses).zip(&self.slopes);
        let moved = each.map(|((weight, loss), slope)| match loss {
            Some(loss) => weight * (care * (mean - loss) / slope).clamp(-0.7, 0.7).exp(),
            None => (weight * (-0.7 * care).exp()).max(weight.min(largest / f64::from(GRID))),
        });
        moved.collect()
    }

    /// Learns the slopes from two trials.
    pub fn learn(&mut self, last: &Trial, trial: &Trial) {
        for (k, known) in self.slopes.iter_mut().enumerate() {
            let moved = (trial.weights[k] / last.weights[k]).ln();
            let slope = (trial.losses[k] - last.losses[k]) / moved;
            if moved.abs() > 1e-3 && slope.is_finite() {
                *known = (*known + slope.clamp(-8.0, -0.25)) / 2.0;
            }
        }
    }
}

/// Gains of less than this are none: the next flows see them differently.
pub const GAIN: f64 = 1e-3;
/// The smallest factor by which [`compass`] changes a weight, as a logarithm.
const LEAST_STEP: f64 = 0.05;

/// Improves weights one class at a time, up or down by a factor of exp(`step`), then of its root and so on,
/// for at most so many rounds; nothing is supposed about which way a loss goes (compass search: Kolda,
/// Lewis, Torczon, "Optimization by direct search", SIAM Review 45(3), 2003).
pub fn compass(
    start: Trial,
    mut step: f64,
    rounds: usize,
    losses_of: impl Fn(&[f64]) -> Vec<f64> + Sync,
) -> Trial {
    let mut best = start;
    // Of two classes more for one is less for the other.
    let classes = match best.weights.len() {
        1 => 0,
        2 => 1,
        many => many,
    };
    for _ in 0..rounds {
        let moves = (0..classes).flat_map(|k| [(k, step), (k, -step)]);
        let moved = moves.map(|(k, step)| {
            let mut weights = best.weights.clone();
            weights[k] *= step.exp();
            normalized(&weights)
        });
        let tried: Vec<Vec<f64>> = moved.filter(|weights| fits_device(weights)).collect();
        let trials = tried.into_par_iter().map(|weights| Trial {
            losses: losses_of(&weights),
            weights,
        });
        let trials: Vec<Trial> = trials.collect();
        match least_worst(trials) {
            Some(next) if next.worst() < best.worst() - GAIN => best = next,
            _ if step / 2.0 < LEAST_STEP => break,
            _ => step /= 2.0,
        }
    }
    best
}

/// Whether the device has weights of such ratios.
pub fn fits_device(weights: &[f64]) -> bool {
    let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
    weights.iter().all(|w| w / least <= f64::from(GRID) * 1.01)
}

/// The integers in `1..=GRID` whose ratios are closest to those of `weights`.
pub fn on_grid(weights: &[f64]) -> Vec<u32> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let rounded = |top: u32| -> Vec<u32> {
        let each = weights.iter();
        each.map(|w| ((w / largest * f64::from(top)).round() as u32).max(1))
            .collect()
    };
    let error = |grid: &[u32]| {
        let grid: Vec<f64> = grid.iter().map(|&g| f64::from(g)).collect();
        let pairs = normalized(&grid).into_iter().zip(normalized(weights));
        pairs.map(|(g, w)| (g / w).ln().abs()).fold(0.0, f64::max)
    };
    let candidates = (1..=GRID).map(rounded);
    let best = candidates.min_by(|a, b| error(a).total_cmp(&error(b)));
    best.unwrap_or_default()
}

/// Improves integer weights by single steps of one class, as long as one helps
/// and at most `rounds` times; neighbours are evaluated at once.
pub fn search_grid(
    start: Vec<u32>,
    rounds: usize,
    losses_of: impl Fn(&[f64]) -> Vec<f64> + Sync,
) -> (Vec<u32>, Trial) {
    let trial = |grid: &Vec<u32>| {
        let weights: Vec<f64> = grid.iter().map(|&g| f64::from(g)).collect();
        Trial {
            losses: losses_of(&weights),
            weights: normalized(&weights),
        }
    };
    let mut best = (start.clone(), trial(&start));
    for _ in 0..rounds {
        // More for the class that binds, or less for the one with most to spare.
        let binding = best.1.binding();
        let slack = best.1.slack();
        let step = (best.0[binding] / 20).max(1);
        let mut up = best.0.clone();
        up[binding] = (up[binding] + step).min(GRID);
        let mut down = best.0.clone();
        down[slack] = down[slack].saturating_sub((down[slack] / 20).max(1)).max(1);
        let neighbours: Vec<_> = [up, down].into_iter().filter(|g| *g != best.0).collect();
        let trials: Vec<_> = neighbours.par_iter().map(&trial).collect();
        let found = neighbours.into_iter().zip(trials);
        let Some(next) = found.min_by(|a, b| a.1.worst().total_cmp(&b.1.worst())) else {
            break;
        };
        if next.1.worst() >= best.1.worst() {
            break;
        }
        best = next;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Losses of classes that each need a share of the link: a caricature of the model.
    fn losses(needs: &[f64], weights: &[f64]) -> Vec<f64> {
        let pairs = normalized(weights).into_iter().zip(needs);
        pairs.map(|(w, need)| need / w - 1.0).collect()
    }

    #[test]
    fn algorithm_1_by_hand() {
        // Losses -0.5, 1: the first gives a quarter of its weight.
        let mut seen = Vec::new();
        let table = [vec![-0.5, 1.0], vec![-0.1, -0.2]];
        let (trials, success) = algorithm_1(&[3.0, 1.0], 10, |w| {
            seen.push(w.to_vec());
            table[seen.len() - 1].clone()
        });
        assert!(success);
        assert_eq!(trials.len(), 2);
        assert_eq!(seen, [[0.75, 0.25], [0.5625, 0.4375]]);
        // All positive: it gives up.
        let (trials, success) = algorithm_1(&[1.0, 1.0], 10, |_| vec![0.1, 0.2]);
        assert!(!success && trials.len() == 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn balance_finds_the_least_worst_loss(needs in prop::collection::vec(0.02..1.0f64, 2..6)) {
            let mut balance = Balance::of(needs.len());
            let trial = balance.search(&vec![1.0; needs.len()], 40, Until::Balanced(BALANCED), |w| losses(&needs, w));
            // With weights in proportion to the needs all losses are sum - 1.
            let least = needs.iter().sum::<f64>() - 1.0;
            prop_assert!(trial.worst() <= least + 0.03 * (2.0 + least), "{} {}", trial.worst(), least);
            prop_assert!((trial.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(trial.weights.iter().all(|w| *w > 0.0));
        }

        #[test]
        fn the_grid_is_near(weights in prop::collection::vec(0.02..1.0f64, 1..6)) {
            let grid = on_grid(&weights);
            prop_assert!(grid.iter().all(|g| (1..=GRID).contains(g)));
            let exact = normalized(&weights);
            let rounded = normalized(&grid.iter().map(|&g| f64::from(g)).collect::<Vec<_>>());
            for (a, b) in exact.iter().zip(&rounded) {
                prop_assert!((a / b).ln().abs() < 0.25, "{:?} {:?}", exact, grid);
            }
        }
    }

    #[test]
    fn the_compass_finds_its_way_where_losses_rise_with_a_classs_own_weight() {
        // The first class wants less than it has, whatever the other needs; so does the second beyond 0.4.
        let losses = |weights: &[f64]| {
            let share = normalized(weights)[0];
            vec![
                2.0 * share - 1.0,
                0.3 / (1.0 - share) - 1.0 + (0.6 - share).abs(),
            ]
        };
        let start = [0.9, 0.1];
        let trial = |weights: &[f64]| Trial {
            losses: losses(weights),
            weights: weights.to_vec(),
        };
        let misled = Balance::of(2).search(&start, 40, Until::Balanced(BALANCED), losses);
        let found = compass(trial(&start), 0.7, 30, losses);
        let each = (1..100).map(|i| trial(&[f64::from(i) / 100.0, 1.0 - f64::from(i) / 100.0]));
        let least = least_worst(each).unwrap();
        assert!(found.worst() < least.worst() + 0.03, "{found:?} {least:?}");
        assert!(found.worst() <= misled.worst(), "{found:?} {misled:?}");
    }

    #[test]
    fn grid_search_improves() {
        let needs = [0.3, 0.1, 0.2];
        let (grid, trial) = search_grid(vec![10, 10, 10], 50, |w| losses(&needs, w));
        assert!(trial.worst() < -0.3, "{grid:?} {trial:?}");
    }
}
