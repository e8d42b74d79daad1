//! One run of the model: flows and weights in, SLIs and losses out.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fctlab_core::{Duration, Rate, SpecError, Time};
use fctlab_link::model::LONGEST_STEP;
use fctlab_link::queues::{Discipline, Sharing};
use fctlab_link::{Control, Done, FlowList, Inside, Link, Setup, simulate};
use rayon::prelude::*;

use crate::sli::{Attr, BATCHES, Estimate, Sample};
use crate::spec::{Class, FctEnds, Spec};

/// Flows that a run may have at most.
pub const MOST_FLOWS: u64 = 40_000_000;

/// The longest time whose flows are simulated, in seconds; a clock of picoseconds goes little further.
pub const LONGEST_S: f64 = 1.8e7;

/// Flows that run by themselves at least: what the first of them do not find in the queue is
/// nothing to so many.
const PART: usize = 250_000;

/// What a question costs, and whether it goes on.
#[derive(Debug, Default)]
pub struct Meter {
    /// Runs of the model.
    pub evaluations: AtomicU64,
    /// Flows simulated.
    pub flows: AtomicU64,
    /// Set from outside to stop everything.
    pub stop: Arc<AtomicBool>,
}

impl Meter {
    /// Whether to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Flows of all classes over some time, made once.
#[derive(Clone, Debug)]
pub struct Flows {
    list: FlowList,
    until: Duration,
    cut_short: Option<String>,
}

impl Flows {
    /// The flows of `classes` that start before `until`.
    ///
    /// # Errors
    /// A trace or table that cannot be read; more than [`MOST_FLOWS`].
    pub fn generate(classes: &[Class], seed: u64, until: Duration) -> Result<Self, SpecError> {
        Flows::at_most(classes, seed, until, MOST_FLOWS)
    }

    /// The same, but not more than `most` drawn ones: then they are those that start first.
    ///
    /// # Errors
    /// As [`Flows::generate`].
    pub fn at_most(
        classes: &[Class],
        seed: u64,
        until: Duration,
        most: u64,
    ) -> Result<Self, SpecError> {
        let expected: f64 =
            classes.iter().map(|c| c.flows_per_s).sum::<f64>() * until.as_secs_f64();
        if !fits(expected) {
            let message = format!(
                "{expected:.3e} flows would be needed for the SLIs; at most {MOST_FLOWS} are simulated: \
                 widen the size range of the rarest, or lower its percentile"
            );
            return Err(SpecError::new("classes", message));
        }
        let traffic: Vec<_> = classes.iter().map(|c| c.traffic.clone()).collect();
        let list = FlowList::generate(&traffic, seed, Time::ZERO + until, most.min(MOST_FLOWS))?;
        // A trace may be over long before.
        let drawn = classes.iter().all(|c| c.flows_per_s > 0.0);
        let over = list.last_start().since(Time::ZERO) + Duration::from_ps(1);
        let is_whole = drawn && list.cut_at().is_none();
        let cut_short = cut_short(classes, &list, until);
        Ok(Flows {
            list,
            until: if is_whole { until } else { over },
            cut_short,
        })
    }

    /// Why these flows say little about the specification, where their number ended them early.
    pub fn cut_short(&self) -> Option<&str> {
        self.cut_short.as_deref()
    }

    /// Whether their number ended them.
    pub fn is_cut(&self) -> bool {
        self.list.cut_at().is_some()
    }

    /// The flows of each class by itself, over as long as [`horizon`] says for it.
    ///
    /// # Errors
    /// As [`Flows::generate`].
    pub fn of_each(classes: &[Class], seed: u64, factor: f64) -> Result<Vec<Self>, SpecError> {
        let own = classes.par_iter().map(|class| {
            let class = std::slice::from_ref(class);
            Flows::generate(class, seed, horizon(class, factor)?)
        });
        let own: Vec<_> = own.collect();
        own.into_iter().collect()
    }

    /// The time over which they start.
    pub fn until(&self) -> Duration {
        self.until
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.list.len() as u64
    }

