//! The stream of flows, generated or replayed.

use fctlab_core::random::Seed;

use fctlab_core::{Duration, PacketFormat, SpecError, Time};
use rand::Rng;
use rand_pcg::Pcg64;

use crate::demand::Demand;
use crate::mix::Mix;
use crate::spec::TrafficSpec;
use crate::trace::{Summary, Trace};
use crate::{Flow, HostLayout, Mixture, SizeDistribution};

/// Flows in order of start, one at a time.
///
/// A generated stream also ends when the clock does, after 213 days.
#[derive(Debug)]
pub struct Traffic {
    source: Source,
    paths: Pcg64,
    next_id: u64,
    limits: Limits,
    /// What is left of them.
    left: Limits,
    offered: Offered,
    expected_flows: u64,
    error: Option<SpecError>,
}

/// What a stream offers to the network, for reports.
///
/// For generated traffic these are exact expectations; for a trace, they are
/// those of its flows within the limits, and 0 where it has too few. Of several
/// classes they are what all offer together while all are active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// Mean flow size in payload bytes.
    pub mean_size_bytes: f64,
    /// Mean flow size in bytes on the wire, headers included.
    pub mean_wire_bytes: f64,
    /// Mean number of data packets of a flow.
    pub mean_packets: f64,
    /// Flows started per second, over all hosts.
    pub flows_per_s: f64,
}

/// When a stream ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// At most so many more flows that start at `from` or later.
    pub flows: u64,
    pub from: Time,
    /// Flows start before this instant.
    pub until: Time,
}

impl Limits {
    /// Whether the stream is over, whatever would come next.
    pub(crate) fn are_reached(&self) -> bool {
        self.flows == 0
    }

    /// Whether a flow that starts then is still in the stream; if not, that is over.
    pub(crate) fn admit(&mut self, start: Time) -> bool {
        if start >= self.until {
            self.flows = 0;
        }
        let is_in = !self.are_reached();
        self.flows -= u64::from(is_in && start >= self.from);
        is_in
    }
}

#[derive(Debug)]
enum Source {
    Generated(Box<Mix>),
    Trace(Box<(Trace, Summary)>),
}

impl Traffic {
    /// The stream that `spec`, already checked, asks for.
    pub(crate) fn new(
        spec: &TrafficSpec,
        layout: &HostLayout,
        format: &PacketFormat,
        seed: Seed,
        from: Time,
    ) -> Result<Self, SpecError> {
        if format.payload.get() == 0 {
            return Err(SpecError::new(
                "",
                "a packet has no payload; it must carry at least 1B",
            ));
        }
        let limits = Limits {
            flows: spec.flows.unwrap_or(u64::MAX),
            from,
            until: spec.duration.map_or(Time::NEVER, |d| Time::ZERO + d),
        };
        let (source, offered, expected_flows) = match &spec.trace {
            Some(source) => {
                let known: Vec<&str> = spec.classes.iter().map(|c| c.class.as_str()).collect();
                let (trace, summary) = Trace::open(
                    source,
                    spec.class.as_deref(),
                    &known,
                    layout.hosts(),
                    format,
                    limits,
                )?;
                let (offered, flows) = (summary.offered(), summary.flows);
                (Source::Trace(Box::new((trace, summary))), offered, flows)
            }
            None => {
                let mix = Mix::new(spec, layout, format, seed)?;
                let offered = mix.offered();
                let [before, by_time] = [from, limits.until].map(|end| mix.flows_before(end));
                let before = before.map_or(0, |n| n.round() as u64);
                let by_number = limits.flows.saturating_add(before);
                let expected = by_time.map_or(by_number, |n| by_number.min(n.round() as u64));
                (Source::Generated(Box::new(mix)), offered, expected)
            }
        };
        let paths = seed.stream("paths");
        Ok(Traffic {
            source,
            paths,
            next_id: 0,
            limits,
            left: limits,
            offered,
            expected_flows,
            error: None,
        })
    }

    /// The names of the traffic classes that [`Flow::class`] points into.
    pub fn class_names(&self) -> &[String] {
        match &self.source {
            Source::Generated(mix) => mix.class_names(),
            Source::Trace(trace) => trace.0.class_names(),
        }
    }

