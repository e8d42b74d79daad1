//! One queue of the bottleneck: what waits, who sends, and what flows hear of it.

use std::collections::VecDeque;

use crate::acks::{Instant, Past};
use crate::fair::Fair;
use crate::flow::InFlight;
use crate::heard::Line;
use crate::sender::Sender;
use crate::signal::{Seen, Signal};

/// A part of a step, in which a queue grows or shrinks evenly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// When it begins, and how long it is.
    pub at: f64,
    pub span: f64,
    /// Bytes per second that come, and that may leave.
    pub inflow: f64,
    pub share: f64,
    /// Whether nothing waits at its end, whatever rounding says.
    pub empties: bool,
}

/// Bytes that wait, at both ends of a time in which they change evenly.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backlog {
    /// At the beginning.
    pub before: f64,
    /// At the end.
    pub after: f64,
}

impl Backlog {
    /// By how much it is above the threshold on average; ends count, not what lies between.
    pub(crate) fn excess(&self, threshold: f64) -> f64 {
        let excess = |bytes: f64| (bytes - threshold).max(0.0);
        (excess(self.before) + excess(self.after)) / 2.0
    }

    /// The shares of the time between which it is.
    pub fn above(&self, threshold: f64) -> Option<(f64, f64)> {
        let Backlog { before, after } = *self;
        let crosses = (threshold - before) / (after - before);
        match (before > threshold, after > threshold) {
            (true, true) => Some((0.0, 1.0)),
            (true, false) => Some((0.0, crosses)),
            (false, true) => Some((crosses, 1.0)),
            (false, false) => None,
        }
    }
}

/// Flows whose bytes wait, in the order in which the last ones leave.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// Ends of flows, by the bytes that had arrived before them and with them.
    Fifo(VecDeque<(f64, InFlight)>),
    Fair(Fair),
}

/// One queue at the bottleneck, with the senders that fill it.
#[derive(Debug)]
pub(crate) struct Queue {
    pub sender: Sender,
    pub signal: Signal,
    /// What flows with windows hear of.
    pub past: Past,
    /// Flows that outlast their first round trip and have not sent everything.
    pub listeners: usize,
    pub waiting: Waiting,
    pub arrived: f64,
    pub backlog: f64,
    pub seen: Seen,
    /// Flows that sent their last byte in the step, with their bytes in it.
    pub ended: Vec<(InFlight, f64)>,
}

impl Waiting {
    /// The bytes of a flow that goes on sending which wait behind others'; nothing where all wait
    /// in one line.
    pub(crate) fn behind_others(&self, flow: &InFlight) -> f64 {
        match self {
            Waiting::Fifo(_) => 0.0,
            Waiting::Fair(fair) => fair.backlog(flow),
        }
    }
}

impl Queue {
    /// Nothing has come yet. Flows of a `fair` one are served by turns.
    pub(crate) fn new(sender: Sender, fair: bool, line: &Line) -> Self {
        Queue {
            sender,
            signal: Signal::default(),
            past: Past::default(),
            listeners: 0,
            waiting: if fair {
                Waiting::Fair(Fair::new(line))
            } else {
                Waiting::Fifo(VecDeque::new())
            },
            arrived: 0.0,
            backlog: 0.0,
            seen: Seen::default(),
            ended: Vec::new(),
        }
    }

    /// Whether nothing waits and nobody sends.
    pub(crate) fn is_idle(&self) -> bool {
        self.backlog == 0.0 && self.sender.is_idle()
    }

    /// Of an idle queue: what was before leaves no trace, not in the last digit either. Windows of whole packets
    /// make of that a packet more or less, and HPCC's of that another completion time.
    pub(crate) fn forget(&mut self) {
        self.arrived = 0.0;
        if let Waiting::Fair(fair) = &mut self.waiting {
            fair.forget();
        }
    }

    /// Serves, and returns the bytes that left; `depart` hears of flows whose last one did, and when.
    #[inline(always)] // 3% of a run's instructions
    pub(crate) fn serve(
        &mut self,
        service: &Service,
        mut depart: impl FnMut(InFlight, f64),
    ) -> f64 {
        let Service {
            at,
            span,
            inflow,
            share,
            empties,
        } = *service;
        let served_before = self.arrived - self.backlog;
        let waits = self.backlog > 0.0 || inflow > share;
        self.backlog = if empties || !waits {
            0.0
        } else {
            (self.backlog + (inflow - share) * span).max(0.0)
        };
        self.arrived += inflow * span;
        let served = self.arrived - self.backlog;
        match &mut self.waiting {
            Waiting::Fifo(ends) => {
                while let Some(&(mark, flow)) = ends.front()
                    && mark <= served
                {
                    ends.pop_front();
                    // Rounding may end a flow while nothing is served.
                    let into = if share > 0.0 {
                        ((mark - served_before) / share).clamp(0.0, span)
                    } else {
                        0.0
                    };
                    depart(flow, at + into);
                }
            }
            Waiting::Fair(fair) => {
                let empty = self.backlog == 0.0;
                fair.serve(at, span, served - served_before, empty, &mut depart);
            }
        }
        served - served_before
    }

    /// How the queue is `at`, with the marks and the load of `sums`.
    pub(crate) fn instant(&self, at: f64, sums: Instant) -> Instant {
        Instant {
            at,
            arrived: self.arrived,
            served: self.arrived - self.backlog,
            ..sums
        }
    }

    /// Beta x the average uncontrolled rate as signalled over the step.
    pub(crate) fn uncontrolled(&mut self, beta: f64, end: f64, span: f64) -> f64 {
        if beta != 0.0 {
            beta * self.sender.uncontrolled(end, span)
        } else {
            0.0
        }
    }

    /// Flows that were controlled during the step.
    pub(crate) fn controlled(&self) -> usize {
        self.sender.controlled() + self.ended.len()
    }
}
