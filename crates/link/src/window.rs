//! A flow that has at most a window in flight, paced at a window per round trip. Not in the paper.
//!
//! What it may send follows from what is acked: while bytes wait ACKs come more slowly, and after
//! the window has fallen none is sent until enough is acked. A window starts with as much as
//! fits into a round trip at r_init, and how it reacts to ACKs is the congestion
//! control's: [`Dctcp`], [`Hpcc`].

use std::collections::VecDeque;

use crate::acks::{Acks, Instant, Marks};
use crate::dctcp::Dctcp;
use crate::hpcc::Hpcc;

/// Shorter steps, in round trips, are rounding between two events: nothing is heard in them.
const SHORTEST: f64 = 1e-6;

/// Of a packet: bytes that are as good as one that they come so close to.
const ROUNDING: f64 = 1e-9;

/// What flows send over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Bytes per second.
    pub capacity: f64,
    /// 2 tau, in seconds.
    pub round_trip: f64,
    /// Bytes of a full packet.
    pub packet: f64,
}

impl Line {
    pub fn bdp(&self) -> f64 {
        self.capacity * self.round_trip
    }
}

/// What the ACKs of a step tell one flow. Bytes are counted from its first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// Bytes that are newly acked, and all that are.
    pub delivered: f64,
    pub acked: f64,
    /// Of a full packet.
    pub packet: f64,
    /// As in [`Acks`].
    pub marks: Marks,
    pub from: Instant,
    pub to: Instant,
}

impl Heard {
    /// Acked at the beginning of the step.
    fn before(&self) -> f64 {
        self.acked - self.delivered
    }

    /// ACKs of packets: one comes with the first byte of each.
    pub fn acks(&self) -> f64 {
        (self.acked / self.packet).ceil() - (self.before() / self.packet).ceil()
    }

    /// The share of the step after which the first ACK comes, of those that come after `share` of it
    /// or then; beyond 1 if none does.
    pub fn next_ack(&self, share: f64) -> f64 {
        let from = (self.before() + share * self.delivered) / self.packet;
        let next = (from - ROUNDING).ceil() * self.packet;
        ((next - self.before()) / self.delivered).max(share)
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

    /// In the step `bytes` were sent, after `before`, in packets of so many. ACKs are of whole ones:
    /// what is sent next is acked with its packet.
    pub fn sent(&mut self, before: f64, bytes: f64, packet: f64) {
        if let Mark::Now(share) = *self {
            let whole = ((before + share * bytes) / packet).floor();
            *self = Mark::Byte((whole + 1.0) * packet);
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
    /// The share of the step after which the window is another one.
    fn on_acks(&mut self, heard: &Heard) -> f64 {
        match self {
            Reaction::Dctcp(flow) => flow.on_acks(heard),
            Reaction::Hpcc(flow) => flow.on_acks(heard),
        }
    }

    /// In the step so much was sent, after `before`, in packets of so many.
    fn sent(&mut self, before: f64, bytes: f64, packet: f64) {
        match self {
            Reaction::Dctcp(flow) => flow.sent(before, bytes, packet),
            Reaction::Hpcc(flow) => flow.sent(before, bytes, packet),
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
    reaction: Reaction,
    sent: f64,
    acked: f64,
    /// Ends of steps, and what will be acked once [`Acks::since`] passes them.
    past: VecDeque<(f64, f64)>,
}

/// What becomes of a window in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    reaction: Reaction,
    acked: f64,
    /// Bytes sent.
    pub sent: f64,
}

impl Window {
    /// Of a flow that has sent for a round trip since `start`: `sent` bytes, of which `waiting`
    /// wait behind others'.
    pub fn new(reaction: Reaction, start: f64, round_trip: f64, sent: f64, waiting: f64) -> Self {
        Window {
            reaction,
            sent,
            acked: 0.0,
            past: VecDeque::from([(start, 0.0), (start + round_trip, sent - waiting)]),
        }
    }

    /// What the flow does in a step.
    pub fn look(&self, acks: &Acks, line: &Line) -> Taken {
        let mut reaction = self.reaction;
        let mut acked = self.acked;
        if acks.span >= SHORTEST * line.round_trip {
            acked = self.acked_at(acks.since).max(acked);
        }
        let delivered = acked - self.acked;
        let mut sent = 0.0;
        let mut send = |reaction: &Reaction, part: f64, acked: f64| {
            let share = reaction.share();
            // A packet leaves while less than the window is in flight; ACKs are of whole ones.
            let window = (share * line.bdp() / line.packet - ROUNDING).ceil();
            let until = (window + (acked / line.packet).floor() + 1.0) * line.packet;
            let room = until - (self.sent + sent);
            sent += (share * line.capacity * part * acks.span).min(room.max(0.0));
        };
        let mut part = 0.0;
        if delivered > 0.0 {
            part = reaction.on_acks(&Heard {
                delivered,
                acked,
                packet: line.packet,
                marks: acks.marks,
                from: acks.from,
                to: acks.to,
            });
            if part > 0.0 {
                send(&self.reaction, part, self.acked + part * delivered);
            }
        }
        send(&reaction, 1.0 - part, acked);
        reaction.sent(self.sent, sent, line.packet);
        Taken {
            reaction,
            acked,
            sent,
        }
    }

    /// It has done so.
    pub fn take(&mut self, taken: &Taken) {
        self.reaction = taken.reaction;
        self.acked = taken.acked;
        self.sent += taken.sent;
    }

    /// At the end of the step `waiting` bytes wait behind others'.
    pub fn note(&mut self, acks: &Acks, waiting: f64) {
        while self.past.get(1).is_some_and(|p| p.0 <= acks.since) {
            self.past.pop_front();
        }
        let bytes = self.sent - waiting;
        let n = self.past.len();
        if n > 2 && self.past[n - 1].1 == bytes && self.past[n - 2].1 == bytes {
            self.past[n - 1].0 = acks.end;
        } else {
            self.past.push_back((acks.end, bytes));
        }
    }

    fn acked_at(&self, since: f64) -> f64 {
        let after = self.past.partition_point(|p| p.0 <= since);
        let before = match after {
            0 => return 0.0,
            _ => self.past[after - 1],
        };
        match self.past.get(after) {
            Some(next) => before.1 + (next.1 - before.1) * (since - before.0) / (next.0 - before.0),
            None => before.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Line = Line {
        capacity: 1000.0,
        round_trip: 1.0,
        packet: 1.0,
    };

    /// Shares of its window that a flow sends per tenth of a round trip. Marked is what is
    /// acked from 1 to 1.1 s; nothing waits.
    fn run(reaction: Reaction) -> Vec<f64> {
        let mut window = Window::new(reaction, 0.0, 1.0, 1000.0, 0.0);
        (0..20)
            .map(|i| {
                let end = 1.1 + 0.1 * f64::from(i);
                let acks = Acks {
                    end,
                    span: 0.1,
                    since: end - 1.0,
                    marks: Marks {
                        share: if i == 0 { 1.0 } else { 0.0 },
                        first: 0.0,
                        last: 1.0,
                    },
                    from: Instant::default(),
                    to: Instant::default(),
                };
                let taken = window.look(&acks, &LINE);
                window.take(&taken);
                window.note(&acks, 0.0);
                taken.sent / (taken.reaction.share() * 100.0)
            })
            .collect()
    }

    #[test]
    fn a_window_that_halves_is_silent_for_half_a_round_trip() {
        let sent = run(Reaction::Dctcp(Dctcp::new(1.0, 1.0 / 16.0, 1e-9)));
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
}
