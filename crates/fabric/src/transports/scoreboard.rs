//! What a sender knows about its outstanding packets beyond the cumulative
//! ACK: RFC 6675's scoreboard, with the packets in flight (`pipe`) kept up to
//! date instead of recomputed.
//!
//! While nothing is lost or reordered the board is empty and costs nothing.

use std::collections::VecDeque;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Sent once and presumed in flight.
    InFlight,
    /// Selectively acknowledged.
    Sacked,
    /// Presumed lost, to be sent again.
    Lost,
    /// Presumed lost, sent again and presumed in flight.
    SentAgain,
    /// Sent again without being presumed lost: in flight twice.
    SentTwice,
}

impl State {
    /// How often the packet counts in RFC 6675's pipe.
    fn in_flight(self) -> u32 {
        match self {
            State::Sacked | State::Lost => 0,
            State::InFlight | State::SentAgain => 1,
            State::SentTwice => 2,
        }
    }
}

/// States of the packets from the cumulative ACK upwards; those beyond the
/// end of the list are in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    states: VecDeque<State>,
    /// Number of entries in state `Sacked` and `Lost`.
    sacked: u32,
    lost: u32,
    /// No entry before this index is `Lost`.
    first_lost: usize,
    /// Entries before this index have been considered by `detect`.
    considered: usize,
    /// Since the last timeout no entry from `resent_to` to `lost_to` has been
    /// in flight: the next one need not look at them, however many they are.
    resent_to: usize,
    lost_to: usize,
}

impl Scoreboard {
    /// Whether nothing is known.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Whether the first outstanding packet is presumed lost.
    pub(super) fn first_is_lost(&self) -> bool {
        self.states.front() == Some(&State::Lost)
    }

    /// The cumulative ACK moves up by `n`. Returns (packets newly known to
    /// have arrived, how many of the `n` counted as in flight).
    pub(super) fn advance(&mut self, n: u32) -> (u32, u32) {
        let known = self.states.len().min(n as usize);
        let beyond = n - known as u32;
        let (mut delivered, mut in_flight) = (beyond, beyond);
        for state in self.states.drain(..known) {
            self.sacked -= u32::from(state == State::Sacked);
            self.lost -= u32::from(state == State::Lost);
            delivered += u32::from(state != State::Sacked);
            in_flight += state.in_flight();
        }
        self.first_lost = self.first_lost.saturating_sub(known);
        self.considered = self.considered.saturating_sub(known);
        self.resent_to = self.resent_to.saturating_sub(known);
        self.lost_to = self.lost_to.saturating_sub(known);
        if self.sacked == 0 && self.lost == 0 && self.states.iter().all(|s| *s == State::InFlight) {
            self.states.clear();
            self.first_lost = 0;
            self.considered = 0;
            self.resent_to = 0;
            self.lost_to = 0;
        }
        (delivered, in_flight)
    }

    /// Packets `from..to` (indices from the cumulative ACK) have arrived.
    /// Returns (newly so, how many of these counted as in flight).
    pub(super) fn sack(&mut self, from: usize, to: usize) -> (u32, u32) {
        if self.states.len() < to {
            self.states.resize(to, State::InFlight);
        }
        let (mut delivered, mut in_flight) = (0, 0);
        for state in self.states.range_mut(from..to) {
            if *state == State::Sacked {
                continue;
            }
            self.lost -= u32::from(*state == State::Lost);
            in_flight += state.in_flight();
            *state = State::Sacked;
            self.sacked += 1;
            delivered += 1;
        }
        (delivered, in_flight)
    }

    /// RFC 6675's IsLost for all packets at once: one with `threshold` or more
    /// selectively acknowledged packets above it is presumed lost. Returns how
    /// many newly are, and so no longer count as in flight.
    pub(super) fn detect(&mut self, threshold: u32) -> u32 {
        if self.sacked < threshold {
            return 0;
        }
        let mut above = 0;
        let mut edge = self.states.len();
        while above < threshold && edge > 0 {
            edge -= 1;
            above += u32::from(self.states[edge] == State::Sacked);
        }
        let (mut newly, mut sent_already) = (0, 0);
        let from = self.considered.min(edge);
        for (index, state) in self.states.range_mut(from..edge).enumerate() {
            if *state == State::InFlight {
                *state = State::Lost;
                newly += 1;
                self.first_lost = self.first_lost.min(from + index);
            } else if *state == State::SentTwice {
                // One of the two is presumed lost; it has been sent again already.
                *state = State::SentAgain;
                sent_already += 1;
            }
        }
        self.considered = self.considered.max(edge);
        self.lost += newly;
        newly + sent_already
    }

    /// A timeout: of `outstanding` packets all that were not selectively
    /// acknowledged are presumed lost (RFC 6675 section 5.1 keeps what is
    /// known to have arrived).
    pub(super) fn lose_all(&mut self, outstanding: usize) {
        self.states.resize(outstanding, State::InFlight);
        let since = self.lost_to.max(self.resent_to);
        for range in [0..self.resent_to, since..outstanding] {
            for state in self.states.range_mut(range) {
                if *state != State::Sacked {
                    *state = State::Lost;
                }
            }
        }
        self.resent_to = 0;
        self.lost_to = outstanding;
        self.lost = outstanding as u32 - self.sacked;
        self.first_lost = 0;
        self.considered = outstanding;
    }

