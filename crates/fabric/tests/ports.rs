//! Ports: the FIFO port that decides everything on arrival against the same
//! FIFO in a port that holds packets back, and what every port must obey.

#![allow(clippy::unwrap_used)]

use fctlab_core::units::PathScale;
use fctlab_core::{Duration, Rate, Time, spec};
use fctlab_fabric::disciplines::Site;
use fctlab_fabric::engine::events::{EventQueue, NONE as NO_SOURCE};
use fctlab_fabric::engine::port::{Fate, Port, PortCounters};
use fctlab_fabric::engine::slab::Slab;
use fctlab_fabric::network::Link;
use fctlab_fabric::packet::{Flags, Packet};
use fctlab_fabric::scheme::PortSpec;
use fctlab_fabric::telemetry::Hop;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A packet offered to the port: when, how long, whether ECN-capable; flow and tag.
#[derive(Clone, Copy, Debug)]
struct Offered {
    at: u64,
    bytes: u16,
    ect: bool,
    flow: u32,
    tag: u32,
}

/// What became of the packets.
#[derive(Debug, PartialEq)]
struct Seen {
    /// Numbers of the packets that were dropped on arrival or evicted, in order.
    dropped: Vec<u32>,
    /// When a packet reached the far end, its number, whether it was marked.
    arrived: Vec<(u64, u32, bool)>,
    dropped_packets: u64,
    marked_packets: u64,
    accepted_bytes: u64,
    /// The telemetry of each packet that arrived, if any is written.
    telemetry: Vec<Vec<Hop>>,
}

/// Who comes first when a packet arrives at the instant at which a transmission ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tie {
    ArrivalFirst,
    TransmissionEndFirst,
}

const DELAY: u64 = 1_000_000;

/// Offers the packets to a port of 10 Gbps (800 ps per byte) and 1 us.
fn drive(port: &Value, turns: bool, tie: Tie, telemetry: bool, offered: &[Offered]) -> Seen {
    drive_port(port, turns, tie, telemetry, false, offered)
}

/// The same; `late`: the port has no events at the ends of transmissions.
fn drive_port(
    port: &Value,
    turns: bool,
    tie: Tie,
    telemetry: bool,
    late: bool,
    offered: &[Offered],
) -> Seen {
    let spec: PortSpec = spec::read(port.clone()).unwrap();
    let rate = Rate::from_gbps(10);
    let link = Link {
        schedule: None,
        from: 0,
        to: 7,
        rate,
        delay: Duration::from_ps(DELAY),
    };
    let base_rtt = Duration::from_us(10);
    let scale = PathScale {
        packet_bytes: 1500,
        payload_bytes: 1460,
        host_rate: rate,
        base_rtt,
    };
    let site = Site {
        rate,
        port: "leaf 0 -> host 0",
        node: "leaf 0",
    };
    // Transmissions' ends are source 1, the wire is source 2.
    let mut port = Port::new(&spec, &link, 1, (1, 1), turns, &scale, &site).unwrap();
    if telemetry {
        port.write_telemetry(rate);
    }
    if late {
        port.choose_late();
    }
    let mut slab = Slab::default();
    let outside = if tie == Tie::ArrivalFirst { 0 } else { 9 };
    let mut queue = EventQueue::new(3, Duration::from_us(3));
    for packet in offered {
        queue.schedule_far(outside, Time::from_ps(packet.at));
    }
    let mut seen = Seen {
        dropped: vec![],
        arrived: vec![],
        dropped_packets: 0,
        marked_packets: 0,
        accepted_bytes: 0,
        telemetry: vec![],
    };
    let mut coming = offered.iter().enumerate();
    let mut evicted = vec![];
    loop {
        let source = queue.pop();
        let now = queue.now();
        if source == NO_SOURCE {
            break;
        }
        if source == 2 {
            let (id, _) = port.arrive(&mut slab, &mut queue);
            let packet = slab.remove(id);
            let path = slab.telemetry.take(packet.telemetry());
            seen.telemetry.push(path.hops().to_vec());
            seen.arrived
                .push((now.ps(), packet.seq, packet.flags.has(Flags::CE)));
        } else if source == 1 {
            assert!(!late, "an event at the end of a transmission");
            port.transmission_ended(now, &mut slab, &mut queue);
        } else {
            let (
                i,
                &Offered {
                    bytes,
                    ect,
                    flow,
                    tag,
                    ..
                },
            ) = coming.next().unwrap();
            let flags = Flags::NONE.with_if(Flags::ECT, ect);
            let packet = Packet {
                seq: i as u32,
                bytes,
                flags,
                flow,
                tag,
                class: flow as u8,
                ..Packet::default()
            };
            let id = slab.insert(packet);
            let fate = port.accept(now, id, bytes, &mut slab, &mut queue, &mut evicted);
            seen.dropped.extend(evicted.drain(..).map(|p| p.seq));
            if fate == Fate::Dropped {
                slab.remove(id);
                seen.dropped.push(i as u32);
            }
        }
    }
    assert_eq!(port.packets_inside(&slab), 0);
    assert!(!late || port.catch_up(queue.now(), &mut slab, &mut queue) <= offered.len() as u64);
    let PortCounters {
        dropped_packets,
        marked_packets,
        accepted_bytes,
        ..
    } = *port.counters();
    Seen {
        dropped_packets,
        marked_packets,
        accepted_bytes,
        ..seen
    }
}

