//! The event queue: a timing wheel for what is near, a heap for what is far.
//!
//! An event is a *source* that wants to run at an instant. Near sources (the
//! head of a wire, the end of a transmission) have at most one event pending,
//! so the wheel is made of intrusive lists and never allocates. Rare far
//! events (timers, flow arrivals, samplers) wait in a binary heap.
//!
//! **Order.** Events run by (time, source number), in total order, whatever
//! the order in which they were scheduled: this is what makes a run
//! repeatable. Sources are numbered so that at one instant transmissions end
//! and ports choose what to send next (by port number), then packets arrive,
//! then flows start, then samplers and timers run. A packet that arrives as a
//! transmission ends thus finds the next one started, at every kind of port.
//! After all of them, at the last instant of a window, comes its end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fctlab_core::{Duration, Time};

use crate::index::{at_mut, prefetch};

/// Number of a source of events.
pub type Source = u32;

/// Buckets of a small fabric, and of the largest: as many as there are numbers of 16 bits, so that such a number needs
/// no check.
const FEWEST: usize = 1 << 12;
const MOST: usize = 1 << 16;
/// No source.
pub const NONE: Source = u32::MAX;
/// The end of a window: after everything else at its instant.
pub const WINDOW_END: Source = NONE - 1;

#[derive(Clone, Copy)]
struct Entry {
    time: u64,
    next: u32,
}

/// The pending events of one run.
pub struct EventQueue {
    entries: Vec<Entry>,
    /// First entry of each bucket's list, which is sorted by (time, source).
    heads: [u32; MOST],
    /// One bit per bucket that has entries.
    occupied: [u64; MOST / 64],
    /// Buckets in use, a power of two, less one.
    mask: u16,
    /// log2 of a bucket's width in picoseconds.
    shift: u32,
    /// The instant of the last event, and its bucket, not wrapped.
    now: u64,
    current: u64,
    far: BinaryHeap<Reverse<(u64, Source)>>,
    /// The last instant of the window that ends next, if one is to.
    window_end: Option<u64>,
    /// The first of the heap's and this one, so that popping compares two registers.
    far_min: (u64, Source),
}

impl EventQueue {
    /// A queue for near sources `0..sources` whose events lie at most
    /// `horizon` ahead (further ones work, but cost a heap operation). A list of a bucket shall be short, so many
    /// sources take many buckets; few buckets stay in a core's first cache.
    pub fn new(sources: usize, horizon: Duration) -> Self {
        let buckets = sources.next_power_of_two().clamp(FEWEST, MOST);
        let width = (horizon.ps() / (buckets as u64 - 2)).max(1);
        EventQueue {
            entries: vec![
                Entry {
                    time: 0,
                    next: NONE
                };
                sources
            ],
            heads: [NONE; MOST],
            occupied: [0; MOST / 64],
            mask: (buckets - 1) as u16,
            shift: width.next_power_of_two().ilog2(),
            now: 0,
            current: 0,
            far: BinaryHeap::new(),
            window_end: None,
            far_min: (u64::MAX, NONE),
        }
    }

    /// Makes sure that sources `0..sources` may be near.
    pub fn grow(&mut self, sources: usize) {
        if self.entries.len() < sources {
            let empty = Entry {
                time: 0,
                next: NONE,
            };
            self.entries.resize(sources, empty);
        }
    }

    /// Takes back what near source `source` has scheduled at `at`. An event that
    /// was far when it was scheduled still comes, and must then be ignored.
    pub fn cancel(&mut self, source: Source, at: Time) {
        let bucket = self.wrapped(at.ps() >> self.shift);
        let (mut before, mut here) = (NONE, self.heads[bucket]);
        while here != source {
            if here == NONE {
                return;
            }
            before = here;
            here = self.entries[here as usize].next;
        }
        let next = self.entries[source as usize].next;
        if before != NONE {
            self.entries[before as usize].next = next;
            return;
        }
        self.heads[bucket] = next;
        if next == NONE {
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        }
    }

    /// Schedules near source `source`, which must have no event pending, at `at`.
    #[inline(always)]
    pub fn schedule(&mut self, source: Source, at: Time) {
        let time = at.ps();
        let bucket = time >> self.shift;
        debug_assert!(bucket >= self.current, "an event in the past");
        if bucket - self.current > u64::from(self.mask) {
            return self.schedule_far(source, at);
        }
        let bucket = self.wrapped(bucket);
        let head = self.heads[bucket];
        if head != NONE {
            return self.insert(source, time, bucket, head);
        }
        self.heads[bucket] = source;
        *at_mut(&mut self.entries, source) = Entry { time, next: NONE };
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }

    /// Puts an event into a bucket that has others.
    #[inline(never)]
    fn insert(&mut self, source: Source, time: u64, bucket: usize, head: u32) {
        if (time, source) < (self.entries[head as usize].time, head) {
            self.entries[source as usize] = Entry { time, next: head };
            self.heads[bucket] = source;
            return;
        }
        let mut before = head;
        loop {
            let next = self.entries[before as usize].next;
            if next == NONE || (time, source) < (self.entries[next as usize].time, next) {
                self.entries[source as usize] = Entry { time, next };
                self.entries[before as usize].next = source;
                return;
            }
            before = next;
        }
    }

    /// Schedules any source at any later time; a source may be pending often.
    #[inline(never)]
    pub fn schedule_far(&mut self, source: Source, at: Time) {
        self.far.push(Reverse((at.ps(), source)));
        self.far_min = self.far_min.min((at.ps(), source));
    }

