//! The load of each tier of links, computed before anything is simulated.
//!
//! Traffic, pattern and topology say how many bytes each link is expected to carry per second:
//! payload, headers, telemetry, and the ACKs of what goes the other way. Equal paths share
//! evenly, as ECMP and spraying do on average; retransmissions are not foreseen. A tier is the
//! links between two layers in one direction (`leaf -> spine`), and its load that of its busiest
//! link. On the functional model's bottleneck, what `cc.u_target` leaves unused counts too. Of classes that are active at different times those that load a link most count
//! together; of a link with a `[[capacity]]` its mean rate while flows start does.
//!
//! From a load of 1 on queues grow for as long as flows arrive, so that completion times say how
//! long the run is and nothing else: refused, unless `traffic.overload` says that it is meant.
//! Shortly below 1 it takes longer than most runs until queues are what they will be: warned of.
//! A trace is never refused: a list of flows may be a burst.

use std::collections::BTreeMap;

use fctlab_core::{Bytes, PacketFormat, SpecError, Time};
use fctlab_workload::{Demand, Matrix, Traffic};
use serde::Serialize;

use crate::network::Fabric;
use crate::scenario::{EngineSpec, Scenario};
use crate::settings::Settings;

/// Above this load a number depends on how long the run is.
const HIGH: f64 = 0.95;

/// The expected load of the busiest link of a tier, as shares of its rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tier {
    /// The layers: `leaf -> spine`.
    pub tier: String,
    /// The busiest link: `leaf 0 -> spine 1`.
    pub link: String,
    /// All of it.
    pub load: f64,
    /// Payload.
    pub data: f64,
    /// Headers.
    pub headers: f64,
    /// In-band telemetry.
    pub telemetry: f64,
    /// ACKs of data that goes the other way.
    pub acks: f64,
    /// The mean over all links of the tier.
    #[serde(skip)]
    pub mean: f64,
    /// What congestion control leaves unused beside all this: of the functional model's bottleneck.
    #[serde(skip_serializing_if = "is_none")]
    pub unused: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_none(share: &f64) -> bool {
    *share == 0.0
}

/// Bytes per second of each kind on one link.
type Parts = [f64; 4];

/// The tiers in order of their links, with what congestion control leaves `unused` of the busiest
/// under a load; none where the traffic is too little to have a load.
pub(crate) fn tiers(
    scenario: &Scenario,
    fabric: &Fabric,
    settings: &Settings,
    traffic: &Traffic,
    unused: impl Fn(f64) -> f64,
) -> Vec<Tier> {
    let demands = traffic.demands(&fabric.by_switch());
    let loads = demands
        .iter()
        .map(|d| of_links(scenario, fabric, settings, d));
    let loads: Vec<Vec<Parts>> = loads.collect();
    let span = traffic.span();
    // What is active changes where a class begins.
    let begins = demands.iter().map(|demand| demand.active.0);
    let together = begins.map(|at| {
        let active = demands.iter().map(|d| d.active.0 <= at && at < d.active.1);
        let mut sum = vec![Parts::default(); fabric.links.len()];
        for (load, _) in loads.iter().zip(active).filter(|(_, active)| *active) {
            for (sum, load) in sum.iter_mut().zip(load) {
                (0..sum.len()).for_each(|part| sum[part] += load[part]);
            }
        }
        by_tier(fabric, &sum, span)
    });
    let worst = |tiers: &Vec<Tier>| tiers.iter().map(|t| t.load).fold(0.0, f64::max);
    let most = together.max_by(|a, b| worst(a).total_cmp(&worst(b)));
    let mut most = most.unwrap_or_default();
    if let Some(busiest) = busiest(&most).map(|tier| tier.tier.clone()) {
        for tier in most.iter_mut().filter(|tier| tier.tier == busiest) {
            tier.unused = unused(tier.load);
            tier.load += tier.unused;
        }
    }
    most
}

