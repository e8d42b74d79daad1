//! DCTCP as RDMA NICs run it: the HPCC paper's comparison (Li et al., SIGCOMM
//! 2019, section 5.1, and its published simulator), which swp (section 5.1) uses.
//!
//! A flow has a rate that starts at line rate, is paced at it, and may have as
//! much in flight as *initial window x rate / line rate*, rounded up to whole
//! packets. DCTCP's estimate (RFC 8257) starts with the first full window of
//! data: alpha <- (1 - g) alpha + g F, once per window. On an echoed mark, at
//! most once per window: rate x (1 - alpha / 2), never below the smallest rate.
//! At the end of a window without such a cut: one packet per base RTT more. No
//! slow start; losses are repaired and change nothing (RDMA networks have none).

use fctlab_core::units::{DataLength, Increase, PathScale, RttTime};
use fctlab_core::{Duration, SpecError, spec};
use serde::{Deserialize, Serialize};

use super::dctcp::{Answer, Echoes, Marks};
use super::{AckEvent, CongestionControl, SenderSpec, TimeoutEvent, TransportPart};

/// DCTCP on a paced rate, as RDMA NICs and the HPCC simulator run it; swp's DCTCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Gain of the estimate, in (0, 1].
    #[serde(deserialize_with = "spec::half_open_unit")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub g: f64,
    /// Estimate at the start of a flow, in [0, 1].
    #[serde(deserialize_with = "spec::closed_unit")]
    #[schemars(range(min = 0, max = 1))]
    pub initial_alpha: f64,
    /// Smallest rate as a share of the line rate, in (0, 1].
    #[serde(deserialize_with = "spec::half_open_unit")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub min_rate: f64,
    /// By how much the rate grows, once per window: a rate, or data per base RTT.
    pub increase: Increase,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            g: 1.0 / 16.0,
            initial_alpha: 1.0,
            min_rate: 0.01,
            increase: Increase::PerRtt(DataLength::of_packets(1.0)),
        }
    }
}

/// What transports over lossless networks presume: the whole BDP at once, and
/// timers that no queue sets off.
pub(super) fn lossless() -> SenderSpec {
    SenderSpec {
        initial_window: DataLength::of_bdps(1.0),
        min_rto: RttTime::Absolute(Duration::from_ms(100)),
        ..SenderSpec::default()
    }
}

/// The rate of one flow; the window comes first, as in the other transports' states.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct DctcpRate {
    /// Whole packets.
    window: f64,
    /// Share of the line rate.
    share: f64,
    /// Packets at line rate.
    full_window: f64,
    /// Bits per second.
    line_rate: f64,
    min_share: f64,
    increase: f64,
    marks: Marks,
}

impl TransportPart for Spec {
    type State = DctcpRate;
    fn sender_defaults() -> SenderSpec {
        lossless()
    }
    fn check(&self, scale: &PathScale) -> Result<(), SpecError> {
        if self.increase.bps(scale) <= 0.0 {
            let message = format!("{} is not above zero", self.increase);
            return Err(SpecError::new("increase", message));
        }
        Ok(())
    }
    fn start(&self, initial_window: f64, scale: &PathScale) -> DctcpRate {
        let line_rate = scale.host_rate.bps() as f64;
        DctcpRate {
            window: initial_window.ceil(),
            share: 1.0,
            full_window: initial_window,
            line_rate,
            min_share: self.min_rate,
            increase: self.increase.bps(scale) / line_rate,
            marks: Marks::new(self.g, self.initial_alpha, Echoes::Hold),
        }
    }
}

impl CongestionControl for DctcpRate {
    const ECN: bool = true;
    const RARE: bool = true;
    const PACED: bool = true;

