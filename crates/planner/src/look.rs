//! The last look: weights are chosen on the same flows, and are then the best for those, so others judge them.

use fctlab_core::random::Seed;
use fctlab_core::{Duration, SpecError};
use fctlab_link::Inside;
use rayon::prelude::*;

use crate::evaluate::{Candidate, Found, Meter};
use crate::flows::{Flows, MOST_FLOWS, seconds};
use crate::optimize::{BALANCED, Balance, GAIN, Trial, fits_device, least_worst, on_grid, spread};
use crate::predict::{ClassFound, Verdict, judge};
use fctlab_workload::sli::{ONCE, spent};

/// Times as many flows as the search had, on which weights are chosen: first, and again where others do not
/// decide what becomes of them.
const CHOOSE: [u32; 2] = [4, 16];
/// Rounds of steps that are tried on those, and the factor by which they change a weight (as a logarithm):
/// first, and where others have to decide again.
const STEPS: usize = 3;
const FACTORS: [f64; 2] = [0.3, 0.15];
/// Times as many flows at most, on which weights are judged. Flows are made piece by piece and
/// forgotten, so they may be more than a run has at once.
const SPANS: f64 = 256.0;
pub(crate) const MOST_SEEN: u64 = 4 * MOST_FLOWS;
/// Flows of one piece at most.
const PIECE: f64 = 1e7;

/// Integer weights, and whose they are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named {
    pub name: &'static str,
    pub grid: Vec<u32>,
}

/// The weights that were chosen, what became of them, and what they were chosen from.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    pub grid: Vec<u32>,
    pub judged: Judged,
    pub compared: Vec<(Named, Trial)>,
}

/// Integer weights on some flows.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub trial: Trial,
    pub classes: Vec<ClassFound>,
    /// Flows that it rests on.
    pub flows: u64,
}

/// What runs have found, and of which flows.
#[derive(Clone, Debug)]
struct Seen {
    found: Found,
    flows: u64,
    /// Why they say little, if so.
    cut_short: Option<String>,
}

impl Seen {
    fn with(self, other: Seen) -> Self {
        Seen {
            found: self.found.with(other.found),
            flows: self.flows + other.flows,
            cut_short: self.cut_short.or(other.cut_short),
        }
    }
}

impl Judged {
    /// For all classes together.
    pub(crate) fn verdict(&self) -> Verdict {
        let of = |v: Verdict| self.classes.iter().any(|c| c.verdict == Some(v));
        match (of(Verdict::Violated), of(Verdict::Undecided)) {
            (true, _) => Verdict::Violated,
            (_, true) => Verdict::Undecided,
            _ => Verdict::Met,
        }
    }
}

/// Who judges weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    pub candidate: &'a Candidate<'a>,
    pub inside: Inside,
    pub seed: u64,
    pub meter: &'a Meter,
}

