//! Flows with packet arrival slots, read and validated.
//!
//! ```json
//! {"ingress_ports": 1, "egress_ports": 1, "flows": [
//!     {"packets": [1, 1, 4]},
//!     {"packets": [[3, 10], 7], "weight": 2},
//!     {"arrival": 5, "size": 3, "every": 2, "ingress": 0, "egress": 0}]}
//! ```
//!
//! `packets` lists the slot in which each packet arrives, in order; `[3, 10]`
//! stands for ten packets in slot 3. The short form has `size` packets, the first
//! in slot `arrival`, each further one `every` slots later (0: all at once).

use fctlab_core::units::grouped;
use fctlab_core::{SpecError, spec};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Slots in which packets may arrive; what is sent later may exceed it.
pub const LAST_SLOT: u32 = 1 << 30;
/// Packets that all flows together may have.
pub const MOST_PACKETS: u32 = 1 << 29;
/// The largest weight: so small that a comparison of packets per weight is exact.
pub const MOST_WEIGHT: u32 = 65_535;
/// Ports on each side.
pub const MOST_PORTS: u32 = 1 << 16;

/// Packets of one flow that arrive in the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// When, from 1.
    pub slot: u32,
    /// How many, at least 1.
    pub count: u32,
}

/// A flow. Its bursts are in order, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// What people call it; `f1`, `f2`, ... unless they say otherwise.
    pub name: Option<String>,
    /// The port at which it enters, from 0.
    pub ingress: u32,
    /// The port at which it leaves, from 0.
    pub egress: u32,
    /// What a slot of its processing time costs.
    pub weight: u32,
    /// When its packets arrive.
    pub bursts: Vec<Burst>,
}

impl Flow {
    /// A flow of weight 1 between the ports 0.
    pub fn new(bursts: impl IntoIterator<Item = (u32, u32)>) -> Flow {
        let burst = |(slot, count)| Burst { slot, count };
        Flow {
            name: None,
            ingress: 0,
            egress: 0,
            weight: 1,
            bursts: bursts.into_iter().map(burst).collect(),
        }
    }
    /// How many packets it has.
    pub fn size(&self) -> u32 {
        self.bursts.iter().map(|b| b.count).sum()
    }
    /// When its first packet arrives.
    pub fn arrival(&self) -> u32 {
        self.bursts.first().map_or(1, |b| b.slot)
    }
    /// When its last packet arrives.
    pub fn complete(&self) -> u32 {
        self.bursts.last().map_or(1, |b| b.slot)
    }
    /// Whether the packet number `j` (from 1) arrives before slot `arrival + j`.
    pub fn is_gapless(&self) -> bool {
        let mut before = 0;
        self.bursts.iter().all(|b| {
            let in_time = b.slot <= self.arrival() + before;
            before += b.count;
            in_time
        })
    }
}

