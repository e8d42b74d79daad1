//! Bit-by-bit round robin, emulated (Demers, Keshav and Shenker, SIGCOMM 1989),
//! with weights: the mechanism behind fair queueing of flows (`fq`) and of
//! traffic classes (`wfq`).
//!
//! R(t) is the number of rounds made by time t, which grows by (bytes that the
//! port sends) / (weights of the conversations with bits left in the emulation).
//! Packet i of a conversation of weight w, of P bytes, that arrives at t gets the
//! finish tag F_i = max(F_{i-1}, R(t)) + P / w, and the smallest tag leaves next.
//! What else the link carries the emulation does not get ([`Rounds::took`]), or
//! its rounds would run ahead of the packets that wait.

use std::collections::VecDeque;

use fctlab_core::{Rate, Time};

/// Rounds count bytes of each conversation in fractions of 2^-20 byte.
pub const FRACTION: u32 = 20;

/// A weight of 1.
pub const ONE: u64 = 1 << WEIGHT_FRACTION;
const WEIGHT_FRACTION: u32 = 16;

/// A finish tag or a round; wide enough for the smallest weight and the longest
/// busy period.
type Round = u128;

/// Something that waits: its finish tag, order of arrival and bytes.
struct Waiting<T> {
    finish: Round,
    order: u64,
    bytes: u16,
    item: T,
}

/// Somebody with packets here, or with bits left in the emulation.
struct Conversation<T> {
    weight: u64,
    /// Oldest first.
    waiting: VecDeque<Waiting<T>>,
}

impl<T> Conversation<T> {
    /// Rounds that so many bytes take.
    fn rounds(&self, bytes: u16) -> Round {
        (Round::from(bytes) << (FRACTION + WEIGHT_FRACTION)) / Round::from(self.weight)
    }

    /// Finish tag and order of what waits first, or [`NOTHING`].
    fn first(&self) -> (Round, u64) {
        let first = self.waiting.front();
        first.map_or(NOTHING, |w| (w.finish, w.order))
    }
}

/// The tag of nothing that waits.
const NOTHING: (Round, u64) = (Round::MAX, u64::MAX);

/// The emulation, and what waits in it: items `T` of conversations `K`.
///
/// What is looked for among all conversations, of which a full port has hundreds, lies side
/// by side: a list for each question, the oldest conversation first in all of them.
pub struct Rounds<K, T> {
    /// Bytes (in fractions) that the port sends in 2^20 ps.
    rate: u128,
    /// Bytes (in fractions) that others took of the link since `since`.
    taken: u128,
    round: Round,
    /// The instant of `round`.
    since: Time,
    arrivals: u64,
    ids: Vec<K>,
    /// The finish tag given last.
    finish: Vec<Round>,
    /// The finish tag of what waits first.
    first: Vec<Round>,
    /// Bytes that wait.
    bytes: Vec<u64>,
    conversations: Vec<Conversation<T>>,
    /// Weights of those with bits left in the emulation.
    sharing: u128,
    /// None of these has its last bit sent in an earlier round.
    next_end: Round,
}

impl<K: Copy + Eq, T> Rounds<K, T> {
    /// Nothing waits at a port of `rate`.
    pub fn new(rate: Rate) -> Self {
        Rounds {
            // bits/s / 8 = bytes/s; x 2^20 fractions, x 2^20 ps / 10^12 ps.
            rate: (u128::from(rate.bps()) << (2 * FRACTION)) / (8 * 1_000_000_000_000),
            taken: 0,
            round: 0,
            since: Time::ZERO,
            arrivals: 0,
            ids: Vec::new(),
            finish: Vec::new(),
            first: Vec::new(),
            bytes: Vec::new(),
            conversations: Vec::new(),
            sharing: 0,
            next_end: Round::MAX,
        }
    }

    /// Moves the emulation on to `now`: conversations leave it one after the
    /// other, and those that remain share the rate by their weights.
    fn advance(&mut self, now: Time) {
        let sent = (u128::from(now.since(self.since).ps()) * self.rate) >> FRACTION;
        let mut left = sent.saturating_sub(self.taken);
        self.taken = self.taken.saturating_sub(sent);
        self.since = now;
        while self.sharing > 0 {
            let until_end = ((self.next_end - self.round) * self.sharing) >> WEIGHT_FRACTION;
            if until_end > left {
                self.round += (left << WEIGHT_FRACTION) / self.sharing;
                break;
            }
            let end = self.next_end;
            if self.end(end) {
                left -= until_end;
                self.round = end;
            }
        }
        if self.ids.is_empty() {
            self.round = 0; // Nothing refers to it any more.
            self.taken = 0;
        }
    }

