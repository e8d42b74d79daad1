//! The functional model in place of packets: the same scenario and flows on
//! [`fctlab_link`] (swp, section 4).
//!
//! The model knows one bottleneck, congestion control as a function, and the
//! disciplines that tell classes or flows apart. What a scenario says beyond
//! that is refused here rather than ignored, except for what every scheme has:
//! parameters of a transport and of marking, for which those of the model stand,
//! buffers, NICs, routing and the tagger, which no discipline here reads.
//! All flows are held in memory.

use std::ops::ControlFlow;

use fctlab_core::units::PathScale;
use fctlab_core::{Bytes, PacketFormat, SpecError, spec};
use fctlab_link::control::Shared;
use fctlab_link::laws;
use fctlab_link::model::LONGEST_STEP;
use fctlab_link::queues::{Discipline, Sharing};
use fctlab_link::{Arrival, Control, Inside, Law, Link, Setup};
use fctlab_workload::{Flow, Traffic};
use serde_json::{Value, json};

use crate::completions::Completions;
use crate::disciplines::QueueSpec;
use crate::disciplines::classes;
use crate::measure::Extra;
use crate::network::{self, Fabric};
use crate::prepared::{Ended, Observer, Prepared, Sink};
use crate::scenario::{EngineSpec, Model, Scenario};
use crate::scheme::{self, Names, SchemeSpec};
use crate::settings::Settings;
use crate::transports::{RuleSpec, dctcp_rate, hpcc};

/// The link into the one receiver.
fn bottleneck(fabric: &Fabric) -> Result<&network::Link, SpecError> {
    let into = |sink| fabric.links.iter().find(|link| link.to == sink);
    let link = fabric.sink.and_then(into).ok_or_else(|| {
        let message = "the model has one bottleneck: it needs a topology with one receiver (star)";
        SpecError::new("engine", message)
    })?;
    if let Some(other) = fabric.links.iter().find(|l| l.rate != link.rate) {
        let message = format!(
            "the model's senders have links of the bottleneck's rate, {}; here {}",
            link.rate, other.rate
        );
        return Err(SpecError::new("engine", message));
    }
    Ok(link)
}

/// The bottleneck as the model sees it.
///
/// # Errors
/// There is none, or other links are slower or faster.
pub(crate) fn link(fabric: &Fabric, settings: &Settings) -> Result<Link, SpecError> {
    let rate = bottleneck(fabric)?.rate;
    Ok(Link {
        rate,
        rtt: fabric.base_rtt - rate.transmission_time(settings.format.full()) * 2,
    })
}

/// What the model's congestion control leaves unused of a link under a load of `wire`.
pub(crate) fn unused(
    scenario: &Scenario,
    fabric: &Fabric,
    settings: &Settings,
    traffic: &Traffic,
    wire: f64,
) -> f64 {
    let EngineSpec::Model(Model { cc: Some(cc) }) = &scenario.engine else {
        return 0.0;
    };
    // Other laws use all of a link; the sizes of a trace are a file to read.
    if !matches!(cc.law, Law::Rate(_)) {
        return 0.0;
    }
    let (Ok(link), Ok(Some(sizes))) = (link(fabric, settings), traffic.sizes()) else {
        return 0.0;
    };
    let first = sizes.work_up_to(cc.first_round_trip(&link)) / sizes.mean();
    cc.used(wire, wire * first) - wire
}

/// What is written at `engine.cc`, taken out: the default that it changes is that of the scheme.
pub(crate) fn take_cc(engine: &mut Value) -> Option<Value> {
    let table = engine.as_object_mut()?;
    let is_model = table.get("kind").is_some_and(|kind| kind == "model");
    is_model.then(|| table.shift_remove("cc"))?
}

