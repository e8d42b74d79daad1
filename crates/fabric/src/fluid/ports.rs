//! What a scenario says, as the fluid takes it; what it knows nothing of is refused.

use fctlab_core::units::RttTime;
use fctlab_core::{SpecError, WindowCounts};
use fctlab_link::laws::clocked;
use fctlab_link::queues::{Discipline, Sharing};
use fctlab_link::{Inside, Law, Line, Paced};

use super::lanes::Marks;
use crate::disciplines::QueueSpec;
use crate::measure::Extra;
use crate::model;
use crate::network::Fabric;
use crate::network::routing::RoutingSpec;
use crate::scenario::{Fluid, Scenario};
use crate::scheme::{EcnAt, EcnScope, Place};
use crate::settings::Settings;
use crate::transports::{RuleSpec, dctcp};

/// The port at the tail of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    /// The number of its discipline.
    pub discipline: u32,
    /// By what bytes are marked; the threshold is infinite without marks.
    pub marks: Marks,
    /// Whether all that waits at the port counts for that, or the queue of a class.
    pub marks_by_port: bool,
    /// Bytes that may wait.
    pub buffer: f64,
}

/// The ports of a fabric.
pub(super) struct Ports {
    /// By number of link.
    pub of_link: Vec<Port>,
    pub disciplines: Vec<Discipline>,
    /// The numbers of those of switches.
    at_switches: Vec<usize>,
    /// For each discipline the place of each class in it.
    pub classes: Vec<Vec<u16>>,
}

/// How flows send.
#[derive(Clone, Debug)]
pub(super) enum Sending {
    /// Windows of a law, paced.
    Paced(Law),
    /// Windows as hosts have them, which their NICs alone pace.
    Clocked(clocked::Spec),
}

impl Sending {
    /// Which bytes of a packet a window counts.
    pub(super) fn counts(&self) -> WindowCounts {
        match self {
            Sending::Paced(law) => law.counts(),
            Sending::Clocked(_) => WindowCounts::Wire,
        }
    }

    /// A flow that sends over `line`; there is none of a law without windows.
    pub(super) fn flow(&self, line: &Line) -> Option<Paced> {
        match self {
            Sending::Paced(law) => Paced::new(law, line),
            Sending::Clocked(spec) => Some(Paced::clocked(spec, line)),
        }
    }

    /// Whether packets of a flow come one right behind the other.
    pub(super) fn comes_in_trains(&self) -> bool {
        matches!(self, Sending::Clocked(_))
    }

    /// Whether switches write into packets what they have sent and what waits.
    pub(super) fn reads_telemetry(&self) -> bool {
        matches!(self, Sending::Paced(Law::Hpcc(_)))
    }
}

/// Keys of a scheme that the fluid reads, or that change nothing. Those of ports are checked port by port.
const READ: [&str; 18] = [
    "name",
    "ports",
    "transport.kind",
    "transport.g",
    "transport.increase",
    "transport.min_rate",
    "transport.eta",
    "transport.additive_increase",
    "transport.int_bytes",
    "transport.window_counts",
    "port.discipline",
    "port.ecn_threshold",
    "port.ecn_scope",
    "port.buffer",
    "nic.discipline",
    "nic.buffer",
    "nic.ecn_scope",
    "routing.kind",
];

/// More of them where windows are not paced. Nothing is lost, so no timer expires.
const READ_BY_WINDOWS: [&str; 14] = [
    "transport.initial_window",
    "transport.initial_alpha",
    "transport.window_limits",
    "transport.rto",
    "transport.min_rto",
    "transport.initial_rto",
    "transport.max_rto",
    "transport.rto_backoff",
    "transport.rto_restarts",
    "transport.fast_retransmit",
    "transport.dupack_threshold",
    "port.ecn_at",
    "nic.ecn_at",
    "nic.ecn_threshold",
];

fn refuse(path: impl Into<String>, what: &str) -> SpecError {
    let message = format!("{what}, or run the scenario with engine = \"packet\"");
    SpecError::new(path, message)
}

/// Checks that the fluid can run `scenario`.
///
/// # Errors
/// The first thing that it knows nothing of, with its path and what is allowed.
pub(crate) fn check(
    spec: &Fluid,
    scenario: &Scenario,
    settings: &Settings,
    fabric: &Fabric,
) -> Result<(), SpecError> {
    check_records(scenario)?;
    sending(settings)?;
    check_scheme(scenario)?;
    if scenario
        .traffic
        .spacing
        .is_some_and(|spacing| spacing > 0.0)
    {
        return Err(refuse(
            "traffic.spacing",
            "the fluid's flows have all their bytes at once; remove it",
        ));
    }
    if !scenario.capacity.is_empty() {
        return Err(refuse(
            "capacity",
            "the fluid's links have one rate; remove it",
        ));
    }
    let ports = ports(scenario, settings, fabric)?;
    let step = step(spec, &ports, settings);
    let longest = LONGEST.resolve(&settings.scale);
    let resolved = step.resolve(&settings.scale);
    if resolved.ps() == 0 || resolved > longest {
        let message = format!("{step} is not in (0, {LONGEST}]");
        return Err(SpecError::new("engine.step", message));
    }
    places(fabric).map(drop)
}