    /// Conversations whose last bit is sent in round `end` leave the emulation, in which
    /// none ends earlier. Whether there are any.
    fn end(&mut self, end: Round) -> bool {
        let before = self.sharing;
        self.next_end = Round::MAX;
        for index in (0..self.ids.len()).rev() {
            let finish = self.finish[index];
            if finish > end {
                self.next_end = self.next_end.min(finish);
            } else if finish == end {
                let conversation = &self.conversations[index];
                self.sharing -= u128::from(conversation.weight);
                if conversation.waiting.is_empty() {
                    self.forget(index);
                }
            }
        }
        self.sharing < before
    }

    /// A conversation with neither packets nor bits left.
    fn forget(&mut self, index: usize) {
        self.ids.remove(index);
        self.finish.remove(index);
        self.first.remove(index);
        self.bytes.remove(index);
        self.conversations.remove(index);
    }

    fn find(&self, id: K) -> Option<usize> {
        self.ids.iter().position(|&each| each == id)
    }

    /// Something of conversation `id` arrives, whose weight is `weight` / [`ONE`].
    pub fn push(&mut self, id: K, weight: u64, bytes: u16, item: T, now: Time) {
        self.advance(now);
        let index = self.find(id).unwrap_or_else(|| {
            self.ids.push(id);
            self.finish.push(0);
            self.first.push(Round::MAX);
            self.bytes.push(0);
            let waiting = VecDeque::new();
            self.conversations.push(Conversation { weight, waiting });
            self.ids.len() - 1
        });
        let conversation = &mut self.conversations[index];
        let last = self.finish[index];
        if last <= self.round {
            self.sharing += u128::from(conversation.weight);
        }
        let finish = last.max(self.round) + conversation.rounds(bytes);
        self.finish[index] = finish;
        self.next_end = self.next_end.min(finish);
        self.first[index] = self.first[index].min(finish);
        self.bytes[index] += u64::from(bytes);
        conversation.waiting.push_back(Waiting {
            finish,
            order: self.arrivals,
            bytes,
            item,
        });
        self.arrivals += 1;
    }

    /// The conversation whose first packet has the smallest tag, the older of two packets.
    fn next(&self) -> Option<usize> {
        let (mut least, mut index) = (Round::MAX, None);
        for (i, &first) in self.first.iter().enumerate() {
            let older =
                |than: usize| self.conversations[i].first() < self.conversations[than].first();
            if first < least || first == least && index.is_some_and(older) {
                (least, index) = (first, Some(i));
            }
        }
        index
    }

    /// What leaves next.
    pub fn first(&self) -> Option<&T> {
        let waiting = &self.conversations[self.next()?].waiting;
        waiting.front().map(|w| &w.item)
    }

    /// Lets it go; whose it is, too.
    pub fn pop(&mut self) -> Option<(K, T)> {
        let index = self.next()?;
        let left = self.conversations[index].waiting.pop_front()?;
        let id = self.ids[index];
        self.left(index, left.bytes);
        Some((id, left.item))
    }

    /// Removes what came last of conversation `id`, as if it had never come;
    /// what it has had of the emulation is gone.
    pub fn pop_newest(&mut self, id: K) -> Option<T> {
        let index = self.find(id)?;
        let conversation = &mut self.conversations[index];
        let left = conversation.waiting.pop_back()?;
        let shared = self.finish[index] > self.round;
        self.finish[index] -= conversation.rounds(left.bytes);
        if shared && self.finish[index] <= self.round {
            self.sharing -= u128::from(conversation.weight);
        } else if shared {
            self.next_end = self.next_end.min(self.finish[index]);
        }
        self.left(index, left.bytes);
        Some(left.item)
    }

    /// So many bytes of a conversation no longer wait.
    fn left(&mut self, index: usize, bytes: u16) {
        self.bytes[index] -= u64::from(bytes);
        (self.first[index], _) = self.conversations[index].first();
        if self.bytes[index] == 0 && self.finish[index] <= self.round {
            self.forget(index);
        }
    }

    /// The conversation with the most bytes here, the older one of two, and its bytes.
    pub fn longest(&self) -> Option<(K, u64)> {
        let (mut most, mut index) = (0, None);
        for (i, &bytes) in self.bytes.iter().enumerate() {
            if bytes > most {
                (most, index) = (bytes, Some(i));
            }
        }
        index.map(|i| (self.ids[i], most))
    }

    /// The link is about to carry so many bytes that are not of the emulation.
    pub fn took(&mut self, bytes: u16) {
        self.taken += u128::from(bytes) << FRACTION;
    }

