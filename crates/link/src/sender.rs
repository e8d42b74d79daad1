//! The senders of one queue's flows (swp, equations 2-5 and 7).
//!
//! A flow sends at r_init for one round trip (it is *uncontrolled*), then at a
//! rate rho with d(rho)/dt = (R(t) - rho) / (eta tau). All controlled flows share
//! R, so two of them differ only by a deviation that decays by itself. A flow
//! whose deviation is worth less than [`SETTLED_BYTES`] joins the settled ones,
//! which are one rate and a heap of the virtual work at which each ends.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use crate::model::InFlight;
use crate::signal::Told;

/// What the rest of a flow's transient may be worth when it joins the settled
/// ones; a controlled flow has more than a BDP.
const SETTLED_BYTES: f64 = 50.0;
/// What a flow may have left when it counts as sent; made good in its last step.
const SENT_BYTES: f64 = 1e-3;

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

/// A controlled flow that is known by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Young {
    pub flow: InFlight,
    rate: f64,
    left: f64,
    /// Bytes sent in the last step.
    pub sent: f64,
}

/// How rates follow what they are told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Eta tau: the time constant of the approach, in seconds.
    pub relax: f64,
    /// The fastest rise, in bytes per second squared; infinite in the paper.
    pub rise: f64,
}

/// A step over which what senders are told is constant: what rates and bytes become.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    span: f64,
    /// The share of its rate at which a flow sends.
    clocked: f64,
    course: Course,
}

/// What becomes of rates.
#[derive(Clone, Copy, Debug)]
enum Course {
    /// They approach `ideal`; `decay` is exp(-span / relax).
    Approach { ideal: f64, pace: Pace, decay: f64 },
    /// They are multiplied by a factor at once, and rise besides, up to the most.
    Jump { factor: f64, rise: f64, most: f64 },
}

impl Step {
    /// Towards what is told; `decay` is exp(-span / pace.relax).
    pub fn approach(span: f64, told: Told, pace: Pace, decay: f64) -> Self {
        let Told { ideal, clocked } = told;
        let course = Course::Approach { ideal, pace, decay };
        Step {
            span,
            clocked,
            course,
        }
    }

    /// To `factor` times the rate and `rise` more, but at most to `most`, of which a share is sent.
    pub fn jump(span: f64, factor: f64, rise: f64, most: f64, share: f64) -> Self {
        let course = Course::Jump { factor, rise, most };
        Step {
            span,
            clocked: share,
            course,
        }
    }

    /// What a flow at `rate` sends in the step, and its rate afterwards.
    fn take(&self, rate: f64) -> (f64, f64) {
        self.until(rate, self.span)
    }

    /// The same in the first `at` seconds.
    fn until(&self, rate: f64, at: f64) -> (f64, f64) {
        let (paced, after) = match self.course {
            Course::Approach { ideal, pace, decay } => {
                let decay = match at == self.span {
                    true => decay,
                    false => libm::exp(-at / pace.relax),
                };
                approach(rate, ideal, pace, at, decay)
            }
            Course::Jump { factor, rise, most } => {
                let after = (rate * factor + rise).min(most);
                (after * at, after)
            }
        };
        (paced * self.clocked, after)
    }
}

/// What a flow that approaches `ideal` from `rate` sends in a time, and its rate then; `decay` is
/// exp(-at / relax).
fn approach(rate: f64, ideal: f64, pace: Pace, at: f64, decay: f64) -> (f64, f64) {
    let Pace { relax, rise } = pace;
    let gap = ideal - rate;
    // Further below the ideal than this, the rise is as fast as it may be.
    let steep = rise * relax;
    if gap <= steep {
        let sent = ideal * at - gap * relax * (1.0 - decay);
        return (sent, ideal - gap * decay);
    }
    let climb = ((gap - steep) / rise).min(at);
    let sent = (rate + rise * climb / 2.0) * climb;
    if climb < at {
        let rest = at - climb;
        let decay = libm::exp(-rest / relax);
        let tail = ideal * rest - steep * relax * (1.0 - decay);
        (sent + tail, ideal - steep * decay)
    } else {
        (sent, rate + rise * climb)
    }
}

