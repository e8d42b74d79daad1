//! Links that are absent, and whether every host can still reach every other.

use fctlab_core::{SpecError, spec};

use super::topology::{Cable, Graph};
use super::{Fabric, Node};

/// Takes the links out of `graph` that `down` names: one by one as `FROM -> TO`, or all of a switch.
/// `name` says what a node is called.
///
/// # Errors
/// What names no link and no switch.
pub(super) fn take_out(
    graph: &mut Graph,
    down: &[String],
    name: impl Fn(Node) -> String,
) -> Result<(), SpecError> {
    if down.is_empty() {
        return Ok(());
    }
    let ends = |cable: &Cable| [name(cable.a), name(cable.b)];
    let named: Vec<[String; 2]> = graph.cables.iter().map(ends).collect();
    let switches = &graph.switches;
    let mut absent = vec![false; named.len()];
    for (i, gone) in down.iter().enumerate() {
        let is_switch = switches.contains(gone);
        let mut any = false;
        for (absent, [a, b]) in absent.iter_mut().zip(&named) {
            let is = if is_switch {
                a == gone || b == gone
            } else {
                let (from, to) = gone.split_once(" -> ").unwrap_or_default();
                (from, to) == (a, b) || (from, to) == (b, a)
            };
            *absent |= is;
            any |= is;
        }
        if !any && !is_switch {
            let links = named.iter().map(|[a, b]| format!("{a} -> {b}"));
            let known: Vec<String> = links.chain(switches.iter().cloned()).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let example = named.last().map(|[a, b]| format!("{a} -> {b}"));
            let message = format!(
                "{gone:?} is neither a link nor a switch; {}a link is such as {:?}",
                spec::hint(gone, &known),
                example.unwrap_or_default()
            );
            return Err(SpecError::new(format!("down[{i}]"), message));
        }
    }
    let mut absent = absent.into_iter();
    graph.cables.retain(|_| !absent.next().unwrap_or_default());
    Ok(())
}

impl Fabric {
    /// Checks that every host reaches every other; `key` is where what is missing was written.
    ///
    /// # Errors
    /// A host without a link; two hosts between which there is no path.
    pub(super) fn check_reach(&self, key: &str) -> Result<(), SpecError> {
        let wrong = |message: String| Err(SpecError::new(key, message));
        if let Some(host) = self.nics.iter().position(|nic| *nic == u32::MAX) {
            return wrong(format!(
                "leaves {} without its link",
                self.node_name(host as u32)
            ));
        }
        let mut outgoing = vec![Vec::new(); self.hosts as usize + self.switches.len()];
        for link in &self.links {
            outgoing[link.from as usize].push(link.to);
        }
        let mut reached = vec![false; outgoing.len()];
        let mut stack = vec![0];
        reached[0] = true;
        while let Some(node) = stack.pop() {
            for &to in &outgoing[node as usize] {
                if !std::mem::replace(&mut reached[to as usize], true) {
                    stack.push(to);
                }
            }
        }
        match reached[..self.hosts as usize]
            .iter()
            .position(|reached| !reached)
        {
            None => Ok(()),
            Some(host) => {
                let (first, host) = (self.node_name(0), self.node_name(host as u32));
                wrong(format!("leaves no path between {first} and {host}"))
            }
        }
    }
}
