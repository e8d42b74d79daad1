//! `plan`: weights that meet every SLO, how safe they are, and what would break them.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fctlab_core::{Rate, SpecError};
use fctlab_workload::ArrivalsSpec;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::evaluate::{Candidate, Meter};
use crate::flows::{Flows, MOST_FLOWS, horizon, seconds, span};
use crate::limit::Limit;
use crate::look::{Look, Looked, MOST_SEEN, Named};
use crate::optimize::{
    BALANCED, Balance, Trial, Until, algorithm_1, baselines, compass, least_worst, normalized,
    on_grid, search_grid,
};
use crate::predict::{ClassFound, Verdict, first_span_s};
use crate::spec::{Class, ClassSpec, Spec};

/// Rounds of algorithm 1, of the search on few flows, and on many.
const ROUNDS: (usize, usize, usize) = (20, 16, 4);
/// Flows behind each SLI while searching, and in the what-ifs, in multiples of the least that a
/// verdict takes: baselines, algorithm 1 and the first search need the way, not the place.
const COARSE: (f64, f64) = (0.3, 1.0);
/// Rounds in which moves of single classes are tried, and the factor of the first ones (as a logarithm): on
/// few flows and on many.
const TRIED: [(usize, f64); 2] = [(8, 0.7), (3, 0.2)];
/// Steps on the grid.
const GRID_ROUNDS: usize = 4;
/// How far loads and sigmas are off in the what-ifs.
const OFF: [(&str, f64); 2] = [("+20%", 1.2), ("-20%", 0.8)];

/// Weights and how they were found.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Whether every SLO is met with the integer weights. Otherwise none were found that do; there may be some.
    pub success: bool,
    /// The same with intervals taken into account, for all classes together.
    pub verdict: Verdict,
    /// Integer weights, by class.
    pub weights: Vec<u32>,
    /// The classes as predicted with them, on flows that they were not chosen on, where there are
    /// others (of traces there are none).
    pub classes: Vec<ClassFound>,
    /// The least share of the link with which each meets its SLO against others
    /// that are always backlogged; null where the whole link does not do.
    pub baselines: Vec<Option<f64>>,
    /// How far the worst class is on the right side, as a share of its threshold.
    pub margin: f64,
    /// The class that has it.
    pub binding: String,
    /// What algorithm 1 of the paper comes to.
    pub algorithm_1: Search,
    /// What the search comes to, before rounding.
    pub search: Search,
    /// Integer weights from which the best were chosen, all on the same flows.
    pub compared: Vec<Compared>,
    /// Flows behind the verdict.
    pub flows: u64,
    /// What happens when a class's forecast is off, the worst first.
    pub off_forecast: Vec<OffForecast>,
}

/// The end of a search.
#[derive(Clone, Debug, Serialize)]
pub struct Search {
    /// Whether every loss is negative.
    pub success: bool,
    /// Runs of the model.
    pub rounds: usize,
    /// Weights that sum to 1.
    pub weights: Vec<f64>,
    /// The largest loss.
    pub worst_loss: f64,
}

/// Integer weights among others, on the same flows.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Whose: `search`, `algorithm 1`, `equal weights`, or `step` after those.
    pub name: &'static str,
    /// By class.
    pub weights: Vec<u32>,
    /// The largest loss.
    pub worst_loss: f64,
}

/// A forecast that is off.
#[derive(Clone, Debug, Serialize)]
pub struct OffForecast {
    /// Whose.
    pub class: String,
    /// What: `load` or `sigma`.
    pub what: &'static str,
    /// By how much.
    pub change: &'static str,
    /// The largest loss then; null when the link is overloaded.
    pub worst_loss: Option<f64>,
    /// Classes whose SLO is then violated.
    pub broken: Vec<String>,
    /// Why its flows say little, where their number ended them early.
    pub cut_short: Option<String>,
}

