//! How long packets wait at a NIC, where a fluid has no queue.

use fctlab_link::Line;

use super::clock::end_of;
use super::lag;

/// How long packets wait at a NIC. Times are in steps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Waits {
    /// An ACK, which goes behind the data there.
    ack: f64,
    /// A packet of data, behind those of other flows that it meets by chance. Flows that are held back take turns: their
    /// packets are not in flight before.
    data: f64,
    /// The last step in which it had flows.
    step: u64,
    /// Where flows are paced, how busy it had been in the round trip until then, about, and for how long after that packets count
    /// as late.
    busy: f64,
    lasts: f64,
}

/// What a NIC sends in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sends {
    /// The share of its rate that it sends.
    pub busy: f64,
    /// How many flows send, and how many of them are held back.
    pub flows: usize,
    pub held: usize,
    /// Whether an ACK goes before all data but the packet on its way.
    pub acks_first: bool,
}

impl Sends {
    /// Flows beside one.
    fn others(&self) -> f64 {
        self.flows as f64 - 1.0
    }
}

impl Waits {
    /// Where flows send as fast as ACKs come.
    ///
    /// An ACK waits for half of the packet on its way, and for one of each other flow that is held back. Where none is,
    /// packets meet by chance, as in M/D/1, of each flow one at most.
    pub(super) fn of_clocked(sends: &Sends, line: &Line, now: u64) -> Self {
        let (busy, others) = (sends.busy, sends.others());
        let (ack, data) = if sends.held > 0 {
            (0.5 + (sends.held - 1) as f64, 0.0)
        } else {
            let by_chance = 0.5 * busy / (1.0 - busy).max(0.0);
            (
                by_chance.min(0.5 * busy + others),
                by_chance.min(0.5 * others),
            )
        };
        let ack = if sends.acks_first { 0.5 * busy } else { ack };
        let slot = line.packet / line.capacity;
        Waits {
            ack: slot * ack,
            data: slot * data,
            step: now,
            ..Waits::default()
        }
    }

    /// The same where flows are paced, as their senders hear it ([`lag`]), after it was like this before.
    pub(super) fn of_paced(&self, sends: &Sends, line: &Line, now: u64) -> Self {
        let before = self.busy * self.left(now);
        let busy = before + (sends.busy - before) / line.round_trip.max(1.0);
        let window = line.capacity * line.round_trip / line.packet;
        let late = |busy: f64, most: f64| {
            let longest = most.min(1.0 / (1.0 - busy).max(0.0));
            longest * lag::of_longest(busy * window)
        };
        let others = sends.others();
        let (ack, data) = if sends.held > 0 {
            (late(1.0, 1.0) + (sends.held - 1) as f64, 0.0)
        } else {
            let met = busy * others / sends.flows as f64;
            (late(busy, 1.0 + others), late(met, others))
        };
        let ack = if sends.acks_first {
            late(busy, 1.0)
        } else {
            ack
        };
        let slot = line.packet / line.capacity;
        Waits {
            ack: slot * ack,
            data: slot * data,
            busy,
            step: now,
            lasts: line.round_trip,
        }
    }

    /// An ACK, in a step.
    #[inline]
    pub(super) fn ack(&self, now: u64) -> f64 {
        self.ack * self.left(now)
    }

    /// A packet of data, in a step.
    #[inline]
    pub(super) fn data(&self, now: u64) -> f64 {
        self.data * self.left(now)
    }

    /// What is left of all that while the NIC has no flows any more.
    #[inline]
    fn left(&self, now: u64) -> f64 {
        let idle = end_of((now - self.step).saturating_sub(1));
        if idle == 0.0 {
            1.0
        } else {
            (1.0 - idle / self.lasts).max(0.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet takes two steps, and a round trip has ten of them.
    const LINE: Line = Line {
        capacity: 500.0,
        round_trip: 20.0,
        packet: 1000.0,
        counted: 1000.0,
    };

    fn sends(busy: f64, flows: usize, held: usize) -> Sends {
        Sends {
            busy,
            flows,
            held,
            acks_first: false,
        }
    }

    #[test]
    fn an_ack_waits_for_the_packets_in_front_of_it() {
        let waits = |busy, flows, held| {
            let found = Waits::of_clocked(&sends(busy, flows, held), &LINE, 7);
            assert_eq!((found.ack(8), found.ack(9)), (found.ack, 0.0));
            (found.ack(7), found.data(7))
        };
        assert_eq!(waits(1.0, 3, 3), (5.0, 0.0));
        assert_eq!(waits(1.0, 1, 0), (1.0, 0.0));
        assert_eq!(waits(0.5, 2, 0), (1.0, 1.0));
        assert_eq!(waits(1.0, 2, 0), (3.0, 1.0));
        let first = Sends {
            acks_first: true,
            ..sends(0.5, 2, 0)
        };
        assert_eq!(Waits::of_clocked(&first, &LINE, 7).ack(7), 0.5);
    }

    #[test]
    fn paced_flows_hear_nearly_the_longest_wait_for_a_round_trip() {
        let mut waits = Waits::default();
        for step in 1..200 {
            waits = waits.of_paced(&sends(1.0, 1, 0), &LINE, step);
        }
        // Of a packet's two steps, ten of which are met.
        let found = 2.0 * lag::of_longest(10.0);
        assert!((waits.ack(199) / found - 1.0).abs() < 1e-3);
        assert_eq!(waits.data(199), 0.0);
        // It goes as slowly as it came.
        assert_eq!(waits.ack(200), waits.ack);
        assert!((waits.ack(210) / waits.ack - 0.5).abs() < 1e-9);
        assert_eq!(waits.ack(221), 0.0);
        let held = Waits::default().of_paced(&sends(1.0, 3, 3), &LINE, 1);
        assert_eq!(held.ack(1), 2.0 * (lag::of_longest(10.0) + 2.0));
    }
}
