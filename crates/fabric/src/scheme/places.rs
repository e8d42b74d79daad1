//! Which ports a scheme's tables are for.
//!
//! `scheme.port` is that of all switches and `scheme.nic` that of all hosts; `scheme.ports.TIER`
//! changes the first at the ports of one tier, or at one port.

use fctlab_core::{Rate, SpecError};

use super::{PortSpec, SchemeSpec};
use crate::network::Fabric;

/// A table of a scheme, and the ports that it is for.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    /// Its path in the scheme: `port`, `nic`, `ports.leaf-up`.
    pub key: String,
    /// What it says.
    pub port: &'a PortSpec,
    /// Numbers of its links.
    pub links: Vec<u32>,
}

impl SchemeSpec {
    /// All of its tables. Each link of the fabric is in one of them.
    ///
    /// # Errors
    /// A table that is for no port, or for those of another.
    pub(crate) fn places(&self, fabric: &Fabric) -> Result<Vec<Place<'_>>, SpecError> {
        let place = |key: &str, port| Place {
            key: key.into(),
            port,
            links: Vec::new(),
        };
        let mut places = vec![place("port", &self.port), place("nic", &self.nic.port)];
        let nic = |link: &crate::network::Link| usize::from(link.from < fabric.hosts);
        let mut at: Vec<usize> = fabric.links.iter().map(nic).collect();
        if !self.ports.is_empty() {
            self.tiers(fabric, &mut places, &mut at)?;
        }
        for (id, place) in (0u32..).zip(at) {
            places[place].links.push(id);
        }
        Ok(places)
    }

    /// Puts the tables of tiers, then those of single ports, over the others.
    fn tiers<'a>(
        &'a self,
        fabric: &Fabric,
        places: &mut Vec<Place<'a>>,
        at: &mut [usize],
    ) -> Result<(), SpecError> {
        let sides = fabric.sides();
        let mut ones = Vec::new();
        for (name, port) in &self.ports {
            let key = format!("ports.{name}");
            let wrong = |message: String| SpecError::new(key.as_str(), message);
            let (ports, one) = fabric.switch_ports(name, &sides).map_err(wrong)?;
            if one {
                ones.push((ports[0], places.len()));
            }
            for &id in ports.iter().filter(|_| !one) {
                let known = &mut at[id as usize];
                if *known > 1 {
                    let message = format!("are the ports of {} as well", places[*known].key);
                    return Err(wrong(message));
                }
                *known = places.len();
            }
            places.push(Place {
                key,
                port,
                links: Vec::new(),
            });
        }
        for (id, place) in ones {
            at[id as usize] = place;
        }
        Ok(())
    }
}

impl Place<'_> {
    /// The rates of its ports, each once, and a port of each.
    pub(crate) fn rates(&self, fabric: &Fabric) -> Vec<(Rate, u32)> {
        let mut rates: Vec<(Rate, u32)> = Vec::new();
        for &id in &self.links {
            let rate = fabric.links[id as usize].rate;
            if !rates.iter().any(|(known, _)| *known == rate) {
                rates.push((rate, id));
            }
        }
        rates
    }
}
