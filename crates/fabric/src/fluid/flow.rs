//! A flow under way: what it hears, what it sends, where its bytes are.

use fctlab_link::{Allowed, Line, Load, Paced, Told};
use smallvec::SmallVec;

use super::chance::{Chance, Squares};
use super::clock::end_of;
use super::curve::Curve;
use super::fair::Fair;
use super::lanes::{Lanes, LastByte};
use super::telemetry::{Busiest, Seen, Telemetry};
use super::waits::Waits;

/// A link of a flow's path, and the queue there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub lane: u32,
    pub link: u32,
    /// That of its class, which is the same where flows have none of their own.
    pub queue: u32,
    /// The link's place.
    pub place: u32,
    /// Bytes that have come to it, and those of the last step.
    passed: f64,
    came: f64,
    /// When that left it of which ACKs are back, and what the link wrote into that.
    acked: f64,
    /// How much later than in the fluid the flow hears of it, for packets that it meets there.
    later: f64,
    seen: Seen,
}

impl Hop {
    /// The place of `link`, and the queue there of the flow's class.
    pub(super) fn new(link: u32, queue: u32, place: u32, seen: Seen) -> Self {
        Hop {
            link,
            lane: queue,
            queue,
            place,
            passed: 0.0,
            came: 0.0,
            acked: 0.0,
            later: 0.0,
            seen,
        }
    }

    /// The flows of its link, if it serves them fairly: then this one has a queue of its own.
    fn fair<'a>(&self, meets: &Meets<'a>) -> Option<&'a Fair> {
        meets.fair.filter(|_| self.lane != self.queue)
    }

    /// How long a packet waits there, where flows are served fairly, that waits for so long in the fluid.
    fn waits(&self, fair: &Fair, lanes: &Lanes, fluid: f64) -> f64 {
        fair.waits(self.queue, (self.came, lanes.is_waiting(self.lane)), fluid)
    }
}

/// The past of queues and, where packets bring it, of links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub lanes: &'a Lanes,
    pub telemetry: Option<&'a Telemetry>,
    /// The sender's NIC.
    pub nic: u32,
    /// How long packets wait at each NIC, by the number of its link.
    pub nic_waits: &'a [Waits],
    pub meets: Meets<'a>,
}

/// How long packets wait for each other, of which a fluid knows nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meets<'a> {
    /// At each link, by queue, where they meet by chance.
    pub chances: &'a [Chance],
    /// At fair links, if there are any.
    pub fair: Option<&'a Fair>,
}

/// Links of a path behind its NIC that are kept in the flow itself: those of a leaf-spine. A large fabric waits for memory
/// most of the time.
const HOPS: usize = 3;

/// The way of a flow there, without its NIC, and that of its ACKs, by queue and without that of the receiver.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub there: SmallVec<[Hop; HOPS]>,
    pub back: SmallVec<[u32; HOPS]>,
    /// The receiver's NIC.
    pub nic: u32,
    /// What the flow takes alone over the slowest link there, without what telemetry adds to its packets.
    pub alone: f64,
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
    /// Whether nothing is acked in it.
    silent: bool,
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
    way: Way,
    curve: Curve,
    /// What links on its path wrote, if they do, into what was acked first and last in the last step: those that were the busiest
    /// when they wrote, as if they were one.
    load: Option<(Load, Load)>,
    /// When that was sent of which ACKs are back.
    heard: f64,
    /// Bytes that have left the last hop.
    delivered: f64,
    /// Once all is sent: where the last byte is, how many hops it has left, and the rate at which the last bytes were
    /// sent.
    last_byte: Option<LastByte>,
    left: usize,
    pace: f64,
    /// When it came to the next one, and how much longer than in the fluid it waits for packets that it meets.
    came: f64,
    by_chance: f64,
}

impl Active {
    /// One that starts in the step after `now`.
    pub(super) fn new(
        (index, class): (usize, u16),
        (size, start): (f64, f64),
        paced: Paced,
        mut way: Way,
        now: u64,
    ) -> Self {
        way.there.iter_mut().for_each(|hop| hop.acked = end_of(now));
        Active {
            index,
            class,
            size,
            start,
            paced,
            way,
            curve: Curve::new(now, start),
            load: None,
            heard: end_of(now),
            delivered: 0.0,
            last_byte: None,
            left: 0,
            pace: 0.0,
            came: 0.0,
            by_chance: 0.0,
        }
    }

    /// The links that it and its ACKs pass.
    pub(super) fn way(&self) -> &Way {
        &self.way
    }

    /// Whether it has more to send.
    pub(super) fn sends(&self) -> bool {
        self.last_byte.is_none()
    }

    /// Bytes that it has yet to send.
    pub(super) fn rest(&self) -> f64 {
        self.size - self.curve.last()
    }

