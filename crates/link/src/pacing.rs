//! What a flow with a window sends: at most its window in flight, paced at a window per round trip, or as fast as its NIC
//! takes it.
//!
//! How the window reacts is the law's: [`Reaction`]. Whoever moves the bytes says what is acked, and
//! may bound the rate: a link that several flows share.

use crate::acks::{Acks, Instant};
use crate::heard::{Bound, Heard, Line, Sent};
use crate::laws::clocked::{self, Clocked};
use crate::laws::{Law, Reaction, Reacts};

/// A flow with a window. Bytes are counted from its first one.
#[derive(Clone, Copy, Debug)]
pub struct Paced {
    pub(crate) reaction: Reaction,
    sent: f64,
    acked: f64,
    turn: f64,
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

/// What a switch has written into a packet that leaves: HPCC's telemetry. Time is counted as a line does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// When it left.
    pub at: f64,
    /// How long the link had sent until then.
    pub busy: f64,
    /// Bytes that wait, over a BDP of the link.
    pub waiting: f64,
}

/// What a window allows in a step, before it changes and after.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// The share of the step after which it changes.
    part: f64,
    before: Bound,
    after: Bound,
}

/// What is sent in a step, before the window changes and after.
#[derive(Clone, Copy, Debug)]
pub struct Portions {
    first: f64,
    rest: f64,
}

impl Portions {
    /// All of it.
    pub fn bytes(&self) -> f64 {
        self.first + self.rest
    }
}

/// Of ACKs that are marked or not, and say nothing else.
fn marks(marked: bool) -> &'static Acks {
    static MARKS: [Acks; 2] = [Acks::marks(1.0, false), Acks::marks(1.0, true)];
    &MARKS[usize::from(marked)]
}

impl Paced {
    /// A flow that has sent nothing, at line rate; nothing where flows of the law have no windows.
    pub fn new(law: &Law, line: &Line) -> Option<Self> {
        let reaction = law.flow(1.0, line)?;
        Some(Paced::after(reaction, 0.0))
    }

    /// The same whose packets are so late in each round of those that flows send in turns, from 0 for the first to 1.
    ///
    /// In a fluid all bytes of such a round leave a queue side by side, and so the ACKs of all flows would come at once: all would
    /// hear the same marks. With packets one flow's are the first of a round, and another's the last. Flows that are not paced send
    /// trains of packets, which do not take turns.
    #[must_use]
    pub fn in_turn(self, turn: f64) -> Self {
        Paced { turn, ..self }
    }

    /// A flow that has sent nothing, and whose window is not paced.
    pub fn clocked(spec: &clocked::Spec, line: &Line) -> Self {
        Paced::after(Reaction::Clocked(Clocked::new(spec, line)), 0.0)
    }

    /// A flow that has sent so much, of which nothing is acked.
    pub(crate) fn after(reaction: Reaction, sent: f64) -> Self {
        Paced {
            reaction,
            sent,
            acked: 0.0,
            turn: 0.0,
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

    /// Whether its NIC alone paces it.
    pub fn is_clocked(&self) -> bool {
        matches!(self.reaction, Reaction::Clocked(_))
    }

    /// Its window as a share of a BDP, so the rate at which it is paced as a share of the line's.
    pub fn share(&self) -> f64 {
        self.reaction.share()
    }

    /// Takes a step in which switches say of what is acked whether it is marked, and nothing else; returns the
    /// bytes sent.
    pub fn hear(&mut self, told: &Told, line: &Line) -> f64 {
        let allowed = self.listen(told.acked, told.marked, line);
        let portions = self.could(&allowed, told.span, told.most);
        self.send(&allowed, portions, line)
    }

    /// The first half of a step: it hears that so much is acked at its end, marked or not.
    #[inline]
    pub fn listen(&mut self, acked: f64, marked: bool, line: &Line) -> Allowed {
        self.heed(acked.max(self.acked), marks(marked), line)
    }

    /// The same where switches say how much they have sent and what waits: of what left first and last of that
    /// which is newly acked.
    pub fn listen_to(&mut self, acked: f64, (from, to): (Load, Load), line: &Line) -> Allowed {
        let instant = |load: Load| Instant {
            at: load.at,
            busy: load.busy,
            waiting: load.waiting,
            ..Instant::default()
        };
        let acks = Acks {
            from: instant(from),
            to: instant(to),
            ..*marks(false)
        };
        self.heed(acked.max(self.acked), &acks, line)
    }

    /// The second half, as if: what it could send in a step of `span`, at most at rate `most`.
    #[inline]
    pub fn could(&self, allowed: &Allowed, span: f64, most: f64) -> Portions {
        let Allowed {
            part,
            before,
            after,
        } = *allowed;
        let first = if part > 0.0 {
            before.send(self.sent, part, span, most)
        } else {
            0.0
        };
        let rest = after.send(self.sent + first, 1.0 - part, span, most);
        Portions { first, rest }
    }

    /// The second half: it sends these; returns all bytes.
    #[inline]
    pub fn send(&mut self, allowed: &Allowed, portions: Portions, line: &Line) -> f64 {
        let Portions { first, rest } = portions;
        self.reaction.sent(&Sent {
            before: self.sent,
            part: allowed.part,
            first,
            rest,
            packet: line.packet,
        });
        self.sent += first + rest;
        first + rest
    }

    /// Takes a step at whose end so much is acked; returns the bytes sent.
    pub(crate) fn step(&mut self, acked: f64, acks: &Acks, line: &Line, most: f64) -> f64 {
        let allowed = self.heed(acked, acks, line);
        let portions = self.could(&allowed, acks.span, most);
        self.send(&allowed, portions, line)
    }

    #[inline(always)]
    fn heed(&mut self, acked: f64, acks: &Acks, line: &Line) -> Allowed {
        let delivered = acked - self.acked;
        let mut part = 0.0;
        let mut before = None;
        if delivered > 0.0 {
            let share = self.reaction.share();
            part = self.reaction.on_acks(&Heard {
                delivered,
                acked,
                packet: line.packet,
                turn: self.turn,
                acks,
            });
            if part > 0.0 {
                before = Some(
                    self.reaction
                        .bound(share, self.acked + part * delivered, line),
                );
            }
        }
        self.acked = acked;
        let after = self.reaction.bound(self.reaction.share(), acked, line);
        Allowed {
            part,
            before: before.unwrap_or(after),
            after,
        }
    }
}
