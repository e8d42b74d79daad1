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
    /// The rate at which it would, while it does.
    rate: f64,
    /// What its turns let it take of that, where not all do.
    gets: f64,
    /// What it has yet to do.
    then: Then,
}

impl Turn {
    /// What it would send in such a part of the step, in which it has taken some.
    fn wants(&self, span: f64) -> f64 {
        (self.rate * span).min(self.sends - self.gets)
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

/// How many classes divide a NIC's rate.
fn classes(discipline: &Discipline) -> usize {
    match &discipline.sharing {
        Sharing::Weights(weights) => weights.len(),
        Sharing::One | Sharing::Priority => 1,
    }
}

/// A flow that has to leave more than so many bytes to a later step is held back.
const HELD_BYTES: f64 = 1e-6;

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
    together: Vec<f64>,
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
            let rate = flow.rate(&hearing, could, line).min(capacity);
            flow.send(sends, rate, &hearing, now);
            return waits(sends, 1, 0);
        }
        self.turns.clear();
        self.before.clear();
        let senders = flows.iter().filter(|flow| flow.sends());
        let (count, rates) = senders.fold((0, 0.0), |(count, rates), flow| {
            (count + 1, rates + flow.may_send_at(line))
        });
        let suffices = rates < ALMOST * capacity;
        let most = if count == 1 { capacity } else { f64::INFINITY };
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
            self.turns.push(Turn {
                flow: number,
                class: place(flow.class).min(classes(discipline) - 1),
                hearing,
                could,
                sends: could.min(flow.rest()),
                rate: flow.rate(&hearing, could, line),
                gets: 0.0,
                then,
            });
        }
        let held = if !suffices && self.rates() > capacity {
            self.share(flows, (line, capacity), discipline)
        } else {
            0
        };
        for turn in &self.turns {
            let flow = &mut flows[turn.flow];
            if let Then::Send(allowed, portions) = &turn.then {
                flow.paced.send(allowed, *portions, line);
            }
            flow.send(turn.sends, turn.rate.min(capacity), &turn.hearing, now);
            if held > 0 && !flow.sends() {
                // When it came, half of the packet on its way had gone.
                flow.is_early(0.5 * line.packet / line.capacity);
            }
        }
        let sent = self.turns.iter().map(|turn| turn.sends).sum();
        waits(sent, self.turns.len(), held)
    }

    /// The rate of all flows, while all of them send.
    ///
    /// What they send in a step says less: one that starts within it sends in the rest of it only, beside the others.
    fn rates(&self) -> f64 {
        self.turns.iter().map(|turn| turn.rate).sum()
    }

    /// Divides `capacity` among classes whose flows ask for so much.
    fn split(
        &mut self,
        flows: &[Active],
        capacity: f64,
        discipline: &Discipline,
        asks: impl Fn(&Turn) -> f64,
    ) {
        let classes = classes(discipline);
        self.demands.clear();
        self.demands.resize(classes, 0.0);
        for turn in &self.turns {
            self.demands[turn.class] += asks(turn);
        }
        self.takes.clone_from(&self.demands);
        if classes > 1 {
            self.lose_turns(flows, capacity, asks);
        }
        self.shares.clear();
        self.shares.resize(classes, 0.0);
        discipline.share(capacity, &self.takes, &mut self.shares);
    }

    /// Of what classes ask for, what the turns of their flows let them take.
    fn lose_turns(&mut self, flows: &[Active], capacity: f64, asks: impl Fn(&Turn) -> f64) {
        self.takes.fill(0.0);
        for turn in &self.turns {
            let most = capacity * at_most(&flows[turn.flow].paced);
            self.takes[turn.class] += asks(turn).min(most);
        }
        let total: f64 = self.demands.iter().sum();
        for (takes, demand) in self.takes.iter_mut().zip(&self.demands) {
            *takes = demand.min(takes.max(capacity - (total - demand)));
        }
    }

    /// Divides `all` among the flows of a class: each has an even share from when it starts, or what it wants if that is
    /// less.
    fn divide(&mut self, all: f64, class: usize) {
        let among = |turn: &Turn| turn.class == class;
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

    /// Flows of a class send no faster than others of it let them that take turns with them, of a rate of `together`.
    fn slow_down(&mut self, flows: &[Active], class: usize, together: f64) {
        let among = |turn: &Turn| turn.class == class;
        // Only of first and last bytes it matters how fast they leave.
        let matters = |turn: &Turn| among(turn) && flows[turn.flow].begins_or_ends(turn.sends);
        if !self.turns.iter().any(matters) {
            return;
        }
        self.wants.clear();
        let rates = self.turns.iter().filter(|turn| among(turn));
        self.wants.extend(rates.map(|turn| turn.rate));
        let level = level(&mut self.wants, together);
        for turn in self.turns.iter_mut().filter(|turn| among(turn)) {
            turn.rate = turn.rate.min(level);
        }
    }

    /// Divides `capacity` among classes, and what a class gets among its flows; returns how many are held back.
    fn share(
        &mut self,
        flows: &mut [Active],
        (line, capacity): (&Line, f64),
        discipline: &Discipline,
    ) -> usize {
        // What classes get while all flows send, and of the step.
        self.split(flows, capacity, discipline, |turn| turn.rate);
        std::mem::swap(&mut self.shares, &mut self.together);
        self.split(flows, capacity, discipline, |turn| turn.sends);
        let mut held = 0;
        for class in 0..self.shares.len() {
            let (share, together) = (self.shares[class], self.together[class]);
            // Who starts within the step sends in the rest of it only, beside the others.
            let suffices = share >= self.demands[class];
            let all = if suffices { share.max(together) } else { share };
            self.divide(all, class);
            self.slow_down(flows, class, together);
            let is_held = |turn: &Turn| turn.class == class && turn.sends - turn.gets > HELD_BYTES;
            for turn in self.turns.iter_mut().filter(|turn| is_held(turn)) {
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
