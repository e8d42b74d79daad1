//! Flows that are told what to have in flight ([`Law::Inflight`]), as HPCC's are (Li et al.,
//! SIGCOMM 2019, algorithm 1). Not in the paper.
//!
//! A flow's window is U over the load, which switches report, times what it was when that was sent
//! which is acked now: one round trip of its own ago. All flows of a queue hear the same, so that
//! all windows are multiplied by the same number, whose logarithm is kept; who was ahead stays so,
//! but for the additive increase.
//!
//! A flow sends its window in every 2 tau, unless as much is in flight: then it sends when ACKs
//! come, and after its window has fallen nothing until enough of them have. What of its window a
//! flow has in flight is taken to be the same for all flows of a queue.

use std::collections::VecDeque;

#[cfg(doc)]
use crate::control::Law;

/// Shorter steps, in round trips, are rounding between two events: nothing changes in them.
const SHORTEST: f64 = 1e-6;

/// How far logarithms get from the reference.
const FAR: f64 = 100.0;

/// A step that is over.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    end: f64,
    span: f64,
    /// The logarithm of what windows were multiplied by since the beginning.
    log: f64,
    /// The share of their windows per 2 tau that flows sent.
    share: f64,
    /// What a window had become, as a share of what it was at [`Inflight::reference`].
    window: f64,
    /// Bytes that had arrived at the queue, and of those left it, at the end.
    arrived: f64,
    served: f64,
}

/// What the windows of one queue's flows become.
#[derive(Debug)]
pub(crate) struct Inflight {
    /// 2 tau, in seconds.
    round_trip: f64,
    /// The time over which the load is averaged, in seconds.
    average: f64,
    /// The average, as a share of what flows may count on.
    load: f64,
    /// What is not acked yet, and the step before.
    past: VecDeque<Past>,
    /// Of the step that is under way: as in [`Past`].
    log: f64,
    share: f64,
    /// A logarithm near those of `past`, whose powers would not fit a number.
    reference: f64,
}

impl Inflight {
    pub fn new(round_trip: f64, average: f64) -> Self {
        Inflight {
            round_trip,
            average,
            load: 1.0,
            past: VecDeque::new(),
            log: 0.0,
            share: 1.0,
            reference: 0.0,
        }
    }

    /// The first flow that will listen begins at `now`.
    pub fn restart(&mut self, now: f64, arrived: f64, served: f64) {
        self.past.clear();
        (self.load, self.log, self.reference) = (1.0, 0.0, 0.0);
        self.push(now, 0.0, arrived, served);
    }

    /// The average load after `load` for `span`.
    pub fn averaged(&mut self, load: f64, span: f64) -> f64 {
        self.load = load + (self.load - load) * libm::exp(-span / self.average);
        self.load
    }

    /// What all windows are multiplied by in the step that ends at `end` and is `span` long, and
    /// the share of its window per 2 tau that each flow sends in it. `factor` is what
    /// switches ask for.
    pub fn step(&mut self, end: f64, span: f64, factor: f64) -> (f64, f64) {
        let last = self.past.back().copied().unwrap_or_default();
        if span < SHORTEST * self.round_trip {
            (self.log, self.share) = (last.log, last.share);
            return (1.0, last.share);
        }
        let (since, then) = self.acked(end - self.round_trip);
        self.log = then + libm::log(factor);
        let mut sent = 0.0;
        for past in self.past.iter().rev().take_while(|p| p.end > since) {
            let long = past.end - since.max(past.end - past.span);
            sent += long * past.share * past.window;
        }
        let inflight = sent / libm::exp(self.log - self.reference);
        self.share = ((self.round_trip - inflight) / span).clamp(0.0, 1.0);
        (libm::exp(self.log - last.log), self.share)
    }

    /// The step is over.
    pub fn push(&mut self, end: f64, span: f64, arrived: f64, served: f64) {
        let since = self.acked(end - self.round_trip).0;
        while self.past.get(1).is_some_and(|p| p.end <= since) {
            self.past.pop_front();
        }
        if (self.log - self.reference).abs() > FAR {
            let scale = libm::exp(self.reference - self.log);
            self.past.iter_mut().for_each(|p| p.window *= scale);
            self.reference = self.log;
        }
        self.past.push_back(Past {
            end,
            span,
            log: self.log,
            share: self.share,
            window: libm::exp(self.log - self.reference),
            arrived,
            served,
        });
        self.share = 1.0;
    }

    /// When that was sent which had been served at `at`, and the logarithm then; since the
    /// beginning at the earliest.
    fn acked(&self, at: f64) -> (f64, f64) {
        let then = self.where_passes(at, |p| p.end);
        let sent = match then.arrived > then.served {
            true => self.where_passes(then.served, |p| p.arrived),
            false => then, // nothing waited
        };
        (sent.end.min(at), sent.log)
    }

    /// How things were when `key`, which never falls, came to more than `at`.
    fn where_passes(&self, at: f64, key: impl Fn(&Past) -> f64) -> Past {
        let after = self.past.partition_point(|p| key(p) <= at);
        let last = after.saturating_sub(1);
        let Some(&before) = self.past.get(last) else {
            return Past::default();
        };
        match self.past.get(after) {
            Some(&past) if after > 0 => {
                let share = (at - key(&before)) / (key(&past) - key(&before));
                before.towards(&past, share)
            }
            _ => before,
        }
    }
}

impl Past {
    /// self + share x (other - self), but for what holds for a step.
    fn towards(self, other: &Past, share: f64) -> Past {
        Past {
            end: self.end + share * (other.end - self.end),
            log: self.log + share * (other.log - self.log),
            arrived: self.arrived + share * (other.arrived - self.arrived),
            served: self.served + share * (other.served - self.served),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half as much is asked for while nothing waits: nothing is sent until half is acked. What
    /// is acked then was sent before, at twice the rate.
    #[test]
    fn a_window_that_halves_is_silent_for_half_a_round_trip() {
        let mut inflight = Inflight::new(1.0, 1.0);
        inflight.restart(0.0, 0.0, 0.0);
        let mut sent = 0.0;
        let mut shares = Vec::new();
        for i in 1..=30 {
            let end = f64::from(i) * 0.1;
            let (_, share) = inflight.step(end, 0.1, if i > 10 && i <= 20 { 0.5 } else { 1.0 });
            let window = if i > 10 { 0.5 } else { 1.0 };
            sent += share * window * 0.1;
            inflight.push(end, 0.1, sent, sent);
            shares.push(share);
        }
        let silent = |s: &[f64]| s.iter().all(|s| *s < 1e-9);
        let whole = |s: &[f64]| s.iter().all(|s| (*s - 1.0).abs() < 1e-9);
        assert!(whole(&shares[..10]) && silent(&shares[10..15]) && whole(&shares[15..20]));
        // A round trip later the window is half of what it was then, times one.
        assert!((inflight.log - 0.5f64.ln()).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn what_waits_is_acked_later() {
        let mut inflight = Inflight::new(1.0, 1.0);
        inflight.restart(0.0, 0.0, 0.0);
        for i in 1..=4 {
            // Twice as much comes as leaves.
            let end = f64::from(i);
            inflight.push(end, 1.0, 2.0 * end, end);
        }
        assert_eq!(inflight.acked(3.0).0, 1.5);
    }

    #[test]
    fn the_load_is_averaged() {
        let mut inflight = Inflight::new(1.0, 2.0);
        let after = 3.0 - 2.0 * (-0.5f64).exp();
        assert!((inflight.averaged(3.0, 1.0) - after).abs() < 1e-12);
    }
}
