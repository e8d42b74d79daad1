//! The senders of one queue's flows (swp, equations 2-5 and 7).
//!
//! A flow sends at r_init for one round trip (it is *uncontrolled*), then at a
//! rate rho with d(rho)/dt = (R(t) - rho) / (eta tau), which begins at r_init, or at
//! R(t) if its control says so. All controlled flows share
//! R, so two of them differ only by a deviation that decays by itself. A flow
//! whose deviation is worth less than [`SETTLED_BYTES`] joins the settled ones,
//! which are one rate and a heap of the virtual work at which each ends.

use std::collections::{BinaryHeap, VecDeque};

use crate::acks::Acks;
use crate::flow::{InFlight, Keyed};
use crate::heard::Line;
use crate::laws::Reaction;
use crate::laws::rate::{Approach, SENT_BYTES};
use crate::window::Window;

/// What the rest of a flow's transient may be worth when it joins the settled
/// ones; a controlled flow has more than a BDP.
const SETTLED_BYTES: f64 = 50.0;

/// A controlled flow that is known by itself.
#[derive(Clone, Debug)]
pub(crate) struct Young {
    pub flow: InFlight,
    rate: f64,
    left: f64,
    /// Bytes sent in the last step.
    pub sent: f64,
    /// What bounds it, instead of a rate.
    window: Option<Box<Window>>,
}

impl Young {
    /// Takes the step.
    fn advance(&mut self, step: &Step) {
        match (step, &mut self.window) {
            (Step::Window(acks, line), Some(window)) => {
                self.sent = window.take(acks, line);
            }
            (Step::Rate(approach), _) => {
                (self.sent, self.rate) = approach.take(self.rate);
            }
            (Step::Window(..), None) => unreachable!("a flow begins with what its law takes"),
        }
        self.left -= self.sent;
    }

    /// The time into the step after which it has sent everything, if it does.
    fn end(&self, step: &Step) -> Option<f64> {
        match (step, &self.window) {
            (Step::Window(acks, line), Some(window)) => {
                if self.left > line.capacity * acks.span {
                    return None;
                }
                let sent = window.look(acks, line);
                (sent >= self.left).then(|| acks.span * self.left / sent)
            }
            (Step::Rate(approach), _) => approach.end(self.rate, self.left),
            (Step::Window(..), None) => unreachable!("a flow begins with what its law takes"),
        }
    }
}

/// A step over which what senders are told is constant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// All follow one rate.
    Rate(Approach),
    /// Each follows its ACKs.
    Window(Acks, Line),
}

/// The senders of one queue's flows.
#[derive(Debug)]
pub(crate) struct Sender {
    r_init: f64,
    round_trip: f64,
    /// Eta tau: the time constant of rates, in seconds.
    relax: f64,
    /// With what windows begin, if flows have any.
    window: Option<Reaction>,
    /// Whether every controlled flow is known by itself: fair queueing needs that, and windows.
    apart: bool,
    /// Flows in their first round trip, by when they stop sending at r_init.
    bursting: BinaryHeap<Keyed>,
    young: Vec<Young>,
    /// What the flow with a window that has least left has left.
    least_left: f64,
    settled: BinaryHeap<Keyed>,
    settled_rate: f64,
    settled_work: f64,
    /// Uncontrolled traffic as it is signalled: ends and rates of what is paced
    /// over one round trip each (equation 3), and their sum; empty if unused.
    paced: VecDeque<(f64, f64)>,
    paced_rate: f64,
    signals_uncontrolled: bool,
}

impl Sender {
    pub(crate) fn new(
        r_init: f64,
        round_trip: f64,
        relax: f64,
        window: Option<Reaction>,
        fair: bool,
        beta: f64,
    ) -> Self {
        Sender {
            r_init,
            round_trip,
            relax,
            window,
            apart: fair || window.is_some(),
            bursting: BinaryHeap::new(),
            young: Vec::new(),
            least_left: f64::INFINITY,
            settled: BinaryHeap::new(),
            settled_rate: 0.0,
            settled_work: 0.0,
            paced: VecDeque::new(),
            paced_rate: 0.0,
            signals_uncontrolled: beta != 0.0,
        }
    }

    /// Bytes that a flow sends at most before it is controlled.
    pub(crate) fn burst_bytes(&self) -> f64 {
        self.r_init * self.round_trip
    }

    /// When a flow that starts at `start` stops sending at r_init.
    pub(crate) fn burst_end(&self, start: f64, size: f64) -> f64 {
        if size > self.burst_bytes() {
            start + self.round_trip
        } else {
            start + size / self.r_init
        }
    }

    pub(crate) fn start(&mut self, flow: InFlight) {
        let key = self.burst_end(flow.start, flow.size);
        self.bursting.push(Keyed { key, flow });
        if self.signals_uncontrolled {
            let bytes = flow.size.min(self.burst_bytes());
            let rate = bytes / self.round_trip;
            self.paced.push_back((flow.start + self.round_trip, rate));
            self.paced_rate += rate;
        }
    }

    /// When the next flow stops sending at r_init.
    pub(crate) fn next_burst_end(&self) -> f64 {
        self.bursting.peek().map_or(f64::INFINITY, |b| b.key)
    }

