//! `predict`: every SLI with its interval, every SLO met, violated or undecided.

use fctlab_core::SpecError;
use serde::Serialize;

use crate::evaluate::{Candidate, Flows, LONGEST_S, MOST_FLOWS, Meter, horizon, seconds};
use crate::sli::Estimate;
use crate::spec::Class;

/// An interval may be so wide, to either side and as a share of the value, in a verdict.
pub const TIGHT: f64 = 0.10;
/// Flows behind an SLI in the first run, in multiples of the least that it takes.
const FIRST: f64 = 2.0;

/// How many times as long a run may get as intervals take, for the sake of a verdict.
pub const DECIDE: f64 = 16.0;

/// What became of an SLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds for all values inside the 99% intervals.
    Met,
    /// It holds for none.
    Violated,
    /// Neither, or an interval is too wide or rests on too few flows.
    Undecided,
}

/// An SLI as predicted.
#[derive(Clone, Debug, Serialize)]
pub struct SliFound {
    /// Its name.
    pub name: String,
    /// What is measured: slowdown, fct (seconds), throughput (bits per second).
    pub attr: crate::sli::Attr,
    /// The value.
    pub value: f64,
    /// Its 95% interval; the upper end is null where flows are too few.
    pub ci95: [Option<f64>; 2],
    /// Its 99% interval, which verdicts are about ([`Estimate::ci99`]).
    pub ci99: [Option<f64>; 2],
    /// Flows behind it.
    pub flows: u64,
    /// Flows that it takes at least.
    pub flows_needed: u64,
    /// Whether flows and interval are good enough for a verdict.
    pub tight: bool,
}

/// A class as predicted.
#[derive(Clone, Debug, Serialize)]
pub struct ClassFound {
    /// Its name.
    pub name: String,
    /// What became of its SLO; nothing without one.
    pub verdict: Option<Verdict>,
    /// Why.
    pub why: String,
    /// Equation 1: negative when met. Nothing without an SLO.
    pub loss: Option<f64>,
    /// Its SLIs.
    pub slis: Vec<SliFound>,
}

/// How long to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Until every interval is tight, with at most so many flows at once, and then up to [`DECIDE`] times
    /// longer while a threshold lies inside an interval.
    UntilDecided(u64),
    /// So many flows, once.
    Exactly(u64),
}

/// The time whose flows are simulated first, in seconds: not more than `most` flows, but of traces alone
/// all of them.
///
/// # Errors
/// As [`horizon`].
pub fn first_span_s(classes: &[Class], most: f64) -> Result<f64, SpecError> {
    let per_s: f64 = classes.iter().map(|c| c.flows_per_s).sum();
    Ok(match per_s > 0.0 {
        true => horizon(classes, FIRST)?.as_secs_f64().min(most / per_s),
        false => LONGEST_S,
    })
}

/// Predicts, with as many flows as `length` says.
///
/// # Errors
/// Flows that cannot be made.
pub fn predict(
    candidate: &Candidate,
    seed: u64,
    length: Length,
    meter: &Meter,
) -> Result<(Vec<ClassFound>, Flows), SpecError> {
    let classes = candidate.classes;
    let (Length::UntilDecided(most) | Length::Exactly(most)) = length;
    let most = most.min(MOST_FLOWS) as f64;
    let per_s: f64 = classes.iter().map(|c| c.flows_per_s).sum();
    let mut until = match length {
        Length::Exactly(_) if per_s > 0.0 => most / per_s,
        _ => first_span_s(classes, most)?,
    };
    let mut tight_at = None;
    loop {
        let flows = Flows::at_most(classes, seed, seconds(until), most as u64)?;
        let estimates = candidate.run(&flows, meter).estimates(classes);
        let mut found = judge(classes, &estimates);
        if let Some(why) = flows.cut_short() {
            found.iter_mut().for_each(|class| class.leave_open(why));
        }
        let slis = found.iter().flat_map(|c| &c.slis);
        let widest = slis
            .filter(|s| !s.tight)
            .map(|s| s.half_width().max(TIGHT * 1.2))
            .fold(0.0, f64::max);
        if meter.stopped() || flows.is_cut() || per_s == 0.0 || until >= 0.999 * most / per_s {
            return Ok((found, flows));
        }
        if widest > 0.0 {
            // The width falls with the root of the length.
            let longer = (widest / TIGHT).powi(2) * 1.2;
            until *= longer.clamp(1.5, 6.0);
        } else {
            let open = |c: &ClassFound| c.verdict == Some(Verdict::Undecided);
            let first = *tight_at.get_or_insert(until);
            if !(until < DECIDE * first && found.iter().any(open)) {
                return Ok((found, flows));
            }
            until *= 2.0;
        }
        until = until.min(most / per_s);
    }
}

impl SliFound {
    fn half_width(&self) -> f64 {
        match self.ci95 {
            [Some(low), Some(high)] if self.value > 0.0 => {
                (high - self.value).max(self.value - low) / self.value
            }
            _ => f64::INFINITY,
        }
    }
}

