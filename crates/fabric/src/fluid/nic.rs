//! A NIC: its flows take turns, so each gets an even share of what it sends, or what it wants if that is less.

use fctlab_link::queues::{Discipline, Sharing};
use fctlab_link::{Allowed, Inside, Line, Paced, Portions};

use super::fair::level;
use super::flow::{Active, Hearing, Known};
use super::waits::{Sends, Waits};

/// One flow's part of a step.
#[derive(Clone, Copy, Debug)]
struct Turn {
    flow: usize,
    /// The place of its class.
    class: usize,
    hearing: Hearing,
    /// What it would send, had it always more, and what it sends.
    could: f64,
    sends: f64,
    /// What its turns let it take of that, where not all do.
    gets: f64,
    /// What it has yet to do.
    then: Then,
}

impl Turn {
    /// What it would send in such a part of the step, in which it has taken some.
    fn wants(&self, span: f64) -> f64 {
        (self.could * (span / self.hearing.span)).min(self.sends - self.gets)
    }
}

/// What a flow does once its share is known.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// It has sent.
    Nothing,
    /// It sends these.
    Send(Allowed, Portions),
    /// It has sent, and would have to hear again with less: the number of what it was before.
    Again(usize),
}

/// Where flows were paced at less than this share of a NIC's rate it suffices: windows rise by little in a step.
const ALMOST: f64 = 0.8;

/// The share of a NIC that a flow can take while packets of other classes wait for it: one whose packets are spaced is not
/// there when the last one has left, and loses its turn to them until its next packet is due.
fn at_most(flow: &Paced) -> f64 {
    if flow.is_clocked() {
        return 1.0;
    }
    1.0 / ((1.0 / flow.share().min(1.0)).floor() + 1.0)
}

/// What dividing takes.
#[derive(Debug, Default)]
pub(super) struct Nic {
    turns: Vec<Turn>,
    before: Vec<Paced>,
    wants: Vec<f64>,
    demands: Vec<f64>,
    takes: Vec<f64>,
    shares: Vec<f64>,
}

impl Nic {
    /// The flows of one NIC send in the step that ends at `now`, no more than `capacity` over their `line`. Classes stand
    /// at their `places` in its discipline.
    ///
    /// Returns what packets wait there meanwhile.
    pub(super) fn send(
        &mut self,
        flows: &mut [Active],
        (line, capacity): (&Line, f64),
        (discipline, place): (&Discipline, impl Fn(u16) -> usize),
        known: &Known<'_>,
        now: u64,
    ) -> Waits {
        let before = known.nic_waits[known.nic as usize];
        let paced = flows.first().is_some_and(|flow| !flow.paced.is_clocked());
        let waits = |sent: f64, flows, held| {
            let sends = Sends {
                busy: 1.0 - (capacity - sent).max(0.0) / line.capacity,
                flows,
                held,
                acks_first: discipline.inside == Inside::Fq,
            };
            if paced {
                before.of_paced(&sends, line, now)
            } else {
                Waits::of_clocked(&sends, line, now)
            }
        };
        if let [flow] = flows {
            if !flow.sends() {
                return waits(0.0, 1, 0);
            }
            let hearing = flow.hear(known, line, now);
            let could = flow.react(&hearing, line, capacity);
            let sends = could.min(flow.rest());
            let rate = if flow.bursts(&hearing) {
                capacity * hearing.span
            } else {
                could
            };
            flow.send(sends, rate, hearing.span, now);
            return waits(sends, 1, 0);
        }
        self.turns.clear();
        self.before.clear();
        let senders = flows.iter().filter(|flow| flow.sends());
        let (count, rates) = senders.fold((0, 0.0), |(count, rates), flow| {
            (count + 1, rates + flow.paced.share() * line.capacity)
        });
        let suffices = rates < ALMOST * capacity;
        let most = if count == 1 { capacity } else { f64::INFINITY };
        let mut bursts = false;
        for (number, flow) in flows.iter_mut().enumerate() {
            if !flow.sends() {
                continue;
            }
            let hearing = flow.hear(known, line, now);
            let (could, then) = if suffices || count == 1 {
                (flow.react(&hearing, line, most), Then::Nothing)
            } else if let Some(allowed) = flow.listen(&hearing, line) {
                let portions = flow.paced.could(&allowed, hearing.span, most);
                (portions.bytes(), Then::Send(allowed, portions))
            } else {
                self.before.push(flow.paced);
                let could = flow.react(&hearing, line, most);
                (could, Then::Again(self.before.len() - 1))
            };
            bursts |= flow.bursts(&hearing);
            self.turns.push(Turn {
                flow: number,
                class: place(flow.class),
                hearing,
                could,
                sends: could.min(flow.rest()),
                gets: 0.0,
                then,
            });
        }
        let full = !suffices && self.turns.iter().map(|turn| turn.sends).sum::<f64>() > capacity;
        // Only of first and last bytes it matters how fast they leave.
        let matters = |turn: &Turn| flows[turn.flow].begins_or_ends(turn.sends);
        let even = if (full || bursts) && self.turns.iter().any(matters) {
            self.even(flows, capacity)
        } else {
            capacity
        };
        let held = if full {
            self.share(flows, (line, capacity), discipline)
        } else {
            0
        };
        for turn in &self.turns {
            let flow = &mut flows[turn.flow];
            if let Then::Send(allowed, portions) = &turn.then {
                flow.paced.send(allowed, *portions, line);
            }
            // Alone at its own rate; among others that wait for their turns not faster than they let it.
            let rate = if flow.bursts(&turn.hearing) {
                even * turn.hearing.span
            } else {
                turn.could.min(even * turn.hearing.span)
            };
            flow.send(turn.sends, rate, turn.hearing.span, now);
            if held > 0 && !flow.sends() {
                // When it came, half of the packet on its way had gone.
                flow.is_early(0.5 * line.packet / line.capacity);
            }
        }
        let sent = self.turns.iter().map(|turn| turn.sends).sum();
        waits(sent, self.turns.len(), held)
    }

