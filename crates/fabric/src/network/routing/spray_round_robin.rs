//! Per-packet spraying, round robin: each switch cycles over its equal-cost
//! ports for each destination host, as PIAS's ns-2 experiment does.

use fctlab_core::random::Seed;
use serde::{Deserialize, Serialize};

use super::{Choice, Choose, RoutingPart};
use crate::network::Fabric;

/// Each packet takes the next path, per switch and destination.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

/// The next port for each switch and destination.
pub struct RoundRobin {
    hosts: u32,
    next: Vec<u16>,
}

impl RoutingPart for Spec {
    type State = RoundRobin;
    const SPRAYS: bool = true;
    fn start(&self, fabric: &Fabric, _: Seed) -> RoundRobin {
        let next = vec![0; fabric.hosts as usize * fabric.switches.len()];
        RoundRobin {
            hosts: fabric.hosts,
            next,
        }
    }
}

impl Choose for RoundRobin {
    #[inline(never)]
    fn choose(&mut self, choice: &Choice) -> u32 {
        let next = &mut self.next[(choice.switch * self.hosts) as usize + usize::from(choice.dst)];
        let chosen = u32::from(*next) % choice.count;
        *next = (chosen + 1) as u16;
        chosen
    }
}
