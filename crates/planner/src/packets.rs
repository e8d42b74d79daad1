//! A specification at packet level: the same flows as the model's, packet by packet.
//!
//! A star: many senders, one receiver whose link is the bottleneck, with its queue discipline over
//! classes. Congestion control is the scheme for which the model's parameters stand (`cc.scheme`),
//! with those parameters that both engines have. Nobody writes the scenario down: what the packet
//! engine takes is made here, and its flows are rows in memory.

use std::ops::ControlFlow;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use fctlab_core::random::numpy_words;
use fctlab_core::spec::hint;
use fctlab_core::{Bytes, Duration, PacketFormat, SpecError, Time};
use fctlab_fabric::outcome::RunError;
use fctlab_fabric::prepare::prepare_replay;
use fctlab_fabric::prepared::Prepared;
use fctlab_fabric::run::{RunOptions, run};
use fctlab_fabric::transports::hpcc;
use fctlab_link::{Arrival, Control, Done, Law, QueueSpec};
use fctlab_workload::{RowOfFlow, Rows};
use serde_json::{Value, json};

use crate::evaluate::{Candidate, Meter};
use crate::flows::Flows;
use crate::predict::{ClassFound, judge};
use crate::spec::Spec;
use fctlab_workload::sli::ONCE;

/// The more, the less often two flows share a sender's link.
const SENDERS: u32 = 128;

/// The schemes that the model has parameters for, with the paper's preset of these (table 2).
const SCHEMES: [(&str, &str); 2] = [("dctcp-rate", "swp-d"), ("hpcc", "swp-h")];

/// The schemes by name, each with the preset of `cc` that the paper has for it.
pub fn schemes() -> Value {
    SCHEMES
        .iter()
        .map(|&(name, preset)| (name, preset))
        .collect()
}

fn published(scheme: &str) -> Result<&'static str, SpecError> {
    let found = SCHEMES.iter().find(|(name, _)| *name == scheme);
    found.map(|(_, preset)| *preset).ok_or_else(|| {
        let names = SCHEMES.map(|(name, _)| name);
        let (hint, known) = (hint(scheme, &names), names.join(", "));
        let message = format!("{scheme:?} is no scheme that has a model; {hint}known: {known}");
        SpecError::new("cc.scheme", message)
    })
}

/// Keys of `cc` that were changed and that packets know nothing of.
fn warning(spec: &Spec) -> Option<String> {
    let (cc, scheme) = (&spec.cc, &spec.cc.shared.scheme);
    let published = published(scheme).ok()?;
    let carried = carried(cc);
    let usual = if carried.is_some() { scheme } else { published };
    let table = |cc: &Control| json!(cc).as_object().cloned().unwrap_or_default();
    let usual = table(&Control::preset(usual).ok()?);
    let taken = |key: &str| carried.as_ref().is_some_and(|c| c.keys.contains(&key));
    let changed = table(cc)
        .into_iter()
        .filter(|(key, value)| usual.get(key) != Some(value));
    let lost = changed.filter(|(key, _)| !taken(key));
    let lost: Vec<String> = lost.map(|(key, _)| format!("cc.{key}")).collect();
    (!lost.is_empty()).then(|| {
        format!(
            "packets run the scheme {scheme}, which has nothing of {}",
            lost.join(", ")
        )
    })
}

/// What both engines have of a congestion control.
struct Carried {
    /// Its keys in `cc`.
    keys: &'static [&'static str],
    /// Keys of the scheme that are the same quantities.
    transport: Value,
    port: Value,
    /// What telemetry adds to every packet is part of the model's header.
    telemetry: Bytes,
}