    /// The rate at which a flow can send while all others do, of `capacity`.
    fn even(&mut self, flows: &[Active], capacity: f64) -> f64 {
        let rates = self.turns.iter().map(|turn| {
            if flows[turn.flow].bursts(&turn.hearing) {
                f64::INFINITY
            } else {
                turn.could / turn.hearing.span
            }
        });
        self.wants.clear();
        self.wants.extend(rates);
        level(&mut self.wants, capacity).min(capacity)
    }

    /// Of what classes ask for, what the turns of their flows let them take.
    fn lose_turns(&mut self, flows: &[Active], capacity: f64, class: impl Fn(&Turn) -> usize) {
        self.takes.fill(0.0);
        for turn in &self.turns {
            let most = capacity * at_most(&flows[turn.flow].paced);
            self.takes[class(turn)] += turn.sends.min(most);
        }
        let total: f64 = self.demands.iter().sum();
        for (takes, demand) in self.takes.iter_mut().zip(&self.demands) {
            *takes = demand.min(takes.max(capacity - (total - demand)));
        }
    }

    /// Divides `all` among the flows that are `among` it: each has an even share from when it starts, or what it wants if that is
    /// less.
    fn divide(&mut self, all: f64, among: impl Fn(&Turn) -> bool) {
        for turn in &mut self.turns {
            turn.gets = 0.0;
        }
        let mut from = 0.0;
        loop {
            // Until the next flow starts.
            let starts = self.turns.iter().filter(|turn| among(turn));
            let starts = starts.map(|turn| 1.0 - turn.hearing.span);
            let to = starts.filter(|&start| start > from).fold(1.0, f64::min);
            let span = to - from;
            let is_there = |turn: &Turn| among(turn) && 1.0 - turn.hearing.span <= from;
            self.wants.clear();
            let there = self.turns.iter().filter(|turn| is_there(turn));
            self.wants.extend(there.map(|turn| turn.wants(span)));
            let level = level(&mut self.wants, all * span);
            for turn in self.turns.iter_mut().filter(|turn| is_there(turn)) {
                turn.gets += turn.wants(span).min(level);
            }
            if to >= 1.0 {
                break;
            }
            from = to;
        }
    }

    /// Divides `capacity` among classes, and what a class gets among its flows; returns how many are held back.
    fn share(
        &mut self,
        flows: &mut [Active],
        (line, capacity): (&Line, f64),
        discipline: &Discipline,
    ) -> usize {
        let mut held = 0;
        let classes = match &discipline.sharing {
            Sharing::Weights(weights) => weights.len(),
            Sharing::One | Sharing::Priority => 1,
        };
        self.demands.clear();
        self.demands.resize(classes, 0.0);
        let class = |turn: &Turn| turn.class.min(classes - 1);
        for turn in &self.turns {
            self.demands[class(turn)] += turn.sends;
        }
        self.takes.clone_from(&self.demands);
        if classes > 1 {
            self.lose_turns(flows, capacity, class);
        }
        self.shares.clear();
        self.shares.resize(classes, 0.0);
        discipline.share(capacity, &self.takes, &mut self.shares);
        for number in 0..classes {
            if self.shares[number] >= self.demands[number] {
                continue;
            }
            self.divide(self.shares[number], |turn| class(turn) == number);
            let turns = self.turns.iter_mut();
            for turn in turns.filter(|turn| class(turn) == number && turn.sends > turn.gets) {
                held += 1;
                let flow = &mut flows[turn.flow];
                let most = turn.gets / turn.hearing.span;
                turn.could = match &mut turn.then {
                    Then::Nothing => turn.could.min(turn.gets),
                    Then::Send(allowed, portions) => {
                        *portions = flow.paced.could(allowed, turn.hearing.span, most);
                        portions.bytes()
                    }
                    Then::Again(before) => {
                        flow.paced = self.before[*before];
                        flow.react(&turn.hearing, line, most)
                    }
                };
                turn.sends = turn.could.min(flow.rest());
            }
        }
        held
    }
}
