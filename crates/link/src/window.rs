//! A flow that has at most a window in flight, paced at a window per round trip. Not in the paper.
//!
//! What it may send follows from what is acked: while bytes wait ACKs come more slowly, and after
//! the window has fallen none is sent until enough is acked. A window starts with as much as
//! fits into a round trip at r_init, and how it reacts to ACKs is the congestion
//! control's: [`Dctcp`], [`Hpcc`].

use std::collections::VecDeque;

use crate::acks::Acks;
use crate::control::{Control, Law};
use crate::dctcp::Dctcp;
use crate::hpcc::Hpcc;

/// Shorter steps, in round trips, are rounding between two events: nothing is heard in them.
const SHORTEST: f64 = 1e-6;

/// Of a packet: bytes that are as good as one that they come so close to.
const ROUNDING: f64 = 1e-9;

/// The largest whole number up to `x`, which is not negative. `f64::floor` is a call of a function
/// where the target has no instruction for it.
fn floor(x: f64) -> f64 {
    x as i64 as f64
}

/// The smallest whole number from `x` on, which is above -1.
fn ceil(x: f64) -> f64 {
    let whole = floor(x);
    whole + f64::from(u8::from(whole < x))
}

/// What flows send over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Bytes per second.
    pub capacity: f64,
    /// 2 tau, in seconds.
    pub round_trip: f64,
    /// Bytes of a full packet.
    pub packet: f64,
    /// Those of them that a window counts.
    pub counted: f64,
}

impl Line {
    pub fn bdp(&self) -> f64 {
        self.capacity * self.round_trip
    }
}

/// What the ACKs of a step tell one flow. Bytes are counted from its first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard<'a> {
    /// Bytes that are newly acked, and all that are.
    pub delivered: f64,
    pub acked: f64,
    /// Of a full packet.
    pub packet: f64,
    pub acks: &'a Acks,
}

impl Heard<'_> {
    /// Acked at the beginning of the step.
    fn before(&self) -> f64 {
        self.acked - self.delivered
    }

    /// Newly acked bytes that are marked.
    pub fn marked(&self) -> f64 {
        match self.acks.marked {
            true => self.delivered,
            false => 0.0,
        }
    }

    /// Packets whose ACKs come: one does with the first byte of each.
    pub fn packets(&self) -> f64 {
        ceil(self.acked / self.packet) - ceil(self.before() / self.packet)
    }

    /// The share of the step after which the first ACK comes, of those that come after `share` of it
    /// or then; beyond 1 if none does.
    pub fn next_ack(&self, share: f64) -> f64 {
        let from = (self.before() + share * self.delivered) / self.packet;
        let next = ceil(from - ROUNDING) * self.packet;
        ((next - self.before()) / self.delivered).max(share)
    }
}

/// What a flow sends in a step, evenly until its window changes and evenly after that. Bytes are counted
/// from its first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Sent before the step.
    pub before: f64,
    /// The share of the step after which the window changes, and what is sent until then and after.
    pub part: f64,
    pub first: f64,
    pub rest: f64,
    /// Of a full packet.
    pub packet: f64,
}

impl Sent {
    /// What is sent once `share` of the step is over.
    fn until(&self, share: f64) -> f64 {
        match share <= self.part {
            true if self.part > 0.0 => self.before + self.first * share / self.part,
            true => self.before,
            false => {
                let rest = (share - self.part) / (1.0 - self.part);
                self.before + self.first + self.rest * rest
            }
        }
    }
}

/// A byte whose ACK is waited for: the first that is sent after something happened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    Byte(f64),
    /// It happened in this step, after such a share of it.
    Now(f64),
}

impl Mark {
    /// The share of the step after which it is acked, if it is.
    pub fn passed(self, heard: &Heard) -> Option<f64> {
        match self {
            Mark::Byte(byte) if heard.acked >= byte => {
                Some(((byte - heard.before()) / heard.delivered).max(0.0))
            }
            _ => None,
        }
    }

