//! DCTCP's window (Alizadeh et al., SIGCOMM 2010; RFC 8257).
//!
//! Once per window of data: alpha <- (1 - g) alpha + g F, where F is the share
//! of packets acknowledged in that window that were marked. On a mark: window
//! x (1 - alpha / 2), at most once per window of data. Losses and timeouts as
//! TCP (RFC 8257, section 3.5). An ACK with an echo does not grow the window
//! (RFC 3168, section 6.1.2), unless `echoes` says so.

use fctlab_core::spec;
use fctlab_core::units::PathScale;
use serde::{Deserialize, Serialize};

use super::tcp::Aimd;
use super::{AckEvent, CongestionControl, SenderSpec, TimeoutEvent, TransportPart};

/// DCTCP: the window shrinks by the share of marked packets. RFC 8257.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Gain of the estimate, in (0, 1]. RFC 8257, section 4.2.
    #[serde(deserialize_with = "spec::half_open_unit")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub g: f64,
    /// Estimate at the start of a flow, in [0, 1]: 1 in RFC 8257, section 4.2;
    /// 0 in the ns-2 code of the original paper.
    #[serde(deserialize_with = "spec::closed_unit")]
    #[schemars(range(min = 0, max = 1))]
    pub initial_alpha: f64,
    /// Whether ACKs with an echo grow the window.
    pub echoes: Echoes,
}

/// Whether ACKs with an echo grow the window.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Echoes {
    /// None does (RFC 3168, section 6.1.2).
    #[default]
    Hold,
    /// All but the first of a run, and those that shrink it (the ns-2 code that pFabric and PIAS
    /// published): a flow all of whose packets are marked still gains a packet per round trip.
    /// Echoes of duplicate ACKs count for alpha and do nothing else there.
    Grow,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            g: 1.0 / 16.0,
            initial_alpha: 1.0,
            echoes: Echoes::Hold,
        }
    }
}

/// The window of one flow.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Dctcp {
    aimd: Aimd,
    marks: Marks,
}

/// What a sender makes of echoed marks: the estimate, and when to shrink.
/// Shared by transports that differ in how they grow and by how much they shrink.
#[derive(Clone, Debug)]
pub struct Marks {
    g: f64,
    /// The estimate of the share of marked packets.
    pub alpha: f64,
    /// Packets delivered, and marked, in the window of data that ends at `window_end`.
    delivered: u32,
    marked: u32,
    window_end: u32,
    /// The next reduction is for an ACK that reaches this far: one of a packet
    /// that had not been sent at the last one (RFC 3168, section 6.1.2).
    reduce_from: u32,
    echoes: Echoes,
    /// The last ACK had an echo.
    in_run: bool,
}

/// What the window has to do on an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Grow: no echo, or one that says nothing.
    Grow,
    /// Neither: an echo in a window that has shrunk already.
    Hold,
    /// Shrink: the first echo of a window.
    Shrink,
}

impl Marks {
    /// Nothing has been echoed.
    pub fn new(g: f64, alpha: f64, echoes: Echoes) -> Self {
        Marks {
            g,
            alpha,
            delivered: 0,
            marked: 0,
            window_end: 0,
            reduce_from: 0,
            echoes,
            in_run: false,
        }
    }

    /// The end of the window of data that is being observed.
    pub fn window_end(&self) -> u32 {
        self.window_end
    }

    /// Whether there has been a reduction for the packets in flight at `una`.
    pub fn has_reduced(&self, una: u32) -> bool {
        una < self.reduce_from
    }

    /// No new estimate before `una` has passed `end`.
    pub fn window_end_at(&mut self, end: u32) {
        self.window_end = end;
    }

    /// The next flow of the connection: sequence numbers count anew, the estimate goes on.
    pub fn restart(&mut self) {
        self.window_end = 0;
        self.reduce_from = 0;
    }

    /// An ACK has arrived.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &AckEvent) -> Answer {
        self.delivered += ack.delivered;
        if ack.marked {
            self.marked += ack.delivered;
        }
        if ack.una > self.window_end {
            let share = f64::from(self.marked) / f64::from(self.delivered.max(1));
            self.alpha += self.g * (share - self.alpha);
            self.delivered = 0;
            self.marked = 0;
            self.window_end = ack.next;
        }
        if ack.acknowledged == 0 && self.echoes == Echoes::Grow {
            return Answer::Hold;
        }
        let follows = std::mem::replace(&mut self.in_run, ack.marked);
        if !ack.marked {
            return Answer::Grow;
        }
        if ack.una >= self.reduce_from && !ack.recovering {
            self.reduce_from = ack.next + 1;
            return Answer::Shrink;
        }
        if follows && self.echoes == Echoes::Grow {
            Answer::Grow
        } else {
            Answer::Hold
        }
    }
}

impl TransportPart for Spec {
    type State = Dctcp;
    fn sender_defaults() -> SenderSpec {
        SenderSpec::default()
    }
    fn start(&self, initial_window: f64, _: &PathScale) -> Dctcp {
        Dctcp {
            aimd: Aimd::new(initial_window),
            marks: Marks::new(self.g, self.initial_alpha, self.echoes),
        }
    }
}

impl Dctcp {
    /// Makes the window at least `packets`.
    pub fn raise(&mut self, packets: f64) {
        self.aimd.raise(packets);
    }
}

impl CongestionControl for Dctcp {
    const ECN: bool = true;

    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        match self.marks.on_ack(ack) {
            Answer::Grow => self.aimd.grow(ack),
            Answer::Hold => {}
            Answer::Shrink => self.aimd.shrink(1.0 - self.marks.alpha / 2.0),
        }
    }
    fn on_loss(&mut self, flight: u32) {
        self.aimd.halve(flight);
    }
    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        self.aimd.collapse(timeout);
    }
    fn next_flow(mut self, initial_window: f64) -> Option<Self> {
        self.aimd.restart(initial_window);
        self.marks.restart();
        Some(self)
    }
    #[inline]
    fn window(&self) -> f64 {
        self.aimd.window
    }
    fn has_reduced(&self, una: u32) -> bool {
        self.marks.has_reduced(una)
    }
    fn alpha(&self) -> Option<f64> {
        Some(self.marks.alpha)
    }
}
