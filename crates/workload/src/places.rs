//! Where arrivals happen: one process for a whole class, or one of its own at each place.
//!
//! Poisson processes add up to a Poisson process, so for them it is all the same. Bursts are not:
//! those of one process for a class are spread over all its hosts, and what a single link sees of
//! them is nearly Poisson, the more so the more hosts there are (Palm and Khintchine).
//!
//! Each process of its own starts in equilibrium: its first gap is a part, uniformly drawn, of a gap
//! that is drawn in proportion to its length, as an observer finds it who comes at any time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fctlab_core::units::grouped;
use fctlab_core::{Duration, SpecError, Time};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::arrivals::Arrivals;
use crate::patterns::Pattern;
use crate::{ArrivalsSpec, HostLayout};

/// What has an arrival process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// Each host that sends; of queries, each host that asks.
    Source,
    /// Each pair of sender and receiver.
    Pair,
    /// The class: its arrivals are spread over its pairs one by one.
    Class,
}

impl Per {
    /// That of a class which names none: the class where all flows meet at one receiver, whose link
    /// then sees the process as it is; else each source. Of Poisson arrivals all are the same.
    pub(crate) fn default_of(arrivals: &ArrivalsSpec, layout: &HostLayout) -> Option<Self> {
        match (arrivals, layout.sink) {
            (ArrivalsSpec::Poisson(_), _) => None,
            (_, Some(_)) => Some(Per::Class),
            (_, None) => Some(Per::Source),
        }
    }
}

/// Pairs that may have processes of their own; each takes some 30 bytes.
const MOST_PAIRS: usize = 1 << 22;

/// Where something arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Anywhere, as the pattern says.
    Anywhere,
    /// At this source, or host that asks.
    Host(u32),
    /// From the first to the second.
    Pair(u32, u32),
}

