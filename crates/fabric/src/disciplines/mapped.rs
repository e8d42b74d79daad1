//! Strict-priority FIFO queues behind a table from value to queue: the switch
//! of ADS (Mushtaq et al., section 3.2).
//!
//! "Within the switch, for each port, there are table entries containing all
//! possible values for this field, and matching on this field loads the
//! appropriate queue number." The value is the packet's tag. *Static*: the
//! table stays. *Dynamic*: "the switch records the frequency of packet
//! priorities it sees over a fixed time interval I"; after each interval the
//! table follows from "a sliding window of the last W histograms", for each
//! port on its own. The field has 12 bits (the VID of 802.1Q). ACKs and probes
//! go to queue 0.
//!
//! At the start of a dynamic table every value but 0 maps to the last queue,
//! so the port is a FIFO.

use fctlab_core::{Duration, SpecError, Time};
use serde::{Deserialize, Serialize};

use super::adaptive::{Adaptive, Source};
use super::{DisciplineSpec, Site, Surroundings, is_control};
use crate::disciplines::mappings::learned::Learning;
use crate::disciplines::mappings::{Mapping, VALUES};
use crate::packet::Packet;

/// Strict priority over FIFO queues; a table maps tags to queues, static or following the traffic (ADS).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Number of queues.
    #[schemars(range(min = 1, max = 64))]
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
    type State = Adaptive<Table>;

    fn resolve(&mut self, around: &Surroundings<'_>) -> Result<(), SpecError> {
        let queues = self.queues()?;
        match &mut self.mapping {
            Mapping::Static(spec) => spec
                .resolve(queues, around.base_dir, around.fabric)
                .map_err(|e| e.under("mapping")),
            Mapping::Dynamic(spec) => spec.check().map_err(|e| e.under("mapping")),
        }
    }

    fn learns_every(&self) -> Option<(&'static str, Duration)> {
        match &self.mapping {
            Mapping::Dynamic(spec) => Some(("mapping.interval", spec.interval)),
            Mapping::Static(_) => None,
        }
    }

    fn build(&self, site: &Site<'_>) -> Result<Adaptive<Table>, SpecError> {
        let queues = self.queues()?;
        let (cuts, learning) = match &self.mapping {
            Mapping::Static(spec) => (spec.table(queues, site), None),
            Mapping::Dynamic(spec) => {
                spec.check().map_err(|e| e.under("mapping"))?;
                let learning = Learning::new(spec, queues, site.rate);
                (vec![0; queues - 1], Some(Box::new(learning)))
            }
        };
        Ok(Adaptive::new(cuts, Table(learning)))
    }
}

/// What a port with a table remembers: nothing for a static one.
pub struct Table(Option<Box<Learning>>);

impl Source for Table {
    const LARGEST_TAG: u64 = VALUES as u64 - 1;

    fn observe(&mut self, packet: &Packet) {
        if let Some(learning) = &mut self.0
            && !is_control(packet)
        {
            learning.count(packet.tag as usize);
        }
    }
    fn advance(&mut self, now: Time) -> Option<Vec<u32>> {
        self.0.as_mut()?.advance(now)
    }
    fn state_bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |learning| learning.state_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Packets, TEST_SITE};
    use super::*;
    use crate::disciplines::Discipline;
    use crate::disciplines::thresholds::{Cut, Thresholds};
    use fctlab_core::spec;
    use proptest::prelude::*;
    use serde_json::json;

    fn data(tag: u32, seq: u32) -> Packet {
        Packet {
            tag,
            seq,
            bytes: 1500,
            ..Packet::default()
        }
    }

    fn table(queues: u32, thresholds: &[u32]) -> Packets<Adaptive<Table>> {
        let mapping = json!({"kind": "static", "thresholds": thresholds});
        let spec: Spec = spec::read(json!({"queues": queues, "mapping": mapping})).unwrap();
        Packets::of(spec.build(&TEST_SITE).unwrap())
    }

    #[test]
    fn a_value_belongs_to_the_queue_up_to_whose_threshold_it_is() {
        let queue = table(4, &[1, 3, 3]);
        for (tag, expected) in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 3), (4095, 3)] {
            assert_eq!(
                queue.queues.queue_of(&data(tag, 0)),
                expected,
                "value {tag}"
            );
        }
    }

    #[test]
    fn a_new_table_moves_no_packet() {
        let spec: Spec = spec::read(json!({"queues": 2})).unwrap();
        let mut queue = Packets::of(spec.build(&TEST_SITE).unwrap());
        for (tag, seq) in [(9, 0), (1, 1), (9, 2), (1, 3)] {
            queue.observe(&data(tag, seq), Time::ZERO);
            queue.enqueue(data(tag, seq), Time::ZERO);
        }
        // At first it is a FIFO; after 5 ms the value 1 goes first.
        let later = Time::from_ps(5_000_000_000);
        queue.observe(&data(1, 4), later);
        assert_eq!(queue.thresholds(later), Some(&[1][..]));
        queue.enqueue(data(1, 4), later);
        let order: Vec<u32> = std::iter::from_fn(|| queue.dequeue())
            .map(|p| p.seq)
            .collect();
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
            let priority = super::super::priority::Spec {
                thresholds: Thresholds::Written(cuts.into_iter().map(Cut::Number).collect()),
                queues: None,
            };
            let mut priority = Packets::of(priority.build(&TEST_SITE).unwrap());
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
