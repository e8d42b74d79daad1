//! The reference: the equations in steps of fixed length, as the paper writes them: every flow by itself,
//! bytes that travel for tau, signals that are looked up tau and 2 tau ago. Windows react at every ACK.

use std::collections::VecDeque;

use fctlab_link::laws::rate::Start;
use fctlab_link::laws::{Scope, dctcp, hpcc};
use fctlab_link::queues::Sharing;
use fctlab_link::{Arrival, Inside, Law, Setup};

pub(crate) const STEP_S: f64 = 6.25e-9;

/// Bytes of one flow, on the way or waiting.
#[derive(Clone, Copy)]
struct Piece {
    flow: usize,
    bytes: f64,
    last: bool,
}

struct Flow {
    class: usize,
    start: f64,
    left: f64,
    /// None until a flow that goes on at R(t) is controlled.
    rate: Option<f64>,
    /// Sent in the first round trip, at most.
    burst: f64,
    window: Window,
}

/// Bytes that were served in one step, and what was written on them.
#[derive(Clone, Copy)]
struct Ack {
    flow: usize,
    bytes: f64,
    marked: bool,
    report: Report,
}

/// HPCC's telemetry; `busy` is an integral.
#[derive(Clone, Copy)]
struct Report {
    at: f64,
    busy: f64,
    waiting: f64,
}

/// A flow with a window in shares of a BDP, at every ACK as the two papers have it.
#[derive(Clone, Default)]
struct Window {
    share: f64,
    sent: f64,
    acked: f64,
    // DCTCP.
    alpha: f64,
    over: Option<f64>,
    delivered: f64,
    marked: f64,
    reduced: f64,
    // HPCC.
    wc: f64,
    load: f64,
    last: Option<Report>,
}

/// A byte may be this much short of the end of a packet.
const ROUNDING: f64 = 1e-3;

/// Of `bytes`, the packets that are complete.
fn whole(bytes: f64, packet: f64) -> f64 {
    ((bytes + ROUNDING) / packet).floor()
}

impl Window {
    /// More is acked; whether that brings an ACK, which comes with the first byte of a packet.
    fn acked(&mut self, bytes: f64, packet: f64) -> bool {
        let acks = |bytes: f64| ((bytes - ROUNDING) / packet).ceil();
        let before = acks(self.acked);
        self.acked += bytes;
        acks(self.acked) > before
    }

    /// What is acked, in packets, when the next one that is sent is.
    fn next(&self, packet: f64) -> f64 {
        whole(self.sent, packet) + 1.0
    }

    /// The ACK of a whole packet more has to come before a window is over.
    fn dctcp(&mut self, ack: &Ack, law: &dctcp::Spec, bdp: f64, packet: f64) {
        let next = self.next(packet);
        let is_ack = self.acked(ack.bytes, packet);
        self.delivered += ack.bytes;
        self.marked += if ack.marked { ack.bytes } else { 0.0 };
        let acked = whole(self.acked, packet);
        let is_over = acked >= *self.over.get_or_insert(next);
        if is_over {
            self.alpha += law.gain * (self.marked / self.delivered - self.alpha);
            (self.delivered, self.marked) = (0.0, 0.0);
            self.over = Some(next);
        }
        if ack.marked && is_ack && acked >= self.reduced {
            self.share = (self.share * (1.0 - self.alpha / 2.0)).max(law.min_rate);
            self.reduced = next;
        } else if is_over && acked >= self.reduced {
            self.share = (self.share + law.rise.unwrap().get() as f64 / bdp).min(1.0);
        }
    }

    fn hpcc(&mut self, ack: &Ack, law: &hpcc::Spec, memory: f64, packet: f64) {
        if !self.acked(ack.bytes, packet) {
            return;
        }
        let Some(last) = self.last.replace(ack.report) else {
            return;
        };
        let elapsed = ack.report.at - last.at;
        if elapsed <= 0.0 {
            return;
        }
        let waiting = last.waiting.min(ack.report.waiting);
        let load = (ack.report.busy - last.busy) / elapsed + waiting;
        self.load += (elapsed / memory).min(1.0) * (load - self.load);
        let asked = self.wc * law.u_target / self.load + law.additive_increase;
        self.share = asked.clamp(law.min_rate, 1.0);
        let next = self.next(packet);
        if whole(self.acked, packet) >= *self.over.get_or_insert(next) {
            self.wc = self.share;
            self.over = Some(next);
        }
    }

    /// What may be sent in a step.
    fn room(&self, packet: f64, counted: f64, capacity: f64, round_trip: f64) -> f64 {
        let window = (self.share * capacity * round_trip / counted - 1e-9).ceil();
        let until = (window + whole(self.acked, packet) + 1.0) * packet;
        (until - self.sent).clamp(0.0, self.share * capacity * STEP_S)
    }
}

/// What equation 11 looks at, by class, at one instant.
#[derive(Clone, Default)]
struct Seen {
    uncontrolled: f64,
    controlled: usize,
    backlog: f64,
    available: f64,
    served: f64,
}

