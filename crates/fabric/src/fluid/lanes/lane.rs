//! What is known of one queue.

use fctlab_link::Backlog;

use super::super::acks::Acks;
use super::super::histories::Stamped;

/// A queue. Times are in steps.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    /// Bytes that have come and that have left since it was empty.
    pub(super) arrived: f64,
    pub(super) left: f64,
    /// The last step in which anything came or waited. What had left and had come before it, and what the queue could
    /// have had of its link.
    pub(super) step: u64,
    pub(super) left_before: f64,
    pub(super) arrived_before: f64,
    pub(super) rate: f64,
    pub(super) marks: Marks,
    /// The step at whose end all had come which has left, or less.
    pub(super) head: u64,
}

/// By what bytes are marked.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Marks {
    /// Of bytes waiting.
    pub threshold: f64,
    /// Whether what comes while more waits is marked, or what leaves.
    pub arrivals: bool,
}

impl Lane {
    /// An empty one.
    pub(super) fn new(marks: Marks) -> Self {
        Lane {
            arrived: 0.0,
            left: 0.0,
            step: 0,
            left_before: 0.0,
            arrived_before: 0.0,
            rate: 0.0,
            marks,
            head: 0,
        }
    }

    /// So many bytes come in the step that ends at `now`, and all of them leave, of an empty queue that could have sent
    /// so much more.
    #[inline]
    pub(super) fn pass(&mut self, now: u64, bytes: f64, rest: f64) {
        (self.step, self.rate) = (now, bytes + rest);
        (self.left_before, self.arrived_before) = (0.0, 0.0);
        (self.arrived, self.left) = (bytes, bytes);
    }

    /// Takes in what has come in the step that ends at `now`, and lets go what is served.
    pub(super) fn take(&mut self, now: u64, bytes: f64, service: &Service) {
        if self.left >= self.arrived {
            (self.arrived, self.left) = (0.0, 0.0);
        }
        (self.step, self.rate) = (now, service.rate);
        (self.left_before, self.arrived_before) = (self.left, self.arrived);
        self.arrived += bytes;
        let left = self.left + service.served;
        // All of it, to the last digit, but where something waits.
        self.left = if left < self.arrived - ROUNDING {
            left
        } else {
            self.arrived
        };
    }
}

/// Bytes that are as good as none.
const ROUNDING: f64 = 1e-6;

/// A queue at the end of a step. Only steps in which something waits or is marked are kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Past {
    pub(super) step: u64,
    /// When that had come which leaves now.
    pub(super) came: f64,
    pub(super) arrived: f64,
    /// The part of the step in which what left, or came, was marked.
    pub(super) marked: (f64, f64),
}

impl Stamped for Past {
    #[inline]
    fn step(&self) -> u64 {
        self.step
    }
}

/// What a queue gets in a step.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Service {
    /// Bytes that leave, and those that could.
    pub served: f64,
    pub rate: f64,
    /// What waits at the port, where that is what marks go by.
    pub port: Option<Backlog>,
}

/// What of a queue is looked at most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Brief {
    /// Bytes that come in this step.
    pub(super) inflow: f64,
    /// Since when nothing has waited nor been marked, infinite while something waits.
    pub(super) quiet: f64,
    /// What comes then or later has not waited, likewise.
    pub(super) clear: f64,
    /// Nothing that left later was marked.
    pub(super) marked_until: f64,
    pub(super) acks: Acks,
}

impl Brief {
    /// Of a queue in which nothing has waited until `time`.
    pub(super) fn since(time: f64) -> Self {
        Brief {
            quiet: time,
            clear: time,
            ..Brief::default()
        }
    }
}
