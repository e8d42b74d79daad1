//! From one event to the next: senders, bottleneck, signals.

mod service;

use std::ops::ControlFlow;

use fctlab_core::{Duration, Rate};

use crate::acks::Instant;
use crate::bottleneck::{Queue, Waiting};
use crate::control::Control;
use crate::flow::InFlight;
use crate::heard::Line;
use crate::laws::Law;
use crate::laws::rate::{Approach, Start};
use crate::queues::{Discipline, Inside, Sharing};
use crate::sender::{Sender, Step};
use crate::signal::Seen;

/// The longest step, in one-way delays, that is usual; what it costs in accuracy is in
/// `docs/explanation/link-model.md`.
pub const LONGEST_STEP: f64 = 1.0;

/// The shortest step to the end of a controlled flow, in one-way delays: what it
/// would have sent beyond that is taken back.
const SHORTEST_STEP: f64 = 1e-4;

/// The share of the link that a class which gets nothing (under priority) may count on
/// in the wait of its next byte: it would be infinite else.
const LEAST_SERVED: f64 = 1e-3;

/// The bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Its rate.
    pub rate: Rate,
    /// 2 tau: propagation from a sender to the bottleneck and back.
    pub rtt: Duration,
}

impl Link {
    /// Bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.rate.bytes_per_s()
    }
    /// What is in flight at full rate, in bytes: the bandwidth-delay product.
    pub fn bdp_bytes(&self) -> f64 {
        self.bytes_per_s() * self.rtt.as_secs_f64()
    }
    /// The time that a flow takes alone, in seconds, its ACK's return included:
    /// RTT + size / rate (swp, section 2).
    pub fn ideal_s(&self, size_bytes: f64) -> f64 {
        self.rtt.as_secs_f64() + size_bytes / self.bytes_per_s()
    }
}

/// Everything that the model needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The bottleneck.
    pub link: Link,
    /// How flows send.
    pub control: Control,
    /// How the bottleneck serves classes.
    pub discipline: Discipline,
    /// How many classes there are.
    pub classes: usize,
    /// The longest step, in one-way delays; in (0, 2], usually [`LONGEST_STEP`].
    pub longest_step: f64,
}

/// A flow that will start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Seconds since the start of the run.
    pub start_s: f64,
    /// Its bytes; at least 1.
    pub size_bytes: f64,
    /// Its class, from 0.
    pub class: u16,
}

/// A flow that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// Its place among the arrivals, from 0.
    pub index: u64,
    /// What it was.
    pub arrival: Arrival,
    /// From its start until the ACK of its last byte is back, in seconds; half
    /// an RTT less is when that byte was received.
    pub fct_s: f64,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Counters {
    /// Flows that ended.
    pub flows: u64,
    /// Steps taken.
    pub steps: u64,
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Bytes served by the bottleneck.
    pub served_bytes: f64,
}

/// Runs flows, in order of start, until all have ended or `done` breaks off.
pub fn simulate(
    setup: &Setup,
    arrivals: impl IntoIterator<Item = Arrival>,
    done: impl FnMut(&Done) -> ControlFlow<()>,
) -> Counters {
    Model::new(setup, done).run(arrivals.into_iter())
}

struct Model<'a, F> {
    setup: &'a Setup,
    line: Line,
    /// Eta tau, in seconds, where flows follow one rate.
    relax: f64,
    /// No step ends earlier because a flow has sent everything.
    shortest: f64,
    threshold: f64,
    /// What leaves above the threshold is marked, and somebody listens to that.
    marks: bool,
    queues: Vec<Queue>,
    /// Of all queues together, where flows hear of those.
    port: Seen,
    /// By queue, during a step. The instant up to which all that was sent is acked, where there are windows.
    acked: Vec<Option<u64>>,
    inflow: Vec<f64>,
    demands: Vec<f64>,
    shares: Vec<f64>,
    active: Vec<f64>,
    available: Vec<f64>,
    departures: Departures<F>,
    counters: Counters,
    /// exp(-span / relax) for the span that was asked last.
    decay: (f64, f64),
}