/// The processes of a class.
#[derive(Debug)]
pub(crate) struct Clock {
    arrivals: Arrivals,
    /// Each place, and the mean of its gaps in seconds.
    places: Vec<(Place, f64)>,
    /// The next arrival at each; empty where the class has one process.
    next: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Clock {
    /// A process at each place of `pattern` from `start` on; the gaps of all together are `mean_s`
    /// seconds on average.
    ///
    /// # Errors
    /// More pairs than there can be processes, or queries, which have no pairs.
    pub(crate) fn new(
        per: Option<Per>,
        pattern: &Pattern,
        hosts: u32,
        arrivals: &ArrivalsSpec,
        mean_s: f64,
        start: Time,
        rng: &mut Pcg64,
    ) -> Result<Self, SpecError> {
        let arrivals = arrivals.build();
        let shares = match per {
            None | Some(Per::Class) => vec![(Place::Anywhere, 1.0)],
            Some(Per::Source) => hosts_of(pattern, hosts),
            Some(Per::Pair) => pairs_of(pattern, hosts).map_err(|e| SpecError::new("per", e))?,
        };
        let mean = |(place, share): (Place, f64)| (place, mean_s / share);
        let places: Vec<_> = shares.into_iter().map(mean).collect();
        // One process starts as if something had just arrived.
        let one = matches!(places[..], [(Place::Anywhere, _)]);
        let first = |(number, (_, mean)): (u32, &(Place, f64))| {
            let gap = arrivals.first_gap(*mean, rng);
            Some(Reverse((after(start, gap)?, number)))
        };
        let next: Vec<_> = if one {
            Vec::new()
        } else {
            (0..).zip(&places).filter_map(first).collect()
        };
        Ok(Clock {
            next: next.into(),
            arrivals,
            places,
        })
    }

    /// The next arrival after the one at `last`; `None` when the clock of simulated time has ended.
    pub(crate) fn next(&mut self, last: Time, rng: &mut Pcg64) -> Option<(Time, Place)> {
        if let [(place @ Place::Anywhere, mean)] = self.places[..] {
            return Some((after(last, self.arrivals.gap(mean, rng))?, place));
        }
        let Reverse((now, number)) = self.next.pop()?;
        let (place, mean) = self.places[number as usize];
        if let Some(then) = after(now, self.arrivals.gap(mean, rng)) {
            self.next.push(Reverse((then, number)));
        }
        Some((now, place))
    }
}

fn after(last: Time, gap: Duration) -> Option<Time> {
    Some(Time::from_ps(last.ps().checked_add(gap.ps())?))
}

/// The hosts at which something arrives, and their shares of it.
fn hosts_of(pattern: &Pattern, hosts: u32) -> Vec<(Place, f64)> {
    let share = |host| match pattern.queries_at(host) {
        Some(share) => share,
        None => {
            let mut sum = 0.0;
            pattern.receivers(host, &mut |to, each| {
                sum += each * f64::from(to.end - to.start);
            });
            sum
        }
    };
    let all = (0..hosts).map(|host| (Place::Host(host), share(host)));
    all.filter(|(_, share)| *share > 0.0).collect()
}

/// The pairs between which flows go, and their shares of them.
fn pairs_of(pattern: &Pattern, hosts: u32) -> Result<Vec<(Place, f64)>, String> {
    if pattern.queries_at(0).is_some() {
        return Err("\"pair\" has no meaning for queries; write \"source\" or \"class\"".into());
    }
    let mut count = 0;
    for src in 0..hosts {
        pattern.receivers(src, &mut |to, _| count += to.len());
    }
    if count > MOST_PAIRS {
        return Err(format!(
            "{} pairs have flows; at most {} have processes of their own: write \"source\"",
            grouped(count as u64),
            grouped(MOST_PAIRS as u64)
        ));
    }
    let mut pairs = Vec::with_capacity(count);
    for src in 0..hosts {
        pattern.receivers(src, &mut |to, each| {
            pairs.extend(to.map(|dst| (Place::Pair(src, dst), each)));
        });
    }
    pairs.retain(|(_, share)| *share > 0.0);
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use fctlab_core::random::Seed;
    use fctlab_core::{PacketFormat, Rate};
    use serde_json::{Value, json};

    use crate::{Flow, HostLayout, TrafficSpec};

    /// 9 racks of 16 hosts.
    fn flows(traffic: Value) -> Result<Vec<Flow>, String> {
        let layout = HostLayout {
            rack_of: (0..144).map(|h| h / 16).collect(),
            host_rate: Rate::from_gbps(10),
            rates: Vec::new(),
            sink: None,
        };
        let spec = fctlab_core::spec::read::<TrafficSpec>(traffic);
        let stream = spec.and_then(|s| s.build(&layout, &PacketFormat::default(), Seed(1)));
        Ok(stream.map_err(|e| e.to_string())?.collect())
    }

    fn traffic(more: Value) -> Value {
        let mut traffic = json!({"workload": {"kind": "fixed", "size": "10KB"}, "load": 0.5,
            "flows": 400_000, "arrivals": {"kind": "lognormal", "sigma": 2.0}});
        traffic
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        traffic
    }

    /// Variance over mean of the flows in a window, at the hosts that `of` names, for windows in
    /// which each has `mean` flows.
    fn dispersion(flows: &[Flow], of: fn(&Flow) -> Option<u32>, hosts: usize, mean: f64) -> f64 {
        let end = flows.last().unwrap().start.as_secs_f64();
        let windows = (flows.len() as f64 / hosts as f64 / mean) as usize;
        let mut counts = vec![vec![0.0; windows + 1]; hosts];
        for flow in flows {
            let window = (flow.start.as_secs_f64() / end * windows as f64) as usize;
            counts[of(flow).unwrap_or(0) as usize][window] += 1.0;
        }
        let counts = counts.iter().flat_map(|host| &host[..windows]);
        let counts: Vec<f64> = counts.copied().collect();
        let n = counts.len() as f64;
        let mean = counts.iter().sum::<f64>() / n;
        counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / n / mean
    }

    /// The index of dispersion at a sender, at a receiver and of the class, in windows of 100 flows.
    fn dispersions(more: Value) -> [f64; 3] {
        let flows = flows(traffic(more)).unwrap();
        [
            dispersion(&flows, |f| Some(f.src), 144, 100.0),
            dispersion(&flows, |f| Some(f.dst), 144, 100.0),
            dispersion(&flows, |_| None, 1, 100.0),
        ]
    }

    /// The gap's coefficient of variation at sigma 2 is 7.3, so the index of a single process goes
    /// to 53 in long windows and is 20 in those of 100 flows (nearly 1 for Poisson).
    #[test]
    fn a_link_sees_the_bursts_of_what_has_a_process_there() {
        let [sent, received, class] = dispersions(json!({"arrivals": "poisson"}));
        assert!(
            [sent, received, class]
                .iter()
                .all(|i| (0.9..1.1).contains(i))
        );
        let [class, source, pair] = ["class", "source", "pair"].map(|per| {
            let found @ [sent, received, all] = dispersions(json!({ "per": per }));
            println!("{per}: {sent:.1} at a sender, {received:.1} at a receiver, {all:.1} of all");
            found
        });
        // One process for all: bursts are there for who sees all flows, not at one of 144 hosts.
        let [sent, received, all] = class;
        assert!(
            all > 12.0 && sent < 2.0 && received < 2.0,
            "{sent} {received} {all}"
        );
        // One at each source: its own link has bursts; a receiver has a 143rd part of each.
        let [sent, received, _] = source;
        assert!(sent > 12.0 && received < 1.3, "{sent} {received}");
        assert_eq!(dispersions(json!({}))[0], sent, "the default");
        // One for each pair: either end has 143 of them, each with few flows in a window.
        let [sent, received, _] = pair;
        assert!(sent > 2.0 && received > 2.0, "{sent} {received}");
    }

    /// Processes of their own are as likely to have an arrival at the start as at any time.
    #[test]
    fn no_burst_of_all_at_the_start() {
        let gaps = [
            json!("lognormal"),
            json!({"kind": "measured", "cdf": [[1, 0.9], [100, 1]]}),
        ];
        for arrivals in gaps {
            let more = json!({"arrivals": arrivals, "per": "pair", "flows": 40_000});
            let flows = flows(traffic(more)).unwrap();
            let half = flows.last().unwrap().start.as_secs_f64() / 2.0;
            let first = flows
                .iter()
                .filter(|f| f.start.as_secs_f64() < half)
                .count();
            // 20,592 pairs with two flows each on average.
            assert!(first.abs_diff(20_000) < 1_500, "{first}");
        }
    }

    #[test]
    fn queries_are_asked_at_hosts() {
        let incast = json!({"kind": "incast", "fanin": 4, "query_size": "40KB"});
        let asked = |per: &str| traffic(json!({"pattern": incast, "per": per, "flows": 8_000}));
        let flows = flows(asked("source")).unwrap();
        assert!(flows.chunks(4).all(|query| {
            query.iter().all(|f| {
                (f.dst, f.query, f.start) == (query[0].dst, query[0].query, query[0].start)
            })
        }));
        let error = super::tests::flows(asked("pair")).unwrap_err();
        assert_eq!(
            error,
            "per: \"pair\" has no meaning for queries; write \"source\" or \"class\""
        );
    }
}
