//! A fabric of one's own: hosts, switches and links, in tables or in a file.

use std::collections::HashMap;
use std::path::PathBuf;

use fctlab_core::{Duration, Rate, SpecError, spec};
use serde::{Deserialize, Serialize};

use super::{Cable, Details, Graph, Topology};

topology_spec! {
    /// A fabric of one's own: hosts, switches and links, each with a rate and a delay.
    {
        /// A file with the tables `hosts`, `switches` and `links` (TOML, YAML or JSON), or a CSV file of
        /// links with the columns `a,b,rate,delay`. Default: the tables stand here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<PathBuf>,
        /// The hosts, numbered in this order from 0. Default: nodes with one link, as `links` name them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hosts: Vec<HostSpec>,
        /// The switches. Default: all other nodes, as `links` name them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        switches: Vec<SwitchSpec>,
        /// The links. Default: those of `file`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        links: Vec<LinkSpec>,
    }
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSpec {
    /// What ports and links call it.
    pub name: String,
    /// Its address, for people and logs. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its rack, which patterns go by. Default: that of its switch; all or none name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSpec {
    /// What ports and links call it.
    pub name: String,
    /// Its layer, after which tiers are called. Default: its name without the number at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// The host or switch at one end.
    pub a: String,
    /// The host or switch at the other end.
    pub b: String,
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay, one way. Default: `topology.link_delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
}

/// What a file may have, and a topology instead of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tables {
    #[serde(default)]
    hosts: Vec<HostSpec>,
    #[serde(default)]
    switches: Vec<SwitchSpec>,
    links: Vec<LinkSpec>,
}

impl Spec {
    /// Puts what a file has in its place.
    ///
    /// # Errors
    /// Tables beside the file.
    pub(crate) fn fill(&mut self, tables: Tables) -> Result<(), SpecError> {
        let Tables {
            hosts,
            switches,
            links,
        } = tables;
        for (key, there) in [
            ("hosts", !self.hosts.is_empty()),
            ("switches", !self.switches.is_empty()),
            ("links", !self.links.is_empty()),
        ] {
            if there {
                let message = "has no meaning beside file, which has them all";
                return Err(SpecError::new(key, message));
            }
        }
        (self.hosts, self.switches, self.links) = (hosts, switches, links);
        self.file = None;
        Ok(())
    }

    /// The names of hosts and switches, as written or as links have them.
    fn nodes(&self) -> (Vec<&str>, Vec<&str>) {
        let mut hosts: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        let mut switches: Vec<&str> = self.switches.iter().map(|s| s.name.as_str()).collect();
        let mut degree: HashMap<&str, u32> = HashMap::new();
        let ends = || self.links.iter().flat_map(|l| [l.a.as_str(), l.b.as_str()]);
        for end in ends() {
            *degree.entry(end).or_default() += 1;
        }
        for name in hosts.iter().chain(&switches) {
            degree.remove(name);
        }
        let found_hosts = hosts.is_empty();
        let found_switches = switches.is_empty();
        for name in ends() {
            match degree.remove(name) {
                Some(1) if found_hosts => hosts.push(name),
                // With one link it would lead nowhere: a name that is written wrongly.
                Some(links) if found_switches && links > 1 => switches.push(name),
                _ => {}
            }
        }
        (hosts, switches)
    }

    /// Racks by number, in the order of their first hosts; none where no host names one.
    fn racks(&self) -> Result<Vec<u32>, SpecError> {
        if self.hosts.iter().all(|host| host.rack.is_none()) {
            return Ok(Vec::new());
        }
        let mut known: Vec<&str> = Vec::new();
        let mut racks = Vec::with_capacity(self.hosts.len());
        for (i, host) in self.hosts.iter().enumerate() {
            let Some(rack) = host.rack.as_deref() else {
                let message = "is missing; other hosts have one";
                return Err(SpecError::new(format!("hosts[{i}].rack"), message));
            };
            let number = known.iter().position(|known| *known == rack);
            racks.push(number.unwrap_or(known.len()) as u32);
            if number.is_none() {
                known.push(rack);
            }
        }
        Ok(racks)
    }

    /// Checks names: none empty or twice, none that ports could not have.
    fn check_names(&self, hosts: &[&str], switches: &[&str]) -> Result<(), SpecError> {
        let mut seen = HashMap::new();
        let of = |list: &'static str, names: &[&str]| -> Vec<(String, String)> {
            let path =
                |(i, name): (usize, &&str)| (format!("{list}[{i}].name"), (*name).to_owned());
            names.iter().enumerate().map(path).collect()
        };
        for (path, name) in of("hosts", hosts)
            .into_iter()
            .chain(of("switches", switches))
        {
            if name.trim().is_empty() || name.contains("->") {
                let message = format!("{name:?} is not a name; it is empty, or has \"->\" in it");
                return Err(SpecError::new(path, message));
            }
            if let Some(other) = seen.get(&name) {
                return Err(SpecError::new(path, format!("{name:?} is also {other}")));
            }
            seen.insert(name, path);
        }
        Ok(())
    }
}

impl Topology for Spec {
    fn graph(&self) -> Result<Graph, SpecError> {
        if self.links.is_empty() {
            let message = "is missing; write [[topology.links]], or `file`";
            return Err(SpecError::new("links", message));
        }
        let (hosts, switches) = self.nodes();
        self.check_names(&hosts, &switches)?;
        let names: Vec<&str> = hosts.iter().chain(&switches).copied().collect();
        let number: HashMap<&str, u32> = names.iter().copied().zip(0..).collect();
        let mut links_of = vec![0u32; names.len()];
        let mut between = HashMap::new();
        let mut cables = Vec::with_capacity(self.links.len());
        for (i, link) in self.links.iter().enumerate() {
            let wrong =
                |key: &str, message: String| SpecError::new(format!("links[{i}]{key}"), message);
            let node = |key: &str, name: &str| match number.get(name) {
                Some(number) => Ok(*number),
                None => {
                    let hint = spec::hint(name, &names);
                    let message = format!("{name:?} is neither a host nor a switch; {hint}");
                    Err(wrong(key, message.trim_end_matches("; ").to_owned()))
                }
            };
            let (a, b) = (node(".a", &link.a)?, node(".b", &link.b)?);
            if a == b {
                return Err(wrong("", format!("leads from {:?} to itself", link.a)));
            }
            if let Some(other) = between.insert((a.min(b), a.max(b)), i) {
                let message = format!(
                    "joins {:?} and {:?}, as links[{other}] does; write one with the rate of both",
                    link.a, link.b
                );
                return Err(wrong("", message));
            }
            for end in [a, b] {
                links_of[end as usize] += 1;
            }
            cables.push(Cable {
                a,
                b,
                rate: link.rate,
            });
        }
        for (i, (name, links)) in hosts.iter().zip(&links_of).enumerate() {
            if *links != 1 {
                let message = format!("{name:?} has {links} links; a host has one, to a switch");
                return Err(SpecError::new(format!("hosts[{i}]"), message));
            }
        }
        let count = hosts.len() as u32;
        if let Some(i) = cables.iter().position(|c| c.a < count && c.b < count) {
            let message = "joins two hosts; a host's link is to a switch";
            return Err(SpecError::new(format!("links[{i}]"), message));
        }
        if count < 2 {
            return Err(SpecError::new(
                "hosts",
                format!("{count} hosts; a fabric needs at least two"),
            ));
        }
        Ok(Graph {
            hosts: count,
            switches: switches.iter().map(|&name| name.to_owned()).collect(),
            cables,
            sink: None,
        })
    }

    fn details(&self) -> Result<Details, SpecError> {
        let (hosts, _) = self.nodes();
        Ok(Details {
            hosts: hosts.iter().map(|&name| name.to_owned()).collect(),
            racks: self.racks()?,
            layers: self
                .switches
                .iter()
                .map(|switch| switch.layer.clone())
                .collect(),
            delays: self.links.iter().map(|link| link.delay).collect(),
        })
    }
}
