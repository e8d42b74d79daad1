//! What a scenario says, resolved against its fabric: numbers without units.

use fctlab_core::random::Seed;
use fctlab_core::units::PathScale;
use fctlab_core::{Duration, FctEnds, PacketFormat, Rate, Time};
use fctlab_workload::{Flow, Spacing};

use crate::measure::Stop;
use crate::taggers::Tagger;
use crate::transports::sender::SenderConfig;
use crate::transports::{Receiving, RuleSpec};

/// What a run needs besides the parts of the network.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of packets.
    pub format: PacketFormat,
    /// The same with telemetry in the header of data.
    pub wire: PacketFormat,
    /// Facts for relative units.
    pub scale: PathScale,
    /// What all senders share.
    pub sender: SenderConfig,
    /// When receivers answer.
    pub receiving: Receiving,
    /// The window rule.
    pub rule: RuleSpec,
    /// What the header says.
    pub tagger: Tagger,
    /// Over how many transmission times a flow's packets become available.
    pub spacing: f64,
    /// From which every random stream follows.
    pub seed: Seed,
    /// Whether the tagger looks at the transport's alpha, or what is available.
    pub sees_bandwidth: bool,
    /// Whether the transport spaces its packets.
    pub paced: bool,
    /// Whether anything comes between the senders and their NICs: pacing or a shaper.
    pub spaced: bool,
    /// Whether switch ports write telemetry.
    pub telemetry: bool,
    /// Data packets that a flow may have waiting in its NIC; at most [`NO_LIMIT`].
    pub nic_limit: u32,
    /// Where FCT ends.
    pub fct_ends: FctEnds,
    /// First and last start of a measured flow (the last exclusive).
    pub window: (Time, Time),
    /// When the run ends.
    pub stop: Stop,
    /// The run ends at this instant at the latest.
    pub end_at: Time,
}

impl Settings {
    /// When the packets of `flow` after the first are available, `packets` in all, at a host whose
    /// link has `rate`.
    pub fn available(&self, flow: &Flow, packets: u32, rate: Rate) -> Spacing {
        let alone = rate.transmission_time(self.format.wire_bytes(flow.size));
        let span = Duration::from_ps((alone.ps() as f64 * self.spacing) as u64);
        Spacing::new(self.seed, flow, packets, span)
    }

    /// Whether packets are paced, shaped or spaced, or carry telemetry, or ACKs wait or count for
    /// several packets.
    pub fn is_rare(&self) -> bool {
        let acks = self.receiving.delays() || self.sender.most_growth > 1;
        self.spaced || self.telemetry || self.spacing != 0.0 || acks
    }
}

/// A flow may have any number of packets waiting in its NIC: more than there ever are.
pub const NO_LIMIT: u32 = 1 << 31;