/// What the scheme of `cc` takes of it; nothing where the law is not the scheme's own.
fn carried(cc: &Control) -> Option<Carried> {
    match (&cc.law, cc.shared.scheme.as_str()) {
        (Law::Dctcp(law), "dctcp-rate") => Some(Carried {
            keys: &["thresh", "gain", "rise", "min_rate", "payload", "header"],
            transport: json!({"g": law.gain, "increase": law.rise, "min_rate": law.min_rate}),
            port: json!({"ecn_threshold": cc.shared.thresh}),
            telemetry: Bytes::new(0),
        }),
        (Law::Hpcc(law), "hpcc") => Some(Carried {
            keys: &[
                "u_target",
                "additive_increase",
                "min_rate",
                "window_counts",
                "payload",
                "header",
            ],
            transport: json!({
                "eta": law.u_target,
                "additive_increase": law.additive_increase,
                "min_rate": law.min_rate,
                "window_counts": law.window_counts,
            }),
            port: json!({}),
            telemetry: hpcc::Spec::default().int_bytes,
        }),
        _ => None,
    }
}

/// The packets: the model's, else those of the HPCC simulator, which swp uses.
fn format(cc: &Control, carried: Option<&Carried>) -> Result<PacketFormat, SpecError> {
    let usual = PacketFormat {
        payload: Bytes::new(1000),
        header: Bytes::new(48),
        ack: Bytes::new(60),
    };
    let Some(Carried { telemetry, .. }) = carried else {
        return Ok(usual);
    };
    let header = cc.shared.header.get().checked_sub(telemetry.get());
    let header = header.ok_or_else(|| {
        let message = format!(
            "{} is less than the telemetry, {telemetry}",
            cc.shared.header
        );
        SpecError::new("cc.header", message)
    })?;
    Ok(PacketFormat {
        payload: cc.shared.payload,
        header: Bytes::new(header),
        ..usual
    })
}

/// The bottleneck's port: its discipline over those of the classes that have flows, numbered in the
/// order in which they first do.
fn port(spec: &Spec, present: &[usize]) -> Result<Value, SpecError> {
    let weights = || present.iter().map(|&k| spec.classes[k].weight);
    let weights = || weights().collect::<Vec<f64>>();
    let discipline = match &spec.queue {
        QueueSpec::Fifo(_) => return Ok(json!({"discipline": "fifo"})),
        QueueSpec::Fq(_) => return Ok(json!({"discipline": "fq"})),
        QueueSpec::Priority(queue) => {
            let mut order: Vec<usize> = (0..present.len()).collect();
            order.sort_by_key(|&number| present[number]);
            json!({"kind": "strict", "classes": present.len(), "order": order, "inside": queue.inside})
        }
        QueueSpec::Wrr(queue) => {
            let whole: Result<Vec<u64>, SpecError> = present
                .iter()
                .map(|&k| packets_per_round(spec, k))
                .collect();
            json!({"kind": "wrr", "weights": whole?, "inside": queue.inside})
        }
        QueueSpec::Drr(queue) => {
            json!({"kind": "drr", "weights": weights(), "inside": queue.inside})
        }
        QueueSpec::Wfq(queue) => {
            json!({"kind": "wfq", "weights": weights(), "inside": queue.inside})
        }
    };
    Ok(json!({"discipline": discipline, "ecn_scope": "queue"}))
}

fn packets_per_round(spec: &Spec, class: usize) -> Result<u64, SpecError> {
    let weight = spec.classes[class].weight;
    if weight.fract() == 0.0 {
        return Ok(weight as u64);
    }
    let message = format!(
        "{weight} is not a whole number of packets, which wrr takes per round (packet engine)"
    );
    Err(SpecError::new(format!("classes[{class}].weight"), message))
}

