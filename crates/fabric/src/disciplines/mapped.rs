//! Strict-priority FIFO queues behind a table from value to queue: the switch
//! of ADS (Mushtaq et al., section 3.2).
//!
//! "Within the switch, for each port, there are table entries containing all
//! possible values for this field, and matching on this field loads the
//! appropriate queue number." The value is the packet's tag. *Static*: the
//! table stays. *Dynamic*: "the switch records the frequency of packet
//! priorities it sees over a fixed time interval I"; after each interval the
//! table follows from "a sliding window of the last W histograms", for each
//! port on its own. The field has 12 bits (the VID of 802.1Q); larger tags
//! count as the largest value. ACKs and probes go to queue 0.
//!
//! At the start of a dynamic table every value but 0 maps to the last queue,
//! so the port is a FIFO.

use std::path::Path;

use fctlab_core::{SpecError, Time};
use serde::{Deserialize, Serialize};

use super::{Discipline, DisciplineSpec, Site, is_control};
use crate::engine::port::DropPolicy;
use crate::engine::ring::Ring;
use crate::mappings::learned::Learning;
use crate::mappings::{Mapping, VALUES};
use crate::packet::Packet;
use crate::topology::Fabric;

/// Strict priority over FIFO queues; a table maps tags to queues, static or following the traffic (ADS).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Number of queues.
    pub queues: u32,
    /// Where the table comes from.
    #[serde(default = "dynamic")]
    pub mapping: Mapping,
}

fn dynamic() -> Mapping {
    Mapping::Dynamic(Default::default())
}

impl Spec {
    fn queues(&self) -> Result<usize, SpecError> {
        match self.queues {
            1..=64 => Ok(self.queues as usize),
            n => Err(SpecError::new("queues", format!("{n} is not in [1, 64]"))),
        }
    }
}

impl DisciplineSpec for Spec {
    type State = Mapped;

    fn resolve(&mut self, base_dir: &Path, fabric: &Fabric) -> Result<(), SpecError> {
        let queues = self.queues()?;
        match &mut self.mapping {
            Mapping::Static(spec) => {
                spec.resolve(queues, base_dir, fabric).map_err(|e| e.under("mapping"))
            }
            Mapping::Dynamic(spec) => spec.check().map_err(|e| e.under("mapping")),
        }
    }

    fn build(&self, site: &Site<'_>) -> Result<Mapped, SpecError> {
        let queues = self.queues()?;
        let (cuts, learning) = match &self.mapping {
            Mapping::Static(spec) => (spec.table(queues, site), None),
            Mapping::Dynamic(spec) => {
                spec.check().map_err(|e| e.under("mapping"))?;
                (vec![0; queues - 1], Some(Box::new(Learning::new(spec, site.rate))))
            }
        };
        Ok(Mapped {
            cuts,
            learning,
            queues: (0..queues).map(|_| (Ring::new(), 0)).collect(),
            backlogged: 0,
        })
    }
}

/// The queues and their table.
pub struct Mapped {
    /// The largest value of each queue but the last.
    cuts: Vec<u32>,
    learning: Option<Box<Learning>>,
    queues: Vec<(Ring<Packet>, u64)>,
    /// Bit i is set when queue i has packets.
    backlogged: u64,
}

/// The value in the field of 12 bits.
fn value(packet: &Packet) -> u32 {
    packet.tag.min(VALUES as u32 - 1)
}

impl Mapped {
    fn queue_of(&self, packet: &Packet) -> usize {
        if is_control(packet) {
            return 0;
        }
        let value = value(packet);
        self.cuts.iter().filter(|&&cut| value > cut).count()
    }

    fn advance(&mut self, now: Time) {
        if let Some(learning) = &mut self.learning
            && let Some(cuts) = learning.advance(now, self.queues.len())
        {
            self.cuts = cuts;
        }
    }

    fn took(&mut self, queue: usize, packet: Packet) -> Packet {
        let (ring, bytes) = &mut self.queues[queue];
        *bytes -= u64::from(packet.bytes);
        if ring.is_empty() {
            self.backlogged &= !(1 << queue);
        }
        packet
    }
}

impl Discipline for Mapped {
    const EVICTS: Option<DropPolicy> = Some(DropPolicy::LowestPriority);
    const LARGEST_TAG: u64 = VALUES as u64 - 1;
    const REMEMBERS: bool = true;

    fn observe(&mut self, packet: &Packet, now: Time) {
        self.advance(now);
        if let Some(learning) = &mut self.learning
            && !is_control(packet)
        {
            learning.count(value(packet) as usize);
        }
    }