    /// Bytes of conversation `id` that wait.
    pub fn bytes_of(&self, id: K) -> u64 {
        self.find(id).map_or(0, |index| self.bytes[index])
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// Rounds made, in bytes, as of the last arrival.
    #[cfg(test)]
    pub fn rounds_made(&self) -> f64 {
        self.round as f64 / f64::from(1 << FRACTION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Finish tag, order, bytes.
    type Packet = (Round, u64, u16);

    /// The same with one list of conversations that is looked through every time.
    #[derive(Default)]
    struct Plain {
        round: Round,
        since: Time,
        taken: u128,
        arrivals: u64,
        /// Name, weight, finish tag, and what waits.
        conversations: Vec<(u32, u64, Round, VecDeque<Packet>)>,
    }

    impl Plain {
        fn push(&mut self, rate: u128, id: u32, weight: u64, bytes: u16, now: Time) {
            let sent = (u128::from(now.since(self.since).ps()) * rate) >> FRACTION;
            let mut left = sent.saturating_sub(self.taken);
            self.taken = self.taken.saturating_sub(sent);
            self.since = now;
            loop {
                let sharing = self.conversations.iter().filter(|c| c.2 > self.round);
                let weights: u128 = sharing.clone().map(|c| u128::from(c.1)).sum();
                let Some(first) = sharing.map(|c| c.2).min() else {
                    break;
                };
                let until_first = ((first - self.round) * weights) >> WEIGHT_FRACTION;
                if until_first > left {
                    self.round += (left << WEIGHT_FRACTION) / weights;
                    break;
                }
                left -= until_first;
                self.round = first;
            }
            let round = self.round;
            self.conversations
                .retain(|c| c.2 > round || !c.3.is_empty());
            if self.conversations.is_empty() {
                (self.round, self.taken) = (0, 0);
            }
            if !self.conversations.iter().any(|c| c.0 == id) {
                self.conversations.push((id, weight, 0, VecDeque::new()));
            }
            let round = self.round;
            for c in self.conversations.iter_mut().filter(|c| c.0 == id) {
                c.2 = c.2.max(round) + rounds(bytes, weight);
                c.3.push_back((c.2, self.arrivals, bytes));
            }
            self.arrivals += 1;
        }

        fn pop(&mut self) -> Option<(u32, u64)> {
            let waiting = self.conversations.iter_mut().filter(|c| !c.3.is_empty());
            let first = waiting.min_by_key(|c| c.3[0])?;
            first.3.pop_front().map(|(_, order, _)| (first.0, order))
        }

        fn pop_newest(&mut self, id: u32) -> Option<u64> {
            let c = self.conversations.iter_mut().find(|c| c.0 == id)?;
            let (_, order, bytes) = c.3.pop_back()?;
            c.2 -= rounds(bytes, c.1);
            Some(order)
        }

        fn bytes_of(&self, id: u32) -> u64 {
            let waiting = self.conversations.iter().filter(|c| c.0 == id);
            waiting.flat_map(|c| &c.3).map(|w| u64::from(w.2)).sum()
        }

        fn longest(&self) -> Option<(u32, u64)> {
            let waiting = self.conversations.iter().filter(|c| !c.3.is_empty());
            // Of equal ones max_by_key takes the last: the oldest of the list turned round.
            let each = waiting.rev().map(|c| (c.0, self.bytes_of(c.0)));
            each.max_by_key(|&(_, bytes)| bytes)
        }
    }

    fn rounds(bytes: u16, weight: u64) -> Round {
        (Round::from(bytes) << (FRACTION + WEIGHT_FRACTION)) / Round::from(weight)
    }

    proptest! {
        #[test]
        fn is_what_looking_at_every_conversation_gives(
            ops in prop::collection::vec((0u8..10, 0u32..6, 1u16..4, 0u64..3_000_000), 1..300)
        ) {
            let mut quick = Rounds::new(Rate::from_gbps(10));
            let (mut plain, mut now) = (Plain::default(), Time::ZERO);
            for (op, id, units, gap) in ops {
                let weight = ONE >> (id % 3);
                match op {
                    0..5 => {
                        now += fctlab_core::Duration::from_ps(gap);
                        quick.push(id, weight, units * 500, plain.arrivals, now);
                        plain.push(quick.rate, id, weight, units * 500, now);
                        prop_assert_eq!(quick.round, plain.round);
                    }
                    5..8 => {
                        let first = quick.first().copied();
                        let popped = quick.pop();
                        prop_assert_eq!(popped, plain.pop());
                        prop_assert_eq!(first, popped.map(|(_, item)| item));
                    }
                    8 => prop_assert_eq!(quick.pop_newest(id), plain.pop_newest(id)),
                    _ => {
                        quick.took(units * 100);
                        plain.taken += u128::from(units * 100) << FRACTION;
                    }
                }
                prop_assert_eq!(quick.longest(), plain.longest());
                prop_assert_eq!(quick.bytes_of(id), plain.bytes_of(id));
                prop_assert_eq!(quick.bytes(), (0..6).map(|id| plain.bytes_of(id)).sum::<u64>());
            }
        }
    }
}
