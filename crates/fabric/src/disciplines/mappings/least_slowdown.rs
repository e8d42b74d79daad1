//! Least slowdown: thresholds that minimise the average slowdown which a simple
//! model predicts from the values seen. An answer to ADS, section 4 ("is there
//! an adaptive priority mapping algorithm that does significantly better?",
//! "any designs that do significantly better with 2 queues?"): equal split
//! balances packets, and most packets belong to long flows, so that with few
//! queues short flows wait behind them.
//!
//! **From values to flows.** A flow of s packets sends its first window w with
//! value s and then one packet each with s - 1, s - 2, ..., w. A value v thus
//! shows min(v, w) packets for each flow that starts there, and one for each
//! that passes. Read from the largest value down, that gives the number of
//! flows that start in each bin of values.
//!
//! **Model.** Queue (a, b] of the port sees the work of flows while their value
//! is in it. With sigma_a and sigma_b the utilisation by queues up to each
//! border, a flow that enters the queue waits B sigma_b^2 / (1 - sigma_b) /
//! (1 - sigma_a) packets' times, where B is what two colliding flows pile up,
//! and there it shares what higher queues leave with others of its queue: each
//! packet takes (1 - sigma_b)^-e. (Sharing an ideal processor has e = 1; real
//! windows take longer to find their share.) Summed over the queues it goes
//! through and divided by its ideal time, s packets and the path's delay. A
//! queue's part depends on its two borders only, so dynamic programming finds
//! the best borders exactly.
//!
//! B = 27 and e = 1.4 are for TCP in ADS's default setting. They put the best
//! threshold where it was measured; how far the model is off elsewhere is in
//! docs/explanation/decisions/0004-least-slowdown.md, and in a test below.

use fctlab_core::SpecError;
use serde::{Deserialize, Serialize};

use super::{Histogram, Map};

/// The least average slowdown that a model predicts from the values seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Packets that a flow sends before its first ACK.
    #[schemars(range(min = 1))]
    pub initial_window: u32,
    /// What an idle path adds to a flow's own transmission, in packets' times.
    #[schemars(range(min = 0))]
    pub path_delay: f64,
    /// Packets that two colliding flows pile up.
    #[schemars(range(min = 0))]
    pub burst: f64,
    /// How steeply sharing slows down as utilisation grows; 1 for ideal sharing.
    #[schemars(range(min = 0))]
    pub sharing_exponent: f64,
}

impl Default for Spec {
    fn default() -> Self {
        // ADS, section 2.2: a BDP of 14 packets, of which a one-way trip is about half.
        Spec {
            initial_window: 14,
            path_delay: 8.0,
            burst: 27.0,
            sharing_exponent: 1.4,
        }
    }
}

/// Values with about the same logarithm.
struct Bin {
    /// The largest value in it.
    value: u32,
    /// Packets with such a value.
    packets: f64,
    /// Flows that start in it.
    flows: f64,
}

/// Bins of values up to `values`: single ones at first, then about 8% wide.
fn borders(values: usize) -> Vec<u32> {
    let next = |&v: &u32| Some((v + 1).max(v + v / 12)).filter(|&v| (v as usize) < values);
    let mut borders: Vec<u32> = std::iter::successors(Some(1), next).collect();
    if let Some(last) = borders.last_mut() {
        *last = (*last).max(values.saturating_sub(1) as u32);
    }
    borders
}

/// The largest share of the port's time that the model believes in.
const FULL: f64 = 0.95;

impl Spec {
    fn bins(&self, packets: &[u64]) -> Vec<Bin> {
        let window = f64::from(self.initial_window);
        let mut from = 0;
        let mut bins: Vec<Bin> = borders(packets.len())
            .into_iter()
            .map(|value| {
                let upto = packets.len().min(value as usize + 1);
                let packets = packets[from.min(upto)..upto].iter().sum::<u64>() as f64;
                from = upto;
                Bin {
                    value,
                    packets,
                    flows: 0.0,
                }
            })
            .collect();
        let mut above = 0.0;
        for i in (0..bins.len()).rev() {
            let below = if i == 0 { 0 } else { bins[i - 1].value };
            let (value, width) = (f64::from(bins[i].value), f64::from(bins[i].value - below));
            let passing = if value > window { above * width } else { 0.0 };
            let each = value.min(window) + if value > window { width / 2.0 } else { 0.0 };
            bins[i].flows = ((bins[i].packets - passing) / each).max(0.0);
            above += bins[i].flows;
        }
        bins
    }
}

