//! A table that stays: written by hand, or computed from the values that each
//! switch has seen under true SRPT (ADS, section 3.3) and kept in a file of
//! `fctlab mapping`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fctlab_core::{SpecError, spec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::VALUES;
use crate::disciplines::Site;
use crate::network::Fabric;

/// A table that stays: given here, or in a file of `fctlab mapping`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// The largest value of each queue but the last: one list for every port,
    /// or lists by name of a node (`"leaf 0"`) or port (`"leaf 0 -> host 3"`). Default: those of
    /// `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thresholds: Option<Thresholds>,
    /// Instead, a file that has them. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// One list of thresholds, or one per node or port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Thresholds {
    /// For every port.
    Global(Vec<u32>),
    /// By name of node or port.
    Named(BTreeMap<String, Vec<u32>>),
}

fn check(cuts: &[u32], queues: usize) -> Result<(), SpecError> {
    if cuts.len() + 1 != queues {
        let n = cuts.len();
        let message = format!("{n} thresholds for {queues} queues; it takes one less than queues");
        return Err(SpecError::new("", message));
    }
    if let Some(i) = (1..cuts.len()).find(|&i| cuts[i] < cuts[i - 1]) {
        let message = format!(
            "{} after {}; thresholds must not fall",
            cuts[i],
            cuts[i - 1]
        );
        return Err(SpecError::new(format!("[{i}]"), message));
    }
    match cuts.iter().find(|&&cut| cut as usize >= VALUES) {
        Some(cut) => {
            let message = format!("{cut} is not in [0, {}]", VALUES - 1);
            Err(SpecError::new("", message))
        }
        None => Ok(()),
    }
}

impl Thresholds {
    /// Whether they have the right number and names.
    fn fit(&self, queues: usize, fabric: &Fabric) -> Result<(), SpecError> {
        let named = match self {
            Thresholds::Global(cuts) => return check(cuts, queues),
            Thresholds::Named(named) => named,
        };
        let another = |message: String| {
            Err(SpecError::new(
                "",
                format!("{message}: it is for another topology"),
            ))
        };
        let node = |id: u32| fabric.node_name(fabric.links[id as usize].from);
        let ports = 0..fabric.links.len() as u32;
        let names: Vec<_> = ports.map(|id| (fabric.port_name(id), node(id))).collect();
        for (name, cuts) in named {
            if !names
                .iter()
                .any(|(port, node)| port == name || node == name)
            {
                return another(format!("{name:?} is not a node or port here"));
            }
            check(cuts, queues).map_err(|e| e.under(name))?;
        }
        let known = |name: &String| named.contains_key(name);
        match names
            .iter()
            .find(|(port, node)| !known(port) && !known(node))
        {
            Some((port, _)) => another(format!("says nothing of port {port:?}")),
            None => Ok(()),
        }
    }
}

/// What a file of `fctlab mapping` must hold; its other keys say where it is from.
#[derive(Deserialize)]
struct MappingFile {
    thresholds: Thresholds,
}

fn read(file: &Path) -> Result<Thresholds, SpecError> {
    let wrong = |message: String| SpecError::new("", message);
    let text = std::fs::read_to_string(file).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    let value: Value =
        serde_json::from_str(&text).map_err(|e| wrong(format!("is not JSON: {e}")))?;
    let MappingFile { thresholds } = spec::read(value).map_err(|e| {
        wrong(format!(
            "is not a mapping as `fctlab mapping` writes it: {e}"
        ))
    })?;
    Ok(thresholds)
}

impl Spec {
    /// Reads the file, if there is one, and checks names and numbers.
    ///
    /// # Errors
    /// What cannot be read, or is for another topology or number of queues.
    pub fn resolve(
        &mut self,
        queues: usize,
        base_dir: &Path,
        fabric: &Fabric,
    ) -> Result<(), SpecError> {
        match (&self.thresholds, &self.file) {
            (Some(thresholds), None) => thresholds
                .fit(queues, fabric)
                .map_err(|e| e.under("thresholds")),
            (None, Some(file)) => {
                let named =
                    |e: SpecError| SpecError::new("file", format!("{}: {e}", file.display()));
                let thresholds = read(&base_dir.join(file)).map_err(named)?;
                thresholds.fit(queues, fabric).map_err(named)?;
                // The resolved scenario holds the table itself.
                *self = Spec {
                    thresholds: Some(thresholds),
                    file: None,
                };
                Ok(())
            }
            _ => Err(SpecError::new(
                "",
                "needs either thresholds or a file that has them",
            )),
        }
    }

    /// The table of one port.
    pub fn table(&self, queues: usize, site: &Site<'_>) -> Vec<u32> {
        let cuts = match &self.thresholds {
            Some(Thresholds::Global(cuts)) => Some(cuts),
            Some(Thresholds::Named(named)) => named.get(site.port).or(named.get(site.node)),
            None => None,
        };
        cuts.cloned()
            .unwrap_or_else(|| vec![0; queues.saturating_sub(1)])
    }
}