    /// The step is over. ACKs are of whole packets: what is sent next is acked with its packet.
    pub fn sent(&mut self, sent: &Sent) {
        if let Mark::Now(share) = *self {
            let whole = floor(sent.until(share) / sent.packet);
            *self = Mark::Byte((whole + 1.0) * sent.packet);
        }
    }
}

/// How windows react to ACKs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reaction {
    Dctcp(Dctcp),
    Hpcc(Hpcc),
}

impl Reaction {
    /// Of flows that send `share` of the line rate at first; nothing where flows have no windows.
    pub fn of(control: &Control, line: &Line, share: f64) -> Option<Self> {
        match control.law {
            Law::Rate => None,
            Law::Dctcp => {
                let rise = control.rise.map_or(0.0, |bytes| bytes.get() as f64);
                let flow = Dctcp::new(share, control.gain, rise / line.bdp(), control.min_rate);
                Some(Reaction::Dctcp(flow))
            }
            Law::Hpcc => {
                let (target, increase) = (control.u_target, control.additive_increase);
                let memory = control.eta * line.round_trip / 2.0;
                let flow = Hpcc::new(share, target, increase, control.min_rate, memory);
                Some(Reaction::Hpcc(flow))
            }
        }
    }

    /// The share of the step after which the window is another one.
    fn on_acks(&mut self, heard: &Heard) -> f64 {
        match self {
            Reaction::Dctcp(flow) => flow.on_acks(heard),
            Reaction::Hpcc(flow) => flow.on_acks(heard),
        }
    }

    /// The step is over.
    fn sent(&mut self, sent: &Sent) {
        match self {
            Reaction::Dctcp(flow) => flow.sent(sent),
            Reaction::Hpcc(flow) => flow.sent(sent),
        }
    }

    /// The window as a share of a BDP, and so the rate as a share of the link's.
    fn share(&self) -> f64 {
        match self {
            Reaction::Dctcp(flow) => flow.share(),
            Reaction::Hpcc(flow) => flow.share(),
        }
    }
}

/// The window of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    state: State,
    /// When the flow started, and what it sent in the round trip after that.
    start: f64,
    burst: f64,
    /// What is acked once [`Acks::since`] passes the ends of steps, and the number of the first of them.
    past: VecDeque<f64>,
    first: u64,
}

/// What changes in a step.
#[derive(Clone, Copy, Debug)]
struct State {
    reaction: Reaction,
    sent: f64,
    acked: f64,
}

impl State {
    /// Takes a step at whose end so much is acked; returns the bytes sent.
    fn step(&mut self, acked: f64, acks: &Acks, line: &Line) -> f64 {
        let delivered = acked - self.acked;
        let send = |before: f64, share: f64, part: f64, acked: f64| {
            // A packet leaves while less than the window is in flight; ACKs are of whole ones.
            let window = ceil(share * line.bdp() / line.counted - ROUNDING);
            let until = (window + floor(acked / line.packet) + 1.0) * line.packet;
            (share * line.capacity * part * acks.span).min((until - before).max(0.0))
        };
        let (mut part, mut first) = (0.0, 0.0);
        if delivered > 0.0 {
            let share = self.reaction.share();
            part = self.reaction.on_acks(&Heard {
                delivered,
                acked,
                packet: line.packet,
                acks,
            });
            if part > 0.0 {
                first = send(self.sent, share, part, self.acked + part * delivered);
            }
        }
        let rest = send(self.sent + first, self.reaction.share(), 1.0 - part, acked);
        self.reaction.sent(&Sent {
            before: self.sent,
            part,
            first,
            rest,
            packet: line.packet,
        });
        self.sent += first + rest;
        self.acked = acked;
        first + rest
    }
}

impl Window {
    /// Of a flow that has sent for a round trip since `start`: `sent` bytes, of which `waiting`
    /// wait behind others' at the instant `number`.
    pub fn new(reaction: Reaction, start: f64, sent: f64, waiting: f64, number: u64) -> Self {
        Window {
            state: State {
                reaction,
                sent,
                acked: 0.0,
            },
            start,
            burst: sent - waiting,
            past: VecDeque::from([sent - waiting]),
            first: number,
        }
    }

