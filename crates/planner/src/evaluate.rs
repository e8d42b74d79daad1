//! One run of the model: flows and weights in, SLIs and losses out.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fctlab_core::{FctEnds, Rate};
use fctlab_link::model::LONGEST_STEP;
use fctlab_link::queues::{Discipline, Sharing};
use fctlab_link::{Control, Done, Inside, Link, Setup, simulate};
use rayon::prelude::*;

use crate::flows::Flows;
use crate::spec::{Class, Spec};
use fctlab_workload::sli::{Attr, BATCHES, Estimate, Sample};

/// Flows that run by themselves, on average, where the queue is empty often enough.
const PART: usize = 250_000;

/// What a question costs, and whether it goes on.
#[derive(Debug, Default)]
pub struct Meter {
    /// Runs of the model.
    pub evaluations: Arc<AtomicU64>,
    /// Flows simulated.
    pub flows: Arc<AtomicU64>,
    /// Set from outside to stop everything.
    pub stop: Arc<AtomicBool>,
}

impl Meter {
    /// Whether to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
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
    /// The time over which their flows started, of all runs together.
    span_s: f64,
}

/// Flows that start one after the other, and what they found if they ran by themselves.
#[derive(Debug)]
struct Part {
    range: Range<usize>,
    starts_s: f64,
    found: Option<Found>,
    /// When nothing waits any more and nobody sends.
    empty_from_s: f64,
}

impl Part {
    /// One that has not run.
    fn of(flows: &Flows, range: Range<usize>) -> Self {
        let first = flows.list.slice(range.start..range.start + 1).next();
        Part {
            range,
            starts_s: first.map_or(0.0, |flow| flow.start_s),
            found: None,
            empty_from_s: 0.0,
        }
    }

    /// With each that began before the one before it had ended as one part, which has not run.
    fn joined(parts: Vec<Part>) -> Vec<Part> {
        let mut joined: Vec<Part> = Vec::new();
        for part in parts {
            match joined.last_mut() {
                Some(last) if last.empty_from_s > part.starts_s => {
                    last.range.end = part.range.end;
                    last.empty_from_s = last.empty_from_s.max(part.empty_from_s);
                    last.found = None;
                }
                _ => joined.push(part),
            }
        }
        joined
    }
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

