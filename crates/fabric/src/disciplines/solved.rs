//! Demotion thresholds computed from flow sizes: PIAS's optimum (Bai et al., NSDI 2015, section 4.1;
//! ToN 25(4), 2017).
//!
//! A flow of size s passes through the queues whose thresholds are below s, and waits once in
//! each. With F the distribution of sizes, L the load and G(a) = E\[min(S, a)\], queue m serves the
//! bytes between its thresholds at what the queues before it leave, so that an M/M/1 queue there
//! delays by T_m = 1 / (mu_m - lambda_m), in units of the link's mean service time. The objective is
//! the mean over flows of the sum of T_m.
//!
//! Since mu_{m+1} = mu_m - lambda_m, all that the queues up to m serve is L G(a_m) / E\[S\], so T_m =
//! 1 / (1 - L G(a_m) / E\[S\]) depends on its own threshold only, and the objective is
//!
//! > sum over m of (1 - F(a_{m-1})) / (1 - L G(a_m) / E\[S\]), a_0 = 0, a_n = infinity:
//!
//! a chain, whose optimum dynamic programming finds on a grid of sizes without any start to depend
//! on. The grid is then made finer around what was found, until it is of whole bytes or nothing changes.

use fctlab_workload::Mixture;

/// No threshold is below a full packet of PIAS's, unless all flows are.
const LEAST: f64 = 1460.0;
/// Places of the first grid, in equal ratios.
const FIRST: usize = 600;
/// Places on each side of a threshold that the next grid adds.
const FINER: usize = 12;
/// Grids.
const ROUNDS: usize = 8;

/// Mean over flows of the delays of the queues they pass, in mean service times, with `thresholds` in bytes.
pub fn objective(sizes: &Mixture, load: f64, thresholds: &[f64]) -> f64 {
    let busy = |work: f64| load * work / sizes.mean();
    let mut passing = 1.0;
    let mut sum = 0.0;
    for &threshold in thresholds {
        sum += passing / (1.0 - busy(sizes.work_up_to(threshold)));
        passing = 1.0 - sizes.share_up_to(threshold);
    }
    sum + passing / (1.0 - busy(sizes.mean()))
}

/// The thresholds in bytes that minimise [`objective`] at a `load` in (0, 1), increasing: one less than
/// `queues`, or fewer where the optimum leaves queues empty.
pub fn thresholds(sizes: &Mixture, load: f64, queues: usize) -> Vec<u64> {
    let (low, high) = (LEAST.min(sizes.largest()), sizes.largest());
    let ratio = (high / low).ln() / (FIRST - 1) as f64;
    let mut grid: Vec<f64> = (0..FIRST).map(|i| low * (ratio * i as f64).exp()).collect();
    // Where sizes jump, a threshold of that size is a different one from any below.
    let bends = sizes.sizes().iter().copied().filter(|size| *size > low);
    let every = (sizes.sizes().len() / FIRST).max(1);
    grid.extend(bends.step_by(every));
    let (mut step, mut found) = (ratio, Vec::new());
    for _ in 0..ROUNDS {
        grid.iter_mut()
            .for_each(|size| *size = size.round().clamp(1.0, high.ceil()));
        grid.sort_by(f64::total_cmp);
        grid.dedup();
        let best = best_of(&grid, sizes, load, queues);
        if best == found {
            break;
        }
        found = best;
        step /= FINER as f64;
        let finer = -(FINER as i32)..=FINER as i32;
        let around = found.iter().flat_map(|cut| {
            let near = finer
                .clone()
                .map(move |i| cut * (step * f64::from(i)).exp());
            near.chain([cut - 1.0, cut + 1.0])
        });
        let around: Vec<f64> = around.filter(|size| (low..=high).contains(size)).collect();
        grid.extend(around);
    }
    found.dedup();
    found.into_iter().map(|cut| cut as u64).collect()
}

