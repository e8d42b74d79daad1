//! The constructions in the paper's proofs, and instances like those of its figures.

use fctlab_core::SpecError;
use fctlab_core::units::grouped;
use serde::{Deserialize, Serialize};

use crate::instance::{Flow, Instance, MOST_PACKETS, MOST_WEIGHT};
use crate::metrics::Metrics;
use crate::policies::{PolicySpec, fixed};

/// An instance for which all that the text says about figure 1, 2 or 3 holds.
///
/// The packets' arrival slots are not in the text; these are reconstructed.
///
/// # Panics
/// For any other number.
pub fn figure(number: u32) -> Instance {
    Instance::single(match number {
        // FIFO ends f1 in slot 10, before f2 and f3 get anything; BRR spreads slots 3-10
        // evenly; under LAS f1's third packet waits for two of f2 and of f3; FIFO, BRR, LAS,
        // ASRPT and OPT are ever better. f2 and f3 get their last packets late: ASRPT is not OPT.
        1 => vec![
            Flow::new([(1, 10)]),
            Flow::new([(3, 2), (4, 1)]),
            Flow::new([(3, 2), (5, 1)]),
        ],
        // Three flows of five packets whose sizes are known in slot 5, a fourth when LAS
        // has sent all but one of each, after slot 12; 20 slots without a pause.
        2 => {
            let paced = || Flow::new((1..=5).map(|slot| (slot, 1)));
            vec![paced(), paced(), paced(), Flow::new([(13, 5)])]
        }
        // SRPT begins with f1, which is smaller than f2 but ends late; f2 is complete in slot
        // 2; f3, smaller than both, has slots 3 and 4.
        3 => vec![
            Flow::new([(1, 4), (13, 1)]),
            Flow::new([(1, 5), (2, 1)]),
            Flow::new([(3, 2)]),
        ],
        _ => panic!("figure {number} shows no schedule"),
    })
}

/// Theorem 3: one long flow in slot 1, `n - 1` of one packet in slot 2. FIFO is `n / 2`
/// times worse than the optimum. `factor` times `n^2` packets make the long flow.
///
/// # Errors
/// When it gets too large.
pub fn theorem3(n: u32, factor: u32) -> Result<Instance, SpecError> {
    theorem6(n, factor, 1)
}

/// Theorem 6: theorem 3 with every size times the last threshold of PIAS.
///
/// # Errors
/// When it gets too large.
pub fn theorem6(n: u32, factor: u32, last_threshold: u32) -> Result<Instance, SpecError> {
    let packets = |each: u64| each.checked_mul(u64::from(last_threshold));
    let long = packets(u64::from(n) * u64::from(n) * u64::from(factor.max(1)));
    let total = packets(u64::from(n)).and_then(|short| long?.checked_add(short));
    if n < 1 || total.is_none_or(|t| t > u64::from(MOST_PACKETS)) {
        let most = grouped(MOST_PACKETS.into());
        let message = format!("{n} is not at least 1, or makes more than {most} packets");
        return Err(SpecError::new("n", message));
    }
    let mut flows = vec![Flow::new([(1, long.unwrap_or(1) as u32)])];
    flows.extend((1..n).map(|_| Flow::new([(2, last_threshold)])));
    Ok(Instance::single(flows))
}

/// What came of the construction of theorem 1.
#[derive(Clone, Debug, Serialize)]
pub struct Theorem1 {
    /// Flows that it fools the policy with.
    pub n: u32,
    /// Packets of each of them.
    pub size: u32,
    /// Packets in all.
    pub packets: u64,
    /// FCT of the policy.
    pub policy_fct: u64,
    /// FCT of a schedule that there is: the optimum is no more.
    pub feasible_fct: u64,
    /// The first over the second: the policy is at least so much worse than the optimum.
    pub ratio: f64,
    /// Of the `n` flows, those that the policy has not ended when the proof says so.
    pub still_active: u32,
}

/// Flows of one packet that the stream of theorem 1 may have.
const MOST_SINGLES: u64 = 1 << 24;

