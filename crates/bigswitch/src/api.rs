//! Everything with JSON on both sides, for the binding.

use std::time::Instant;

use fctlab_core::{SpecError, spec};
use rand::RngExt;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::families::{self, Tight};
use crate::instance::{Burst, Flow, Instance};
use crate::metrics::{Metric, Metrics};
use crate::optimum::{self, Method};
use crate::policies::{Policy, PolicySpec};
use crate::schedule::stretches;
use crate::theorems::{self, Theorem2};
use crate::worst::{self, Shape};

/// A question, told apart by its key `ask`.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
enum Question {
    Run {
        instance: Value,
        policy: Value,
        #[serde(default)]
        schedule: bool,
    },
    Optimum {
        instance: Value,
        #[serde(default)]
        metric: Metric,
        #[serde(default)]
        method: Option<Method>,
        #[serde(default)]
        schedule: bool,
    },
    Validate {
        instance: Value,
    },
    Policies {},
    Figure {
        number: u32,
    },
    Theorem1 {
        policy: Value,
        n: u32,
        stream: u32,
    },
    Theorem2 {
        shape: Shape,
        instances: u64,
        seed: u64,
    },
    Theorem3 {
        n: u32,
        factor: u32,
    },
    Theorem6 {
        n: u32,
        factor: u32,
        thresholds: Vec<u32>,
    },
    Theorem8 {
        shape: Shape,
        policy: Value,
        instances: u64,
        seed: u64,
    },
    Random {
        shape: Shape,
        policies: Vec<Value>,
        #[serde(default)]
        metric: Metric,
        instances: u64,
        seed: u64,
    },
    Search {
        shape: Shape,
        policy: Value,
        #[serde(default)]
        metric: Metric,
        #[serde(default)]
        objective: Objective,
        steps: u64,
        seed: u64,
        start: Option<Value>,
    },
    Family {
        family: Tight,
        n: u32,
    },
    Residual {
        instance: Value,
        policy: Value,
    },
    Speed {
        policy: Value,
        packets: u32,
        spread: bool,
        seed: u64,
    },
}

/// What a search makes large.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Objective {
    /// The policy over the optimum.
    #[default]
    Ratio,
    /// The optimum of GA's residual flows over the optimum: the second step of theorem 8.
    ResidualOptimum,
}

/// Answers a question.
///
/// # Errors
/// A mistake in it, with its path.
pub fn answer(question: Value) -> Result<Value, SpecError> {
    match spec::read(question)? {
        Question::Run {
            instance,
            policy,
            schedule,
        } => run(instance, policy, schedule),
        Question::Optimum {
            instance,
            metric,
            method,
            schedule,
        } => optimal(instance, metric, method, schedule),
        Question::Validate { instance } => Ok(describe(&read_instance(instance)?)),
        Question::Policies {} => Ok(json!(PolicySpec::catalog())),
        Question::Figure { number } if (1..=3).contains(&number) => {
            Ok(families::figure(number).to_json())
        }
        Question::Figure { number } => Err(SpecError::new(
            "number",
            format!("{number} is not 1, 2 or 3"),
        )),
        Question::Theorem1 { policy, n, stream } => {
            let (instance, found) = families::theorem1(&read_policy(policy)?, n, stream)?;
            let mut value = json!(found);
            if instance.flows.len() <= MOST_SHOWN {
                value["instance"] = instance.to_json();
            }
            Ok(value)
        }
        Question::Theorem2 {
            shape,
            instances,
            seed,
        } => theorem2(&shape, instances, seed),
        Question::Theorem3 { n, factor } => Ok(families::theorem3(n, factor)?.to_json()),
        Question::Theorem6 {
            n,
            factor,
            thresholds,
        } => {
            let last = thresholds.last().copied().unwrap_or(1);
            Ok(families::theorem6(n, factor, last)?.to_json())
        }
        Question::Theorem8 {
            shape,
            policy,
            instances,
            seed,
        } => theorem8(&shape, policy, instances, seed),
        Question::Random {
            shape,
            policies,
            metric,
            instances,
            seed,
        } => random_ratios(&shape, policies, metric, instances, seed),
        Question::Search {
            shape,
            policy,
            metric,
            objective,
            steps,
            seed,
            start,
        } => {
            let start = start.map(read_instance).transpose()?;
            search(
                &shape,
                &read_policy(policy)?,
                metric,
                objective,
                steps,
                seed,
                start,
            )
        }
        Question::Family { family, n } => {
            let (instance, order) = families::tight(family, n)?;
            Ok(json!({"instance": instance.to_json(), "order": order}))
        }
        Question::Residual { instance, policy } => {
            Ok(theorems::residual(&read_instance(instance)?, &read_policy(policy)?).to_json())
        }
        Question::Speed {
            policy,
            packets,
            spread,
            seed,
        } => speed(policy, packets, spread, seed),
    }
}

