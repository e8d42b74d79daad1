//! Parts of a scenario that do not meet: each is fine by itself, and its input is what no other
//! part gives. One line each, with the path of the part; a run goes on.

use fctlab_core::{SpecError, Time};

use crate::disciplines::{QueueSpec, published};
use crate::network::Fabric;
use crate::scenario::{EngineSpec, Scenario};
use crate::scheme::{EcnAt, Place};
use crate::settings::Settings;
use crate::taggers::Tagger;
use crate::taggers::remaining_time::Bandwidth;
use crate::transports::sender::{Holes, Rto};
use crate::{model, offered};

/// What to say about a scenario whose last flow starts at `last_start`: parts whose input nobody gives, and a load
/// that is high.
pub(crate) fn warnings(
    scenario: &Scenario,
    fabric: &Fabric,
    settings: &Settings,
    tiers: &[offered::Tier],
    last_start: Time,
) -> Vec<String> {
    let mut found: Vec<SpecError> = offered::warning(scenario, tiers).into_iter().collect();
    match scenario.engine {
        EngineSpec::Packet(_) => {
            let places = scenario.scheme.places(fabric).unwrap_or_default(); // checked
            found.extend(of_ports(scenario, settings, fabric, &places));
            found.extend(of_tags(scenario, settings, &places));
            found.extend(of_thresholds(scenario, last_start));
            found.extend(of_timers(scenario, settings, fabric));
            found.extend(of_holes(scenario));
        }
        // What it does not read is refused.
        EngineSpec::Fluid(_) => {}
        // It has neither buffers nor timers nor tags.
        EngineSpec::Model(_) => {
            let unread = model::unread(&scenario.scheme);
            let each = unread.iter().map(|key| format!("scheme.{key}"));
            let all = each.collect::<Vec<_>>().join(", ");
            found
                .extend((!all.is_empty()).then(|| {
                    SpecError::new("engine", format!("the model reads nothing of {all}"))
                }));
        }
    }
    found.iter().map(SpecError::to_string).collect()
}

/// Packets up to which a queue may be the burst with which one flow starts (RFC 6928).
const LEAST_MARKED: u64 = 10;

fn at(path: &str, message: String) -> SpecError {
    SpecError::new(path, message).under("scheme")
}

/// Thresholds and buffers, and who reacts to marks.
fn of_ports(
    scenario: &Scenario,
    settings: &Settings,
    fabric: &Fabric,
    places: &[Place<'_>],
) -> Vec<SpecError> {
    let (scheme, scale) = (&scenario.scheme, &settings.scale);
    let (transport, reacts) = (scheme.transport.rule.kind(), scheme.transport.rule.ecn());
    let of_port = |place: &Place<'_>| {
        // Thresholds and buffers may follow them.
        let rates = place.rates(fabric);
        let mut rates = rates.iter().map(|(rate, _)| *rate);
        let (port, key) = (place.port, format!("{}.ecn_threshold", place.key));
        let mut found = Vec::new();
        if let Some(threshold) = port.ecn_threshold {
            if !reacts {
                let message = format!("{threshold}: {transport} does not react to marks");
                found.push(at(&key, message));
            } else if port.ecn_at != EcnAt::Departures
                && let Some(rate) = rates.clone().find(|rate| {
                    threshold.bytes_at(*rate, scale) >= port.buffer.bytes_at(*rate, scale)
                })
            {
                let message = format!(
                    "{threshold} is not below the buffer ({}) of a port of {rate}: no packet is ever \
                     marked there",
                    port.buffer
                );
                found.push(at(&key, message));
            } else if let Some(rate) = rates
                .find(|rate| threshold.bytes_at(*rate, scale) < LEAST_MARKED * scale.packet_bytes)
            {
                let message = format!(
                    "{threshold} is less than {LEAST_MARKED} packets at a port of {rate}: bursts of single flows are \
                     marked"
                );
                found.push(at(&key, message));
            }
        }
        found
    };
    let own = &scheme.port;
    let mut found = Vec::new();
    for place in places {
        // What others have from the port is said once.
        let copied =
            (place.port.ecn_threshold, place.port.buffer) == (own.ecn_threshold, own.buffer);
        if place.key == "port" || !copied {
            found.extend(of_port(place));
        }
    }
    let bdp = scale.host_rate.bytes_in(scale.base_rtt).get();
    if own.buffer.bytes(scale) < bdp {
        let message = format!(
            "{} is less than a bandwidth-delay product ({bdp}B)",
            own.buffer
        );
        found.push(at("port.buffer", message));
    }
    if reacts
        && places
            .iter()
            .all(|place| place.port.ecn_threshold.is_none())
    {
        let message = format!("is \"none\": {transport} reacts to marks, and no port marks");
        found.push(at("port.ecn_threshold", message));
    }
    found
}