    /// What it hears in the step that ends at `now`.
    pub(super) fn hear(&mut self, known: &Known<'_>, line: &Line, now: u64) -> Hearing {
        let lanes = known.lanes;
        let end = end_of(now);
        let mut hearing = Hearing {
            span: (end - self.start).min(1.0),
            acked: self.paced.acked(),
            marked: (1.0, 1.0),
            silent: true,
        };
        let half = self.way.round_trip / 2.0;
        if end - 2.0 * half <= self.start {
            return hearing;
        }
        // Of all links at once: they do not wait for each other's divisions.
        for hop in &mut self.way.there {
            hop.later = known.meets.chances[hop.queue as usize].heard_later(hop.came);
        }
        // Back along the path, to when that was sent of which the ACK comes now. Of this step nothing is known yet: what is in
        // a queue then has waited as long as what was at its beginning.
        let latest = end - 1.0;
        let mut time = end - half;
        for &queue in self.way.back.iter().rev() {
            time -= known.meets.chances[queue as usize].ack_later();
            let at = time.min(latest);
            if lanes.quiet(queue) > at {
                time -= at - lanes.came(queue, at);
            }
        }
        time -= half + known.nic_waits[self.way.nic as usize].ack(now);
        let unknown = (time - latest).max(0.0);
        time -= unknown;
        let (mut first, mut last): (f64, f64) = (1.0, 0.0);
        let mut busiest = Busiest::default();
        for hop in self.way.there.iter_mut().rev() {
            time -= hop.later;
            let from = hop.acked;
            if time < from {
                time = from;
            }
            hop.acked = time;
            if let Some(telemetry) = known.telemetry {
                let before = std::mem::replace(&mut hop.seen, telemetry.at(hop.link, time));
                busiest.look(time - from, (before, hop.seen), line);
            }
            let fair = hop.fair(&known.meets);
            if lanes.quiet(hop.lane) <= from && fair.is_none() {
                continue; // nothing has waited there since, or been marked
            }
            if let Some((begin, stop)) = lanes.marked(hop.lane, from, time) {
                first = first.min(begin);
                last = last.max(stop);
            }
            let came = lanes.came(hop.lane, time);
            time = match fair {
                Some(fair) => time - hop.waits(fair, lanes, time - came),
                None => came,
            };
        }
        time -= known.nic_waits[known.nic as usize].data(now);
        if first < last {
            hearing.marked = (first, last);
        }
        if known.telemetry.is_some() {
            let last = self.load.map_or(Load::default(), |(_, last)| last);
            self.load = Some(busiest.load(last, line));
        }
        self.heard = time;
        let acked = self.curve.at(time + unknown);
        if acked > hearing.acked {
            (hearing.acked, hearing.silent) = (acked, false);
        }
        hearing
    }

    /// The rate at which it sends while its window lets it, of which it `could` send so much in the step. Where ACKs open the window
    /// that is all the time, elsewhere until it is full.
    pub(super) fn rate(&self, hearing: &Hearing, could: f64, line: &Line) -> f64 {
        if !hearing.silent || could <= 0.0 {
            could / hearing.span
        } else if self.paced.is_clocked() {
            line.capacity
        } else {
            self.paced.share() * line.capacity
        }
    }

    /// The rate at which it may send: a window per round trip. The first window of a flow that is not paced leaves as fast as the
    /// NIC takes it.
    pub(super) fn may_send_at(&self, line: &Line) -> f64 {
        if self.paced.is_clocked() && self.paced.acked() <= 0.0 {
            line.capacity
        } else {
            self.paced.share() * line.capacity
        }
    }

