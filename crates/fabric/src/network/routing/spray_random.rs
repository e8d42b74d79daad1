//! Per-packet spraying, uniformly random (packet spraying as in pFabric,
//! SIGCOMM 2013, section 5.1; Dixit et al., INFOCOM 2013).

use fctlab_core::random::Seed;
use rand::Rng;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use super::{Choice, Choose, RoutingPart};
use crate::network::Fabric;

/// Each packet takes a random path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

/// The scheme's own random stream; it disturbs no other.
pub struct Random(Pcg64);

impl RoutingPart for Spec {
    type State = Random;
    const SPRAYS: bool = true;
    fn start(&self, _: &Fabric, seed: Seed) -> Random {
        Random(seed.stream("spraying"))
    }
}

impl Choose for Random {
    #[inline]
    fn choose(&mut self, choice: &Choice) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(choice.count)) >> 32) as u32
    }
}
