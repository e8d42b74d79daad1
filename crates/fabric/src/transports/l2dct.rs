//! L2DCT (Munir et al., INFOCOM 2013): DCTCP whose windows depend on how much
//! a flow has sent, which approximates least attained service.
//!
//! A flow's weight w falls from 2.5 to 0.125 while its bytes sent grow from 200
//! KB to 1 MB, linearly. Without marks the window grows by k = w / w_max packets
//! per round trip; on marks it is multiplied by 1 - b / 2 with b = alpha^w, at
//! most once per window: long flows yield more and come back more slowly. Slow
//! start, losses and timeouts are TCP's.
//!
//! The ns-2 code that PIAS published (NSDI 2015) weighs the decrease alone: there
//! every window grows by two packets per round trip (`increase = "ns2"`).

use fctlab_core::spec;
use fctlab_core::units::{DataLength, PathScale};
use fctlab_core::{Bytes, SpecError};
use serde::{Deserialize, Serialize};

use super::dctcp::{Answer, Echoes, Marks};
use super::tcp::Aimd;
use super::{AckEvent, CongestionControl, SenderSpec, TimeoutEvent, TransportPart};

/// L2DCT: windows that grow and shrink by what a flow has sent. INFOCOM 2013.
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
    /// The weight of a flow that has sent little.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub largest_weight: f64,
    /// The weight of a flow that has sent much.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub smallest_weight: f64,
    /// Bytes sent from which on the weight falls.
    pub falls_from: DataLength,
    /// Bytes sent from which on the weight is the smallest.
    pub falls_to: DataLength,
    /// The factor on growth: 1 for what `increase` says.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub growth: f64,
    /// By how much a window grows in congestion avoidance.
    pub increase: Increase,
    /// As for `dctcp`.
    pub echoes: Echoes,
}

/// By how much a window grows in congestion avoidance, per round trip without marks.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Increase {
    /// w / w_max packets (INFOCOM 2013).
    #[default]
    Weighted,
    /// Two packets, whatever the flow has sent (the ns-2 code published with PIAS).
    Ns2,
}

/// What `Increase::Ns2` adds per round trip.
const NS2_PACKETS: f64 = 2.0;

impl Default for Spec {
    fn default() -> Self {
        Spec {
            g: 1.0 / 16.0,
            initial_alpha: 1.0,
            largest_weight: 2.5,
            smallest_weight: 0.125,
            falls_from: DataLength::of_bytes(Bytes::new(200_000)),
            falls_to: DataLength::of_bytes(Bytes::new(1_000_000)),
            growth: 1.0,
            increase: Increase::Weighted,
            echoes: Echoes::Hold,
        }
    }
}

/// The weight by packets sent.
#[derive(Clone, Copy, Debug)]
struct Weight {
    largest: f64,
    smallest: f64,
    from: f64,
    to: f64,
}

impl Weight {
    #[inline]
    fn of(&self, sent: u32) -> f64 {
        let share = (f64::from(sent) - self.from) / (self.to - self.from);
        self.largest - share.clamp(0.0, 1.0) * (self.largest - self.smallest)
    }
}

/// The window of one flow; it comes first, as in the other transports' states.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct L2dct {
    aimd: Aimd,
    marks: Marks,
    weight: Weight,
    growth: f64,
    increase: Increase,
}

impl TransportPart for Spec {
    type State = L2dct;
    fn sender_defaults() -> SenderSpec {
        SenderSpec::default()
    }
    fn check(&self, scale: &PathScale) -> Result<(), SpecError> {
        let weights = [
            ("largest_weight", self.largest_weight),
            ("smallest_weight", self.smallest_weight),
            ("growth", self.growth),
        ];
        for (key, number) in weights {
            if !(number > 0.0 && number.is_finite()) {
                return Err(SpecError::new(key, format!("{number} is not above zero")));
            }
        }
        if self.smallest_weight > self.largest_weight {
            let message = format!("{} is above largest_weight", self.smallest_weight);
            return Err(SpecError::new("smallest_weight", message));
        }
        if self.falls_to.packets(scale) <= self.falls_from.packets(scale) {
            let message = format!("{} is not above falls_from", self.falls_to);
            return Err(SpecError::new("falls_to", message));
        }
        Ok(())
    }
    fn start(&self, initial_window: f64, scale: &PathScale) -> L2dct {
        L2dct {
            aimd: Aimd::new(initial_window),
            marks: Marks::new(self.g, self.initial_alpha, self.echoes),
            weight: Weight {
                largest: self.largest_weight,
                smallest: self.smallest_weight,
                from: self.falls_from.packets(scale),
                to: self.falls_to.packets(scale),
            },
            growth: self.growth,
            increase: self.increase,
        }
    }
}

impl CongestionControl for L2dct {
    const ECN: bool = true;
    const RARE: bool = true;

    fn on_ack(&mut self, ack: &AckEvent) {
        let weight = self.weight.of(ack.una);
        match self.marks.on_ack(ack) {
            Answer::Grow => {
                let packets = match self.increase {
                    Increase::Weighted => weight / self.weight.largest,
                    Increase::Ns2 => NS2_PACKETS,
                };
                self.aimd.grow_by(ack, self.growth * packets);
            }
            Answer::Hold => {}
            Answer::Shrink => self.aimd.shrink(1.0 - self.marks.alpha.powf(weight) / 2.0),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transports::test_ack;
    use fctlab_core::{Duration, Rate};

    const SCALE: PathScale = PathScale {
        packet_bytes: 1000,
        payload_bytes: 1000,
        host_rate: Rate::from_gbps(10),
        base_rtt: Duration::from_us(100),
    };

    fn ack(una: u32, marked: bool) -> AckEvent {
        AckEvent {
            marked,
            una,
            next: una + 20,
            in_flight: 1000,
            ..test_ack()
        }
    }

    #[test]
    fn the_weight_falls_between_200_kb_and_1_mb() {
        let flow = Spec::default().start(10.0, &SCALE);
        // In packets of 1000 B; half way is (2.5 + 0.125) / 2.
        for (sent, weight) in [
            (0, 2.5),
            (200, 2.5),
            (600, 1.3125),
            (1000, 0.125),
            (9000, 0.125),
        ] {
            assert!((flow.weight.of(sent) - weight).abs() < 1e-12, "{sent}");
        }
    }

    #[test]
    fn growth_and_reduction_by_hand() {
        let (weighted, ns2) = (Increase::Weighted, Increase::Ns2);
        for (increase, una, grown, alpha_power) in [
            (weighted, 100, 1.0, 2.5),
            (weighted, 5000, 0.05, 0.125),
            (ns2, 100, 2.0, 2.5),
            (ns2, 5000, 2.0, 0.125),
        ] {
            let spec = Spec {
                initial_alpha: 0.5,
                increase,
                ..Spec::default()
            };
            let mut flow = spec.start(10.0, &SCALE);
            flow.aimd.threshold = 5.0;
            flow.marks.window_end_at(una + 100);
            flow.on_ack(&ack(una, false));
            let window = 10.0 + grown / 10.0;
            assert!((flow.window() - window).abs() < 1e-12, "{una}");
            flow.on_ack(&ack(una + 1, true));
            let window = window * (1.0 - 0.5f64.powf(alpha_power) / 2.0);
            assert!((flow.window() - window).abs() < 1e-12, "{una}");
            // Once per window of data.
            flow.on_ack(&ack(una + 2, true));
            assert!((flow.window() - window).abs() < 1e-12, "{una}");
        }
    }
}
