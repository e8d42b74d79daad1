//! Ideal FCT: what a flow would take alone on the idle path, at line rate.
//!
//! Store and forward, headers included: full packets follow each other at the
//! rate of the slowest link so far, and the last packet, which may be shorter,
//! waits at each switch for the one before it. With `fct_ends = "ack"` the
//! return of the last packet's ACK is added. A window, a slow start or a
//! discipline can only make a flow slower, so slowdown is never below 1.

use fctlab_core::{Bytes, Duration, FctEnds, PacketFormat, Time};
use fctlab_workload::Flow;

use crate::network::{Fabric, Link};

/// Computes ideal completion times on one fabric.
pub struct Ideal {
    format: PacketFormat,
    sprays: bool,
    ends: FctEnds,
}

impl Ideal {
    /// `sprays`: packets of one flow use equal-cost links at the same time.
    pub fn new(format: &PacketFormat, sprays: bool, ends: FctEnds) -> Self {
        Ideal {
            format: *format,
            sprays,
            ends,
        }
    }

    /// The ideal FCT of a flow of `size` payload bytes.
    pub fn fct(&self, fabric: &Fabric, src: u32, dst: u32, size: Bytes) -> Duration {
        let packets = self.format.packets(size);
        let payload_before_last = (packets - 1) * self.format.payload.get();
        let last = size.get() - payload_before_last + self.format.header.get();
        let path = fabric.routes.path(fabric, src, dst);
        let sprayed = self.sprays && path.iter().any(|&(_, width)| width > 1);
        let links = || {
            path.iter()
                .map(|&(link, width)| (&fabric.links[link as usize], width))
        };
        let back = links().fold(Duration::ZERO, |sum, (link, _)| {
            sum + link.rate.transmission_time(self.format.ack.get()) + link.delay
        });
        let delivered = if sprayed {
            self.sprayed(links(), packets, last)
        } else {
            self.in_order(links(), packets, last)
        };
        match self.ends {
            FctEnds::Delivery => delivered,
            FctEnds::Ack => delivered + back,
        }
    }

    /// The same of a flow that has packets not available yet: see [`Spaced`].
    fn rest(&self, fabric: &Fabric, flow: &Flow, sent: u32) -> Duration {
        let before = u64::from(sent) * self.format.payload.get();
        let rest = Bytes::new(flow.size.get() - before);
        self.fct(fabric, flow.src, flow.dst, rest)
    }

    /// Over one path, exactly: packet after packet.
    fn in_order<'a>(
        &self,
        links: impl Iterator<Item = (&'a Link, u32)>,
        packets: u64,
        last: u64,
    ) -> Duration {
        // Instants at which the first and the last of the packets before the
        // last one, and the last one, have left each link.
        let (mut first_done, mut last_done) = (Duration::ZERO, Duration::ZERO);
        let mut slowest = Duration::ZERO;
        for (link, _) in links {
            let full_time = link.rate.transmission_time(self.format.full());
            slowest = slowest.max(full_time);
            first_done += full_time;
            let free = match packets - 1 {
                0 => Duration::ZERO,
                n => first_done + slowest * (n - 1),
            };
            last_done = last_done.max(free) + link.rate.transmission_time(last) + link.delay;
            first_done += link.delay;
        }
        last_done
    }

    /// Over several paths at once packets may overtake each other; no order
    /// of them can be faster than the largest of these bounds.
    fn sprayed<'a>(
        &self,
        links: impl Iterator<Item = (&'a Link, u32)> + Clone,
        packets: u64,
        last: u64,
    ) -> Duration {
        let full = self.format.full();
        let fulls = packets - u64::from(last < full);
        let full_time = |link: &Link| link.rate.transmission_time(full);
        let last_time = |link: &Link| link.rate.transmission_time(last);
        let mut rest = links
            .clone()
            .fold(Duration::ZERO, |sum, (l, _)| sum + full_time(l) + l.delay);
        let mut bound = Duration::ZERO;
        // Earliest arrivals at this link of a full packet, and of the last one,
        // which leaves its NIC after all others.
        let mut first = Duration::ZERO;
        let mut alone = Duration::ZERO;
        let mut at_nic = true;
        for (link, width) in links {
            let (each, short) = (full_time(link), last_time(link));
            if at_nic {
                alone = each * (packets - 1);
                at_nic = false;
            }
            rest = rest - each - link.delay;
            // Each of the parallel links carries its share of the full packets.
            if fulls > 0 {
                bound =
                    bound.max(first + each * fulls.div_ceil(u64::from(width)) + link.delay + rest);
            }
            // The last link carries everything.
            if rest == Duration::ZERO && fulls < packets && fulls > 0 {
                bound = bound.max(first.min(alone) + each * fulls + short + link.delay);
            }
            first = first + each + link.delay;
            alone = alone + short + link.delay;
        }
        bound.max(alone)
    }
}