    /// The column of a trace that names them, where there is one.
    pub fn class_column(&self) -> Option<&'static str> {
        match &self.source {
            Source::Generated(_) => None,
            Source::Trace(trace) => trace.0.class_column(),
        }
    }

    /// How many flows the stream will have: exact for a trace and for a number of flows that are
    /// counted from the first on, else the expectation.
    pub fn expected_flows(&self) -> u64 {
        self.expected_flows
    }

    /// What the stream offers to the network.
    pub fn offered(&self) -> Offered {
        self.offered
    }

    /// What each class is expected to send to whom; of a trace, what its flows are over the
    /// time in which they start, and nothing where they are too few to be a load.
    pub fn demands(&self, layout: &HostLayout) -> Vec<Demand> {
        match &self.source {
            Source::Generated(mix) => mix.demands(layout),
            Source::Trace(trace) => trace.1.demand(layout).into_iter().collect(),
        }
    }

    /// The distribution of its flows' sizes: what they are drawn from, or those of a trace, which is
    /// read for it. Nothing where there are no flows.
    ///
    /// # Errors
    /// A trace that has changed since it was checked.
    pub fn sizes(&self) -> Result<Option<Mixture>, SpecError> {
        let trace = match &self.source {
            Source::Generated(mix) => return Ok(mix.sizes()),
            Source::Trace(trace) => &trace.0,
        };
        let sizes = SizeDistribution::uniform(&trace.sizes(self.limits)?);
        Ok(sizes.and_then(|sizes| Mixture::of(&[(1.0, &sizes)])))
    }

    /// About when the last flow starts.
    pub fn span(&self) -> Time {
        let rate = self.offered.flows_per_s;
        let by_number = Duration::from_secs_f64(self.expected_flows as f64 / rate);
        let by_number = by_number.map_or(Time::NEVER, |d| Time::ZERO + d);
        by_number.min(self.limits.until)
    }

    /// Why the stream ended early: a trace whose file changed while it was replayed.
    pub fn error(&self) -> Option<&SpecError> {
        self.error.as_ref()
    }
}

impl Iterator for Traffic {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        if self.left.are_reached() {
            return None;
        }
        let mut flow = match &mut self.source {
            Source::Generated(mix) => mix.next()?,
            Source::Trace(trace) => match trace.0.next() {
                Ok(flow) => flow?,
                Err(error) => {
                    self.error = Some(error);
                    self.left.flows = 0;
                    return None;
                }
            },
        };
        if !self.left.admit(flow.start) {
            return None;
        }
        flow.id = self.next_id;
        flow.path_hash = self.paths.next_u32();
        self.next_id += 1;
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::{Bytes, Rate};
    use serde_json::{Value, json};

    fn layout(racks: u32, per_rack: u32) -> HostLayout {
        let rack_of = (0..racks * per_rack).map(|h| h / per_rack).collect();
        HostLayout {
            rack_of,
            host_rate: Rate::from_gbps(10),
            rates: Vec::new(),
            sink: None,
        }
    }

    fn build(spec: Value, layout: &HostLayout, seed: u64) -> Traffic {
        let spec: TrafficSpec = fctlab_core::spec::read(spec).unwrap();
        spec.build(layout, &PacketFormat::default(), Seed(seed))
            .unwrap()
    }

    #[test]
    fn streams_can_move_to_another_thread() {
        fn send<T: Send>() {}
        send::<Traffic>();
    }

    #[test]
    fn flows_are_fixed_for_ever() {
        // A changed value here changes every published result.
        let spec = json!({"workload": "websearch", "load": 0.6, "flows": 3});
        let flows: Vec<_> = build(spec, &layout(9, 16), 1)
            .map(|f| (f.id, f.start.ps(), f.src, f.dst, f.size.get(), f.path_hash))
            .collect();
        let golden = [
            (0, 8_152_622, 15, 69, 55_637, 619_726_619),
            (1, 10_777_819, 10, 90, 22_512, 974_978_160),
            (2, 21_499_333, 127, 86, 8_760, 2_476_346_961),
        ];
        assert_eq!(flows, golden);
    }

