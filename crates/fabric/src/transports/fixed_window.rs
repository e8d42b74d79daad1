//! A fixed window: no congestion control at all.
//!
//! Losses are repaired by the timer and answered to by nothing, so it is for
//! networks that lose nothing (buffers beyond all windows together) and for
//! ideal schedulers, whose senders always have something in the queue: the case
//! studies of D-SRTF (section 3.1) count on that.

use fctlab_core::units::{DataLength, PathScale, RttTime};
use serde::{Deserialize, Serialize};

use super::sender::Rto;
use super::{AckEvent, CongestionControl, SenderSpec, TimeoutEvent, TransportPart};

/// Always the initial window, whatever happens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {}

/// The window of one flow, in packets.
#[derive(Clone, Debug)]
pub struct FixedWindow(f64);

impl TransportPart for Spec {
    type State = FixedWindow;
    fn sender_defaults() -> SenderSpec {
        let defaults = SenderSpec::default();
        SenderSpec {
            initial_window: DataLength::of_bdps(2.0),
            // A queue may keep a packet for as long as it likes.
            rto: Rto::Fixed,
            min_rto: RttTime::Absolute(defaults.max_rto),
            rto_backoff: false,
            fast_retransmit: false,
            ..defaults
        }
    }
    fn start(&self, initial_window: f64, _: &PathScale) -> FixedWindow {
        FixedWindow(initial_window)
    }
}

impl CongestionControl for FixedWindow {
    const ECN: bool = false;
    fn on_ack(&mut self, _: &AckEvent) {}
    fn on_loss(&mut self, _: u32) {}
    fn on_timeout(&mut self, _: &TimeoutEvent) {}
    fn next_flow(self, initial_window: f64) -> Option<Self> {
        Some(FixedWindow(initial_window))
    }
    fn window(&self) -> f64 {
        self.0
    }
}
