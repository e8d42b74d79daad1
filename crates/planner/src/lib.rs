//! SLOs without priorities ("SWP", section 3): predict, plan, provision.
//!
//! 1. [`spec`]: a network, traffic classes, their SLIs ([`fctlab_workload::sli`]) and SLOs
//!    ([`fctlab_workload::slo`]); one type, one validator.
//!    [`spec::load`]: whether the link can take it. [`accuracy`]: whether the model is right there.
//! 2. [`evaluate`]: one run of the functional model ([`fctlab_link`]) with given
//!    weights, reduced to each SLI with its 95% interval and each class's loss.
//! 3. [`predict`]: simulates until every interval is tight, or says that it is not.
//! 4. [`optimize`]: weights: baselines, algorithm 1, and a search that balances
//!    the classes' losses on common random numbers, over the device's grid too.
//! 5. [`plan`] and [`provision`] (whose search is [`capacity`]): what the commands print.
//! 6. [`packets`]: the same flows packet by packet, judged likewise.
//! 7. [`api`]: all of it with JSON on both sides, for the binding; [`tables`]: single flows,
//!    [`fabric`]: those of a whole fabric, run elsewhere.
//!
//! [`flows`] are made once per question and shared by all candidates: two weights,
//! or two capacities, differ only in what the link does with the same flows.

pub mod accuracy;
pub mod api;
pub mod capacity;
pub mod evaluate;
pub mod fabric;
pub mod flows;
pub mod limit;
mod look;
pub mod optimize;
pub mod packets;
pub mod plan;
pub mod predict;
pub mod provision;
mod reasons;
pub mod spec;
pub mod tables;

pub use spec::Spec;
