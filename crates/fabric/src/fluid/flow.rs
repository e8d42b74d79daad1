//! A flow under way: what it hears, what it sends, where its bytes are.

use fctlab_link::{Line, Paced, Told};

use super::curve::Curve;
use super::lanes::{Lanes, LastByte};
use super::links::Links;

/// A link of a flow's path, and the queue there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub link: u32,
    pub lane: u32,
    /// The link's place.
    pub place: u32,
    /// Bytes that have come to it, and those of the last step.
    passed: f64,
    came: f64,
    /// When that left it of which ACKs are back.
    acked: f64,
}

impl Hop {
    pub(super) fn new(link: u32, lane: u32, place: u32) -> Self {
        Hop {
            link,
            lane,
            place,
            passed: 0.0,
            came: 0.0,
            acked: 0.0,
        }
    }
}

/// The way of a flow there, without its NIC, and that of its ACKs, without that of the receiver.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub there: Box<[Hop]>,
    pub back: Box<[Hop]>,
    /// The receiver's NIC.
    pub nic: u32,
    /// The rate of the slowest link there.
    pub slowest: f64,
    /// What a packet and its ACK take there and back when nothing waits.
    pub round_trip: f64,
}

/// What a flow hears in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hearing {
    /// How long the step is, or what is left of it when the flow starts.
    pub span: f64,
    /// All that is acked at its end.
    acked: f64,
    /// The shares of the step between which ACKs bring marks.
    marked: (f64, f64),
}

/// A flow under way. Times are in steps, bytes are those on the wire.
#[derive(Clone, Debug)]
pub(super) struct Active {
    /// Its place in the list of flows, and its class.
    pub index: usize,
    pub class: u16,
    pub size: f64,
    pub start: f64,
    pub paced: Paced,
    pub line: Line,
    way: Way,
    curve: Curve,
    /// The hop that the next arrivals are for.
    next: usize,
    /// Bytes that have left the last hop.
    delivered: f64,
    /// Once all is sent: where the last byte is, how many hops it has left, and the rate at which the last bytes were
    /// sent.
    last_byte: Option<LastByte>,
    left: usize,
    pace: f64,
}

impl Active {
    /// One that starts in the step after `now`.
    pub(super) fn new(
        (index, class): (usize, u16),
        (size, start): (f64, f64),
        paced: Paced,
        line: Line,
        mut way: Way,
        now: u64,
    ) -> Self {
        way.there.iter_mut().for_each(|hop| hop.acked = now as f64);
        Active {
            index,
            class,
            size,
            start,
            paced,
            line,
            way,
            curve: Curve::new(now),
            next: 0,
            delivered: 0.0,
            last_byte: None,
            left: 0,
            pace: 0.0,
        }
    }

    /// What sending all of it takes alone.
    pub(super) fn alone(&self) -> f64 {
        self.size / self.way.slowest
    }

    /// Whether it has more to send.
    pub(super) fn sends(&self) -> bool {
        self.last_byte.is_none()
    }

    /// The rate at which it is paced.
    pub(super) fn rate(&self) -> f64 {
        self.paced.share() * self.line.capacity
    }

    /// Bytes that it has yet to send.
    pub(super) fn rest(&self) -> f64 {
        self.size - self.curve.last()
    }

    /// What it hears in the step that ends at `now`.
    pub(super) fn hear(&mut self, lanes: &Lanes, now: u64) -> Hearing {
        let end = now as f64;
        let mut hearing = Hearing {
            span: (end - self.start).min(1.0),
            acked: self.paced.acked(),
            marked: (1.0, 1.0),
        };
        let half = self.way.round_trip / 2.0;
        if end - 2.0 * half <= self.start {
            return hearing;
        }
        // Back along the path, to when that was sent of which the ACK comes now; of this step nothing is known yet.
        let mut time = (end - half).min(end - 1.0);
        for hop in self.way.back.iter().rev() {
            time = lanes.came(hop.lane, time);
        }
        time -= half;
        let (mut first, mut last) = (1.0f64, 0.0f64);
        for hop in self.way.there.iter_mut().rev() {
            let from = hop.acked;
            time = time.max(from);
            if let Some((begin, stop)) = lanes.marked(hop.lane, from, time) {
                first = first.min((begin - from) / (time - from));
                last = last.max((stop - from) / (time - from));
            }
            hop.acked = time;
            time = lanes.came(hop.lane, time);
        }
        if first < last {
            hearing.marked = (first, last);
        }
        hearing.acked = self.curve.at(time).max(hearing.acked);
        self.curve.forget(time);
        hearing
    }