    fn on_ack(&mut self, ack: &AckEvent) {
        let before = self.marks.window_end();
        if before == 0 {
            self.marks.window_end_at(ack.next);
        }
        let answer = self.marks.on_ack(ack);
        let window_over = before != 0 && self.marks.window_end() != before;
        if answer == Answer::Shrink {
            self.share = (self.share * (1.0 - self.marks.alpha / 2.0)).max(self.min_share);
        } else if window_over && !self.marks.has_reduced(ack.una) {
            self.share = (self.share + self.increase).min(1.0);
        }
        self.window = (self.full_window * self.share).ceil();
    }
    fn on_loss(&mut self, _: u32) {}
    fn on_timeout(&mut self, _: &TimeoutEvent) {}
    fn window(&self) -> f64 {
        self.window
    }
    fn pacing_rate(&self) -> f64 {
        self.line_rate * self.share
    }
    fn has_reduced(&self, una: u32) -> bool {
        self.marks.has_reduced(una)
    }
    fn alpha(&self) -> Option<f64> {
        Some(self.marks.alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transports::test_ack;
    use fctlab_core::Rate;

    /// A packet per RTT is 1000 x 8 / 10 us = 0.8 Gbps.
    const SCALE: PathScale = PathScale {
        packet_bytes: 1000,
        payload_bytes: 1000,
        host_rate: Rate::from_gbps(100),
        base_rtt: Duration::from_us(10),
    };

    fn ack(una: u32, next: u32, marked: bool) -> AckEvent {
        AckEvent {
            marked,
            una,
            next,
            in_flight: next - una + 1,
            ..test_ack()
        }
    }

    #[test]
    fn a_window_of_bdp_times_the_share_of_the_line_rate() {
        let mut flow = Spec::default().start(125.0, &SCALE);
        assert_eq!((flow.window(), flow.pacing_rate()), (125.0, 100e9));
        // The first window ends at 125; at its first mark alpha is still 1: half.
        flow.on_ack(&ack(1, 125, true));
        assert_eq!((flow.window(), flow.pacing_rate()), (63.0, 50e9));
        // One cut for all packets up to 125, whatever else is marked.
        for una in 2..=125 {
            flow.on_ack(&ack(una, 125.max(una + 62), una <= 50));
            assert_eq!(flow.pacing_rate(), 50e9);
        }
        // The window is over at 126, and was one with a cut, but nothing sent
        // since was marked: F = 50 / 126; 0.8 Gbps more.
        flow.on_ack(&ack(126, 188, false));
        let alpha = 15.0 / 16.0 + 50.0 / 126.0 / 16.0;
        assert!((flow.alpha().unwrap() - alpha).abs() < 1e-12);
        assert!((flow.pacing_rate() - 50.8e9).abs() < 1.0);
        assert_eq!(flow.window(), (125.0f64 * 0.508).ceil());
        // A mark now is of packets sent after the cut: another cut.
        flow.on_ack(&ack(127, 189, true));
        assert!((flow.pacing_rate() - 50.8e9 * (1.0 - alpha / 2.0)).abs() < 1.0);
    }

    #[test]
    fn the_increase_is_a_rate_or_data_per_rtt() {
        let after_a_window = |increase: &str| {
            let spec = Spec {
                increase: increase.parse().unwrap(),
                ..Spec::default()
            };
            let mut flow = spec.start(125.0, &SCALE);
            flow.on_ack(&ack(1, 125, true));
            flow.on_ack(&ack(126, 188, false));
            flow.pacing_rate()
        };
        for (increase, rate) in [
            ("1pkt", 50.8e9),
            ("800Mbps", 50.8e9),
            ("2KB", 51.6e9),
            ("5Gbps", 55e9),
        ] {
            assert!((after_a_window(increase) - rate).abs() < 1.0, "{increase}");
        }
    }

    #[test]
    fn the_rate_keeps_its_bounds() {
        let mut flow = Spec::default().start(125.0, &SCALE);
        let (mut una, mut next) = (0, 125);
        for marked in [true, false] {
            for _ in 0..200_000 {
                una += 1;
                next = next.max(una + flow.window() as u32);
                flow.on_ack(&ack(una, next, marked));
            }
            let (rate, window) = if marked { (1e9, 2.0) } else { (100e9, 125.0) };
            assert_eq!((flow.pacing_rate(), flow.window()), (rate, window));
        }
    }
}
