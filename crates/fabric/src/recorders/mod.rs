//! Seeing inside a run: optional recorders, off by default and free when off.
//!
//! The engine is compiled twice, with and without the calls below (and what
//! else few runs have); without any recorder they cost nothing. A recorder only
//! looks: flow records are the same, bit for bit, with and without it.
//!
//! `[record]` asks for files, written while the run goes on so that memory does
//! not grow with it:
//!
//! * [`ports`]: `port_series.parquet`, what ports hold and do, sampled.
//! * [`windows`]: `windows.parquet`, window, packets in flight and alpha of
//!   chosen flows, at every change.
//! * [`packets`]: `packets.pcapng`, every packet of chosen flows, for Wireshark.
//! * [`waits`]: `waits.csv`, the longest waits in ports.
//! * [`values`]: `values.parquet`, the priorities that ports see.
//!
//! `measure.extras` asks for further summaries: [`goodput`], [`jain`],
//! [`starvation`] and [`queries`] (which needs flow records only).

mod chosen;
mod output;
mod progress;

pub mod goodput;
pub mod jain;
pub mod packets;
mod pcapng;
pub mod ports;
pub mod queries;
pub mod starvation;
pub mod values;
pub mod waits;
pub mod windows;

#[cfg(test)]
mod tests;

use std::path::Path;

use fctlab_core::stats::Bounded;
use fctlab_core::{Duration, SpecError, Time};
use serde_json::{Map, Value, json};

use self::progress::Progress;
use crate::engine::FlowState;
use crate::engine::port::Port;
use crate::engine::probe::Probe;
use crate::engine::slab::Slab;
use crate::measure::Extra;
use crate::network::Fabric;
use crate::outcome::RunError;
use crate::packet::{FlowSlot, Packet};
use crate::scenario::Scenario;
use crate::scenario::record::RecordSpec;

/// A statistic in seconds, and whether it is a lower bound.
fn bounded_s(found: Option<Bounded<Duration>>) -> (Option<f64>, bool) {
    let seconds = found.map(|b| b.value.as_secs_f64());
    (seconds, found.is_some_and(|b| b.lower_bound))
}

/// The recorders that are on.
#[derive(Default)]
pub struct Recorders {
    ports: Option<ports::Recorder>,
    windows: Option<windows::Recorder>,
    packets: Option<packets::Recorder>,
    waits: Option<waits::Recorder>,
    values: Option<values::Recorder>,
    /// What `goodput` and `starvation` are told.
    progress: Option<Progress>,
    goodput: Option<goodput::Recorder>,
    jain: Option<jain::Recorder>,
    starvation: Option<starvation::Recorder>,
    /// The first file that could not be written.
    failed: Option<RunError>,
}

/// What recorders found.
#[derive(Default)]
pub struct Findings {
    /// Names of the files.
    pub files: Vec<String>,
    /// Further summaries, by name.
    pub extras: Map<String, Value>,
}

impl Recorders {
    /// The recorders that `scenario` asks for. `window` is the measured one;
    /// files go to `dir`.
    ///
    /// # Errors
    /// Recordings without a directory, or files that cannot be created.
    pub fn new(
        scenario: &Scenario,
        fabric: &Fabric,
        window: (Time, Time),
        dir: Option<&Path>,
    ) -> Result<Self, RunError> {
        let record = &scenario.record;
        record
            .check(fabric, scenario.traffic.flows)
            .map_err(|e| e.under("record"))?;
        let mut recorders = Recorders::default();
        if *record != RecordSpec::default() {
            let message = "asks for recordings, which are files: say where with --out \
                           (recordings_out of the engine), or leave out [record]";
            let dir = dir.ok_or_else(|| SpecError::new("record", message))?;
            recorders.open_files(scenario, fabric, dir)?;
        }
        let (format, asked) = (&scenario.packet, &scenario.measure.extras);
        if asked.contains(&Extra::Goodput) {
            recorders.goodput = Some(goodput::Recorder::new(window, fabric.hosts));
        }
        if asked.contains(&Extra::Jain) {
            recorders.jain = Some(jain::Recorder::new(window, fabric.base_rtt, format.payload));
        }
        if asked.contains(&Extra::Starvation) {
            recorders.starvation = Some(starvation::Recorder::new(window));
        }
        if recorders.goodput.is_some() || recorders.starvation.is_some() {
            recorders.progress = Some(Progress::new(format.payload));
        }
        Ok(recorders)
    }

    fn open_files(
        &mut self,
        scenario: &Scenario,
        fabric: &Fabric,
        dir: &Path,
    ) -> Result<(), RunError> {
        let record = &scenario.record;
        if let Some(spec) = &record.ports {
            self.ports = Some(ports::Recorder::new(spec, fabric, dir)?);
        }
        if let Some(spec) = &record.windows {
            self.windows = Some(windows::Recorder::new(spec, dir)?);
        }
        if let Some(spec) = &record.packets {
            self.packets = Some(packets::Recorder::new(spec, &scenario.packet, dir)?);
        }
        if let Some(spec) = &record.waits {
            self.waits = Some(waits::Recorder::new(spec, fabric, dir)?);
        }
        if let Some(spec) = &record.values {
            let tagger = &scenario.scheme.tagger;
            self.values = Some(values::Recorder::new(spec, tagger, fabric, dir)?);
        }
        Ok(())
    }

