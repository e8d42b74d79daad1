//! Who is expected to send how much to whom: the load before any flow is drawn.

use std::ops::Range;

use fctlab_core::Time;

use crate::{HostLayout, Offered};

/// What a stream of flows is expected to send per second while it is active.
#[derive(Clone, Debug)]
pub struct Demand {
    /// Its flows start from the first instant on and before the second.
    pub active: (Time, Time),
    /// Payload bytes per second.
    pub payload: Matrix,
    /// Data packets per second.
    pub packets: Matrix,
}

/// A quantity per second, by sender, by receiver and by pair of racks.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// What each host sends.
    pub sent: Vec<f64>,
    /// What each host receives.
    pub received: Vec<f64>,
    /// What goes from rack to rack: `between[from][to]`.
    pub between: Vec<Vec<f64>>,
}

impl Matrix {
    fn new(layout: &HostLayout) -> Self {
        let racks = layout
            .rack_of
            .iter()
            .max()
            .map_or(0, |&rack| rack as usize + 1);
        Matrix {
            sent: vec![0.0; layout.rack_of.len()],
            received: vec![0.0; layout.rack_of.len()],
            between: vec![vec![0.0; racks]; racks],
        }
    }

    /// `receivers` names, for a sender, ranges of hosts and what each of a range's gets.
    pub(crate) fn of(
        layout: &HostLayout,
        receivers: impl Fn(u32, &mut dyn FnMut(Range<u32>, f64)),
    ) -> Self {
        let mut matrix = Matrix::new(layout);
        let rack_of = &layout.rack_of;
        for (rack, row) in matrix.between.iter_mut().enumerate() {
            // What each host gets from this rack, as differences from the host before it.
            let mut changes = vec![0.0; rack_of.len() + 1];
            let senders = (0u32..).zip(rack_of).filter(|(_, r)| **r as usize == rack);
            for (src, _) in senders {
                receivers(src, &mut |hosts, each| {
                    changes[hosts.start as usize] += each;
                    changes[hosts.end as usize] -= each;
                    matrix.sent[src as usize] += each * f64::from(hosts.end - hosts.start);
                });
            }
            let mut gets = 0.0;
            for (dst, change) in changes[..rack_of.len()].iter().enumerate() {
                gets += change;
                matrix.received[dst] += gets;
                row[rack_of[dst] as usize] += gets;
            }
        }
        matrix
    }

    /// Of pairs of hosts.
    pub(crate) fn of_pairs(
        layout: &HostLayout,
        pairs: impl Iterator<Item = (u32, u32, f64)>,
    ) -> Self {
        let mut matrix = Matrix::new(layout);
        for (src, dst, amount) in pairs {
            let (src, dst) = (src as usize, dst as usize);
            matrix.sent[src] += amount;
            matrix.received[dst] += amount;
            let racks = (layout.rack_of[src] as usize, layout.rack_of[dst] as usize);
            matrix.between[racks.0][racks.1] += amount;
        }
        matrix
    }

    /// `factor` times as much.
    fn times(&self, factor: f64) -> Self {
        let scaled = |values: &[f64]| values.iter().map(|value| value * factor).collect();
        Matrix {
            sent: scaled(&self.sent),
            received: scaled(&self.received),
            between: self.between.iter().map(|row| scaled(row)).collect(),
        }
    }

    /// The way of the ACKs.
    pub fn reversed(&self) -> Self {
        let racks = 0..self.between.len();
        let column = |to: usize| self.between.iter().map(|row| row[to]).collect();
        Matrix {
            sent: self.received.clone(),
            received: self.sent.clone(),
            between: racks.map(column).collect(),
        }
    }
}

impl Demand {
    /// Of flows whose pairs have the `shares` of a pattern.
    pub(crate) fn new(active: (Time, Time), shares: &Matrix, offered: &Offered) -> Self {
        let flows = offered.flows_per_s;
        Demand {
            active,
            payload: shares.times(flows * offered.mean_size_bytes),
            packets: shares.times(flows * offered.mean_packets),
        }
    }
}

#[cfg(test)]
mod tests {
    use fctlab_core::random::Seed;
    use fctlab_core::{PacketFormat, Rate};
    use serde_json::json;

    use super::*;
    use crate::TrafficSpec;

    #[test]
    fn expectations_are_what_many_flows_are() {
        let layout = HostLayout {
            rack_of: vec![0, 0, 0, 1, 1, 2],
            host_rate: Rate::from_gbps(10),
            rates: Vec::new(),
            sink: None,
        };
        for pattern in [
            json!("all-to-all"),
            json!("inter-rack"),
            json!("permutation"),
            json!("many-to-one"),
            json!({"kind": "matrix", "rack_local": 0.0}),
            json!({"kind": "triangle", "half": "upper"}),
            json!({"kind": "triangle", "half": "lower"}),
            json!({"kind": "incast", "fanin": 3}),
            json!({"kind": "incast", "fanin": 3, "receiver": 2}),
        ] {
            let spec = json!({"load": 0.5, "flows": 60_000, "pattern": pattern,
                "workload": {"kind": "fixed", "size": "3KB"}});
            let spec: TrafficSpec = fctlab_core::spec::read(spec).unwrap();
            let traffic = spec
                .build(&layout, &PacketFormat::default(), Seed(1))
                .unwrap();
            let demand = traffic.demands(&layout).remove(0);
            let total: f64 = demand.payload.sent.iter().sum();
            assert!((demand.packets.sent[0] * 1000.0 - demand.payload.sent[0]).abs() < 1e-3);
            let mut seen = Matrix::new(&layout);
            for flow in traffic {
                let (src, dst) = (flow.src as usize, flow.dst as usize);
                seen.sent[src] += 1.0 / 60_000.0;
                seen.received[dst] += 1.0 / 60_000.0;
                seen.between[layout.rack_of[src] as usize][layout.rack_of[dst] as usize] +=
                    1.0 / 60_000.0;
            }
            // Binomial(60000, p): five standard deviations are at most 0.0102; queries of
            // three flows have one receiver.
            let near =
                |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a / total - b).abs() < 0.018);
            assert!(near(&demand.payload.sent, &seen.sent), "{pattern}");
            assert!(near(&demand.payload.received, &seen.received), "{pattern}");
            for (a, b) in demand.payload.between.iter().zip(&seen.between) {
                assert!(near(a, b), "{pattern}");
            }
        }
    }
}