/// The senders of one queue's flows.
#[derive(Debug)]
pub(crate) struct Sender {
    r_init: f64,
    round_trip: f64,
    pace: Pace,
    /// Whether every controlled flow is known by itself: fair queueing needs that, and rates
    /// that stay apart.
    apart: bool,
    /// Flows in their first round trip, by when they stop sending at r_init.
    bursting: BinaryHeap<Keyed>,
    young: Vec<Young>,
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
    pub fn new(r_init: f64, round_trip: f64, pace: Pace, apart: bool, beta: f64) -> Self {
        Sender {
            r_init,
            round_trip,
            pace,
            apart,
            bursting: BinaryHeap::new(),
            young: Vec::new(),
            settled: BinaryHeap::new(),
            settled_rate: 0.0,
            settled_work: 0.0,
            paced: VecDeque::new(),
            paced_rate: 0.0,
            signals_uncontrolled: beta != 0.0,
        }
    }

    /// Bytes that a flow sends at most before it is controlled.
    pub fn burst_bytes(&self) -> f64 {
        self.r_init * self.round_trip
    }

    /// When a flow that starts at `start` stops sending at r_init.
    pub fn burst_end(&self, start: f64, size: f64) -> f64 {
        match size > self.burst_bytes() {
            true => start + self.round_trip,
            false => start + size / self.r_init,
        }
    }

    pub fn start(&mut self, flow: InFlight) {
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
    pub fn next_burst_end(&self) -> f64 {
        self.bursting.peek().map_or(f64::INFINITY, |b| b.key)
    }

    /// Ends the first round trips that are over at `now`; flows that have sent
    /// everything are added to `sent`, with the time.
    pub fn end_bursts(&mut self, now: f64, sent: &mut Vec<InFlight>) {
        while let Some(&Keyed { key, flow }) = self.bursting.peek()
            && key <= now
        {
            self.bursting.pop();
            let left = flow.size - self.burst_bytes();
            if left <= SENT_BYTES {
                sent.push(flow);
            } else {
                self.young.push(Young {
                    flow,
                    rate: self.r_init,
                    left,
                    sent: 0.0,
                });
            }
        }
    }

    /// Flows beyond their first round trip that are still sending: N (equation 5).
    pub fn controlled(&self) -> usize {
        self.young.len() + self.settled.len()
    }

    pub fn is_idle(&self) -> bool {
        self.bursting.is_empty() && self.controlled() == 0 && self.paced.is_empty()
    }

    /// Flows known by themselves, with what each sent in the last step.
    pub fn young(&self) -> &[Young] {
        &self.young
    }

    /// The bytes that flows in their first round trip send in `span`, during which none ends it.
    pub fn burst_sent(&self, span: f64) -> f64 {
        self.bursting.len() as f64 * self.r_init * span
    }

    /// The time into the step after which the first controlled flow has sent
    /// everything; the whole step if none does.
    pub fn first_end(&self, step: &Step) -> f64 {
        let mut first = step.span;
        let mut look = |rate: f64, left: f64| {
            if step.take(rate).0 >= left {
                first = first.min(time_to_send(left, rate, step));
            }
        };
        if let Some(top) = self.settled.peek() {
            look(self.settled_rate, top.key - self.settled_work);
        }
        self.young.iter().for_each(|y| look(y.rate, y.left));
        first
    }

    /// Takes the step; returns the bytes that controlled flows sent in it and
    /// adds those that have sent everything to `ended`, with what they sent in it.
    pub fn advance(&mut self, step: &Step, ended: &mut Vec<(InFlight, f64)>) -> f64 {
        let mut bytes = 0.0;
        if !self.settled.is_empty() {
            let (each, rate) = step.take(self.settled_rate);
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
        let mut i = 0;
        while let Some(young) = self.young.get_mut(i) {
            (young.sent, young.rate) = step.take(young.rate);
            young.left -= young.sent;
            if young.left <= SENT_BYTES {
                young.sent += young.left;
                bytes += young.sent;
                ended.push((young.flow, young.sent));
                self.young.swap_remove(i);
                continue;
            }
            bytes += young.sent;
            let transient = (young.rate - self.settled_rate).abs() * self.pace.relax;
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

    /// The average uncontrolled rate as signalled (equation 4) over the step
    /// that ends at `end` and is `span` long.
    pub fn uncontrolled(&mut self, end: f64, span: f64) -> f64 {
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

/// The time in which a flow at `rate` sends `left` bytes, which it does within the step.
fn time_to_send(left: f64, rate: f64, step: &Step) -> f64 {
    let (mut low, mut high) = (0.0, step.span);
    let mut at = step.span;
    for _ in 0..50 {
        let (sent, speed) = step.until(rate, at);
        let excess = sent - left;
        if excess.abs() < SENT_BYTES / 2.0 {
            break;
        }
        if excess > 0.0 {
            high = at;
        } else {
            low = at;
        }
        let newton = at - excess / (speed * step.clocked);
        at = match newton > low && newton < high {
            true => newton,
            false => (low + high) / 2.0,
        };
    }
    at
}