/// Theorem 1: an adversary that hides last packets from `policy`, then sends a stream of
/// `stream` times the FCT so far of flows with one packet each (lemma 9).
///
/// Of `n` equal flows most packets arrive at once. The flow that the policy neglects
/// most turns out to be as good as ended: its last packets arrive now, too late for the
/// policy to end it. This goes on until one flow is left. Then the policy has `n` active
/// flows, and a schedule that knew had one. The paper asks for sizes divisible by
/// `(n^2 + 1)^2n`; `(n^2 + 1)^n` is what the proof needs.
///
/// # Errors
/// When it gets too large.
pub fn theorem1(
    policy: &PolicySpec,
    n: u32,
    stream: u32,
) -> Result<(Instance, Theorem1), SpecError> {
    let base = u64::from(n) * u64::from(n) + 1;
    let too_large = || {
        SpecError::new(
            "n",
            format!("{n} is not in [2, 5] or makes too many packets"),
        )
    };
    if !(2..=5).contains(&n) {
        return Err(too_large());
    }
    if matches!(policy, PolicySpec::Fixed(_)) {
        return Err(SpecError::new(
            "policy",
            "a fixed order of flows has no adversary",
        ));
    }
    let size = base.pow(n);
    let end = u64::from(n - 1) * size; // "t" in the proof
    let flow = |bursts: &[(u64, u64)]| {
        Flow::new(
            bursts
                .iter()
                .map(|&(slot, count)| (slot as u32, count as u32)),
        )
    };
    let mut given = vec![Vec::<(u64, u64)>::new(); n as usize];
    let mut open: Vec<usize> = (0..n as usize).collect();
    let mut order = Vec::new();
    let (mut left, mut now) = (size, 1);
    while open.len() > 1 {
        let part = left - left / base;
        open.iter().for_each(|&flow| given[flow].push((now, part)));
        left -= part;
        // What the policy does up to here does not depend on what comes later.
        let until = now - 1 + part * (open.len() as u64 - 1);
        let hidden = given.iter().map(|bursts| {
            let arrived: u64 = bursts.iter().map(|b| b.1).sum();
            let rest = (arrived < size).then_some((end + 1, size - arrived));
            flow(&bursts.iter().copied().chain(rest).collect::<Vec<_>>())
        });
        let mut sent = vec![0; n as usize];
        policy.run(&Instance::single(hidden.collect()), |slot, flow| {
            sent[flow as usize] += u64::from(u64::from(slot) <= until);
        });
        let neglected = (0..open.len()).min_by_key(|&i| sent[open[i]]).unwrap_or(0);
        let neglected = open.remove(neglected);
        given[neglected].push((until + 1, left));
        order.push(neglected);
        now = until + 1 + left;
    }
    // In the order in which their last packets came, the flow that is left last.
    let last = open[0];
    order.push(last);
    given[last].push((end + 1, left));
    let mut first = Instance::single(given.iter().map(|bursts| flow(bursts)).collect());
    let clever = |instance: &Instance, order: &[usize]| {
        Metrics::new(
            instance,
            &PolicySpec::Fixed(fixed::Spec::in_order(order)).ends(instance),
        )
        .fct
    };
    let singles = clever(&first, &order) * u64::from(stream);
    if singles > MOST_SINGLES || singles + first.packets() > u64::from(MOST_PACKETS) {
        return Err(too_large());
    }
    // The proof delays what arrives after slot t to make room; here only the last packets
    // of the last flow do.
    if let Some(burst) = first.flows[last].bursts.last_mut() {
        burst.slot += singles as u32;
    }
    let stream = (0..singles).map(|i| Flow::new([((end + 1 + i) as u32, 1)]));
    let before_last = order.len() - 1;
    first.flows.extend(stream);
    order.splice(before_last..before_last, n as usize..first.flows.len());
    let ends = policy.ends(&first);
    let active = ends[..n as usize]
        .iter()
        .filter(|&&e| u64::from(e) > end)
        .count();
    let policy_fct = Metrics::new(&first, &ends).fct;
    let feasible_fct = clever(&first, &order);
    let found = Theorem1 {
        n,
        size: size as u32,
        packets: first.packets(),
        policy_fct,
        feasible_fct,
        ratio: policy_fct as f64 / feasible_fct as f64,
        still_active: active as u32,
    };
    Ok((first, found))
}

