//! ASCC's hosts: DCTCP that learns when a flow is complete (Kogan et al., section VII).
//!
//! A flow is complete once its last packet is available at its source. Until
//! then its packets are served only when no complete flow waits, so what they
//! meet says nothing about what comes. Three rules follow, each of which can be
//! switched off; the fourth, the buffer management, is the discipline `ascc`.
//!
//! * *Retransmit when complete*: "when f becomes complete, ASCC transmits copies
//!   of packets in L [sent before and not acknowledged] marking them as for a
//!   complete flow." What the selective ACKs have not covered is sent again as
//!   after a timeout, within the window, without the timeout's other effects.
//! * *Adjust cwnd when complete*: "ASCC makes cwnd no less than the
//!   bandwidth-delay product in the idle network."
//! * *Ignore ECN from incomplete flows*: "ASCC ignores all ECNs caused by packets
//!   sent before the flow became complete": an echo of theirs counts as an ACK
//!   without one.

use fctlab_core::units::{DataLength, PathScale};
use fctlab_core::{SpecError, Time, spec};
use serde::{Deserialize, Serialize};

use super::dctcp::{self, Dctcp};
use super::{AckEvent, CongestionControl, SenderSpec, TimeoutEvent, TransportPart};
use crate::packet::Stamp;

/// DCTCP that starts anew when a flow's last packet is available (ASCC).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// As for `dctcp`.
    #[serde(deserialize_with = "spec::half_open_unit")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub g: f64,
    /// As for `dctcp`.
    #[serde(deserialize_with = "spec::closed_unit")]
    #[schemars(range(min = 0, max = 1))]
    pub initial_alpha: f64,
    /// Send again what is outstanding when the flow becomes complete.
    pub retransmit_when_complete: bool,
    /// Make the window at least `complete_window` when the flow becomes complete.
    pub adjust_window_when_complete: bool,
    /// Ignore marks of packets that were sent before the flow became complete.
    pub ignore_ecn_of_incomplete: bool,
    /// The least window of a flow that becomes complete.
    pub complete_window: DataLength,
}

impl Default for Spec {
    fn default() -> Self {
        let dctcp::Spec {
            g, initial_alpha, ..
        } = dctcp::Spec::default();
        Spec {
            g,
            initial_alpha,
            retransmit_when_complete: true,
            adjust_window_when_complete: true,
            ignore_ecn_of_incomplete: true,
            complete_window: DataLength::of_bdps(1.0),
        }
    }
}

/// The window of one flow; it comes first, as in the other transports' states.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Ascc {
    dctcp: Dctcp,
    /// The least window once complete.
    least_window: f64,
    /// Marks of packets sent before this instant are ignored.
    heeds_from: Option<Stamp>,
    retransmits: bool,
    ignores_ecn: bool,
}

impl TransportPart for Spec {
    type State = Ascc;
    fn sender_defaults() -> SenderSpec {
        dctcp::Spec::sender_defaults()
    }
    fn check(&self, scale: &PathScale) -> Result<(), SpecError> {
        if self.complete_window.packets(scale) >= 1.0 {
            return Ok(());
        }
        let message = format!("{} is less than one full packet", self.complete_window);
        Err(SpecError::new("complete_window", message))
    }
    fn start(&self, initial_window: f64, scale: &PathScale) -> Ascc {
        let dctcp = dctcp::Spec {
            g: self.g,
            initial_alpha: self.initial_alpha,
            ..dctcp::Spec::default()
        };
        Ascc {
            dctcp: dctcp.start(initial_window, scale),
            least_window: if self.adjust_window_when_complete {
                self.complete_window.packets(scale)
            } else {
                0.0
            },
            heeds_from: None,
            retransmits: self.retransmit_when_complete,
            ignores_ecn: self.ignore_ecn_of_incomplete,
        }
    }
}

impl CongestionControl for Ascc {
    const ECN: bool = true;
    const RARE: bool = true;

    fn on_ack(&mut self, ack: &AckEvent) {
        let mut ack = *ack;
        if self.heeds_from.is_some_and(|from| ack.sent.is_before(from)) {
            ack.marked = false;
        }
        self.dctcp.on_ack(&ack);
    }
    fn on_loss(&mut self, flight: u32) {
        self.dctcp.on_loss(flight);
    }
    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        self.dctcp.on_timeout(timeout);
    }
    fn on_complete(&mut self, now: Time) -> bool {
        self.dctcp.raise(self.least_window);
        self.heeds_from = self.ignores_ecn.then(|| Stamp::at(now));
        self.retransmits
    }
    fn next_flow(mut self, initial_window: f64) -> Option<Self> {
        self.dctcp = self.dctcp.next_flow(initial_window)?;
        self.heeds_from = None;
        Some(self)
    }
    #[inline]
    fn window(&self) -> f64 {
        self.dctcp.window()
    }
    fn has_reduced(&self, una: u32) -> bool {
        self.dctcp.has_reduced(una)
    }
    fn alpha(&self) -> Option<f64> {
        self.dctcp.alpha()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::{Duration, Rate};

    /// A BDP of 20 packets: 10 Gbps x 24 us / 1500 B.
    fn start(spec: Spec) -> Ascc {
        let scale = PathScale {
            packet_bytes: 1500,
            payload_bytes: 1460,
            host_rate: Rate::from_gbps(10),
            base_rtt: Duration::from_us(24),
        };
        spec.start(10.0, &scale)
    }

    /// An ACK, with an echo, of a packet sent at `sent_us`.
    fn echo(una: u32, sent_us: u64) -> AckEvent {
        AckEvent {
            now: Time::from_ps((sent_us + 50) * 1_000_000),
            acknowledged: 1,
            delivered: 1,
            marked: true,
            una,
            next: una + 10,
            recovering: false,
            in_flight: 10,
            sent: Stamp::at(Time::from_ps(sent_us * 1_000_000)),
        }
    }

    #[test]
    fn a_complete_flow_starts_anew() {
        let mut window = start(Spec::default());
        window.on_ack(&echo(1, 0)); // alpha is 1: half of 10
        assert_eq!(window.window(), 5.0);
        assert!(window.on_complete(Time::from_ps(100_000_000)));
        assert_eq!(window.window(), 20.0);
        // The echo of a packet from before grows the window as any ACK; one
        // from after shrinks it.
        window.on_ack(&echo(30, 90));
        assert!(window.window() >= 20.0);
        window.on_ack(&echo(60, 110));
        assert!(window.window() < 20.0);
    }

    #[test]
    fn each_rule_can_be_switched_off() {
        let mut window = start(Spec {
            retransmit_when_complete: false,
            adjust_window_when_complete: false,
            ignore_ecn_of_incomplete: false,
            ..Spec::default()
        });
        assert!(!window.on_complete(Time::from_ps(100_000_000)));
        assert_eq!(window.window(), 10.0);
        window.on_ack(&echo(1, 90));
        assert_eq!(window.window(), 5.0);
    }
}
