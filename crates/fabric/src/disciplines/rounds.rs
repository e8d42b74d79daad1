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

use fctlab_core::units::PS_PER_S;
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
#[derive(Clone, Copy)]
struct Conversation<K> {
    id: K,
    weight: u64,
    /// The finish tag given last.
    finish: Round,
    /// Bytes that wait.
    bytes: u64,
    /// Finish tag and order of what waits first, or [`NOTHING`]; a copy, so that a look at
    /// all conversations is one walk through memory.
    first: (Round, u64),
    /// Which queue holds what waits, if anything does.
    queue: u32,
}

/// No queue.
const NONE: u32 = u32::MAX;

/// The tag of nothing.
const NEVER: Round = Round::MAX;

/// The tag of nothing that waits.
const NOTHING: (Round, u64) = (NEVER, u64::MAX);

/// Rounds that so many bytes of a conversation of this weight take.
#[inline(always)]
fn rounds(bytes: u16, weight: u64) -> Round {
    Round::from((u64::from(bytes) << (FRACTION + WEIGHT_FRACTION)) / weight)
}

/// `a / b`, which nearly always fit a register.
#[inline(always)]
fn divided(a: u128, b: u128) -> u128 {
    match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => u128::from(a / b),
        _ => a / b,
    }
}

/// The emulation, and what waits in it: items `T` of conversations `K`.
pub struct Rounds<K, T> {
    /// Bytes (in fractions) that the port sends in 2^20 ps.
    rate: u64,
    /// Bytes (in fractions) that others took of the link since `since`.
    taken: u64,
    round: Round,
    /// The instant of `round`.
    since: Time,
    arrivals: u64,
    bytes: u64,
    /// The conversations with bits left in the emulation: how many, and their weights.
    sharers: usize,
    sharing: u128,
    /// None of them has its last bit sent in a round before this one; where there is one, it is this one.
    next_end: Round,
    /// Where the conversation that pushed last was: the next is often the same.
    last: usize,
    /// The oldest first.
    conversations: Vec<Conversation<K>>,
    /// What waits, the oldest first: a queue for each conversation that has anything.
    queues: Vec<VecDeque<Waiting<T>>>,
    /// Queues that are nobody's.
    spare: Vec<u32>,
}

