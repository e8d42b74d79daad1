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
//! B = 27 and e = 1.4 describe TCP in ADS's default setting: with two queues
//! and one static threshold of 14, 40, 134, 267, 734 or 1183 MTUs the model
//! says an average slowdown of 1.9, 1.8, 1.6, 1.6, 1.8 and 3.2; measured were
//! 2.1, 1.9, 1.7, 1.6, 1.8 and 3.4 (docs/decisions/0004-least-slowdown.md).

use fctlab_core::SpecError;
use serde::{Deserialize, Serialize};

use super::{Histogram, Map};

/// The least average slowdown that a model predicts from the values seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Packets that a flow sends before its first ACK.
    pub initial_window: u32,
    /// What an idle path adds to a flow's own transmission, in packets' times.
    pub path_delay: f64,
    /// Packets that two colliding flows pile up.
    pub burst: f64,
    /// How steeply sharing slows down as utilisation grows; 1 for ideal sharing.
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

impl Map for Spec {
    fn thresholds(&self, seen: &Histogram<'_>, queues: usize) -> Vec<u32> {
        let bins = self.bins(seen.packets);
        let (n, window) = (bins.len(), f64::from(self.initial_window));
        let ideal = |bin: &Bin| f64::from(bin.value) + self.path_delay;
        // Work of a flow that starts in `bin` with values up to `b`.
        let work = |bin: &Bin, b: f64| {
            let size = f64::from(bin.value);
            match size <= window {
                true => {
                    if size <= b {
                        size
                    } else {
                        0.0
                    }
                }
                false if b < window => 0.0,
                false => size.min(b),
            }
        };
        // Utilisation by the bins below each border.
        let mut busy = vec![0.0];
        for bin in &bins {
            busy.push((busy[busy.len() - 1] + bin.packets / seen.capacity).min(FULL));
        }
        let part = |a: usize, b: usize| {
            let low = if a == 0 {
                0.0
            } else {
                f64::from(bins[a - 1].value)
            };
            let high = f64::from(bins[b - 1].value);
            let left = 1.0 - busy[b];
            let wait = self.burst * busy[b].powi(2) / left / (1.0 - busy[a]);
            let each = left.powf(-self.sharing_exponent);
            let share = |bin: &Bin| {
                let here = work(bin, high) - work(bin, low);
                let visits = if here > 0.0 { wait } else { 0.0 };
                bin.flows * (visits + here * each) / ideal(bin)
            };
            bins[a..].iter().map(share).sum::<f64>()
        };
        // best[b]: the least sum for the bins below b in so many queues, and its cuts.
        let mut best: Vec<(f64, Vec<u32>)> = (0..=n)
            .map(|b| (if b == 0 { 0.0 } else { part(0, b) }, Vec::new()))
            .collect();
        let parts: Vec<Vec<f64>> = (0..n)
            .map(|a| (a + 1..=n).map(|b| part(a, b)).collect())
            .collect();
        for _ in 1..queues {
            let with_one_more = |b: usize| {
                let options = (0..b).map(|a| (best[a].0 + parts[a][b - a - 1], a));
                let (cost, a) = options
                    .min_by(|x, y| x.0.total_cmp(&y.0))
                    .unwrap_or((0.0, 0));
                let mut cuts = best[a].1.clone();
                cuts.push(if a == 0 { 0 } else { bins[a - 1].value });
                (cost, cuts)
            };
            best = (0..=n)
                .map(|b| {
                    if b == 0 {
                        (0.0, vec![0; best[0].1.len() + 1])
                    } else {
                        with_one_more(b)
                    }
                })
                .collect();
        }
        best.pop().map_or_else(Vec::new, |(_, cuts)| cuts)
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