fn packets(gaps: &[(u64, u16, bool, u32, u32)]) -> Vec<Offered> {
    let mut at = 0;
    let offered = gaps.iter().map(|&(gap, bytes, ect, flow, tag)| {
        at += gap;
        Offered {
            at,
            bytes,
            ect,
            flow,
            tag,
        }
    });
    offered.collect()
}

/// Gaps from none to twice a full packet's time (1.2 us), often exactly one
/// packet's, so that ties are common; packets from 41 B to 1500 B.
fn traffic() -> impl Strategy<Value = Vec<Offered>> {
    let gap = prop_oneof![
        Just(0u64),
        Just(1_200_000),
        (0u64..3000).prop_map(|n| n * 800)
    ];
    let bytes = prop_oneof![Just(1500u16), 41u16..1501];
    let one = (gap, bytes, prop::bool::weighted(0.8), 0u32..4, 0u32..6);
    prop::collection::vec(one, 1..120).prop_map(|gaps| packets(&gaps))
}

fn fifo_port() -> impl Strategy<Value = Value> {
    let buffer = prop_oneof![
        Just("1500B"),
        Just("2pkt"),
        Just("5pkt"),
        Just("7777B"),
        Just("1MB")
    ];
    let threshold = prop_oneof![
        Just("none"),
        Just("0B"),
        Just("1000B"),
        Just("1pkt"),
        Just("3pkt"),
        Just("20pkt")
    ];
    let at = prop_oneof![Just("enqueue"), Just("dequeue")];
    (buffer, threshold, at).prop_map(|(buffer, threshold, at)| {
        json!({"discipline": "fifo", "buffer": buffer, "ecn_threshold": threshold, "ecn_at": at})
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The same fates, marks and arrival times, with ties, in the engine's order:
    /// the end of a transmission comes before an arrival at the same instant.
    #[test]
    fn the_lazy_fifo_is_the_fifo_that_chooses(port in fifo_port(), telemetry in any::<bool>(), offered in traffic()) {
        let lazy = drive(&port, false, Tie::TransmissionEndFirst, telemetry, &offered);
        let choosing = drive(&port, true, Tie::TransmissionEndFirst, telemetry, &offered);
        prop_assert_eq!(lazy, choosing);
    }

    /// The same in the other order, in which arrivals come first, as long as
    /// no packet arrives at the instant at which a transmission ends: every
    /// transmission takes a multiple of 800 ps, and the i-th packet comes i ps
    /// after one.
    #[test]
    fn in_either_order_without_ties(port in fifo_port(), telemetry in any::<bool>(), mut offered in traffic()) {
        for (i, packet) in offered.iter_mut().enumerate() {
            packet.at += i as u64;
        }
        let lazy = drive(&port, false, Tie::ArrivalFirst, telemetry, &offered);
        let choosing = drive(&port, true, Tie::ArrivalFirst, telemetry, &offered);
        prop_assert_eq!(lazy, choosing);
    }

    /// Against a FIFO by hand: a list of what waits, with the instant at which
    /// each packet starts.
    #[test]
    fn the_lazy_fifo_by_hand(port in fifo_port(), telemetry in any::<bool>(), offered in traffic()) {
        let seen = drive(&port, false, Tie::TransmissionEndFirst, telemetry, &offered);
        let spec: PortSpec = spec::read(port.clone()).unwrap();
        let scale = PathScale { packet_bytes: 1500, payload_bytes: 1460, host_rate: Rate::from_gbps(10), base_rtt: Duration::ZERO };
        let buffer = spec.buffer.bytes(&scale);
        let mark_above = spec.ecn_threshold.map_or(u64::MAX, |t| t.bytes(&scale));
        let at_dequeue = port["ecn_at"] == "dequeue";
        // Accepted packets: number, start, bytes, marked on enqueue.
        let mut taken: Vec<(usize, u64, u64, bool)> = vec![];
        let mut dropped = vec![];
        let mut busy_until = 0;
        for (i, p) in offered.iter().enumerate() {
            let bytes = u64::from(p.bytes);
            let waiting: u64 = taken.iter().filter(|t| t.1 > p.at).map(|t| t.2).sum();
            if busy_until > p.at && waiting + bytes > buffer {
                dropped.push(i as u32);
                continue;
            }
            let marked = p.ect && !at_dequeue && waiting + bytes > mark_above;
            let start = busy_until.max(p.at);
            taken.push((i, start, bytes, marked));
            busy_until = start + 800 * bytes;
        }
        let mut sent_bytes = 0;
        let mut reported: Vec<Vec<Hop>> = vec![];
        let arrived: Vec<_> = taken
            .iter()
            .enumerate()
            .map(|(place, &(i, start, bytes, marked))| {
                // What has arrived by the start of this packet, or before, and
                // starts later. One that comes at the very instant comes after.
                let arrived = |t: &&(usize, u64, u64, bool)| {
                    offered[t.0].at < start || offered[t.0].at == start && t.0 < i
                };
                let rest: u64 = taken[place + 1..].iter().filter(arrived).map(|t| t.2).sum();
                let hop = Hop {
                    port: 1,
                    rate: 10_000_000_000,
                    at: Time::from_ps(start),
                    queue_bytes: rest,
                    sent_bytes,
                };
                sent_bytes += bytes;
                reported.push(if telemetry { vec![hop] } else { vec![] });
                let marked = marked || at_dequeue && offered[i].ect && rest > mark_above;
                (start + 800 * bytes + DELAY, i as u32, marked)
            })
            .collect();
        prop_assert_eq!(seen.marked_packets, arrived.iter().filter(|a| a.2).count() as u64);
        prop_assert_eq!((seen.dropped, seen.arrived), (dropped, arrived));
        prop_assert_eq!(seen.telemetry, reported);
    }

    /// Every discipline: what comes in goes out or is dropped, once; the wire
    /// is never faster than its rate; the port never idles while anything waits.
    #[test]
    fn conserving_and_never_faster_than_the_rate(
        discipline in prop_oneof![
            Just(json!("fifo")), Just(json!("srpt")),
            Just(json!({"kind": "srpt", "starvation_prevention": false})),
            Just(json!({"kind": "priority", "thresholds": [1, 3]})),
            Just(json!("fq")),
            Just(json!({"kind": "mapped", "queues": 3, "mapping": {"kind": "static", "thresholds": [1, 3]}})),
            Just(json!({"kind": "wrr", "weights": [1, 4, 2, 1]})),
            Just(json!({"kind": "drr", "weights": [0.1, 0.4, 0.2, 0.3], "inside": "fq"})),
            Just(json!({"kind": "wfq", "weights": [0.1, 0.4, 0.5], "inside": "fq"})),
            Just(json!({"kind": "strict", "classes": 2})),
            Just(json!({"kind": "mapped", "queues": 4, "mapping": {"kind": "dynamic", "interval": "5us", "window": 2}})),
        ],
        evicts in any::<bool>(),
        turns in any::<bool>(),
        telemetry in any::<bool>(),
        base in fifo_port(),
        per_queue in any::<bool>(),
        offered in traffic(),
    ) {
        let mut port = base;
        let by_class = !(discipline["weights"].is_null() && discipline["classes"].is_null());
        if discipline != "fifo" && !by_class {
            let policy = if discipline == "fq" { "longest-queue" } else { "lowest-priority" };
            port["drop"] = json!(if evicts { policy } else { "tail" });
        }
        port["discipline"] = discipline;
        port["ecn_scope"] = json!(if per_queue { "queue" } else { "port" });
        for tie in [Tie::ArrivalFirst, Tie::TransmissionEndFirst] {
            let seen = drive(&port, turns, tie, telemetry, &offered);
            let mut all: Vec<u32> = seen.dropped.clone();
            all.extend(seen.arrived.iter().map(|a| a.1));
            all.sort_unstable();
            prop_assert_eq!(all, (0..offered.len() as u32).collect::<Vec<_>>());
            prop_assert_eq!(seen.dropped_packets, seen.dropped.len() as u64);
            // The engine's order; who writes telemetry does not choose late.
            if tie == Tie::TransmissionEndFirst && !telemetry {
                let late = drive_port(&port, turns, tie, telemetry, true, &offered);
                prop_assert_eq!(&late, &seen);
            }
            prop_assert!(seen.arrived.iter().all(|a| !a.2 || offered[a.1 as usize].ect));
            // Each transmission takes its time and starts when the one before it
            // has ended; a packet whose start is later than that and than its
            // own arrival at the port has been kept waiting by an idle port.
            let (mut free, mut sent) = (0, 0);
            for (&(arrived, i, _), hops) in seen.arrived.iter().zip(&seen.telemetry) {
                let Offered { at, bytes, .. } = offered[i as usize];
                let start = arrived - DELAY - 800 * u64::from(bytes);
                prop_assert!(start >= free.max(at), "two packets at once");
                prop_assert_eq!(start, free.max(at), "idle with a packet waiting");
                free = start + 800 * u64::from(bytes);
                prop_assert_eq!(hops.len(), usize::from(telemetry));
                for hop in hops {
                    prop_assert_eq!((hop.at.ps(), hop.sent_bytes), (start, sent));
                }
                sent += u64::from(bytes);
            }
        }
    }
}
