//! The longest waits of packets in ports, `waits.csv`.
//!
//! A wait is the time from a packet's arrival at a port (a host's NIC is one)
//! until its transmission starts; its own transmission is not in it. A packet
//! counts once per port. Packets that were dropped, and those that had not
//! started at a choosing port when the run ended, do not count. Longest first:
//!
//! | column | unit | meaning |
//! |---|---|---|
//! | `time_s` | s | when the packet arrived |
//! | `port` | | `FROM -> TO` |
//! | `flow` | | number in the stream of flows |
//! | `seq` | | number of the packet; of an ACK, the first packet that it does not acknowledge |
//! | `kind` | | `data`, `retransmission`, `probe` or `ack` |
//! | `waited_s` | s | the wait |

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::Write;
use std::path::Path;

use fctlab_core::{Duration, Time};

use super::output::Output;
use crate::engine::FlowState;
use crate::engine::port::Port;
use crate::network::Fabric;
use crate::outcome::RunError;
use crate::packet::{Flags, FlowSlot, Packet};
use crate::scenario::record::waits::Spec;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Data,
    Retransmission,
    Probe,
    Ack,
}

impl Kind {
    fn of(packet: &Packet) -> Kind {
        if packet.is_ack() {
            Kind::Ack
        } else if packet.flags.has(Flags::PROBE) {
            Kind::Probe
        } else if packet.flags.has(Flags::RETRANSMISSION) {
            Kind::Retransmission
        } else {
            Kind::Data
        }
    }
    fn as_str(self) -> &'static str {
        match self {
            Kind::Data => "data",
            Kind::Retransmission => "retransmission",
            Kind::Probe => "probe",
            Kind::Ack => "ack",
        }
    }
}

/// A wait. The order is that of the file, from the end: by length, then the
/// earlier one is the longer, then by port and packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    waited: Duration,
    since: Reverse<Time>,
    port: Reverse<u32>,
    flow: Reverse<u64>,
    seq: Reverse<u32>,
    kind: Kind,
}

/// What tells packets that wait in one port apart. Equal ones leave in the
/// order in which they came.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    port: u32,
    slot: FlowSlot,
    kind: Kind,
    seq: u32,
    number: u32,
    tag: u32,
}

impl Key {
    fn of(port: u32, packet: &Packet) -> Key {
        Key {
            port,
            slot: packet.flow,
            kind: Kind::of(packet),
            seq: packet.seq,
            number: packet.number(),
            tag: packet.tag,
        }
    }
}

/// Finds the longest waits.
pub struct Recorder {
    longest: usize,
    /// The longest so far, the shortest of them first.
    kept: BinaryHeap<Reverse<Wait>>,
    /// At a FIFO port: the wait of the packet that it is just being given.
    known: Option<Wait>,
    /// At choosing ports: since when packets have waited.
    waiting: HashMap<Key, VecDeque<Time>>,
    /// Number of the flow in each slot.
    flows: Vec<u64>,
    names: Vec<String>,
    output: Output,
}

impl Recorder {
    /// Prepares the file in `dir`.
    pub(super) fn new(spec: &Spec, fabric: &Fabric, dir: &Path) -> Result<Self, RunError> {
        Ok(Recorder {
            longest: spec.longest as usize,
            kept: BinaryHeap::new(),
            known: None,
            waiting: HashMap::new(),
            flows: Vec::new(),
            names: (0..fabric.links.len())
                .map(|id| fabric.port_name(id as u32))
                .collect(),
            output: Output::create(dir, "waits.csv")?,
        })
    }

    pub(super) fn on_flow_start(&mut self, slot: FlowSlot, flow: &FlowState) {
        let slot = slot as usize;
        if self.flows.len() <= slot {
            self.flows.resize(slot + 1, 0);
        }
        self.flows[slot] = flow.flow.id;
    }

    fn wait(&self, waited: Duration, since: Time, port: u32, packet: &Packet) -> Wait {
        Wait {
            waited,
            since: Reverse(since),
            port: Reverse(port),
            flow: Reverse(self.flows[packet.flow as usize]),
            seq: Reverse(packet.number()),
            kind: Kind::of(packet),
        }
    }

    fn keep(&mut self, wait: Wait) {
        if self.kept.len() < self.longest {
            self.kept.push(Reverse(wait));
        } else if let Some(mut shortest) = self.kept.peek_mut()
            && shortest.0 < wait
        {
            *shortest = Reverse(wait);
        }
    }

    /// Nothing has dropped the packet whose wait was known.
    fn keep_known(&mut self) {
        if let Some(wait) = self.known.take() {
            self.keep(wait);
        }
    }

    pub(super) fn on_accept(&mut self, now: Time, id: u32, port: &Port, packet: &Packet) {
        self.keep_known();
        match port.wait(now) {
            Some(Duration::ZERO) => {}
            Some(waited) => self.known = Some(self.wait(waited, now, id, packet)),
            None => self
                .waiting
                .entry(Key::of(id, packet))
                .or_default()
                .push_back(now),
        }
    }

    /// Forgets one of equal packets; since when it had waited.
    fn forget(&mut self, key: Key, which: fn(&mut VecDeque<Time>) -> Option<Time>) -> Option<Time> {
        let times = self.waiting.get_mut(&key)?;
        let since = which(times);
        if times.is_empty() {
            self.waiting.remove(&key);
        }
        since
    }

    pub(super) fn on_transmit(&mut self, now: Time, id: u32, packet: &Packet) {
        if let Some(since) = self.forget(Key::of(id, packet), VecDeque::pop_front) {
            let wait = self.wait(now.since(since), since, id, packet);
            if wait.waited > Duration::ZERO {
                self.keep(wait);
            }
        }
    }

    pub(super) fn on_drop(&mut self, id: u32, packet: &Packet) {
        // A FIFO port drops only what it was given last.
        if self.known.take_if(|known| known.port.0 == id).is_none() {
            self.forget(Key::of(id, packet), VecDeque::pop_back);
        }
    }

    pub(super) fn finish(mut self) -> Result<String, RunError> {
        self.keep_known();
        let mut text = String::from("time_s,port,flow,seq,kind,waited_s\n");
        for Reverse(wait) in std::mem::take(&mut self.kept).into_sorted_vec() {
            let (time, port) = (
                wait.since.0.as_secs_f64(),
                &self.names[wait.port.0 as usize],
            );
            let (kind, waited) = (wait.kind.as_str(), wait.waited.as_secs_f64());
            text += &format!(
                "{time},{port},{},{},{kind},{waited}\n",
                wait.flow.0, wait.seq.0
            );
        }
        self.output
            .write_all(text.as_bytes())
            .map_err(|e| self.output.error(e))?;
        self.output.finish()
    }
}