impl<'a, F: FnMut(&Done) -> ControlFlow<()>> Model<'a, F> {
    fn new(setup: &'a Setup, done: F) -> Self {
        let capacity = setup.link.bytes_per_s();
        let control = &setup.control;
        let packet = control.full_packet();
        // Packets are sent twice, by the sender and by the bottleneck.
        let round_trip = setup.link.rtt.as_secs_f64() + 2.0 * packet / capacity;
        let r_init = control.initial_rate_on(capacity);
        let fair = setup.discipline.inside == Inside::Fq;
        let queues = match setup.discipline.sharing {
            Sharing::One => 1,
            _ => setup.classes,
        };
        let line = Line {
            capacity,
            round_trip,
            packet,
            counted: control.counted(),
        };
        let relax = match &control.law {
            Law::Rate(rate) => rate.eta * round_trip / 2.0,
            _ => 0.0,
        };
        let window = control.law.flow(r_init / capacity, &line);
        let beta = control.law.beta();
        let queue = |_| {
            let sender = Sender::new(r_init, round_trip, relax, window, fair, beta);
            Queue::new(sender, fair, &line)
        };
        Model {
            setup,
            line,
            relax,
            shortest: SHORTEST_STEP * round_trip / 2.0,
            // A switch that says what waits does not count the packet that leaves.
            threshold: control.threshold_on(&setup.link) + packet,
            marks: control.law.marks(),
            queues: (0..queues).map(queue).collect(),
            port: Seen::default(),
            acked: vec![None; queues],
            inflow: vec![0.0; queues],
            demands: vec![0.0; queues],
            shares: vec![0.0; queues],
            active: vec![0.0; queues],
            available: vec![0.0; queues],
            departures: Departures {
                done,
                round_trip: setup.link.rtt.as_secs_f64(),
                flows: 0,
                stopped: false,
            },
            counters: Counters::default(),
            decay: (0.0, 1.0),
        }
    }

    fn run(mut self, mut arrivals: impl Iterator<Item = Arrival>) -> Counters {
        let longest = self.setup.longest_step.min(2.0) * self.line.round_trip / 2.0;
        let mut now = 0.0;
        let (mut busy, mut sent) = (Vec::new(), Vec::new());
        let mut next = arrivals.next();
        let mut index = 0;
        while !self.departures.stopped {
            while let Some(arrival) = next
                && arrival.start_s <= now
            {
                self.start(index, &arrival, now);
                index += 1;
                next = arrivals.next();
            }
            self.find_busy(&mut busy);
            for &q in &busy {
                let Queue {
                    sender,
                    waiting,
                    past,
                    signal,
                    ..
                } = &mut self.queues[q];
                let waiting = |flow: &_| waiting.behind_others(flow);
                let told = match &self.setup.control.law {
                    Law::Rate(rate) if rate.start == Start::Ideal => signal.next(),
                    _ => None,
                };
                sender.end_bursts(now, past.number(), told, &mut sent, waiting);
                for flow in sent.drain(..) {
                    self.last_byte(q, flow, now);
                }
            }
            let start = next.map_or(f64::INFINITY, |a| a.start_s);
            let queues = busy.iter().map(|&q| &self.queues[q]);
            let end = match queues.clone().all(Queue::is_idle) {
                true if next.is_none() => break,
                true => start,
                false => {
                    let bursts = queues.map(|q| q.sender.next_burst_end());
                    bursts.fold(start.min(now + longest), f64::min)
                }
            };
            now = self.step(now, end, &busy);
        }
        self.counters.flows = self.departures.flows;
        self.counters.simulated_s = now;
        self.counters
    }

    /// Queues in which something goes on; of the others inflow and demand are 0, and nothing changes.
    fn find_busy(&mut self, busy: &mut Vec<usize>) {
        busy.clear();
        for (q, queue) in self.queues.iter().enumerate() {
            if queue.is_idle() {
                (self.inflow[q], self.demands[q], self.active[q]) = (0.0, 0.0, 0.0);
            } else {
                busy.push(q);
            }
        }
    }

    fn start(&mut self, index: u64, arrival: &Arrival, now: f64) {
        let q = match self.setup.discipline.sharing {
            Sharing::One => 0,
            _ => usize::from(arrival.class),
        };
        let queue = &mut self.queues[q];
        if queue.is_idle() {
            queue.forget();
        }
        let burst = queue.sender.burst_bytes();
        let size = self.setup.control.wire_bytes(arrival.size_bytes);
        let mut flow = InFlight {
            index,
            start: now,
            size,
            payload: arrival.size_bytes,
            arrives: queue.sender.burst_end(now, size),
            class: arrival.class,
            slot: 0,
            sending: 0.0,
            own: 0.0,
        };
        if let Waiting::Fair(fair) = &mut queue.waiting {
            fair.start(&mut flow, burst);
        }
        if flow.size > burst {
            if queue.listeners == 0 {
                queue.signal.restart(now);
                queue.past.restart(queue.instant(now, Instant::default()));
            }
            queue.listeners += 1;
        }
        queue.sender.start(flow);
    }

    /// The last byte of `flow` was sent at `now`.
    fn last_byte(&mut self, q: usize, mut flow: InFlight, now: f64) {
        let queue = &mut self.queues[q];
        if flow.size > queue.sender.burst_bytes() {
            queue.listeners -= 1;
        }
        match &mut queue.waiting {
            Waiting::Fifo(_) if queue.backlog == 0.0 => self.departures.end(flow, now),
            Waiting::Fifo(ends) => ends.push_back((queue.arrived, flow)),
            Waiting::Fair(fair) if flow.size > queue.sender.burst_bytes() => {
                flow.arrives = now;
                if fair.last_byte(flow, queue.backlog == 0.0) {
                    self.departures.end(flow, now);
                }
            }
            Waiting::Fair(_) => {} // known since its start
        }
    }

