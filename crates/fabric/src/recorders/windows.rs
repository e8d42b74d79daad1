//! Congestion window, packets in flight and alpha of chosen flows, at every change.
//!
//! `windows.parquet` has one row per flow and instant at which any of them
//! changed, with the state after that instant; rows of one flow are in order
//! of time.
//!
//! | column | unit | meaning |
//! |---|---|---|
//! | `time_s` | s | instant |
//! | `flow` | | number in the stream of flows |
//! | `window_packets` | full packets | what the window rule says, before `max_window` |
//! | `in_flight_packets` | packets | sent and neither acknowledged nor taken for lost (RFC 6675's pipe) |
//! | `alpha` | share | estimate of the share of marked packets; null where the transport has none |

use std::path::Path;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{ArrayBuilder, Float64Builder, UInt32Builder, UInt64Builder};
use arrow_schema::DataType;
use fctlab_core::Time;

use super::chosen::Chosen;
use super::output::Table;
use crate::engine::FlowState;
use crate::outcome::RunError;
use crate::packet::FlowSlot;
use crate::scenario::record::windows::Spec;

#[derive(Clone, Copy)]
struct State {
    time: Time,
    window: f64,
    in_flight: u32,
    alpha: Option<f64>,
}

impl State {
    fn of(now: Time, flow: &FlowState) -> State {
        let sender = &flow.sender;
        State {
            time: now,
            window: sender.congestion_window(),
            in_flight: sender.in_flight(),
            alpha: sender.alpha(),
        }
    }
    fn same(&self, other: &State) -> bool {
        (self.window, self.in_flight, self.alpha) == (other.window, other.in_flight, other.alpha)
    }
}

/// Follows windows.
pub struct Recorder {
    chosen: Chosen,
    /// By place: the latest state, which may still change at its instant.
    latest: Vec<Option<State>>,
    rows: Rows,
    table: Table,
}

#[derive(Default)]
struct Rows {
    time: Float64Builder,
    flow: UInt64Builder,
    window: Float64Builder,
    in_flight: UInt32Builder,
    alpha: Float64Builder,
}

impl Recorder {
    /// Prepares the file in `dir`.
    pub(super) fn new(spec: &Spec, dir: &Path) -> Result<Self, RunError> {
        let chosen = Chosen::new(&spec.flows);
        let columns = [
            ("time_s", DataType::Float64, false),
            ("flow", DataType::UInt64, false),
            ("window_packets", DataType::Float64, false),
            ("in_flight_packets", DataType::UInt32, false),
            ("alpha", DataType::Float64, true),
        ];
        Ok(Recorder {
            latest: vec![None; chosen.len()],
            chosen,
            rows: Rows::default(),
            table: Table::create(dir, "windows.parquet", &columns)?,
        })
    }

    pub(super) fn on_flow_start(&mut self, slot: FlowSlot, flow: &FlowState) {
        self.chosen.on_flow_start(slot, flow);
    }

    /// Something may have changed.
    #[inline]
    pub(super) fn on_change(
        &mut self,
        now: Time,
        slot: FlowSlot,
        flow: &FlowState,
    ) -> Result<(), RunError> {
        let Some(place) = self.chosen.place(slot) else {
            return Ok(());
        };
        let state = State::of(now, flow);
        let Some(before) = self.latest[place] else {
            self.latest[place] = Some(state);
            return Ok(());
        };
        if before.same(&state) {
            return Ok(());
        }
        self.latest[place] = Some(state);
        if before.time < now {
            self.rows.push(self.chosen.flow(place), &before);
        }
        if Table::is_batch(self.rows.time.len()) {
            self.table.write(self.rows.finish())
        } else {
            Ok(())
        }
    }

    /// The chosen flows that have not started.
    pub(super) fn unseen(&self) -> Vec<u64> {
        self.chosen.unseen()
    }

    pub(super) fn finish(mut self) -> Result<String, RunError> {
        for (place, state) in self.latest.iter().enumerate() {
            if let Some(state) = state {
                self.rows.push(self.chosen.flow(place), state);
            }
        }
        self.table.write(self.rows.finish())?;
        self.table.finish()
    }
}

impl Rows {
    fn push(&mut self, flow: u64, state: &State) {
        self.time.append_value(state.time.as_secs_f64());
        self.flow.append_value(flow);
        self.window.append_value(state.window);
        self.in_flight.append_value(state.in_flight);
        self.alpha.append_option(state.alpha);
    }

    fn finish(&mut self) -> Vec<ArrayRef> {
        vec![
            Arc::new(self.time.finish()),
            Arc::new(self.flow.finish()),
            Arc::new(self.window.finish()),
            Arc::new(self.in_flight.finish()),
            Arc::new(self.alpha.finish()),
        ]
    }
}
