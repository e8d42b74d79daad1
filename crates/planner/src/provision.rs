//! `provision`: the least capacity with which each strategy meets every SLO (swp, section 5.2).
//!
//! The same flows at every capacity; r_init follows the link, RTT, T and the
//! sizes that SLIs split at stay, and slowdowns are relative to the capacity in question.

use fctlab_core::SpecError;
use fctlab_link::Inside;
use fctlab_link::queues::{Discipline, Sharing};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::capacity::{Range, Search};
use crate::evaluate::{Candidate, Meter};
use crate::flows::{Flows, horizon};
use crate::optimize::normalized;
use crate::spec::load::Load;
use crate::spec::{Class, Spec};
use fctlab_workload::sli::ONCE;

/// How far a capacity may be above the least, as a share of it.
pub const TOLERANCE: f64 = 0.01;
/// Capacities beyond so many times the offered load are not tried.
const MOST: f64 = 64.0;
/// The search begins with so many of the flows.
const FEW: f64 = 0.2;
/// With them, it ends where steps become as small as this share.
const NEAR: f64 = 0.04;

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
/// Flows that cannot be made, or start so unevenly that so many are not what the specification says; no class
/// with an SLO; a trace that is not repeated.
pub fn provision(
    spec: &Spec,
    strategies: &[Strategy],
    precision: f64,
    most_flows: u64,
    intervals: bool,
    meter: &Meter,
) -> Result<(Vec<Provision>, Option<String>), SpecError> {
    let classes = spec.classes()?;
    if classes.iter().all(|c| c.slo.is_none()) {
        let message = "have no SLO; provisioning needs one";
        return Err(SpecError::new("classes", message));
    }
    if let Some(i) = classes.iter().position(|c| c.flows_per_s == 0.0) {
        let message = "is missing: a trace that ends is no load that a capacity could be found for";
        return Err(SpecError::new(format!("classes[{i}].repeat"), message));
    }
    let flows = Stages::of(precision, |precision| {
        Flows::behind_slis(&classes, spec.seed, precision, most_flows)
    })?;
    let alone = |s: &Strategy| *s != Strategy::Fifo && *s != Strategy::Priority;
    let own = if strategies.iter().any(alone) {
        Stages::of(precision, |precision| {
            Flows::of_each(&classes, spec.seed, precision, most_flows)
        })?
    } else {
        Stages {
            few: Vec::new(),
            all: Vec::new(),
        }
    };
    let cut_short = own.all.iter().chain([&flows.all]);
    if let Some(why) = cut_short.into_iter().find_map(Flows::cut_short) {
        return Err(SpecError::new("classes", why));
    }
    let fewer = fewer(&classes, &flows.all, precision)?;
    let alone = own.few.into_iter().zip(own.all).enumerate();
    let alone = alone.map(|(k, (few, all))| {
        let mut candidate = Candidate::of(spec, &classes);
        candidate.classes = &classes[k..=k];
        Asked {
            needed: classes[k].rate_bps * classes[k].wire.per_byte,
            candidate,
            flows: Stages { few, all },
            intervals,
            meter,
        }
    });
    let alone: Vec<Asked> = alone.collect();
    let together = Asked {
        needed: Load::of(spec, &classes).used * spec.network.link.bps() as f64,
        candidate: Candidate::of(spec, &classes),
        flows,
        intervals,
        meter,
    };
    // What each class needs by itself is where weights begin.
    let shares = alone
        .par_iter()
        .map(Asked::roughly_alone)
        .collect::<Vec<_>>();
    let each = strategies.par_iter().map(|&strategy| match strategy {
        Strategy::Static => {
            let each = alone.par_iter().zip(&shares);
            let each = each.map(|(asked, share)| asked.least(strategy, asked.search(*share)));
            sum(each.collect())
        }
        Strategy::Weights | Strategy::WeightsFq => {
            let search = Search::of_weights(together.range(), &shares);
            together.least(strategy, search)
        }
        Strategy::Fifo | Strategy::Priority => {
            let first = 2.0 * together.offered();
            together.least(strategy, together.search(first))
        }
    });
    Ok((each.collect(), fewer))
}

/// Flows to begin with, and all of them.
struct Stages<T> {
    few: T,
    all: T,
}

impl<T> Stages<T> {
    fn of(precision: f64, make: impl Fn(f64) -> Result<T, SpecError>) -> Result<Self, SpecError> {
        Ok(Stages {
            few: make(FEW * precision)?,
            all: make(precision)?,
        })
    }
}

/// Classes that share a link.
struct Asked<'a> {
    candidate: Candidate<'a>,
    /// The rate at which they overload it.
    needed: f64,
    flows: Stages<Flows>,
    intervals: bool,
    meter: &'a Meter,
}

