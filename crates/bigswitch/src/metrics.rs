//! Latency of a schedule, from the slots in which its flows end (section III).

use serde::{Deserialize, Serialize};

use crate::instance::Instance;

/// What is minimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Flow processing time: the sum of the slots in which flows end.
    #[default]
    Fpt,
    /// The same, each flow times its weight.
    WeightedFpt,
}

/// Totals over the flows of a schedule, in slots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Flow processing time: the sum of the slots in which flows end.
    pub fpt: u64,
    /// Flow completion time: slots from each flow's arrival to its end, both included.
    pub fct: u64,
    /// `fct` per flow.
    pub afct: f64,
    /// `fpt` with each flow times its weight.
    pub weighted_fpt: u64,
}

impl Metric {
    /// What a slot of a flow's processing time costs.
    pub fn weight(self, instance: &Instance, flow: usize) -> u64 {
        match self {
            Metric::Fpt => 1,
            Metric::WeightedFpt => u64::from(instance.flows[flow].weight),
        }
    }
    /// The metric of a schedule that ends flow `i` in slot `ends[i]`.
    pub fn of(self, instance: &Instance, ends: &[u32]) -> u64 {
        (0..)
            .zip(ends)
            .map(|(i, &end)| self.weight(instance, i) * u64::from(end))
            .sum()
    }
}

impl Metrics {
    /// The metrics of a schedule that ends flow `i` in slot `ends[i]`.
    pub fn new(instance: &Instance, ends: &[u32]) -> Metrics {
        let flows = instance.flows.iter().zip(ends);
        let fct = flows
            .map(|(flow, &end)| u64::from(end - flow.arrival() + 1))
            .sum();
        Metrics {
            fpt: Metric::Fpt.of(instance, ends),
            fct,
            afct: fct as f64 / ends.len() as f64,
            weighted_fpt: Metric::WeightedFpt.of(instance, ends),
        }
    }
}