    /// The bytes that the flow would send in a step.
    pub fn look(&self, acks: &Acks, line: &Line) -> f64 {
        let mut state = self.state;
        state.step(self.acked(acks, line), acks, line)
    }

    /// The bytes that it sends in the step.
    pub fn take(&mut self, acks: &Acks, line: &Line) -> f64 {
        let acked = self.acked(acks, line);
        self.state.step(acked, acks, line)
    }

    /// At the end of the step in which all is acked that was sent until the instant `number`, `waiting`
    /// bytes wait behind others'.
    pub fn note(&mut self, number: u64, waiting: f64) {
        while self.first < number && self.past.len() > 1 {
            self.past.pop_front();
            self.first += 1;
        }
        self.past.push_back(self.state.sent - waiting);
    }

    /// What is acked at the end of the step.
    fn acked(&self, acks: &Acks, line: &Line) -> f64 {
        let since = &acks.since;
        if acks.span < SHORTEST * line.round_trip {
            return self.state.acked;
        }
        let acked = match since.step.checked_sub(self.first) {
            None => self.burst * ((since.at - self.start) / line.round_trip).clamp(0.0, 1.0),
            Some(i) => {
                let (i, last) = (i as usize, self.past.len() - 1);
                let (before, next) = (self.past[i.min(last)], self.past[(i + 1).min(last)]);
                before + (next - before) * since.part
            }
        };
        acked.max(self.state.acked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acks::Moment;

    const LINE: Line = Line {
        capacity: 1000.0,
        round_trip: 1.0,
        packet: 1.0,
        counted: 1.0,
    };

    /// Shares of its window that a flow sends per tenth of a round trip. Marked is what is
    /// acked from 1 to 1.1 s; nothing waits.
    fn run(reaction: Reaction) -> Vec<f64> {
        let mut window = Window::new(reaction, 0.0, 1000.0, 0.0, 10);
        (1..=20)
            .map(|step| {
                let acks = Acks {
                    since: Moment {
                        at: 0.1 * step as f64,
                        step,
                        part: 0.0,
                    },
                    marked: step == 1,
                    ..Acks::of(0.1)
                };
                let sent = window.take(&acks, &LINE);
                window.note(step, 0.0);
                sent / (window.state.reaction.share() * 100.0)
            })
            .collect()
    }

    #[test]
    fn a_window_that_halves_is_silent_for_half_a_round_trip() {
        let sent = run(Reaction::Dctcp(Dctcp::new(1.0, 1.0 / 16.0, 1e-9, 0.01)));
        // But for one packet, a 50th of what it may send in a step: the ACK is of all of it.
        assert!(sent[..5].iter().sum::<f64>() < 0.02 + 1e-6, "{sent:?}");
        // What is acked then was sent at twice the rate, so pacing bounds it, but for nothing that
        // was acked while nothing was sent.
        assert!(
            sent[5..10].iter().all(|s| (s - 1.0).abs() < 1e-6),
            "{sent:?}"
        );
        assert!(
            sent[10..15].iter().all(|s| (s - 1.0).abs() < 0.01),
            "{sent:?}"
        );
    }

    /// All that a flow sends in a step it sends before the cut: what the cut was for is over with the first
    /// packet after all of that, and not with one in the middle of it.
    #[test]
    fn what_was_sent_until_a_window_changes_is_what_was_sent() {
        let sent = Sent {
            before: 100.0,
            part: 0.5,
            first: 40.0,
            rest: 0.0,
            packet: 1.0,
        };
        let mut mark = Mark::Now(0.5);
        mark.sent(&sent);
        assert!(
            matches!(mark, Mark::Byte(byte) if byte == 141.0),
            "{mark:?}"
        );
        let until: Vec<f64> = [0.0, 0.25, 0.75, 1.0].map(|share| sent.until(share)).into();
        assert_eq!(until, [100.0, 120.0, 140.0, 140.0]);
    }
}