    /// Hears that, and sends at most at rate `most` meanwhile; returns the bytes, as if it always had more. Before, while
    /// and after marks are heard are steps of their own.
    pub(super) fn react(&mut self, hearing: &Hearing, most: f64) -> f64 {
        let before = self.paced.acked();
        let (first, last) = hearing.marked;
        let parts = [(0.0, first, false), (first, last, true), (last, 1.0, false)];
        let mut sent = 0.0;
        for (from, to, marked) in parts {
            if to > from {
                let told = Told {
                    span: (to - from) * hearing.span,
                    acked: before + to * (hearing.acked - before),
                    marked,
                    most,
                };
                sent += self.paced.hear(&told, &self.line);
            }
        }
        sent
    }

    /// It has nothing to send in the step.
    pub(super) fn pause(&mut self) {
        self.curve.push(self.size);
    }

    /// It has sent so many bytes in the step, at a rate of `pace` until `end` if these were its last.
    pub(super) fn send(&mut self, bytes: f64, pace: f64, end: f64) {
        let sent = self.curve.last() + bytes;
        if self.size - sent <= SENT_BYTES {
            self.curve.push(self.size);
            self.last_byte = Some(LastByte::At(end));
            self.pace = pace;
        } else {
            self.curve.push(sent);
        }
    }

    /// Adds what comes to its queue at `place`, if it has one there, in the step that ends at `now`.
    pub(super) fn arrive(&mut self, place: u32, links: &mut Links, lanes: &mut Lanes, now: u64) {
        let Some(hop) = self.way.there.get(self.next) else {
            return;
        };
        if hop.place != place {
            return;
        }
        let arrived = self.passed(self.next, lanes, now);
        links.add(hop.link, hop.lane, arrived - hop.passed, lanes);
        let hop = &mut self.way.there[self.next];
        (hop.passed, hop.came) = (arrived, arrived - hop.passed);
        self.next += 1;
    }

    /// All that has left the first `hops` hops at `now`.
    fn passed(&self, hops: usize, lanes: &Lanes, now: u64) -> f64 {
        let mut time = now as f64;
        for hop in self.way.there[..hops].iter().rev() {
            time = lanes.came(hop.lane, time);
        }
        if time >= now as f64 {
            return self.curve.last();
        }
        self.curve.at(time)
    }

    /// The step that ends at `now` is over: the bytes that it has delivered, and the ways of their ACKs.
    pub(super) fn deliver(&mut self, lanes: &Lanes, now: u64) -> (f64, &Way) {
        self.next = 0;
        let delivered = self.passed(self.way.there.len(), lanes, now);
        let bytes = delivered - self.delivered;
        self.delivered = delivered;
        (bytes, &self.way)
    }

    /// Follows its last byte, and with `ack` that of its ACK, until `now`; when it is where it ends, if it is.
    pub(super) fn ends(&mut self, ack: bool, lanes: &Lanes, now: u64) -> Option<f64> {
        let byte = self.last_byte.as_mut()?;
        let back: &[Hop] = if ack { &self.way.back } else { &[] };
        for hop in self.way.there.iter().chain(back).skip(self.left) {
            let left = lanes.leaves(hop.lane, byte, (hop.came, self.pace), now)?;
            *byte = LastByte::At(left);
            self.left += 1;
        }
        match *byte {
            LastByte::At(time) => Some(time),
            LastByte::Behind(_) => None,
        }
    }
}

/// A flow has sent everything when less is left.
const SENT_BYTES: f64 = 1e-3;