/// The model of `scenario`, with the congestion control `cc` that was written, or that of the
/// scheme's transport.
///
/// # Errors
/// A transport for which there is none, and what the model cannot do.
pub(crate) fn resolve(
    cc: Option<Value>,
    scenario: &Scenario,
    settings: &Settings,
    fabric: &Fabric,
) -> Result<Model, SpecError> {
    check(scenario)?;
    if let Some(tier) = scenario.scheme.ports.keys().next() {
        let message = "has no meaning for the model; its one bottleneck is scheme.port";
        return Err(SpecError::new(format!("scheme.ports.{tier}"), message));
    }
    bottleneck(fabric)?;
    discipline(&scenario.scheme.port.discipline)?;
    let of_scheme = || of_scheme(scenario, settings);
    let control = match cc {
        None => of_scheme()?,
        Some(cc) => {
            let base = Control::needs_base(&cc).then(of_scheme).transpose()?;
            let written = Control::written(cc, base.as_ref());
            written.map_err(|e| e.under("cc").under("engine"))?
        }
    };
    Ok(Model { cc: Some(control) })
}

/// Keys of a scheme that the model reads, or that change nothing.
const READ: [&str; 11] = [
    "name",
    "transport.kind",
    "transport.g",
    "transport.increase",
    "transport.eta",
    "transport.additive_increase",
    "transport.int_bytes",
    "transport.min_rate",
    "transport.window_counts",
    "port.discipline",
    "port.ecn_threshold",
];

/// The keys of `scheme` that the model does not read and that say something else than those of the
/// preset for which the model's stands.
pub fn unread(scheme: &SchemeSpec) -> Vec<String> {
    differs(scheme, &READ)
}

