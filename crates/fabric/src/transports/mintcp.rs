//! minTCP, pFabric's rate control (Alizadeh et al., SIGCOMM 2013, section 4.2).
//!
//! Flows start at line rate (window = BDP). Duplicate ACKs do not change the
//! window and nothing is retransmitted on them; each packet is acknowledged
//! selectively. Only the timer, fixed and small (about 3 RTT), signals
//! congestion: threshold = window / 2, then slow start. After five timeouts in
//! a row the flow sends one header-sized probe per timeout until an ACK comes back.

use fctlab_core::units::{DataLength, PathScale, RttTime};
use serde::{Deserialize, Serialize};

use super::sender::Rto;
use super::tcp::Aimd;
use super::{AckEvent, CongestionControl, SenderSpec, TimeoutEvent, TransportPart};

/// pFabric's rate control: line rate at the start, only timeouts slow it down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

/// The window of one flow.
#[derive(Clone, Debug)]
pub struct MinTcp(Aimd);

impl TransportPart for Spec {
    type State = MinTcp;
    fn sender_defaults() -> SenderSpec {
        SenderSpec {
            initial_window: DataLength::of_bdps(1.0),
            rto: Rto::Fixed,
            min_rto: RttTime::Rtts(3.0),
            rto_backoff: false,
            fast_retransmit: false,
            probe_after: Some(5),
            ..SenderSpec::default()
        }
    }
    fn start(&self, initial_window: f64, _: &PathScale) -> MinTcp {
        MinTcp(Aimd::new(initial_window))
    }
}

impl CongestionControl for MinTcp {
    const ECN: bool = false;
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        self.0.grow(ack);
    }
    fn on_loss(&mut self, _: u32) {}
    fn on_timeout(&mut self, _: &TimeoutEvent) {
        self.0.threshold = (self.0.window / 2.0).max(2.0);
        self.0.window = 1.0;
    }
    fn next_flow(mut self, initial_window: f64) -> Option<Self> {
        self.0.restart(initial_window);
        Some(self)
    }
    #[inline]
    fn window(&self) -> f64 {
        self.0.window
    }
}
