//! What the ACKs of a step tell a flow, and what it sends meanwhile: whole packets in a fluid.

use crate::acks::Acks;

/// Of a packet: bytes that are as good as one that they come so close to.
pub(crate) const ROUNDING: f64 = 1e-9;

/// The largest whole number up to `x`, which is not negative. `f64::floor` is a call of a function
/// where the target has no instruction for it.
pub(crate) fn floor(x: f64) -> f64 {
    x as i64 as f64
}

/// The smallest whole number from `x` on, which is above -1.
pub(crate) fn ceil(x: f64) -> f64 {
    let whole = floor(x);
    whole + f64::from(u8::from(whole < x))
}

/// What flows send over.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Bytes per second, or per whatever time is counted in.
    pub capacity: f64,
    /// 2 tau, in seconds: what a BDP is of.
    pub round_trip: f64,
    /// Bytes of a full packet.
    pub packet: f64,
    /// Those of them that a window counts.
    pub counted: f64,
}

impl Line {
    pub(crate) fn bdp(&self) -> f64 {
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
    /// After which share of a packet's bytes its ACK comes: see [`crate::Paced::in_turn`].
    pub turn: f64,
    pub acks: &'a Acks,
}

impl Heard<'_> {
    /// Acked at the beginning of the step.
    pub(crate) fn before(&self) -> f64 {
        self.acked - self.delivered
    }

    /// Newly acked bytes that are marked.
    pub(crate) fn marked(&self) -> f64 {
        if self.acks.marked {
            self.delivered
        } else {
            0.0
        }
    }

    /// Packets whose ACKs come, as if one did with the first byte of each.
    pub(crate) fn packets(&self) -> f64 {
        ceil(self.acked / self.packet) - ceil(self.before() / self.packet)
    }

    /// The share of the step after which the first ACK comes, of those that come after `share` of it
    /// or then; beyond 1 if none does.
    pub(crate) fn next_ack(&self, share: f64) -> f64 {
        let from = (self.before() + share * self.delivered) / self.packet;
        let next = (ceil(from - self.turn - ROUNDING) + self.turn) * self.packet;
        ((next - self.before()) / self.delivered).max(share)
    }
}

/// What bounds a flow: its rate, and the byte up to which it may send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub rate: f64,
    pub until: f64,
}

impl Bound {
    /// Of a window of so much of a BDP, once so much is acked: a packet leaves while less than it is in flight.
    #[inline(always)]
    pub(crate) fn paced(share: f64, acked: f64, line: &Line) -> Self {
        let window = ceil(share * line.bdp() / line.counted - ROUNDING);
        Bound {
            rate: share * line.capacity,
            until: (window + floor(acked / line.packet) + 1.0) * line.packet,
        }
    }

    /// What is sent in a `part` of `span` at most at rate `most`, after so much.
    #[inline(always)]
    pub(crate) fn send(&self, before: f64, part: f64, span: f64, most: f64) -> f64 {
        (self.rate.min(most) * part * span).min((self.until - before).max(0.0))
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
    pub(crate) fn until(&self, share: f64) -> f64 {
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
    pub(crate) fn passed(self, heard: &Heard) -> Option<f64> {
        match self {
            Mark::Byte(byte) if heard.acked >= byte => {
                Some(((byte - heard.before()) / heard.delivered).max(0.0))
            }
            _ => None,
        }
    }

    /// The step is over. ACKs are of whole packets: what is sent next is acked with its packet.
    pub(crate) fn sent(&mut self, sent: &Sent) {
        if let Mark::Now(share) = *self {
            let whole = floor(sent.until(share) / sent.packet);
            *self = Mark::Byte((whole + 1.0) * sent.packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_comes_once_its_turn_has() {
        let next = |turn, share| {
            let acks = Acks::marks(1.0, true);
            let heard = Heard {
                delivered: 2.0,
                acked: 12.5,
                packet: 1.0,
                turn,
                acks: &acks,
            };
            heard.next_ack(share)
        };
        // From 10.5 to 12.5.
        assert_eq!(next(0.0, 0.0), 0.25);
        assert_eq!(next(0.75, 0.0), 0.125);
        assert_eq!(next(0.25, 0.0), 0.375);
        assert_eq!(next(0.25, 0.5), 0.875);
        assert_eq!(next(0.25, 0.9), 1.375);
    }
}