impl ClassFound {
    /// Whatever the flows say, `why` they do not decide.
    fn leave_open(&mut self, why: &str) {
        if self.verdict.is_some() {
            self.verdict = Some(Verdict::Undecided);
        }
        self.why = why.to_owned();
    }
}

/// Verdicts from estimates.
pub fn judge(classes: &[Class], estimates: &[Vec<Estimate>]) -> Vec<ClassFound> {
    let each = classes.iter().zip(estimates);
    each.map(|(class, estimates)| judge_class(class, estimates))
        .collect()
}

fn judge_class(class: &Class, estimates: &[Estimate]) -> ClassFound {
    let pairs = class.slis.iter().zip(estimates);
    let slis: Vec<SliFound> = pairs
        .map(|(sli, e)| {
            let finite = |x: f64| x.is_finite().then_some(x);
            let ends = |(low, high)| [finite(low), finite(high)];
            let mut found = SliFound {
                name: sli.name.clone(),
                attr: sli.attr,
                value: e.value,
                ci95: ends(e.ci95),
                ci99: ends(e.ci99),
                flows: e.flows,
                flows_needed: sli.least_flows(),
                tight: false,
            };
            found.tight = e.flows >= sli.least_flows() && found.half_width() <= TIGHT;
            found
        })
        .collect();
    let Some(slo) = &class.slo else {
        return ClassFound {
            name: class.name.clone(),
            verdict: None,
            why: "no SLO".into(),
            loss: None,
            slis,
        };
    };
    let value = |e: &Estimate| match e.flows {
        0 => f64::INFINITY,
        _ => e.value,
    };
    let values: Vec<f64> = estimates.iter().map(value).collect();
    let intervals: Vec<(f64, f64)> = estimates.iter().map(|e| e.ci99).collect();
    let named = slo.slis();
    let loose = named.iter().map(|&i| &slis[i]).find(|s| !s.tight);
    let decided = slo.decide(&intervals);
    let decisive = &slis[slo.decisive(&values)];
    let shown = |s: &SliFound| {
        let end = |x: Option<f64>| x.map_or("inf".into(), |x| format!("{x:.4}"));
        format!(
            "{} is {:.4} [{}, {}] at 99%",
            s.name,
            s.value,
            end(s.ci99[0]),
            end(s.ci99[1])
        )
    };
    let (verdict, why) = match (decided, loose) {
        (_, Some(s)) if s.flows < s.flows_needed => {
            let why = format!(
                "{} rests on {} flow{}; it takes {}",
                s.name,
                s.flows,
                if s.flows == 1 { "" } else { "s" },
                s.flows_needed
            );
            (Verdict::Undecided, why)
        }
        (_, Some(s)) => {
            let times = (s.half_width() / TIGHT).powi(2);
            let why = match times.is_finite() {
                true => format!(
                    "{} is known to {:.0}% only; {:.1} times as many flows would do",
                    s.name,
                    s.half_width() * 100.0,
                    times.max(1.1)
                ),
                false => format!("{} has too few flows for an interval", s.name),
            };
            (Verdict::Undecided, why)
        }
        (Some(true), _) => (Verdict::Met, shown(decisive)),
        (Some(false), _) => (Verdict::Violated, shown(decisive)),
        (None, _) => {
            let why = format!(
                "the threshold lies inside the interval: {}",
                shown(decisive)
            );
            (Verdict::Undecided, why)
        }
    };
    ClassFound {
        name: class.name.clone(),
        verdict: Some(verdict),
        why,
        loss: Some(slo.loss(&values)).filter(|l| l.is_finite()),
        slis,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::spec::Spec;

    #[test]
    fn verdicts_are_about_the_wider_interval() {
        let class = serde_json::json!({"name": "a", "flowsizes": {"kind": "fixed", "size": "50KB"},
            "interarrivals": {"kind": "poisson"}, "load": 0.3, "slo": "tail < 4",
            "slis": [{"name": "tail", "metric": "p90"}]});
        let value = serde_json::json!({"network": {"link": "10Gbps", "rtt": "10us"}, "queue": "fifo",
            "classes": [class]});
        let classes = Spec::read(value, Path::new("")).unwrap().classes().unwrap();
        let verdict = |value: f64, ci95, ci99| {
            let flows = 1000;
            let estimate = Estimate {
                value,
                ci95,
                ci99,
                flows,
            };
            let found = judge(&classes, &[vec![estimate]]);
            (found[0].verdict, found[0].why.clone())
        };
        let near = verdict(3.8, (3.65, 3.95), (3.6, 4.05));
        assert_eq!(near.0, Some(Verdict::Undecided));
        assert_eq!(
            near.1,
            "the threshold lies inside the interval: tail is 3.8000 [3.6000, 4.0500] at 99%"
        );
        assert_eq!(verdict(3.7, (3.6, 3.8), (3.5, 3.9)).0, Some(Verdict::Met));
        assert_eq!(
            verdict(4.3, (4.2, 4.4), (4.1, 4.5)).0,
            Some(Verdict::Violated)
        );
        // Known to 11%: the wider interval does not matter.
        assert_eq!(
            verdict(2.0, (1.8, 2.22), (1.7, 2.3)).0,
            Some(Verdict::Undecided)
        );
    }
}
