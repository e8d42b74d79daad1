//! Named random streams of one seed.
//!
//! Arrivals, sizes, endpoints and path hashes each have a stream of their own,
//! so that two schemes differ only in what the scheme does (common random
//! numbers). Draws that a scheme makes for itself, such as spraying, come from
//! a further stream and disturb no other.

use rand::SeedableRng;
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
    use rand::Rng;

    #[test]
    fn streams_are_fixed_for_ever_and_differ_by_name() {
        let first = |seed, name| Seed(seed).stream(name).next_u64();
        assert_eq!(first(1, "sizes"), first(1, "sizes"));
        assert_ne!(first(1, "sizes"), first(1, "arrivals"));
        assert_ne!(first(1, "sizes"), first(2, "sizes"));
        // A changed value here changes every published result.
        assert_eq!(first(1, "sizes"), GOLDEN);
    }
    const GOLDEN: u64 = 10_455_645_792_637_011_169;
}
