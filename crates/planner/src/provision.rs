//! `provision`: the least capacity with which each strategy meets every SLO (swp, section 5.2).
//!
//! The same flows at every capacity; r_init follows the link, RTT, T and the
//! sizes that SLIs split at stay, and slowdowns are relative to the capacity in question.

use fctlab_core::SpecError;
use fctlab_link::Inside;
use fctlab_link::queues::{Discipline, Sharing};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::evaluate::{Candidate, Meter};
use crate::flows::{Flows, horizon};
use crate::optimize::{Balance, Until, baselines, normalized};
use crate::sli::ONCE;
use crate::spec::load::Load;
use crate::spec::{Class, Spec};

/// How far a capacity may be above the least, as a share of it.
pub const TOLERANCE: f64 = 0.01;
/// Capacities beyond so many times the offered load are not tried.
const MOST: f64 = 64.0;
/// Rounds of weights per capacity.
const ROUNDS: usize = 10;

/// How classes share the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// One queue for all.
    Fifo,
    /// Each class has what it needs on a link of its own; the sum.
    Static,
    /// Optimised weights, FIFO inside each class.
    Weights,
    /// Optimised weights, fair queueing inside each class.
    WeightsFq,
    /// Strict priority in the order of the classes, FIFO inside each.
    Priority,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 5] = [
        Strategy::Fifo,
        Strategy::Static,
        Strategy::Weights,
        Strategy::WeightsFq,
        Strategy::Priority,
    ];
}

/// The least capacity of a strategy.
#[derive(Clone, Debug, Serialize)]
pub struct Provision {
    /// How classes share the link.
    pub strategy: Strategy,
    /// The least rate that meets every SLO, to [`TOLERANCE`]; null when none up to
    /// 64 times the offered load does.
    pub capacity_bps: Option<f64>,
    /// Between the largest rate at which some SLO is violated for all values inside the 95% intervals and the
    /// least at which every one is met for all of them, with the weights as they are; an end that was not
    /// found is null. It says what other flows would have; not how much the choice of weights gains from these.
    pub capacity_ci95: [Option<f64>; 2],
    /// Offered payload as a share of it.
    pub load: Option<f64>,
    /// Weights that do, by class (sum 1), where there are any.
    pub weights: Option<Vec<f64>>,
    /// Capacities tried.
    pub tried: usize,
}

