//! TCP's window: slow start and congestion avoidance (RFC 5681), halved once
//! per loss recovery (RFC 6675), one packet after a timeout.

use fctlab_core::units::PathScale;
use serde::{Deserialize, Serialize};

use super::{AckEvent, CongestionControl, SenderSpec, TimeoutEvent, TransportPart};

/// TCP SACK: AIMD on losses. RFC 5681, 6675, 6298.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

/// The window of one flow, in packets. The additive-increase part is shared by
/// other transports.
#[derive(Clone, Debug)]
pub struct Aimd {
    /// Congestion window.
    pub window: f64,
    /// Slow-start threshold.
    pub threshold: f64,
}

impl Aimd {
    /// A flow in slow start.
    pub fn new(initial_window: f64) -> Self {
        Aimd {
            window: initial_window,
            threshold: f64::INFINITY,
        }
    }
    /// Growth on an ACK of new data: one packet in slow start, one packet per
    /// window afterwards (RFC 5681, section 3.1). A window that the sender does
    /// not fill does not grow (RFC 7661's concern); as in Linux, slow start goes
    /// on up to twice what is in flight, since a NIC that is still sending what
    /// earlier ACKs released must not slow it down.
    #[inline]
    pub fn grow(&mut self, ack: &AckEvent) {
        self.grow_by(ack, 1.0);
    }
    /// The same with so many packets per window in congestion avoidance.
    #[inline]
    pub fn grow_by(&mut self, ack: &AckEvent, packets: f64) {
        if ack.acknowledged == 0 || ack.recovering {
            return;
        }
        if self.window < self.threshold {
            if self.window < f64::from(ack.in_flight) * 2.0 {
                self.window += 1.0;
            }
        } else if ack.in_flight >= self.window as u32 {
            self.window += packets / self.window;
        }
    }
    /// The window times `factor`, but two packets at least, as in RFC 5681 (RFC
    /// 8257 leaves the smallest window open).
    #[inline]
    pub fn shrink(&mut self, factor: f64) {
        self.window = (self.window * factor).max(2.0);
        self.threshold = self.window;
    }
    /// Makes the window, and the threshold, at least `packets`.
    pub fn raise(&mut self, packets: f64) {
        self.window = self.window.max(packets);
        self.threshold = self.threshold.max(self.window);
    }
    /// The next flow of the connection: a new window, and the threshold that this one has found.
    pub fn restart(&mut self, initial_window: f64) {
        self.window = initial_window;
    }
    /// RFC 5681 equation 4, then fast recovery at the threshold.
    pub fn halve(&mut self, flight: u32) {
        self.threshold = (f64::from(flight) / 2.0).max(2.0);
        self.window = self.threshold;
    }
    /// RFC 5681, section 3.1: the threshold is set by the first timeout only.
    pub fn collapse(&mut self, timeout: &TimeoutEvent) {
        if timeout.first {
            self.threshold = (f64::from(timeout.flight) / 2.0).max(2.0);
        }
        self.window = 1.0;
    }
}

impl CongestionControl for Aimd {
    const ECN: bool = false;
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        self.grow(ack);
    }
    fn on_loss(&mut self, flight: u32) {
        self.halve(flight);
    }
    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        self.collapse(timeout);
    }
    fn next_flow(mut self, initial_window: f64) -> Option<Self> {
        self.restart(initial_window);
        Some(self)
    }
    #[inline]
    fn window(&self) -> f64 {
        self.window
    }
}

impl TransportPart for Spec {
    type State = Aimd;
    fn sender_defaults() -> SenderSpec {
        SenderSpec::default()
    }
    fn start(&self, initial_window: f64, _: &PathScale) -> Aimd {
        Aimd::new(initial_window)
    }
}
