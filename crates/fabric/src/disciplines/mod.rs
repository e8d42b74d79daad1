//! What leaves a port next, and what is dropped when its buffer is full.
//!
//! A discipline is a plain data structure: packets go in and come out, and
//! what depends on time is told the time. It lives in one file with its
//! specification and is registered by two lines below.

use std::path::Path;

use fctlab_core::{Duration, Rate, SpecError, Time};
use fctlab_workload::Traffic;
use serde::{Deserialize, Serialize};

use crate::network::Fabric;
use crate::packet::{Packet, PacketId};
use crate::taggers::Tagger;

pub mod adaptive;
pub mod classes;
pub mod mappings;
pub mod percentiles;
pub mod published;
pub mod rounds;
pub mod solved;
pub mod thresholds;

/// What is dropped when the buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DropPolicy {
    /// The arriving packet.
    Tail,
    /// The packet of the lowest priority, queued or arriving.
    LowestPriority,
    /// The last packet of the flow with the most bytes, queued or arriving.
    LongestQueue,
}

impl DropPolicy {
    /// As it is written.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            DropPolicy::Tail => "tail",
            DropPolicy::LowestPriority => "lowest-priority",
            DropPolicy::LongestQueue => "longest-queue",
        }
    }
}

/// What a discipline may know about the port that it serves.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The port's rate.
    pub rate: Rate,
    /// The port's name, `FROM -> TO`.
    pub port: &'a str,
    /// The name of the node that has the port.
    pub node: &'a str,
}

/// The buffer of one port, as a data structure.
pub trait Discipline {
    /// What [`evict_for`](Self::evict_for) implements beside tail drop.
    const EVICTS: Option<DropPolicy> = None;

    /// The largest tag that it can tell from smaller ones.
    const LARGEST_TAG: u64 = u32::MAX as u64;

    /// Whether it goes by tags.
    const READS_TAGS: bool = true;

    /// Whether it remembers packets that have left. If so it takes in every
    /// packet, even one that finds the port idle and leaves at once.
    const REMEMBERS: bool = false;

    /// Whether it wants to be told of packets that the port may then drop.
    const OBSERVES: bool = false;

    /// A packet has reached the port, which may then drop it; only told to
    /// disciplines that observe.
    fn observe(&mut self, _packet: &Packet, _now: Time) {}

    /// Packets begin to wait: the next one to be taken in comes while nothing waits, and `served`, which found
    /// the port idle, is sent since `since`.
    fn begin(&mut self, _served: &Packet, _since: Time) {}

    /// Takes in a packet and remembers its number.
    fn enqueue(&mut self, id: PacketId, packet: &Packet, now: Time);

    /// The packet to transmit now; `None` only when nothing is queued.
    fn dequeue(&mut self) -> Option<PacketId>;

    /// A packet comes when nothing is queued and leaves at once; only told to disciplines that remember.
    fn pass(&mut self, id: PacketId, packet: &Packet, now: Time) {
        self.enqueue(id, packet, now);
        self.dequeue();
    }

    /// Removes a queued packet to make room for `arriving`, by the policy
    /// [`EVICTS`](Self::EVICTS); `None` when it is `arriving` that must go.
    fn evict_for(&mut self, arriving: &Packet) -> Option<PacketId>;

    /// Bytes waiting in the queue that `packet` belongs to (for ECN per queue).
    fn queue_bytes(&self, packet: &Packet) -> u64;

    /// Bytes waiting in each queue, for recorders; one queue unless said otherwise.
    fn bytes_by_queue(&self) -> Vec<u64>;

    /// What it remembers beside the packets that wait: bytes of switch memory.
    fn state_bytes(&self) -> u64 {
        0
    }

    /// The largest tag that each queue but the last takes, where tags choose
    /// the queue, for recorders.
    fn thresholds(&mut self, _now: Time) -> Option<&[u32]> {
        None
    }
}

/// What a discipline's specification may refer to.
pub struct Surroundings<'a> {
    /// Where relative file names are taken from.
    pub base_dir: &'a Path,
    /// The hosts, switches and links.
    pub fabric: &'a Fabric,
    /// The name of the one workload of all flows, where there is one.
    pub workload: Option<&'a str>,
    /// The flows.
    pub traffic: &'a Traffic,
    /// What the tags are.
    pub tagger: &'a Tagger,
}