/// Flows over the link of `spec`, ready to run packet by packet.
///
/// `scheme` is run instead of `cc.scheme`, as its preset has it. Senders are drawn from the seed.
///
/// # Errors
/// A scheme that the model does not stand for; a parameter that packets cannot take; a flow that is
/// none.
pub fn prepare(
    spec: &Spec,
    flows: impl Iterator<Item = Arrival>,
    scheme: Option<&str>,
) -> Result<Prepared, SpecError> {
    let carried = carried(&spec.cc).filter(|_| scheme.is_none());
    let scheme = scheme.unwrap_or(&spec.cc.shared.scheme);
    published(scheme)?;
    let flows = rows(spec, flows)?;
    let mut present: Vec<usize> = Vec::new();
    for flow in &flows {
        let class = usize::from(flow.class);
        if !present.contains(&class) {
            present.push(class);
        }
    }
    let packet = format(&spec.cc, carried.as_ref())?;
    let (transport, of_port) = carried.map_or((json!({}), json!({})), |c| (c.transport, c.port));
    let mut port = port(spec, &present)?;
    if let (Value::Object(port), Value::Object(more)) = (&mut port, of_port) {
        port.extend(more);
    }
    let network = &spec.network;
    let scenario = json!({
        "name": spec.name,
        "seed": spec.seed,
        "packet": packet,
        "topology": {
            "kind": "star",
            "senders": SENDERS,
            "host_rate": network.link,
            "base_rtt": {"value": network.rtt, "includes": "propagation"},
        },
        "measure": {"fct_ends": network.fct_ends},
        "scheme": {
            "preset": scheme,
            "transport": transport,
            "port": port,
            "nic": {"discipline": "fifo"},
        },
    });
    let classes = spec.classes.iter().map(|c| c.name.clone()).collect();
    prepare_replay(scenario, Rows { classes, flows })
}

/// The flows, each with a sender.
fn rows(spec: &Spec, flows: impl Iterator<Item = Arrival>) -> Result<Vec<RowOfFlow>, SpecError> {
    let row = |(flow, word): (Arrival, u32)| {
        let start = Duration::from_secs_f64(flow.start_s).ok_or_else(|| {
            let message = format!("{} is not a number of seconds of at least 0", flow.start_s);
            SpecError::new("flows.start_s", message)
        })?;
        Ok(RowOfFlow {
            start: Time::ZERO + start,
            // As `integers(0, SENDERS)` scales them, of which there are a power of two.
            src: ((u64::from(word) * u64::from(SENDERS)) >> 32) as u32,
            dst: SENDERS,
            size: Bytes::new(flow.size_bytes as u64),
            class: flow.class,
        })
    };
    flows.zip(numpy_words(spec.seed)).map(row).collect()
}

/// What packets say of a specification.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Its classes.
    pub classes: Vec<ClassFound>,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// What to beware of: what packets do not take of it, and what their engine warns of.
    pub warnings: Vec<String>,
}

