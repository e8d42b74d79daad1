//! Statistics of one run. Intervals over seeds belong to the layer above.

/// The nearest-rank percentile of `sorted`, `p` in (0, 100]: the smallest
/// value with at least `p` percent of the values at or below it. `None` when
/// there are no values.
pub fn percentile<T: Copy>(sorted: &[T], p: f64) -> Option<T> {
    quantile(sorted, p / 100.0)
}

/// The same for a share in (0, 1] instead of percent.
pub fn quantile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    match sorted.len() {
        0 => None,
        n => sorted.get(rank(share, n) - 1).copied(),
    }
}

/// The nearest rank of a share in (0, 1] among `n` values, from 1; `n` is at least 1. The product is off
/// by a few units in its last place, which is no reason to take the next value: 0.999 of 1000 is 999.
pub fn rank(share: f64, n: usize) -> usize {
    let exact = share * n as f64;
    let rank = (exact - 4.0 * f64::EPSILON * exact).ceil() as usize;
    rank.clamp(1, n)
}

/// A statistic of values of which some are known only as lower bounds (right-censored).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded<T> {
    /// The value; the truth is no smaller.
    pub value: T,
    /// Whether the truth may be larger.
    pub lower_bound: bool,
}

/// Values of which some are known only as lower bounds: those of flows that were still going on
/// when the run ended, for example.
#[derive(Clone, Debug, Default)]
pub struct Censored<T> {
    /// All of them, sorted.
    all: Vec<T>,
    /// Those that are known, sorted.
    known: Vec<T>,
}

impl<T: Copy> Censored<T> {
    /// From values and whether each is known; `order` sorts them.
    pub fn new(
        values: impl IntoIterator<Item = (T, bool)>,
        order: impl Fn(&T, &T) -> std::cmp::Ordering,
    ) -> Self {
        let (mut all, mut known) = (Vec::new(), Vec::new());
        for (value, is_known) in values {
            all.push(value);
            if is_known {
                known.push(value);
            }
        }
        all.sort_unstable_by(&order);
        known.sort_unstable_by(&order);
        Censored { all, known }
    }

    /// All values, sorted.
    pub fn all(&self) -> &[T] {
        &self.all
    }

    /// How many are lower bounds.
    pub fn unknown(&self) -> usize {
        self.all.len() - self.known.len()
    }
}

impl<T: Copy + PartialEq> Censored<T> {
    /// The nearest-rank percentile, `p` in (0, 100], or `None` without values.
    ///
    /// The value at its rank is never above the truth, since no value is. It is the truth when at
    /// least as many *known* values as its rank are no larger: wherever the others lie, they
    /// cannot move it. Otherwise it is a lower bound.
    pub fn percentile(&self, p: f64) -> Option<Bounded<T>> {
        let value = percentile(&self.all, p)?;
        let of_known = self.known.get(rank(p / 100.0, self.all.len()) - 1);
        let lower_bound = of_known != Some(&value);
        Some(Bounded { value, lower_bound })
    }
}

/// Jain's fairness index (Jain, Chiu, Hawe, 1984) of `values`: 1 when all are
/// equal, 1/n when one has everything; `None` when all are zero or there are none.
pub fn jain(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for x in values {
        n += 1.0;
        sum += x;
        squares += x * x;
    }
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank() {
        let v: Vec<u32> = (1..=100).collect();
        assert_eq!(percentile(&v, 99.0), Some(99));
        assert_eq!(percentile(&v, 50.0), Some(50));
        assert_eq!(percentile(&v, 100.0), Some(100));
        assert_eq!(percentile(&[7], 1.0), Some(7));
        assert_eq!(percentile::<u32>(&[], 50.0), None);
        let v: Vec<u32> = (1..=1000).collect();
        for tenths in 1..=1000 {
            let p = f64::from(tenths) / 10.0;
            assert_eq!(percentile(&v, p), Some(tenths), "p{p}");
        }
    }

    /// Whatever the unknown values are, a percentile that claims to be known is the true one, and
    /// one that claims to be a lower bound can be exceeded.
    #[test]
    fn censored_percentiles_against_every_outcome() {
        // Values 1 to 4 of up to five flows; unknown ones become any value from theirs to 5.
        for code in 0..8_u32.pow(4) {
            let values: Vec<(u32, bool)> = (0..4)
                .map(|i| code / 8_u32.pow(i) % 8)
                .map(|c| (c / 2 + 1, c % 2 == 0))
                .collect();
            let censored = Censored::new(values.iter().copied(), u32::cmp);
            for p in [25.0, 50.0, 75.0, 99.0] {
                let found = censored.percentile(p).unwrap();
                let unknown_at = |high: bool| {
                    let mut truth: Vec<u32> = values
                        .iter()
                        .map(|&(v, known)| if known || !high { v } else { 5 })
                        .collect();
                    truth.sort_unstable();
                    percentile(&truth, p).unwrap()
                };
                assert_eq!(found.value, unknown_at(false), "{values:?} p{p}");
                let moves = unknown_at(true) > found.value;
                assert_eq!(found.lower_bound, moves, "{values:?} p{p}");
            }
        }
        assert_eq!(Censored::<u32>::default().percentile(50.0), None);
    }

    #[test]
    fn jain_index() {
        assert_eq!(jain([1.0, 1.0, 1.0]), Some(1.0));
        assert_eq!(jain([1.0, 0.0]), Some(0.5));
        assert_eq!(jain([0.0]), None);
    }
}
