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
struct Conversation<K, T> {
    id: K,
    weight: u64,
    /// The finish tag given last.
    finish: Round,
    bytes: u64,
    /// Finish tag and order of what waits first, or [`NOTHING`]; a copy, so that a look at
    /// all conversations is one walk through memory.
    first: (Round, u64),
    /// Oldest first.
    waiting: VecDeque<Waiting<T>>,
}

/// The tag of nothing that waits.
const NOTHING: (Round, u64) = (Round::MAX, u64::MAX);

impl<K, T> Conversation<K, T> {
    /// To be called whenever something else is first.
    fn note_first(&mut self) {
        let first = self.waiting.front();
        self.first = first.map_or(NOTHING, |w| (w.finish, w.order));
    }

    /// Rounds that so many bytes take.
    fn rounds(&self, bytes: u16) -> Round {
        (Round::from(bytes) << (FRACTION + WEIGHT_FRACTION)) / Round::from(self.weight)
    }
}

/// The emulation, and what waits in it: items `T` of conversations `K`.
pub struct Rounds<K, T> {
    /// Bytes (in fractions) that the port sends in 2^20 ps.
    rate: u128,
    /// Bytes (in fractions) that others took of the link since `since`.
    taken: u128,
    round: Round,
    /// The instant of `round`.
    since: Time,
    arrivals: u64,
    conversations: Vec<Conversation<K, T>>,
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
            conversations: Vec::new(),
        }
    }

    /// Moves the emulation on to `now`: conversations leave it one after the
    /// other, and those that remain share the rate by their weights.
    fn advance(&mut self, now: Time) {
        let sent = (u128::from(now.since(self.since).ps()) * self.rate) >> FRACTION;
        let mut left = sent.saturating_sub(self.taken);
        self.taken = self.taken.saturating_sub(sent);
        self.since = now;
        loop {
            let round = self.round;
            let sharing = self.conversations.iter().filter(|c| c.finish > round);
            let (mut weight, mut first) = (0u128, Round::MAX);
            for conversation in sharing {
                weight += u128::from(conversation.weight);
                first = first.min(conversation.finish);
            }
            if weight == 0 {
                break;
            }
            let until_first = ((first - round) * weight) >> WEIGHT_FRACTION;
            if until_first > left {
                self.round += (left << WEIGHT_FRACTION) / weight;
                break;
            }
            left -= until_first;
            self.round = first;
        }
        let round = self.round;
        self.conversations
            .retain(|c| c.finish > round || !c.waiting.is_empty());
        if self.conversations.is_empty() {
            self.round = 0; // Nothing refers to it any more.
            self.taken = 0;
        }
    }

    fn find(&self, id: K) -> Option<usize> {
        self.conversations.iter().position(|c| c.id == id)
    }

    /// Something of conversation `id` arrives, whose weight is `weight` / [`ONE`].
    pub fn push(&mut self, id: K, weight: u64, bytes: u16, item: T, now: Time) {
        self.advance(now);
        let index = self.find(id).unwrap_or_else(|| {
            self.conversations.push(Conversation {
                id,
                weight,
                finish: 0,
                bytes: 0,
                first: NOTHING,
                waiting: VecDeque::new(),
            });
            self.conversations.len() - 1
        });
        let conversation = &mut self.conversations[index];
        conversation.finish = conversation.finish.max(self.round) + conversation.rounds(bytes);
        conversation.bytes += u64::from(bytes);
        conversation.waiting.push_back(Waiting {
            finish: conversation.finish,
            order: self.arrivals,
            bytes,
            item,
        });
        let tag = (conversation.finish, self.arrivals);
        conversation.first = conversation.first.min(tag);
        self.arrivals += 1;
    }

    /// The conversation whose first packet has the smallest tag.
    fn next(&self) -> Option<usize> {
        let (mut first, mut index) = (NOTHING, None);
        for (i, conversation) in self.conversations.iter().enumerate() {
            if conversation.first < first {
                (first, index) = (conversation.first, Some(i));
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
        let conversation = &mut self.conversations[index];
        let Waiting { bytes, item, .. } = conversation.waiting.pop_front()?;
        conversation.note_first();
        conversation.bytes -= u64::from(bytes);
        Some((conversation.id, item))
    }

    /// Removes what came last of conversation `id`, as if it had never come;
    /// what it has had of the emulation is gone.
    pub fn pop_newest(&mut self, id: K) -> Option<T> {
        let index = self.find(id)?;
        let conversation = &mut self.conversations[index];
        let Waiting { bytes, item, .. } = conversation.waiting.pop_back()?;
        conversation.note_first();
        conversation.bytes -= u64::from(bytes);
        conversation.finish -= conversation.rounds(bytes);
        Some(item)
    }

    /// The conversation with the most bytes here, the older one of two, and its bytes.
    pub fn longest(&self) -> Option<(K, u64)> {
        let waiting = self.conversations.iter().enumerate();
        let longest = waiting
            .filter(|(_, c)| !c.waiting.is_empty())
            .max_by_key(|&(i, c)| (c.bytes, std::cmp::Reverse(i)));
        longest.map(|(_, c)| (c.id, c.bytes))
    }

    /// The link is about to carry so many bytes that are not of the emulation.
    pub fn took(&mut self, bytes: u16) {
        self.taken += u128::from(bytes) << FRACTION;
    }

    /// Bytes of conversation `id` that wait.
    pub fn bytes_of(&self, id: K) -> u64 {
        self.find(id).map_or(0, |i| self.conversations[i].bytes)
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.conversations.iter().map(|c| c.bytes).sum()
    }

    /// Rounds made, in bytes, as of the last arrival.
    #[cfg(test)]
    pub fn rounds_made(&self) -> f64 {
        self.round as f64 / f64::from(1 << FRACTION)
    }
}
