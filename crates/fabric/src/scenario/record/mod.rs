//! What a scenario asks to record: a file for each recorder.

pub mod packets;
pub mod ports;
pub mod values;
pub mod waits;
pub mod windows;

use fctlab_core::SpecError;
use serde::{Deserialize, Serialize};

use crate::network::Fabric;

/// What to record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecordSpec {
    /// Time series of ports, into `port_series.parquet`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<ports::Spec>,
    /// Windows of chosen flows, into `windows.parquet`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<windows::Spec>,
    /// Packets of chosen flows, into `packets.pcapng`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<packets::Spec>,
    /// The longest waits in ports, into `waits.csv`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<waits::Spec>,
    /// The priorities that ports see, into `values.parquet`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<values::Spec>,
}

impl RecordSpec {
    /// Checks names and numbers against the fabric and the number of flows,
    /// where the traffic has a limit.
    ///
    /// # Errors
    /// A port or flow that does not exist, or nothing to record.
    pub fn check(&self, fabric: &Fabric, flows: Option<u64>) -> Result<(), SpecError> {
        if let Some(spec) = &self.ports {
            spec.resolve(fabric).map_err(|e| e.under("ports"))?;
        }
        if let Some(spec) = &self.windows {
            check_flows(&spec.flows, flows).map_err(|e| e.under("windows.flows"))?;
        }
        if let Some(spec) = &self.packets {
            check_flows(&spec.flows, flows).map_err(|e| e.under("packets.flows"))?;
        }
        if let Some(spec) = &self.values {
            spec.check().map_err(|e| e.under("values"))?;
        }
        Ok(())
    }
}

/// Checks a list of flows; `limit` is how many the traffic has at most.
///
/// # Errors
/// An empty list, or a number beyond the limit.
fn check_flows(flows: &[u64], limit: Option<u64>) -> Result<(), SpecError> {
    if flows.is_empty() {
        let message = "is empty; list at least one flow by its number in the stream, from 0";
        return Err(SpecError::new("", message));
    }
    for (i, flow) in flows.iter().enumerate() {
        if limit.is_some_and(|n| *flow >= n) {
            let last = limit.unwrap_or(0).saturating_sub(1);
            let message = format!(
                "{flow} is not in [0, {last}]: flows are numbered from 0 to traffic.flows - 1"
            );
            return Err(SpecError::new(format!("[{i}]"), message));
        }
    }
    Ok(())
}
