//! From what is written to what is run: every default filled in, every check made.

mod topology;
mod trace;

use std::path::Path;

use fctlab_core::units::{PathScale, grouped};
use fctlab_core::{Bytes, Duration, PacketFormat, SpecError, Time, edit, spec};
use fctlab_workload::sizes::MAX_SIZE;
use fctlab_workload::{Rows, TraceSource, Traffic};
use serde_json::{Map, Value};

use crate::disciplines::{QueueSpec, Surroundings};
use crate::engine::port;
use crate::measure::Extra;
use crate::network::Fabric;
use crate::prepared::Prepared;
use crate::scenario::{EngineSpec, Scenario, not_a_table, version};
use crate::scheme::{self, Names, Place, SchemeSpec};
use crate::settings::{NO_LIMIT, Settings};
use crate::telemetry::MAX_HOPS;
use crate::warnings::warnings;
use crate::{fluid, model, offered};

/// Prepares a scenario: applies `sets` (`path=value` pairs, the value in TOML
/// or bare text) in order, merges presets, fills in defaults, and makes every check there is.
/// Relative file names are taken from `folder`.
///
/// # Errors
/// The first mistake, with its path, the value and what is allowed; a file that cannot be read.
pub fn prepare(
    mut value: Value,
    sets: &[(String, String)],
    folder: &Path,
) -> Result<Prepared, SpecError> {
    for (path, text) in sets {
        edit::set(&mut value, path, text)?;
    }
    let tiers = value["ports"].clone();
    let prepared =
        read(value, sets, folder).and_then(|(scenario, cc)| complete(scenario, cc, folder));
    prepared.map_err(|error| as_written(error, &tiers))
}