    /// Whether any is on.
    pub fn any(&self) -> bool {
        self.ports.is_some()
            || self.windows.is_some()
            || self.packets.is_some()
            || self.waits.is_some()
            || self.values.is_some()
            || self.progress.is_some()
            || self.jain.is_some()
    }

    fn note(failed: &mut Option<RunError>, result: Result<(), RunError>) {
        if let Err(error) = result {
            failed.get_or_insert(error);
        }
    }

    /// Completes the files and reports; `end` is when the run ended.
    ///
    /// # Errors
    /// When a file could not be written.
    pub fn finish(self, end: Time) -> Result<Findings, RunError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let Findings {
            mut files,
            mut extras,
        } = Findings::default();
        let mut recordings = Map::new();
        if let Some(r) = self.ports {
            files.push(r.finish()?);
        }
        if let Some(r) = self.windows {
            recordings.insert("windows".into(), json!({"flows_not_seen": r.unseen()}));
            files.push(r.finish()?);
        }
        if let Some(r) = self.packets {
            recordings.insert("packets".into(), r.report());
            files.push(r.finish()?);
        }
        if let Some(r) = self.waits {
            files.push(r.finish()?);
        }
        if let Some(r) = self.values {
            files.push(r.finish(end)?);
        }
        if let Some(r) = self.goodput {
            extras.insert("goodput".into(), r.report(end));
        }
        if let Some(r) = self.jain {
            extras.insert("jain".into(), r.report());
        }
        if let Some(r) = self.starvation {
            extras.insert("starvation".into(), r.report(end));
        }
        if !recordings.is_empty() {
            extras.insert("recordings".into(), recordings.into());
        }
        Ok(Findings { files, extras })
    }
}

impl Probe for Recorders {
    const FULL: bool = true;

    fn next_sample(&self) -> Option<Time> {
        let ports = self.ports.as_ref().map(ports::Recorder::next);
        let jain = self.jain.as_ref().map(jain::Recorder::next);
        // Not later than the clock goes.
        ports
            .into_iter()
            .chain(jain)
            .min()
            .filter(|&at| at != Time::NEVER)
    }

    fn sample(
        &mut self,
        now: Time,
        ports: &mut [Port],
        slab: &mut Slab,
        flows: &[FlowState],
    ) -> Option<Time> {
        if let Some(r) = self.ports.as_mut().filter(|r| r.next() == now) {
            Self::note(&mut self.failed, r.sample(now, ports, slab));
        }
        if let Some(r) = self.jain.as_mut().filter(|r| r.next() == now) {
            r.sample(now, flows);
        }
        self.next_sample()
    }

    fn on_flow_start(&mut self, now: Time, slot: FlowSlot, flow: &FlowState) {
        if let Some(r) = &mut self.windows {
            r.on_flow_start(slot, flow);
            Self::note(&mut self.failed, r.on_change(now, slot, flow));
        }
        if let Some(r) = &mut self.packets {
            Self::note(&mut self.failed, r.on_flow_start(slot, flow));
        }
        if let Some(r) = &mut self.waits {
            r.on_flow_start(slot, flow);
        }
        if let Some(r) = &mut self.progress {
            r.on_flow_start(slot);
        }
        if let Some(r) = &mut self.starvation {
            r.on_flow_start(now, slot, flow);
        }
    }

    fn on_send(&mut self, now: Time, slot: FlowSlot, flow: &FlowState, packet: &Packet) {
        if let Some(r) = &mut self.packets {
            Self::note(&mut self.failed, r.on_send(now, slot, flow, packet));
        }
        if !packet.is_ack() {
            if let Some(r) = &mut self.windows {
                Self::note(&mut self.failed, r.on_change(now, slot, flow));
            }
            return;
        }
        let new = self
            .progress
            .as_mut()
            .map_or(0, |r| r.new_bytes(slot, flow));
        if new > 0 {
            if let Some(r) = &mut self.goodput {
                r.on_payload(now, new);
            }
            if let Some(r) = &mut self.starvation {
                r.on_payload(now, slot, flow);
            }
        }
    }

    fn on_deliver(&mut self, now: Time, slot: FlowSlot, flow: &FlowState, packet: &Packet) {
        if let Some(r) = &mut self.packets {
            Self::note(&mut self.failed, r.on_deliver(now, slot, flow, packet));
        }
    }

    fn on_window(&mut self, now: Time, slot: FlowSlot, flow: &FlowState) {
        if let Some(r) = &mut self.windows {
            Self::note(&mut self.failed, r.on_change(now, slot, flow));
        }
    }

    fn on_accept(&mut self, now: Time, id: u32, port: &Port, packet: &Packet) {
        if let Some(r) = &mut self.waits {
            r.on_accept(now, id, port, packet);
        }
        if let Some(r) = &mut self.values {
            r.on_accept(id, packet);
        }
    }

    fn on_transmit(&mut self, now: Time, id: u32, packet: &Packet) {
        if let Some(r) = &mut self.waits {
            r.on_transmit(now, id, packet);
        }
    }

    fn on_drop(&mut self, _now: Time, id: u32, packet: &Packet) {
        if let Some(r) = &mut self.waits {
            r.on_drop(id, packet);
        }
    }

    fn on_end(&mut self, now: Time, ports: &mut [Port], slab: &mut Slab) {
        if let Some(r) = &mut self.ports {
            Self::note(&mut self.failed, r.on_end(now, ports, slab));
        }
    }
}