    /// A window ends after `last`, unless one ends earlier that has been announced and has not.
    pub fn end_window(&mut self, last: Time) {
        let last = self.window_end.map_or(last.ps(), |at| at.min(last.ps()));
        self.window_end = Some(last);
        self.far_min = self.far_min.min((last, WINDOW_END));
    }

    /// The instant of the next event, ends of windows apart.
    pub fn next_at(&self) -> Time {
        let head = self.heads[self.first_bucket_from(self.wrapped(self.current))];
        let near = self.entries.get(head as usize).map(|entry| entry.time);
        let far = self.far.peek().map(|first| first.0.0);
        Time::from_ps(near.into_iter().chain(far).min().unwrap_or(u64::MAX))
    }

    /// The source of the first far event.
    #[inline]
    pub fn next_far(&self) -> Source {
        self.far_min.1
    }

    /// The instant of the event popped last.
    #[inline(always)]
    pub fn now(&self) -> Time {
        Time::from_ps(self.now)
    }

    /// Removes the first event in the total order; [`NONE`] when there is none.
    #[inline(always)]
    pub fn pop(&mut self) -> Source {
        let bucket = self.first_bucket_from(self.wrapped(self.current));
        let source = self.heads[bucket];
        // An empty wheel answers with an empty bucket, whose head is no source.
        let Some(&Entry { time, next }) = self.entries.get(source as usize) else {
            return self.pop_far();
        };
        if time >= self.far_min.0 && self.far_is_first(time, source) {
            return self.pop_far();
        }
        self.heads[bucket] = next;
        if next == NONE {
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        }
        self.now = time;
        self.current = time >> self.shift;
        source
    }

    /// Where a bucket is in the wheel.
    #[inline(always)]
    fn wrapped(&self, bucket: u64) -> usize {
        usize::from(bucket as u16 & self.mask)
    }

    /// The first bucket with entries from bucket `start` on, round the wheel until
    /// and with the beginning of its word; without any, an empty bucket. Few
    /// words are empty while anything goes on, so they are not indexed further.
    #[inline(always)]
    fn first_bucket_from(&self, start: usize) -> usize {
        let bits = self.occupied[start / 64] >> (start % 64);
        if bits != 0 {
            return usize::from((start as u32 + bits.trailing_zeros()) as u16);
        }
        let words = self.mask >> 6;
        let first = (start / 64) as u16;
        let mut at = first;
        loop {
            at = (at + 1) & words;
            let bits = self.occupied[usize::from(at)];
            if bits != 0 || at == first {
                return usize::from(at * 64 + (bits.trailing_zeros() & 63) as u16);
            }
        }
    }

    /// What there is of near source `source` will be needed soon.
    #[inline]
    pub fn prefetch(&self, source: Source) {
        prefetch(&self.entries, source);
    }

    /// The first event of the first bucket with entries beyond bucket `from`, and that bucket; nothing while an event
    /// in bucket `until` is still to come, or where there is none up to the wheel's end.
    #[inline]
    pub fn beyond(&self, from: u64, until: u64) -> Option<(u64, Source)> {
        if until > self.current {
            return None;
        }
        let from = from.max(self.current) + 1;
        let start = self.wrapped(from);
        let bucket = self.first_bucket_from(start);
        let found = from + self.wrapped((bucket.wrapping_sub(start)) as u64) as u64;
        let source = self.heads[bucket];
        (source != NONE && found - self.current <= u64::from(self.mask)).then_some((found, source))
    }

    fn first_far(&self) -> (u64, Source) {
        let end = self
            .window_end
            .map_or((u64::MAX, NONE), |at| (at, WINDOW_END));
        self.far.peek().map_or(end, |first| first.0.min(end))
    }

    #[cold]
    fn far_is_first(&self, time: u64, source: Source) -> bool {
        (time, source) > self.far_min
    }

    #[inline(never)]
    fn pop_far(&mut self) -> Source {
        let (time, source) = self.far_min;
        match source {
            NONE => return NONE,
            WINDOW_END => self.window_end = None,
            _ => drop(self.far.pop()),
        }
        self.far_min = self.first_far();
        self.now = time;
        self.current = time >> self.shift;
        source
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a sorted set, with short, long and beyond-the-horizon delays and ties.
        #[test]
        fn pops_in_the_total_order(
            large in any::<bool>(),
            steps in prop::collection::vec((0u32..60, prop_oneof![0u64..4, 0u64..5_000, 0u64..50_000_000], any::<bool>()), 1..600)
        ) {
            let next = |queue: &mut EventQueue| match queue.pop() {
                NONE => None,
                source => Some((queue.now().ps(), source)),
            };
            let mut queue = EventQueue::new(if large { 20_000 } else { 40 }, Duration::from_us(1));
            queue.grow(60);
            let mut model = BTreeSet::new();
            let mut cancels = [false; 60];
            let mut now = 0;
            for (source, delay, pop) in steps {
                match model.iter().copied().find(|&(_, s)| s == source) {
                    None => {
                        queue.schedule(source, Time::from_ps(now + delay));
                        model.insert((now + delay, source));
                        cancels[source as usize] = delay < 500_000;
                    }
                    // What was near when it was scheduled can be taken back.
                    Some(event) if source >= 40 && cancels[source as usize] => {
                        queue.cancel(source, Time::from_ps(event.0));
                        model.remove(&event);
                    }
                    Some(_) => {}
                }
                if pop {
                    let expected = model.pop_first();
                    prop_assert_eq!(next(&mut queue), expected);
                    now = expected.map_or(now, |(t, _)| t);
                }
            }
            while let Some((t, s)) = model.pop_first() {
                prop_assert_eq!(next(&mut queue), Some((t, s)));
            }
            prop_assert_eq!(next(&mut queue), None);
        }
    }
}
