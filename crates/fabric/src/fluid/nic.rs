//! A NIC: its flows take turns, so each gets an even share of what it sends, or what it wants if that is less.

use fctlab_link::queues::{Discipline, Sharing};
use fctlab_link::{Allowed, Line, Paced, Portions};

use super::flow::{Active, Hearing, Known};

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
    /// What it has yet to do.
    then: Then,
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

/// What dividing takes.
#[derive(Debug, Default)]
pub(super) struct Nic {
    turns: Vec<Turn>,
    before: Vec<Paced>,
    wants: Vec<f64>,
    demands: Vec<f64>,
    shares: Vec<f64>,
}

impl Nic {
    /// The flows of one NIC send in the step that ends at `now`, no more than `capacity` over their `line`. Classes stand
    /// at their `places` in its discipline.
    pub(super) fn send(
        &mut self,
        flows: &mut [Active],
        (line, capacity): (&Line, f64),
        (discipline, place): (&Discipline, impl Fn(u16) -> usize),
        known: &Known<'_>,
        now: u64,
    ) {
        if let [flow] = flows {
            if flow.sends() {
                let hearing = flow.hear(known, line, now);
                let could = flow.react(&hearing, line, capacity);
                let sends = could.min(flow.rest());
                flow.send(sends, could, hearing.span, now);
            }
            return;
        }
        self.turns.clear();
        self.before.clear();
        let senders = flows.iter().filter(|flow| flow.sends());
        let (count, rates) = senders.fold((0, 0.0), |(count, rates), flow| {
            (count + 1, rates + flow.paced.share() * line.capacity)
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
                class: place(flow.class),
                hearing,
                could,
                sends: could.min(flow.rest()),
                then,
            });
        }
        let full = !suffices && self.turns.iter().map(|turn| turn.sends).sum::<f64>() > capacity;
        if full {
            self.share(flows, (line, capacity), discipline);
        }
        let fair = capacity / self.turns.len() as f64;
        for turn in &self.turns {
            let flow = &mut flows[turn.flow];
            if let Then::Send(allowed, portions) = &turn.then {
                flow.paced.send(allowed, *portions, line);
            }
            // Alone at its own rate; among others that wait for their turns not faster than an even share.
            let rate = if full {
                turn.could.min(fair)
            } else {
                turn.could
            };
            flow.send(turn.sends, rate, turn.hearing.span, now);
        }
    }

    /// Divides `capacity` among classes, and what a class gets among its flows.
    fn share(
        &mut self,
        flows: &mut [Active],
        (line, capacity): (&Line, f64),
        discipline: &Discipline,
    ) {
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
        self.shares.clear();
        self.shares.resize(classes, 0.0);
        discipline.share(capacity, &self.demands, &mut self.shares);
        for number in 0..classes {
            if self.shares[number] >= self.demands[number] {
                continue;
            }
            self.wants.clear();
            let own = self.turns.iter().filter(|turn| class(turn) == number);
            self.wants.extend(own.map(|turn| turn.sends));
            let level = level(&mut self.wants, self.shares[number]);
            let turns = self.turns.iter_mut();
            for turn in turns.filter(|turn| class(turn) == number && turn.sends > level) {
                let flow = &mut flows[turn.flow];
                let most = level / turn.hearing.span;
                turn.could = match &mut turn.then {
                    Then::Nothing => turn.could.min(level),
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
    }
}

/// What each gets at most when `all` is divided among those who want so much, which together is more.
fn level(wants: &mut [f64], all: f64) -> f64 {
    wants.sort_unstable_by(f64::total_cmp);
    let (mut rest, mut waiting) = (all, wants.len() as f64);
    for &want in wants.iter() {
        if want * waiting > rest {
            break;
        }
        rest -= want;
        waiting -= 1.0;
    }
    rest / waiting.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::level;

    #[test]
    fn those_who_want_less_get_it() {
        assert_eq!(level(&mut [5.0, 1.0, 9.0], 9.0), 4.0);
        assert_eq!(level(&mut [5.0, 5.0], 4.0), 2.0);
    }
}