    /// Takes a step from `now` to `end` or to an earlier event; returns where it ended. Nothing goes on
    /// but in `busy` queues.
    fn step(&mut self, now: f64, end: f64, busy: &[usize]) -> f64 {
        self.counters.steps += 1;
        let end = end.min(self.marks_change(now, busy));
        let mut span = end - now;
        for &q in busy {
            if self.queues[q].sender.outlasts(self.line.capacity * span) {
                continue;
            }
            if let Some(step) = &self.reaction(q, end, end - now) {
                let first = self.queues[q].sender.first_end(step);
                // Not less than what can be told apart from `now`.
                span = span.min(first.max(self.shortest).max(8.0 * f64::EPSILON * now));
            }
        }
        let end = if span < end - now { now + span } else { end };
        let span = end - now;
        for &q in busy {
            let step = self.reaction(q, end, span);
            if let Some(Step::Window(acks, _)) = &step {
                self.acked[q] = Some(acks.since.step);
            }
            let queue = &mut self.queues[q];
            let mut bytes = queue.sender.burst_sent(span);
            if let Some(step) = &step {
                bytes += queue.sender.advance(step, &mut queue.ended);
                if let Waiting::Fair(fair) = &mut queue.waiting {
                    for young in queue.sender.young() {
                        fair.set_input(&young.flow, young.sent / span);
                    }
                    for (flow, bytes) in &queue.ended {
                        fair.set_input(flow, bytes / span);
                    }
                }
            }
            self.inflow[q] = bytes / span;
        }
        self.serve(now, span, busy);
        let port = self.port_heard(end, span, busy);
        for &q in busy {
            if let Some(number) = self.acked[q].take() {
                let Queue {
                    sender, waiting, ..
                } = &mut self.queues[q];
                sender.note(number, |flow| waiting.behind_others(flow));
            }
            self.signal(q, end, span, port);
            let mut ended = std::mem::take(&mut self.queues[q].ended);
            for (flow, _) in ended.drain(..) {
                self.last_byte(q, flow, end);
            }
            self.queues[q].ended = ended;
        }
        end
    }

    /// When flows begin or cease to hear marks, which is the end of a step: a flow with few packets in flight
    /// hears them or not as its ACKs come.
    fn marks_change(&mut self, now: f64, busy: &[usize]) -> f64 {
        let mut first = f64::INFINITY;
        if self.marks {
            let round_trip = self.line.round_trip;
            let least = now - round_trip + self.shortest;
            for &q in busy {
                let queue = &mut self.queues[q];
                if queue.sender.controlled() > 0 {
                    first = first.min(queue.past.marks_change(least) + round_trip);
                }
            }
        }
        first
    }

    /// What the controlled flows of queue `q` do in the step that ends at `end` and is `span`
    /// long; nothing if there are none.
    fn reaction(&mut self, q: usize, end: f64, span: f64) -> Option<Step> {
        let queue = &mut self.queues[q];
        if queue.sender.controlled() == 0 {
            return None;
        }
        if let Law::Rate(_) = self.setup.control.law {
            let ideal = queue.signal.average(end - self.line.round_trip);
            let decay = self.decay_over(span);
            return Some(Step::Rate(Approach {
                span,
                ideal,
                relax: self.relax,
                decay,
            }));
        }
        let fair = self.setup.discipline.inside == Inside::Fq;
        let acks = queue.past.acks(end, span, self.line.round_trip, fair);
        Some(Step::Window(acks, self.line))
    }

    fn decay_over(&mut self, span: f64) -> f64 {
        if self.decay.0 != span {
            self.decay = (span, libm::exp(-span / self.relax));
        }
        self.decay.1
    }
}

/// Whom flows that end are told to.
struct Departures<F> {
    done: F,
    /// What comes on top of the time at the senders.
    round_trip: f64,
    flows: u64,
    stopped: bool,
}

impl<F: FnMut(&Done) -> ControlFlow<()>> Departures<F> {
    /// Reports a flow whose last byte leaves the bottleneck `at`, on the senders' clock.
    fn end(&mut self, flow: InFlight, at: f64) {
        self.flows += 1;
        let ended = Done {
            index: flow.index,
            arrival: Arrival {
                start_s: flow.start,
                size_bytes: flow.payload,
                class: flow.class,
            },
            fct_s: at - flow.start + self.round_trip,
        };
        self.stopped |= (self.done)(&ended).is_break();
    }
}