    #[test]
    fn rate_by_hand() {
        // 10 Gbps x 0.6 = 750 MB/s per link; a flow of 2000 B has 2080 B on the wire.
        let spec = json!({"workload": {"kind": "fixed", "size": "2KB"}, "load": 0.6, "flows": 1});
        let offered = build(spec.clone(), &layout(2, 8), 1).offered();
        assert_eq!(
            (offered.mean_size_bytes, offered.mean_wire_bytes),
            (2000.0, 2080.0)
        );
        assert!((offered.flows_per_s / (16.0 * 750e6 / 2080.0) - 1.0).abs() < 1e-12);
        let mut payload = spec;
        payload["load_counts"] = json!("payload");
        payload["pattern"] = json!("many-to-one");
        let offered = build(payload, &layout(2, 8), 1).offered();
        assert!((offered.flows_per_s / (750e6 / 2000.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn offered_load_is_the_load_asked_for() {
        let workload = json!({"kind": "bimodal", "small": "2KB", "large": "200KB"});
        for (pattern, receivers) in [
            (json!("all-to-all"), 16),
            (json!("inter-rack"), 16),
            (json!("permutation"), 16),
            (json!("many-to-one"), 1),
            (json!({"kind": "incast", "fanin": 8}), 16),
            (json!({"kind": "incast", "fanin": 8, "receiver": 3}), 1),
            (
                json!({"kind": "incast", "fanin": 8, "query_size": "100001B"}),
                16,
            ),
        ] {
            let spec =
                json!({"workload": workload, "load": 0.7, "flows": 160_000, "pattern": pattern});
            let (mut total, mut end, mut per_receiver) = (0u64, Time::ZERO, [0u64; 16]);
            for f in build(spec, &layout(2, 8), 5) {
                assert!(f.start >= end && f.src != f.dst);
                end = f.start;
                let wire = PacketFormat::default().wire_bytes(f.size);
                total += wire;
                per_receiver[f.dst as usize] += wire;
            }
            assert_eq!(
                per_receiver.iter().filter(|&&b| b > 0).count(),
                receivers,
                "{pattern}"
            );
            let capacity = 1.25e9 * end.as_secs_f64();
            // Relative variance of the bytes per time, n arrivals: at most
            // (1 + CV^2) / n with CV <= 1 and n >= 20000: five standard errors are 5%.
            let load = total as f64 / (capacity * receivers as f64);
            assert!((load / 0.7 - 1.0).abs() < 0.05, "{pattern}: {load}");
            // Each of 16 receivers has 1/16 of the arrivals: 4 times the error.
            for bytes in per_receiver.into_iter().filter(|&b| b > 0) {
                let load = bytes as f64 / capacity;
                assert!(
                    (load / 0.7 - 1.0).abs() < 0.2,
                    "{pattern}: {load} at one receiver"
                );
            }
        }
    }

    #[test]
    fn changing_one_thing_leaves_the_other_draws() {
        let base = json!({"workload": "websearch", "load": 0.6, "flows": 1000});
        let with = |key: &str, value: Value| {
            let mut spec = base.clone();
            spec[key] = value;
            build(spec, &layout(2, 8), 1).collect::<Vec<_>>()
        };
        let flows = with("flows", json!(1000));
        let same = |other: &[Flow], value: fn(&Flow) -> u64| {
            flows.iter().map(value).eq(other.iter().map(value))
        };
        let hosts = |f: &Flow| u64::from(f.src) << 32 | u64::from(f.dst);
        let other = with("load", json!(0.3));
        assert!(
            same(&other, |f| f.size.get())
                && same(&other, hosts)
                && same(&other, |f| f.path_hash.into())
        );
        assert!(!same(&other, |f| f.start.ps()));
        let other = with("workload", json!("hadoop"));
        assert!(same(&other, hosts) && same(&other, |f| f.path_hash.into()));
        let other = with("pattern", json!("inter-rack"));
        assert!(
            same(&other, |f| f.size.get())
                && same(&other, |f| f.start.ps())
                && !same(&other, hosts)
        );
        let mut base = base.clone();
        base["arrivals"] = json!("lognormal");
        base["per"] = json!("class");
        let other: Vec<Flow> = build(base, &layout(2, 8), 1).collect();
        assert!(same(&other, |f| f.size.get()) && same(&other, hosts));
    }

    #[test]
    fn limits() {
        let spec = json!({"workload": "imc10", "load": 0.6, "duration": "1ms", "flows": 1000});
        let mut traffic = build(spec.clone(), &layout(2, 8), 1);
        let expected = traffic.offered().flows_per_s * 1e-3;
        assert_eq!(traffic.expected_flows(), expected.round() as u64);
        let flows: Vec<_> = traffic.by_ref().collect();
        // Poisson with mean 60: five standard deviations are 39.
        assert!(
            (flows.len() as f64 - expected).abs() < 39.0,
            "{} {expected}",
            flows.len()
        );
        assert!(flows.iter().all(|f| f.start < Time::from_ps(1_000_000_000)));
        assert!(
            flows
                .iter()
                .enumerate()
                .all(|(i, f)| f.id == i as u64 && f.class == 0 && f.query.is_none())
        );
        assert_eq!(
            (traffic.next(), traffic.class_names()),
            (None, &["default".to_owned()][..])
        );
        let mut few = spec;
        few["flows"] = json!(7);
        let traffic = build(few, &layout(2, 8), 1);
        assert_eq!((traffic.expected_flows(), traffic.count()), (7, 7));
    }

    #[test]
    fn flows_of_a_warm_up_come_on_top() {
        let spec = json!({"workload": "imc10", "load": 0.6, "flows": 50});
        let all: Vec<Flow> = build(spec.clone(), &layout(2, 8), 1).collect();
        let warmup = all[20].start;
        let longer: TrafficSpec = fctlab_core::spec::read(spec).unwrap();
        let format = PacketFormat::default();
        let longer = longer.build_after(warmup, &layout(2, 8), &format, Seed(1));
        let longer = longer.unwrap();
        let expected = 50.0 + longer.offered().flows_per_s * warmup.as_secs_f64();
        assert_eq!(longer.expected_flows(), expected.round() as u64);
        let flows: Vec<Flow> = longer.collect();
        assert_eq!((flows.len(), &flows[..50]), (70, &all[..]));
        assert!(flows[20..].iter().all(|flow| flow.start >= warmup));
    }

    #[test]
    fn a_query_starts_at_one_instant_and_splits_exactly() {
        let pattern = json!({"kind": "incast", "fanin": 3, "query_size": "10B"});
        let flows: Vec<_> = build(
            json!({"load": 0.5, "flows": 30, "pattern": pattern}),
            &layout(2, 8),
            1,
        )
        .collect();
        for (i, query) in flows.chunks(3).enumerate() {
            assert!(
                query
                    .iter()
                    .all(|f| f.start == query[0].start && f.query == Some(i as u32))
            );
            assert_eq!([0, 1, 2].map(|k: usize| query[k].size.get()), [4, 3, 3]);
        }
        assert_ne!(flows[0].start, flows[3].start);
    }

    #[test]
    fn the_end_of_the_clock_ends_the_stream() {
        let mut slow = layout(1, 2);
        slow.host_rate = Rate::from_bps(1);
        let spec =
            json!({"workload": {"kind": "fixed", "size": "1000GB"}, "load": 0.001, "flows": 10});
        assert_eq!(build(spec, &slow, 1).count(), 0);
    }

    #[test]
    fn a_packet_without_payload_is_an_error() {
        let format = PacketFormat {
            payload: Bytes::new(0),
            ..PacketFormat::default()
        };
        let spec: TrafficSpec =
            fctlab_core::spec::read(json!({"workload": "websearch", "load": 0.5, "flows": 1}))
                .unwrap();
        let error = spec
            .build(&layout(1, 2), &format, Seed(1))
            .unwrap_err()
            .to_string();
        assert_eq!(error, "a packet has no payload; it must carry at least 1B");
    }
}