impl<K: Copy + Eq, T> Rounds<K, T> {
    /// Nothing waits at a port of `rate`.
    pub fn new(rate: Rate) -> Self {
        // bits/s / 8 = bytes/s; x 2^20 fractions, x 2^20 ps / 10^12 ps.
        let bytes = u128::from(rate.bps()) << (2 * FRACTION);
        Rounds {
            rate: (bytes / (8 * u128::from(PS_PER_S))) as u64,
            taken: 0,
            round: 0,
            since: Time::ZERO,
            arrivals: 0,
            bytes: 0,
            sharers: 0,
            sharing: 0,
            next_end: NEVER,
            last: 0,
            conversations: Vec::new(),
            queues: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Bytes (in fractions) that the link has carried since `since`.
    #[inline(always)]
    fn sent(&self, now: Time) -> u64 {
        let sent = (u128::from(now.since(self.since).ps()) * u128::from(self.rate)) >> FRACTION;
        u64::try_from(sent).unwrap_or(u64::MAX)
    }

    /// Moves the emulation on to `now`.
    #[inline(always)]
    fn advance(&mut self, now: Time) {
        let sent = self.sent(now);
        let left = sent.saturating_sub(self.taken);
        self.taken = self.taken.saturating_sub(sent);
        self.since = now;
        if self.sharers > 0 {
            self.share(u128::from(left));
        }
        if self.conversations.is_empty() {
            self.round = 0; // Nothing refers to it any more.
            self.taken = 0;
        }
    }

    /// So many bytes (in fractions) are sent: conversations leave the emulation one after the
    /// other, and those that remain share the rate by their weights.
    #[inline(never)]
    fn share(&mut self, mut left: u128) {
        while self.sharers > 0 {
            let until_end = ((self.next_end - self.round) * self.sharing) >> WEIGHT_FRACTION;
            if until_end > left {
                self.round += divided(left << WEIGHT_FRACTION, self.sharing);
                return;
            }
            let end = self.next_end;
            if self.sharers > 1 {
                self.look_who_shares();
            }
            if self.next_end == end {
                left -= until_end;
                self.round = end;
                self.look_who_shares();
                self.forget();
            }
        }
    }

    /// Counts those with bits left in the emulation.
    fn look_who_shares(&mut self) {
        (self.sharers, self.sharing, self.next_end) = (0, 0, NEVER);
        for conversation in &self.conversations {
            if conversation.finish > self.round {
                self.sharers += 1;
                self.sharing += u128::from(conversation.weight);
                self.next_end = self.next_end.min(conversation.finish);
            }
        }
    }

    /// Forgets conversations with neither packets nor bits left.
    fn forget(&mut self) {
        if self.sharers == 0 && self.bytes == 0 {
            return self.conversations.clear();
        }
        let round = self.round;
        self.conversations
            .retain(|c| c.finish > round || c.bytes > 0);
    }

    /// Something of so many bytes no longer waits, the first or the last of its conversation.
    #[inline]
    fn left(&mut self, index: usize, bytes: u16) {
        self.bytes -= u64::from(bytes);
        let conversation = &mut self.conversations[index];
        conversation.bytes -= u64::from(bytes);
        let queue = &self.queues[conversation.queue as usize];
        if let Some(first) = queue.front() {
            conversation.first = (first.finish, first.order);
            return;
        }
        conversation.first = NOTHING;
        self.spare.push(conversation.queue);
        conversation.queue = NONE;
        if conversation.finish <= self.round {
            self.conversations.remove(index);
        }
    }

    #[inline]
    fn find(&self, id: K) -> Option<usize> {
        let again = self.conversations.get(self.last);
        if again.is_some_and(|c| c.id == id) {
            return Some(self.last);
        }
        self.conversations.iter().position(|c| c.id == id)
    }

    /// Something of conversation `id` arrives, whose weight is `weight` / [`ONE`].
    pub fn push(&mut self, id: K, weight: u64, bytes: u16, item: T, now: Time) {
        self.advance(now);
        let index = self.tag(id, weight, bytes);
        let conversation = &mut self.conversations[index];
        if conversation.queue == NONE {
            conversation.queue = self.spare.pop().unwrap_or_else(|| {
                self.queues.push(VecDeque::new());
                self.queues.len() as u32 - 1
            });
        }
        let (finish, order) = (conversation.finish, self.arrivals);
        self.arrivals += 1;
        self.bytes += u64::from(bytes);
        conversation.bytes += u64::from(bytes);
        conversation.first = conversation.first.min((finish, order));
        self.queues[conversation.queue as usize].push_back(Waiting {
            finish,
            order,
            bytes,
            item,
        });
    }

    /// The same of something that does not wait: it is pushed and popped, where nothing waits.
    pub fn pass(&mut self, id: K, weight: u64, bytes: u16, now: Time) {
        self.advance(now);
        self.tag(id, weight, bytes);
    }

    /// Where nothing waits: the link was idle until `since`, and so was the emulation; since then they send this.
    pub fn restart(&mut self, id: K, weight: u64, bytes: u16, since: Time) {
        self.conversations.clear();
        (self.round, self.since, self.taken) = (0, since, 0);
        (self.sharers, self.sharing, self.next_end) = (0, 0, NEVER);
        self.tag(id, weight, bytes);
    }

    /// Gives an arrival its finish tag, that of its conversation; where that one is.
    #[inline(always)]
    fn tag(&mut self, id: K, weight: u64, bytes: u16) -> usize {
        let index = self.find(id).unwrap_or_else(|| {
            self.conversations.push(Conversation {
                id,
                weight,
                finish: 0,
                bytes: 0,
                first: NOTHING,
                queue: NONE,
            });
            self.conversations.len() - 1
        });
        self.last = index;
        let conversation = &mut self.conversations[index];
        if conversation.finish <= self.round {
            conversation.finish = self.round + rounds(bytes, weight);
            self.sharers += 1;
            self.sharing += u128::from(weight);
            self.next_end = self.next_end.min(conversation.finish);
        } else {
            conversation.finish += rounds(bytes, weight);
            if self.sharers == 1 {
                self.next_end = conversation.finish;
            }
        }
        index
    }

    /// The conversation whose first packet has the smallest tag.
    #[inline]
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
        let conversation = &self.conversations[self.next()?];
        let waiting = &self.queues[conversation.queue as usize];
        waiting.front().map(|w| &w.item)
    }

    /// Lets it go; whose it is, too.
    #[inline]
    pub fn pop(&mut self) -> Option<(K, T)> {
        let index = self.next()?;
        let Conversation { id, queue, .. } = self.conversations[index];
        let Waiting { bytes, item, .. } = self.queues[queue as usize].pop_front()?;
        self.left(index, bytes);
        Some((id, item))
    }

    /// Removes what came last of the conversation with the most bytes here, the older one
    /// of two, as if it had never come, if those are `least` bytes or more; what it has had
    /// of the emulation is gone.
    pub fn evict(&mut self, least: u64) -> Option<T> {
        let (mut index, mut bytes) = (0, 0);
        for (i, conversation) in self.conversations.iter().enumerate() {
            if conversation.bytes > bytes {
                (index, bytes) = (i, conversation.bytes);
            }
        }
        if bytes < least || bytes == 0 {
            return None;
        }
        let conversation = &mut self.conversations[index];
        let waiting = &mut self.queues[conversation.queue as usize];
        let Waiting { bytes, item, .. } = waiting.pop_back()?;
        conversation.finish -= rounds(bytes, conversation.weight);
        self.look_who_shares();
        self.left(index, bytes);
        Some(item)
    }

    /// The link is about to carry so many bytes that are not of the emulation.
    #[inline]
    pub fn took(&mut self, bytes: u16) {
        self.taken += u64::from(bytes) << FRACTION;
    }

    /// Bytes of conversation `id` that wait.
    pub fn bytes_of(&self, id: K) -> u64 {
        self.find(id).map_or(0, |i| self.conversations[i].bytes)
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
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

    /// Finish tag, order of arrival and bytes of what waits.
    type Queued = VecDeque<(Round, u64, u16)>;

    /// The same with nothing remembered: every question looks at every conversation.
    #[derive(Default)]
    struct Plain {
        round: Round,
        since: Time,
        taken: u128,
        arrivals: u64,
        /// Name, weight, finish tag given last, and what waits.
        conversations: Vec<(u32, u64, Round, Queued)>,
    }

    impl Plain {
        fn push(&mut self, rate: u64, id: u32, weight: u64, bytes: u16, now: Time) {
            let sent = (u128::from(now.since(self.since).ps()) * u128::from(rate)) >> FRACTION;
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

        fn evict(&mut self, least: u64) -> Option<u64> {
            let waiting = self.conversations.iter().filter(|c| !c.3.is_empty());
            // Of equal ones max_by_key takes the last: the oldest of the list turned round.
            let each = waiting.rev().map(|c| (c.0, self.bytes_of(c.0)));
            let (id, bytes) = each.max_by_key(|&(_, bytes)| bytes)?;
            if bytes < least {
                return None;
            }
            let c = self.conversations.iter_mut().find(|c| c.0 == id)?;
            let (_, order, bytes) = c.3.pop_back()?;
            c.2 -= rounds(bytes, c.1);
            Some(order)
        }

        fn bytes_of(&self, id: u32) -> u64 {
            let waiting = self.conversations.iter().filter(|c| c.0 == id);
            waiting.flat_map(|c| &c.3).map(|w| u64::from(w.2)).sum()
        }
    }

    fn rounds(bytes: u16, weight: u64) -> Round {
        (Round::from(bytes) << (FRACTION + WEIGHT_FRACTION)) / Round::from(weight)
    }

    proptest! {
        #[test]
        fn is_what_looking_at_every_conversation_gives(
            ops in prop::collection::vec((0u8..12, 0u32..6, 1u16..4, 0u64..3_000_000), 1..300)
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
                    5..7 => {
                        let first = quick.first().copied();
                        let popped = quick.pop();
                        prop_assert_eq!(popped, plain.pop());
                        prop_assert_eq!(first, popped.map(|(_, item)| item));
                    }
                    7..9 => {
                        let least = plain.bytes_of(id) + u64::from(units - 1) * 500;
                        prop_assert_eq!(quick.evict(least), plain.evict(least));
                    }
                    9..11 => {
                        now += fctlab_core::Duration::from_ps(gap);
                        if quick.bytes() == 0 {
                            if gap % 2 == 0 {
                                quick.pass(id, weight, units * 500, now);
                            } else {
                                quick.restart(id, weight, units * 500, now);
                                plain = Plain { since: now, arrivals: plain.arrivals, ..Plain::default() };
                            }
                            plain.push(quick.rate, id, weight, units * 500, now);
                            plain.pop();
                        }
                    }
                    _ => {
                        quick.took(units * 100);
                        plain.taken += u128::from(units * 100) << FRACTION;
                    }
                }
                prop_assert_eq!(quick.bytes_of(id), plain.bytes_of(id));
                prop_assert_eq!(quick.bytes(), (0..6).map(|id| plain.bytes_of(id)).sum::<u64>());
            }
        }
    }
}
