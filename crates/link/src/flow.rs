//! A flow on its way, and heaps of them.

use std::cmp::Ordering;

/// A flow on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub index: u64,
    pub start: f64,
    /// Bytes on the wire, and of payload.
    pub size: f64,
    pub payload: f64,
    /// When its last byte is sent, once that is known.
    pub arrives: f64,
    pub class: u16,
    /// Under fair queueing: its place among the flows that go on sending, and what leaves before its end
    /// whatever the rounds say, the packet that is being sent when it comes and of its own the last part.
    pub slot: u32,
    pub sending: f64,
    pub own: f64,
}

/// An entry of a heap whose top has the smallest key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    pub key: f64,
    pub flow: InFlight,
}

impl PartialEq for Keyed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Keyed {}
impl PartialOrd for Keyed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Keyed {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = other.key.total_cmp(&self.key);
        key.then(other.flow.index.cmp(&self.flow.index))
    }
}
