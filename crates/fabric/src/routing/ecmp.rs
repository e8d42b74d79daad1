//! ECMP: one path per flow by hash (RFC 2992). Each switch mixes the flow's
//! hash with its own number, so that tiers choose independently.

use fctlab_core::random::Seed;
use serde::{Deserialize, Serialize};

use super::{Choice, Choose, RoutingPart};
use crate::topology::Fabric;

/// One path per flow, by hash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

/// No state: the hash decides.
pub struct Ecmp;

impl RoutingPart for Spec {
    type State = Ecmp;
    const SPRAYS: bool = false;
    fn start(&self, _: &Fabric, _: Seed) -> Ecmp {
        Ecmp
    }
}

impl Choose for Ecmp {
    #[inline]
    fn choose(&mut self, choice: &Choice) -> u32 {
        // Fibonacci hashing; the upper bits of the product depend on all bits below.
        let salt = choice.switch.wrapping_mul(0x9e37_79b9);
        let mixed = (choice.hash ^ salt).wrapping_mul(0x85eb_ca6b);
        ((u64::from(mixed ^ mixed >> 15) * u64::from(choice.count)) >> 32) as u32
    }
}