/// The longest step: what is sent in one is acked in the next at the earliest, but inside a rack.
const LONGEST: RttTime = RttTime::Rtts(1.0);
/// Shorter ones.
const HALF: RttTime = RttTime::Rtts(0.5);
const QUARTER: RttTime = RttTime::Rtts(0.25);

/// How long a step is.
///
/// Windows that are paced are told as well in long steps. Trains of DCTCP as hosts have it are spread over a step, and under strict
/// priority what comes in a step is ordered by class: there steps are short. Where switches serve flows fairly, what comes of one in
/// a step counts as if it came evenly, and small flows wait too little if steps are long.
pub(super) fn step(spec: &Fluid, ports: &Ports, settings: &Settings) -> RttTime {
    let at_switches = ports.at_switches.iter();
    let mut disciplines = at_switches.map(|&number| &ports.disciplines[number]);
    let is_fair = disciplines.clone().any(|each| each.inside == Inside::Fq);
    let is_strict = disciplines.any(|each| each.sharing == Sharing::Priority);
    spec.step.unwrap_or(match settings.rule {
        RuleSpec::DctcpRate(_) | RuleSpec::Hpcc(_) if is_strict => QUARTER,
        RuleSpec::DctcpRate(_) | RuleSpec::Hpcc(_) if is_fair => HALF,
        RuleSpec::DctcpRate(_) | RuleSpec::Hpcc(_) => LONGEST,
        _ => QUARTER,
    })
}

/// The place of each link in the order in which paths pass them.
///
/// # Errors
/// There is none: paths lead round a ring.
pub(super) fn places(fabric: &Fabric) -> Result<Vec<u32>, SpecError> {
    fabric.places_of_links().map_err(|ring| {
        let names: Vec<String> = ring.iter().map(|&link| fabric.port_name(link)).collect();
        let what = format!(
            "paths lead round a ring ({}), and the fluid needs an order of links; take a topology whose paths go up and \
             then down",
            names.join(", ")
        );
        refuse("topology", &what)
    })
}

fn check_records(scenario: &Scenario) -> Result<(), SpecError> {
    if scenario.record != Default::default() {
        return Err(refuse(
            "record",
            "the fluid has no packets to record; remove it",
        ));
    }
    let extras = &scenario.measure.extras;
    let known = [Extra::Queries, Extra::Waits];
    if extras.iter().any(|extra| !known.contains(extra)) {
        return Err(refuse(
            "measure.extras",
            "the fluid knows of \"queries\" and \"waits\" only; remove the others",
        ));
    }
    Ok(())
}

fn check_scheme(scenario: &Scenario) -> Result<(), SpecError> {
    let scheme = &scenario.scheme;
    let RoutingSpec::Ecmp(_) = &scheme.routing else {
        let kind = scheme.routing.kind();
        let what =
            format!("the fluid has one path for each flow, and {kind} has several; take ecmp");
        return Err(refuse("scheme.routing", &what));
    };
    if scheme.shaper.is_some() {
        return Err(refuse(
            "scheme.shaper",
            "the fluid has no shaper; remove it",
        ));
    }
    let windows = matches!(scheme.transport.rule, RuleSpec::Dctcp(_));
    let more: &[&str] = if windows { &READ_BY_WINDOWS } else { &[] };
    match model::differs(scheme, &[&READ, more].concat()).first() {
        None => Ok(()),
        Some(key) => Err(refuse(
            format!("scheme.{key}"),
            "the fluid knows only what the preset says here; remove it",
        )),
    }
}

/// How the scheme's flows send.
///
/// # Errors
/// The fluid does not have it.
pub(super) fn sending(settings: &Settings) -> Result<Sending, SpecError> {
    match &settings.rule {
        RuleSpec::DctcpRate(rule) => Ok(Sending::Paced(model::dctcp(rule, &settings.scale))),
        RuleSpec::Hpcc(rule) => model::hpcc(rule).map(Sending::Paced),
        RuleSpec::Dctcp(rule) => clocked(rule, settings).map(Sending::Clocked),
        rule => {
            let kind = rule.kind();
            let what = format!("the fluid has no {kind}; take dctcp, dctcp-rate or hpcc");
            Err(refuse("scheme.transport.kind", &what))
        }
    }
}

