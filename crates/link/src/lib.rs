//! The functional model of one bottleneck link ("SWP: Microsecond Network SLOs
//! Without Priorities", section 4): no packets, rates instead.
//!
//! ```text
//!   flows ──▶ senders: at r_init for one RTT, ──tau──▶ bottleneck: a fluid queue per class,
//!             then at a rate that follows R(t)          served at C by a discipline
//!                    ▲                                        │
//!                    └── capacity, uncontrolled rate, queue ◀─┘  (tau and 2 tau late)
//! ```
//!
//! * [`control`]: the parameters of table 1, and presets (table 2); [`laws`]: how flows react, a file each.
//! * [`queues`]: the discipline at the bottleneck: which classes share a queue,
//!   how the link is divided among queues, who is served first inside one.
//! * [`flows`]: the flows of several classes as one list in order of start.
//! * [`model`]: what happens from one event to the next; `bottleneck`: one queue, with its senders.
//!
//! Beside the paper's law there are DCTCP's and HPCC's own ([`laws::Law`]): a flow has a window
//! (`window`) that reacts to what ACKs bring (`acks`, `heard`), instead of a rate that follows R(t).
//! [`Paced`] is such a flow by itself, for networks of links: what is acked, and when, is told from outside. There a
//! window may be without a pace, too ([`laws::clocked`]).
//!
//! **How it gets fast.** All controlled flows of a class follow the same R(t),
//! so a flow's rate is a reference rate plus a deviation that decays as
//! exp(-t / (eta tau)): once that is spent a flow is one entry in a heap ordered
//! by virtual work (`sender`). Events (a flow starts, ends its first round
//! trip, sends its last byte) are borders of steps; between them a step is at
//! most one tau long. R(t) over a step is exactly the average of what was
//! signalled one round trip earlier (`signal`), since every signal is at least
//! that old, so nothing is solved implicitly. Idle time costs one step.
//!
//! The model's clock runs at the senders; the bottleneck's is tau later
//! throughout, so that one delay of 2 tau is left. Times are `f64` seconds: a
//! fluid has no ties to break. The naive form of the same equations, in steps of
//! fixed length, is in `tests/naive`, and both must agree.

mod acks;
mod bottleneck;
pub mod control;
mod fair;
mod flow;
pub mod flows;
mod heard;
pub mod laws;
mod marks;
pub mod model;
mod pacing;
pub mod queues;
mod sender;
mod signal;
mod window;

pub use bottleneck::Backlog;
pub use control::Control;
pub use flows::{ClassTraffic, FlowList};
pub use heard::Line;
pub use laws::Law;
pub use model::{Arrival, Done, Link, Setup, simulate};
pub use pacing::{Allowed, Load, Paced, Portions, Told};
pub use queues::{Inside, QueueSpec};
