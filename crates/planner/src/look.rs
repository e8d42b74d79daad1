//! The last look: weights are the best for the flows that they were chosen on, so others judge them.

use fctlab_core::random::Seed;
use fctlab_core::{Duration, SpecError};
use fctlab_link::Inside;

use crate::evaluate::{Candidate, Flows, Found, Meter};
use crate::optimize::{BALANCED, Trial, spread};
use crate::predict::{ClassFound, Verdict, judge};

/// Spans of flows after which the first look ends where other weights may do better, and the next one, after
/// twice as many, if it has decided nothing.
const ENOUGH: u32 = 4;

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

    /// Judges `grid` on flows that nobody has seen, in spans of `each`: one, then twice as many, until that
    /// decides, but at most `most` of them. Where classes have something to spare for others, the first
    /// look is for seeing that, and only the `last` one goes on until it decides.
    ///
    /// # Errors
    /// Flows that cannot be made.
    pub fn afresh(
        &self,
        grid: &[u32],
        number: usize,
        (each, most): (Duration, u32),
        last: bool,
    ) -> Result<Judged, SpecError> {
        let draw = |span: u32| {
            let name = format!("look {number}, span {span}");
            let seed = Seed(self.seed).child(&name).0;
            Flows::generate(self.candidate.classes, seed, each)
        };
        let mut found = self.run(grid, &draw(0)?);
        let mut spans = 1;
        loop {
            let judged = self.judge(grid, &mut found);
            let decided = judged.verdict() != Verdict::Undecided;
            let enough = spans >= ENOUGH << (number - 1);
            let ends = match judged.is_balanced() {
                true => decided,
                false if number == 1 => enough,
                false => decided || (enough && !last),
            };
            if ends || spans >= most || self.meter.stopped() {
                return Ok(judged);
            }
            for _ in 0..spans.min(most - spans) {
                found = found.with(self.run(grid, &draw(spans)?));
                spans += 1;
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
