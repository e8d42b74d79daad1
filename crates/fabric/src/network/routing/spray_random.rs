//! Per-packet spraying, uniformly random (packet spraying as in pFabric,
//! SIGCOMM 2013, section 5.1; Dixit et al., INFOCOM 2013).

use fctlab_core::random::Seed;
use rand::Rng;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use super::{Choice, Choose, RoutingPart};
use crate::index::at_mut;
use crate::network::Fabric;

/// Each packet takes a random path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

/// The scheme's own random streams, one for each switch; they disturb no other.
pub struct Random(Vec<Pcg64>);

impl RoutingPart for Spec {
    type State = Random;
    const SPRAYS: bool = true;
    fn start(&self, fabric: &Fabric, seed: Seed) -> Random {
        let seed = seed.child("spraying");
        let switches = fabric.switches.iter();
        Random(switches.map(|name| seed.stream(name)).collect())
    }
}

impl Choose for Random {
    #[inline(never)]
    fn choose(&mut self, choice: &Choice) -> u32 {
        let stream = at_mut(&mut self.0, choice.switch);
        ((u64::from(stream.next_u32()) * u64::from(choice.count)) >> 32) as u32
    }
}
