//! Fair queueing among the flows of one queue: generalised processor sharing, and when packets leave.
//!
//! Every flow with bytes waiting is served at the same rate, one that sends more
//! slowly than that at its own. A flow that has sent everything ends in that fluid when the
//! service per waiting flow has grown by what it had left: a heap. So does a flow
//! that fits into its first round trip, from its start on: it arrives at r_init, no
//! slower than it can be served on a link of that rate.
//!
//! Packets leave whole, the one with the smallest finish tag first (Demers, Keshav and Shenker, SIGCOMM 1989,
//! as the packet engine's `fq` has them; Parekh and Gallager, ToN 1(3), 1993). By then the fluid has served, of
//! every other flow, half a packet on average that has a larger tag: so a flow ends earlier by as much service
//! as half a packet of each takes, though not before a packet that was being sent when it came.

use std::collections::BinaryHeap;

use crate::flow::{InFlight, Keyed};
use crate::heard::Line;

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
    /// Flows that send nothing more, by the virtual service with which they end in the fluid.
    ending: BinaryHeap<Keyed>,
    /// The same by that after which, packet by packet, nothing is before their end but bytes of their own.
    leaving: BinaryHeap<Keyed>,
    /// Half a full packet, and bytes per second that the link sends.
    half: f64,
    capacity: f64,
    sending: Vec<Sending>,
    free: Vec<u32>,
}

impl Fair {
    /// Nothing has come yet.
    pub(crate) fn new(line: &Line) -> Self {
        Fair {
            half: line.packet / 2.0,
            capacity: line.capacity,
            ..Fair::default()
        }
    }

