//! ASCC's network elements (Kogan et al., section VII): complete flows by SRPT,
//! incomplete ones by FIFO when nothing else waits.
//!
//! "Each network element maintains separate queues for packets from complete
//! and incomplete flows. Packets from complete flows are transmitted according
//! to SRPT priorities specified by a flow's source, and packets from incomplete
//! flows are transmitted according to FIFO. A network element transmits packets
//! from incomplete flow only if there are no packets from complete flows. When
//! the buffer overflows, the ASCC buffer management policy drops the last
//! arriving packet from an incomplete flow; if there is no such packet, the
//! lowest priority packet from a complete flow is dropped."
//!
//! Which flows are complete is in the tag (see
//! [`complete`](crate::taggers::complete)). ACKs and probes come first.

use fctlab_core::{SpecError, Time};
use serde::{Deserialize, Serialize};

use super::fifo::Fifo;
use super::srpt::{self, Srpt};
use super::{Discipline, DisciplineSpec, DropPolicy, Site, is_control};
use crate::packet::{Packet, PacketId};
use crate::taggers::complete::INCOMPLETE;

/// Complete flows by SRPT, then incomplete ones by FIFO (ASCC).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// As for `srpt`, among complete flows. The paper does not say; without it
    /// a flow's later packets overtake its earlier ones.
    pub starvation_prevention: bool,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            starvation_prevention: srpt::Spec::default().starvation_prevention,
        }
    }
}

/// The two queues; ACKs and probes are in the first.
pub struct Ascc {
    complete: Srpt,
    incomplete: Fifo,
}

impl DisciplineSpec for Spec {
    type State = Ascc;
    fn build(&self, site: &Site<'_>) -> Result<Ascc, SpecError> {
        let complete = srpt::Spec {
            starvation_prevention: self.starvation_prevention,
        };
        Ok(Ascc {
            complete: complete.build(site)?,
            incomplete: Fifo::default(),
        })
    }
}

fn is_incomplete(packet: &Packet) -> bool {
    packet.tag == INCOMPLETE && !is_control(packet)
}

impl Discipline for Ascc {
    const EVICTS: Option<DropPolicy> = Some(DropPolicy::LowestPriority);

    fn enqueue(&mut self, id: PacketId, packet: &Packet, now: Time) {
        if is_incomplete(packet) {
            self.incomplete.push(id, packet.bytes)
        } else {
            self.complete.enqueue(id, packet, now)
        }
    }
    fn dequeue(&mut self) -> Option<PacketId> {
        self.complete
            .dequeue()
            .or_else(|| self.incomplete.dequeue())
    }
    fn evict_for(&mut self, arriving: &Packet) -> Option<PacketId> {
        if is_incomplete(arriving) {
            return None; // It is the last of them to arrive.
        }
        let last = self.incomplete.pop_newest();
        last.map(|held| held.id)
            .or_else(|| self.complete.evict_for(arriving))
    }
    fn queue_bytes(&self, packet: &Packet) -> u64 {
        if is_incomplete(packet) {
            self.incomplete.bytes()
        } else {
            self.complete.queue_bytes(packet)
        }
    }
    fn bytes_by_queue(&self) -> Vec<u64> {
        let mut bytes = self.complete.bytes_by_queue();
        bytes.push(self.incomplete.bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Packets, TEST_SITE};
    use super::*;
    use crate::packet::Flags;
    use proptest::prelude::*;

    proptest! {
        /// Against a list in order of arrival from which the answer is searched.
        #[test]
        fn matches_a_search_of_a_list(
            ops in prop::collection::vec((0u8..8, 0u32..4, 0u32..9, 41u16..1501), 0..300),
        ) {
            let spec = Spec { starvation_prevention: false };
            let mut queue = Packets::of(spec.build(&TEST_SITE).unwrap());
            let mut list: Vec<Packet> = Vec::new();
            // Smaller is more urgent: control, complete by tag, incomplete.
            let class = |p: &Packet| (!is_control(p), p.tag);
            for (i, (op, flow, tag, bytes)) in ops.into_iter().enumerate() {
                let (flags, tag) = match tag {
                    7 => (Flags::ACK, 0),
                    5..7 => (Flags::NONE, INCOMPLETE),
                    8 => (Flags::PROBE, 0),
                    _ => (Flags::NONE, tag),
                };
                let packet = Packet { flow, tag, bytes, flags, seq: i as u32, ..Packet::default() };
                match op {
                    0..4 => {
                        queue.enqueue(packet, Time::ZERO);
                        list.push(packet);
                    }
                    4..7 => {
                        let expected = list.iter().min_by_key(|p| (class(p), p.seq)).map(|p| p.seq);
                        list.retain(|p| Some(p.seq) != expected);
                        prop_assert_eq!(queue.dequeue().map(|p| p.seq), expected);
                    }
                    _ => {
                        let data = list.iter().filter(|p| !is_control(p));
                        let worst = data.max_by_key(|p| (p.tag, p.seq));
                        let worst = worst.filter(|p| is_control(&packet) || p.tag > packet.tag);
                        let expected = worst.map(|p| p.seq);
                        list.retain(|p| Some(p.seq) != expected);
                        prop_assert_eq!(queue.evict_for(&packet).map(|p| p.seq), expected);
                    }
                }
                let bytes = |which: &dyn Fn(&Packet) -> bool| -> u64 {
                    list.iter().filter(|p| which(p)).map(|p| u64::from(p.bytes)).sum()
                };
                let complete = |p: &Packet| !is_control(p) && p.tag != INCOMPLETE;
                prop_assert_eq!(
                    queue.bytes_by_queue(),
                    vec![bytes(&is_control), bytes(&complete), bytes(&is_incomplete)]
                );
            }
        }
    }
}