/// What one class puts on each link.
fn of_links(
    scenario: &Scenario,
    fabric: &Fabric,
    settings: &Settings,
    demand: &Demand,
) -> Vec<Parts> {
    let PacketFormat { header, ack, .. } = settings.format;
    let telemetry = settings.wire.header.get() - header.get();
    // The model has the headers of its own parameters, and no ACKs.
    let (header, telemetry, ack) = match &scenario.engine {
        EngineSpec::Packet(_) | EngineSpec::Fluid(_) => (header.get(), telemetry, ack.get()),
        EngineSpec::Model(model) => {
            let header = model
                .cc
                .as_ref()
                .map_or(Bytes::new(0), |cc| cc.shared.header);
            (header.get(), 0, 0)
        }
    };
    let payload = spread(fabric, &demand.payload);
    let packets = spread(fabric, &demand.packets);
    let back = spread(fabric, &demand.packets.reversed());
    let links = payload.into_iter().zip(packets).zip(back);
    links
        .map(|((payload, packets), back)| {
            [
                payload,
                packets * header as f64,
                packets * telemetry as f64,
                back * ack as f64,
            ]
        })
        .collect()
}

/// What each link carries of `matrix`, equal paths sharing evenly.
fn spread(fabric: &Fabric, matrix: &Matrix) -> Vec<f64> {
    let mut links = vec![0.0; fabric.links.len()];
    for (host, &sent) in matrix.sent.iter().enumerate() {
        links[fabric.nics[host] as usize] += sent;
    }
    for (host, &received) in (0u32..).zip(&matrix.received) {
        links[fabric.routes.to_host(host) as usize] += received;
    }
    for to in 0..matrix.between.len() {
        // A host of this rack, if it has one; all go the same way.
        let rack = fabric.hosts + to as u32;
        let Some(dst) = fabric.switch_of.iter().position(|&switch| switch == rack) else {
            continue;
        };
        let mut here: Vec<f64> = matrix.between.iter().map(|row| row[to]).collect();
        here.resize(fabric.switches.len(), 0.0);
        while here.iter().any(|&amount| amount > 0.0) {
            let mut next = vec![0.0; here.len()];
            for (switch, &amount) in (0u32..).zip(&here).filter(|(_, amount)| **amount > 0.0) {
                let ports = fabric.routes.toward(switch, dst as u32);
                for &port in ports {
                    let each = amount / ports.len() as f64;
                    links[port as usize] += each;
                    next[(fabric.links[port as usize].to - fabric.hosts) as usize] += each;
                }
            }
            here = next;
        }
    }
    links
}

/// The busiest link of each tier, in bytes per second.
fn by_tier(fabric: &Fabric, links: &[Parts], span: Time) -> Vec<Tier> {
    let mut tiers: Vec<Tier> = Vec::new();
    let mut sums = BTreeMap::<String, (f64, f64)>::new();
    for (id, parts) in (0u32..).zip(links) {
        let link = &fabric.links[id as usize];
        let rate = match &link.schedule {
            Some(schedule) => schedule.mean_rate(span),
            None => link.rate.bps() as f64,
        };
        let [data, headers, telemetry, acks] = parts.map(|bytes| bytes * 8.0 / rate);
        let tier = Tier {
            tier: fabric.tier(id),
            link: String::new(),
            load: data + headers + telemetry + acks,
            data,
            headers,
            telemetry,
            acks,
            mean: 0.0,
            unused: 0.0,
        };
        let sum = sums.entry(tier.tier.clone()).or_default();
        *sum = (sum.0 + tier.load, sum.1 + 1.0);
        match tiers.iter_mut().find(|known| known.tier == tier.tier) {
            Some(known) if known.load >= tier.load => {}
            Some(known) => {
                *known = Tier {
                    link: fabric.port_name(id),
                    ..tier
                };
            }
            None => tiers.push(Tier {
                link: fabric.port_name(id),
                ..tier
            }),
        }
    }
    for tier in &mut tiers {
        let (sum, links) = sums[&tier.tier];
        tier.mean = sum / links;
    }
    tiers
}

/// Refuses traffic that offers a tier more than it carries, unless that is meant.
///
/// # Errors
/// Such a tier, its load, and what to change.
pub(crate) fn check(scenario: &Scenario, tiers: &[Tier]) -> Result<(), SpecError> {
    let traffic = &scenario.traffic;
    let Some(tier) = busiest(tiers).filter(|tier| tier.load >= 1.0) else {
        return Ok(());
    };
    if traffic.overload || traffic.trace.is_some() {
        return Ok(());
    }
    let (key, remedy) = match traffic.load {
        Some(load) => ("load", format!("it is full at {:.3}", load / tier.load)),
        None => ("classes", "their loads are to be lower".into()),
    };
    let message = format!(
        "offers {}: queues grow for as long as flows arrive; {remedy}, or write \
         traffic.overload = true",
        told(tier)
    );
    Err(SpecError::new(key, message).under("traffic"))
}