    /// Hears that, and sends at most at rate `most` meanwhile; returns the bytes, as if it always had more. Before, while
    /// and after marks are heard are steps of their own.
    pub(super) fn react(&mut self, hearing: &Hearing, line: &Line, most: f64) -> f64 {
        if let Some(allowed) = self.listen(hearing, line) {
            let portions = self.paced.could(&allowed, hearing.span, most);
            return self.paced.send(&allowed, portions, line);
        }
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
                sent += self.paced.hear(&told, line);
            }
        }
        sent
    }

    /// Hears that, if all ACKs of the step are marked or none is: what its window allows then.
    #[inline(always)] // what it returns is at once taken apart: through memory that costs 1% of a run
    pub(super) fn listen(&mut self, hearing: &Hearing, line: &Line) -> Option<Allowed> {
        if let Some(load) = self.load {
            return Some(self.paced.listen_to(hearing.acked, load, line));
        }
        let marked = match hearing.marked {
            (1.0, _) => false,
            (0.0, 1.0) => true,
            _ => return None,
        };
        Some(self.paced.listen(hearing.acked, marked, line))
    }

    /// Whether it has sent nothing, or would have sent everything after so many bytes more.
    pub(super) fn begins_or_ends(&self, bytes: f64) -> bool {
        self.curve.last() == 0.0 || self.size - (self.curve.last() + bytes) <= SENT_BYTES
    }

    /// It sends so many bytes in the step that ends at `now`, at a `rate` from when it hears of it on.
    pub(super) fn send(&mut self, bytes: f64, rate: f64, hearing: &Hearing, now: u64) {
        let span = hearing.span;
        let mut sent = self.curve.last() + bytes;
        let idle = || {
            if rate > 0.0 {
                span - (bytes / rate).min(span)
            } else {
                0.0
            }
        };
        if self.size - sent <= SENT_BYTES {
            sent = self.size;
            let idle = idle();
            self.pace = bytes / (span - idle);
            self.last_byte = Some(LastByte::At(end_of(now) - idle));
        }
        if self.curve.last() == 0.0 {
            self.curve.sends_until(end_of(now) - idle());
        }
        self.curve.push(sent, self.heard);
    }

    /// Its last byte leaves its NIC so much earlier than in the fluid.
    pub(super) fn is_early(&mut self, by: f64) {
        self.by_chance -= by;
    }

    /// Adds what it has sent to the queues on its path, as if nothing waited in any of them, and its squares to the links.
    ///
    /// What is not paced comes in trains. So does what it sends before its first ACK, but of that only the link to its receiver
    /// counts, where flows of many senders meet. Trains that meet on an earlier one come one behind the other to the next, and
    /// counting them on each of several links as slow as NICs has small flows wait too long.
    pub(super) fn arrive(&mut self, lanes: &mut Lanes, squares: &mut [Squares]) {
        let sent = self.curve.last();
        let clocked = self.paced.is_clocked();
        for hop in &mut self.way.there {
            hop.came = sent - hop.passed;
            hop.passed = sent;
            lanes.add(hop.lane, hop.came);
            let squares = &mut squares[hop.link as usize];
            let square = hop.came * hop.came;
            if clocked {
                squares.trains += square;
            } else {
                squares.even += square;
            }
        }
        if !clocked
            && self.paced.acked() <= 0.0
            && let Some(last) = self.way.there.last()
        {
            squares[last.link as usize].trains += last.came * last.came;
        }
    }

    /// Tells the queues on its path how late a packet may come there, for what it has met by chance.
    pub(super) fn come_late(&self, chances: &[Chance], late: &mut [f64]) {
        let mut waits = 0.0;
        for hop in &self.way.there {
            late[hop.queue as usize] += hop.came * waits;
            waits += chances[hop.queue as usize].longest(hop.came);
        }
    }

    /// Where something waits at the place `layer` in the step that ends at `now`, less comes to the queues behind it.
    pub(super) fn wait(&mut self, layer: u32, lanes: &mut Lanes, now: u64) {
        let ahead = self.way.there.iter();
        let Some(number) = ahead
            .take(self.way.there.len() - 1)
            .position(|hop| lanes.is_waiting(hop.lane) && hop.place == layer)
        else {
            return;
        };
        let arrived = self.passed(number + 1, lanes, now);
        for hop in &mut self.way.there[number + 1..] {
            let less = arrived - hop.passed;
            hop.came += less;
            hop.passed = arrived;
            lanes.add(hop.lane, less);
        }
    }

    /// All that has left the first `hops` hops at `now`.
    fn passed(&self, hops: usize, lanes: &Lanes, now: u64) -> f64 {
        let mut time = end_of(now);
        for hop in self.way.there[..hops].iter().rev() {
            time = lanes.came(hop.lane, time);
        }
        self.curve.at(time)
    }

    /// The bytes that it has delivered in the step that ended at `now`.
    #[inline]
    pub(super) fn deliver(&mut self, lanes: &Lanes, now: u64) -> f64 {
        let delivered = match self.way.there.last() {
            Some(hop) if !lanes.is_waiting(hop.lane) => hop.passed,
            _ => self.passed(self.way.there.len(), lanes, now),
        };
        let bytes = delivered - self.delivered;
        self.delivered = delivered;
        bytes
    }

    /// Follows its last byte, and with `ack` that of its ACK, until `now`; when it is where it ends, if it is.
    #[inline]
    pub(super) fn ends(
        &mut self,
        ack: bool,
        lanes: &Lanes,
        meets: &Meets<'_>,
        now: u64,
    ) -> Option<f64> {
        self.last_byte?;
        self.follow(ack, lanes, meets, now)
    }

    fn follow(&mut self, ack: bool, lanes: &Lanes, meets: &Meets<'_>, now: u64) -> Option<f64> {
        let byte = self.last_byte.as_mut()?;
        let back: &[u32] = if ack { &self.way.back } else { &[] };
        let there = self.way.there.iter();
        let there = there.map(|hop| ((hop.lane, hop.queue), Some(hop)));
        let back = back.iter().map(|&queue| ((queue, queue), None));
        for ((lane, queue), hop) in there.chain(back).skip(self.left) {
            if let LastByte::At(time) = *byte {
                self.came = time;
            }
            let own = hop.map_or(0.0, |hop| hop.came);
            let (left, rate) = lanes.leaves(lane, byte, (own, self.pace), now)?;
            *byte = LastByte::At(left);
            self.pace = self.pace.min(rate);
            self.left += 1;
            self.by_chance += meets.chances[queue as usize].wait(own);
            if let Some((hop, fair)) = hop.and_then(|hop| Some((hop, hop.fair(meets)?))) {
                let fluid = left - self.came;
                self.by_chance += hop.waits(fair, lanes, fluid) - fluid;
            }
        }
        match *byte {
            LastByte::At(time) => Some(time + self.by_chance),
            LastByte::Behind(_) => None,
        }
    }
}

/// A flow has sent everything when less is left.
const SENT_BYTES: f64 = 1e-3;
