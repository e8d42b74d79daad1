//! The rows of a trace, read once before anything is simulated.
//!
//! A trace may be long, and is run under many schemes: one that was read to its end is not read
//! again by this process while neither the file nor what is asked of it changes.

use std::collections::HashSet;
use std::fs::Metadata;
use std::sync::{Mutex, PoisonError};

use fctlab_core::SpecError;
use fctlab_workload::{TraceSource, Traffic};
use serde_json::json;

use crate::model;
use crate::network::Fabric;
use crate::scenario::{EngineSpec, Scenario};

/// Reads `traffic` to its end where it is a trace, or where flows may lead elsewhere than the
/// engine goes.
///
/// # Errors
/// The first row that is no flow of this fabric.
pub(super) fn check(
    scenario: &Scenario,
    fabric: &Fabric,
    mut traffic: Traffic,
) -> Result<(), SpecError> {
    static READ: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let model = matches!(scenario.engine, EngineSpec::Model(_));
    let file = match &scenario.traffic.trace {
        Some(TraceSource::File(file)) => Some(file),
        Some(TraceSource::Rows(_)) => None,
        None => return check_drawn(model, fabric, traffic),
    };
    let state = |file: Metadata| format!("{} {:?}", file.len(), file.modified().ok());
    let layout = (fabric.hosts, &fabric.switch_of, fabric.sink);
    let key = file.map(|file| {
        let read = std::fs::metadata(file).ok().map(state);
        json!([read, scenario.traffic, scenario.packet, layout, model]).to_string()
    });
    let read = || READ.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |key| read().get_or_insert_default().contains(key);
    if key.as_ref().is_some_and(known) {
        return Ok(());
    }
    for flow in traffic.by_ref() {
        if model {
            model::check_flow(&flow, fabric)?;
        }
    }
    if let Some(error) = traffic.error() {
        return Err(error.clone().under("traffic"));
    }
    // Not held while a file is read: another thread may read another one.
    read().get_or_insert_default().extend(key);
    Ok(())
}

/// Flows of a pattern that may lead elsewhere than the model goes.
fn check_drawn(model: bool, fabric: &Fabric, mut traffic: Traffic) -> Result<(), SpecError> {
    let receives = |host: usize| Some(host as u32) == fabric.sink;
    let elsewhere = traffic.demands(&fabric.layout()).iter().any(|demand| {
        let received = demand.payload.received.iter().enumerate();
        let mut others = received.filter(|(host, _)| !receives(*host));
        others.any(|(_, &bytes)| bytes > 0.0)
    });
    // The first of those that lead elsewhere, where the pattern has any.
    let found =
        (model && elsewhere).then(|| traffic.find(|flow| model::check_flow(flow, fabric).is_err()));
    found
        .flatten()
        .map_or(Ok(()), |flow| model::check_flow(&flow, fabric))
}