/// A policy on an instance, with the schedule if wanted.
fn run(instance: Value, policy: Value, schedule: bool) -> Result<Value, SpecError> {
    let instance = read_instance(instance)?;
    let policy = read_policy(policy)?;
    policy.fits(&instance).map_err(|e| e.under("policy"))?;
    let mut sent = Vec::new();
    let begin = Instant::now();
    let ends = if schedule {
        policy.run(&instance, |slot, flow| sent.push((slot, flow)))
    } else {
        policy.ends(&instance)
    };
    let wall_s = begin.elapsed().as_secs_f64();
    Ok(json!({
        "ends": ends,
        "metrics": Metrics::new(&instance, &ends),
        "packets": instance.packets(),
        "schedule": schedule.then(|| stretches(&sent)),
        "wall_s": wall_s,
    }))
}

/// The least metric of an instance, with a schedule if wanted and found.
fn optimal(
    instance: Value,
    metric: Metric,
    method: Option<Method>,
    schedule: bool,
) -> Result<Value, SpecError> {
    let instance = read_instance(instance)?;
    let found = match method {
        Some(method) => optimum::by(&instance, metric, method, schedule)?,
        None => optimum::first(&instance, metric, schedule),
    };
    let mut value = json!(found);
    if let Some(sent) = &found.schedule {
        let mut ends = vec![0; instance.flows.len()];
        sent.iter()
            .for_each(|&(slot, flow)| ends[flow as usize] = slot);
        value["ends"] = json!(ends);
        value["metrics"] = json!(Metrics::new(&instance, &ends));
        value["schedule"] = json!(stretches(sent));
    }
    Ok(value)
}

/// Schedules whose FPT is not their FCT, counted from packets, plus what the proof says, and pairs that
/// the two rank differently, on random instances.
fn theorem2(shape: &Shape, instances: u64, seed: u64) -> Result<Value, SpecError> {
    shape.check().map_err(|e| e.under("shape"))?;
    let rng = &mut shape.rng(seed);
    let (mut pairs, mut violations) = (0u64, 0u64);
    let policies = theorems::every_policy();
    for _ in 0..instances {
        let instance = worst::random(rng, shape);
        let found: Vec<_> = policies
            .iter()
            .map(|policy| Theorem2::of(&instance, policy))
            .collect();
        for (i, a) in found.iter().enumerate() {
            pairs += i as u64;
            violations += u64::from(!a.holds());
            violations += found[..i].iter().filter(|b| !a.same_order(b)).count() as u64;
        }
    }
    Ok(json!({"instances": instances, "pairs": pairs, "violations": violations}))
}

/// The steps in the proof of theorem 8 on random instances, and their worst.
fn theorem8(shape: &Shape, policy: Value, instances: u64, seed: u64) -> Result<Value, SpecError> {
    shape.check().map_err(|e| e.under("shape"))?;
    let policy = read_policy(policy)?;
    let rng = &mut shape.rng(seed);
    let (mut tried, mut different, mut violations) = (0u64, 0u64, 0u64);
    let mut step: Option<(f64, Instance)> = None;
    let mut whole: Option<(f64, Instance)> = None;
    for _ in 0..instances {
        let instance = worst::random(rng, shape);
        let Some(found) = theorems::theorem8(&instance, &policy, Metric::Fpt)? else {
            continue;
        };
        tried += 1;
        different += u64::from(!found.same_schedule());
        violations += u64::from(!found.at_most(3));
        let best = found.optimum as f64;
        keep_larger(&mut step, found.residual_optimum as f64 / best, &instance);
        keep_larger(&mut whole, found.ga as f64 / best, &instance);
    }
    let shown = |found: Option<(f64, Instance)>| {
        found.map(|(value, instance)| json!({"value": value, "instance": instance.to_json()}))
    };
    Ok(json!({
        "tried": tried,
        "different_schedules": different,
        "violations": violations,
        "residual_optimum": shown(step),
        "ratio": shown(whole),
    }))
}

/// Policies against the exact optimum, on random instances.
fn random_ratios(
    shape: &Shape,
    policies: Vec<Value>,
    metric: Metric,
    instances: u64,
    seed: u64,
) -> Result<Value, SpecError> {
    shape.check().map_err(|e| e.under("shape"))?;
    let policies = policies
        .into_iter()
        .map(read_policy)
        .collect::<Result<Vec<_>, _>>()?;
    let rng = &mut shape.rng(seed);
    let mut worst: Vec<Option<(f64, Instance)>> = vec![None; policies.len()];
    let mut sums = vec![0.0; policies.len()];
    let mut violations = vec![0u64; policies.len()];
    let mut tried = 0u64;
    for _ in 0..instances {
        let instance = worst::random(rng, shape);
        let best = optimum::optimum(&instance, metric);
        if !best.is_exact() {
            continue;
        }
        tried += 1;
        for (i, policy) in policies.iter().enumerate() {
            let value = metric.of(&instance, &policy.ends(&instance));
            let ratio = value as f64 / best.value as f64;
            sums[i] += ratio;
            violations[i] += u64::from(violates(&instance, policy, metric, value, best.value));
            keep_larger(&mut worst[i], ratio, &instance);
        }
    }
    let found = worst.into_iter().enumerate().map(|(i, worst)| {
        let (value, instance) = worst.unzip();
        json!({
            "worst": value,
            "mean": (tried > 0).then(|| sums[i] / tried as f64),
            "proven": proven_ratio(&policies[i], metric),
            "violations": violations[i],
            "instance": instance.map(|i| i.to_json()),
        })
    });
    Ok(json!({"tried": tried, "policies": found.collect::<Vec<_>>()}))
}