/// How a discipline's specification becomes the data structure.
pub trait DisciplineSpec {
    /// The data structure.
    type State: Discipline;

    /// Reads or computes what the specification refers to.
    ///
    /// # Errors
    /// What cannot be read, or does not fit the fabric.
    fn resolve(&mut self, _around: &Surroundings<'_>) -> Result<(), SpecError> {
        Ok(())
    }

    /// How many traffic classes it tells apart, where it does.
    fn classes(&self) -> Option<usize> {
        None
    }

    /// See [`Discipline::REMEMBERS`].
    fn remembers(&self) -> bool {
        Self::State::REMEMBERS
    }

    /// Where it learns from its traffic: the key of the interval after which it does so again, and that interval.
    fn learns_every(&self) -> Option<(&'static str, Duration)> {
        None
    }

    /// Builds an empty one for a port.
    ///
    /// # Errors
    /// When parameters do not fit each other; the path is relative to the specification.
    fn build(&self, site: &Site<'_>) -> Result<Self::State, SpecError>;
}

/// Declares the disciplines: one line each, naming file and name; the file's `mod` line is beside them.
macro_rules! disciplines {
    ($( $kind:literal => $variant:ident($file:ident) ),+ $(,)?) => {
        fctlab_core::parts! {
            /// The choice of a discipline.
            pub enum QueueSpec, "discipline" { $( $kind => $variant($file::Spec) ),+ }
        }

        /// One of the disciplines; a closed set, so that no packet pays for a virtual call.
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum Queue { $( $variant(<$file::Spec as DisciplineSpec>::State) ),+ }

        impl QueueSpec {
            /// See [`DisciplineSpec::resolve`].
            ///
            /// # Errors
            /// What cannot be read, or does not fit the fabric.
            pub fn resolve(&mut self, around: &Surroundings<'_>) -> Result<(), SpecError> {
                match self { $( QueueSpec::$variant(spec) => spec.resolve(around) ),+ }
            }
            /// Builds the empty queue of one port.
            ///
            /// # Errors
            /// When parameters do not fit each other.
            pub fn build(&self, site: &Site<'_>) -> Result<Queue, SpecError> {
                Ok(match self { $( QueueSpec::$variant(spec) => Queue::$variant(spec.build(site)?) ),+ })
            }
            /// See [`DisciplineSpec::classes`].
            pub fn classes(&self) -> Option<usize> {
                match self { $( QueueSpec::$variant(spec) => spec.classes() ),+ }
            }
            /// See [`DisciplineSpec::learns_every`].
            pub fn learns_every(&self) -> Option<(&'static str, Duration)> {
                match self { $( QueueSpec::$variant(spec) => spec.learns_every() ),+ }
            }
            /// See [`Discipline::EVICTS`].
            pub fn evicts(&self) -> Option<DropPolicy> {
                match self { $( QueueSpec::$variant(_) => <$file::Spec as DisciplineSpec>::State::EVICTS ),+ }
            }
            /// See [`Discipline::LARGEST_TAG`].
            pub fn largest_tag(&self) -> u64 {
                match self { $( QueueSpec::$variant(_) => <$file::Spec as DisciplineSpec>::State::LARGEST_TAG ),+ }
            }
            /// See [`Discipline::READS_TAGS`].
            pub fn reads_tags(&self) -> bool {
                match self { $( QueueSpec::$variant(_) => <$file::Spec as DisciplineSpec>::State::READS_TAGS ),+ }
            }
            /// See [`DisciplineSpec::remembers`].
            pub fn remembers(&self) -> bool {
                match self { $( QueueSpec::$variant(spec) => spec.remembers() ),+ }
            }
            /// See [`Discipline::OBSERVES`].
            pub fn observes(&self) -> bool {
                match self { $( QueueSpec::$variant(_) => <$file::Spec as DisciplineSpec>::State::OBSERVES ),+ }
            }
        }

        impl Discipline for Queue {
            #[inline]
            fn observe(&mut self, packet: &Packet, now: Time) {
                match self { $( Queue::$variant(q) => q.observe(packet, now) ),+ }
            }
            #[inline]
            fn enqueue(&mut self, id: PacketId, packet: &Packet, now: Time) {
                match self { $( Queue::$variant(q) => q.enqueue(id, packet, now) ),+ }
            }
            #[inline]
            fn dequeue(&mut self) -> Option<PacketId> {
                match self { $( Queue::$variant(q) => q.dequeue() ),+ }
            }
            #[inline]
            fn begin(&mut self, served: &Packet, since: Time) {
                match self { $( Queue::$variant(q) => q.begin(served, since) ),+ }
            }
            #[inline]
            fn pass(&mut self, id: PacketId, packet: &Packet, now: Time) {
                match self { $( Queue::$variant(q) => q.pass(id, packet, now) ),+ }
            }
            fn evict_for(&mut self, arriving: &Packet) -> Option<PacketId> {
                match self { $( Queue::$variant(q) => q.evict_for(arriving) ),+ }
            }
            fn queue_bytes(&self, packet: &Packet) -> u64 {
                match self { $( Queue::$variant(q) => q.queue_bytes(packet) ),+ }
            }
            fn bytes_by_queue(&self) -> Vec<u64> {
                match self { $( Queue::$variant(q) => q.bytes_by_queue() ),+ }
            }
            fn state_bytes(&self) -> u64 {
                match self { $( Queue::$variant(q) => q.state_bytes() ),+ }
            }
            fn thresholds(&mut self, now: Time) -> Option<&[u32]> {
                match self { $( Queue::$variant(q) => q.thresholds(now) ),+ }
            }
        }
    };
}

pub mod ascc;
pub mod awafs;
pub mod drr;
pub mod fifo;
pub mod fq;
pub mod mapped;
pub mod priority;
pub mod srpt;
pub mod strict;
pub mod wfq;
pub mod wrr;

disciplines! {
    "fifo" => Fifo(fifo),
    "priority" => Priority(priority),
    "srpt" => Srpt(srpt),
    "fq" => Fq(fq),
    "mapped" => Mapped(mapped),
    "awafs" => Awafs(awafs),
    "ascc" => Ascc(ascc),
    "wrr" => Wrr(wrr),
    "drr" => Drr(drr),
    "wfq" => Wfq(wfq),
    "strict" => Strict(strict),
}

/// Packets that go before all data: ACKs and probes (pFabric, section 4.2; ADS, footnote 3).
pub fn is_control(packet: &Packet) -> bool {
    use crate::packet::Flags;
    packet.is_ack() || packet.flags.has(Flags::PROBE)
}

#[cfg(test)]
pub(crate) const TEST_SITE: Site<'static> = Site {
    rate: Rate::from_gbps(10),
    port: "leaf 0 -> host 0",
    node: "leaf 0",
};