    /// A flow starts, of which `burst` bytes are sent in the first round trip.
    pub(crate) fn start(&mut self, flow: &mut InFlight, burst: f64) {
        if flow.size <= burst {
            if flow.size <= 2.0 * self.half {
                flow.sending = self.half * self.busy();
            }
            self.push(*flow, flow.size);
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

    /// No flow sends or waits: all is as at the beginning for those to come.
    pub(crate) fn forget(&mut self) {
        self.virtual_service = 0.0;
        self.ending.clear();
        self.leaving.clear();
        self.sending.clear();
        self.free.clear();
    }

    /// A flow that sends nothing more has `left` bytes here, or on the way at r_init.
    fn push(&mut self, mut flow: InFlight, left: f64) {
        let key = self.virtual_service + left;
        flow.own = left.min(self.half);
        self.ending.push(Keyed { key, flow });
        let key = key - flow.own;
        self.leaving.push(Keyed { key, flow });
    }

    /// The share of the time in which a packet is being sent.
    fn busy(&self) -> f64 {
        if !self.ending.is_empty() {
            return 1.0;
        }
        let alive = self.sending.iter().filter(|f| f.alive);
        let mut input = 0.0;
        for flow in alive {
            if flow.backlog > 0.0 {
                return 1.0;
            }
            input += flow.input;
        }
        (input / self.capacity).min(1.0)
    }

    /// A controlled flow sends at `rate` during the step that comes.
    pub(crate) fn set_input(&mut self, flow: &InFlight, rate: f64) {
        self.sending[flow.slot as usize].input = rate;
    }

    /// The bytes that wait of a flow that goes on sending.
    pub(crate) fn backlog(&self, flow: &InFlight) -> f64 {
        self.sending[flow.slot as usize].backlog
    }

    /// A flow that outlasted its first round trip has sent everything; whether
    /// everything has also been served.
    pub(crate) fn last_byte(&mut self, flow: InFlight, empty: bool) -> bool {
        let slot = &mut self.sending[flow.slot as usize];
        slot.alive = false;
        self.free.push(flow.slot);
        if empty || slot.backlog == 0.0 {
            return true;
        }
        let left = slot.backlog;
        self.push(flow, left);
        false
    }

    /// Serves `bytes` evenly over `span` from `now` on; `empty` says that nothing waits afterwards.
    pub(crate) fn serve(
        &mut self,
        now: f64,
        span: f64,
        bytes: f64,
        empty: bool,
        depart: &mut impl FnMut(InFlight, f64),
    ) {
        let rate = bytes / span;
        let (mut at, mut span, mut bytes) = (now, span, bytes);
        while bytes > 0.0 && span > 0.0 {
            let each = self.level(bytes, span);
            let share = match self.next() {
                Some(left) if left < each => (left / each).max(0.0),
                _ => 1.0,
            };
            let (part, served) = if share < 1.0 {
                (span * share, each * share)
            } else {
                (span, each)
            };
            for flow in self.sending.iter_mut().filter(|f| f.alive) {
                flow.backlog = (flow.backlog + flow.input * part - served).max(0.0);
            }
            self.virtual_service += served;
            at += part;
            bytes -= bytes * share;
            span -= part;
            self.depart_due(at, rate, depart);
        }
        // Without service, what comes in still waits.
        for flow in self.sending.iter_mut().filter(|f| f.alive) {
            flow.backlog += flow.input * span;
        }
        at += span;
        self.depart_due(at, rate, depart);
        if empty {
            // Rounding must not keep a flow in a queue that is empty.
            while let Some(top) = self.leaving.peek()
                && top.flow.arrives <= at + ROUNDING_S
            {
                depart(top.flow, at);
                self.leaving.pop();
            }
            while let Some(top) = self.ending.peek()
                && top.flow.arrives <= at + ROUNDING_S
            {
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

    /// The service after which the next flow ends, or has only its own bytes before its end.
    fn next(&self) -> Option<f64> {
        let left = |heap: &BinaryHeap<Keyed>| heap.peek().map(|top| top.key - self.virtual_service);
        match (left(&self.leaving), left(&self.ending)) {
            (Some(leaves), Some(ends)) => Some(leaves.min(ends)),
            (leaves, ends) => leaves.or(ends),
        }
    }

    fn depart_due(&mut self, at: f64, rate: f64, depart: &mut impl FnMut(InFlight, f64)) {
        while let Some(top) = self.leaving.peek()
            && top.key <= self.virtual_service
        {
            let flow = top.flow;
            depart(flow, self.departure(&flow, at, rate).max(flow.arrives));
            self.leaving.pop();
        }
        while self
            .ending
            .peek()
            .is_some_and(|top| top.key <= self.virtual_service)
        {
            self.ending.pop();
        }
    }

    /// When a flow ends that has only its own bytes before that `at`, the queue sending at `rate`.
    fn departure(&self, flow: &InFlight, at: f64, rate: f64) -> f64 {
        if flow.own == 0.0 || rate <= 0.0 {
            return at;
        }
        let end = at + flow.own / rate;
        if flow.sending > 0.0 {
            end.max(flow.start + (flow.sending + flow.size) / rate)
        } else {
            end
        }
    }

    /// Service per waiting flow when `bytes` are shared: those that need less get what they need.
    fn level(&mut self, bytes: f64, span: f64) -> f64 {
        let mut waiting = self.ending.len();
        for flow in self.sending.iter_mut().filter(|f| f.alive) {
            flow.satisfied = false;
            waiting += 1;
        }
        let (mut rest, mut each) = (bytes, bytes);
        loop {
            if waiting == 0 {
                return each; // all get what they need, to the last digit
            }
            each = rest / waiting as f64;
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

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Line = Line {
        capacity: 10.0,
        round_trip: 1.0,
        packet: 10.0,
        counted: 10.0,
    };

    fn flow(size: f64, start: f64) -> InFlight {
        InFlight {
            index: 0,
            start,
            size,
            payload: size,
            arrives: start,
            class: 0,
            slot: 0,
            sending: 0.0,
            own: 0.0,
        }
    }

    /// When a flow of `size` bytes ends that comes to a packet per second beside `others` flows with much to send.
    fn end_beside(others: usize, size: f64, packet: f64) -> f64 {
        let mut fair = Fair::new(&Line { packet, ..LINE });
        for _ in 0..others {
            fair.start(&mut flow(1e6, 0.0), 1e6);
        }
        fair.start(&mut flow(size, 0.0), 1e6);
        let mut end = f64::NAN;
        let mut depart = |flow: InFlight, at| {
            if flow.size == size {
                end = at;
            }
        };
        fair.serve(0.0, 1e3, 1e4, false, &mut depart);
        end
    }

    /// Found by fuzzing: bytes of a silent flow stayed in a queue that was empty, so that its window never opened.
    #[test]
    fn nothing_waits_of_a_flow_that_is_served_to_the_last_digit() {
        let mut fair = Fair::new(&LINE);
        let mut silent = flow(1e6, 0.0);
        fair.start(&mut silent, 100.0);
        fair.serve(0.0, 1.0, 100.0_f64.next_up(), true, &mut |_, _| {});
        assert_eq!(fair.backlog(&silent), 0.0);
    }

    #[test]
    fn packets_leave_whole_and_the_smallest_finish_tag_first() {
        // Eight others: half of their packets in service bit by bit are sent already. Those ahead of a whole packet
        // are the four that are not, and half of one that is being sent is among them.
        assert!((end_beside(8, 10.0, 10.0) - 5.0).abs() < 1e-9);
        // A small one's tag is before all of them; it waits for what is being sent, and bit by bit it would take
        // nine times as long as alone.
        assert!((end_beside(8, 1.0, 10.0) - 0.6).abs() < 1e-9);
        assert!((end_beside(8, 1.0, 0.0) - 0.9).abs() < 1e-9);
        // Of ten packets only the last gains anything: 90 and half of those of the others.
        assert!((end_beside(8, 100.0, 10.0) - (90.0 - 4.0)).abs() < 1e-9);
        // Alone nobody is ahead.
        for size in [1.0, 10.0, 25.0] {
            assert!((end_beside(0, size, 10.0) - size / 10.0).abs() < 1e-9);
        }
    }
}