/// The best thresholds of a grid, ascending; some may be equal.
fn best_of(grid: &[f64], sizes: &Mixture, load: f64, queues: usize) -> Vec<f64> {
    let passing: Vec<f64> = grid.iter().map(|&a| 1.0 - sizes.share_up_to(a)).collect();
    let delay = grid
        .iter()
        .map(|&a| 1.0 / (1.0 - load * sizes.work_up_to(a) / sizes.mean()));
    let delay: Vec<f64> = delay.collect();
    // The least sum of the queues so far when the last threshold is that place of the grid, and
    // where the one before was.
    let mut cost = delay.clone();
    let mut came: Vec<Vec<usize>> = Vec::new();
    for _ in 2..queues {
        let mut next = vec![(f64::INFINITY, 0); grid.len()];
        for (i, (cost, passing)) in cost.iter().zip(&passing).enumerate() {
            for (next, delay) in next[i..].iter_mut().zip(&delay[i..]) {
                let sum = cost + passing * delay;
                if sum < next.0 {
                    *next = (sum, i);
                }
            }
        }
        cost = next.iter().map(|n| n.0).collect();
        came.push(next.into_iter().map(|n| n.1).collect());
    }
    let whole = |i: &usize| cost[*i] + passing[*i] / (1.0 - load);
    let last = (0..grid.len()).min_by(|a, b| whole(a).total_cmp(&whole(b)));
    let mut places: Vec<usize> = last.into_iter().collect();
    for before in came.iter().rev() {
        places.extend(places.last().map(|&place| before[place]));
    }
    places.iter().rev().map(|&i| grid[i]).collect()
}

#[cfg(test)]
mod tests {
    use fctlab_core::spec;
    use fctlab_workload::SizesSpec;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::published;
    use super::*;

    fn sizes(workload: Value) -> Mixture {
        let sizes: SizesSpec = spec::read(workload).unwrap();
        Mixture::of(&[(1.0, &sizes.build().unwrap())]).unwrap()
    }

    fn found(sizes: &Mixture, load: f64, queues: usize) -> f64 {
        let cuts = thresholds(sizes, load, queues);
        assert!(
            cuts.is_sorted_by(|a, b| a < b) && cuts.len() < queues,
            "{cuts:?}"
        );
        objective(
            sizes,
            load,
            &cuts.iter().map(|&c| c as f64).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn the_objective_by_hand() {
        // Sizes 1 and 3 KB, one threshold of 1 KB, load 0.5: queue 1 serves half of the bytes.
        let sizes = sizes(json!({"kind": "uniform", "sizes": ["1KB", "3KB"]}));
        let by_hand = 1.0 / (1.0 - 0.25) + 0.5 / (1.0 - 0.5);
        assert!((objective(&sizes, 0.5, &[1000.0]) - by_hand).abs() < 1e-12);
    }

    #[test]
    fn no_objective_is_above_that_of_the_published_thresholds() {
        for name in published::names() {
            let (workload, load) = name.split_once('@').unwrap();
            let (sizes, load) = (sizes(json!(workload)), load.parse().unwrap());
            let cuts = published::named(name).unwrap();
            let cuts: Vec<f64> = cuts.into_iter().map(f64::from).collect();
            assert!(
                found(&sizes, load, 8) <= objective(&sizes, load, &cuts),
                "{name}"
            );
        }
    }

    #[test]
    fn a_trace_of_many_sizes() {
        // More jumps than the first grid has places; the best of one threshold by trying all.
        let list: Vec<String> = (1..2000u64).map(|i| format!("{}B", 1000 + i * i)).collect();
        let sizes = sizes(json!({"kind": "uniform", "sizes": list}));
        let each = (1..2000u64).map(|i| objective(&sizes, 0.7, &[(1000 + i * i) as f64]));
        let best = each.fold(f64::INFINITY, f64::min);
        assert!(found(&sizes, 0.7, 2) <= best * (1.0 + 1e-4));
    }

    #[test]
    fn queues_that_would_stay_empty_are_left_out() {
        let cuts = thresholds(&sizes(json!({"kind": "fixed", "size": "2KB"})), 0.5, 8);
        assert!(cuts.len() < 7, "{cuts:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_thresholds_are_better(
            workload in prop::sample::select(vec!["websearch", "datamining", "cache", "google_rpc"]),
            load in 0.1f64..0.95,
            places in prop::collection::vec(0f64..1.0, 1..8),
        ) {
            let sizes = sizes(json!(workload));
            let mut logs = places.clone();
            logs.sort_by(f64::total_cmp);
            let low = LEAST.min(sizes.largest());
            let random: Vec<f64> = logs.iter().map(|l| low * (sizes.largest() / low).powf(*l)).collect();
            let best = found(&sizes, load, places.len() + 1);
            prop_assert!(objective(&sizes, load, &random) >= best * (1.0 - 1e-6));
        }
    }
}