impl Look<'_> {
    /// Chooses and judges on the same `flows`, as there are no others.
    ///
    /// # Errors
    /// There is nothing to choose from.
    pub(crate) fn at(&self, candidates: Vec<Named>, flows: &Flows) -> Result<Looked, SpecError> {
        let each = candidates.into_iter().map(|named| {
            let trial = self.trial(&named.grid, &mut self.run(&named.grid, flows).found);
            (named, trial)
        });
        let compared: Vec<_> = each.collect();
        let grid = best(&compared)?.0.grid.clone();
        let judged = self.judge(&grid, &mut self.run(&grid, flows), ONCE);
        Ok(Looked {
            grid,
            judged,
            compared,
        })
    }

    /// Chooses from `candidates` and steps beside the best on flows that nobody has seen, and judges on
    /// others, as many spans of `each` as it takes; a choice and a verdict rest on at most `most_flows`.
    ///
    /// # Errors
    /// Flows that cannot be made.
    pub(crate) fn afresh(
        &self,
        mut candidates: Vec<Named>,
        balance: &Balance,
        each: Duration,
        most_flows: u64,
    ) -> Result<Looked, SpecError> {
        let most = most_flows as f64 / (self.flows_per_s() * each.as_secs_f64());
        let most = most.clamp(1.0, SPANS) as u32;
        let (mut look, last) = (0, CHOOSE.len() - 1);
        for (round, (spans, step)) in CHOOSE.into_iter().zip(FACTORS).enumerate() {
            let fresh = |what: &str| Fresh {
                name: format!("{what} {round}"),
                each,
                most_flows,
            };
            let (steps, choice) = (fresh("steps"), fresh("choice"));
            let compared = self.choose(
                candidates,
                (balance, step),
                (&steps, &choice),
                spans.min(most),
            )?;
            let (chosen, trial) = best(&compared)?;
            let grid = chosen.grid.clone();
            let fresh = fresh("look");
            let enough = if round == last {
                most
            } else {
                most.min(4 * spans)
            };
            let judged = self.until_decided(&grid, &fresh, enough, &mut look)?;
            let settled = match judged.verdict() {
                Verdict::Met => true,
                Verdict::Violated => trial.worst() >= 0.0,
                Verdict::Undecided => enough == most,
            };
            if settled || round == last || self.meter.stopped() {
                return Ok(Looked {
                    grid,
                    judged,
                    compared,
                });
            }
            candidates = compared.into_iter().map(|(named, _)| named).collect();
        }
        unreachable!("the last round ends it")
    }

    /// Each of `candidates`, and where steps from the best of them lead, on the same flows. Steps are many, and the
    /// best of many is the best for the flows that it was found on: so those are others.
    fn choose(
        &self,
        mut candidates: Vec<Named>,
        (balance, factor): (&Balance, f64),
        (seen, fresh): (&Fresh, &Fresh),
        spans: u32,
    ) -> Result<Vec<(Named, Trial)>, SpecError> {
        let compared = self.trials(candidates.clone(), seen, spans)?;
        let best = &best(&compared)?.1;
        candidates.extend(self.stepped(best, (balance, factor), seen, spans)?);
        self.trials(candidates, fresh, spans)
    }

    /// Steps from `start` as long as one helps, all on the same so many spans; nothing where none does.
    fn stepped(
        &self,
        start: &Trial,
        (balance, mut factor): (&Balance, f64),
        fresh: &Fresh,
        spans: u32,
    ) -> Result<Option<Named>, SpecError> {
        let mut from = start.clone();
        let mut known = vec![on_grid(&start.weights)];
        for _ in 0..STEPS {
            let mut steps = beside(&from, factor);
            if spread(&from.losses) >= BALANCED {
                steps.push(balance.step(&from, 1.0));
            }
            let mut grids: Vec<Vec<u32>> = steps.iter().map(|weights| on_grid(weights)).collect();
            grids.dedup();
            grids.retain(|grid| !known.contains(grid));
            known.extend(grids.iter().cloned());
            let named = grids.into_iter().map(|grid| Named { name: "step", grid });
            let tried = self.trials(named.collect(), fresh, spans)?;
            match least_worst(tried.into_iter().map(|(_, trial)| trial)) {
                Some(next) if next.worst() < from.worst() - GAIN => from = next,
                _ => factor /= 2.0,
            }
            if self.meter.stopped() {
                break;
            }
        }
        let grid = on_grid(&from.weights);
        Ok((from != *start).then_some(Named { name: "step", grid }))
    }

    fn trials(
        &self,
        candidates: Vec<Named>,
        fresh: &Fresh,
        spans: u32,
    ) -> Result<Vec<(Named, Trial)>, SpecError> {
        let pieces = fresh.pieces(self, 0, spans);
        let most = fresh.most_flows / pieces.len() as u64;
        let runs = |piece: (u32, f64)| {
            let flows = fresh.flows(self, piece, most)?;
            let each = candidates
                .iter()
                .map(|named| self.run(&named.grid, &flows).found);
            Ok(each.collect::<Vec<Found>>())
        };
        let pieces: Vec<_> = pieces.into_par_iter().map(runs).collect();
        let pieces = pieces.into_iter().collect::<Result<Vec<_>, SpecError>>()?;
        let together = pieces.into_iter().reduce(|all, piece| {
            let pairs = all.into_iter().zip(piece);
            pairs.map(|(all, piece)| all.with(piece)).collect()
        });
        let pairs = candidates.into_iter().zip(together.into_iter().flatten());
        let trials = pairs.map(|(named, mut found)| {
            let trial = self.trial(&named.grid, &mut found);
            (named, trial)
        });
        Ok(trials.collect())
    }

    /// Judges at one span, then at twice as many, until that decides or there are `most`; counts its looks.
    fn until_decided(
        &self,
        grid: &[u32],
        fresh: &Fresh,
        most: u32,
        look: &mut u32,
    ) -> Result<Judged, SpecError> {
        let run = |piece, most| Ok(self.run(grid, &fresh.flows(self, piece, most)?));
        let mut seen: Seen = run((0, 1.0), fresh.most_flows)?;
        let mut spans = 1;
        loop {
            *look += 1;
            let judged = self.judge(grid, &mut seen, spent(*look));
            let decided = judged.verdict() != Verdict::Undecided;
            let over = spans >= most || seen.flows >= fresh.most_flows;
            if decided || over || seen.cut_short.is_some() || self.meter.stopped() {
                return Ok(judged);
            }
            let next = most.min(2 * spans);
            let pieces = fresh.pieces(self, spans, next);
            let each = (fresh.most_flows - seen.flows) / pieces.len() as u64;
            let more = pieces.into_par_iter().map(|piece| run(piece, each));
            let more: Vec<Result<Seen, SpecError>> = more.collect();
            for piece in more {
                seen = seen.with(piece?);
            }
            spans = next;
        }
    }

    fn flows_per_s(&self) -> f64 {
        self.candidate.classes.iter().map(|c| c.flows_per_s).sum()
    }

    fn run(&self, grid: &[u32], flows: &Flows) -> Seen {
        let weights: Vec<f64> = grid.iter().map(|&g| f64::from(g)).collect();
        let candidate = self.candidate.with_weights(&weights, self.inside);
        Seen {
            found: candidate.run(flows, self.meter),
            flows: flows.len(),
            cut_short: flows.cut_short().map(str::to_owned),
        }
    }

    fn trial(&self, grid: &[u32], found: &mut Found) -> Trial {
        Trial {
            weights: grid.iter().map(|&g| f64::from(g)).collect(),
            losses: found.losses(self.candidate.classes),
        }
    }

    fn judge(&self, grid: &[u32], seen: &mut Seen, share: f64) -> Judged {
        let classes = self.candidate.classes;
        let trial = self.trial(grid, &mut seen.found);
        let mut found = judge(classes, &seen.found.estimates(classes, share));
        if let Some(why) = &seen.cut_short {
            found.iter_mut().for_each(|class| class.leave_open(why));
        }
        Judged {
            trial,
            classes: found,
            flows: seen.flows,
        }
    }
}