/// FCTs (until the ACK is back), in order of the arrivals.
pub(crate) fn naive(setup: &Setup, arrivals: &[Arrival]) -> Vec<f64> {
    let capacity = setup.link.bytes_per_s();
    let control = &setup.control;
    // A packet is sent twice, and what a switch says that waits is behind it.
    let packet = match control.law {
        Law::Rate(_) => 0.0,
        _ => (control.shared.payload.get() + control.shared.header.get()) as f64,
    };
    let tau = setup.link.rtt.as_secs_f64() / 2.0 + packet / capacity;
    let r_init = control.initial_rate_on(capacity);
    let threshold = control.threshold_on(&setup.link) + packet;
    let bdp = capacity * 2.0 * tau;
    let one = setup.discipline.sharing == Sharing::One;
    let classes = if one { 1 } else { setup.classes };
    let weights = match &setup.discipline.sharing {
        Sharing::Weights(weights) => weights.clone(),
        _ => vec![1.0; classes],
    };
    let lag = (tau / STEP_S).round() as usize;
    let nothing = vec![
        Seen {
            available: capacity,
            ..Seen::default()
        };
        classes
    ];
    let mut past: VecDeque<Vec<Seen>> = vec![nothing; 2 * lag].into();
    let mut acks: VecDeque<Vec<Ack>> = vec![Vec::new(); lag].into();
    let mut busy = vec![0.0; classes];
    let mut wire: VecDeque<Vec<Piece>> = vec![Vec::new(); lag].into();
    let mut queues: Vec<VecDeque<Piece>> = vec![VecDeque::new(); classes];
    let mut flows: Vec<Flow> = Vec::new();
    let mut fcts = vec![f64::NAN; arrivals.len()];
    let mut backlog = vec![0.0; classes];
    let mut ended = 0;
    let mut n = 0u64;
    while ended < arrivals.len() {
        let now = n as f64 * STEP_S;
        assert!(now < 0.1, "a flow does not end");
        n += 1;
        while flows.len() < arrivals.len() && arrivals[flows.len()].start_s <= now {
            let a = &arrivals[flows.len()];
            let class = if one { 0 } else { usize::from(a.class) };
            let left = control.wire_bytes(a.size_bytes);
            let burst = left.min(r_init * 2.0 * tau);
            flows.push(Flow {
                class,
                start: a.start_s,
                left,
                rate: match &control.law {
                    Law::Rate(law) if law.start == Start::Ideal => None,
                    _ => Some(r_init),
                },
                burst,
                window: Window {
                    share: r_init / capacity,
                    alpha: 1.0,
                    wc: r_init / capacity,
                    load: 1.0,
                    ..Window::default()
                },
            });
        }
        for ack in acks.pop_front().unwrap() {
            let window = &mut flows[ack.flow].window;
            match &control.law {
                Law::Rate(_) => {}
                Law::Dctcp(law) => window.dctcp(&ack, law, bdp, packet),
                Law::Hpcc(law) => window.hpcc(&ack, law, law.eta * tau, packet),
            }
        }
        // Senders: equations 2 to 7.
        let mut seen = vec![Seen::default(); classes];
        let mut sent = Vec::new();
        for (i, flow) in flows.iter_mut().enumerate() {
            let age = now - flow.start;
            if age <= 2.0 * tau {
                seen[flow.class].uncontrolled += flow.burst / (2.0 * tau);
            }
            if flow.left <= 0.0 {
                continue;
            }
            let mut most = r_init * STEP_S;
            if age > 2.0 * tau {
                seen[flow.class].controlled += 1;
                let k = flow.class;
                let (then, half) = (&past[0][k], &past[lag][k]);
                most = match &control.law {
                    Law::Rate(law) => {
                        let room = law.u_target * half.available
                            - law.beta * then.uncontrolled
                            - (half.backlog - threshold).max(0.0) / (2.0 * tau);
                        let ideal = (room.max(0.0) / then.controlled.max(1) as f64).min(capacity);
                        let rate = flow.rate.get_or_insert(ideal);
                        *rate += (ideal - *rate) / (law.eta * tau) * STEP_S;
                        *rate * STEP_S
                    }
                    _ => flow
                        .window
                        .room(packet, control.counted(), capacity, 2.0 * tau),
                };
            }
            let bytes = most.min(flow.left);
            flow.left -= bytes;
            flow.window.sent += bytes;
            sent.push(Piece {
                flow: i,
                bytes,
                last: flow.left <= 1e-6,
            });
            if flow.left <= 1e-6 {
                flow.left = 0.0;
            }
        }
        wire.push_back(sent);
        for piece in wire.pop_front().unwrap() {
            let k = flows[piece.flow].class;
            backlog[k] += piece.bytes;
            // Under fair queueing a flow's bytes need not be kept apart.
            let fair = setup.discipline.inside == Inside::Fq;
            match queues[k].iter_mut().find(|p| fair && p.flow == piece.flow) {
                Some(waiting) => {
                    waiting.bytes += piece.bytes;
                    waiting.last = piece.last;
                }
                None => queues[k].push_back(piece),
            }
        }
        // The bottleneck.
        let shares = divide(setup, &weights, capacity * STEP_S, &backlog);
        for k in 0..classes {
            backlog[k] -= shares[k];
        }
        let mut served = Vec::new();
        for (queue, share) in queues.iter_mut().zip(&shares) {
            let pieces = match setup.discipline.inside {
                Inside::Fifo => serve_fifo(queue, *share),
                Inside::Fq => serve_fair(queue, *share),
            };
            for piece in pieces.iter().filter(|p| p.last) {
                let round_trip = now + tau - arrivals[piece.flow].start_s;
                fcts[piece.flow] = round_trip - 2.0 * packet / capacity;
                ended += 1;
            }
            served.push(pieces);
        }
        if setup.discipline.inside == Inside::Fq {
            // What fair queueing left over is still there.
            for (backlog, queue) in backlog.iter_mut().zip(&queues) {
                *backlog = queue.iter().map(|p| p.bytes).sum();
            }
        }
        let active: Vec<f64> = backlog
            .iter()
            .zip(&shares)
            .map(|(b, s)| {
                if *b > 1.0 {
                    1.0
                } else {
                    s / (capacity * STEP_S)
                }
            })
            .collect();
        for k in 0..classes {
            let above: f64 = shares[..k].iter().sum::<f64>() / STEP_S;
            let total: f64 = (0..classes)
                .map(|l| weights[l] * if l == k { 1.0 } else { active[l] })
                .sum();
            seen[k].served = shares[k] / STEP_S;
            seen[k].backlog = backlog[k];
            seen[k].available = match setup.discipline.sharing {
                Sharing::One => capacity,
                Sharing::Priority => (capacity - above).max(0.0),
                Sharing::Weights(_) => capacity * weights[k] / total,
            };
        }
        if control.law.scope() == Scope::Port {
            let whole = Seen {
                uncontrolled: seen.iter().map(|s| s.uncontrolled).sum(),
                controlled: seen.iter().map(|s| s.controlled).sum(),
                backlog: backlog.iter().sum(),
                available: capacity,
                served: seen.iter().map(|s| s.served).sum(),
            };
            seen = vec![whole; classes];
        }
        let mut acked = Vec::new();
        for (k, pieces) in served.iter().enumerate() {
            let available = seen[k].available.max(1e-3 * capacity);
            busy[k] += seen[k].served / available * STEP_S;
            let report = Report {
                at: now,
                busy: busy[k],
                waiting: (seen[k].backlog - threshold).max(0.0) / (available * 2.0 * tau),
            };
            acked.extend(pieces.iter().map(|p| Ack {
                flow: p.flow,
                bytes: p.bytes,
                marked: backlog[k] > threshold,
                report,
            }));
        }
        acks.push_back(acked);
        past.push_back(seen);
        past.pop_front();
    }
    fcts
}

