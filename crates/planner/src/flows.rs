//! Flows of all classes, made once per question.

use fctlab_core::units::grouped;
use fctlab_core::{Duration, SpecError, Time};
use fctlab_link::FlowList;
use rayon::prelude::*;

use crate::spec::Class;

/// Flows that a run may have at most.
pub const MOST_FLOWS: u64 = 40_000_000;

/// The longest time whose flows are simulated, in seconds; a clock of picoseconds goes little further.
pub const LONGEST_S: f64 = 1.8e7;

/// Flows of all classes over some time, made once.
#[derive(Clone, Debug)]
pub struct Flows {
    pub(crate) list: FlowList,
    pub(crate) until: Duration,
    cut_short: Option<String>,
}

impl Flows {
    /// The flows of `classes` that start before `until`.
    ///
    /// # Errors
    /// A trace or table that cannot be read; more than [`MOST_FLOWS`].
    pub fn generate(classes: &[Class], seed: u64, until: Duration) -> Result<Self, SpecError> {
        Flows::at_most(classes, seed, until, MOST_FLOWS)
    }

    /// The same, but not more than `most` drawn ones: then they are those that start first.
    ///
    /// # Errors
    /// As [`Flows::generate`].
    pub fn at_most(
        classes: &[Class],
        seed: u64,
        until: Duration,
        most: u64,
    ) -> Result<Self, SpecError> {
        let expected: f64 =
            classes.iter().map(|c| c.flows_per_s).sum::<f64>() * until.as_secs_f64();
        if !fits(expected) {
            let message = format!(
                "{} flows would be needed for the SLIs; at most {} are simulated: \
                 widen the size range of the rarest, or lower its percentile",
                grouped(expected as u64),
                grouped(MOST_FLOWS)
            );
            return Err(SpecError::new("classes", message));
        }
        let traffic: Vec<_> = classes.iter().map(|c| c.traffic.clone()).collect();
        let list = FlowList::generate(&traffic, seed, Time::ZERO + until, most.min(MOST_FLOWS))?;
        // A trace may be over long before.
        let drawn = classes.iter().all(|c| c.flows_per_s > 0.0);
        let over = list.last_start().since(Time::ZERO) + Duration::from_ps(1);
        let is_whole = drawn && list.cut_at().is_none();
        let cut_short = cut_short(classes, &list, until);
        Ok(Flows {
            list,
            until: if is_whole { until } else { over },
            cut_short,
        })
    }

    /// Why these flows say little about the specification, where their number ended them early.
    pub fn cut_short(&self) -> Option<&str> {
        self.cut_short.as_deref()
    }

    /// Whether their number ended them.
    pub fn is_cut(&self) -> bool {
        self.list.cut_at().is_some()
    }

    /// Those over as long as [`horizon`] says, as far as they are not more than `most`.
    ///
    /// # Errors
    /// As [`Flows::generate`].
    pub fn behind_slis(
        classes: &[Class],
        seed: u64,
        factor: f64,
        most: u64,
    ) -> Result<Self, SpecError> {
        let until = horizon(classes, factor)?.min(span(classes, most));
        Flows::at_most(classes, seed, until, most)
    }

    /// The same of each class by itself.
    ///
    /// # Errors
    /// As [`Flows::generate`].
    pub fn of_each(
        classes: &[Class],
        seed: u64,
        factor: f64,
        most: u64,
    ) -> Result<Vec<Self>, SpecError> {
        let own = classes.par_iter().map(|class| {
            let class = std::slice::from_ref(class);
            Flows::behind_slis(class, seed, factor, most)
        });
        let own: Vec<_> = own.collect();
        own.into_iter().collect()
    }

    /// The time over which they start.
    pub fn until(&self) -> Duration {
        self.until
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.list.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Flows that start in a smaller share of the time that so many take on average are not what the
/// specification says.
const AT_ONCE: f64 = 0.5;

/// What is wrong with a list that ended before `until` because it would be too long.
fn cut_short(classes: &[Class], list: &FlowList, until: Duration) -> Option<String> {
    let per_s: f64 = classes.iter().map(|c| c.flows_per_s).sum();
    let (cut, flows) = (list.cut_at()?.since(Time::ZERO), list.len());
    let cut_s = cut.as_secs_f64();
    let usual_s = (flows as f64 / per_s).min(until.as_secs_f64());
    if cut_s >= AT_ONCE * usual_s {
        return None;
    }
    // Whose flows are the most beyond those that it has on average.
    let beyond = |k: &usize| list.counts()[*k] as f64 - classes[*k].flows_per_s * cut_s;
    let most = (0..classes.len()).max_by(|a, b| beyond(a).total_cmp(&beyond(b)))?;
    let start = match cut {
        Duration::ZERO => "at the same moment".to_string(),
        _ => format!("within {}", cut.rounded()),
    };
    Some(format!(
        "the first {} flows, as many as may run, start {start}, where so many take {} on average: \
         the gaps of {} are too uneven for a run of so few",
        grouped(flows as u64),
        Duration::from_secs_f64(usual_s)?.rounded(),
        classes[most].name
    ))
}

/// The time over which every SLI has at least `flows` flows for each that it
/// takes at least ([`fctlab_workload::sli::SliSpec::least_flows`]).
///
/// # Errors
/// A time beyond [`LONGEST_S`].
pub fn horizon(classes: &[Class], factor: f64) -> Result<Duration, SpecError> {
    let mut longest = 1e-3_f64;
    for class in classes.iter().filter(|c| c.flows_per_s > 0.0) {
        for (sli, share) in class.slis.iter().zip(&class.shares) {
            let needed = factor * sli.least_flows() as f64;
            longest = longest.max(needed / (class.flows_per_s * share));
        }
    }
    if longest > LONGEST_S {
        let message = format!(
            "{} s would have to be simulated for the SLIs; at most {} s are: \
             widen the size range of the rarest, or lower its percentile",
            grouped(longest as u64),
            grouped(LONGEST_S as u64)
        );
        return Err(SpecError::new("classes", message));
    }
    Ok(seconds(longest))
}

/// A time of at most [`LONGEST_S`].
pub fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s.min(LONGEST_S)).unwrap_or_else(|| unreachable!("{s} s"))
}

/// Whether so many flows may be made: [`MOST_FLOWS`], or what that becomes as a time in
/// picoseconds and back.
fn fits(expected: f64) -> bool {
    expected <= MOST_FLOWS as f64 * (1.0 + 1e-6)
}

/// The time in which about `flows` flows start; of traces alone, all of them.
pub fn span(classes: &[Class], flows: u64) -> Duration {
    let per_s: f64 = classes.iter().map(|c| c.flows_per_s).sum();
    if per_s > 0.0 {
        seconds(flows as f64 / per_s)
    } else {
        seconds(LONGEST_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_flows_fit_at_every_rate() {
        for per_s in [1e3, 0.3e6, 1.7e6, 7.77e6, 9.1e9] {
            let until = Duration::from_secs_f64(MOST_FLOWS as f64 / per_s).unwrap();
            assert!(fits(per_s * until.as_secs_f64()), "{per_s}");
            assert!(!fits(per_s * until.as_secs_f64() * 1.001), "{per_s}");
        }
    }
}
