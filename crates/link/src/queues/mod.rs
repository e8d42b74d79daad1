//! The discipline at the bottleneck: `queue = "wfq"` (swp, section 4.3).
//!
//! As a fluid, the disciplines of packets differ in three things only: whether
//! classes share a queue, how the link is divided among queues, and who is
//! served first inside one. Adding a discipline is one file and two lines below.

use serde::{Deserialize, Serialize};

pub mod drr;
pub mod fifo;
pub mod fq;
pub mod priority;
pub mod wfq;
pub mod wrr;

fctlab_core::parts! {
    /// What leaves the bottleneck next.
    pub enum QueueSpec, "queue discipline" {
        "fifo" => Fifo(fifo::Spec),
        "fq" => Fq(fq::Spec),
        "priority" => Priority(priority::Spec),
        "wrr" => Wrr(wrr::Spec),
        "drr" => Drr(drr::Spec),
        "wfq" => Wfq(wfq::Spec),
    }
}

/// Who is served first among the flows of one class.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Inside {
    /// First in, first out.
    #[default]
    Fifo,
    /// Fair queueing: all flows at the same rate.
    Fq,
}

/// How the link is divided among queues.
#[derive(Clone, Debug, PartialEq)]
pub enum Sharing {
    /// One queue for all classes.
    One,
    /// A queue per class; the first that has bytes waiting is served.
    Priority,
    /// A queue per class; those that have bytes waiting share by weight.
    Weights(Vec<f64>),
}

/// A discipline as the model needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Discipline {
    /// How the link is divided among queues.
    pub sharing: Sharing,
    /// Who is served first inside a queue.
    pub inside: Inside,
    /// The weight of a further queue that always has bytes waiting (swp, section
    /// 3.3: baselines); 0 for none. Counts with [`Sharing::Weights`] only.
    pub always_backlogged: f64,
}

impl QueueSpec {
    /// The discipline for classes with these weights.
    pub fn discipline(&self, weights: &[f64]) -> Discipline {
        let (sharing, inside) = match self {
            QueueSpec::Fifo(_) => (Sharing::One, Inside::Fifo),
            QueueSpec::Fq(_) => (Sharing::One, Inside::Fq),
            QueueSpec::Priority(spec) => (Sharing::Priority, spec.inside),
            QueueSpec::Wrr(wrr::Spec { inside })
            | QueueSpec::Drr(drr::Spec { inside })
            | QueueSpec::Wfq(wfq::Spec { inside }) => (Sharing::Weights(weights.into()), *inside),
        };
        Discipline {
            sharing,
            inside,
            always_backlogged: 0.0,
        }
    }

    /// Whether weights mean something to it.
    pub fn is_weighted(&self) -> bool {
        matches!(
            self,
            QueueSpec::Wrr(_) | QueueSpec::Drr(_) | QueueSpec::Wfq(_)
        )
    }
}

impl Discipline {
    /// Divides `capacity` among queues that can take `demands` (infinite where
    /// bytes are waiting); everything is used as long as someone can take it.
    pub fn share(&self, capacity: f64, demands: &[f64], shares: &mut [f64]) {
        match &self.sharing {
            Sharing::One => shares[0] = demands[0].min(capacity),
            Sharing::Priority => {
                let mut rest = capacity;
                for (share, demand) in shares.iter_mut().zip(demands) {
                    *share = demand.min(rest);
                    rest -= *share;
                }
            }
            Sharing::Weights(weights) => {
                let (mut rest, mut total) = (capacity, self.always_backlogged);
                total += weights.iter().sum::<f64>();
                shares.fill(f64::NAN);
                loop {
                    let mut changed = false;
                    for ((share, demand), weight) in shares.iter_mut().zip(demands).zip(weights) {
                        if share.is_nan() && *demand * total <= rest * weight {
                            *share = *demand;
                            rest -= demand;
                            total -= weight;
                            changed = true;
                        }
                    }
                    if !changed {
                        break;
                    }
                }
                for (share, weight) in shares.iter_mut().zip(weights) {
                    if share.is_nan() {
                        *share = rest.max(0.0) * weight / total;
                    }
                }
            }
        }
    }

    /// The capacity that each class may count on (swp, equation 10), given what
    /// each is served at and which share of the time it is active.
    ///
    /// The paper calls a class active when it has bytes queued or a packet on the
    /// wire; of a class without a queue that is a share of the time, its share of
    /// the link. Under strict priority (not in the paper) it is what the classes
    /// above leave.
    pub(crate) fn available(&self, capacity: f64, served: &[f64], active: &[f64], out: &mut [f64]) {
        match &self.sharing {
            Sharing::One => out[0] = capacity,
            Sharing::Priority => {
                let mut rest = capacity;
                for (out, served) in out.iter_mut().zip(served) {
                    *out = rest;
                    rest = (rest - served).max(0.0);
                }
            }
            Sharing::Weights(weights) => {
                let active_weights = weights.iter().zip(active).map(|(w, a)| w * a);
                let total = self.always_backlogged + active_weights.sum::<f64>();
                for ((out, weight), active) in out.iter_mut().zip(weights).zip(active) {
                    *out = capacity * weight / (total + weight * (1.0 - active));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f64 = f64::INFINITY;

    fn shares(sharing: Sharing, always_backlogged: f64, demands: &[f64]) -> Vec<f64> {
        let discipline = Discipline {
            sharing,
            inside: Inside::Fifo,
            always_backlogged,
        };
        let mut shares = vec![0.0; demands.len()];
        discipline.share(12.0, demands, &mut shares);
        shares
    }

    #[test]
    fn shares_by_hand() {
        assert_eq!(shares(Sharing::One, 0.0, &[20.0]), [12.0]);
        assert_eq!(
            shares(Sharing::Priority, 0.0, &[5.0, INF, INF]),
            [5.0, 7.0, 0.0]
        );
        let weights = || Sharing::Weights(vec![1.0, 2.0, 3.0]);
        assert_eq!(shares(weights(), 0.0, &[INF, INF, INF]), [2.0, 4.0, 6.0]);
        // The third takes 3 of its 6; the others share 9 as 1 to 2.
        assert_eq!(shares(weights(), 0.0, &[INF, INF, 3.0]), [3.0, 6.0, 3.0]);
        assert_eq!(shares(weights(), 0.0, &[1.0, 1.0, 1.0]), [1.0, 1.0, 1.0]);
        assert_eq!(shares(weights(), 6.0, &[INF, INF, INF]), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn capacity_of_equation_10() {
        let discipline = Discipline {
            sharing: Sharing::Weights(vec![1.0, 2.0, 3.0]),
            inside: Inside::Fifo,
            always_backlogged: 0.0,
        };
        let mut out = [0.0; 3];
        // Only the second is active: the first would have 1 of 3, the third 3 of 5.
        discipline.available(12.0, &[0.0; 3], &[0.0, 1.0, 0.0], &mut out);
        assert_eq!(out, [4.0, 12.0, 7.2]);
    }
}
