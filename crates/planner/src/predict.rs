//! `predict`: every SLI with its interval, every SLO met, violated or undecided.

use fctlab_core::SpecError;
use serde::Serialize;

use crate::evaluate::{Candidate, Meter};
use crate::flows::{Flows, LONGEST_S, MOST_FLOWS, horizon, seconds};
use crate::reasons::{self, Known};
use crate::spec::Class;
use fctlab_workload::sli::{COUNT_KNOWN, Estimate, ONCE, SliSpec, spent};
use fctlab_workload::slo::{Slo, Target};

/// `predict` goes on until 95% intervals are as narrow, to either side and as a share of the value. Verdicts
/// do not ask for it.
pub const TIGHT: f64 = 0.10;
/// Flows behind an SLI in the first run, in multiples of the least that it takes.
const FIRST: f64 = 2.0;

/// How many times as long a run may get as intervals take, for the sake of a verdict.
pub const DECIDE: f64 = 16.0;

/// An engine that is off by nothing.
const EXACT: (f64, f64) = (1.0, 1.0);

/// What became of an SLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds for all values inside the 99% intervals.
    Met,
    /// It holds for none.
    Violated,
    /// Neither, or too few flows stand behind an interval.
    Undecided,
}

/// An SLI as predicted.
#[derive(Clone, Debug, Serialize)]
pub struct SliFound {
    /// Its name.
    pub name: String,
    /// What is measured: slowdown, fct (seconds), throughput (bits per second).
    pub attr: fctlab_workload::sli::Attr,
    /// The value.
    pub value: f64,
    /// Its 95% interval; from 0 to null (no end) where flows are too few.
    pub ci95: [Option<f64>; 2],
    /// Its 99% interval, which verdicts are about ([`Estimate::ci99`]).
    pub ci99: [Option<f64>; 2],
    /// Flows behind it.
    pub flows: u64,
    /// Flows that it takes at least.
    pub flows_needed: u64,
    /// Standard error of the number of flows in so long a time, as a share of it; up to 5% in a
    /// verdict ([`COUNT_KNOWN`]). Null without flows.
    pub count_error: Option<f64>,
    /// The same of the bytes that all classes bring: few large flows may bring most of them.
    pub work_error: f64,
    /// Whether enough flows stand behind it for a verdict.
    pub enough: bool,
    /// Whether the 95% interval is narrow ([`TIGHT`]) as well.
    pub tight: bool,
    /// What the SLO compares it with; most often one, none where the SLO does not name it.
    pub targets: Vec<Target>,
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
    Ok(if per_s > 0.0 {
        horizon(classes, FIRST)?.as_secs_f64().min(most / per_s)
    } else {
        LONGEST_S
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
    for look in 1.. {
        let flows = Flows::at_most(classes, seed, seconds(until), most as u64)?;
        let share = match length {
            Length::Exactly(_) => ONCE,
            Length::UntilDecided(_) if per_s == 0.0 => ONCE,
            Length::UntilDecided(_) => spent(look),
        };
        let estimates = candidate.run(&flows, meter).estimates(classes, share);
        let mut found = judge(classes, &estimates);
        if let Some(why) = flows.cut_short() {
            found.iter_mut().for_each(|class| class.leave_open(why));
        }
        let slis = found.iter().flat_map(|c| &c.slis);
        let longer = slis.map(SliFound::longer).fold(0.0, f64::max);
        if meter.stopped() || flows.is_cut() || per_s == 0.0 || until >= 0.999 * most / per_s {
            return Ok((found, flows));
        }
        if longer > 0.0 {
            until *= longer.clamp(2.0, 8.0); // fewer looks, wider intervals
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
    unreachable!("a look ends it")
}

impl SliFound {
    /// How many times as long a run takes until it is tight; 0 where it is.
    fn longer(&self) -> f64 {
        if self.tight {
            return 0.0;
        }
        // Errors fall with the root of the length.
        let count_error = self.count_error.unwrap_or(f64::INFINITY);
        let count_error = count_error.max(self.work_error);
        1.2 * if self.enough {
            (self.half_width() / TIGHT).powi(2)
        } else {
            let more = (count_error / COUNT_KNOWN).powi(2);
            more.max(self.flows_needed as f64 / self.flows as f64)
        }
    }

    /// Its 99% interval.
    fn known(&self) -> (f64, f64) {
        let [low, high] = self.ci99;
        (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY))
    }

    /// Why too few flows stand behind it.
    fn too_few(&self) -> String {
        let SliFound {
            name,
            flows,
            flows_needed,
            ..
        } = self;
        let plural = if *flows == 1 { "" } else { "s" };
        match self.count_error {
            _ if flows >= flows_needed && self.work_error > COUNT_KNOWN => format!(
                "{name} rests on {flows} flows, and few large ones bring most bytes: how many bytes start in so \
                 long a time is known to {:.0}%; it takes {:.0}%, some {:.1} times as many flows",
                self.work_error * 100.0,
                COUNT_KNOWN * 100.0,
                (self.work_error / COUNT_KNOWN).powi(2).max(1.1)
            ),
            Some(error) if flows >= flows_needed => format!(
                "{name} rests on {flows} flows in bursts, how many of them start in so long a time is \
                 known to {:.0}%; it takes {:.0}%, some {:.1} times as many flows",
                error * 100.0,
                COUNT_KNOWN * 100.0,
                (error / COUNT_KNOWN).powi(2).max(1.1)
            ),
            _ => format!("{name} rests on {flows} flow{plural}; it takes {flows_needed}"),
        }
    }

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
    pub(crate) fn leave_open(&mut self, why: &str) {
        if self.verdict.is_some() {
            self.verdict = Some(Verdict::Undecided);
        }
        self.why = why.to_owned();
    }
}

/// Verdicts from estimates.
pub fn judge(classes: &[Class], estimates: &[Vec<Estimate>]) -> Vec<ClassFound> {
    let each = classes.iter().zip(estimates);
    each.map(|(class, estimates)| {
        let errors = vec![EXACT; estimates.len()];
        judge_class(
            &class.name,
            &class.slis,
            class.slo.as_ref(),
            estimates,
            &errors,
        )
    })
    .collect()
}

/// The verdict on a class from estimates of its SLIs. Their intervals hold already what the engine may be off by,
/// which is `errors`: its value over the true one, at least and at most.
pub(crate) fn judge_class(
    name: &str,
    slis: &[SliSpec],
    slo: Option<&Slo>,
    estimates: &[Estimate],
    errors: &[(f64, f64)],
) -> ClassFound {
    let compared = slo.map_or_else(Vec::new, Slo::targets);
    let of = |i: usize| {
        let named = compared.iter().filter(|(sli, _)| *sli == i);
        named.map(|(_, target)| *target).collect()
    };
    let pairs = slis.iter().zip(estimates).enumerate();
    let slis: Vec<SliFound> = pairs
        .map(|(i, (sli, e))| {
            let finite = |x: f64| x.is_finite().then_some(x);
            let enough =
                e.flows >= sli.least_flows() && e.count_error.max(e.work_error) <= COUNT_KNOWN;
            let ends = |(low, high)| {
                if enough {
                    [finite(low), finite(high)]
                } else {
                    [Some(0.0), None]
                }
            };
            let mut found = SliFound {
                name: sli.name.clone(),
                attr: sli.attr,
                value: e.value,
                ci95: ends(e.ci95),
                ci99: ends(e.ci99),
                flows: e.flows,
                flows_needed: sli.least_flows(),
                count_error: finite(e.count_error),
                work_error: e.work_error,
                enough,
                tight: false,
                targets: of(i),
            };
            found.tight = found.enough && found.half_width() <= TIGHT;
            found
        })
        .collect();
    let Some(slo) = slo else {
        return ClassFound {
            name: name.to_owned(),
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
    let intervals: Vec<(f64, f64)> = slis.iter().map(SliFound::known).collect();
    let each = slis.iter().zip(errors);
    let each = each.map(|(sli, (low, high))| Known {
        name: &sli.name,
        interval: sli.known(),
        left: (sli.value / high, sli.value / low),
    });
    let known: Vec<Known<'_>> = each.collect();
    let decides = || {
        let first = slo.decisive(&values).0;
        format!("{} decides", reasons::decisive(slo, &known, first))
    };
    let mut named = compared.iter().map(|&(i, _)| &slis[i]);
    let (verdict, why) = match (slo.decide(&intervals), named.find(|s| !s.enough)) {
        (Some(true), _) => (Verdict::Met, decides()),
        (Some(false), _) => (Verdict::Violated, decides()),
        (None, Some(few)) => (Verdict::Undecided, few.too_few()),
        (None, None) => (Verdict::Undecided, reasons::open(slo, &known)),
    };
    ClassFound {
        name: name.to_owned(),
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
    fn verdicts_are_about_where_the_interval_lies() {
        let class = serde_json::json!({"name": "a", "flowsizes": {"kind": "fixed", "size": "50KB"},
            "interarrivals": {"kind": "poisson"}, "load": 0.3, "slo": "tail < 4",
            "slis": [{"name": "tail", "metric": "p90"}]});
        let value = serde_json::json!({"network": {"link": "10Gbps", "rtt": "10us"}, "queue": "fifo",
            "classes": [class]});
        let classes = Spec::read(value, Path::new("")).unwrap().classes().unwrap();
        let verdict = |value: f64, (low, high): (f64, f64), flows: u64, count_error: f64| {
            let ci99 = (low, high);
            let ci95 = (0.8 * low + 0.2 * value, 0.8 * high + 0.2 * value);
            let estimate = Estimate {
                value,
                ci95,
                ci99,
                flows,
                count_error,
                work_error: 0.01,
            };
            let found = judge(&classes, &[vec![estimate]]).remove(0);
            assert_eq!(found.slis[0].targets, [Target::Below(4.0)]);
            (found.verdict.unwrap(), found.why)
        };
        let near = verdict(3.8, (3.6, 4.05), 1000, 0.03);
        assert_eq!(near.0, Verdict::Undecided);
        assert_eq!(
            near.1,
            "the threshold lies inside the interval of tail; \
             1.6 times as many flows would decide if the value stays"
        );
        assert_eq!(verdict(3.7, (3.5, 3.9), 1000, 0.03).0, Verdict::Met);
        // However wide.
        assert_eq!(verdict(2.0, (1.0, 3.9), 1000, 0.03).0, Verdict::Met);
        assert_eq!(verdict(15.7, (4.1, 17.6), 1000, 0.03).0, Verdict::Violated);
        // However narrow, but of too few flows, or of too few bursts.
        let few = verdict(1.0, (1.0, 1.0), 999, 0.03);
        let why = "tail rests on 999 flows; it takes 1000";
        assert_eq!(few, (Verdict::Undecided, why.into()));
        let bursts = verdict(1.0, (1.0, 1.0), 2000, 0.1);
        let why = "tail rests on 2000 flows in bursts, how many of them start in so long a time is known \
                   to 10%; it takes 5%, some 4.0 times as many flows";
        assert_eq!(bursts, (Verdict::Undecided, why.into()));
        // However many, if few of them bring most bytes.
        let heavy = Estimate {
            value: 1.0,
            ci95: (1.0, 1.0),
            ci99: (1.0, 1.0),
            flows: 2000,
            count_error: 0.03,
            work_error: 0.1,
        };
        let found = judge(&classes, &[vec![heavy]]).remove(0);
        assert_eq!(found.verdict, Some(Verdict::Undecided));
        assert_eq!(
            found.why,
            "tail rests on 2000 flows, and few large ones bring most bytes: how many bytes start in so long a \
             time is known to 10%; it takes 5%, some 4.0 times as many flows"
        );
    }
}
