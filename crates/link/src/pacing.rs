//! What a flow with a window sends: at most its window in flight, paced at a window per round trip.
//!
//! How the window reacts is the law's: [`Reaction`]. Whoever moves the bytes says what is acked, and
//! may bound the rate: a link that several flows share.

use crate::acks::Acks;
use crate::heard::{Heard, Line, ROUNDING, Sent, ceil, floor};
use crate::laws::{Law, Reaction, Reacts};

/// A flow with a window. Bytes are counted from its first one.
#[derive(Clone, Copy, Debug)]
pub struct Paced {
    pub(crate) reaction: Reaction,
    sent: f64,
    acked: f64,
}

/// What a flow hears in a step, or in a part of one, and what bounds it.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// How long it is.
    pub span: f64,
    /// All that is acked at its end.
    pub acked: f64,
    /// Whether what is newly acked is marked.
    pub marked: bool,
    /// Bytes per time that the flow may send, whatever its window.
    pub most: f64,
}

impl Paced {
    /// A flow that has sent nothing, at line rate; nothing where flows of the law have no windows.
    pub fn new(law: &Law, line: &Line) -> Option<Self> {
        let reaction = law.flow(1.0, line)?;
        Some(Paced::after(reaction, 0.0))
    }

    /// A flow that has sent so much, of which nothing is acked.
    pub(crate) fn after(reaction: Reaction, sent: f64) -> Self {
        Paced {
            reaction,
            sent,
            acked: 0.0,
        }
    }

    /// All bytes sent.
    pub fn sent(&self) -> f64 {
        self.sent
    }

    /// Those of them that are acked.
    pub fn acked(&self) -> f64 {
        self.acked
    }

    /// The rate at which it is paced, as a share of the line's.
    pub fn share(&self) -> f64 {
        self.reaction.share()
    }

    /// Takes a step in which switches say of what is acked whether it is marked, and nothing else; returns the
    /// bytes sent.
    pub fn hear(&mut self, told: &Told, line: &Line) -> f64 {
        let acks = Acks::marks(told.span, told.marked);
        self.step(told.acked.max(self.acked), &acks, line, told.most)
    }

    /// Takes a step at whose end so much is acked; returns the bytes sent.
    pub(crate) fn step(&mut self, acked: f64, acks: &Acks, line: &Line, most: f64) -> f64 {
        let delivered = acked - self.acked;
        let send = |before: f64, share: f64, part: f64, acked: f64| {
            // A packet leaves while less than the window is in flight; ACKs are of whole ones.
            let window = ceil(share * line.bdp() / line.counted - ROUNDING);
            let until = (window + floor(acked / line.packet) + 1.0) * line.packet;
            let rate = (share * line.capacity).min(most);
            (rate * part * acks.span).min((until - before).max(0.0))
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