/// The worst instance for a policy that one annealing finds.
fn search(
    shape: &Shape,
    policy: &PolicySpec,
    metric: Metric,
    objective: Objective,
    steps: u64,
    seed: u64,
    start: Option<Instance>,
) -> Result<Value, SpecError> {
    shape.check().map_err(|e| e.under("shape"))?;
    if let (Objective::ResidualOptimum, false) = (objective, matches!(policy, PolicySpec::Ga(_))) {
        let message = format!("{:?} is not \"ga\"", policy.kind());
        return Err(SpecError::new("policy", message));
    }
    let mut violations = 0u64;
    let found = worst::anneal(shape, steps, seed, start, |instance| match objective {
        Objective::Ratio => {
            let (value, best) = theorems::ratio(instance, policy, metric)?;
            violations += u64::from(violates(instance, policy, metric, value, best));
            Some(value as f64 / best as f64)
        }
        Objective::ResidualOptimum => {
            let found = theorems::theorem8(instance, policy, metric).ok()??;
            violations += u64::from(!found.at_most(3) || !found.same_schedule());
            Some(found.residual_optimum as f64 / found.optimum as f64)
        }
    });
    Ok(json!({
        "value": found.value,
        "instance": found.instance.to_json(),
        "tried": found.tried,
        "proven": proven_ratio(policy, metric),
        "violations": violations,
    }))
}

/// How long a policy takes for a heavy load of one port.
fn speed(policy: Value, packets: u32, spread: bool, seed: u64) -> Result<Value, SpecError> {
    let policy = read_policy(policy)?;
    let instance = load(packets, spread, seed);
    let begin = Instant::now();
    let ends = policy.ends(&instance);
    let wall_s = begin.elapsed().as_secs_f64();
    Ok(json!({
        "packets": instance.packets(),
        "flows": instance.flows.len(),
        "slots": ends.iter().max(),
        "wall_s": wall_s,
    }))
}

/// Flows up to which an instance is shown in full.
const MOST_SHOWN: usize = 100_000;

fn read_instance(value: Value) -> Result<Instance, SpecError> {
    Instance::read(value)
}

fn read_policy(value: Value) -> Result<PolicySpec, SpecError> {
    PolicySpec::read(value).map_err(|e| e.under("policy"))
}

/// The proven bound of a policy on one port, if it is one in this metric.
fn proven_ratio(policy: &PolicySpec, metric: Metric) -> Option<u64> {
    theorems::proven(policy)
        .filter(|p| p.1 == metric)
        .map(|p| p.0)
}

/// Whether a theorem says that this cannot be.
fn violates(
    instance: &Instance,
    policy: &PolicySpec,
    metric: Metric,
    value: u64,
    best: u64,
) -> bool {
    instance.is_single_port()
        && proven_ratio(policy, metric).is_some_and(|factor| value > factor * best)
}

fn keep_larger(worst: &mut Option<(f64, Instance)>, value: f64, instance: &Instance) {
    if worst.as_ref().is_none_or(|w| value > w.0) {
        *worst = Some((value, instance.clone()));
    }
}

fn describe(instance: &Instance) -> Value {
    json!({
        "instance": instance.to_json(),
        "names": (0..instance.flows.len()).map(|f| instance.name(f)).collect::<Vec<_>>(),
        "sizes": instance.flows.iter().map(Flow::size).collect::<Vec<_>>(),
        "packets": instance.packets(),
        "single_port": instance.is_single_port(),
        "gapless": instance.is_gapless(),
    })
}

/// One port at load 0.95 with a heavy tail of sizes (mean about 75 packets, up to
/// 10,000), whose packets arrive at once, or one per slot.
fn load(packets: u32, spread: bool, seed: u64) -> Instance {
    let rng = &mut Shape::default().rng(seed);
    let mut flows = Vec::new();
    let (mut total, mut clock) = (0u32, 1.0);
    while total < packets {
        // Bounded Pareto with shape 0.8 from 5 packets.
        let u: f64 = rng.random();
        let size = ((5.0 * (1.0 - u).powf(-1.0 / 0.8)) as u32)
            .clamp(1, 10_000)
            .min(packets - total);
        let slot = clock as u32;
        let burst = |i| Burst {
            slot: slot + i,
            count: 1,
        };
        let bursts = if spread {
            (0..size).map(burst).collect()
        } else {
            vec![Burst { slot, count: size }]
        };
        flows.push(Flow {
            bursts,
            ..Flow::new([])
        });
        total += size;
        clock += f64::from(size) / 0.95 * 2.0 * rng.random::<f64>();
    }
    Instance::single(flows)
}