/// Finds weights for `spec`, whose own weights are ignored; no run and no verdict has more flows than
/// `limit` says.
///
/// # Errors
/// Flows that cannot be made; a queue without weights.
pub fn plan(spec: &Spec, value: &Value, limit: &Limit, meter: &Meter) -> Result<Plan, SpecError> {
    let classes = spec.classes()?;
    let candidate = Candidate::of(spec, &classes);
    let (searched, limit) = searched(spec, &candidate, limit, meter)?;
    let at_once = limit.flows(MOST_FLOWS, &classes, at_once(&classes));
    let look = Look {
        candidate: &candidate,
        inside: candidate.discipline.inside,
        seed: spec.seed,
        meter,
    };
    let named = |name, weights: &[f64]| Named {
        name,
        grid: on_grid(weights),
    };
    let candidates = vec![
        Named {
            name: "search",
            grid: searched.grid,
        },
        named("algorithm 1", &searched.by_paper.weights),
        named("equal weights", &vec![1.0; classes.len()]),
    ];
    let per_s: f64 = classes.iter().map(|c| c.flows_per_s).sum();
    let flows = &searched.flows;
    let looked = if per_s > 0.0 {
        let most = limit.flows(MOST_SEEN, &classes, 1);
        look.afresh(candidates, &searched.balance, flows.until(), most)?
    } else {
        look.at(candidates, flows)? // Of traces there are no others.
    };
    let Looked {
        grid,
        judged,
        compared,
    } = looked;
    let (verdict, worst) = (judged.verdict(), judged.trial.worst());
    let compared = compared.into_iter().map(|(named, trial)| Compared {
        name: named.name,
        weights: named.grid,
        worst_loss: trial.worst(),
    });
    Ok(Plan {
        success: worst < 0.0 && verdict != Verdict::Violated,
        verdict,
        weights: grid,
        margin: -worst,
        binding: classes[judged.trial.binding()].name.clone(),
        baselines: searched.baselines,
        algorithm_1: Search {
            success: searched.success,
            rounds: searched.paper_rounds,
            worst_loss: searched.by_paper.worst(),
            weights: searched.by_paper.weights,
        },
        search: Search {
            success: searched.best.worst() < 0.0,
            rounds: searched.rounds,
            worst_loss: searched.best.worst(),
            weights: searched.best.weights,
        },
        compared: compared.collect(),
        off_forecast: off_forecast(spec, value, &judged.trial, at_once, meter)?,
        flows: judged.flows,
        classes: judged.classes,
    })
}

/// The integer weights that [`plan`]'s search comes to, judged on no other flows: a candidate for those
/// who judge on flows of their own.
///
/// # Errors
/// As [`plan`]'s.
pub fn weights(spec: &Spec, limit: &Limit, meter: &Meter) -> Result<Vec<u32>, SpecError> {
    let classes = spec.classes()?;
    let candidate = Candidate::of(spec, &classes);
    Ok(searched(spec, &candidate, limit, meter)?.0.grid)
}

/// Candidates whose losses are found at once.
fn at_once(classes: &[Class]) -> usize {
    2 * classes.len()
}

/// The search for `spec`, and the limit beside what traces take.
fn searched(
    spec: &Spec,
    candidate: &Candidate,
    limit: &Limit,
    meter: &Meter,
) -> Result<(Searched, Limit), SpecError> {
    let classes = candidate.classes;
    if !spec.queue.is_weighted() {
        let message = format!(
            "{:?} has no weights to plan; write wfq, drr or wrr",
            spec.queue.kind()
        );
        return Err(SpecError::new("queue", message));
    }
    if classes.iter().all(|c| c.slo.is_none()) {
        let message = "have no SLO; a plan needs one of at least one class";
        return Err(SpecError::new("classes", message));
    }
    let limit = limit.beside_traces(classes, at_once(classes))?;
    let most = limit.flows(MOST_FLOWS, classes, at_once(classes));
    Ok((search(candidate, spec.seed, most, meter)?, limit))
}

