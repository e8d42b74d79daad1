//! The order in which paths pass links: what goes on through one link goes through later ones.

use super::Fabric;

impl Fabric {
    /// The place of each link: NICs are at 0, and whatever path a flow takes, each of its links is at a later place than
    /// the one before it.
    ///
    /// # Errors
    /// Shortest paths lead round a ring: the links of one, in their order.
    pub(crate) fn places_of_links(&self) -> Result<Vec<u32>, Vec<u32>> {
        let next = self.links_after();
        let mut before = vec![0usize; next.len()];
        next.iter()
            .flatten()
            .for_each(|&link| before[link as usize] += 1);
        let mut places: Vec<u32> = self
            .links
            .iter()
            .map(|link| u32::from(link.from >= self.hosts))
            .collect();
        let mut ready: Vec<u32> = (0u32..)
            .zip(&before)
            .filter(|(_, before)| **before == 0)
            .map(|(link, _)| link)
            .collect();
        while let Some(link) = ready.pop() {
            for &later in &next[link as usize] {
                let place = places[link as usize] + 1;
                places[later as usize] = places[later as usize].max(place);
                before[later as usize] -= 1;
                if before[later as usize] == 0 {
                    ready.push(later);
                }
            }
        }
        match before.iter().position(|&before| before > 0) {
            None => Ok(places),
            Some(_) => Err(ring(&next, &before)),
        }
    }

    /// The links that a flow may take after each link between switches; nothing else is told of NICs, which come first,
    /// and of links to hosts, which come last.
    fn links_after(&self) -> Vec<Vec<u32>> {
        let mut next = vec![Vec::new(); self.links.len()];
        let mut by_switch = vec![Vec::new(); self.switches.len()];
        for host in 0..self.hosts {
            by_switch[(self.switch_of[host as usize] - self.hosts) as usize].push(host);
        }
        for (rack, hosts) in (0u32..).zip(&by_switch) {
            let Some(&host) = hosts.first() else { continue };
            for switch in 0..self.switches.len() as u32 {
                for &port in self.routes.toward(switch, host) {
                    let to = self.links[port as usize].to - self.hosts;
                    let after = &mut next[port as usize];
                    if to == rack {
                        after.extend(hosts.iter().map(|&host| self.routes.to_host(host)));
                    } else {
                        after.extend(self.routes.toward(to, host));
                    }
                }
            }
        }
        for links in &mut next {
            links.sort_unstable();
            links.dedup();
        }
        next
    }
}

/// Links that lead back to the first, of those that are still `before` others.
fn ring(next: &[Vec<u32>], before: &[usize]) -> Vec<u32> {
    // Each of these has one of them before it, so the way back ends in a ring.
    let left = |link: u32| before[link as usize] > 0;
    let mut previous = vec![u32::MAX; next.len()];
    for (link, links) in (0u32..).zip(next).filter(|(link, _)| left(*link)) {
        links
            .iter()
            .for_each(|&later| previous[later as usize] = link);
    }
    let mut link = (0..next.len() as u32)
        .find(|&link| left(link))
        .unwrap_or_default();
    let mut way = Vec::new();
    while !way.contains(&link) {
        way.push(link);
        link = previous[link as usize];
    }
    let first = way.iter().position(|&known| known == link).unwrap_or(0);
    way.drain(..first);
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use crate::network::Fabric;

    fn fabric(switches: u32, cables: &[(u32, u32)]) -> Fabric {
        Fabric::of(switches, switches, cables.iter().copied())
    }

    /// A host at each of the switches.
    fn hosts(switches: u32) -> Vec<(u32, u32)> {
        (0..switches).map(|i| (i, switches + i)).collect()
    }

    #[test]
    fn links_come_after_those_that_lead_to_them() {
        let row: Vec<_> = [hosts(3), vec![(3, 4), (4, 5)]].concat();
        let fabric = fabric(3, &row);
        let places = fabric.places_of_links().unwrap();
        let place = |name: &str| places[fabric.port_named(name).unwrap() as usize];
        assert_eq!(place("host 1 -> switch 1"), 0);
        assert_eq!(place("switch 0 -> switch 1"), 1);
        assert_eq!(place("switch 1 -> switch 2"), 2);
        assert_eq!(place("switch 2 -> host 2"), 3);
        assert_eq!(place("switch 0 -> host 0"), 3);
    }

    #[test]
    fn a_ring_is_told_in_its_order() {
        let around: Vec<_> = (0..5).map(|i| (5 + i, 5 + (i + 1) % 5)).collect();
        let fabric = fabric(5, &[hosts(5), around].concat());
        let ring = fabric.places_of_links().unwrap_err();
        assert_eq!(ring.len(), 5);
        for (link, next) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            assert_eq!(
                fabric.links[*link as usize].to,
                fabric.links[*next as usize].from
            );
        }
    }
}