/// What the model makes of a histogram.
struct Model<'a> {
    spec: &'a Spec,
    bins: Vec<Bin>,
    /// Utilisation by the bins below each border.
    busy: Vec<f64>,
}

impl<'a> Model<'a> {
    fn new(spec: &'a Spec, seen: &Histogram<'_>) -> Self {
        let bins = spec.bins(seen.packets);
        let mut busy = vec![0.0];
        for bin in &bins {
            busy.push((busy[busy.len() - 1] + bin.packets / seen.capacity).min(FULL));
        }
        Model { spec, bins, busy }
    }

    /// Time of a flow that starts in `bin` on an idle path.
    fn ideal(&self, bin: &Bin) -> f64 {
        f64::from(bin.value) + self.spec.path_delay
    }

    /// Work of a flow that starts in `bin` with values up to `limit`.
    fn work(&self, bin: &Bin, limit: f64) -> f64 {
        let (size, window) = (f64::from(bin.value), f64::from(self.spec.initial_window));
        // The first window has the flow's size as its value.
        if size <= limit {
            size
        } else if size <= window || limit < window {
            0.0
        } else {
            limit
        }
    }

    /// The largest value below border `border`.
    fn value_below(&self, border: usize) -> u32 {
        border
            .checked_sub(1)
            .map_or(0, |last| self.bins[last].value)
    }

    /// What a queue of the bins `a..b` adds to the slowdowns of all flows together.
    fn part(&self, a: usize, b: usize) -> f64 {
        let (low, high) = (
            f64::from(self.value_below(a)),
            f64::from(self.value_below(b)),
        );
        let left = 1.0 - self.busy[b];
        let wait = self.spec.burst * self.busy[b].powi(2) / left / (1.0 - self.busy[a]);
        let each = left.powf(-self.spec.sharing_exponent);
        let share = |bin: &Bin| {
            let here = self.work(bin, high) - self.work(bin, low);
            let visits = if here > 0.0 { wait } else { 0.0 };
            bin.flows * (visits + here * each) / self.ideal(bin)
        };
        self.bins[a..].iter().map(share).sum()
    }

    /// The borders of `queues` queues with the least sum of parts, ascending.
    fn best_borders(&self, queues: usize) -> Vec<usize> {
        let n = self.bins.len();
        let parts: Vec<Vec<f64>> = (0..n)
            .map(|a| (a + 1..=n).map(|b| self.part(a, b)).collect())
            .collect();
        // best[b]: the least sum for the bins below b in so many queues, and its borders.
        let mut best: Vec<(f64, Vec<usize>)> = vec![(0.0, Vec::new())];
        best.extend((0..n).map(|b| (parts[0][b], Vec::new())));
        for _ in 1..queues {
            let with_one_more = |b: usize| {
                let options = (0..b).map(|a| (best[a].0 + parts[a][b - a - 1], a));
                let least = options.min_by(|x, y| x.0.total_cmp(&y.0));
                let (cost, a) = least.unwrap_or((0.0, 0));
                let mut borders = best[a].1.clone();
                borders.push(a);
                (cost, borders)
            };
            best = (0..=n).map(with_one_more).collect();
        }
        best.pop().map_or_else(Vec::new, |(_, borders)| borders)
    }
}

impl Map for Spec {
    fn thresholds(&self, seen: &Histogram<'_>, queues: usize) -> Vec<u32> {
        let model = Model::new(self, seen);
        let borders = model.best_borders(queues);
        borders.into_iter().map(|b| model.value_below(b)).collect()
    }