    /// The first packet presumed lost, as an index from the cumulative ACK, if it is below
    /// `reach`; it is in flight again from now on.
    pub(super) fn send_again(&mut self, reach: u32) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let from = self.first_lost;
        let index = from + self.states.range(from..).position(|s| *s == State::Lost)?;
        if index >= reach as usize {
            self.first_lost = index;
            return None;
        }
        self.states[index] = State::SentAgain;
        self.resent_to = self.resent_to.max(index + 1);
        self.first_lost = index + 1;
        self.lost -= 1;
        Some(index)
    }

    /// RFC 6675 NextSeg rule 3: the first packet below the highest selectively
    /// acknowledged one that is neither presumed lost nor sent again; it
    /// counts as in flight twice from now on (RFC 6675, SetPipe).
    pub(super) fn send_early(&mut self) -> Option<usize> {
        let highest = self.states.iter().rposition(|s| *s == State::Sacked)?;
        let index = self
            .states
            .range(..highest)
            .position(|s| *s == State::InFlight)?;
        self.states[index] = State::SentTwice;
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// RFC 6675's data structure with everything computed from scratch.
    #[derive(Default)]
    struct Rfc6675 {
        una: u32,
        next: u32,
        sacked: BTreeSet<u32>,
        /// Sent more than once.
        sent_again: BTreeSet<u32>,
    }

    impl Rfc6675 {
        /// "DupThresh discontiguous SACKed sequences, or more than (DupThresh - 1)
        /// x SMSS bytes above": three packets of any size but the last one's.
        fn is_lost(&self, n: u32) -> bool {
            self.sacked.range(n + 1..).count() >= 3
        }
        fn missing(&self) -> impl Iterator<Item = u32> {
            (self.una..self.next).filter(|n| !self.sacked.contains(n))
        }
        /// SetPipe().
        fn pipe(&self) -> u32 {
            let count = |n| u32::from(!self.is_lost(n)) + u32::from(self.sent_again.contains(&n));
            self.missing().map(count).sum()
        }
        fn high_rxt(&self) -> Option<u32> {
            self.sent_again.last().copied()
        }
        /// NextSeg(), rule 1.
        fn lost_segment(&self) -> Option<u32> {
            self.missing()
                .find(|&n| Some(n) > self.high_rxt() && self.is_lost(n))
        }
        /// NextSeg(), rule 3.
        fn early_segment(&self) -> Option<u32> {
            let highest = self.sacked.last().copied();
            self.missing()
                .find(|&n| Some(n) > self.high_rxt() && Some(n) < highest)
        }
    }

    proptest! {
        /// The pipe that is kept up to date is the pipe of SetPipe(), and what is
        /// sent again is what NextSeg() names, for any order of arrivals and ACKs.
        #[test]
        fn matches_rfc_6675(ops in prop::collection::vec((0u8..10, 0u32..30, 1u32..4), 0..300)) {
            let (mut board, mut model, mut pipe) = (Scoreboard::default(), Rfc6675::default(), 0);
            for (op, at, length) in ops {
                match op {
                    0..3 => {
                        model.next += length;
                        pipe += length;
                    }
                    3..6 if model.una + 1 < model.next => {
                        // A SACK above the first missing packet.
                        let room = model.next - model.una - 1;
                        let from = model.una + 1 + at % room;
                        let to = (from + length).min(model.next);
                        model.sacked.extend(from..to);
                        let (from, to) = (from - model.una, to - model.una);
                        pipe -= board.sack(from as usize, to as usize).1;
                        pipe -= board.detect(3);
                    }
                    6 if model.una < model.next => {
                        // The cumulative ACK moves up, at least over what had arrived.
                        let mut una = (model.una + length).min(model.next);
                        while model.sacked.contains(&una) {
                            una += 1;
                        }
                        let newly = (model.una..una).filter(|n| !model.sacked.contains(n)).count();
                        let (delivered, in_flight) = board.advance(una - model.una);
                        prop_assert_eq!(delivered as usize, newly);
                        pipe -= in_flight;
                        model.una = una;
                        model.sacked.retain(|n| *n >= una);
                        model.sent_again.retain(|n| *n >= una);
                        if !board.is_empty() {
                            pipe -= board.detect(3);
                        }
                    }
                    7..9 => {
                        let sent = board.send_again(at).map(|i| model.una + i as u32);
                        let within = |n: &u32| *n < model.una + at;
                        prop_assert_eq!(sent, model.lost_segment().filter(within));
                        pipe += u32::from(sent.is_some());
                        model.sent_again.extend(sent);
                    }
                    9 if model.lost_segment().is_none() => {
                        let sent = board.send_early().map(|i| model.una + i as u32);
                        prop_assert_eq!(sent, model.early_segment());
                        pipe += u32::from(sent.is_some());
                        model.sent_again.extend(sent);
                    }
                    _ => {}
                }
                prop_assert_eq!(pipe, model.pipe());
            }
        }
    }
}