/// Finds the least capacity of each of `strategies`; `precision` is how many
/// flows stand behind each SLI, in multiples of the least that it takes; `intervals` says whether to find those
/// of the capacities, which takes about as long as FIFO's capacity itself. Also returns what to say of flows
/// that are fewer, as no more than `most_flows` may run at once.
///
/// # Errors
/// Flows that cannot be made, or start so unevenly that so many are not what the specification says; a class
/// without an SLO.
pub fn provision(
    spec: &Spec,
    strategies: &[Strategy],
    precision: f64,
    most_flows: u64,
    intervals: bool,
    meter: &Meter,
) -> Result<(Vec<Provision>, Option<String>), SpecError> {
    let classes = spec.classes()?;
    if let Some(i) = classes.iter().position(|c| c.slo.is_none()) {
        let message = "is missing; provisioning needs the SLO of every class";
        return Err(SpecError::new(format!("classes[{i}].slo"), message));
    }
    if let Some(i) = spec.classes.iter().position(|c| c.trace.is_some()) {
        let message =
            "capacity is searched for drawn classes only; `fctlab fit` turns a trace into one";
        return Err(SpecError::new(format!("classes[{i}].trace"), message));
    }
    let flows = Flows::behind_slis(&classes, spec.seed, precision, most_flows)?;
    let alone = |s: &Strategy| *s != Strategy::Fifo && *s != Strategy::Priority;
    let own = if strategies.iter().any(alone) {
        Flows::of_each(&classes, spec.seed, precision, most_flows)?
    } else {
        Vec::new()
    };
    if let Some(why) = own.iter().chain([&flows]).find_map(Flows::cut_short) {
        return Err(SpecError::new("classes", why));
    }
    let fewer = fewer(&classes, &flows, precision)?;
    let offered: f64 = classes.iter().map(|c| c.rate_bps).sum();
    let needed = Load::of(spec, &classes).used * spec.network.link.bps() as f64;
    let base = Candidate::of(spec, &classes);
    let each = strategies.par_iter().map(|&strategy| {
        if strategy == Strategy::Static {
            return each_alone(&base, &own, intervals, meter);
        }
        let mut warm: Option<Vec<f64>> = None;
        let mut balance = Balance::of(classes.len());
        let mut meets = |bps: f64| -> Option<Option<Vec<f64>>> {
            let candidate = base.at_rate(bps);
            let simple = |sharing| {
                let losses = shared(&candidate, sharing).losses(&flows, meter);
                losses.iter().all(|l| *l < 0.0).then_some(None)
            };
            match strategy {
                Strategy::Fifo => simple(Sharing::One),
                Strategy::Priority => simple(Sharing::Priority),
                Strategy::Static => unreachable!("each class by itself"),
                Strategy::Weights | Strategy::WeightsFq => {
                    let inside = match strategy {
                        Strategy::Weights => Inside::Fifo,
                        _ => Inside::Fq,
                    };
                    let start = warm.take().unwrap_or_else(|| {
                        let shares =
                            baselines(&candidate.with_weights(&[1.0], inside), &own, meter);
                        shares.into_iter().map(|s| s.unwrap_or(1.0)).collect()
                    });
                    let best = balance.search(&start, ROUNDS, Until::Met, |w| {
                        candidate.with_weights(w, inside).losses(&flows, meter)
                    });
                    warm = Some(best.weights.clone());
                    (best.worst() < 0.0).then_some(Some(best.weights))
                }
            }
        };
        let mut found = least(strategy, (offered, needed), &mut meets, meter);
        let served = match (strategy, &found.weights) {
            (Strategy::WeightsFq, Some(weights)) => base.with_weights(weights, Inside::Fq),
            (_, Some(weights)) => base.with_weights(weights, Inside::Fifo),
            (Strategy::Priority, _) => shared(&base, Sharing::Priority),
            _ => shared(&base, Sharing::One),
        };
        if intervals {
            found.find_interval(&served, needed, &flows, meter);
        }
        found
    });
    Ok((each.collect(), fewer))
}

/// What to say of flows that are fewer than `precision` asks for.
fn fewer(classes: &[Class], flows: &Flows, precision: f64) -> Result<Option<String>, SpecError> {
    let needed = horizon(classes, precision)?.as_secs_f64();
    let share = flows.until().as_secs_f64() / needed;
    Ok((share < 0.99).then(|| {
        format!(
            "capacities rest on {} flows, as many as may run: {:.2} times what verdicts take",
            flows.len(),
            share * precision
        )
    }))
}

/// A candidate whose link serves classes so, without weights.
fn shared<'a>(candidate: &Candidate<'a>, sharing: Sharing) -> Candidate<'a> {
    let mut candidate = candidate.clone();
    candidate.discipline = Discipline {
        sharing,
        inside: Inside::Fifo,
        always_backlogged: 0.0,
    };
    candidate
}

/// Where between `near` and `far` something begins that is so at `far`, to [`TOLERANCE`].
fn bisect(mut near: f64, mut far: f64, meter: &Meter, mut is_so: impl FnMut(f64) -> bool) -> f64 {
    while (near / far).ln().abs() > TOLERANCE && !meter.stopped() {
        let middle = (near * far).sqrt();
        if is_so(middle) {
            far = middle
        } else {
            near = middle
        }
    }
    far
}