/// What the search found, and the flows that its last steps ran.
struct Searched {
    baselines: Vec<Option<f64>>,
    by_paper: Trial,
    paper_rounds: usize,
    success: bool,
    best: Trial,
    rounds: usize,
    grid: Vec<u32>,
    balance: Balance,
    flows: Flows,
}

/// Weights by algorithm 1 and by the search, on few flows, then on many.
fn search(
    candidate: &Candidate,
    seed: u64,
    most_flows: u64,
    meter: &Meter,
) -> Result<Searched, SpecError> {
    let (classes, inside) = (candidate.classes, candidate.discipline.inside);
    let rounds = AtomicUsize::new(0);
    let losses = |flows: &Flows, weights: &[f64]| {
        rounds.fetch_add(1, Ordering::Relaxed);
        candidate.with_weights(weights, inside).losses(flows, meter)
    };
    let trial = |flows: &Flows, weights: &[f64]| Trial {
        losses: losses(flows, weights),
        weights: weights.to_vec(),
    };
    let coarse = Flows::behind_slis(classes, seed, COARSE.0, most_flows)?;
    let own = Flows::of_each(classes, seed, COARSE.0, most_flows)?;
    let baselines = baselines(candidate, &own, meter);
    // A class without an SLO begins with what it offers.
    let link_bps = candidate.link.rate.bps() as f64;
    let start = classes
        .iter()
        .zip(&baselines)
        .map(|(class, least)| match class.slo {
            Some(_) => least.unwrap_or(1.0),
            None => (class.rate_bps / link_bps).clamp(0.01, 1.0),
        });
    let start: Vec<f64> = start.collect();
    let (trials, success) = algorithm_1(&start, ROUNDS.0, |w| losses(&coarse, w));
    let paper_rounds = trials.len();
    let unknown = || Trial {
        weights: normalized(&start),
        losses: vec![f64::INFINITY; start.len()],
    };
    let by_paper = least_worst(trials).unwrap_or_else(unknown);
    let equal = normalized(&vec![1.0; classes.len()]);
    rounds.store(0, Ordering::Relaxed);

    let mut balance = Balance::of(classes.len());
    let mut best = by_paper.clone();
    // On few flows from afar, then on many.
    let until = seconds(first_span_s(classes, most_flows as f64)?);
    let flows = Flows::at_most(classes, seed, until, most_flows)?;
    let stages = [(&coarse, ROUNDS.1), (&flows, ROUNDS.2)];
    for ((flows, balanced), (tried, step)) in stages.into_iter().zip(TRIED) {
        let until = Until::Balanced(BALANCED);
        let found = balance.search(&best.weights, balanced, until, |w| losses(flows, w));
        let others = [&by_paper.weights, &equal].map(|weights| trial(flows, weights));
        best = least_worst([found].into_iter().chain(others)).unwrap_or(best);
        best = compass(best, step, tried, |w| losses(flows, w));
    }
    let mut grid = on_grid(&best.weights);
    let weights: Vec<f64> = grid.iter().map(|&g| f64::from(g)).collect();
    if trial(&flows, &weights).worst() > best.worst() + BALANCED / 2.0 {
        grid = search_grid(grid, GRID_ROUNDS, |w| losses(&flows, w)).0;
    }
    Ok(Searched {
        baselines,
        by_paper,
        paper_rounds,
        success,
        best,
        rounds: rounds.into_inner(),
        grid,
        balance,
        flows,
    })
}

