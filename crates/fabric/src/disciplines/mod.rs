//! What leaves a port next, and what is dropped when its buffer is full.
//!
//! A discipline is a plain data structure without a clock: packets go in and
//! come out. It lives in one file with its specification and is registered by
//! one line below.

use fctlab_core::SpecError;

use crate::packet::Packet;

/// The buffer of one port, as a data structure.
pub trait Discipline {
    /// Takes a packet in.
    fn enqueue(&mut self, packet: Packet);

    /// The packet to transmit now; `None` only when nothing is queued.
    fn dequeue(&mut self) -> Option<Packet>;

    /// Removes a queued packet of strictly lower priority than `arriving`, of
    /// the lowest priority there is and of those the last to arrive; `None`
    /// when there is none.
    fn evict_for(&mut self, arriving: &Packet) -> Option<Packet>;

    /// Bytes waiting in the queue that `packet` belongs to (for ECN per queue).
    fn queue_bytes(&self, packet: &Packet) -> u64;

    /// Bytes waiting in each queue, for recorders; one queue unless said otherwise.
    fn bytes_by_queue(&self) -> Vec<u64>;
}

/// How a discipline's specification becomes the data structure.
pub trait DisciplineSpec {
    /// The data structure.
    type State: Discipline;
    /// Builds an empty one.
    ///
    /// # Errors
    /// When parameters do not fit each other; the path is relative to the specification.
    fn build(&self) -> Result<Self::State, SpecError>;
}

/// Declares the disciplines: one line each, naming file and name.
macro_rules! disciplines {
    ($( $kind:literal => $variant:ident($file:ident) ),+ $(,)?) => {
        $( pub mod $file; )+

        fctlab_core::parts! {
            /// The choice of a discipline.
            pub enum QueueSpec, "discipline" { $( $kind => $variant($file::Spec) ),+ }
        }

        /// One of the disciplines; a closed set, so that no packet pays for a virtual call.
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum Queue { $( $variant(<$file::Spec as DisciplineSpec>::State) ),+ }

        impl QueueSpec {
            /// Builds the empty queue of one port.
            ///
            /// # Errors
            /// When parameters do not fit each other.
            pub fn build(&self) -> Result<Queue, SpecError> {
                Ok(match self { $( QueueSpec::$variant(spec) => Queue::$variant(spec.build()?) ),+ })
            }
        }

        impl Discipline for Queue {
            #[inline]
            fn enqueue(&mut self, packet: Packet) {
                match self { $( Queue::$variant(q) => q.enqueue(packet) ),+ }
            }
            #[inline]
            fn dequeue(&mut self) -> Option<Packet> {
                match self { $( Queue::$variant(q) => q.dequeue() ),+ }
            }
            fn evict_for(&mut self, arriving: &Packet) -> Option<Packet> {
                match self { $( Queue::$variant(q) => q.evict_for(arriving) ),+ }
            }
            fn queue_bytes(&self, packet: &Packet) -> u64 {
                match self { $( Queue::$variant(q) => q.queue_bytes(packet) ),+ }
            }
            fn bytes_by_queue(&self) -> Vec<u64> {
                match self { $( Queue::$variant(q) => q.bytes_by_queue() ),+ }
            }
        }
    };
}

disciplines! {
    "fifo" => Fifo(fifo),
    "priority" => Priority(priority),
    "srpt" => Srpt(srpt),
}