/// Weights beside those of `from`: more and less by a factor of exp(`step`) for the class that binds, and for
/// the one with most to spare, as long as the device has such weights.
fn beside(from: &Trial, step: f64) -> Vec<Vec<f64>> {
    let binding = from.binding();
    // Of two classes more for one is less for the other.
    let spare = (from.weights.len() > 2)
        .then(|| from.slack())
        .filter(|&k| k != binding);
    let moves = std::iter::once(binding).chain(spare);
    let moved = moves.flat_map(|k| {
        [step, -step].map(|step| {
            let mut weights = from.weights.clone();
            weights[k] *= step.exp();
            weights
        })
    });
    moved.filter(|weights| fits_device(weights)).collect()
}

/// Flows that nobody has seen, by name: spans of `each`, several as one piece, for a piece starts with
/// an empty queue.
struct Fresh {
    name: String,
    each: Duration,
    /// All spans together have at most so many.
    most_flows: u64,
}

impl Fresh {
    /// The first span of each piece of spans `from..to`, and how many it has.
    fn pieces(&self, look: &Look, from: u32, to: u32) -> Vec<(u32, f64)> {
        let spans = f64::from(to - from);
        let flows = look.flows_per_s() * self.each.as_secs_f64() * spans;
        let pieces = ((flows / PIECE).ceil() as u32).clamp(1, to - from);
        let each = spans / f64::from(pieces);
        (0..pieces).map(|i| (from + i, each)).collect()
    }