    /// Parts that can run by themselves, in order of start.
    fn parts(&self) -> Vec<Range<usize>> {
        let flows = self.list.len();
        let parts = (flows / PART).max(1);
        let ends = |i: usize| flows * i / parts;
        (0..parts).map(|i| ends(i)..ends(i + 1)).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Flows that start in a smaller share of the time that so many take on average are not what the
/// specification says.
const AT_ONCE: f64 = 0.5;

/// What is wrong with a list that ended before `until` because it would be too long.
fn cut_short(classes: &[Class], list: &FlowList, until: Duration) -> Option<String> {
    let per_s: f64 = classes.iter().map(|c| c.flows_per_s).sum();
    let (cut_s, flows) = (list.cut_at()?.as_secs_f64(), list.len());
    let usual_s = (flows as f64 / per_s).min(until.as_secs_f64());
    if cut_s >= AT_ONCE * usual_s {
        return None;
    }
    // Whose flows are the most beyond those that it has on average.
    let beyond = |k: &usize| list.counts()[*k] as f64 - classes[*k].flows_per_s * cut_s;
    let most = (0..classes.len()).max_by(|a, b| beyond(a).total_cmp(&beyond(b)))?;
    Some(format!(
        "the first {flows} flows, as many as may run, start within {cut_s:.3e} s, where so many take \
         {usual_s:.3e} s on average: the gaps of {} are too uneven for a run of so few",
        classes[most].name
    ))
}

/// The time over which every SLI has at least `flows` flows for each that it
/// takes at least ([`crate::sli::SliSpec::least_flows`]).
///
/// # Errors
/// A time beyond [`LONGEST_S`].
pub fn horizon(classes: &[Class], factor: f64) -> Result<Duration, SpecError> {
    let mut longest = 1e-3_f64;
    for class in classes.iter().filter(|c| c.flows_per_s > 0.0) {
        for (sli, share) in class.slis.iter().zip(&class.shares) {
            let needed = factor * sli.least_flows() as f64;
            longest = longest.max(needed / (class.flows_per_s * share));
        }
    }
    if longest > LONGEST_S {
        let message = format!(
            "{longest:.3e} s would have to be simulated for the SLIs; at most {LONGEST_S:e} s are: \
             widen the size range of the rarest, or lower its percentile"
        );
        return Err(SpecError::new("classes", message));
    }
    Ok(seconds(longest))
}

/// A time of at most [`LONGEST_S`].
pub fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s.min(LONGEST_S)).unwrap_or_else(|| unreachable!("{s} s"))
}

/// Whether so many flows may be made: [`MOST_FLOWS`], or what that becomes as a time in
/// picoseconds and back.
fn fits(expected: f64) -> bool {
    expected <= MOST_FLOWS as f64 * (1.0 + 1e-6)
}

/// The time in which about `flows` flows start; of traces alone, all of them.
pub fn span(classes: &[Class], flows: u64) -> Duration {
    let per_s: f64 = classes.iter().map(|c| c.flows_per_s).sum();
    match per_s > 0.0 {
        true => seconds(flows as f64 / per_s),
        false => seconds(LONGEST_S),
    }
}

/// A link, its discipline, and the classes that use it: one candidate.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// The classes.
    pub classes: &'a [Class],
    /// The bottleneck.
    pub link: Link,
    /// How flows send.
    pub control: &'a Control,
    /// How the bottleneck serves classes.
    pub discipline: Discipline,
    /// Where FCTs end.
    pub fct_ends: FctEnds,
}

/// What a run found, by class and SLI.
#[derive(Clone, Debug)]
pub struct Found {
    samples: Vec<Vec<Sample>>,
}

impl<'a> Candidate<'a> {
    /// The specification as it stands.
    pub fn of(spec: &'a Spec, classes: &'a [Class]) -> Self {
        Candidate {
            classes,
            link: spec.link(),
            control: &spec.cc,
            discipline: spec.queue.discipline(&spec.weights()),
            fct_ends: spec.network.fct_ends,
        }
    }

    /// The same on a link of another rate.
    pub fn at_rate(&self, bps: f64) -> Self {
        let mut other = self.clone();
        other.link.rate = Rate::from_bps(bps.round() as u64);
        other
    }

    /// The same with weighted queues.
    pub fn with_weights(&self, weights: &[f64], inside: Inside) -> Self {
        let mut other = self.clone();
        other.discipline = Discipline {
            sharing: Sharing::Weights(weights.to_vec()),
            inside,
            always_backlogged: 0.0,
        };
        other
    }