/// The ideal FCT of a flow whose packets become available one after another
/// (`traffic.spacing`): each is sent when it is available, alone on the idle path.
#[derive(Debug)]
pub struct Spaced {
    /// Time of one full packet at the host's rate.
    each: Duration,
    /// Packets that have become available.
    packets: u32,
    /// The host's link would be busy until then with them.
    busy_until: Time,
    /// The last byte would arrive (or its ACK) no earlier: the latest over the packets that find
    /// the link idle, each with all that follow it.
    end: Time,
}

impl Spaced {
    /// Of a flow without packets yet.
    pub fn new(ideal: &Ideal, fabric: &Fabric, flow: &Flow) -> Self {
        Spaced {
            each: fabric
                .host_rate(flow.src)
                .transmission_time(ideal.format.full()),
            packets: 0,
            busy_until: flow.start,
            end: flow.start,
        }
    }

    /// The next packet is available `now`.
    pub fn available(&mut self, ideal: &Ideal, fabric: &Fabric, flow: &Flow, now: Time) {
        if now >= self.busy_until {
            self.end = self.end.max(now + ideal.rest(fabric, flow, self.packets));
        }
        self.busy_until = self.busy_until.max(now) + self.each;
        self.packets += 1;
    }

    /// The completion time, as far as packets have become available.
    pub fn fct(&self, flow: &Flow) -> Duration {
        self.end.since(flow.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::topology::TopologySpec;
    use serde_json::json;

    /// Host links 10 Gbps (1500 B: 1.2 us), fabric 40 Gbps (0.3 us), 1 us per link.
    fn fabric() -> Fabric {
        let spec: TopologySpec = serde_json::from_value(json!({
            "kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2,
            "host_rate": "10Gbps", "fabric_rate": "40Gbps", "link_delay": "1us",
        }))
        .unwrap();
        spec.build(&PacketFormat::default()).unwrap()
    }

    fn ideal(ends: FctEnds, dst: u32, size: u64) -> u64 {
        let fabric = fabric();
        let ideal = Ideal::new(&PacketFormat::default(), false, ends);
        ideal.fct(&fabric, 0, dst, Bytes::new(size)).ps()
    }

    #[test]
    fn by_hand() {
        // One full packet across the spine: 1.2 + 0.3 + 0.3 + 1.2 us and 4 x 1 us.
        assert_eq!(ideal(FctEnds::Delivery, 2, 1460), 7_000_000);
        // Ten: nine more at 1.2 us each.
        assert_eq!(
            ideal(FctEnds::Delivery, 2, 14_600),
            7_000_000 + 9 * 1_200_000
        );
        // Within the rack: 1.2 + 1.2 + 2 x 1 us.
        assert_eq!(ideal(FctEnds::Delivery, 1, 1460), 4_400_000);
        // 1 byte = 41 B on the wire: 2 x 32.8 ns + 2 x 8.2 ns + 4 us.
        assert_eq!(ideal(FctEnds::Delivery, 2, 1), 4_082_000);
        // A full packet, then 1 byte, within the rack: the short packet waits for
        // the full one at the switch: 1.2 + 1 + 1.2 us, + 32.8 ns + 1 us.
        assert_eq!(ideal(FctEnds::Delivery, 1, 1461), 4_432_800);
        // The ACK's way back: 2 x 32 ns + 2 x 8 ns + 4 us.
        assert_eq!(ideal(FctEnds::Ack, 2, 1460), 7_000_000 + 4_080_000);
    }
}
