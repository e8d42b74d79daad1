//! What a scenario writes about a port.

use fctlab_core::spec::OrNone;
use fctlab_core::units::{DataLength, PathScale};
use fctlab_core::{Bytes, Rate, SpecError, spec};
use serde::{Deserialize, Serialize};

use crate::disciplines::{DropPolicy, QueueSpec};

/// A port: what leaves next, what is dropped and what is marked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PortSpec {
    /// What leaves next.
    pub discipline: QueueSpec,
    /// Bytes that may wait, shared by the queues of the port.
    pub buffer: DataLength,
    /// What is dropped when the buffer is full.
    pub drop: DropPolicy,
    /// Occupancy above which ECN-capable packets are marked, or `"none"`.
    #[serde(with = "spec::or_none")]
    #[schemars(with = "OrNone<DataLength>")]
    pub ecn_threshold: Option<DataLength>,
    /// Whose occupancy counts.
    pub ecn_scope: EcnScope,
    /// When the occupancy counts.
    pub ecn_at: EcnAt,
}

/// Whose occupancy counts for ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnScope {
    /// All queues of the port together.
    Port,
    /// The packet's own queue.
    Queue,
}

/// When the occupancy counts for ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnAt {
    /// When the packet is queued, itself included.
    Enqueue,
    /// When its transmission starts, itself not included.
    Dequeue,
    /// When its transmission starts, by the packets whose transmission started
    /// since it was queued rather than by the occupancy (ASCC, section VII).
    Departures,
}

impl Default for PortSpec {
    fn default() -> Self {
        PortSpec {
            discipline: QueueSpec::Fifo(Default::default()),
            buffer: DataLength::of_bytes(Bytes::new(500_000)),
            drop: DropPolicy::Tail,
            ecn_threshold: None,
            ecn_scope: EcnScope::Port,
            ecn_at: EcnAt::Enqueue,
        }
    }
}

impl PortSpec {
    /// Whether marks follow the packets that have left.
    pub(crate) fn marks_by_departures(&self) -> bool {
        self.ecn_threshold.is_some() && self.ecn_at == EcnAt::Departures
    }

    /// Checks the keys of a port of `rate` but the discipline's own, which it checks when built.
    pub(crate) fn check_keys(&self, rate: Rate, scale: &PathScale) -> Result<(), SpecError> {
        if self.buffer.bytes_at(rate, scale) < scale.packet_bytes {
            let message = format!("{} holds less than one full packet", self.buffer);
            return Err(SpecError::new("buffer", message));
        }
        let evicts = self.discipline.evicts();
        if self.drop != DropPolicy::Tail && evicts != Some(self.drop) {
            let other = evicts.map_or(String::new(), |drop| format!(" and {:?}", drop.as_str()));
            let (kind, drop) = (self.discipline.kind(), self.drop.as_str());
            let message = format!("{drop:?} is not for {kind}, which knows \"tail\"{other}");
            return Err(SpecError::new("drop", message));
        }
        if self.marks_by_departures() && self.ecn_scope == EcnScope::Queue {
            let message = "\"queue\" has no meaning with ecn_at = \"departures\"";
            return Err(SpecError::new("ecn_scope", message));
        }
        Ok(())
    }
}