    fn check(&self) -> Result<(), SpecError> {
        if self.initial_window == 0 {
            return Err(SpecError::new("initial_window", "0 is not at least 1"));
        }
        let numbers = [
            ("path_delay", self.path_delay),
            ("burst", self.burst),
            ("sharing_exponent", self.sharing_exponent),
        ];
        for (key, number) in numbers {
            if !(number >= 0.0 && number.is_finite()) {
                let message = format!("{number} is not a number of at least 0");
                return Err(SpecError::new(key, message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::random::Seed;
    use fctlab_workload::SizesSpec;
    use proptest::prelude::*;

    #[test]
    fn flows_are_read_back_from_values() {
        // 50 flows of 1 packet, 10 of 10 and 4 of 100.
        let mut packets = vec![0u64; 101];
        packets[1] += 50;
        packets[10] += 10 * 10;
        packets[100] += 4 * 14;
        for value in &mut packets[14..100] {
            *value += 4;
        }
        let bins = Spec::default().bins(&packets);
        let flows = |value: u32| {
            bins.iter()
                .filter(|b| b.value == value)
                .map(|b| b.flows)
                .sum::<f64>()
        };
        assert!((flows(1) - 50.0).abs() < 1e-9 && (flows(10) - 10.0).abs() < 1e-9);
        let long: f64 = bins.iter().filter(|b| b.value > 14).map(|b| b.flows).sum();
        assert!((2.0..6.0).contains(&long), "{long} long flows");
    }

    #[test]
    fn two_queues_keep_short_flows_from_long_ones() {
        // 1000 flows of 2 packets, 10 of 1000: half of the packets are above 450.
        let mut packets = vec![0u64; 1001];
        packets[2] = 2000;
        for value in &mut packets[14..1000] {
            *value = 10;
        }
        packets[1000] = 140;
        let total: u64 = packets.iter().sum();
        let seen = Histogram {
            packets: &packets,
            capacity: total as f64 / 0.7,
        };
        let [cut] = Spec::default().thresholds(&seen, 2)[..] else {
            panic!()
        };
        assert!((2..100).contains(&cut), "{cut}");
    }

    /// The average slowdown that the model predicts with one threshold.
    fn predicted(model: &Model<'_>, threshold: u32) -> f64 {
        let n = model.bins.len();
        let border = model.bins.partition_point(|bin| bin.value <= threshold);
        let delays = |bin: &Bin| bin.flows * model.spec.path_delay / model.ideal(bin);
        let flows: f64 = model.bins.iter().map(|bin| bin.flows).sum();
        let delays: f64 = model.bins.iter().map(delays).sum();
        (model.part(0, border) + model.part(border, n) + delays) / flows
    }

    #[test]
    fn the_model_says_what_static_thresholds_measured() {
        // imc10 at load 0.7 as ADS's hosts tag it: values of at most 2 MiB.
        let window = 14;
        let sizes: SizesSpec = serde_json::from_value("imc10".into()).unwrap();
        let sizes = sizes.build().unwrap();
        let mut rng = Seed(1).stream("sizes");
        let mut packets = vec![0u64; 1400];
        for _ in 0..200_000 {
            let size = (sizes.sample(&mut rng).get() + 40).div_ceil(1500).min(1399) as usize;
            packets[size] += size.min(window) as u64;
            for value in &mut packets[window.min(size)..size] {
                *value += 1;
            }
        }
        let total: u64 = packets.iter().sum();
        let seen = Histogram {
            packets: &packets,
            capacity: total as f64 / 0.7,
        };
        let spec = Spec::default();
        let model = Model::new(&spec, &seen);
        let cuts = [14, 40, 134, 267, 734, 1183];
        let found = cuts.map(|cut| predicted(&model, cut));
        // Measured: docs/explanation/decisions/0004-least-slowdown.md. Low thresholds come out
        // within 20%, the best one is the best, and high ones look too bad.
        let measured = [2.13, 1.90, 1.68, 1.57, 1.76, 3.35];
        let off: Vec<f64> = found
            .iter()
            .zip(measured)
            .map(|(f, m)| f / m - 1.0)
            .collect();
        assert!(off[..4].iter().all(|off| off.abs() < 0.2), "{found:?}");
        assert!(
            off[4..].iter().all(|&off| 0.0 < off && off < 0.5),
            "{found:?}"
        );
        let best = model.value_below(model.best_borders(2)[0]);
        assert!((134..=267).contains(&best), "{best}");
    }

    proptest! {
        #[test]
        fn as_many_ascending_cuts_as_asked(
            packets in prop::collection::vec(0u64..50, 1..300), queues in 1usize..9, load in 0.05f64..1.2,
        ) {
            let total: u64 = packets.iter().sum();
            prop_assume!(total > 0);
            let seen = Histogram { packets: &packets, capacity: total as f64 / load };
            let cuts = Spec::default().thresholds(&seen, queues);
            prop_assert_eq!(cuts.len(), queues - 1);
            prop_assert!(cuts.is_sorted(), "{:?}", cuts);
        }
    }
}
