//! Disciplines over traffic classes: a queue for each class, and a schedule
//! that says which class sends next.
//!
//! Inside a class packets leave in order of arrival (`inside = "fifo"`) or by
//! fair queueing of its flows (`"fq"`, the discipline `fq` itself: its emulation
//! gets what the other classes leave of the link). A packet's class is that of
//! its flow, for ACKs too, which wait in the queue of their class like data (at
//! its head with `fq` inside). When the buffer is full the arriving packet is
//! dropped.

use fctlab_core::{SpecError, Time};
use serde::{Deserialize, Serialize};

use super::fifo::{Fifo, Held};
use super::fq::Fq;
use super::{Discipline, Site};
use crate::packet::{Packet, PacketId};

/// What leaves a class's queue next.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Inside {
    /// What came first.
    #[default]
    Fifo,
    /// Fair queueing among the flows of the class.
    Fq,
}

impl Inside {
    /// Whether what goes by counts inside a class. Between classes it need not: one with nothing waiting keeps
    /// nothing of its turns, and what is being sent when somebody begins to wait is told then.
    pub fn remembers(self) -> bool {
        self == Inside::Fq
    }
}

/// The queue of one class.
enum ClassQueue {
    Fifo(Fifo),
    Fq(Box<Fq>),
}

/// The queues of the classes.
pub struct Classes(Vec<ClassQueue>);

impl Classes {
    /// `count` empty queues.
    pub fn new(count: usize, inside: Inside, site: &Site<'_>) -> Self {
        let queue = |_| match inside {
            Inside::Fifo => ClassQueue::Fifo(Fifo::default()),
            Inside::Fq => ClassQueue::Fq(Box::new(Fq::new(site.rate))),
        };
        Classes((0..count).map(queue).collect())
    }

    /// The queue of a packet. That there is one for each class of the traffic
    /// is checked before the run.
    fn of(&self, packet: &Packet) -> usize {
        usize::from(packet.class).min(self.0.len() - 1)
    }

    #[inline]
    fn push(&mut self, class: usize, id: PacketId, packet: &Packet, now: Time) {
        match &mut self.0[class] {
            ClassQueue::Fifo(queue) => queue.push(id, packet.bytes),
            ClassQueue::Fq(queue) => queue.enqueue(id, packet, now),
        }
    }

    #[inline]
    fn pop(&mut self, class: usize) -> Option<Held> {
        match &mut self.0[class] {
            ClassQueue::Fifo(queue) => queue.pop(), // So are all others, and nothing else learns of it.
            ClassQueue::Fq(queue) => {
                let held = queue.pop()?;
                self.took(class, held.bytes);
                Some(held)
            }
        }
    }

    /// A packet goes by that finds nothing waiting.
    #[inline]
    fn pass(&mut self, class: usize, id: PacketId, packet: &Packet, now: Time) {
        if let ClassQueue::Fq(queue) = &mut self.0[class] {
            queue.pass(id, packet, now);
            self.took(class, packet.bytes);
        }
    }

    /// Class `class` has so many bytes of the link; the emulations of the others learn of it.
    fn took(&mut self, class: usize, bytes: u16) {
        for (other, queue) in self.0.iter_mut().enumerate() {
            if let ClassQueue::Fq(queue) = queue
                && other != class
            {
                queue.took(bytes);
            }
        }
    }

    /// Bytes of the packet that class `class` sends next.
    #[inline]
    pub fn head_bytes(&self, class: usize) -> Option<u16> {
        let held = match &self.0[class] {
            ClassQueue::Fifo(queue) => queue.first(),
            ClassQueue::Fq(queue) => queue.first(),
        };
        held.map(|h| h.bytes)
    }

    /// Whether class `class` has anything to send.
    pub fn is_backlogged(&self, class: usize) -> bool {
        self.bytes(class) > 0
    }

    #[inline]
    fn bytes(&self, class: usize) -> u64 {
        match &self.0[class] {
            ClassQueue::Fifo(queue) => queue.bytes(),
            ClassQueue::Fq(queue) => queue.bytes(),
        }
    }
}

/// Which class sends next.
pub trait Schedule {
    /// A packet of a class has come; `first` if nothing of the class waited.
    fn arrived(&mut self, class: usize, bytes: u16, first: bool, now: Time);
    /// The class that sends its next packet now; one of those that are backlogged.
    fn choose(&mut self, classes: &Classes) -> Option<usize>;
    /// The class chosen last has sent so many bytes; `last` if nothing of it waits.
    fn sent(&mut self, class: usize, bytes: u16, last: bool);
    /// A packet of a class comes when nothing waits and leaves at once; only told where what goes by counts.
    fn passed(&mut self, _class: usize, _bytes: u16) {}
    /// Packets begin to wait for one of a class that is sent since `since`.
    fn begin(&mut self, _class: usize, _bytes: u16, _since: Time) {}
}

/// Queues of classes served by a schedule.
pub struct ByClass<S> {
    classes: Classes,
    schedule: S,
}