/// DCTCP's windows.
///
/// # Errors
/// Marks that let windows grow.
fn clocked(rule: &dctcp::Spec, settings: &Settings) -> Result<clocked::Spec, SpecError> {
    if rule.echoes != dctcp::Echoes::Hold {
        let what = "windows of the fluid do not grow with marks; write \"hold\"";
        return Err(refuse("scheme.transport.echoes", what));
    }
    Ok(clocked::Spec {
        gain: rule.g,
        initial_alpha: rule.initial_alpha,
        initial_window: settings.sender.initial_window,
    })
}

/// The ports of all links.
///
/// # Errors
/// A discipline that the fluid does not have, or marks by other rules than its own.
pub(super) fn ports(
    scenario: &Scenario,
    settings: &Settings,
    fabric: &Fabric,
) -> Result<Ports, SpecError> {
    let none = Port {
        discipline: 0,
        marks: Marks {
            threshold: f64::INFINITY,
            arrivals: false,
        },
        marks_by_port: true,
        buffer: f64::INFINITY,
    };
    let mut ports = Ports {
        of_link: vec![none; fabric.links.len()],
        disciplines: Vec::new(),
        at_switches: Vec::new(),
        classes: Vec::new(),
    };
    let places = scenario.scheme.places(fabric);
    for place in places.map_err(|e| e.under("scheme"))? {
        let (discipline, classes) = discipline(&place, &settings.rule)?;
        let number = ports.disciplines.len() as u32;
        for &link in &place.links {
            let rate = fabric.links[link as usize].rate;
            let threshold = place.port.ecn_threshold;
            let arrivals = place.port.ecn_at == EcnAt::Enqueue;
            // A switch that says what waits does not count the packet on its way: one that leaves then, half of one when
            // another comes, which counts itself.
            let full = settings.wire.full() as f64;
            let more = if arrivals { -0.5 * full } else { full };
            let threshold = threshold.map(|k| k.bytes_at(rate, &settings.scale) as f64 + more);
            ports.of_link[link as usize] = Port {
                discipline: number,
                marks: Marks {
                    threshold: threshold.unwrap_or(f64::INFINITY),
                    arrivals,
                },
                marks_by_port: place.port.ecn_scope == EcnScope::Port,
                buffer: place.port.buffer.bytes_at(rate, &settings.scale) as f64,
            };
        }
        if place.key != "nic" {
            ports.at_switches.push(ports.disciplines.len());
        }
        ports.disciplines.push(discipline);
        ports.classes.push(classes);
    }
    Ok(ports)
}

/// The discipline of a place, and the place of each class in it.
fn discipline(place: &Place<'_>, rule: &RuleSpec) -> Result<(Discipline, Vec<u16>), SpecError> {
    let Place { key, port, .. } = place;
    let at = |name: &str| format!("scheme.{key}.{name}");
    let (discipline, classes) = model::discipline(&port.discipline).map_err(|_| {
        let kind = port.discipline.kind();
        let what = format!("the fluid has no {kind}; take fifo, fq, strict, wrr, drr or wfq");
        refuse(at("discipline"), &what)
    })?;
    let takes_turns = matches!(
        port.discipline,
        QueueSpec::Fifo(_) | QueueSpec::Fq(_) | QueueSpec::Wfq(_)
    );
    if key == "nic" && !takes_turns {
        // A flow has one packet there at a time, so a class that is alone in it loses its turn, but under wfq.
        return Err(refuse(
            at("discipline"),
            "the fluid's flows take turns at their NICs; write fifo, fq or wfq there",
        ));
    }
    if port.ecn_threshold.is_none() {
        let marks = matches!(rule, RuleSpec::DctcpRate(_) | RuleSpec::Dctcp(_));
        if !marks || key == "nic" || place.links.is_empty() {
            return Ok((discipline, classes));
        }
        let kind = rule.kind();
        let message = format!("is missing: {kind} without marks never slows down");
        return Err(SpecError::new(at("ecn_threshold"), message));
    }
    if key == "nic" && !matches!(rule, RuleSpec::Dctcp(_)) {
        return Err(refuse(
            at("ecn_threshold"),
            "the fluid's NICs mark nothing; write \"none\"",
        ));
    }
    if port.ecn_at == EcnAt::Departures {
        return Err(refuse(
            at("ecn_at"),
            "the fluid marks by what waits; write \"enqueue\" or \"dequeue\"",
        ));
    }
    Ok((discipline, classes))
}