    fn flows(
        &self,
        look: &Look,
        (first, spans): (u32, f64),
        most: u64,
    ) -> Result<Flows, SpecError> {
        let name = format!("{}, span {first}", self.name);
        let seed = Seed(look.seed).child(&name).0;
        let until = seconds(self.each.as_secs_f64() * spans);
        Flows::at_most(look.candidate.classes, seed, until, most)
    }
}

/// The one with the least worst loss.
fn best(compared: &[(Named, Trial)]) -> Result<&(Named, Trial), SpecError> {
    let least = compared
        .iter()
        .min_by(|a, b| a.1.worst().total_cmp(&b.1.worst()));
    least.ok_or_else(|| SpecError::new("classes", "leave no weights to choose from"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::spec::Spec;

    #[test]
    fn steps_go_both_ways_as_far_as_the_device_does() {
        let trial = |weights: &[f64], losses: &[f64]| Trial {
            weights: weights.to_vec(),
            losses: losses.to_vec(),
        };
        let doubled = 2f64.ln();
        // Of two classes, the one that binds; of more, the one with most to spare as well.
        let two = beside(&trial(&[1.0, 1.0], &[0.1, -0.2]), doubled);
        assert_eq!(on_grids(&two), [[2, 1], [1, 2]]);
        let three = beside(&trial(&[4.0, 4.0, 4.0], &[0.1, 0.0, -0.2]), doubled);
        let grids = [[2, 1, 1], [1, 2, 2], [1, 1, 2], [2, 2, 1]];
        assert_eq!(on_grids(&three), grids);
        let end = beside(&trial(&[100.0, 1.0], &[0.1, -0.2]), doubled);
        assert_eq!(on_grids(&end), [[50, 1]]);
    }

    fn on_grids(each: &[Vec<f64>]) -> Vec<Vec<u32>> {
        each.iter().map(|weights| on_grid(weights)).collect()
    }

    #[test]
    fn weights_are_chosen_on_the_same_flows_and_judged_on_others() {
        let class = |name: &str, slo: &str| {
            let tail = serde_json::json!({"name": "tail", "metric": "p90"});
            serde_json::json!({"name": name, "flowsizes": {"kind": "fixed", "size": "50KB"},
                "interarrivals": {"kind": "poisson"}, "load": 0.3, "slis": [tail], "slo": slo})
        };
        let value = serde_json::json!({"network": {"link": "10Gbps", "rtt": "10us"}, "queue": "wfq",
            "classes": [class("a", "tail < 9"), class("b", "tail < 2")]});
        let spec = Spec::read(value, Path::new("")).unwrap();
        let (classes, meter) = (spec.classes().unwrap(), Meter::default());
        let candidate = Candidate::of(&spec, &classes);
        let look = Look {
            candidate: &candidate,
            inside: Inside::Fifo,
            seed: spec.seed,
            meter: &meter,
        };
        let each = Duration::from_ms(20);
        let named = |name, grid: [u32; 2]| Named {
            name,
            grid: grid.to_vec(),
        };
        let candidates = vec![named("search", [60, 50]), named("equal weights", [1, 1])];
        let chosen_on = Flows::generate(&classes, spec.seed, each).unwrap();
        let before = look.at(candidates.clone(), &chosen_on).unwrap();
        assert_eq!(before.grid, [1, 1]);
        let after = look
            .afresh(candidates, &Balance::of(2), each, 40_000)
            .unwrap();
        // The second class lacks what the first has to spare.
        assert!(after.grid[1] > after.grid[0], "{after:?}");
        let (chosen, trial) = best(&after.compared).unwrap();
        assert_eq!((&chosen.grid, chosen.name), (&after.grid, "step"));
        assert_ne!(trial.losses, after.judged.trial.losses, "others judge");
        for (named, other) in &after.compared {
            assert!(trial.worst() <= other.worst(), "{named:?}");
        }
    }
}