impl<S: Schedule> ByClass<S> {
    /// Nothing waits.
    pub fn new(classes: Classes, schedule: S) -> Self {
        ByClass { classes, schedule }
    }
}

impl<S: Schedule> Discipline for ByClass<S> {
    const READS_TAGS: bool = false;

    const REMEMBERS: bool = true;

    fn begin(&mut self, served: &Packet, since: Time) {
        let class = self.classes.of(served);
        self.schedule.begin(class, served.bytes, since);
    }

    #[inline]
    fn enqueue(&mut self, id: PacketId, packet: &Packet, now: Time) {
        let class = self.classes.of(packet);
        let first = !self.classes.is_backlogged(class);
        self.schedule.arrived(class, packet.bytes, first, now);
        self.classes.push(class, id, packet, now);
    }
    #[inline]
    fn dequeue(&mut self) -> Option<PacketId> {
        let class = self.schedule.choose(&self.classes)?;
        let held = self.classes.pop(class)?;
        let last = !self.classes.is_backlogged(class);
        self.schedule.sent(class, held.bytes, last);
        Some(held.id)
    }
    #[inline]
    fn pass(&mut self, id: PacketId, packet: &Packet, now: Time) {
        let class = self.classes.of(packet);
        self.schedule.passed(class, packet.bytes);
        self.classes.pass(class, id, packet, now);
    }
    fn evict_for(&mut self, _: &Packet) -> Option<PacketId> {
        None
    }
    fn queue_bytes(&self, packet: &Packet) -> u64 {
        self.classes.bytes(self.classes.of(packet))
    }
    fn bytes_by_queue(&self) -> Vec<u64> {
        (0..self.classes.0.len())
            .map(|class| self.classes.bytes(class))
            .collect()
    }
}