    /// Runs a part of the flows, telling `done` of each, and when its last byte has left the bottleneck.
    fn simulate(
        &self,
        flows: &Flows,
        part: Range<usize>,
        meter: &Meter,
        mut done: impl FnMut(&Done, f64),
    ) {
        let setup = Setup {
            link: self.link,
            control: self.control.clone(),
            discipline: self.discipline.clone(),
            classes: self.classes.len(),
            longest_step: LONGEST_STEP,
        };
        let (one_way, capacity) = (self.one_way_s(), self.link.bytes_per_s());
        let rtt_s = self.link.rtt.as_secs_f64();
        let mut ended = 0u64;
        simulate(&setup, flows.list.slice(part), |flow| {
            let first = self.control.first_packet(flow.arrival.size_bytes);
            let fct_s = flow.fct_s + first / capacity - one_way;
            let left_s = flow.arrival.start_s + flow.fct_s - rtt_s;
            done(&Done { fct_s, ..*flow }, left_s);
            ended += 1;
            if ended.is_multiple_of(4096) && meter.stopped() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
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
        self.simulate(flows, whole, meter, |done, _| all.push(*done));
        meter.evaluations.fetch_add(1, Ordering::Relaxed);
        all
    }

    /// Runs the flows and keeps what the SLIs need; many flows in parts, on all cores. Parts begin where
    /// the run before has ended, so it is as if all ran one after the other.
    pub fn run(&self, flows: &Flows, meter: &Meter) -> Found {
        self.run_in_parts(flows, PART, meter)
    }

    fn run_in_parts(&self, flows: &Flows, each: usize, meter: &Meter) -> Found {
        let mut parts = self.parts(flows, each);
        loop {
            let ran = parts.into_par_iter().map(|part| match part.found {
                None => self.run_part(flows, part.range, meter),
                Some(_) => part,
            });
            let ran: Vec<Part> = ran.collect();
            let before = ran.len();
            parts = Part::joined(ran);
            if parts.len() == before || meter.stopped() {
                break;
            }
        }
        meter.evaluations.fetch_add(1, Ordering::Relaxed);
        let found = parts.into_iter().filter_map(|part| part.found);
        let whole = found.reduce(Found::with);
        let mut whole = whole.unwrap_or_else(|| Found::none(self.classes));
        whole.span_s = flows.until.as_secs_f64();
        whole
    }

    /// Parts of about `each` flows that probably run by themselves, in order of start: of every `each`
    /// flows the first of a part is the one before which a queue that serves these flows at the link's rate
    /// has been empty for longest.
    fn parts(&self, flows: &Flows, each: usize) -> Vec<Part> {
        let capacity = (1.0 - self.discipline.always_backlogged) * self.link.bytes_per_s();
        let (mut ends, mut longest, mut empty_from_s) = (vec![0], 0.0, 0.0_f64);
        let cut = each..flows.list.len() / each * each;
        for (i, flow) in flows.list.slice(0..flows.list.len()).enumerate() {
            if i % each == 0 {
                longest = 0.0;
            }
            let idle = flow.start_s - empty_from_s;
            if idle > longest && cut.contains(&i) {
                // The first one of these flows, or a better place among them.
                if longest > 0.0 {
                    ends.pop();
                }
                longest = idle;
                ends.push(i);
            }
            let bytes = self.control.wire_bytes(flow.size_bytes);
            empty_from_s = empty_from_s.max(flow.start_s) + bytes / capacity;
        }
        ends.push(flows.list.len());
        let ranges = ends.windows(2).map(|ends| ends[0]..ends[1]);
        ranges.map(|range| Part::of(flows, range)).collect()
    }

    fn run_part(&self, flows: &Flows, range: Range<usize>, meter: &Meter) -> Part {
        let until_s = flows.until.as_secs_f64();
        let mut found = Found::none(self.classes);
        let mut part = Part::of(flows, range.clone());
        let rtt_s = self.link.rtt.as_secs_f64();
        // What is counted as uncontrolled (beta) is for a round trip after its start.
        let heard_s = if self.control.law.beta() == 0.0 {
            0.0
        } else {
            2.0 * rtt_s
        };
        self.simulate(flows, range, meter, |flow, left_s| {
            part.empty_from_s = part.empty_from_s.max(left_s + heard_s);
            found.add(self, until_s, flow);
        });
        part.found = Some(found);
        part
    }

    /// Keeps of flows that ran elsewhere and started before `until_s` what the SLIs need.
    pub fn collect(&self, until_s: f64, flows: impl Iterator<Item = Done>) -> Found {
        let mut found = Found::none(self.classes);
        found.span_s = until_s;
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
            span_s: 0.0,
        }
    }

    /// Standard error of the bytes that start in so long a time, as a share of them, as far as it is from
    /// their sizes; traces are what they are.
    fn work_error(&self, classes: &[Class]) -> f64 {
        let bytes: f64 = classes.iter().map(|c| c.rate_bps / 8.0).sum();
        let squares: f64 = classes.iter().map(|c| c.flows_per_s * c.mean_square).sum();
        if bytes > 0.0 && self.span_s > 0.0 {
            (squares / self.span_s).sqrt() / bytes
        } else {
            0.0
        }
    }

    /// Together with those of other flows, whose time is cut into as many spans.
    pub fn with(mut self, other: Found) -> Self {
        let pairs = self.samples.iter_mut().flatten();
        for (mine, others) in pairs.zip(other.samples.into_iter().flatten()) {
            mine.append(others);
        }
        self.span_s += other.span_s;
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

    /// Every SLI with its interval, by class; `share` as in [`Sample::estimate`].
    pub fn estimates(&mut self, classes: &[Class], share: f64) -> Vec<Vec<Estimate>> {
        let work_error = self.work_error(classes);
        let each = classes.iter().zip(&mut self.samples);
        each.map(|(class, samples)| {
            let slis = class.slis.iter().zip(samples);
            let estimates = slis.map(|(sli, s)| Estimate {
                work_error,
                ..s.estimate(sli.metric, share)
            });
            estimates.collect()
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::span;
    use serde_json::json;

    /// One class alone: load, congestion control, discipline.
    fn facebook(load: f64, cc: &str, queue: &str) -> Spec {
        let sli = |name, metric| json!({"name": name, "metric": metric});
        let value = json!({"seed": 3, "network": {"link": "100Gbps", "rtt": "10us"}, "queue": queue, "cc": cc,
            "classes": [{"name": "a", "flowsizes": "facebook_hadoop_bytes", "load": load,
                "interarrivals": {"kind": "lognormal", "sigma": 2.0},
                "slis": [sli("mean", "mean"), sli("tail", "p99"), sli("middle", "p50")]}]});
        Spec::read(value, std::path::Path::new("")).unwrap()
    }

    /// What runs find of flows in parts, and of the same flows one after the other.
    fn in_parts_and_whole(spec: &Spec, flows: u64, part: usize) -> [Vec<Estimate>; 2] {
        let (classes, meter) = (spec.classes().unwrap(), Meter::default());
        let candidate = Candidate::of(spec, &classes);
        let flows = Flows::generate(&classes, spec.seed, span(&classes, flows)).unwrap();
        let whole = candidate.flows(&flows, &meter).into_iter();
        let until_s = flows.until().as_secs_f64();
        let estimates = |mut found: Found| {
            found
                .estimates(&classes, fctlab_workload::sli::ONCE)
                .remove(0)
        };
        [
            estimates(candidate.run_in_parts(&flows, part, &meter)),
            estimates(candidate.collect(until_s, whole)),
        ]
    }

    #[test]
    fn parts_find_what_one_run_finds() {
        // To the last bit. Where parts start empty instead, the first of these p99s is less than half.
        let cases = [
            (0.95, "swp-d", "fifo"),
            (0.6, "swp-d", "fifo"),
            (0.6, "swp-h", "fifo"),
            (0.6, "dctcp-rate", "fifo"),
            (0.6, "hpcc", "fifo"),
            (0.6, "hpcc", "fq"),
        ];
        for (load, cc, queue) in cases {
            let spec = facebook(load, cc, queue);
            let [parts, whole] = in_parts_and_whole(&spec, 60_000, 5_000);
            assert_eq!(parts, whole, "{load} {cc} {queue}");
        }
    }

    #[test]
    fn parts_are_the_same_on_any_number_of_threads() {
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let spec = facebook(0.8, "swp-d", "fifo");
            pool.unwrap()
                .install(|| in_parts_and_whole(&spec, 40_000, 2_000))
        };
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn flows_are_counted_until_somebody_stops() {
        let spec = facebook(0.6, "swp-d", "fifo");
        let classes = spec.classes().unwrap();
        let candidate = Candidate::of(&spec, &classes);
        let flows = Flows::generate(&classes, spec.seed, span(&classes, 10_000)).unwrap();
        let ran = |stop: bool| {
            let meter = Meter::default();
            meter.stop.store(stop, Ordering::Relaxed);
            let ran = candidate.flows(&flows, &meter).len() as u64;
            let counted = [&meter.flows, &meter.evaluations].map(|of| of.load(Ordering::Relaxed));
            (ran, counted)
        };
        assert_eq!(ran(false), (flows.len(), [flows.len(), 1]));
        // Those that end with the one after which it looks are still told.
        let (told, counted) = ran(true);
        assert_eq!(counted, [told, 1]);
        assert!((4096..4200).contains(&told), "{told}");
    }

    #[test]
    fn calm_traffic_runs_in_parts() {
        let value = json!({"network": {"link": "100Gbps", "rtt": "10us"}, "queue": "fifo",
            "classes": [{"name": "a", "flowsizes": "google_rpc", "load": 0.5}]});
        let spec = Spec::read(value, std::path::Path::new("")).unwrap();
        let (classes, meter) = (spec.classes().unwrap(), Meter::default());
        let candidate = Candidate::of(&spec, &classes);
        let flows = Flows::generate(&classes, 1, span(&classes, 50_000)).unwrap();
        let parts = candidate.parts(&flows, 5_000);
        assert!((8..=11).contains(&parts.len()), "{parts:?}");
        let ran = parts
            .into_iter()
            .map(|p| candidate.run_part(&flows, p.range, &meter));
        let ran: Vec<Part> = ran.collect();
        let before = ran.len();
        // A large flow may take longer than a queue at the link's rate says.
        let stay = Part::joined(ran).len();
        assert!(stay >= 7, "{stay} of {before}");
    }
}