    /// Runs a part of the flows, telling `done` of each.
    fn simulate(
        &self,
        flows: &Flows,
        part: Range<usize>,
        meter: &Meter,
        mut done: impl FnMut(&Done),
    ) {
        let setup = Setup {
            link: self.link,
            control: self.control.clone(),
            discipline: self.discipline.clone(),
            classes: self.classes.len(),
            longest_step: LONGEST_STEP,
        };
        let (one_way, capacity) = (self.one_way_s(), self.link.bytes_per_s());
        let mut ended = 0u64;
        simulate(&setup, flows.list.slice(part), |flow| {
            let first = self.control.first_packet(flow.arrival.size_bytes);
            let fct_s = flow.fct_s + first / capacity - one_way;
            done(&Done { fct_s, ..*flow });
            ended += 1;
            match ended.is_multiple_of(4096) && meter.stopped() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        meter.flows.fetch_add(ended, Ordering::Relaxed);
    }

    /// What a completion time ends earlier than with the ACK's return.
    fn one_way_s(&self) -> f64 {
        match self.fct_ends {
            FctEnds::Ack => 0.0,
            FctEnds::Delivery => self.link.rtt.as_secs_f64() / 2.0,
        }
    }

    /// A flow's completion time over the one that it has alone.
    pub fn slowdown(&self, flow: &Done) -> f64 {
        flow.fct_s / (self.link.ideal_s(flow.arrival.size_bytes) - self.one_way_s())
    }

    /// Runs the flows and returns each, in the order in which they end.
    pub fn flows(&self, flows: &Flows, meter: &Meter) -> Vec<Done> {
        let mut all = Vec::with_capacity(flows.list.len());
        let whole = 0..flows.list.len();
        self.simulate(flows, whole, meter, |done| all.push(*done));
        meter.evaluations.fetch_add(1, Ordering::Relaxed);
        all
    }

    /// Runs the flows and keeps what the SLIs need; many flows in parts, on all cores.
    pub fn run(&self, flows: &Flows, meter: &Meter) -> Found {
        let until_s = flows.until.as_secs_f64();
        let parts = flows.parts().into_par_iter().map(|part| {
            let mut found = Found::none(self.classes);
            self.simulate(flows, part, meter, |flow| found.add(self, until_s, flow));
            found
        });
        let parts: Vec<_> = parts.collect();
        meter.evaluations.fetch_add(1, Ordering::Relaxed);
        let parts = parts.into_iter();
        let whole = parts.reduce(Found::with);
        whole.unwrap_or_else(|| Found::none(self.classes))
    }

    /// Keeps of flows that ran elsewhere and started before `until_s` what the SLIs need.
    pub fn collect(&self, until_s: f64, flows: impl Iterator<Item = Done>) -> Found {
        let mut found = Found::none(self.classes);
        flows.for_each(|flow| found.add(self, until_s, &flow));
        found
    }

    /// The loss of each class; a class without an SLO has minus infinity.
    pub fn losses(&self, flows: &Flows, meter: &Meter) -> Vec<f64> {
        self.run(flows, meter).losses(self.classes)
    }
}

impl Found {
    fn none(classes: &[Class]) -> Self {
        let samples = classes
            .iter()
            .map(|c| vec![Sample::default(); c.slis.len()]);
        Found {
            samples: samples.collect(),
        }
    }

    /// Together with those of other flows, whose time is cut into as many spans.
    pub fn with(mut self, other: Found) -> Self {
        let pairs = self.samples.iter_mut().flatten();
        for (mine, others) in pairs.zip(other.samples.into_iter().flatten()) {
            mine.append(others);
        }
        self
    }

    fn add(&mut self, candidate: &Candidate, until_s: f64, flow: &Done) {
        let k = usize::from(flow.arrival.class);
        let size = flow.arrival.size_bytes;
        let batch = (flow.arrival.start_s / until_s * BATCHES as f64) as usize;
        for (sli, sample) in candidate.classes[k].slis.iter().zip(&mut self.samples[k]) {
            if sli.includes(size) {
                let value = match sli.attr {
                    Attr::Slowdown => candidate.slowdown(flow),
                    Attr::Fct => flow.fct_s,
                    Attr::Throughput => size * 8.0 / flow.fct_s,
                };
                sample.push(value, batch);
            }
        }
    }

    /// The loss of each class; a class without an SLO has minus infinity.
    pub fn losses(&mut self, classes: &[Class]) -> Vec<f64> {
        let each = classes.iter().zip(&mut self.samples);
        each.map(|(class, samples)| {
            let values = class.slis.iter().zip(samples);
            let values: Vec<f64> = values.map(|(sli, s)| s.value(sli.metric)).collect();
            class
                .slo
                .as_ref()
                .map_or(f64::NEG_INFINITY, |slo| slo.loss(&values))
        })
        .collect()
    }

    /// Every SLI with its interval, by class.
    pub fn estimates(&mut self, classes: &[Class]) -> Vec<Vec<Estimate>> {
        let each = classes.iter().zip(&mut self.samples);
        each.map(|(class, samples)| {
            let slis = class.slis.iter().zip(samples);
            slis.map(|(sli, s)| s.estimate(sli.metric)).collect()
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_flows_fit_at_every_rate() {
        for per_s in [1e3, 0.3e6, 1.7e6, 7.77e6, 9.1e9] {
            let until = Duration::from_secs_f64(MOST_FLOWS as f64 / per_s).unwrap();
            assert!(fits(per_s * until.as_secs_f64()), "{per_s}");
            assert!(!fits(per_s * until.as_secs_f64() * 1.001), "{per_s}");
        }
    }
}
