//! The theory bench: a slotted big switch, as in sections II-VI of "ASCC".
//!
//! Time is slotted, slots are numbered from 1, packets have unit size. In each
//! slot packets arrive first; then the switch sends packets of flows that share
//! neither an ingress nor an egress port, the first unsent packet of each. A
//! policy is nothing but an order of the flows that have packets waiting: the
//! switch goes through them in that order and takes every flow whose two ports
//! are still free (pFabric's "Ideal" algorithm with that order), so what is sent
//! is a maximal matching. Ties are broken in FIFO order, then by flow number.
//!
//! What happens in one question:
//!
//! * [`instance`]: flows with packet arrival slots, validated.
//! * [`policies`]: one file and two registry lines per policy; `ga` turns any
//!   policy into one that needs no flow sizes.
//! * [`switch`]: runs a policy over an instance; one port pair is a heap.
//! * [`schedule`]: who sent when, in stretches of slots.
//! * [`metrics`]: FCT, FPT and weighted FPT from the slots in which flows end.
//! * [`optimum`]: the least FPT there is: exact where that is possible, otherwise
//!   a certified lower bound, and always labelled as what it is.
//! * [`families`]: the constructions in the proofs, and the paper's figures 1-3.
//! * [`worst`]: random instances, and a search for bad ones.
//! * [`theorems`]: what holds for every instance, checked on one.
//! * [`api`]: all of it with JSON on both sides, for the binding.
//!
//! Everything is an integer: no float decides an order or a bound.

pub mod api;
pub mod families;
pub mod instance;
pub mod metrics;
pub mod optimum;
pub mod policies;
pub mod schedule;
pub mod switch;
pub mod theorems;
pub mod worst;

pub use instance::{Burst, Flow, Instance};
pub use metrics::{Metric, Metrics};
pub use optimum::{Label, Optimum};
pub use policies::{Policy, PolicySpec};
