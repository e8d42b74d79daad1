//! Fair queueing among the flows of one queue, as a fluid (generalised processor sharing).
//!
//! Every flow with bytes waiting is served at the same rate, one that sends more
//! slowly than that at its own. A flow that has sent everything ends when the
//! service per waiting flow has grown by what it had left: a heap. So does a flow
//! that fits into its first round trip, from its start on: it arrives at r_init, no
//! slower than it can be served on a link of that rate.

use std::collections::BinaryHeap;

use crate::bottleneck::InFlight;
use crate::sender::Keyed;

/// What the clock may be off by, in seconds.
const ROUNDING_S: f64 = 1e-12;

/// A flow that goes on sending after its first round trip.
#[derive(Clone, Copy, Debug)]
struct Sending {
    backlog: f64,
    /// Bytes per second that come in during this step.
    input: f64,
    alive: bool,
    satisfied: bool,
}

/// The flows of one queue.
#[derive(Debug, Default)]
pub(crate) struct Fair {
    /// Service that a flow which always waited would have had.
    virtual_service: f64,
    /// Flows that send nothing more, by the virtual service with which they end.
    ending: BinaryHeap<Keyed>,
    sending: Vec<Sending>,
    free: Vec<u32>,
}

impl Fair {
    /// A flow starts, of which `burst` bytes are sent in the first round trip.
    pub fn start(&mut self, flow: &mut InFlight, burst: f64) {
        if flow.size <= burst {
            let key = self.virtual_service + flow.size;
            self.ending.push(Keyed { key, flow: *flow });
            return;
        }
        let new = Sending {
            backlog: burst,
            input: 0.0,
            alive: true,
            satisfied: false,
        };
        match self.free.pop() {
            Some(slot) => {
                flow.slot = slot;
                self.sending[slot as usize] = new;
            }
            None => {
                flow.slot = self.sending.len() as u32;
                self.sending.push(new);
            }
        }
    }

    /// No flow sends or waits: the places of those to come are as at the beginning.
    pub fn forget(&mut self) {
        self.sending.clear();
        self.free.clear();
    }

    /// A controlled flow sends at `rate` during the step that comes.
    pub fn set_input(&mut self, flow: &InFlight, rate: f64) {
        self.sending[flow.slot as usize].input = rate;
    }

    /// The bytes that wait of a flow that goes on sending.
    pub fn backlog(&self, flow: &InFlight) -> f64 {
        self.sending[flow.slot as usize].backlog
    }

    /// A flow that outlasted its first round trip has sent everything; whether
    /// everything has also been served.
    pub fn last_byte(&mut self, flow: InFlight, empty: bool) -> bool {
        let slot = &mut self.sending[flow.slot as usize];
        slot.alive = false;
        self.free.push(flow.slot);
        if empty || slot.backlog == 0.0 {
            return true;
        }
        let key = self.virtual_service + slot.backlog;
        self.ending.push(Keyed { key, flow });
        false
    }

    /// Serves `bytes` evenly over `span` from `now` on; `empty` says that nothing waits afterwards.
    pub fn serve(
        &mut self,
        now: f64,
        span: f64,
        bytes: f64,
        empty: bool,
        depart: &mut impl FnMut(InFlight, f64),
    ) {
        let (mut at, mut span, mut bytes) = (now, span, bytes);
        while bytes > 0.0 && span > 0.0 {
            let each = self.level(bytes, span);
            let first = self.ending.peek().map(|top| top.key - self.virtual_service);
            let share = match first {
                Some(left) if left < each => (left / each).max(0.0),
                _ => 1.0,
            };
            let (part, served) = match share < 1.0 {
                true => (span * share, each * share),
                false => (span, each),
            };
            for flow in self.sending.iter_mut().filter(|f| f.alive) {
                flow.backlog = (flow.backlog + flow.input * part - served).max(0.0);
            }
            self.virtual_service += served;
            at += part;
            bytes -= bytes * share;
            span -= part;
            self.depart_due(at, depart);
        }
        // Without service, what comes in still waits.
        for flow in self.sending.iter_mut().filter(|f| f.alive) {
            flow.backlog += flow.input * span;
        }
        at += span;
        self.depart_due(at, depart);
        if empty {
            // Rounding must not keep a flow in a queue that is empty.
            while let Some(top) = self.ending.peek()
                && top.flow.arrives <= at + ROUNDING_S
            {
                depart(top.flow, at);
                self.ending.pop();
            }
            self.sending.iter_mut().for_each(|f| {
                if f.alive && f.input > 0.0 {
                    f.backlog = 0.0;
                }
            });
        }
        if self.ending.is_empty() {
            self.virtual_service = 0.0;
        }
    }

    fn depart_due(&mut self, at: f64, depart: &mut impl FnMut(InFlight, f64)) {
        while let Some(top) = self.ending.peek()
            && top.key <= self.virtual_service
        {
            depart(top.flow, at.max(top.flow.arrives));
            self.ending.pop();
        }
    }

    /// Service per waiting flow when `bytes` are shared: those that need less get what they need.
    fn level(&mut self, bytes: f64, span: f64) -> f64 {
        let mut waiting = self.ending.len();
        for flow in self.sending.iter_mut().filter(|f| f.alive) {
            flow.satisfied = false;
            waiting += 1;
        }
        let mut rest = bytes;
        loop {
            if waiting == 0 {
                return rest;
            }
            let each = rest / waiting as f64;
            let mut changed = false;
            for flow in self.sending.iter_mut().filter(|f| f.alive && !f.satisfied) {
                let needs = flow.backlog + flow.input * span;
                if needs < each {
                    flow.satisfied = true;
                    changed = true;
                    rest -= needs;
                    waiting -= 1;
                }
            }
            if !changed {
                return each;
            }
        }
    }
}