impl Asked<'_> {
    fn offered(&self) -> f64 {
        self.candidate.classes.iter().map(|c| c.rate_bps).sum()
    }

    fn range(&self) -> Range {
        Range {
            overloaded: self.needed,
            most: MOST * self.offered(),
        }
    }

    fn search(&self, first: f64) -> Search {
        Search::of_capacity(self.range(), first)
    }

    /// Whether any of them has an SLO; without, all that they need is to be carried.
    fn has_slo(&self) -> bool {
        self.candidate.classes.iter().any(|c| c.slo.is_some())
    }

    /// About what they need in one queue.
    fn roughly_alone(&self) -> f64 {
        if !self.has_slo() {
            return self.needed;
        }
        let mut search = self.search(2.0 * self.offered());
        self.approach(Strategy::Fifo, &mut search)
    }

    fn approach(&self, strategy: Strategy, search: &mut Search) -> f64 {
        search.approach(NEAR, self.meter, |bps, weights| {
            let served = strategy.serve(&self.candidate.at_rate(bps), weights);
            served.losses(&self.flows.few, self.meter)
        })
    }

    fn least(&self, strategy: Strategy, mut search: Search) -> Provision {
        if !self.has_slo() {
            return Provision {
                strategy,
                capacity_bps: Some(self.needed),
                capacity_ci95: [Some(self.needed); 2],
                load: Some(self.offered() / self.needed),
                weights: None,
                tried: 0,
            };
        }
        self.approach(strategy, &mut search);
        let found = search.least(TOLERANCE, self.meter, |bps, weights| {
            let served = strategy.serve(&self.candidate.at_rate(bps), weights);
            served.losses(&self.flows.all, self.meter)
        });
        let mut provision = Provision {
            strategy,
            capacity_bps: found.as_ref().map(|met| met.capacity),
            capacity_ci95: [None, None],
            load: found.as_ref().map(|met| self.offered() / met.capacity),
            weights: found.map(|met| met.weights).filter(|w| !w.is_empty()),
            tried: search.tried,
        };
        if self.intervals {
            let weights = provision.weights.as_deref().unwrap_or_default();
            let served = strategy.serve(&self.candidate, weights);
            provision.find_interval(&served, self.needed, &self.flows.all, self.meter);
        }
        provision
    }
}

impl Strategy {
    /// A link that serves classes so.
    fn serve<'a>(self, candidate: &Candidate<'a>, weights: &[f64]) -> Candidate<'a> {
        let sharing = match self {
            Strategy::Weights => return candidate.with_weights(weights, Inside::Fifo),
            Strategy::WeightsFq => return candidate.with_weights(weights, Inside::Fq),
            Strategy::Priority => Sharing::Priority,
            Strategy::Fifo | Strategy::Static => Sharing::One,
        };
        let mut served = candidate.clone();
        served.discipline = Discipline {
            sharing,
            inside: Inside::Fifo,
            always_backlogged: 0.0,
        };
        served
    }
}

/// Links of their own, as one.
fn sum(each: Vec<Provision>) -> Provision {
    let capacities: Option<Vec<f64>> = each.iter().map(|p| p.capacity_bps).collect();
    let total = capacities.as_ref().map(|c| c.iter().sum::<f64>());
    let offered = each.iter().map(|p| Some(p.load? * p.capacity_bps?));
    let offered: Option<f64> = offered.sum();
    Provision {
        strategy: Strategy::Static,
        capacity_bps: total,
        // As if all were at the same end at once: wider than it has to be.
        capacity_ci95: [0, 1].map(|end| each.iter().map(|p| p.capacity_ci95[end]).sum()),
        load: offered.zip(total).map(|(offered, total)| offered / total),
        weights: capacities.map(|c| normalized(&c)),
        tried: each.iter().map(|p| p.tried).sum(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::seconds;
    use serde_json::json;

    #[test]
    fn fewer_flows_than_verdicts_take_are_told() {
        let value = json!({"network": {"link": "1Gbps", "rtt": "10us"},
            "classes": [{"name": "a", "flowsizes": "websearch", "load": 0.5,
                "slis": [{"name": "tail", "metric": "p99"}]}]});
        let spec = Spec::read(value, std::path::Path::new("")).unwrap();
        let classes = spec.classes().unwrap();
        let verdicts_take = horizon(&classes, 1.0).unwrap();
        let told = |share: f64, precision| {
            let until = seconds(share * verdicts_take.as_secs_f64());
            let flows = Flows::generate(&classes, 1, until).unwrap();
            fewer(&classes, &flows, precision).unwrap()
        };
        assert_eq!(told(1.0, 1.0), None);
        assert_eq!(told(3.0, 2.0), None);
        for (share, precision) in [(0.5, 1.0), (0.5, 4.0)] {
            let why = told(share, precision).unwrap();
            assert!(why.ends_with(": 0.50 times what verdicts take"), "{why}");
        }
    }
}
