//! Strict priority over n FIFO queues, as commodity switches have (IEEE 802.1Q).
//!
//! A packet's queue follows from its tag: queue 0 holds tags up to and
//! including the first threshold, queue i those above threshold i and up to
//! and including threshold i + 1. ACKs and probes go to queue 0. A queue is
//! served only when all queues before it are empty.

use fctlab_core::{SpecError, Time, spec};
use serde::{Deserialize, Deserializer, Serialize};

use super::fifo::Fifo;
use super::thresholds::{Cut, Thresholds};
use super::{Discipline, DisciplineSpec, DropPolicy, Site, Surroundings, is_control};
use crate::packet::{Packet, PacketId};

/// Queues where nobody says how many: those of IEEE 802.1Q.
const QUEUES: usize = 8;

/// Strict priority over FIFO queues; tags choose the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The thresholds between queues, increasing, in the tag's unit (bytes, or
    /// nanoseconds where the tag is a time), or with a unit of their own (`"10KB"`, `"120us"`). Where
    /// the tag is a time, a size is the time that a host's link takes for it.
    /// There is one queue more than thresholds. Or the name of a set that PIAS
    /// published: `"websearch@0.6"`, `"datamining@0.8"`. Or `"workload"`: those published for the workload
    /// at hand at the nearest load, where there are some, and else, as `"solve"` says always, those
    /// that minimise PIAS's objective for the sizes and the load of the traffic.
    pub thresholds: Thresholds,
    /// With `"workload"` or `"solve"`: how many queues. Default: 8.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "queues"
    )]
    #[schemars(range(min = 2, max = 16))]
    pub queues: Option<usize>,
}

fn queues<'de, D: Deserializer<'de>>(d: D) -> Result<Option<usize>, D::Error> {
    spec::whole::<_, 2, 16>(d).map(|n: u32| Some(n as usize))
}

/// The queues.
pub struct Priority {
    thresholds: Vec<u32>,
    queues: Vec<Fifo>,
    /// Bit i is set when queue i has packets.
    backlogged: u64,
}

impl DisciplineSpec for Spec {
    type State = Priority;

    fn resolve(&mut self, around: &Surroundings<'_>) -> Result<(), SpecError> {
        let queues = self.queues.take();
        if let (Thresholds::Written(_), Some(_)) = (&self.thresholds, queues) {
            let message = "follows from the thresholds, of which there is one less";
            return Err(SpecError::new("queues", message));
        }
        let found = self.thresholds.resolve(around, queues.unwrap_or(QUEUES));
        let found = found.map_err(|e| e.under("thresholds"))?;
        self.thresholds = Thresholds::Written(found.into_iter().map(Cut::Number).collect());
        Ok(())
    }

    fn build(&self, _: &Site<'_>) -> Result<Priority, SpecError> {
        let Some(thresholds) = self.thresholds.numbers() else {
            let message = "are asked for, and were not resolved";
            return Err(SpecError::new("thresholds", message));
        };
        if thresholds.len() > 63 {
            let n = thresholds.len();
            return Err(SpecError::new(
                "thresholds",
                format!("{n} thresholds; at most 63 (64 queues)"),
            ));
        }
        for (i, pair) in thresholds.windows(2).enumerate() {
            if pair[0] >= pair[1] {
                let message = format!("{} after {}; thresholds must increase", pair[1], pair[0]);
                return Err(SpecError::new(format!("thresholds[{}]", i + 1), message));
            }
        }
        Ok(Priority::with_thresholds(thresholds))
    }
}

impl Priority {
    /// With these thresholds, which may be equal but do not fall.
    pub fn with_thresholds(thresholds: Vec<u32>) -> Self {
        let queues = (0..=thresholds.len()).map(|_| Fifo::default()).collect();
        Priority {
            thresholds,
            queues,
            backlogged: 0,
        }
    }
    /// Changes the thresholds, of which there are as many as before; packets
    /// that wait stay where they are.
    pub fn set_thresholds(&mut self, thresholds: Vec<u32>) {
        debug_assert_eq!(thresholds.len(), self.thresholds.len());
        self.thresholds = thresholds;
    }
    /// The queue that a packet belongs to.
    #[inline]
    pub fn queue_of(&self, packet: &Packet) -> usize {
        if is_control(packet) {
            return 0;
        }
        self.thresholds.iter().filter(|&&t| packet.tag > t).count()
    }
    /// A packet has left a queue.
    #[inline]
    fn left(&mut self, queue: usize) {
        if self.queues[queue].is_empty() {
            self.backlogged &= !(1 << queue);
        }
    }
}

impl Discipline for Priority {
    const EVICTS: Option<DropPolicy> = Some(DropPolicy::LowestPriority);