/// An error in a scheme's tier as one in the scenario's `tiers`, if it is there that it was written.
fn as_written(mut error: SpecError, tiers: &Value) -> SpecError {
    let Some(path) = error.path.strip_prefix("scheme.") else {
        return error;
    };
    let in_nic = path
        .strip_prefix("nic.")
        .and_then(|path| path.split('.').next());
    let in_tier = |tier: &String| {
        let inside = path
            .strip_prefix("ports.")
            .and_then(|path| path.strip_prefix(tier));
        inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let written = tiers.as_object();
    if in_nic.is_some_and(|key| tiers["nic"].get(key).is_some()) {
        error.path = format!("ports.{path}");
    } else if written.is_some_and(|tiers| tiers.keys().any(in_tier)) {
        error.path = path.to_owned();
    }
    error
}

/// The same of a scenario without `traffic`, which replays `rows`. Its text has no traffic either.
///
/// # Errors
/// As [`prepare`]; a row that is no flow of its fabric.
pub fn prepare_replay(mut value: Value, rows: Rows) -> Result<Prepared, SpecError> {
    value["traffic"] = Value::Object(Map::new());
    let folder = Path::new("");
    let (mut scenario, cc) = read(value, &[], folder)?;
    scenario.traffic.trace = Some(TraceSource::Rows(rows.into()));
    complete(scenario, cc, folder)
}

/// Fills in every default, and makes every check; `cc` is what is written at `engine.cc`.
fn complete(
    mut scenario: Scenario,
    cc: Option<Value>,
    folder: &Path,
) -> Result<Prepared, SpecError> {
    scenario
        .traffic
        .resolve(folder)
        .map_err(|e| e.under("traffic"))?;
    scenario
        .measure
        .window(&scenario.traffic)
        .map_err(|e| e.under("measure"))?;
    topology::read(&mut scenario.topology, folder).map_err(|e| e.under("topology"))?;
    let fabric = scenario.fabric()?;
    scenario.base_rtt_s = Some(fabric.base_rtt.as_secs_f64());
    scenario.traffic.resolve_on(&fabric.layout());
    let traffic = scenario.traffic_on(&fabric)?;
    resolve_disciplines(&mut scenario, &fabric, &traffic, folder)?;
    // Those of a warm-up come on top.
    let flows = scenario.traffic.flows;
    let flows = flows.filter(|_| scenario.measure.warmup == Duration::ZERO);
    scenario
        .record
        .check(&fabric, flows)
        .map_err(|e| e.under("record"))?;
    let settings = settings(&scenario, &fabric)?;
    match &scenario.engine {
        EngineSpec::Packet(_) if scenario.measure.extras.contains(&Extra::Waits) => {
            let message = "\"waits\" is counted by engine = \"fluid\" alone; of packets record.waits has the longest";
            return Err(SpecError::new("measure.extras", message));
        }
        EngineSpec::Packet(_) => {}
        EngineSpec::Model(_) => {
            let resolved = model::resolve(cc, &scenario, &settings, &fabric)?;
            scenario.engine = EngineSpec::Model(resolved);
        }
        EngineSpec::Fluid(spec) => fluid::check(spec, &scenario, &settings, &fabric)?,
    }
    let unused = |wire| model::unused(&scenario, &fabric, &settings, &traffic, wire);
    let offered = offered::tiers(&scenario, &fabric, &settings, &traffic, unused);
    offered::check(&scenario, &offered)?;
    let classes = traffic.class_names().to_vec();
    check_classes(&scenario, &fabric, &classes)?;
    let (expected_flows, last_start) = (traffic.expected_flows(), traffic.span());
    trace::check(&scenario, &fabric, traffic)?;
    let warnings = warnings(&scenario, &fabric, &settings, &offered, last_start);
    Ok(Prepared {
        scenario,
        fabric,
        settings,
        classes,
        expected_flows,
        offered,
        warnings,
    })
}

/// Reads and computes what the disciplines refer to.
fn resolve_disciplines(
    scenario: &mut Scenario,
    fabric: &Fabric,
    traffic: &Traffic,
    folder: &Path,
) -> Result<(), SpecError> {
    let SchemeSpec {
        port,
        nic,
        ports,
        tagger,
        ..
    } = &mut scenario.scheme;
    let around = Surroundings {
        base_dir: folder,
        fabric,
        workload: scenario.traffic.only_workload(),
        traffic,
        tagger,
    };
    let resolved = |discipline: &QueueSpec, key: &str| {
        let mut discipline = discipline.clone();
        let resolved = discipline.resolve(&around);
        let resolved = resolved.map_err(|e| e.under("discipline").under(key));
        resolved.map(|()| discipline)
    };
    let written = port.discipline.clone();
    port.discipline = resolved(&written, "scheme.port")?;
    let tiers = ports
        .iter_mut()
        .map(|(tier, spec)| (format!("scheme.ports.{tier}"), spec));
    for (key, spec) in tiers.chain([("scheme.nic".to_owned(), &mut nic.port)]) {
        // What these have from the port is found once.
        spec.discipline = if spec.discipline == written {
            port.discipline.clone()
        } else {
            resolved(&spec.discipline, &key)?
        };
    }
    Ok(())
}

/// The scenario that is written, `sets` applied, presets merged, and what is written at `engine.cc`.
fn read(
    mut value: Value,
    sets: &[(String, String)],
    folder: &Path,
) -> Result<(Scenario, Option<Value>), SpecError> {
    let Value::Object(map) = &mut value else {
        return Err(not_a_table(&value));
    };
    let names = Names::of(map, folder)?;
    for key in ["presets", "schemes"] {
        map.shift_remove(key);
    }
    if let Some(written) = map.get("version") {
        check_version(written).map_err(|e| e.under("version"))?;
    }
    check_computed(map, sets)?;
    // A resolved scenario is resolved anew, by this version.
    map.insert("version".into(), version().into());
    let given = map.get_mut("scheme").map(Value::take);
    let given = given.ok_or_else(|| {
        let message = format!(
            "is missing; write a preset ({}) or a table",
            names.known().join(", ")
        );
        SpecError::new("scheme", message)
    })?;
    let given = match map.shift_remove("ports") {
        Some(ports) => scheme::with_ports(given, ports).map_err(|e| e.under("scheme"))?,
        None => given,
    };
    map["scheme"] = scheme::expand(given, &names).map_err(|e| e.under("scheme"))?;
    let cc = map.get_mut("engine").and_then(model::take_cc);
    let scenario: Scenario = spec::read(value)?;
    check_format(&scenario.packet)?;
    Ok((scenario, cc))
}

/// Refuses what is computed where a person wrote it, which is anywhere but in a resolved scenario.
fn check_computed(
    written: &Map<String, Value>,
    sets: &[(String, String)],
) -> Result<(), SpecError> {
    const KEY: &str = "base_rtt_s";
    let resolved = written.contains_key("version");
    if written.contains_key(KEY) && !resolved || sets.iter().any(|(path, _)| path == KEY) {
        let message =
            "is computed from the topology; change topology.base_rtt, or delays and rates";
        return Err(SpecError::new(KEY, message));
    }
    Ok(())
}

/// Refuses what a later version has resolved: its keys may mean something else.
fn check_version(written: &Value) -> Result<(), SpecError> {
    let numbers = |text: &str| {
        let parts: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        parts.ok().filter(|parts| parts.len() == 3)
    };
    let (this, text) = (version(), written.as_str().unwrap_or_default());
    let message = match numbers(text) {
        None => format!("{written} is not a version such as {this:?}"),
        Some(later) if Some(&later) > numbers(&this).as_ref() => {
            format!("{text} is later than this fctlab ({this}); leave it out to read it as it is")
        }
        Some(_) => return Ok(()),
    };
    Err(SpecError::new("", message))
}

fn check_format(format: &PacketFormat) -> Result<(), SpecError> {
    let limit = u64::from(u16::MAX);
    if format.payload.get() == 0 || format.full() > limit {
        let message = format!(
            "{} with its header is not in [1B, {limit}B]",
            format.payload
        );
        return Err(SpecError::new("packet.payload", message));
    }
    if format.ack.get() == 0 || format.ack.get() > limit {
        let message = format!("{} is not in [1B, {limit}B]", format.ack);
        return Err(SpecError::new("packet.ack", message));
    }
    Ok(())
}

/// What a scenario says, resolved against its fabric.
///
/// # Errors
/// The first value that does not fit the fabric or another.
fn settings(scenario: &Scenario, fabric: &Fabric) -> Result<Settings, SpecError> {
    let scheme = &scenario.scheme;
    let format = scenario.packet;
    let telemetry = scheme.transport.rule.telemetry();
    let int_bytes = telemetry.map_or(0, Bytes::get);
    let wire = PacketFormat {
        header: Bytes::new(format.header.get() + int_bytes),
        ..format
    };
    if wire.full() > u64::from(u16::MAX) {
        let message = format!(
            "{} with its header and {int_bytes}B of telemetry is above {}B",
            format.payload,
            u16::MAX
        );
        return Err(SpecError::new("packet.payload", message));
    }
    if telemetry.is_some() {
        check_hops(scheme.transport.rule.kind(), fabric)?;
    }
    let scale = PathScale {
        packet_bytes: wire.full(),
        payload_bytes: format.payload.get(),
        host_rate: fabric.layout().host_rate,
        base_rtt: fabric.base_rtt,
    };
    let least_payload = MAX_SIZE.get() / u64::from(u32::MAX) + 1;
    if format.payload.get() < least_payload {
        let message = format!("{} is less than {least_payload}B", format.payload);
        return Err(SpecError::new("packet.payload", message));
    }
    for place in scheme.places(fabric).map_err(|e| e.under("scheme"))? {
        let (discipline, key) = (&place.port.discipline, &place.key);
        port::check(&place, fabric, &scale).map_err(|e| e.under(key).under("scheme"))?;
        let (largest, takes) = (scheme.tagger.largest(), discipline.largest_tag());
        if largest > takes {
            let (tagger, discipline) = (scheme.tagger.kind(), discipline.kind());
            let (largest, takes) = (grouped(largest), grouped(takes));
            let message = format!(
                "{tagger} writes tags up to {largest}, but {discipline} (scheme.{key}) takes no more than {takes}"
            );
            return Err(SpecError::new("scheme.tagger", message));
        }
    }
    scheme
        .tagger
        .check()
        .map_err(|e| e.under("tagger").under("scheme"))?;
    if let Some(shaper) = &scheme.shaper {
        let checked = shaper.check(&scale);
        checked.map_err(|e| e.under("scheme.shaper"))?;
    }
    let sender = scheme.transport.resolve(&scale);
    let receiving = scheme.transport.receiving();
    let window = scenario.measure.window(&scenario.traffic);
    Ok(Settings {
        format,
        wire,
        scale,
        sender: sender.map_err(|e| e.under("scheme.transport"))?,
        receiving: receiving.map_err(|e| e.under("scheme.transport"))?,
        rule: scheme.transport.rule.clone(),
        spacing: scenario.traffic.spacing.unwrap_or(0.0),
        seed: scenario.seed(),
        sees_bandwidth: scheme.tagger.sees_bandwidth(),
        tagger: scheme.tagger.clone(),
        telemetry: telemetry.is_some(),
        paced: scheme.transport.rule.paced(),
        spaced: scheme.transport.rule.paced() || scheme.shaper.is_some(),
        nic_limit: scheme
            .nic
            .per_flow_limit
            .map_or(NO_LIMIT, |n| n.min(NO_LIMIT)),
        fct_ends: scenario.measure.fct_ends,
        window: window.map_err(|e| e.under("measure"))?,
        stop: scenario.measure.stop,
        end_at: scenario
            .measure
            .max_time
            .map_or(Time::NEVER, |d| Time::ZERO + d),
    })
}

/// Checks that telemetry has room for every switch on the longest path.
fn check_hops(transport: &str, fabric: &Fabric) -> Result<(), SpecError> {
    let path = fabric.routes.longest_path(fabric);
    let (Some(first), Some(last)) = (path.first(), path.last()) else {
        return Ok(());
    };
    let hops = path.len() - 1; // the first port is the host's own
    if hops <= MAX_HOPS {
        return Ok(());
    }
    let name = |node| fabric.node_name(node);
    let (from, to) = (
        name(fabric.links[*first as usize].from),
        name(fabric.links[*last as usize].to),
    );
    let message = format!(
        "the longest path, {from} to {to}, has {hops} switches; {transport} works with at most {MAX_HOPS}, \
         which is what its telemetry has room for"
    );
    Err(SpecError::new("topology", message))
}

/// Checks that ports that serve traffic classes know all of them.
fn check_classes(
    scenario: &Scenario,
    fabric: &Fabric,
    classes: &[String],
) -> Result<(), SpecError> {
    let places = scenario.scheme.places(fabric);
    for Place { key, port, links } in places.map_err(|e| e.under("scheme"))? {
        if let Some(known) = port.discipline.classes()
            && known < classes.len()
            && !links.is_empty()
        {
            let (kind, names) = (port.discipline.kind(), classes.join(", "));
            let message = format!(
                "{kind} serves {known} of the {} classes of the traffic ({names})",
                classes.len()
            );
            return Err(SpecError::new(format!("scheme.{key}.discipline"), message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hosts at the ends of a row of switches.
    fn row(switches: u32) -> Fabric {
        let nodes = [vec![0], (2..2 + switches).collect(), vec![1]].concat();
        Fabric::of(2, switches, nodes.windows(2).map(|ends| (ends[0], ends[1])))
    }

    #[test]
    fn telemetry_has_room_for_the_longest_path() {
        assert_eq!(check_hops("hpcc", &row(MAX_HOPS as u32)), Ok(()));
        assert_eq!(
            check_hops("hpcc", &row(6)).unwrap_err().to_string(),
            "topology: the longest path, host 1 to host 0, has 6 switches; hpcc works with at most 5, which is \
             what its telemetry has room for"
        );
    }
}
