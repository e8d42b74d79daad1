//! Why a verdict is what it is: which SLI it hangs on, and what would decide.

use fctlab_workload::slo::{Slo, Target};

/// Beyond as many times as many flows nobody is told a number.
const MOST_TIMES: f64 = 1e4;

/// What is known of an SLI.
pub(crate) struct Known<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Where it lies.
    pub(crate) interval: (f64, f64),
    /// What is left of that with ever more flows, if the value stays: what the engine may be off by.
    pub(crate) left: (f64, f64),
}

impl Known<'_> {
    /// The interval with so many times as many flows, if the value stays.
    fn after(&self, times: f64) -> (f64, f64) {
        let ((low, high), (least, most)) = (self.interval, self.left);
        let root = times.sqrt();
        (least - (least - low) / root, most + (high - most) / root)
    }

    /// How many times as many flows take the interval away from `target`; at most 1 where it is not inside,
    /// infinite where none do.
    fn times(&self, target: Target) -> f64 {
        let ((low, high), (least, most), at) = (self.interval, self.left, target.threshold());
        let share = if at > most {
            (high - most) / (at - most)
        } else if at < least {
            (least - low) / (least - at)
        } else {
            f64::INFINITY
        };
        share.powi(2)
    }
}

/// The SLI that a verdict hangs on: were nothing known of it, the SLO would be open. `first` is asked first.
pub(crate) fn decisive<'a>(slo: &Slo, known: &'a [Known<'_>], first: usize) -> &'a str {
    let open_without = |asked: &usize| {
        let intervals = known.iter().enumerate();
        let intervals = intervals.map(|(i, each)| {
            if i == *asked {
                (0.0, f64::INFINITY)
            } else {
                each.interval
            }
        });
        slo.decide(&intervals.collect::<Vec<_>>()).is_none()
    };
    let mut each = std::iter::once(first).chain(slo.targets().into_iter().map(|(sli, _)| sli));
    known[each.find(open_without).unwrap_or(first)].name
}

/// Why an SLO is open, and what would decide it.
pub(crate) fn open(slo: &Slo, known: &[Known<'_>]) -> String {
    let each = slo.targets().into_iter();
    let each = each.map(|(sli, target)| (known[sli].times(target), &known[sli]));
    let mut inside: Vec<_> = each.filter(|(times, _)| *times >= 1.0).collect();
    inside.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let decides = |times: f64| {
        let then: Vec<_> = known.iter().map(|k| k.after(1.001 * times)).collect();
        times < MOST_TIMES && slo.decide(&then).is_some()
    };
    if let Some((times, sli)) = inside.iter().find(|(times, _)| decides(*times)) {
        return format!(
            "the threshold lies inside the interval of {}; {:.1} times as many flows would decide if the value stays",
            sli.name,
            times.max(1.1)
        );
    }
    match inside.last() {
        Some((times, sli)) if times.is_infinite() && sli.left.0 < sli.left.1 => format!(
            "the threshold of {} lies within what the engine may be off by, however many flows there are: verify \
             on packets (--verify)",
            sli.name
        ),
        Some((_, sli)) => format!(
            "the threshold lies inside the interval of {}; many more flows would decide",
            sli.name
        ),
        None => "no interval holds a threshold alone".into(),
    }
}

#[cfg(test)]
mod tests {
    use fctlab_workload::sli::SliSpec;

    use super::*;

    fn known(name: &str, interval: (f64, f64), value: f64) -> Known<'_> {
        Known {
            name,
            interval,
            left: (value, value),
        }
    }

    fn slo(text: &str) -> Slo {
        let slis = serde_json::json!([{"name": "small", "metric": "p99"}, {"name": "all", "metric": "mean"}]);
        let slis: Vec<SliSpec> = serde_json::from_value(slis).unwrap();
        Slo::parse(text, &slis).unwrap()
    }

    #[test]
    fn what_is_told_open_is_what_is_open() {
        // The mean is nearer to its threshold, and known.
        let each = [
            known("small", (5.3, 10.1), 6.4),
            known("all", (2.2, 3.1), 2.6),
        ];
        let why = open(&slo("small < 9 and all < 3.5"), &each);
        assert!(
            why.contains("inside the interval of small; 2.0 times"),
            "{why}"
        );
        // Both have to be decided to be met, and it takes the longer of the two.
        let why = open(&slo("small < 7 and all < 3"), &each);
        assert!(
            why.contains("inside the interval of small; 38.0 times"),
            "{why}"
        );
        // One of them is enough.
        let why = open(&slo("small < 7 or all < 3"), &each);
        assert!(
            why.contains("inside the interval of all; 1.6 times"),
            "{why}"
        );
    }

    #[test]
    fn a_threshold_at_the_end_of_an_interval_is_inside() {
        let each = [
            known("small", (5.3, 9.0), 6.4),
            known("all", (2.2, 3.1), 2.6),
        ];
        let why = open(&slo("small < 9 and all < 3.5"), &each);
        assert!(
            why.contains("inside the interval of small; 1.1 times"),
            "{why}"
        );
    }

    #[test]
    fn no_flows_take_away_what_an_engine_is_off_by() {
        let off = |left| {
            let each = [
                Known {
                    left,
                    ..known("small", (5.0, 11.0), 6.4)
                },
                known("all", (2.2, 3.1), 2.6),
            ];
            open(&slo("small < 9 and all < 3.5"), &each)
        };
        assert!(off((6.0, 7.0)).contains("4.0 times as many flows"));
        assert!(off((5.5, 9.1)).contains("of small lies within what the engine may be off by"));
    }

    #[test]
    fn a_verdict_hangs_on_what_would_open_it() {
        // The mean is further beyond its threshold; the tail alone is surely beyond.
        let each = [
            known("small", (9.5, 9.9), 9.7),
            known("all", (3.0, 9.0), 5.0),
        ];
        assert_eq!(decisive(&slo("small < 9 and all < 3.5"), &each, 1), "small");
        let each = [
            known("small", (5.3, 8.1), 6.4),
            known("all", (2.2, 3.1), 2.6),
        ];
        assert_eq!(decisive(&slo("small < 9 and all < 3.5"), &each, 1), "all");
    }
}
