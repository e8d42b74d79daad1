//! Leaky buckets at the sources: what a host (or a class at a host) may send
//! into the network, as QJump and Silo shape it (swp, section 2.2).
//!
//! A bucket holds `bucket` bytes of tokens and is filled at `rate`; a data packet
//! of b bytes passes when there are b tokens, in order of arrival, and otherwise
//! waits before the NIC. ACKs are not shaped. When a bucket will be full again is
//! all there is to know about it: a packet that comes at t passes at
//!
//! d = max(t, full + b / rate - bucket / rate),  and then  full = max(full, d) + b / rate.
//!
//! Waiting here counts as waiting in the NIC (`nic.per_flow_limit`), so flows of a
//! host take turns here too. A flow's *source delay* is the time during which it
//! had a packet waiting here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fctlab_core::units::PathScale;
use fctlab_core::{Duration, Rate, Time};

use super::Engine;
use super::probe::Probe;
use super::slab::PacketId;
use crate::index::at_mut;
use crate::packet::FlowSlot;
use crate::scheme::{Per, ShaperSpec};

/// What a flow has waited.
#[derive(Clone, Copy, Default)]
struct Delay {
    /// Packets here now, and since when there have been any.
    held: u32,
    since: Time,
    /// What is over.
    total: Duration,
}

/// The buckets of a run, and the packets that wait at them.
pub(super) struct Shaper {
    rate: Rate,
    per: Per,
    /// Time to fill a bucket.
    depth: Duration,
    hosts: usize,
    /// When each bucket will be full, by class and host.
    full: Vec<Time>,
    /// When a packet passes, in order of arrival, and which of which flow.
    held: BinaryHeap<Reverse<(Time, u64, FlowSlot, PacketId)>>,
    arrivals: u64,
    /// By slot of the flow.
    delays: Vec<Delay>,
}

impl Shaper {
    pub(super) fn new(spec: &ShaperSpec, hosts: u32, scale: &PathScale) -> Self {
        Shaper {
            rate: spec.rate,
            per: spec.per,
            depth: spec.rate.transmission_time(spec.bucket.bytes(scale)),
            hosts: hosts as usize,
            full: Vec::new(),
            held: BinaryHeap::new(),
            arrivals: 0,
            delays: Vec::new(),
        }
    }

    /// When a packet of `bytes` that comes at `now` passes the bucket of `host`
    /// and `class`; it has been taken from the bucket.
    fn pass(&mut self, now: Time, host: u32, class: u16, bytes: u16) -> Time {
        let class = match self.per {
            Per::Host => 0,
            Per::Class => usize::from(class),
        };
        let index = class * self.hosts + host as usize;
        if self.full.len() <= index {
            self.full.resize(index + 1, Time::ZERO);
        }
        let tokens = self.rate.transmission_time(bytes.into());
        let full = &mut self.full[index];
        let covered = (*full + tokens).ps().saturating_sub(self.depth.ps());
        let at = now.max(Time::from_ps(covered));
        *full = (*full).max(at) + tokens;
        at
    }

    /// A packet has to wait until `at`.
    fn hold(&mut self, now: Time, at: Time, slot: FlowSlot, id: PacketId) {
        self.held.push(Reverse((at, self.arrivals, slot, id)));
        self.arrivals += 1;
        let delay = &mut self.delays[slot as usize];
        if delay.held == 0 {
            delay.since = now;
        }
        delay.held += 1;
    }

    /// The first packet that may pass by `now`.
    fn release(&mut self, now: Time) -> Option<(FlowSlot, PacketId)> {
        let &Reverse((at, _, slot, id)) = self.held.peek()?;
        if at > now {
            return None;
        }
        self.held.pop();
        let delay = &mut self.delays[slot as usize];
        delay.held -= 1;
        if delay.held == 0 {
            delay.total += now.since(delay.since);
        }
        Some((slot, id))
    }

    /// A flow starts in `slot`.
    pub(super) fn start(&mut self, slot: FlowSlot) {
        let slots = self.delays.len().max(slot as usize + 1);
        self.delays.resize(slots, Delay::default());
        self.delays[slot as usize] = Delay::default();
    }

    /// How long the flow has had a packet waiting.
    pub(super) fn delay(&self, slot: FlowSlot, now: Time) -> Duration {
        let delay = self.delays[slot as usize];
        match delay.held {
            0 => delay.total,
            _ => delay.total + now.since(delay.since),
        }
    }
}

