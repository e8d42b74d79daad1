//! Who goes first: one file and two lines below per policy.
//!
//! A policy gives each flow with waiting packets a [`Priority`], from what a
//! [`FlowView`] tells about it. The priority of a flow may change only when one
//! of its packets arrives or is sent.

use fctlab_core::{SpecError, spec};
use serde_json::Value;

use crate::instance::Instance;
use crate::switch;

/// What a policy may know about a flow. Oblivious policies look at `size` and
/// `weight` only where `whole` is there.
#[derive(Clone, Copy, Debug)]
pub struct FlowView {
    /// Its number, from 0.
    pub flow: u32,
    /// Its number of packets.
    pub size: u32,
    /// How many of them have been sent.
    pub sent: u32,
    /// Its weight.
    pub weight: u32,
    /// When its first unsent packet arrived.
    pub head_slot: u32,
    /// When it joined the cycle or had its last turn; smaller is longer ago.
    pub turn: Turn,
    /// Its state since its last packet arrived; `None` before.
    pub whole: Option<Whole>,
}

/// A flow since its last packet arrived.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    /// When that was.
    pub slot: u32,
    /// How many of its packets had been sent by then.
    pub sent_before: u32,
    /// Its turn in a cycle that it joined only then.
    pub turn: Turn,
}

/// A place in a cycle. A flow that had its turn comes after those that join in
/// the next slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn(u64);

impl Turn {
    /// A flow joins in `slot`, having had nothing to send.
    pub fn joined(slot: u32) -> Turn {
        Turn(2 * u64::from(slot))
    }
    /// A flow had its turn in `slot`.
    pub fn served(slot: u32) -> Turn {
        Turn(2 * u64::from(slot) + 3)
    }
    /// As a number that grows with time.
    pub fn order(self) -> u64 {
        self.0
    }
}

impl FlowView {
    /// How many packets have not been sent, arrived or not.
    pub fn left(&self) -> u32 {
        self.size - self.sent
    }
    /// The flow as if it had arrived whole with its last packet, without what had
    /// been sent before; `None` while it is not whole.
    pub fn arrived_whole(&self) -> Option<FlowView> {
        let whole = self.whole?;
        Some(FlowView {
            size: self.size - whole.sent_before,
            sent: self.sent - whole.sent_before,
            head_slot: whole.slot,
            turn: whole.turn,
            whole: Some(Whole {
                sent_before: 0,
                ..whole
            }),
            ..*self
        })
    }
}

/// When a flow goes; smaller is sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority {
    /// What the policy compares; below 2^63.
    pub major: u64,
    /// Breaks ties: when the first unsent packet arrived.
    pub since: u32,
}

impl Priority {
    /// `major`, with ties in FIFO order.
    pub fn new(major: u64, flow: &FlowView) -> Priority {
        debug_assert!(major < 1 << 63);
        Priority {
            major,
            since: flow.head_slot,
        }
    }
}

/// An order of flows.
pub trait Policy {
    /// The priority of a flow that has packets waiting.
    fn priority(&self, flow: &FlowView) -> Priority;

    /// Whether it knows nothing of packets that have not arrived.
    fn is_oblivious(&self) -> bool;

    /// Whether its parameters make sense.
    ///
    /// # Errors
    /// The first mistake.
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }

    /// Whether it can run this instance.
    ///
    /// # Errors
    /// What does not fit.
    fn fits(&self, _instance: &Instance) -> Result<(), SpecError> {
        Ok(())
    }
}

/// Declares the policies: one line each, naming file and name; the file's `mod` line is beside them.
macro_rules! policies {
    ($( $kind:literal => $variant:ident($file:ident) ),+ $(,)?) => {
        fctlab_core::parts! {
            /// The choice of a policy.
            pub enum PolicySpec, "policy" { $( $kind => $variant($file::Spec) ),+ }
        }

        impl Policy for PolicySpec {
            #[inline]
            fn priority(&self, flow: &FlowView) -> Priority {
                match self { $( PolicySpec::$variant(p) => p.priority(flow) ),+ }
            }
            fn is_oblivious(&self) -> bool {
                match self { $( PolicySpec::$variant(p) => p.is_oblivious() ),+ }
            }
            fn check(&self) -> Result<(), SpecError> {
                match self { $( PolicySpec::$variant(p) => p.check() ),+ }
            }
            fn fits(&self, instance: &Instance) -> Result<(), SpecError> {
                match self { $( PolicySpec::$variant(p) => p.fits(instance) ),+ }
            }
        }

        impl PolicySpec {
            /// Runs an instance; see [`switch::run`]. The policy is told apart
            /// once, not per packet.
            pub fn run(&self, instance: &Instance, on_send: impl FnMut(u32, u32)) -> Vec<u32> {
                match self { $( PolicySpec::$variant(p) => switch::run(instance, p, on_send) ),+ }
            }
        }
    };
}

pub mod asrpt;
pub mod brr;
pub mod fifo;
pub mod fixed;
pub mod ga;
pub mod ideal;
pub mod las;
pub mod pias;
pub mod sjf;
pub mod srpt;

policies! {
    "fifo" => Fifo(fifo),
    "brr" => Brr(brr),
    "las" => Las(las),
    "pias" => Pias(pias),
    "srpt" => Srpt(srpt),
    "sjf" => Sjf(sjf),
    "asrpt" => Asrpt(asrpt),
    "ideal" => Ideal(ideal),
    "ga" => Ga(ga),
    "fixed" => Fixed(fixed),
}

impl PolicySpec {
    /// Reads and checks one.
    ///
    /// # Errors
    /// The first mistake, with its path.
    pub fn read(value: Value) -> Result<PolicySpec, SpecError> {
        let policy: PolicySpec = spec::read(value)?;
        policy.check()?;
        Ok(policy)
    }
    /// The slots in which the flows end.
    pub fn ends(&self, instance: &Instance) -> Vec<u32> {
        self.run(instance, |_, _| ())
    }
}