    /// Ends the first round trips that are over at `now`, which is instant `number`: rates go on from
    /// what was `told`, else from r_init, and flows that have sent everything are added to `sent`.
    /// `waiting` says how many of a flow's bytes wait behind others'.
    pub(crate) fn end_bursts(
        &mut self,
        now: f64,
        number: u64,
        told: Option<f64>,
        sent: &mut Vec<InFlight>,
        waiting: impl Fn(&InFlight) -> f64,
    ) {
        while let Some(&Keyed { key, flow }) = self.bursting.peek()
            && key <= now
        {
            self.bursting.pop();
            let burst = self.burst_bytes();
            let left = flow.size - burst;
            if left <= SENT_BYTES {
                sent.push(flow);
            } else {
                let window = self.window.map(|reaction| {
                    let waiting = waiting(&flow);
                    Box::new(Window::new(reaction, flow.start, burst, waiting, number))
                });
                self.least_left = self.least_left.min(left);
                self.young.push(Young {
                    flow,
                    rate: told.unwrap_or(self.r_init),
                    left,
                    sent: 0.0,
                    window,
                });
            }
        }
    }

    /// Flows beyond their first round trip that are still sending: N (equation 5).
    pub(crate) fn controlled(&self) -> usize {
        self.young.len() + self.settled.len()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.bursting.is_empty() && self.controlled() == 0 && self.paced.is_empty()
    }

    /// Flows known by themselves, with what each sent in the last step.
    pub(crate) fn young(&self) -> &[Young] {
        &self.young
    }

    /// The bytes that flows in their first round trip send in `span`, during which none ends it.
    pub(crate) fn burst_sent(&self, span: f64) -> f64 {
        self.bursting.len() as f64 * self.r_init * span
    }

    /// Whether no flow with a window can have sent everything after so many more bytes.
    pub(crate) fn outlasts(&self, bytes: f64) -> bool {
        self.window.is_some() && self.least_left > bytes
    }

    /// The time into the step after which the first controlled flow has sent
    /// everything; infinite if none does.
    pub(crate) fn first_end(&self, step: &Step) -> f64 {
        let ends = self.young.iter().filter_map(|young| young.end(step));
        let settled = self.settled.peek().and_then(|top| match step {
            Step::Rate(approach) => approach.end(self.settled_rate, top.key - self.settled_work),
            Step::Window(..) => None, // windows do not settle
        });
        ends.chain(settled).fold(f64::INFINITY, f64::min)
    }

    /// Takes the step; returns the bytes that controlled flows sent in it and
    /// adds those that have sent everything to `ended`, with what they sent in it.
    pub(crate) fn advance(&mut self, step: &Step, ended: &mut Vec<(InFlight, f64)>) -> f64 {
        let mut bytes = 0.0;
        if let Step::Rate(approach) = step
            && !self.settled.is_empty()
        {
            let (each, rate) = approach.take(self.settled_rate);
            bytes += each * self.settled.len() as f64;
            self.settled_work += each;
            self.settled_rate = rate;
            while let Some(&Keyed { key, flow }) = self.settled.peek()
                && key <= self.settled_work + SENT_BYTES
            {
                let rest = key - self.settled_work;
                bytes += rest;
                self.settled.pop();
                ended.push((flow, each + rest));
            }
        }
        self.least_left = f64::INFINITY;
        let mut i = 0;
        while let Some(young) = self.young.get_mut(i) {
            young.advance(step);
            if young.left <= SENT_BYTES {
                young.sent += young.left;
                bytes += young.sent;
                ended.push((young.flow, young.sent));
                self.young.swap_remove(i);
                continue;
            }
            bytes += young.sent;
            self.least_left = self.least_left.min(young.left);
            let transient = (young.rate - self.settled_rate).abs() * self.relax;
            if !self.apart && (self.settled.is_empty() || transient < SETTLED_BYTES) {
                if self.settled.is_empty() {
                    self.settled_rate = young.rate;
                    self.settled_work = 0.0;
                }
                let (key, flow) = (self.settled_work + young.left, young.flow);
                self.settled.push(Keyed { key, flow });
                self.young.swap_remove(i);
                continue;
            }
            i += 1;
        }
        bytes
    }

    /// What flows know at the end of the step in which all is acked that was sent until the instant
    /// `number`; `waiting` as in [`Self::end_bursts`].
    pub(crate) fn note(&mut self, number: u64, waiting: impl Fn(&InFlight) -> f64) {
        for young in &mut self.young {
            if let Some(window) = &mut young.window {
                window.note(number, waiting(&young.flow));
            }
        }
    }

    /// The average uncontrolled rate as signalled (equation 4) over the step
    /// that ends at `end` and is `span` long.
    pub(crate) fn uncontrolled(&mut self, end: f64, span: f64) -> f64 {
        let mut bytes = self.paced_rate * span;
        while let Some(&(over, rate)) = self.paced.front()
            && over <= end
        {
            bytes -= rate * (end - over);
            self.paced_rate -= rate;
            self.paced.pop_front();
        }
        if self.paced.is_empty() {
            self.paced_rate = 0.0; // what rounding left
        }
        bytes / span
    }
}