/// What is to be said of a load that is high, or that of a trace above what links carry.
pub(crate) fn warning(scenario: &Scenario, tiers: &[Tier]) -> Option<SpecError> {
    let tier = busiest(tiers).filter(|tier| tier.load > HIGH && !scenario.traffic.overload)?;
    let key = match (&scenario.traffic.trace, scenario.traffic.load) {
        (Some(_), _) => "trace",
        (None, Some(_)) => "load",
        (None, None) => "classes",
    };
    let message = format!(
        "offers {}: what is found depends on how long the run is",
        told(tier)
    );
    Some(SpecError::new(key, message).under("traffic"))
}

fn busiest(tiers: &[Tier]) -> Option<&Tier> {
    // The first of equal ones; sums of shares differ in their last digits.
    let more = |a: &Tier, b: &Tier| a.load > b.load * (1.0 + 1e-9);
    tiers
        .iter()
        .reduce(|most, tier| if more(tier, most) { tier } else { most })
}

/// A tier's load and what it is made of.
fn told(tier: &Tier) -> String {
    let Tier {
        data,
        headers,
        telemetry,
        acks,
        unused,
        ..
    } = tier;
    let telemetry = match telemetry {
        0.0 => String::new(),
        share => format!(", telemetry {share:.3}"),
    };
    let unused = match unused {
        0.0 => String::new(),
        share => format!(", {share:.3} that cc.u_target leaves unused"),
    };
    format!(
        "links {} {:.3} of their rate ({}: payload {data:.3}, headers {headers:.3}{telemetry}, \
         ACKs {acks:.3}{unused})",
        tier.tier, tier.load, tier.link
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(topology: Value, traffic: Value, scheme: &str, more: Value) -> Result<Vec<Tier>, String> {
        let mut value = json!({"topology": topology, "traffic": traffic, "scheme": scheme});
        for (key, table) in more.as_object().into_iter().flatten() {
            value[key] = table.clone();
        }
        let text = |e: SpecError| e.to_string();
        let prepared = crate::prepare::prepare(value, &[], std::path::Path::new(""));
        Ok(prepared.map_err(text)?.offered)
    }

    fn leaf_spine(fabric_rate: &str) -> Value {
        json!({"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4,
            "host_rate": "10Gbps", "fabric_rate": fabric_rate, "base_rtt": "40us"})
    }

    /// Payload 1460 B, header 40 B, ACK 40 B: 1500 B out, 40 B back.
    fn traffic(load: f64, pattern: Value) -> Value {
        json!({"workload": {"kind": "fixed", "size": "1460B"}, "load": load, "flows": 100,
            "pattern": pattern})
    }

    fn load(tiers: &[Tier], name: &str) -> f64 {
        tiers.iter().find(|tier| tier.tier == name).unwrap().load
    }

    #[test]
    fn by_hand() {
        let none = || json!({});
        let all = of(
            leaf_spine("40Gbps"),
            traffic(0.6, json!("all-to-all")),
            "dctcp",
            none(),
        );
        let all = all.unwrap();
        let names: Vec<&str> = all.iter().map(|tier| tier.tier.as_str()).collect();
        assert_eq!(
            names,
            [
                "host -> leaf",
                "leaf -> host",
                "leaf -> spine",
                "spine -> leaf"
            ]
        );
        let with_acks = 0.6 * 1540.0 / 1500.0;
        assert!((load(&all, "host -> leaf") - with_acks).abs() < 1e-12);
        assert!((load(&all, "leaf -> host") - with_acks).abs() < 1e-12);
        // 4 of 7 other hosts are in the other rack; 4 hosts of 10 Gbps share 2 links of 40.
        let up = with_acks * 4.0 / 7.0 * 40.0 / 80.0;
        assert!((load(&all, "leaf -> spine") - up).abs() < 1e-12);
        assert!((all[0].data - 0.6 * 1460.0 / 1500.0).abs() < 1e-12);
        assert!((all[0].headers - 0.6 * 40.0 / 1500.0).abs() < 1e-12);
        // HPCC: 42 B of telemetry, which the load does not count.
        let hpcc = of(
            leaf_spine("40Gbps"),
            traffic(0.6, json!("all-to-all")),
            "hpcc",
            none(),
        );
        let hpcc = hpcc.unwrap();
        assert!((hpcc[0].telemetry - 0.6 * 42.0 / 1500.0).abs() < 1e-12);
        // One receiver: nothing but ACKs comes from it.
        let one = of(
            leaf_spine("40Gbps"),
            traffic(0.6, json!("many-to-one")),
            "dctcp",
            none(),
        );
        let one = one.unwrap();
        assert!((load(&one, "leaf -> host") - 0.6).abs() < 1e-12);
        assert!((load(&one, "host -> leaf") - 0.6 / 7.0).abs() < 1e-12);
        // Half of the time half of the rate: 100 flows of 100 / 7 in 20 us each.
        let slow = json!({"capacity": [{"links": ["host 0 -> leaf 0"],
            "changes": [{"at": "0s", "rate": "5Gbps"}]}]});
        let slow = of(
            leaf_spine("40Gbps"),
            traffic(0.4, json!("all-to-all")),
            "dctcp",
            slow,
        );
        let slow = slow.unwrap();
        assert_eq!(slow[0].link, "host 0 -> leaf 0");
        assert!((slow[0].load - 2.0 * 0.4 * 1540.0 / 1500.0).abs() < 1e-12);
    }

    #[test]
    fn a_fat_tree_carries_what_its_hosts_do() {
        let topology = json!({"kind": "fat-tree", "k": 4, "host_rate": "10Gbps",
            "link_delay": "1us"});
        let found = of(
            topology,
            traffic(0.5, json!("inter-rack")),
            "dctcp",
            json!({}),
        )
        .unwrap();
        // 14 of 16 hosts are in other racks, 12 in other pods.
        let all = 0.5 * 1540.0 / 1500.0;
        assert!((load(&found, "edge -> aggregation") - all).abs() < 1e-12);
        assert!((load(&found, "aggregation -> core") - all * 12.0 / 14.0).abs() < 1e-12);
        assert!((load(&found, "core -> aggregation") - all * 12.0 / 14.0).abs() < 1e-12);
    }

    #[test]
    fn the_model_counts_what_its_target_leaves_unused() {
        let of = |cc: Value, load: f64| {
            let star =
                json!({"kind": "star", "senders": 4, "host_rate": "100Gbps", "base_rtt": "10us"});
            let offered = json!({"workload": "websearch_bytes", "load": load, "flows": 100});
            of(
                star,
                offered,
                "dctcp-rate",
                json!({"engine": {"kind": "model", "cc": cc}}),
            )
        };
        let rate = |u: f64| json!({"preset": "swp-d", "beta": 1.0, "u_target": u});
        let load = |cc: Value| busiest(&of(cc, 0.6).unwrap()).unwrap().load;
        // With beta 1 controlled flows aim at U less all that is uncontrolled.
        assert!((load(rate(0.8)) / load(rate(1.0)) - 1.25).abs() < 1e-12);
        // With beta 0 what is uncontrolled may fill what U leaves.
        let some = load(json!({"preset": "swp-d", "beta": 0.0, "u_target": 0.8}));
        assert!(load(rate(1.0)) < some && some < load(rate(0.8)), "{some}");
        let refused = of(rate(0.5), 0.6).unwrap_err();
        assert!(
            refused.contains("that cc.u_target leaves unused"),
            "{refused}"
        );
    }

    #[test]
    fn overload_is_refused_unless_meant() {
        let refused =
            |traffic: Value| of(leaf_spine("1Gbps"), traffic, "dctcp", json!({})).unwrap_err();
        let text = refused(traffic(0.6, json!("inter-rack")));
        assert!(
            text.starts_with(
                "traffic.load: offers links leaf -> spine 12.320 of their rate (leaf "
            ),
            "{text}"
        );
        assert!(
            text.contains("it is full at 0.049, or write traffic.overload = true"),
            "{text}"
        );
        let mut meant = traffic(0.6, json!("inter-rack"));
        meant["overload"] = json!(true);
        assert!(of(leaf_spine("1Gbps"), meant, "dctcp", json!({})).is_ok());
        let class = |from: &str| json!({"class": from, "load": 0.6, "from": from, "until": "3ms"});
        let mut classes = traffic(0.5, json!("all-to-all"));
        classes.as_object_mut().unwrap().shift_remove("load");
        classes["classes"] = json!([class("1ms")]);
        assert!(refused(classes).starts_with("traffic.classes: offers links leaf -> spine "));
    }
}