/// Runs `flows` packet by packet: what `candidate`'s SLIs come to.
///
/// # Errors
/// As [`prepare`]; whatever, where `meter` has stopped it.
pub fn judged(
    spec: &Spec,
    candidate: &Candidate,
    flows: &Flows,
    meter: &Meter,
) -> Result<Judged, SpecError> {
    let arrivals = || flows.list.slice(0..flows.list.len());
    let prepared = prepare(spec, arrivals(), None)?;
    let mut observe = |_: &_| {
        if meter.stopped() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = RunOptions {
        observer: Some(&mut observe),
        ..RunOptions::default()
    };
    let outcome = run(&prepared, options).map_err(|error| match error {
        RunError::Spec(error) => error,
        other => SpecError::new("", other.to_string()),
    })?;
    let column = |batch: &RecordBatch| {
        let column = batch
            .column_by_name("fct_s")?
            .as_primitive_opt::<Float64Type>()?;
        Some(column.values().to_vec())
    };
    let fcts = outcome.flows.iter().filter_map(column).flatten();
    let done = arrivals().zip(fcts).enumerate();
    let done = done.map(|(index, (arrival, fct_s))| Done {
        index: index as u64,
        arrival,
        fct_s,
    });
    let mut found = candidate.collect(flows.until().as_secs_f64(), done);
    Ok(Judged {
        classes: judge(candidate.classes, &found.estimates(candidate.classes, ONCE)),
        packet_hops: outcome.counters.packet_hops,
        warnings: warning(spec).into_iter().chain(prepared.warnings).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use fctlab_fabric::disciplines::QueueSpec as Queue;

    use super::*;
    use crate::flows::span;

    fn spec(queue: Value, cc: Value) -> Spec {
        let class = |name: &str, weight: f64| {
            json!({"name": name, "flowsizes": {"kind": "fixed", "size": "10KB"}, "load": 0.2,
                "weight": weight, "slis": [{"name": "mean", "metric": "mean"}]})
        };
        let value = json!({"network": {"link": "10Gbps", "rtt": "10us"}, "queue": queue, "cc": cc,
            "classes": [class("a", 3.0), class("unused", 7.0), class("b", 1.0)]});
        Spec::read(value, Path::new("")).unwrap()
    }

    fn arrival(start_s: f64, class: u16) -> Arrival {
        Arrival {
            start_s,
            size_bytes: 1e4,
            class,
        }
    }

    fn of(queue: &str) -> Result<Queue, SpecError> {
        let flows = [arrival(0.0, 2), arrival(1e-6, 0), arrival(1e-6, 2)];
        let prepared = prepare(
            &spec(json!(queue), json!("dctcp-rate")),
            flows.into_iter(),
            None,
        )?;
        assert_eq!(prepared.classes, ["b", "a"]);
        assert_eq!(prepared.expected_flows, 3);
        Ok(prepared.scenario.scheme.port.discipline)
    }

    fn queue(value: Value) -> Result<Queue, SpecError> {
        fctlab_core::spec::read(value)
    }

    #[test]
    fn ports_serve_the_classes_that_have_flows_as_they_appear() {
        let weights = |kind: &str| json!({"kind": kind, "weights": [1, 3]});
        for kind in ["wfq", "drr", "wrr"] {
            assert_eq!(of(kind), queue(weights(kind)), "{kind}");
        }
        let strict = json!({"kind": "strict", "classes": 2, "order": [1, 0]});
        assert_eq!(of("priority"), queue(strict));
        assert_eq!(of("fifo"), queue(json!("fifo")));
        assert_eq!(of("fq"), queue(json!("fq")));
    }

    #[test]
    fn another_scheme_is_its_preset() {
        let changed = spec(
            json!("fifo"),
            json!({"preset": "dctcp-rate", "thresh": "10KB", "header": "100B"}),
        );
        let prepared = |scheme| prepare(&changed, [arrival(0.0, 0)].into_iter(), scheme).unwrap();
        let (own, preset) = (
            prepared(None).scenario,
            prepared(Some("dctcp-rate")).scenario,
        );
        let threshold = |s: &fctlab_fabric::scenario::Scenario| json!(s.scheme.port.ecn_threshold);
        assert_eq!(
            (threshold(&own), own.packet.header.get()),
            (json!("10KB"), 100)
        );
        assert_eq!(
            (threshold(&preset), preset.packet.header.get()),
            (json!("24us"), 48)
        );
        assert_eq!(
            prepared(Some("hpcc")).scenario.scheme.transport.rule.kind(),
            "hpcc"
        );
        let error = prepare(&changed, [].into_iter(), Some("tcp")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cc.scheme: \"tcp\" is no scheme that has a model; known: dctcp-rate, hpcc"
        );
    }

    #[test]
    fn the_meter_stops_packets() {
        let spec = spec(json!("wfq"), json!("dctcp-rate"));
        let classes = spec.classes().unwrap();
        let candidate = Candidate::of(&spec, &classes);
        let flows = Flows::generate(&classes, spec.seed, span(&classes, 200_000)).unwrap();
        let meter = Meter {
            stop: Arc::new(true.into()),
            ..Meter::default()
        };
        let error = judged(&spec, &candidate, &flows, &meter).unwrap_err();
        assert!(error.to_string().contains("interrupted after"), "{error}");
    }
}
