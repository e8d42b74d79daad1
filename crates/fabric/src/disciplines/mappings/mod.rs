//! From a large space of priorities to few queues (ADS, section 3.2: "priority
//! mapping"): where a port's table comes from ([`Mapping`]), and the policies
//! that compute thresholds from the values that a port has seen
//! ([`MappingPolicy`]; one file and two lines below per policy).

pub mod fixed;
pub mod learned;

use fctlab_core::SpecError;

fctlab_core::parts! {
    /// Where the table from value to queue comes from.
    pub enum Mapping, "mapping" {
        "static" => Static(fixed::Spec),
        "dynamic" => Dynamic(learned::Spec),
    }
}

/// Values of the field that holds the priority: the 12 bits of 802.1Q's VID
/// (ADS, section 3.2).
pub const VALUES: usize = 1 << 12;

/// The values that a port has seen in data packets.
#[derive(Clone, Copy, Debug)]
pub struct Histogram<'a> {
    /// Packets per value, from value 0 on.
    pub packets: &'a [u64],
    /// Full packets that the port could have sent in the time that the
    /// histogram covers.
    pub capacity: f64,
}

/// A rule that divides values among queues.
pub trait Map {
    /// The largest value of each of `queues` queues but the last, ascending;
    /// equal neighbours leave a queue empty. The histogram is not empty.
    fn thresholds(&self, seen: &Histogram<'_>, queues: usize) -> Vec<u32>;

    /// Checks its own parameters.
    ///
    /// # Errors
    /// A parameter that makes no sense, with its path.
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }
}

/// Declares the policies: one line each, naming file and name; the file's `mod` line is beside them.
macro_rules! mappings {
    ($( $kind:literal => $variant:ident($file:ident) ),+ $(,)?) => {
        fctlab_core::parts! {
            /// The choice of a mapping policy.
            pub enum MappingPolicy, "mapping policy" { $( $kind => $variant($file::Spec) ),+ }
        }

        impl MappingPolicy {
            /// See [`Map::thresholds`].
            pub fn thresholds(&self, seen: &Histogram<'_>, queues: usize) -> Vec<u32> {
                match self { $( MappingPolicy::$variant(p) => p.thresholds(seen, queues) ),+ }
            }
            /// See [`Map::check`].
            ///
            /// # Errors
            /// A parameter that makes no sense.
            pub fn check(&self) -> Result<(), SpecError> {
                match self { $( MappingPolicy::$variant(p) => p.check() ),+ }
            }
        }
    };
}

pub mod equal_split;
pub mod least_slowdown;

mappings! {
    "equal-split" => EqualSplit(equal_split),
    "least-slowdown" => LeastSlowdown(least_slowdown),
}