/// Bytes that each class gets of `bytes`, a thousandth at a time by weight.
fn divide(setup: &Setup, weights: &[f64], bytes: f64, waiting: &[f64]) -> Vec<f64> {
    let mut shares = vec![0.0; waiting.len()];
    let mut rest = bytes;
    if setup.discipline.sharing == Sharing::Priority {
        for (share, waiting) in shares.iter_mut().zip(waiting) {
            *share = waiting.min(rest);
            rest -= *share;
        }
        return shares;
    }
    while rest > bytes * 1e-9 {
        let open = |shares: &[f64], k: usize| shares[k] < waiting[k];
        let total: f64 = (0..waiting.len())
            .filter(|&k| open(&shares, k))
            .map(|k| weights[k])
            .sum();
        if total == 0.0 {
            break;
        }
        let mut used = 0.0;
        let before = shares.clone();
        for k in 0..waiting.len() {
            if open(&before, k) {
                let part = (rest * weights[k] / total).min(waiting[k] - shares[k]);
                shares[k] += part;
                used += part;
            }
        }
        rest -= used;
    }
    shares
}

/// What is served; `last` is the end of a flow.
fn serve_fifo(queue: &mut VecDeque<Piece>, mut bytes: f64) -> Vec<Piece> {
    let mut served = Vec::new();
    while let Some(piece) = queue.front_mut() {
        if piece.bytes > bytes + 1e-6 {
            piece.bytes -= bytes;
            let (flow, last) = (piece.flow, false);
            served.push(Piece { flow, bytes, last });
            break;
        }
        bytes -= piece.bytes;
        served.push(*piece);
        queue.pop_front();
    }
    served
}

/// Every flow with bytes waiting gets the same, as often as it takes.
fn serve_fair(queue: &mut VecDeque<Piece>, mut bytes: f64) -> Vec<Piece> {
    let mut served = Vec::new();
    loop {
        let each = bytes / queue.len() as f64;
        for piece in queue.iter_mut() {
            let part = piece.bytes.min(each);
            piece.bytes -= part;
            bytes -= part;
            served.push(Piece {
                flow: piece.flow,
                bytes: part,
                last: piece.bytes <= 1e-6 && piece.last,
            });
        }
        queue.retain(|p| p.bytes > 1e-6);
        if bytes <= 1e-6 || queue.is_empty() {
            return served;
        }
    }
}