    fn enqueue(&mut self, packet: Packet, _: Time) {
        let queue = self.queue_of(&packet);
        let (ring, bytes) = &mut self.queues[queue];
        *bytes += u64::from(packet.bytes);
        ring.push(packet);
        self.backlogged |= 1 << queue;
    }

    fn dequeue(&mut self) -> Option<Packet> {
        if self.backlogged == 0 {
            return None;
        }
        let queue = self.backlogged.trailing_zeros() as usize;
        let packet = self.queues[queue].0.pop()?;
        Some(self.took(queue, packet))
    }

    fn evict_for(&mut self, arriving: &Packet) -> Option<Packet> {
        let lowest = self.backlogged.checked_ilog2()? as usize;
        if lowest <= self.queue_of(arriving) {
            return None;
        }
        let packet = self.queues[lowest].0.pop_newest()?;
        Some(self.took(lowest, packet))
    }

    fn queue_bytes(&self, packet: &Packet) -> u64 {
        self.queues[self.queue_of(packet)].1
    }

    fn bytes_by_queue(&self) -> Vec<u64> {
        self.queues.iter().map(|q| q.1).collect()
    }

    fn thresholds(&mut self, now: Time) -> Option<&[u32]> {
        self.advance(now);
        Some(&self.cuts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::TEST_SITE;
    use super::*;
    use fctlab_core::spec;
    use proptest::prelude::*;
    use serde_json::json;

    fn data(tag: u32, seq: u32) -> Packet {
        Packet { tag, seq, bytes: 1500, ..Packet::default() }
    }

    fn table(queues: u32, thresholds: &[u32]) -> Mapped {
        let mapping = json!({"kind": "static", "thresholds": thresholds});
        let spec: Spec = spec::read(json!({"queues": queues, "mapping": mapping})).unwrap();
        spec.build(&TEST_SITE).unwrap()
    }

    #[test]
    fn a_value_belongs_to_the_queue_up_to_whose_threshold_it_is() {
        let queue = table(4, &[1, 3, 3]);
        for (tag, expected) in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 3), (1 << 20, 3)] {
            assert_eq!(queue.queue_of(&data(tag, 0)), expected, "value {tag}");
        }
    }

    #[test]
    fn a_new_table_moves_no_packet() {
        let spec: Spec = spec::read(json!({"queues": 2})).unwrap();
        let mut queue = spec.build(&TEST_SITE).unwrap();
        for (tag, seq) in [(9, 0), (1, 1), (9, 2), (1, 3)] {
            queue.observe(&data(tag, seq), Time::ZERO);
            queue.enqueue(data(tag, seq), Time::ZERO);
        }
        // At first it is a FIFO; after 5 ms the value 1 goes first.
        let later = Time::from_ps(5_000_000_000);
        queue.observe(&data(1, 4), later);
        assert_eq!(queue.thresholds(later), Some(&[1][..]));
        queue.enqueue(data(1, 4), later);
        let order: Vec<u32> = std::iter::from_fn(|| queue.dequeue()).map(|p| p.seq).collect();
        assert_eq!(order, [4, 0, 1, 2, 3]);
    }

    proptest! {
        /// The same as `priority` with the same thresholds.
        #[test]
        fn a_static_table_is_strict_priority(
            cuts in prop::sample::subsequence((0u32..12).collect::<Vec<_>>(), 0..6),
            ops in prop::collection::vec((0u8..8, 0u32..14, 41u16..1501), 0..300),
        ) {
            let mut mapped = table(cuts.len() as u32 + 1, &cuts);
            let priority = super::super::priority::Spec { thresholds: cuts };
            let mut priority = priority.build(&TEST_SITE).unwrap();
            for (i, (op, tag, bytes)) in ops.into_iter().enumerate() {
                let packet = Packet { tag, bytes, seq: i as u32, ..Packet::default() };
                let seq = |p: Option<Packet>| p.map(|p| p.seq);
                match op {
                    0..4 => {
                        mapped.enqueue(packet, Time::ZERO);
                        priority.enqueue(packet, Time::ZERO);
                    }
                    4..7 => prop_assert_eq!(seq(mapped.dequeue()), seq(priority.dequeue())),
                    _ => prop_assert_eq!(seq(mapped.evict_for(&packet)), seq(priority.evict_for(&packet))),
                }
                prop_assert_eq!(mapped.queue_bytes(&packet), priority.queue_bytes(&packet));
                prop_assert_eq!(mapped.bytes_by_queue(), priority.bytes_by_queue());
            }
        }
    }
}
