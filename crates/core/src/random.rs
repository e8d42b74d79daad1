//! Named random streams of one seed.
//!
//! Arrivals, sizes, endpoints and path hashes each have a stream of their own,
//! so that two schemes differ only in what the scheme does (common random
//! numbers). Draws that a scheme makes for itself, such as spraying, come from
//! a further stream and disturb no other.

use std::iter;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// The seed of a run, from which every stream follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of the part of a run called `name`: the same on every machine and
    /// in every version.
    pub fn child(self, name: &str) -> Seed {
        // FNV-1a of the name.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
        Seed(mix(self.0) ^ hash)
    }

    /// The stream called `name`, likewise.
    pub fn stream(self, name: &str) -> Pcg64 {
        Pcg64::seed_from_u64(self.child(name).0)
    }
}

/// The words that NumPy's `default_rng(seed)` gives as 32 bits: PCG64, whose state is what
/// `SeedSequence` makes of the seed (O'Neill, "Developing a seed_seq alternative", 2015).
pub fn numpy_words(seed: u64) -> impl Iterator<Item = u32> {
    // Multiplies as it goes: the constants of the n-th word follow from those of the one before.
    let hasher = |start: u32, step: u32| {
        let mut constant = start;
        move |word: u32| {
            let word = word ^ constant;
            constant = constant.wrapping_mul(step);
            folded(word.wrapping_mul(constant))
        }
    };
    let mut hash = hasher(0x43b0_d7e5, 0x931e_8875);
    let mut pool = [seed as u32, (seed >> 32) as u32, 0, 0].map(&mut hash);
    for from in 0..pool.len() {
        for to in (0..pool.len()).filter(|&to| to != from) {
            let (a, b) = (pool[to], hash(pool[from]));
            let (a, b) = (a.wrapping_mul(0xca01_f9dd), b.wrapping_mul(0x4973_f715));
            pool[to] = folded(a.wrapping_sub(b));
        }
    }
    let mut hash = hasher(0x8b51_f9dd, 0x58f3_8ded);
    let mut number = |at: usize| {
        let [low, high] =
            [2 * at, 2 * at + 1].map(|word| u128::from(hash(pool[word % pool.len()])));
        high << 32 | low
    };
    let [a, b, c, d] = [0, 1, 2, 3].map(&mut number);
    let mut stream = Pcg64::new(a << 64 | b, c << 64 | d);
    iter::repeat_with(move || stream.next_u64()).flat_map(|both| [both as u32, (both >> 32) as u32])
}

/// Its upper half reaches its lower half.
fn folded(word: u32) -> u32 {
    word ^ (word >> 16)
}

/// SplitMix64's finalizer (Steele, Lea, Flood, OOPSLA 2014): a bijection in
/// which every input bit reaches every output bit.
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A uniform number in [0, 1) with 53 random bits, from 64 random bits.
pub fn unit_interval(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_fixed_for_ever_and_differ_by_name() {
        let first = |seed, name| Seed(seed).stream(name).next_u64();
        assert_eq!(first(1, "sizes"), first(1, "sizes"));
        assert_ne!(first(1, "sizes"), first(1, "arrivals"));
        assert_ne!(first(1, "sizes"), first(2, "sizes"));
        // A changed value here changes every published result.
        assert_eq!(first(1, "sizes"), GOLDEN);
    }

    #[test]
    fn numpys_words_are_numpys() {
        // As `default_rng(seed).integers(0, 2**32, 3)` gives them.
        let first = |seed| numpy_words(seed).take(3).collect::<Vec<_>>();
        assert_eq!(first(1), [2_032_329_983, 2_198_257_139, 3_243_419_750]);
        assert_eq!(
            first(1 << 40 | 7),
            [886_972_842, 3_564_019_232, 2_617_800_309]
        );
    }
    const GOLDEN: u64 = 10_455_645_792_637_011_169;
}