/// The keys of `scheme` beside those that are `read` which say something else than those of the preset of its
/// transport.
pub(crate) fn differs(scheme: &SchemeSpec, read: &[&str]) -> Vec<String> {
    let discipline = &scheme.port.discipline;
    let usual = json!({"preset": scheme.transport.rule.kind(), "port": {"discipline": discipline}});
    let usual = scheme::expand(usual, &Names::default()).and_then(spec::read::<SchemeSpec>);
    let Ok(usual) = usual.map(|usual| json!(usual)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    differing("", &json!(scheme), &usual, read, &mut found);
    // What a NIC has from the port is said once.
    let of_port = |key: &str| key.strip_prefix("nic.").map(|key| format!("port.{key}"));
    let all = found.clone();
    found.retain(|key| of_port(key).is_none_or(|key| !all.contains(&key)));
    found
}

/// The paths at which `value` is not `usual`, but for those that are read.
fn differing(path: &str, value: &Value, usual: &Value, read: &[&str], found: &mut Vec<String>) {
    if read.contains(&path) || value == usual {
        return;
    }
    match (value, usual) {
        (Value::Object(value), Value::Object(usual)) => {
            for (key, value) in value {
                let usual = usual.get(key).unwrap_or(&Value::Null);
                differing(&spec::join(path, key), value, usual, read, found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

/// The scheme's congestion control as a function, with the parameters that both have.
fn of_scheme(scenario: &Scenario, settings: &Settings) -> Result<Control, SpecError> {
    let kind = scenario.scheme.transport.rule.kind();
    let preset = Control::preset(kind).map_err(|_| {
        let message = format!(
            "the model has no {kind}; it has dctcp-rate and hpcc, or what engine.cc says ({})",
            fctlab_link::control::PRESETS.join(", ")
        );
        SpecError::new("scheme.transport.kind", message)
    })?;
    let PacketFormat {
        payload, header, ..
    } = settings.wire;
    let mut shared = Shared {
        payload,
        header,
        ..preset.shared
    };
    let scale = &settings.scale;
    let law = match (&scenario.scheme.transport.rule, preset.law) {
        (RuleSpec::DctcpRate(rule), _) => {
            let threshold = scenario.scheme.port.ecn_threshold.ok_or_else(|| {
                let message = "is missing: dctcp-rate without marks never slows down";
                SpecError::new("scheme.port.ecn_threshold", message)
            })?;
            shared.thresh = threshold;
            dctcp(rule, scale)
        }
        (RuleSpec::Hpcc(rule), _) => hpcc(rule)?,
        (_, law) => law,
    };
    Ok(Control { shared, law })
}

/// DCTCP on a paced rate, as a law.
pub(crate) fn dctcp(rule: &dctcp_rate::Spec, scale: &PathScale) -> Law {
    Law::Dctcp(laws::dctcp::Spec {
        gain: rule.g,
        rise: Some(Bytes::new(rule.increase.bytes_per_rtt(scale))),
        min_rate: rule.min_rate,
    })
}

/// HPCC as a law.
///
/// # Errors
/// Its preset has a mistake.
pub(crate) fn hpcc(rule: &hpcc::Spec) -> Result<Law, SpecError> {
    let mut law = Control::preset("hpcc")?.law;
    if let Law::Hpcc(keys) = &mut law {
        keys.u_target = rule.eta;
        keys.additive_increase = rule.additive_increase;
        keys.min_rate = rule.min_rate;
        keys.window_counts = rule.window_counts;
    }
    Ok(law)
}

/// Refuses what the model knows nothing of.
fn check(scenario: &Scenario) -> Result<(), SpecError> {
    let refuse = |path: &str, what: &str| {
        let message = format!("{what}; remove it, or run the scenario with engine = \"packet\"");
        Err(SpecError::new(path, message))
    };
    let (record, extras) = (&scenario.record, &scenario.measure.extras);
    if *record != Default::default() {
        return refuse("record", "the model has no packets and no ports to record");
    }
    if extras.iter().any(|&extra| extra != Extra::Queries) {
        return refuse("measure.extras", "the model knows of queries only");
    }
    if scenario.scheme.shaper.is_some() {
        return refuse("scheme.shaper", "the model has no shaper");
    }
    if !scenario.capacity.is_empty() {
        return refuse("capacity", "the model's link has one rate");
    }
    if scenario
        .traffic
        .spacing
        .is_some_and(|spacing| spacing > 0.0)
    {
        return refuse("traffic.spacing", "the model's flows have all their bytes");
    }
    Ok(())
}

/// The discipline as a fluid, and the place of each class in it.
pub(crate) fn discipline(spec: &QueueSpec) -> Result<(Discipline, Vec<u16>), SpecError> {
    let inside = |inside| match inside {
        classes::Inside::Fifo => Inside::Fifo,
        classes::Inside::Fq => Inside::Fq,
    };
    let weighted = |weights: &[f64], own| (Sharing::Weights(weights.into()), inside(own), vec![]);
    let (sharing, inside, places) = match spec {
        QueueSpec::Fifo(_) => (Sharing::One, Inside::Fifo, Vec::new()),
        QueueSpec::Fq(_) => (Sharing::One, Inside::Fq, Vec::new()),
        QueueSpec::Strict(spec) => {
            let as_they_come = || (0..spec.classes as usize).collect();
            let order = spec.order.clone().unwrap_or_else(as_they_come);
            let mut places = vec![0; order.len()];
            for (place, class) in (0..).zip(order) {
                places[class] = place;
            }
            (Sharing::Priority, inside(spec.inside), places)
        }
        QueueSpec::Wrr(spec) => {
            let weights: Vec<f64> = spec.weights.iter().copied().map(f64::from).collect();
            weighted(&weights, spec.inside)
        }
        QueueSpec::Drr(spec) => weighted(&spec.weights, spec.inside),
        QueueSpec::Wfq(spec) => weighted(&spec.weights, spec.inside),
        other => {
            let message = format!(
                "the model has no {}; it has fifo, fq, strict, wrr, drr, wfq",
                other.kind()
            );
            return Err(SpecError::new("scheme.port.discipline", message));
        }
    };
    let discipline = Discipline {
        sharing,
        inside,
        always_backlogged: 0.0,
    };
    Ok((discipline, places))
}

/// Whether a flow leads to the bottleneck's receiver.
///
/// # Errors
/// One that leads elsewhere.
pub(crate) fn check_flow(flow: &Flow, fabric: &Fabric) -> Result<(), SpecError> {
    let receiver = fabric.sink.unwrap_or_default();
    if flow.dst == receiver {
        return Ok(());
    }
    let message = format!(
        "flow {} is for host {}, the model's bottleneck leads to host {receiver}",
        flow.id, flow.dst
    );
    Err(SpecError::new("traffic", message))
}

/// Runs the traffic through the model; `sink` gets a record of every flow in order of start.
///
/// # Errors
/// Traffic that cannot be read to its end.
pub(crate) fn run(
    spec: &Model,
    prepared: &Prepared,
    sink: &mut Sink<'_>,
    observe: &mut Observer<'_>,
) -> Result<Ended, SpecError> {
    let Prepared {
        scenario,
        fabric,
        settings,
        ..
    } = prepared;
    let mut completions = Completions::new(prepared)?;
    let (discipline, places) = discipline(&scenario.scheme.port.discipline)?;
    let classes = places.len().max(prepared.classes.len());
    let setup = setup(spec, settings, fabric, discipline, classes)?;
    let mut interrupted = false;
    let arrivals = completions.flows.iter().map(|flow| Arrival {
        start_s: flow.start.as_secs_f64(),
        size_bytes: flow.size.get() as f64,
        class: *places.get(usize::from(flow.class)).unwrap_or(&flow.class),
    });
    let arrivals: Vec<Arrival> = arrivals.collect();
    let steps = fctlab_link::simulate(&setup, arrivals, |done| {
        let index = done.index as usize;
        let wire = settings.format.wire_bytes(completions.flows[index].size);
        completions.end(index, done.fct_s - setup.link.ideal_s(wire as f64));
        interrupted = completions.finished().is_multiple_of(4096)
            && observe(&completions.progress()).is_break();
        if interrupted {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    if interrupted {
        return Ok(completions.interrupted(steps.steps));
    }
    Ok(completions.tell(steps.steps, sink))
}

/// The model's link and what it serves.
fn setup(
    spec: &Model,
    settings: &Settings,
    fabric: &Fabric,
    discipline: Discipline,
    classes: usize,
) -> Result<Setup, SpecError> {
    let classes = match &discipline.sharing {
        Sharing::Weights(weights) => weights.len(),
        Sharing::One | Sharing::Priority => classes,
    };
    Ok(Setup {
        link: link(fabric, settings)?,
        control: spec.cc.clone().unwrap_or_else(|| unreachable!("resolved")),
        discipline,
        classes,
        longest_step: LONGEST_STEP,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread_of(scheme: Value) -> Vec<String> {
        unread(&spec::read(scheme::expand(scheme, &Names::default()).unwrap()).unwrap())
    }

    #[test]
    fn what_is_not_read_is_known() {
        for kind in ["dctcp-rate", "hpcc"] {
            assert_eq!(unread_of(json!(kind)), Vec::<String>::new(), "{kind}");
        }
        let read = json!({
            "preset": "dctcp-rate",
            "transport": {"g": 0.5, "increase": "2pkt"},
            "port": {"ecn_threshold": "30KB", "discipline": {"kind": "wfq", "weights": [1, 2]}},
        });
        assert_eq!(unread_of(read), Vec::<String>::new());
        let not = json!({
            "preset": "dctcp-rate",
            "transport": {"initial_alpha": 0.5},
            "tagger": "sent",
            "port": {"buffer": "1MB"},
            "nic": {"discipline": "fq"},
        });
        let expected = [
            "transport.initial_alpha",
            "tagger.kind",
            "tagger.granularity",
            "port.buffer",
            "nic.discipline.kind",
        ];
        assert_eq!(unread_of(not), expected);
    }
}
