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

    #[test]
    fn jain_index() {
        assert_eq!(jain([1.0, 1.0, 1.0]), Some(1.0));
        assert_eq!(jain([1.0, 0.0]), Some(0.5));
        assert_eq!(jain([0.0]), None);
    }
}