impl Provision {
    /// The interval of the capacity with which `served` was found to do.
    fn find_interval(&mut self, served: &Candidate, needed: f64, flows: &Flows, meter: &Meter) {
        let Some(capacity) = self.capacity_bps else {
            return;
        };
        let mut tried = 0;
        let mut decided = |bps: f64| {
            tried += 1;
            let classes = served.classes;
            let estimates = served
                .at_rate(bps)
                .run(flows, meter)
                .estimates(classes, ONCE);
            let each = classes.iter().zip(&estimates);
            let each = each.filter_map(|(class, found)| {
                let intervals: Vec<_> = found.iter().map(|e| e.ci95).collect();
                Some(class.slo.as_ref()?.decide(&intervals))
            });
            let each: Vec<_> = each.collect();
            (
                each.contains(&Some(false)),
                each.iter().all(|d| *d == Some(true)),
            )
        };
        let low = bisect(capacity, needed, meter, |bps| decided(bps).0);
        let mut beyond = capacity;
        let mut met = false;
        while !met && beyond < 4.0 * capacity && !meter.stopped() {
            beyond *= 1.2;
            met = decided(beyond).1;
        }
        let high = met.then(|| bisect(capacity, beyond, meter, |bps| decided(bps).1));
        self.capacity_ci95 = [Some(low), high];
        self.tried += tried;
    }
}

/// The sum of what each class needs on a link of its own.
fn each_alone(base: &Candidate, own: &[Flows], intervals: bool, meter: &Meter) -> Provision {
    let alone = |(k, flows): (usize, &Flows)| {
        let mut candidate = shared(base, Sharing::One);
        candidate.classes = &base.classes[k..=k];
        let mut meets = |bps: f64| {
            let losses = candidate.at_rate(bps).losses(flows, meter);
            (losses[0] < 0.0).then_some(None)
        };
        let class = &candidate.classes[0];
        let offered = class.rate_bps;
        let needed = offered * class.wire.per_byte;
        let mut found = least(Strategy::Static, (offered, needed), &mut meets, meter);
        if intervals {
            found.find_interval(&candidate, needed, flows, meter);
        }
        found
    };
    let found: Vec<Provision> = own.par_iter().enumerate().map(alone).collect();
    let capacities: Option<Vec<f64>> = found.iter().map(|p| p.capacity_bps).collect();
    let total = capacities.as_ref().map(|c| c.iter().sum::<f64>());
    let offered: f64 = base.classes.iter().map(|c| c.rate_bps).sum();
    Provision {
        strategy: Strategy::Static,
        capacity_bps: total,
        // As if all were at the same end at once: wider than it has to be.
        capacity_ci95: [0, 1].map(|end| found.iter().map(|p| p.capacity_ci95[end]).sum()),
        load: total.map(|t| offered / t),
        weights: capacities.map(|c| normalized(&c)),
        tried: found.iter().map(|p| p.tried).sum(),
    }
}

/// Bisection; a strategy that meets every SLO at some capacity is taken to do so at every larger one.
fn least(
    strategy: Strategy,
    (offered, needed): (f64, f64),
    meets: &mut impl FnMut(f64) -> Option<Option<Vec<f64>>>,
    meter: &Meter,
) -> Provision {
    let mut tried = 0;
    // At `needed` the link is overloaded, whatever the flows at hand say.
    let (mut low, mut high) = (needed, offered / 0.4);
    let mut found = None;
    while !meter.stopped() {
        tried += 1;
        match meets(high) {
            Some(weights) => {
                found = Some(weights);
                break;
            }
            None if high > MOST * offered => break,
            None => {
                low = high;
                high *= 1.6;
            }
        }
    }
    while found.is_some() && high / low > 1.0 + TOLERANCE && !meter.stopped() {
        let middle = (low * high).sqrt();
        tried += 1;
        match meets(middle) {
            Some(weights) => {
                high = middle;
                found = Some(weights);
            }
            None => low = middle,
        }
    }
    Provision {
        strategy,
        capacity_bps: found.as_ref().map(|_| high),
        capacity_ci95: [None, None],
        load: found.as_ref().map(|_| offered / high),
        weights: found.flatten(),
        tried,
    }
}