/// A discipline for tests: packets go in and come out themselves.
#[cfg(test)]
pub(crate) struct Packets<D> {
    pub(crate) queue: D,
    seen: Vec<Packet>,
}

#[cfg(test)]
impl<D: Discipline> Packets<D> {
    pub(crate) fn of(queue: D) -> Self {
        Packets {
            queue,
            seen: Vec::new(),
        }
    }
    pub(crate) fn enqueue(&mut self, packet: Packet, now: Time) {
        self.queue.enqueue(self.seen.len() as u32, &packet, now);
        self.seen.push(packet);
    }
    pub(crate) fn dequeue(&mut self) -> Option<Packet> {
        self.queue.dequeue().map(|id| self.seen[id as usize])
    }
    pub(crate) fn evict_for(&mut self, arriving: &Packet) -> Option<Packet> {
        let victim = self.queue.evict_for(arriving);
        victim.map(|id| self.seen[id as usize])
    }
}

#[cfg(test)]
impl<D> std::ops::Deref for Packets<D> {
    type Target = D;
    fn deref(&self) -> &D {
        &self.queue
    }
}

#[cfg(test)]
impl<D> std::ops::DerefMut for Packets<D> {
    fn deref_mut(&mut self) -> &mut D {
        &mut self.queue
    }
}