impl<P: Probe> Engine<'_, P> {
    /// Gives a packet to the shaper; whether it has to wait there, and until when.
    pub(super) fn shape(&mut self, slot: FlowSlot, id: PacketId, bytes: u16) -> Option<Time> {
        let now = self.now();
        let source = self.shaper_source();
        let shaper = self.shaper.as_mut()?;
        let state = at_mut(&mut self.flows, slot);
        let at = shaper.pass(now, state.flow.src, state.flow.class, bytes);
        if at <= now {
            return None;
        }
        shaper.hold(now, at, slot, id);
        state.in_nic.enter();
        self.events.schedule_far(source, at);
        Some(at)
    }

    /// A packet passes the shaper.
    #[inline(never)]
    pub(super) fn on_shaper(&mut self) {
        let now = self.now();
        while let Some((slot, id)) = self.shaper.as_mut().and_then(|s| s.release(now)) {
            let state = at_mut(&mut self.flows, slot);
            state.in_nic.leave();
            let (nic, bytes) = (state.nics.0, self.slab.get(id).packet.bytes);
            self.enter_nic(slot, nic, id, bytes);
            self.pump(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::units::DataLength;
    use proptest::prelude::*;

    const SCALE: PathScale = PathScale {
        packet_bytes: 1500,
        payload_bytes: 1460,
        host_rate: Rate::from_gbps(10),
        base_rtt: Duration::from_us(10),
    };

    /// 1 Gbps: 8 ns a byte.
    fn shaper(bucket_bytes: u64, per: Per) -> Shaper {
        let spec = ShaperSpec {
            rate: Rate::from_gbps(1),
            bucket: DataLength::of_bytes(fctlab_core::Bytes::new(bucket_bytes)),
            per,
        };
        Shaper::new(&spec, 4, &SCALE)
    }

    #[test]
    fn a_bucket_by_hand() {
        let mut shaper = shaper(3000, Per::Host);
        let at = |ns: u64| Time::from_ps(ns * 1000);
        // Full: 3000 B pass at once, then 8 ns a byte.
        assert_eq!(shaper.pass(at(0), 1, 0, 1500), at(0));
        assert_eq!(shaper.pass(at(0), 1, 0, 1500), at(0));
        assert_eq!(shaper.pass(at(0), 1, 0, 1500), at(12_000));
        assert_eq!(shaper.pass(at(0), 1, 7, 100), at(12_800));
        // Another host has its own.
        assert_eq!(shaper.pass(at(0), 2, 0, 1500), at(0));
        // At 13.6 us there are 100 B: 50 pass, of the next 100 half are there.
        assert_eq!(shaper.pass(at(13_600), 1, 0, 50), at(13_600));
        assert_eq!(shaper.pass(at(13_600), 1, 0, 100), at(14_000));
        // After long the bucket is full, and not more than full.
        assert_eq!(shaper.pass(at(900_000), 1, 0, 1500), at(900_000));
        assert_eq!(shaper.pass(at(900_000), 1, 0, 1500), at(900_000));
        assert_eq!(shaper.pass(at(900_000), 1, 0, 1), at(900_008));
    }

    #[test]
    fn classes_may_have_buckets_of_their_own() {
        let mut shaper = shaper(1500, Per::Class);
        assert_eq!(shaper.pass(Time::ZERO, 1, 0, 1500), Time::ZERO);
        assert_eq!(shaper.pass(Time::ZERO, 1, 1, 1500), Time::ZERO);
        assert!(shaper.pass(Time::ZERO, 1, 0, 1500) > Time::ZERO);
    }

    proptest! {
        /// Against tokens that are added and taken: a packet passes at the first
        /// instant, no earlier than those before it, at which they cover it.
        #[test]
        fn tokens_are_never_overdrawn(
            bucket in 1500u64..6000,
            packets in prop::collection::vec((0u64..40_000, 40u16..1501), 1..100),
        ) {
            let mut shaper = shaper(bucket, Per::Host);
            // Tokens in bytes x 8, one per nanosecond, at `clock`.
            let (mut tokens, mut clock, mut now) = (bucket * 8, 0, 0);
            for (gap, bytes) in packets {
                now += gap;
                let at = shaper.pass(Time::from_ps(now * 1000), 0, 0, bytes);
                let start = now.max(clock);
                tokens = (tokens + start - clock).min(bucket * 8);
                let wait = (u64::from(bytes) * 8).saturating_sub(tokens);
                clock = start + wait;
                tokens = tokens + wait - u64::from(bytes) * 8;
                prop_assert_eq!(at, Time::from_ps(clock * 1000));
            }
        }
    }
}
