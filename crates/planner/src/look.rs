//! The last look: weights are the best for the flows that they were chosen on, so others judge them.

use fctlab_core::random::Seed;
use fctlab_core::{Duration, SpecError};
use fctlab_link::Inside;
use rayon::prelude::*;

use crate::evaluate::{Candidate, Flows, Found, MOST_FLOWS, Meter};
use crate::optimize::{BALANCED, Balance, Trial, on_grid, spread};
use crate::predict::{ClassFound, Verdict, judge};

/// Spans of flows after which the first look ends where other weights may do better, and the next one, after
/// twice as many, if it has decided nothing.
const ENOUGH: u32 = 4;
/// Looks at most, and the most spans and flows of one. Flows are made span by span and forgotten, so
/// they may be more than a run has at once.
const LOOKS: usize = 4;
const SPANS: f64 = 256.0;
pub(crate) const MOST_SEEN: u64 = 4 * MOST_FLOWS;

/// Integer weights on some flows.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub trial: Trial,
    pub classes: Vec<ClassFound>,
}

impl Judged {
    /// For all classes together.
    pub fn verdict(&self) -> Verdict {
        let of = |v: Verdict| self.classes.iter().any(|c| c.verdict == Some(v));
        match (of(Verdict::Violated), of(Verdict::Undecided)) {
            (true, _) => Verdict::Violated,
            (_, true) => Verdict::Undecided,
            _ => Verdict::Met,
        }
    }

    /// Whether no weights do: the class that misses its SLO lacks more than others can spare.
    pub fn is_hopeless(&self) -> bool {
        self.verdict() == Verdict::Violated && self.trial.losses.iter().sum::<f64>() >= 0.0
    }

    /// Whether no class has to spare what others lack.
    pub fn is_balanced(&self) -> bool {
        spread(&self.trial.losses) < BALANCED
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
    /// Judges `grid` on `flows`.
    pub fn at(&self, grid: &[u32], flows: &Flows) -> Judged {
        self.judge(grid, &mut self.run(grid, flows))
    }

    /// Judges `grid` on flows that nobody has seen, in spans of `each`, and changes it by what a look says of
    /// the balance, until a look decides. `most` bounds the spans of one look.
    ///
    /// # Errors
    /// Flows that cannot be made.
    pub fn afresh(
        &self,
        mut grid: Vec<u32>,
        balance: &Balance,
        each: Duration,
        most: f64,
    ) -> Result<(Vec<u32>, Judged), SpecError> {
        let most = most.clamp(1.0, SPANS) as u32;
        let mut number = 1;
        loop {
            let judged = self.number(number, &grid, each, most)?;
            let met = judged.verdict() == Verdict::Met && number > 1;
            let ends = met || judged.is_balanced() || number == LOOKS;
            let next = on_grid(&balance.step(&judged.trial, 1.0));
            let stays = next == grid && judged.verdict() != Verdict::Undecided;
            if ends || stays || self.meter.stopped() {
                return Ok((grid, judged));
            }
            grid = next;
            number += 1;
        }
    }

    /// Judges `grid` on flows that nobody has seen, as it is.
    ///
    /// # Errors
    /// Flows that cannot be made.
    pub fn last(
        &self,
        grid: Vec<u32>,
        each: Duration,
        most: f64,
    ) -> Result<(Vec<u32>, Judged), SpecError> {
        let judged = self.number(LOOKS, &grid, each, most.clamp(1.0, SPANS) as u32)?;
        Ok((grid, judged))
    }

    /// A look: at one span, then at twice as many, until that decides. Where classes have something to spare
    /// for others, the first look is for seeing that, and only the last one goes on until it decides.
    fn number(
        &self,
        number: usize,
        grid: &[u32],
        each: Duration,
        most: u32,
    ) -> Result<Judged, SpecError> {
        let run = |span: u32| {
            let name = format!("look {number}, span {span}");
            let seed = Seed(self.seed).child(&name).0;
            let flows = Flows::generate(self.candidate.classes, seed, each)?;
            Ok(self.run(grid, &flows))
        };
        let mut found = run(0)?;
        let mut spans = 1;
        loop {
            let judged = self.judge(grid, &mut found);
            let decided = judged.verdict() != Verdict::Undecided;
            let enough = spans >= ENOUGH << (number - 1);
            let ends = match judged.is_balanced() {
                true => decided,
                false if number == 1 => enough,
                false => decided || (enough && number < LOOKS),
            };
            if ends || spans >= most || self.meter.stopped() {
                return Ok(judged);
            }
            let more = spans..most.min(2 * spans);
            spans = more.end;
            let more: Vec<_> = more.into_par_iter().map(run).collect();
            for span in more {
                found = found.with(span?);
            }
        }
    }

    fn run(&self, grid: &[u32], flows: &Flows) -> Found {
        let weights: Vec<f64> = grid.iter().map(|&g| f64::from(g)).collect();
        let candidate = self.candidate.with_weights(&weights, self.inside);
        candidate.run(flows, self.meter)
    }

    fn judge(&self, grid: &[u32], found: &mut Found) -> Judged {
        let classes = self.candidate.classes;
        let trial = Trial {
            weights: grid.iter().map(|&g| f64::from(g)).collect(),
            losses: found.losses(classes),
        };
        let classes = judge(classes, &found.estimates(classes));
        Judged { trial, classes }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::spec::Spec;

    #[test]
    fn others_judge_and_say_what_is_off_balance() {
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
        let chosen_on = Flows::generate(&classes, spec.seed, each).unwrap();
        let before = look.at(&[50, 50], &chosen_on);
        let first = look.number(1, &[50, 50], each, 1).unwrap();
        assert_ne!(first.trial.losses, before.trial.losses);
        assert_eq!(look.at(&[50, 50], &chosen_on).trial, before.trial);
        // The second class lacks what the first has to spare.
        let (grid, after) = look
            .afresh(vec![50, 50], &Balance::of(2), each, 8.0)
            .unwrap();
        assert!(grid[1] > grid[0], "{grid:?}");
        assert!(after.trial.worst() < first.trial.worst(), "{after:?}");
        let flows = after.classes[0].slis[0].flows;
        assert!(
            flows > first.classes[0].slis[0].flows,
            "spans add up: {flows}"
        );
    }
}
