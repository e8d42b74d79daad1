//! DCTCP's window as hosts have it (Alizadeh et al., SIGCOMM 2010; RFC 8257): it is not paced. What it allows leaves as fast
//! as the NIC takes it, and slow start doubles it from a few packets on.
//!
//! On an ACK without a mark the window grows by a packet in slow start, afterwards by a packet per window (RFC 5681,
//! section 3.1), and not where the NIC bounds the flow: to twice what is in flight in slow start, afterwards not at all.
//! With a mark it does not grow (RFC 3168, section 6.1.2). What marks say is in `marks`. Nothing is lost.

use super::Reacts;
use crate::heard::{Bound, Heard, Line, ROUNDING, Sent, ceil, floor};
use crate::marks::{Event, Marks};

/// What a sender is told at its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// The gain g of the estimated share of marks.
    pub gain: f64,
    /// The estimate at the start.
    pub initial_alpha: f64,
    /// The first window, in packets.
    pub initial_window: f64,
}

/// Packets that a window has at least (RFC 5681).
const LEAST: f64 = 2.0;

/// The window of one flow. Bytes are counted from its first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocked {
    /// A packet as a share of a BDP, and the window and the slow-start threshold in packets.
    packet: f64,
    window: f64,
    threshold: f64,
    /// Bytes sent.
    sent: f64,
    marks: Marks,
}

impl Clocked {
    pub(crate) fn new(spec: &Spec, line: &Line) -> Self {
        Clocked {
            packet: line.packet / line.bdp(),
            window: spec.initial_window,
            threshold: f64::INFINITY,
            sent: 0.0,
            marks: Marks::from_the_first_ack(spec.gain, spec.initial_alpha),
        }
    }

    /// So many ACKs without a mark come while so many packets are in flight.
    fn grow(&mut self, mut acks: f64, in_flight: f64) {
        if self.window < self.threshold {
            let most = self.threshold.min((2.0 * in_flight).max(self.window));
            let window = (self.window + acks).min(most);
            acks -= window - self.window;
            self.window = window;
        }
        // Each ACK adds 1 / window.
        if self.window >= self.threshold && in_flight >= floor(self.window) {
            self.window = (self.window * self.window + 2.0 * acks).sqrt();
        }
    }
}

impl Reacts for Clocked {
    fn share(&self) -> f64 {
        self.window * self.packet
    }

    fn sent(&mut self, sent: &Sent) {
        self.sent = sent.before + sent.first + sent.rest;
        self.marks.sent(sent);
    }

    fn on_acks(&mut self, heard: &Heard) -> f64 {
        let in_flight = ceil((self.sent - heard.before()) / heard.packet - ROUNDING);
        let (window, threshold) = (&mut self.window, &mut self.threshold);
        let changes = self.marks.on_acks(heard, |event| match event {
            Event::Unmarked => {}
            Event::Cut(factor) => {
                *window = (*window * factor).max(LEAST);
                *threshold = *window;
            }
        });
        if !heard.acks.marked {
            self.grow(heard.packets(), in_flight);
        }
        changes.cut.unwrap_or(0.0)
    }

    /// As many packets as it has are in flight, and leave as fast as the NIC takes them.
    fn bound(&self, share: f64, acked: f64, line: &Line) -> Bound {
        let window = floor(share / self.packet + ROUNDING);
        let packets = ceil(acked / line.packet - ROUNDING);
        Bound {
            rate: f64::INFINITY,
            until: (window + packets) * line.packet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acks::Acks;

    const LINE: Line = Line {
        capacity: 1.0,
        round_trip: 100.0,
        packet: 1.0,
        counted: 1.0,
    };

    fn heard(acked: f64, delivered: f64, acks: &Acks) -> Heard<'_> {
        Heard {
            delivered,
            acked,
            packet: 1.0,
            turn: 0.0,
            acks,
        }
    }

    #[test]
    fn it_doubles_until_a_mark_and_then_grows_by_a_packet() {
        let spec = Spec {
            gain: 1.0 / 16.0,
            initial_alpha: 1.0,
            initial_window: 10.0,
        };
        let mut flow = Clocked::new(&spec, &LINE);
        let until = |flow: &Clocked, acked| flow.bound(flow.share(), acked, &LINE).until;
        assert_eq!(until(&flow, 0.0), 10.0);
        let (plain, mark) = (Acks::marks(1.0, false), Acks::marks(1.0, true));
        let sent = |before, rest| Sent {
            before,
            part: 0.0,
            first: 0.0,
            rest,
            packet: 1.0,
        };
        flow.sent(&sent(0.0, 10.0));
        flow.on_acks(&heard(10.0, 10.0, &plain));
        flow.sent(&sent(10.0, 20.0));
        assert_eq!((flow.window, until(&flow, 10.0)), (20.0, 30.0));
        // The first ACK was an estimate: alpha is 15/16, and a second time once packet 12 is acked.
        flow.on_acks(&heard(11.0, 1.0, &mark));
        let cut = 20.0 * (1.0 - 15.0 / 32.0);
        assert!((flow.window - cut).abs() < 1e-9, "{}", flow.window);
        flow.sent(&sent(30.0, 0.0));
        // Once per window of data.
        flow.on_acks(&heard(12.0, 1.0, &mark));
        flow.sent(&sent(30.0, 0.0));
        assert!((flow.window - cut).abs() < 1e-9);
        flow.on_acks(&heard(12.0 + cut, cut.floor(), &plain));
        assert!((flow.window - cut - 1.0).abs() < 0.1, "{}", flow.window);
    }
}