/// Flows and the switch that they meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// How many ports flows enter at.
    pub ingress_ports: u32,
    /// How many ports flows leave at.
    pub egress_ports: u32,
    /// The flows; ties that FIFO leaves go to the first of them.
    pub flows: Vec<Flow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InstanceSpec {
    #[allow(dead_code)]
    name: Option<String>,
    #[serde(default = "one")]
    ingress_ports: i64,
    #[serde(default = "one")]
    egress_ports: i64,
    flows: Vec<FlowSpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowSpec {
    name: Option<String>,
    #[serde(default)]
    ingress: i64,
    #[serde(default)]
    egress: i64,
    #[serde(default = "one")]
    weight: i64,
    arrival: Option<i64>,
    size: Option<i64>,
    every: Option<i64>,
    packets: Option<Vec<Value>>,
}

fn one() -> i64 {
    1
}

impl Instance {
    /// A switch with one port on each side.
    pub fn single(flows: Vec<Flow>) -> Instance {
        Instance {
            ingress_ports: 1,
            egress_ports: 1,
            flows,
        }
    }

    /// Reads and validates one.
    ///
    /// # Errors
    /// The first mistake, with its path.
    pub fn read(value: Value) -> Result<Instance, SpecError> {
        let spec: InstanceSpec = spec::read(value)?;
        let ports = |path, n| in_range(path, n, 1, MOST_PORTS, "number of ports");
        let instance = Instance {
            ingress_ports: ports("ingress_ports", spec.ingress_ports)?,
            egress_ports: ports("egress_ports", spec.egress_ports)?,
            flows: Vec::new(),
        };
        if spec.flows.is_empty() {
            return Err(SpecError::new("flows", "there is none"));
        }
        let flows = spec.flows.into_iter().enumerate().map(|(i, flow)| {
            read_flow(flow, &instance).map_err(|e| e.under(&format!("flows[{i}]")))
        });
        let flows = flows.collect::<Result<Vec<_>, _>>()?;
        let packets: u64 = flows.iter().map(|f| u64::from(f.size())).sum();
        if packets > u64::from(MOST_PACKETS) {
            let (packets, most) = (grouped(packets), grouped(MOST_PACKETS.into()));
            let message = format!("{packets} packets are more than {most}");
            return Err(SpecError::new("flows", message));
        }
        let instance = Instance { flows, ..instance };
        let weights: u64 = instance.flows.iter().map(|f| u64::from(f.weight)).sum();
        if weights >= 1 << 32 {
            let message = format!("weights add up to {weights}, 2^32 or more");
            return Err(SpecError::new("flows", message));
        }
        Ok(instance)
    }

    /// The instance as [`read`](Self::read) takes it.
    pub fn to_json(&self) -> Value {
        let flow = |flow: &Flow| {
            let packet = |b: &Burst| match b.count {
                1 => json!(b.slot),
                count => json!([b.slot, count]),
            };
            let mut value = Map::new();
            if let Some(name) = &flow.name {
                value.insert("name".into(), json!(name));
            }
            if self.ingress_ports > 1 {
                value.insert("ingress".into(), json!(flow.ingress));
            }
            if self.egress_ports > 1 {
                value.insert("egress".into(), json!(flow.egress));
            }
            if flow.weight != 1 {
                value.insert("weight".into(), json!(flow.weight));
            }
            let packets: Vec<_> = flow.bursts.iter().map(packet).collect();
            value.insert("packets".into(), json!(packets));
            Value::Object(value)
        };
        json!({
            "ingress_ports": self.ingress_ports,
            "egress_ports": self.egress_ports,
            "flows": self.flows.iter().map(flow).collect::<Vec<_>>(),
        })
    }

    /// How many packets there are.
    pub fn packets(&self) -> u64 {
        self.flows.iter().map(|f| u64::from(f.size())).sum()
    }
    /// Whether at most one packet can leave per slot: all flows share a port.
    pub fn is_single_port(&self) -> bool {
        let same =
            |port: fn(&Flow) -> u32| self.flows.iter().all(|f| port(f) == port(&self.flows[0]));
        same(|f| f.ingress) || same(|f| f.egress)
    }
    /// Whether every flow is gapless.
    pub fn is_gapless(&self) -> bool {
        self.flows.iter().all(Flow::is_gapless)
    }
    /// Whether all flows have the same weight.
    pub fn is_unweighted(&self) -> bool {
        self.flows.iter().all(|f| f.weight == self.flows[0].weight)
    }
    /// The name of a flow.
    pub fn name(&self, flow: usize) -> String {
        self.flows[flow]
            .name
            .clone()
            .unwrap_or_else(|| format!("f{}", flow + 1))
    }
}

fn in_range(path: &str, n: i64, low: u32, high: u32, what: &str) -> Result<u32, SpecError> {
    match u32::try_from(n) {
        Ok(n) if (low..=high).contains(&n) => Ok(n),
        _ => Err(SpecError::new(
            path,
            format!("{n} is not a {what} from {low} to {}", grouped(high.into())),
        )),
    }
}

fn read_slot(path: &str, n: i64) -> Result<u32, SpecError> {
    if n < 1 {
        return Err(SpecError::new(
            path,
            format!("{n} is not a slot: slots are numbered from 1"),
        ));
    }
    in_range(path, n, 1, LAST_SLOT, "slot")
}

fn read_port(path: &str, n: i64, ports: u32) -> Result<u32, SpecError> {
    match u32::try_from(n) {
        Ok(port) if port < ports => Ok(port),
        _ => Err(SpecError::new(
            path,
            format!(
                "{n} is not a port: there are {ports}, numbered 0 to {}",
                ports - 1
            ),
        )),
    }
}

fn read_flow(flow: FlowSpec, instance: &Instance) -> Result<Flow, SpecError> {
    let ingress = read_port("ingress", flow.ingress, instance.ingress_ports)?;
    let egress = read_port("egress", flow.egress, instance.egress_ports)?;
    let weight = in_range(
        "weight",
        flow.weight,
        1,
        MOST_WEIGHT,
        "weight (a whole number)",
    )?;
    let arrival = flow.arrival.map(|n| read_slot("arrival", n)).transpose()?;
    let size = match flow.size {
        Some(n) if n < 1 => {
            let message = format!("{n} packets: a flow has at least one");
            return Err(SpecError::new("size", message));
        }
        Some(n) => Some(in_range("size", n, 1, MOST_PACKETS, "number of packets")?),
        None => None,
    };
    let bursts = match (&flow.packets, arrival, size) {
        (Some(packets), arrival, size) => {
            if flow.every.is_some() {
                return Err(SpecError::new("every", "does not go with `packets`"));
            }
            let bursts = read_packets(packets, arrival)?;
            let found: u64 = bursts.iter().map(|b| u64::from(b.count)).sum();
            if let Some(size) = size.filter(|&s| u64::from(s) != found) {
                let message = format!("{size}, but `packets` lists {found}");
                return Err(SpecError::new("size", message));
            }
            if found > u64::from(MOST_PACKETS) {
                let (found, most) = (grouped(found), grouped(MOST_PACKETS.into()));
                let message = format!("{found} packets are more than {most}");
                return Err(SpecError::new("packets", message));
            }
            bursts
        }
        (None, Some(slot), Some(count)) => match flow.every.unwrap_or(0) {
            0 => vec![Burst { slot, count }],
            every => {
                let every = in_range("every", every, 0, LAST_SLOT, "number of slots")?;
                let last = u64::from(slot) + u64::from(every) * u64::from(count - 1);
                if last > u64::from(LAST_SLOT) {
                    let message = format!("the last packet would arrive in slot {last}");
                    return Err(SpecError::new("every", message));
                }
                (0..count)
                    .map(|j| Burst {
                        slot: slot + j * every,
                        count: 1,
                    })
                    .collect()
            }
        },
        _ => {
            let message = "is missing: write `packets`, or `arrival` and `size`";
            return Err(SpecError::new("packets", message));
        }
    };
    Ok(Flow {
        name: flow.name,
        ingress,
        egress,
        weight,
        bursts,
    })
}

fn read_packets(packets: &[Value], arrival: Option<u32>) -> Result<Vec<Burst>, SpecError> {
    let mut bursts: Vec<Burst> = Vec::with_capacity(packets.len());
    for (i, packet) in packets.iter().enumerate() {
        let path = format!("packets[{i}]");
        let pair = packet.as_array().and_then(|pair| match &pair[..] {
            [slot, count] => Some((slot.as_i64()?, count.as_i64()?)),
            _ => None,
        });
        let Some((slot, count)) = packet.as_i64().map(|slot| (slot, 1)).or(pair) else {
            let message = format!("{packet} is neither a slot nor [slot, count]");
            return Err(SpecError::new(path, message));
        };
        let slot = read_slot(&path, slot)?;
        let count = in_range(&path, count, 1, MOST_PACKETS, "number of packets")?;
        if let Some(arrival) = arrival {
            let message = match i {
                _ if slot < arrival => {
                    format!("slot {slot} is before the flow's arrival, slot {arrival}")
                }
                0 if slot > arrival => format!(
                    "slot {slot} is the first packet's, but the flow's arrival is slot {arrival}: \
                     a flow arrives with its first packet"
                ),
                _ => String::new(),
            };
            if !message.is_empty() {
                return Err(SpecError::new(path, message));
            }
        }
        match bursts.last_mut() {
            Some(last) if slot < last.slot => {
                let message = format!(
                    "slot {slot} is before slot {} of the packet before: packets are numbered as they arrive",
                    last.slot
                );
                return Err(SpecError::new(path, message));
            }
            Some(last) if slot == last.slot => {
                last.count = last.count.saturating_add(count).min(MOST_PACKETS + 1);
            }
            _ => bursts.push(Burst { slot, count }),
        }
    }
    if bursts.is_empty() {
        return Err(SpecError::new(
            "packets",
            "is empty: a flow has at least one packet",
        ));
    }
    Ok(bursts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(flow: Value) -> String {
        let value = json!({"ingress_ports": 2, "flows": [{"packets": [1]}, flow]});
        Instance::read(value).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_named() {
        for (flow, message) in [
            (
                json!({"arrival": 3, "packets": [2, 3]}),
                "flows[1].packets[0]: slot 2 is before the flow's arrival, slot 3",
            ),
            (
                json!({"packets": [-1]}),
                "flows[1].packets[0]: -1 is not a slot: slots are numbered from 1",
            ),
            (
                json!({"packets": [0]}),
                "flows[1].packets[0]: 0 is not a slot: slots are numbered from 1",
            ),
            (
                json!({"arrival": -4, "size": 1}),
                "flows[1].arrival: -4 is not a slot: slots are numbered from 1",
            ),
            (
                json!({"packets": [1], "ingress": 2}),
                "flows[1].ingress: 2 is not a port: there are 2, numbered 0 to 1",
            ),
            (
                json!({"packets": [1], "egress": 1}),
                "flows[1].egress: 1 is not a port: there are 1, numbered 0 to 0",
            ),
            (
                json!({"packets": [1], "egress": -1}),
                "flows[1].egress: -1 is not a port: there are 1, numbered 0 to 0",
            ),
            (
                json!({"packets": []}),
                "flows[1].packets: is empty: a flow has at least one packet",
            ),
            (
                json!({"arrival": 1, "size": 0}),
                "flows[1].size: 0 packets: a flow has at least one",
            ),
            (
                json!({"packets": [[1, 0]]}),
                "flows[1].packets[0]: 0 is not a number of packets from 1 to 536,870,912",
            ),
            (
                json!({"packets": [5, 4]}),
                "flows[1].packets[1]: slot 4 is before slot 5 of the packet before: packets are numbered as they arrive",
            ),
            (
                json!({"packets": [1.5]}),
                "flows[1].packets[0]: 1.5 is neither a slot nor [slot, count]",
            ),
            (
                json!({"packets": [1], "weight": 0}),
                "flows[1].weight: 0 is not a weight (a whole number) from 1 to 65,535",
            ),
            (
                json!({"packets": [1], "wieght": 2}),
                "flows[1].wieght: unknown key; did you mean \"weight\"? known here: name, ingress, egress, weight, arrival, size, every, packets",
            ),
            (
                json!({"arrival": 3}),
                "flows[1].packets: is missing: write `packets`, or `arrival` and `size`",
            ),
        ] {
            assert_eq!(error(flow), message);
        }
        assert_eq!(
            Instance::read(json!({"flows": []}))
                .unwrap_err()
                .to_string(),
            "flows: there is none"
        );
    }

    #[test]
    fn both_forms_are_read_and_written() {
        let value = json!({"flows": [
            {"packets": [1, 1, 4]},
            {"arrival": 5, "size": 3, "every": 2, "weight": 7},
            {"arrival": 2, "size": 3}]});
        let instance = Instance::read(value).unwrap();
        let bursts = [
            vec![(1, 2), (4, 1)],
            vec![(5, 1), (7, 1), (9, 1)],
            vec![(2, 3)],
        ];
        for (flow, expected) in instance.flows.iter().zip(bursts) {
            assert_eq!(flow.bursts, Flow::new(expected).bursts);
        }
        assert_eq!(Instance::read(instance.to_json()).unwrap(), instance);
        assert_eq!(instance.packets(), 9);
        assert!(instance.is_single_port() && !instance.is_unweighted());
    }

    #[test]
    fn gapless_means_that_packet_j_arrives_before_arrival_plus_j() {
        for (bursts, gapless) in [
            (vec![(3, 1), (4, 1), (5, 1)], true),
            (vec![(3, 2), (5, 1)], true),
            (vec![(3, 2), (6, 1)], false),
            (vec![(3, 1), (5, 1)], false),
        ] {
            assert_eq!(Flow::new(bursts).is_gapless(), gapless);
        }
    }
}