    #[inline]
    fn enqueue(&mut self, id: PacketId, packet: &Packet, _: Time) {
        let queue = self.queue_of(packet);
        self.queues[queue].push(id, packet.bytes);
        self.backlogged |= 1 << queue;
    }
    #[inline]
    fn dequeue(&mut self) -> Option<PacketId> {
        if self.backlogged == 0 {
            return None;
        }
        let queue = self.backlogged.trailing_zeros() as usize;
        let held = self.queues[queue].pop()?;
        self.left(queue);
        Some(held.id)
    }
    fn evict_for(&mut self, arriving: &Packet) -> Option<PacketId> {
        let lowest = self.backlogged.checked_ilog2()? as usize;
        if lowest <= self.queue_of(arriving) {
            return None;
        }
        let held = self.queues[lowest].pop_newest()?;
        self.left(lowest);
        Some(held.id)
    }
    fn queue_bytes(&self, packet: &Packet) -> u64 {
        self.queues[self.queue_of(packet)].bytes()
    }
    fn bytes_by_queue(&self) -> Vec<u64> {
        self.queues.iter().map(Fifo::bytes).collect()
    }
    fn thresholds(&mut self, _: Time) -> Option<&[u32]> {
        Some(&self.thresholds)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Packets, TEST_SITE};
    use super::*;
    use crate::packet::Flags;
    use crate::taggers::{Tagger, View};
    use proptest::prelude::*;

    fn spec(thresholds: Vec<u32>) -> Spec {
        Spec {
            thresholds: Thresholds::Written(thresholds.into_iter().map(Cut::Number).collect()),
            queues: None,
        }
    }

    fn data(tag: u32, seq: u32) -> Packet {
        Packet {
            tag,
            seq,
            bytes: 1500,
            ..Packet::default()
        }
    }

    #[test]
    fn a_threshold_belongs_to_the_queue_before_it() {
        let queue = spec(vec![1000, 2000]).build(&TEST_SITE).unwrap();
        for (tag, expected) in [
            (0, 0),
            (1000, 0),
            (1001, 1),
            (2000, 1),
            (2001, 2),
            (u32::MAX, 2),
        ] {
            assert_eq!(queue.queue_of(&data(tag, 0)), expected, "tag {tag}");
        }
        for flags in [Flags::ACK, Flags::PROBE] {
            assert_eq!(
                queue.queue_of(&Packet {
                    flags,
                    ..data(u32::MAX, 0)
                }),
                0
            );
        }
    }

    #[test]
    fn mistakes() {
        let error = |thresholds| {
            spec(thresholds)
                .build(&TEST_SITE)
                .err()
                .unwrap()
                .to_string()
        };
        assert_eq!(
            error(vec![5, 9, 9]),
            "thresholds[2]: 9 after 9; thresholds must increase"
        );
        assert_eq!(
            error((0..64).collect()),
            "thresholds: 64 thresholds; at most 63 (64 queues)"
        );
        assert!(spec((0..63).collect()).build(&TEST_SITE).is_ok());
    }

    proptest! {
        /// With fixed thresholds on bytes sent (PIAS) new data of a flow is never promoted.
        #[test]
        fn new_data_is_never_promoted(
            thresholds in prop::sample::subsequence((0u32..40_000_000).step_by(70_000).collect::<Vec<_>>(), 0..16),
            size in 1u64..40_000_000,
        ) {
            let queue = spec(thresholds).build(&TEST_SITE).unwrap();
            let sent = Tagger::Sent(Default::default());
            let of = |offset| {
                let view = View { size, written: size, offset, ..View::default() };
                queue.queue_of(&data(sent.tag(&view), 0))
            };
            let queues: Vec<usize> = (0..size).step_by(1460).map(of).collect();
            prop_assert!(queues.is_sorted());
        }

        /// Against a list in order of arrival from which the answer is searched.
        #[test]
        fn matches_a_search_of_a_list(
            thresholds in prop::sample::subsequence((0u32..12).collect::<Vec<_>>(), 0..6),
            ops in prop::collection::vec((0u8..8, 0u32..14, 41u16..1501), 0..300),
        ) {
            let class = |p: &Packet| if p.flags.has(Flags::ACK) || p.flags.has(Flags::PROBE) {
                0
            } else {
                thresholds.iter().position(|&t| p.tag <= t).unwrap_or(thresholds.len())
            };
            let mut queue = Packets::of(spec(thresholds.clone()).build(&TEST_SITE).unwrap());
            let mut list: Vec<Packet> = Vec::new();
            for (i, (op, tag, bytes)) in ops.into_iter().enumerate() {
                let flags = [Flags::NONE, Flags::ACK, Flags::PROBE][(tag / 12) as usize];
                let packet = Packet { tag, bytes, flags, seq: i as u32, ..Packet::default() };
                match op {
                    0..4 => {
                        queue.enqueue(packet, Time::ZERO);
                        list.push(packet);
                    }
                    4..7 => {
                        let first = list.iter().map(&class).min();
                        let at = list.iter().position(|p| Some(class(p)) == first);
                        let expected = at.map(|at| list.remove(at).seq);
                        prop_assert_eq!(queue.dequeue().map(|p| p.seq), expected);
                    }
                    _ => {
                        let last = list.iter().map(&class).max().filter(|&c| c > class(&packet));
                        let at = list.iter().rposition(|p| Some(class(p)) == last);
                        let expected = at.map(|at| list.remove(at).seq);
                        prop_assert_eq!(queue.evict_for(&packet).map(|p| p.seq), expected);
                    }
                }
                let bytes = |c| list.iter().filter(|p| class(p) == c).map(|p| u64::from(p.bytes)).sum::<u64>();
                let all: Vec<u64> = (0..=thresholds.len()).map(bytes).collect();
                prop_assert_eq!(queue.queue_bytes(&packet), all[class(&packet)]);
                prop_assert_eq!(queue.bytes_by_queue(), all);
            }
        }
    }
}
