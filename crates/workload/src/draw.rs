//! Draws with fixed bits: the same on every machine and with every version of
//! a library.
//!
//! `rand_distr` takes exp and ln from the platform as soon as any crate of the
//! build turns on the standard library in `num-traits` (arrow does); these
//! draws use `libm` only.

use fctlab_core::random::unit_interval;
use rand::Rng;

/// Uniform in [0, 1), with 53 random bits.
pub(crate) fn unit(rng: &mut impl Rng) -> f64 {
    unit_interval(rng.next_u64())
}

/// Uniform over `0..n`, with a bias below 2^-32; 0 when `n` is 0.
///
/// Always one draw (Lemire's multiplication without its rejection step), so
/// that changing `n` shifts no later draw.
pub(crate) fn below(rng: &mut impl Rng, n: u32) -> u32 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u32
}

/// Exponential with mean 1, by inversion.
pub(crate) fn exponential(rng: &mut impl Rng) -> f64 {
    -libm::log(1.0 - unit(rng))
}

/// Normal with mean 0 and variance 1 (Box and Muller, 1958; the sine is not used).
pub(crate) fn normal(rng: &mut impl Rng) -> f64 {
    let radius = (2.0 * exponential(rng)).sqrt();
    radius * libm::cos(2.0 * std::f64::consts::PI * unit(rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::random::Seed;

    /// Mean and variance of `n` draws.
    fn moments(n: u32, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = draw();
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        (mean, squares / f64::from(n) - mean * mean)
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        // Bounds: five standard errors at n = 10^6. Variance of the sample
        // variance: (mu4 - sigma^4) / n = 2/n for the normal, 8/n for the
        // exponential.
        let mut rng = Seed(1).stream("test");
        let (mean, variance) = moments(1_000_000, || normal(&mut rng));
        assert!(
            mean.abs() < 0.005 && (variance - 1.0).abs() < 0.0071,
            "{mean} {variance}"
        );
        let (mean, variance) = moments(1_000_000, || exponential(&mut rng));
        assert!(
            (mean - 1.0).abs() < 0.005 && (variance - 1.0).abs() < 0.0142,
            "{mean} {variance}"
        );
    }

    #[test]
    fn below_is_uniform_and_stays_below() {
        let mut rng = Seed(1).stream("test");
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[below(&mut rng, 7) as usize] += 1;
        }
        // Each count is binomial(70000, 1/7): five standard deviations are 463.
        assert!(
            counts.iter().all(|&c| c.abs_diff(10_000) < 463),
            "{counts:?}"
        );
    }

    #[test]
    fn bits_are_fixed_for_ever() {
        // A changed value here changes every published result.
        let mut rng = Seed(1).stream("test");
        let drawn = [
            exponential(&mut rng),
            normal(&mut rng),
            f64::from(below(&mut rng, 1 << 30)),
        ];
        let bits = [
            4_606_971_196_942_457_530,
            13_835_335_877_770_432_198,
            4_737_709_253_819_629_568,
        ];
        assert_eq!(drawn.map(f64::to_bits), bits);
    }
}