/// Multiplies a class's load or sigma, the other staying as it is; false where it has none.
fn scale(value: &mut Value, class: &ClassSpec, what: &str, factor: f64) -> bool {
    let mu = class.interarrivals.as_ref().and_then(|a| a.mu);
    let sigma = match class.interarrivals.as_ref().map(|a| &a.process) {
        Some(ArrivalsSpec::Lognormal(process)) => Some(process.sigma),
        _ => None,
    };
    match (what, sigma) {
        ("load", _) => {
            if let Some(load) = class.load {
                value["load"] = json!(load * factor);
            } else if let Some(rate) = class.rate {
                let scaled = Rate::from_bps((rate.bps() as f64 * factor).round() as u64);
                value["rate"] = json!(scaled);
            } else if let Some(mu) = mu {
                value["interarrivals"]["mu"] = json!(mu - factor.ln());
            } else if let Some(period) = class.repeat {
                value["repeat"] = json!(seconds(period.as_secs_f64() / factor));
            } else {
                return false;
            }
        }
        (_, Some(sigma)) => {
            value["interarrivals"] = json!(class.interarrivals);
            value["interarrivals"]["sigma"] = json!(sigma * factor);
            if let Some(mu) = mu {
                // The mean gap is exp(mu + sigma^2 / 2).
                let mean = mu + sigma * sigma / 2.0;
                value["interarrivals"]["mu"] = json!(mean - (sigma * factor).powi(2) / 2.0);
            }
        }
        _ => return false,
    }
    true
}

/// Each class's load and sigma, off by 20% either way.
///
/// What `judged` says of the forecast rests on many more flows than there are here, so only what the
/// change adds is from these: the same draws run with and without it.
fn off_forecast(
    spec: &Spec,
    value: &Value,
    judged: &Trial,
    most_flows: u64,
    meter: &Meter,
) -> Result<Vec<OffForecast>, SpecError> {
    let classes = spec.classes()?;
    let until = horizon(&classes, COARSE.1)?;
    let losses = |spec: &Spec, classes: &[Class]| {
        let until = until.min(span(classes, most_flows));
        let flows = Flows::at_most(classes, spec.seed, until, most_flows)?;
        let candidate = Candidate::of(spec, classes);
        let inside = candidate.discipline.inside;
        let weighted = candidate.with_weights(&judged.weights, inside);
        let cut_short = flows.cut_short().map(str::to_owned);
        Ok((weighted.losses(&flows, meter), cut_short))
    };
    let (unchanged, _) = losses(spec, &classes)?;
    let mut cases = Vec::new();
    for (i, class) in spec.classes.iter().enumerate() {
        for (change, factor) in OFF {
            for what in ["load", "sigma"] {
                let mut value = value.clone();
                if scale(&mut value["classes"][i], class, what, factor) {
                    cases.push((i, what, change, value));
                }
            }
        }
    }
    let results = cases.par_iter().map(|(i, what, change, value)| {
        let mut found = OffForecast {
            class: spec.classes[*i].name.clone(),
            what,
            change,
            worst_loss: None,
            broken: Vec::new(),
            cut_short: None,
        };
        // File names in `value` are absolute. The only mistake left is too high a load.
        let changed = match Spec::read(value.clone(), Path::new("")) {
            Ok(changed) => changed,
            Err(_) => {
                found.broken = spec.classes.iter().map(|c| c.name.clone()).collect();
                return Ok(found);
            }
        };
        let classes: Vec<Class> = changed.classes()?;
        let (mut losses, cut_short) = losses(&changed, &classes)?;
        found.cut_short = cut_short;
        let forecast = judged.losses.iter().zip(&unchanged);
        for (loss, (judged, unchanged)) in losses.iter_mut().zip(forecast) {
            let added = *loss - unchanged;
            if added.is_finite() {
                *loss = judged + added;
            }
        }
        let names = classes.iter().zip(&losses).filter(|(_, l)| **l >= 0.0);
        found.broken = names.map(|(c, _)| c.name.clone()).collect();
        found.worst_loss = Some(losses.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        Ok(found)
    });
    let results: Vec<_> = results.collect();
    let mut found = results.into_iter().collect::<Result<Vec<_>, SpecError>>()?;
    let key = |o: &OffForecast| o.worst_loss.unwrap_or(f64::INFINITY);
    found.sort_by(|a, b| key(b).total_cmp(&key(a)));
    Ok(found)
}
