//! `plan`: weights that meet every SLO, how safe they are, and what would break them.

use std::path::Path;

use fctlab_core::{Rate, SpecError};
use fctlab_workload::ArrivalsSpec;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::evaluate::{Candidate, Flows, MOST_FLOWS, Meter, horizon, seconds};
use crate::look::Look;
use crate::optimize::{
    BALANCED, Balance, Trial, Until, algorithm_1, baselines, normalized, on_grid, search_grid,
};
use crate::predict::{ClassFound, Verdict, first_span_s};
use crate::spec::{Class, ClassSpec, Spec};

/// Rounds of algorithm 1, of the search on few flows, and on many.
const ROUNDS: (usize, usize, usize) = (20, 16, 4);
/// Flows behind each SLI while searching, and in the what-ifs, in multiples of the least that a
/// verdict takes: baselines, algorithm 1 and the first search need the way, not the place.
const COARSE: (f64, f64) = (0.3, 1.0);
/// Steps on the grid.
const GRID_ROUNDS: usize = 4;
/// How far loads and sigmas are off in the what-ifs.
const OFF: [(&str, f64); 2] = [("+20%", 1.2), ("-20%", 0.8)];

/// Weights and how they were found.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Whether every SLO is met with the integer weights.
    pub success: bool,
    /// The same with intervals taken into account, for all classes together.
    pub verdict: Verdict,
    /// Integer weights, by class.
    pub weights: Vec<u32>,
    /// The classes as predicted with them, on flows that they were not chosen on, where there are
    /// others (of traces there are none) and any weights could do.
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
    /// What the integer weights add to the worst loss of those that the search came to, on its flows.
    pub rounding_cost: f64,
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
}

/// Finds weights for `spec`, whose own weights are ignored.
///
/// # Errors
/// Flows that cannot be made; a queue without weights.
pub fn plan(spec: &Spec, value: &Value, most_flows: u64, meter: &Meter) -> Result<Plan, SpecError> {
    let classes = spec.classes()?;
    if !spec.queue.is_weighted() {
        let message = format!(
            "{:?} has no weights to plan; write wfq, drr or wrr",
            spec.queue.kind()
        );
        return Err(SpecError::new("queue", message));
    }
    if let Some(i) = classes.iter().position(|c| c.slo.is_none()) {
        let message = "is missing; a plan needs the SLO of every class";
        return Err(SpecError::new(format!("classes[{i}].slo"), message));
    }
    let candidate = Candidate::of(spec, &classes);
    let inside = candidate.discipline.inside;
    let losses = |flows: &Flows, weights: &[f64]| {
        candidate.with_weights(weights, inside).losses(flows, meter)
    };

    let coarse = Flows::generate(&classes, spec.seed, horizon(&classes, COARSE.0)?)?;
    let own = Flows::of_each(&classes, spec.seed, COARSE.0)?;
    let baselines = baselines(&candidate, &own, meter);
    let start: Vec<f64> = baselines.iter().map(|b| b.unwrap_or(1.0)).collect();
    let (trials, success) = algorithm_1(&start, ROUNDS.0, |w| losses(&coarse, w));
    let by_paper = trials.iter().min_by(|a, b| a.worst().total_cmp(&b.worst()));
    let by_paper = by_paper.cloned().unwrap_or(Trial {
        weights: normalized(&start),
        losses: vec![f64::INFINITY; start.len()],
    });
    let mut rounds = 0;
    let mut balance = Balance::of(classes.len());
    let rough = balance.search(
        &by_paper.weights,
        ROUNDS.1,
        Until::Balanced(BALANCED),
        |w| {
            rounds += 1;
            losses(&coarse, w)
        },
    );

    let most = most_flows.min(MOST_FLOWS) as f64;
    let span = seconds(first_span_s(&classes, most)?);
    let flows = Flows::at_most(&classes, spec.seed, span, most as u64)?;
    let best = balance.search(&rough.weights, ROUNDS.2, Until::Balanced(BALANCED), |w| {
        rounds += 1;
        losses(&flows, w)
    });
    let look = Look {
        candidate: &candidate,
        inside,
        seed: spec.seed,
        meter,
    };
    let mut grid = on_grid(&best.weights);
    let mut judged = look.at(&grid, &flows);
    if judged.trial.worst() > best.worst() + BALANCED / 2.0 {
        grid = search_grid(grid, GRID_ROUNDS, |w| losses(&flows, w)).0;
        judged = look.at(&grid, &flows);
    }
    let (rounded, on_its_flows) = (grid.clone(), judged.trial.worst());

    let per_s: f64 = classes.iter().map(|c| c.flows_per_s).sum();
    let drawn = per_s > 0.0; // Of traces there are no others.
    if drawn {
        let each = flows.until();
        let spans = most_flows as f64 / (each.as_secs_f64() * per_s);
        (grid, judged) = match judged.is_hopeless() {
            true => look.last(grid, each, spans)?,
            false => look.afresh(grid, &balance, each, spans)?,
        };
    }
    let on_its_flows = match grid == rounded {
        true => on_its_flows,
        false => look.at(&grid, &flows).trial.worst(),
    };
    let rounding_cost = on_its_flows - best.worst();
    let (verdict, worst) = (judged.verdict(), judged.trial.worst());
    let binding = &classes[judged.trial.binding()];
    Ok(Plan {
        success: worst < 0.0 && verdict != Verdict::Violated,
        verdict,
        weights: grid,
        margin: -worst,
        binding: binding.name.clone(),
        baselines,
        algorithm_1: Search {
            success,
            rounds: trials.len(),
            worst_loss: by_paper.worst(),
            weights: by_paper.weights,
        },
        search: Search {
            success: best.worst() < 0.0,
            rounds,
            worst_loss: best.worst(),
            weights: best.weights.clone(),
        },
        rounding_cost,
        off_forecast: off_forecast(spec, value, &judged.trial, meter)?,
        classes: judged.classes,
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
    meter: &Meter,
) -> Result<Vec<OffForecast>, SpecError> {
    let classes = spec.classes()?;
    let until = horizon(&classes, COARSE.1)?;
    let losses = |spec: &Spec, classes: &[Class]| {
        let flows = Flows::generate(classes, spec.seed, until)?;
        let candidate = Candidate::of(spec, classes);
        let inside = candidate.discipline.inside;
        let weighted = candidate.with_weights(&judged.weights, inside);
        Ok(weighted.losses(&flows, meter))
    };
    let unchanged = losses(spec, &classes)?;
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
        let mut losses = losses(&changed, &classes)?;
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