/// Checks weights: at least one, at most 256 (classes are numbered by a byte),
/// each above zero, and none more than 10,000 times another.
///
/// # Errors
/// The first that is not so, with its path.
pub fn check_weights(weights: &[f64]) -> Result<(), SpecError> {
    if weights.is_empty() || weights.len() > 256 {
        let message = format!("{} weights; write 1 to 256, one per class", weights.len());
        return Err(SpecError::new("weights", message));
    }
    for (i, &weight) in weights.iter().enumerate() {
        if !(weight > 0.0 && weight.is_finite()) {
            let message = format!("{weight} is not above zero");
            return Err(SpecError::new(format!("weights[{i}]"), message));
        }
    }
    let largest = weights.iter().copied().fold(0.0, f64::max);
    for (i, &weight) in weights.iter().enumerate() {
        if largest / weight > 10_000.0 {
            let message = format!("{weight} is less than a 10,000th of {largest}");
            return Err(SpecError::new(format!("weights[{i}]"), message));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::VecDeque;

    use super::super::{Packets, Queue, QueueSpec, TEST_SITE};
    use super::*;
    use crate::packet::Flags;
    use fctlab_core::Duration;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Ports of 10 Gbps: 0.8 ns a byte.
    pub(crate) const PS_PER_BYTE: u64 = 800;

    pub(crate) fn data(class: u8, flow: u32, seq: u32, bytes: u16) -> Packet {
        Packet {
            class,
            flow,
            seq,
            bytes,
            ..Packet::default()
        }
    }

    pub(crate) fn build(spec: Value) -> Packets<Queue> {
        let spec: QueueSpec = fctlab_core::spec::read(spec).unwrap();
        Packets::of(spec.build(&TEST_SITE).unwrap())
    }

    /// Keeps every class backlogged with packets of random sizes for `packets`
    /// transmissions; bytes and packets sent by class.
    pub(crate) fn share(
        spec: Value,
        classes: usize,
        packets: u32,
        sizes: &[u16],
    ) -> Vec<(u64, u64)> {
        let mut queue = build(spec);
        let mut sent = vec![(0, 0); classes];
        let mut at = Time::ZERO;
        let mut seq = 0;
        let mut offer = |queue: &mut Packets<Queue>, class: usize, at| {
            let bytes = sizes[seq as usize % sizes.len()];
            queue.enqueue(data(class as u8, seq % 3, seq, bytes), at);
            seq += 1;
        };
        for class in 0..classes {
            (0..3).for_each(|_| offer(&mut queue, class, at));
        }
        for _ in 0..packets {
            let packet = queue.dequeue().unwrap();
            let class = usize::from(packet.class);
            sent[class].0 += u64::from(packet.bytes);
            sent[class].1 += 1;
            offer(&mut queue, class, at);
            at += Duration::from_ps(u64::from(packet.bytes) * PS_PER_BYTE);
        }
        sent
    }

    fn specs() -> impl Strategy<Value = Value> {
        let kinds = [
            json!({"kind": "wrr", "weights": [3, 1, 2]}),
            json!({"kind": "drr", "weights": [0.5, 0.2, 0.3], "quantum": "500B"}),
            json!({"kind": "wfq", "weights": [0.5, 0.2, 0.3]}),
            json!({"kind": "strict", "classes": 3}),
        ];
        (prop::sample::select(kinds.to_vec()), any::<bool>()).prop_map(|(mut spec, fq)| {
            spec["inside"] = json!(if fq { "fq" } else { "fifo" });
            spec
        })
    }

    proptest! {
        /// Work conservation, accounting, and order: within a class, or with
        /// fair queueing inside within a flow.
        #[test]
        fn everything_comes_out_in_order_and_bytes_add_up(
            spec in specs(),
            ops in prop::collection::vec((0u8..5, 0u8..3, 0u32..4, 41u16..1501, 0u64..4), 0..300),
        ) {
            let mut queue = build(spec.clone());
            let whole_class = spec["inside"] == "fifo";
            let mut held: VecDeque<Packet> = VecDeque::new();
            let mut at = Time::ZERO;
            for (i, (op, class, flow, bytes, gap)) in ops.into_iter().enumerate() {
                at += Duration::from_ps(gap * 600_000);
                let packet = data(class, flow, i as u32, bytes);
                if op < 3 {
                    queue.enqueue(packet, at);
                    held.push_back(packet);
                } else {
                    let out = queue.dequeue();
                    prop_assert_eq!(out.is_none(), held.is_empty());
                    if let Some(out) = out {
                        let same = |p: &Packet| p.class == out.class && (whole_class || p.flow == out.flow);
                        let oldest = held.iter().position(same).unwrap();
                        prop_assert_eq!(held.remove(oldest).map(|p| p.seq), Some(out.seq));
                    }
                }
                prop_assert!(queue.evict_for(&packet).is_none());
                let of = |class| held.iter().filter(|p| p.class == class).map(|p| u64::from(p.bytes)).sum::<u64>();
                prop_assert_eq!(queue.queue_bytes(&packet), of(class));
                prop_assert_eq!(queue.bytes_by_queue(), vec![of(0), of(1), of(2)]);
            }
        }
    }

    #[test]
    fn flows_of_a_class_share_its_part_of_the_link() {
        // Class 0 has two flows, class 1 one; equal weights: of every four equal
        // packets two are class 1's and one is of each flow of class 0.
        for kind in ["wrr", "drr", "wfq"] {
            let mut queue = build(json!({"kind": kind, "weights": [1, 1], "inside": "fq"}));
            // The first flow came with all its packets before the second one.
            for (class, flow) in [(0, 1), (0, 2), (1, 3)] {
                for seq in 0..40 {
                    queue.enqueue(data(class, flow, seq, 1500), Time::ZERO);
                }
            }
            let mut sent = [0; 4];
            for _ in 0..40 {
                sent[queue.dequeue().unwrap().flow as usize] += 1;
            }
            assert_eq!(sent, [0, 10, 10, 20], "{kind}");
        }
    }

    #[test]
    fn the_emulation_inside_a_class_does_not_run_ahead() {
        // Class 1 takes half of the link for long; when a flow joins the one that
        // class 0 has, it is that flow's turn within two packets of the class.
        let mut queue =
            build(json!({"kind": "drr", "weights": [1, 1], "quantum": "1500B", "inside": "fq"}));
        for seq in 0..1000 {
            queue.enqueue(data(0, 1, seq, 1500), Time::ZERO);
            queue.enqueue(data(1, 3, seq, 1500), Time::ZERO);
        }
        let mut at = Time::ZERO;
        for _ in 0..1000 {
            assert!(queue.dequeue().is_some());
            at += Duration::from_ps(1500 * PS_PER_BYTE);
        }
        queue.enqueue(data(0, 2, 0, 1500), at);
        let next: Vec<u32> = (0..4).map(|_| queue.dequeue().unwrap().flow).collect();
        assert!(next.contains(&2), "{next:?}");
    }

    #[test]
    fn an_ack_waits_in_its_class() {
        let mut queue = build(json!({"kind": "strict", "classes": 2}));
        let ack = Packet {
            flags: Flags::ACK,
            ..data(1, 0, 1, 40)
        };
        queue.enqueue(ack, Time::ZERO);
        queue.enqueue(data(0, 0, 2, 1500), Time::ZERO);
        queue.enqueue(data(1, 0, 3, 1500), Time::ZERO);
        let order: Vec<u32> = std::iter::from_fn(|| queue.dequeue())
            .map(|p| p.seq)
            .collect();
        assert_eq!(order, [2, 1, 3]);
    }

    #[test]
    fn weights_are_checked() {
        let error = |weights: &[f64]| check_weights(weights).unwrap_err().to_string();
        assert_eq!(
            error(&[]),
            "weights: 0 weights; write 1 to 256, one per class"
        );
        assert_eq!(error(&[1.0, 0.0]), "weights[1]: 0 is not above zero");
        assert_eq!(error(&[-1.0]), "weights[0]: -1 is not above zero");
        assert_eq!(
            error(&[0.00001, 1.0]),
            "weights[0]: 0.00001 is less than a 10,000th of 1"
        );
        assert!(check_weights(&[1.0, 100.0]).is_ok());
    }
}