/// Families that show how much of a proven bound is real; found by reading what the
/// search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tight {
    /// ASRPT tends to the golden ratio. A large complete flow keeps the switch busy while
    /// `n` flows wait for their last packets, which come when the optimum has sent the
    /// rest. Then flows of the same size arrive as fast as they can be sent, 0.618 `n`
    /// of them: the optimum sends each at once, ASRPT never catches up. With `s n` such
    /// flows the ratio tends to `(s + 1)(s + 3) / ((s + 1)^2 + 1)`, largest at `s = 0.618`.
    Golden,
    /// Weighted ASRPT tends to 2: a heavy flow gets its last packet when the optimum has
    /// sent the rest and ASRPT as many packets of a light one. Two flows of `n` packets.
    Heavy,
    /// BRR exceeds 2: `n` flows, ever smaller, arrive during the first 0.4 of the time,
    /// so that under BRR all end together.
    Crowd,
    /// LAS and BRR tend to 2: `n` flows of `n` packets at once, ratio `2 n / (n + 1)`
    /// but for the last turn.
    Equal,
}

/// An instance of a family, and an order of flows: serving them so is a schedule, so
/// that the optimum is no more.
///
/// # Errors
/// When it gets too large.
pub fn tight(family: Tight, n: u32) -> Result<(Instance, Vec<usize>), SpecError> {
    if !(1..=2000).contains(&n) {
        return Err(SpecError::new("n", format!("{n} is not in [1, 2000]")));
    }
    let flows: Vec<Flow> = match family {
        Tight::Golden => {
            let size = 2 * n + 1;
            let busy = n * (size - 1);
            let stream = (5f64.sqrt() - 1.0) / 2.0 * f64::from(n);
            let waiting = (1..=n).map(|i| Flow::new([(1, size - 1), (busy + i, 1)]));
            let stream =
                (0..stream.round() as u32).map(|i| Flow::new([(busy + n + 1 + i * size, size)]));
            let large = Flow::new([(1, busy + n + size)]);
            waiting.chain(stream).chain([large]).collect()
        }
        Tight::Heavy => {
            let late = if n > 1 {
                vec![(1, n - 1), (n, 1)]
            } else {
                vec![(1, 1)]
            };
            vec![
                Flow {
                    weight: MOST_WEIGHT,
                    ..Flow::new(late)
                },
                Flow::new([(1, n)]),
            ]
        }
        Tight::Crowd => {
            const START: f64 = 0.1;
            let total = 600.0 * f64::from(n);
            let when = |i: u32| match i {
                i if i >= n => total,
                i => {
                    0.4 * total
                        * ((f64::from(i + 1) / f64::from(n) - START) / (1.0 - START)).max(0.0)
                }
            };
            // What BRR gives each flow from its arrival to the end, shared with all before it.
            let mut left = 0.0;
            let mut flows: Vec<Flow> = (0..n)
                .rev()
                .map(|i| {
                    left += (when(i + 1) - when(i)) / f64::from(i + 1);
                    Flow::new([(when(i) as u32 + 1, (left.round() as u32).max(1))])
                })
                .collect();
            flows.reverse();
            flows
        }
        Tight::Equal => (0..n).map(|_| Flow::new([(1, n)])).collect(),
    };
    let mut order: Vec<usize> = (0..flows.len()).collect();
    if family == Tight::Crowd {
        order.sort_by_key(|&f| flows[f].size());
    }
    Ok((Instance::single(flows), order))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metric;
    use crate::optimum::optimum;
    use serde_json::json;

    fn policy(value: serde_json::Value) -> PolicySpec {
        PolicySpec::read(value).unwrap()
    }

    fn ratio(instance: &Instance, kind: serde_json::Value, metric: Metric) -> f64 {
        let best = optimum(instance, metric);
        assert!(best.is_exact());
        metric.of(instance, &policy(kind).ends(instance)) as f64 / best.value as f64
    }

    #[test]
    fn figures_are_as_the_text_says() {
        let fpt = |number, kind: &str| {
            Metric::Fpt.of(&figure(number), &policy(json!(kind)).ends(&figure(number)))
        };
        assert_eq!(
            ["fifo", "brr", "las", "asrpt", "srpt"].map(|p| fpt(1, p)),
            [41, 35, 33, 31, 29]
        );
        assert_eq!(policy(json!("fifo")).ends(&figure(1))[0], 10);
        // The most that 20 slots without a pause allow: 17 + 18 + 19 + 20.
        assert_eq!(["las", "fifo", "asrpt"].map(|p| fpt(2, p)), [74, 62, 53]);
        assert_eq!(["srpt", "asrpt"].map(|p| fpt(3, p)), [29, 26]);
        let mut sent = Vec::new();
        policy(json!("asrpt")).run(&figure(3), |_, flow| sent.push(flow + 1));
        assert_eq!(sent[..5], [1, 2, 3, 3, 2]);
        sent.clear();
        policy(json!("srpt")).run(&figure(3), |_, flow| sent.push(flow + 1));
        assert_eq!(sent[..5], [1, 1, 3, 3, 1]);
    }

    #[test]
    fn theorem_1_grows_with_n_for_every_policy() {
        for spec in crate::theorems::every_policy() {
            for n in [2, 3] {
                let (instance, found) = theorem1(&spec, n, 10).unwrap();
                assert_eq!(found.still_active, n, "{spec:?}");
                let limit = f64::from(n + 1) / 2.0;
                assert!(found.ratio > 0.95 * limit, "{spec:?}: {}", found.ratio);
                assert_eq!(Instance::read(instance.to_json()).unwrap(), instance);
            }
        }
        assert!(theorem1(&policy(json!("las")), 6, 1).is_err());
    }

    #[test]
    fn theorems_3_and_6_exceed_half_of_n() {
        for n in [2, 5, 30] {
            let three = theorem3(n, 4).unwrap();
            assert!(ratio(&three, json!("fifo"), Metric::Fpt) >= f64::from(n) / 2.0);
            for thresholds in [vec![1], vec![2, 7], vec![10, 20, 40]] {
                let six = theorem6(n, 4, *thresholds.last().unwrap()).unwrap();
                let pias = json!({"kind": "pias", "thresholds": thresholds});
                assert!(ratio(&six, pias, Metric::Fpt) >= f64::from(n) / 2.0);
            }
        }
        assert!(theorem3(0, 1).is_err() && theorem3(60_000, 9).is_err());
    }

    #[test]
    fn tight_families() {
        let (golden, order) = tight(Tight::Golden, 9).unwrap();
        let best = optimum(&golden, Metric::Fpt);
        let clever = PolicySpec::Fixed(fixed::Spec::in_order(&order));
        assert_eq!(
            best.value,
            Metric::Fpt.of(&golden, &clever.ends(&golden)),
            "the order is optimal"
        );
        for second in ["fifo", "brr", "las"] {
            let spec = json!({"kind": "asrpt", "second": second});
            assert!(ratio(&golden, spec.clone(), Metric::Fpt) > 1.5);
            let (large, order) = tight(Tight::Golden, 500).unwrap();
            let clever = PolicySpec::Fixed(fixed::Spec::in_order(&order));
            let fpt = |p: &PolicySpec| Metric::Fpt.of(&large, &p.ends(&large)) as f64;
            assert!(fpt(&policy(spec)) / fpt(&clever) > 1.61);
        }
        let (heavy, _) = tight(Tight::Heavy, 1000).unwrap();
        let weighted = json!({"kind": "asrpt", "weighted": true});
        let found = ratio(&heavy, weighted, Metric::WeightedFpt);
        assert!(found > 1.99 && found <= 2.0, "{found}");
        let (crowd, _) = tight(Tight::Crowd, 100).unwrap();
        assert!(ratio(&crowd, json!("brr"), Metric::Fpt) > 2.15);
        let (equal, _) = tight(Tight::Equal, 100).unwrap();
        for kind in ["brr", "las"] {
            assert!(ratio(&equal, json!(kind), Metric::Fpt) > 1.97);
        }
    }
}