/// Thresholds that belong to other traffic, or that would have to follow it for longer.
fn of_thresholds(scenario: &Scenario, last_start: Time) -> Option<SpecError> {
    let discipline = &scenario.scheme.port.discipline;
    let said = |key: &str, message: String| {
        let key = format!("port.discipline.{key}");
        Some(at(&key, message))
    };
    if let QueueSpec::Priority(spec) = discipline
        && let Some(of) = spec.thresholds.numbers()
        && let Some(of) = published::workload_of(&of)
        && scenario.traffic.only_workload() != Some(of)
    {
        let message = format!(
            "are those that PIAS published for {of}, which is not the traffic; \"workload\" gives its own"
        );
        return said("thresholds", message);
    }
    if let Some((key, interval)) = discipline.learns_every()
        && Time::ZERO + interval >= last_start
    {
        let message = format!(
            "{}: flows arrive for {} only, so nothing is learned from them",
            interval.rounded(),
            last_start.since(Time::ZERO).rounded()
        );
        return said(key, message);
    }
    None
}

/// Who reads tags, and what the tag is made of.
fn of_tags(scenario: &Scenario, settings: &Settings, places: &[Place<'_>]) -> Vec<SpecError> {
    let scheme = &scenario.scheme;
    let mut found = Vec::new();
    if let Tagger::None(_) = scheme.tagger {
        let reader = places.iter().find(|p| p.port.discipline.reads_tags());
        if let Some(Place { key, port, .. }) = reader {
            let message = format!(
                "is \"none\": {} (scheme.{key}.discipline) goes by tags, and all are equal",
                port.discipline.kind()
            );
            found.push(at("tagger", message));
        }
    }
    if let Tagger::RemainingTime(spec) = &scheme.tagger {
        let estimates = scheme.transport.rule.start(1.0, &settings.scale).alpha();
        if spec.bandwidth == Bandwidth::Estimated && estimates.is_none() {
            let message = format!(
                "remaining-time divides by what alpha leaves of the link, and {} has no alpha: \
                 it counts as 0",
                scheme.transport.rule.kind()
            );
            found.push(at("tagger", message));
        }
    }
    found
}

/// Timeouts that come before an ACK can.
fn of_timers(scenario: &Scenario, settings: &Settings, fabric: &Fabric) -> Option<SpecError> {
    let sender = &scenario.scheme.transport.sender;
    let min_rto = sender.min_rto.resolve(&settings.scale);
    if sender.rto != Rto::Fixed || min_rto >= fabric.base_rtt {
        return None;
    }
    let message = format!(
        "{} is the fixed timeout, and an ACK takes a base RTT ({}): packets are sent again that \
         are not lost",
        min_rto.rounded(),
        fabric.base_rtt.rounded()
    );
    Some(at("transport.min_rto", message))
}

/// Holes that wait for a mark to shrink a window.
fn of_holes(scenario: &Scenario) -> Option<SpecError> {
    let transport = &scenario.scheme.transport;
    let message = format!(
        "is \"after-cut\": no mark shrinks a window of {}, so holes wait as if it were \"detected\"",
        transport.rule.kind()
    );
    (transport.sender.holes == Holes::AfterCut && !transport.rule.ecn())
        .then(|| at("transport.holes", message))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::scheme::PRESETS;

    fn said(scheme: Value, topology: Option<Value>, flows: u64) -> Vec<String> {
        let usual = json!({"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2,
            "host_rate": "10Gbps", "fabric_rate": "40Gbps", "base_rtt": "25us"});
        let value = json!({"topology": topology.unwrap_or(usual), "scheme": scheme,
            "traffic": {"workload": "websearch", "load": 0.5, "flows": flows}});
        crate::prepare::prepare(value, &[], std::path::Path::new(""))
            .unwrap()
            .warnings
    }

    #[test]
    fn presets_meet() {
        for preset in PRESETS {
            assert_eq!(
                said(json!(preset), None, 100_000),
                Vec::<String>::new(),
                "{preset}"
            );
        }
    }

    #[test]
    fn parts_that_do_not_meet_are_named() {
        let port = |port: Value| json!({"preset": "dctcp", "port": port});
        let slow = json!({"kind": "star", "senders": 4, "host_rate": "7Gbps", "base_rtt": "1ms"});
        for (scheme, topology, words) in [
            (
                port(json!({"ecn_threshold": "10MB"})),
                None,
                vec![
                    "scheme.port.ecn_threshold: 10MB is not below the buffer (240pkt + 2rtt) of a port of 10Gbps: no packet is \
                      ever marked there",
                ],
            ),
            (
                // 30 KB at a host's link, 120 KB between switches.
                port(json!({"ecn_threshold": "24us", "buffer": "100KB"})),
                None,
                vec![
                    "scheme.port.ecn_threshold: 24us is not below the buffer (100KB) of a port of 40Gbps: no packet is \
                      ever marked there",
                ],
            ),
            (
                json!({"preset": "tcp", "port": {"buffer": "20KB"}}),
                None,
                vec!["scheme.port.buffer: 20KB is less than a bandwidth-delay product (31250B)"],
            ),
            (
                json!({"preset": "tcp", "port": {"ecn_threshold": "65pkt"}}),
                None,
                vec!["scheme.port.ecn_threshold: 65pkt: tcp does not react to marks"],
            ),
            (
                port(json!({"ecn_threshold": "none"})),
                None,
                vec![
                    "scheme.port.ecn_threshold: is \"none\": dctcp reacts to marks, and no port \
                      marks",
                ],
            ),
            (
                port(json!({"ecn_threshold": "7pkt"})),
                None,
                vec![
                    "scheme.port.ecn_threshold: 7pkt is less than 10 packets at a port of 10Gbps: bursts of single \
                      flows are marked",
                ],
            ),
            (
                json!({"preset": "pias", "port": {"discipline": {"thresholds": "datamining@0.6"}}}),
                None,
                vec![
                    "scheme.port.discipline.thresholds: are those that PIAS published for datamining, which is not \
                      the traffic; \"workload\" gives its own",
                ],
            ),
            (
                json!({"preset": "awafs", "port": {"discipline": {"window": "1000s", "interval": "900s"}}}),
                None,
                vec![
                    "scheme.port.discipline.interval: 900 s: flows arrive for 4.57 s only, so nothing is learned \
                      from them",
                ],
            ),
            (
                json!({"preset": "pias", "tagger": "none"}),
                None,
                vec![
                    "scheme.tagger: is \"none\": priority (scheme.port.discipline) goes by tags, \
                      and all are equal",
                ],
            ),
            (
                json!({"preset": "pfabric", "tagger": "none"}),
                None,
                vec![
                    "scheme.tagger: is \"none\": srpt (scheme.port.discipline) goes by tags, and \
                      all are equal",
                ],
            ),
            (
                json!({"preset": "d-srtf", "transport": {"kind": "tcp"}, "port":
                    {"ecn_threshold": "none"}}),
                None,
                vec![
                    "scheme.tagger: remaining-time divides by what alpha leaves of the link, and \
                      tcp has no alpha: it counts as 0",
                ],
            ),
            (
                json!({"preset": "pfabric-paper", "port": {"buffer": "2MB"}}),
                Some(slow),
                vec![
                    "scheme.transport.min_rto: 45 us is the fixed timeout, and an ACK takes a base \
                      RTT (1 ms): packets are sent again that are not lost",
                ],
            ),
        ] {
            assert_eq!(said(scheme, topology, 10_000), words);
        }
    }
}
