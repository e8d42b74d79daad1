//! What the bottleneck does in a step: it serves queues by shares, and says what flows hear.

use std::ops::ControlFlow;

use super::{Done, LEAST_SERVED, Model};
use crate::acks::Instant;
use crate::bottleneck::{Backlog, Service};
use crate::laws::{Law, Scope};
use crate::signal::{Report, Seen};

impl<F: FnMut(&Done) -> ControlFlow<()>> Model<'_, F> {
    /// The bottleneck serves for `span` from `now` on, inflows being constant.
    pub(super) fn serve(&mut self, now: f64, span: f64, busy: &[usize]) {
        let heard = busy.iter().any(|&q| self.queues[q].listeners > 0);
        let (mut at, mut left) = (now, span);
        while left > 0.0 {
            self.share(busy);
            let (part, first) = self.until_one_is_empty(left, busy);
            if heard {
                self.find_available(busy);
            }
            let (mut all, mut all_served) = (Backlog::default(), 0.0);
            for &q in busy {
                let service = Service {
                    at,
                    span: part,
                    inflow: self.inflow[q],
                    share: self.shares[q],
                    empties: first == Some(q),
                };
                let queue = &mut self.queues[q];
                let before = queue.backlog;
                let served = queue.serve(&service, |flow, at| self.departures.end(flow, at));
                let after = queue.backlog;
                if queue.listeners > 0 {
                    let backlog = Backlog { before, after };
                    let (seen, available) = (&mut queue.seen, self.available[q]);
                    seen.add(
                        available * part,
                        served,
                        backlog.excess(self.threshold) * part,
                    );
                    if self.marks
                        && let Some((from, to)) = backlog.above(self.threshold)
                    {
                        queue.past.mark(at + from * part, at + to * part);
                    }
                }
                self.counters.served_bytes += served;
                all.before += before;
                all.after += after;
                all_served += served;
            }
            if heard {
                let excess = all.excess(self.threshold);
                self.port
                    .add(self.line.capacity * part, all_served, excess * part);
            }
            at += part;
            left = match first {
                Some(_) => left - part,
                None => 0.0,
            };
        }
    }

    /// What each queue may send.
    pub(super) fn share(&mut self, busy: &[usize]) {
        for &q in busy {
            self.demands[q] = if self.queues[q].backlog > 0.0 {
                f64::INFINITY
            } else {
                self.inflow[q]
            };
        }
        let discipline = &self.setup.discipline;
        discipline.share(self.line.capacity, &self.demands, &mut self.shares);
    }

    /// The time after which the first queue is empty, which one that is, and `left` if none will be earlier.
    pub(super) fn until_one_is_empty(&self, left: f64, busy: &[usize]) -> (f64, Option<usize>) {
        let (mut part, mut first) = (left, None);
        for &q in busy {
            let queue = &self.queues[q];
            let falls = self.shares[q] - self.inflow[q];
            if queue.backlog > 0.0 && falls > 0.0 && queue.backlog <= falls * part {
                part = queue.backlog / falls;
                first = Some(q);
            }
        }
        (part, first)
    }

    /// What each queue may count on (equation 10).
    pub(super) fn find_available(&mut self, busy: &[usize]) {
        for &q in busy {
            let waits = self.queues[q].backlog > 0.0 || self.inflow[q] > self.shares[q];
            self.active[q] = if waits {
                1.0
            } else {
                self.inflow[q] / self.line.capacity
            };
        }
        let discipline = &self.setup.discipline;
        discipline.available(
            self.line.capacity,
            &self.shares,
            &self.active,
            &mut self.available,
        );
    }

    /// What the senders of all queues will hear of the step, where they hear of the port.
    pub(super) fn port_heard(&mut self, end: f64, span: f64, busy: &[usize]) -> Option<Report> {
        let seen = std::mem::take(&mut self.port);
        if self.setup.control.law.scope() == Scope::Class {
            return None;
        }
        let backlog: f64 = busy.iter().map(|&q| self.queues[q].backlog).sum();
        let mut heard = Report {
            seen,
            excess: (backlog - self.threshold).max(0.0),
            uncontrolled: 0.0,
            controlled: 0,
        };
        let beta = self.setup.control.law.beta();
        for &q in busy {
            let queue = &mut self.queues[q];
            heard.uncontrolled += queue.uncontrolled(beta, end, span);
            heard.controlled += queue.controlled();
            queue.seen = Seen::default();
        }
        Some(heard)
    }

    /// Equations 6 and 11: what the senders of queue `q` will hear of the step.
    pub(super) fn signal(&mut self, q: usize, end: f64, span: f64, port: Option<Report>) {
        let law = &self.setup.control.law;
        let queue = &mut self.queues[q];
        let heard = port.unwrap_or_else(|| Report {
            seen: std::mem::take(&mut queue.seen),
            excess: (queue.backlog - self.threshold).max(0.0),
            uncontrolled: queue.uncontrolled(law.beta(), end, span),
            controlled: queue.controlled(),
        });
        if queue.listeners == 0 {
            return;
        }
        let line = &self.line;
        if let Law::Rate(rate) = law {
            queue.signal.push(end, span, rate.ideal(&heard, span, line));
            queue.signal.seek(end - line.round_trip);
            return;
        }
        let available = heard
            .seen
            .available
            .max(LEAST_SERVED * line.capacity * span);
        let last = queue.past.last();
        let step = Instant {
            busy: last.busy + heard.seen.served / available * span,
            waiting: heard.excess / (available / span * line.round_trip),
            ..last
        };
        let now = queue.instant(end, step);
        queue.past.push(now, line.round_trip);
    }
}
