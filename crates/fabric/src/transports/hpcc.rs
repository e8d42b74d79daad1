//! HPCC (Li et al., SIGCOMM 2019): the window follows what switches report of
//! their links, algorithm 1.
//!
//! Each ACK brings queue, bytes sent, time and rate of every switch port on the
//! way. A link's normalised in-flight bytes are u = min of the last two queues /
//! (rate x T) + rate of sending / rate, with T the base RTT; the largest u enters
//! an average over T: U. If U >= eta, or after `max_stage` additive steps, the
//! window is Wc / (U / eta) + W_AI, else Wc + W_AI. W is computed for each ACK,
//! its reference Wc becomes W once per round trip. A flow starts with a BDP at
//! line rate, never has more, and is paced at W / T (line rate x W / BDP).
//!
//! As in the published simulator: U starts at 1, the first ACK is only
//! remembered, a window counts payload (a BDP of 125,000 B is 125 packets of 1000
//! B, whatever headers and telemetry add), a flow has a smallest rate, and less than
//! W may be in flight before a packet leaves (W is rounded up to whole packets). When a flow's path changes the first ACK of the
//! new one is only remembered (the paper's pathID, section 4.1). Losses are
//! repaired and change nothing: the telemetry says what there is to know.

use fctlab_core::units::{DataLength, PS_PER_S, PathScale};
use fctlab_core::{Bytes, SpecError, WindowCounts, spec};
use serde::{Deserialize, Serialize};

use super::{AckEvent, CongestionControl, SenderSpec, TimeoutEvent, TransportPart, dctcp_rate};
use crate::telemetry::{Hop, Path};

/// HPCC: windows and rates from in-band telemetry of every link. SIGCOMM 2019.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Target utilisation, in (0, 1].
    #[serde(deserialize_with = "spec::half_open_unit")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub eta: f64,
    /// Additive steps in a row before a multiplicative one: 5 in the paper, 0 in
    /// the published simulator's settings.
    pub max_stage: u32,
    /// W_AI as a share of the BDP at line rate: 40 Mbps of 100 Gbps.
    #[serde(deserialize_with = "spec::half_open_unit")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub additive_increase: f64,
    /// What telemetry adds to every data packet.
    pub int_bytes: Bytes,
    /// Smallest rate, and so the smallest window, as a share of the line rate, in (0, 1].
    #[serde(deserialize_with = "spec::half_open_unit")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub min_rate: f64,
    /// Which bytes of a packet a window counts.
    pub window_counts: WindowCounts,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            eta: 0.95,
            max_stage: 5,
            additive_increase: 0.0004,
            int_bytes: Bytes::new(42),
            min_rate: 0.01,
            window_counts: WindowCounts::Payload,
        }
    }
}

/// The window of one flow in whole packets, first as in the other transports'
/// states, and the rest of its state.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Hpcc {
    window: f64,
    flow: Box<Flow>,
}

#[derive(Clone, Debug)]
struct Flow {
    eta: f64,
    max_stage: u32,
    /// Bytes: W_AI, the BDP at line rate, the smallest window, what a window counts of a full packet.
    increase: f64,
    bdp: f64,
    least: f64,
    packet: f64,
    /// Bits per second.
    line_rate: f64,
    /// Seconds.
    base_rtt: f64,
    /// Bytes: W and its reference.
    w: f64,
    wc: f64,
    stage: u32,
    /// U, and whether the ACK at hand has renewed it.
    utilisation: f64,
    fresh: bool,
    /// L, what the last ACK brought.
    last: Path,
    /// Next packet to send when Wc was set last; 0 at the start.
    last_update: u32,
}

impl TransportPart for Spec {
    type State = Hpcc;
    fn sender_defaults() -> SenderSpec {
        dctcp_rate::lossless()
    }
    fn telemetry(&self) -> Option<Bytes> {
        Some(self.int_bytes)
    }
    fn check(&self, _: &PathScale) -> Result<(), SpecError> {
        if self.int_bytes > Bytes::new(1000) {
            let message = format!("{} is more than 1KB", self.int_bytes);
            return Err(SpecError::new("int_bytes", message));
        }
        Ok(())
    }
    fn counted(&self, scale: &PathScale) -> u64 {
        match self.window_counts {
            WindowCounts::Payload => scale.payload_bytes,
            WindowCounts::Wire => scale.packet_bytes,
        }
    }
    fn largest_window(&self) -> Option<DataLength> {
        Some(DataLength::of_bdps(1.0))
    }
    fn start(&self, initial_window: f64, scale: &PathScale) -> Hpcc {
        let line_rate = scale.host_rate.bps() as f64;
        let base_rtt = scale.base_rtt.as_secs_f64();
        let bdp = line_rate * scale.base_rtt.ps() as f64 / (8 * PS_PER_S) as f64;
        let packet = self.counted(scale) as f64;
        let w = (initial_window * packet).min(bdp);
        Hpcc {
            window: (w / packet).ceil(),
            flow: Box::new(Flow {
                eta: self.eta,
                max_stage: self.max_stage,
                increase: self.additive_increase * bdp,
                bdp,
                least: self.min_rate * bdp,
                packet,
                line_rate,
                base_rtt,
                w,
                wc: w,
                stage: 0,
                utilisation: 1.0,
                fresh: false,
                last: Path::default(),
                last_update: 0,
            }),
        }
    }
}

impl Flow {
    /// Algorithm 1, `MeasureInflight`; false when there is nothing to compare with.
    fn measure(&mut self, path: &Path) -> bool {
        let last = std::mem::replace(&mut self.last, *path);
        let (old, new) = (last.hops(), path.hops());
        let comparable = |(a, b): (&Hop, &Hop)| a.port == b.port && a.at < b.at;
        if new.is_empty() || old.len() != new.len() || !old.iter().zip(new).all(comparable) {
            return false;
        }
        let (mut largest, mut elapsed) = (0.0, 0.0);
        for (before, hop) in old.iter().zip(new) {
            let seconds = hop.at.since(before.at).as_secs_f64();
            let rate = hop.rate as f64;
            let sent = 8.0 * (hop.sent_bytes - before.sent_bytes) as f64;
            let queue = 8.0 * hop.queue_bytes.min(before.queue_bytes) as f64;
            let in_flight = queue / (rate * self.base_rtt) + sent / seconds / rate;
            if in_flight > largest {
                (largest, elapsed) = (in_flight, seconds);
            }
        }
        let share = elapsed.min(self.base_rtt) / self.base_rtt;
        self.utilisation += share * (largest - self.utilisation);
        true
    }

    /// Algorithm 1, `NewAck` and `ComputeWind`.
    fn compute(&mut self, ack: &AckEvent) {
        let round_trip = ack.una > self.last_update;
        if self.last_update == 0 {
            self.last_update = ack.next;
        }
        if !std::mem::take(&mut self.fresh) {
            return;
        }
        let load = self.utilisation / self.eta;
        let multiplicative = load >= 1.0 || self.stage >= self.max_stage;
        let base = if multiplicative {
            self.wc / load
        } else {
            self.wc
        };
        // A link that sends nothing would ask for an infinite window.
        self.w = (base + self.increase).clamp(self.least, self.bdp);
        if round_trip {
            self.stage = if multiplicative { 0 } else { self.stage + 1 };
            self.wc = self.w;
            self.last_update = ack.next;
        }
    }
}

impl CongestionControl for Hpcc {
    const ECN: bool = false;
    const RARE: bool = true;
    const PACED: bool = true;

    fn on_ack(&mut self, ack: &AckEvent) {
        self.flow.compute(ack);
        self.window = (self.flow.w / self.flow.packet).ceil();
    }
    fn on_telemetry(&mut self, path: &Path) {
        self.flow.fresh = self.flow.measure(path);
    }
    fn on_loss(&mut self, _: u32) {}
    fn on_timeout(&mut self, _: &TimeoutEvent) {}
    fn window(&self) -> f64 {
        self.window
    }
    fn pacing_rate(&self) -> f64 {
        self.flow.line_rate * (self.flow.w / self.flow.bdp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transports::test_ack;
    use fctlab_core::{Duration, Rate, Time};

    /// A BDP of 125,000 B; W_AI is 50 B.
    const SCALE: PathScale = PathScale {
        packet_bytes: 1090,
        payload_bytes: 1000,
        host_rate: Rate::from_gbps(100),
        base_rtt: Duration::from_us(10),
    };

    /// A link of 100 Gbps: 12,500 B per microsecond.
    fn path(port: u32, at_us: u64, queue_bytes: u64, sent_bytes: u64) -> Path {
        let mut path = Path::default();
        path.push(Hop {
            port,
            rate: 100_000_000_000,
            at: Time::ZERO + Duration::from_us(at_us),
            queue_bytes,
            sent_bytes,
        });
        path
    }

    fn ack(una: u32, next: u32) -> AckEvent {
        AckEvent {
            una,
            next,
            in_flight: next - una + 1,
            ..test_ack()
        }
    }

    fn hear(flow: &mut Hpcc, una: u32, next: u32, path: &Path) -> f64 {
        flow.on_telemetry(path);
        flow.on_ack(&ack(una, next));
        flow.flow.w
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6 * b, "{a} is not {b}");
    }

    #[test]
    fn algorithm_1_by_hand() {
        let mut flow = Spec::default().start(125.0, &SCALE);
        assert_eq!((flow.window(), flow.pacing_rate()), (125.0, 100e9));
        // The first is remembered; the round trip that it begins ends at 125.
        close(hear(&mut flow, 1, 125, &path(7, 10, 30_000, 0)), 125_000.0);
        // 1 us later the link has sent 12,500 B, all it can, and the smaller queue
        // is 25,000 B, 0.2 BDP: u = 1.2; U = 0.9 x 1 + 0.1 x 1.2 = 1.02.
        let w = 125_000.0 / (1.02 / 0.95) + 50.0;
        close(hear(&mut flow, 2, 125, &path(7, 11, 25_000, 12_500)), w);
        assert_eq!(flow.window(), 117.0);
        close(flow.pacing_rate(), w * 8.0 / 10e-6);
        // The same again: U = 0.9 x 1.02 + 0.12 = 1.038, from the same Wc: within a
        // round trip no ACK adds to what another did.
        let w = 125_000.0 / (1.038 / 0.95) + 50.0;
        close(hear(&mut flow, 3, 125, &path(7, 12, 25_000, 25_000)), w);
        // The round trip is over; 20 us count as one T: U = u = 0.5 (125,000 B of
        // 250,000). Below eta: additive, and W becomes Wc.
        let w = 125_000.0f64.min(125_000.0 + 50.0);
        close(hear(&mut flow, 126, 240, &path(7, 32, 0, 150_000)), w);
        assert_eq!((flow.flow.stage, flow.flow.last_update), (1, 240));
    }

    #[test]
    fn five_additive_stages_then_a_multiplicative_one() {
        let mut flow = Spec::default().start(50.0, &SCALE);
        let mut una = 1;
        hear(&mut flow, una, una + 50, &path(7, 0, 0, 0));
        // A link at a quarter of its rate, every T: U = 0.25.
        for round in 1..=5u32 {
            una += 51;
            let w = hear(&mut flow, una, una + 50, &at_a_quarter(round));
            close(w, 50_000.0 + 50.0 * f64::from(round));
        }
        una += 51;
        let w = hear(&mut flow, una, una + 50, &at_a_quarter(6));
        close(w, 125_000.0); // 50,250 / (0.25 / 0.95) + 50, but a BDP at most.
        assert_eq!(flow.flow.stage, 0);
        // Without additive stages the first round trip does it.
        let spec = Spec {
            max_stage: 0,
            ..Spec::default()
        };
        let mut flow = spec.start(20.0, &SCALE);
        hear(&mut flow, 1, 50, &path(7, 0, 0, 0));
        let w = hear(&mut flow, 51, 100, &at_a_quarter(1));
        close(w, 20_000.0 * 3.8 + 50.0);
    }

    #[test]
    fn windows_count_payload_or_what_is_on_the_wire() {
        // A BDP is 125 packets of 1000 B of payload, 114.7 of 1090 B on the wire.
        let full = |window_counts| {
            let spec = Spec {
                window_counts,
                ..Spec::default()
            };
            let most = DataLength::of_bdps(1.0).packets(&PathScale {
                packet_bytes: spec.counted(&SCALE),
                ..SCALE
            });
            let flow = spec.start(most, &SCALE);
            (flow.window(), flow.pacing_rate())
        };
        assert_eq!(full(WindowCounts::Payload), (125.0, 100e9));
        assert_eq!(full(WindowCounts::Wire), (115.0, 100e9));
    }

    #[test]
    fn a_flow_keeps_its_smallest_rate() {
        let mut flow = Spec::default().start(125.0, &SCALE);
        let (mut una, mut sent) = (1, 0);
        hear(&mut flow, una, una + 125, &path(7, 0, 10_000_000, 0));
        // 80 BDPs wait, for ever.
        for round in 1..200 {
            una += 125;
            sent += 125_000;
            hear(
                &mut flow,
                una,
                una + 125,
                &path(7, 10 * round, 10_000_000, sent),
            );
        }
        assert_eq!((flow.window(), flow.pacing_rate()), (2.0, 1e9));
    }

    fn at_a_quarter(round: u32) -> Path {
        path(7, 10 * u64::from(round), 0, 31_250 * u64::from(round))
    }

    #[test]
    fn another_path_is_only_remembered() {
        let mut flow = Spec::default().start(125.0, &SCALE);
        hear(&mut flow, 1, 125, &path(7, 10, 0, 0));
        close(
            hear(&mut flow, 2, 125, &path(8, 11, 90_000, 500_000)),
            125_000.0,
        );
        // Nor is what left the port earlier than what is known.
        close(
            hear(&mut flow, 3, 125, &path(8, 10, 90_000, 400_000)),
            125_000.0,
        );
        let mut two = path(8, 12, 0, 0);
        two.push(two.hops()[0]);
        close(hear(&mut flow, 4, 125, &two), 125_000.0);
    }

    #[test]
    fn the_busiest_link_counts() {
        let mut flow = Spec::default().start(125.0, &SCALE);
        let both = |at_us, idle: u64, busy: u64| {
            let mut both = path(1, at_us, 0, idle);
            both.push(path(2, at_us, 0, busy).hops()[0]);
            both
        };
        hear(&mut flow, 1, 125, &both(0, 0, 0));
        // 10 us: the first link at a tenth, the second at its whole rate: U = 1.
        let w = hear(&mut flow, 2, 125, &both(10, 12_500, 125_000));
        close(w, 125_000.0 * 0.95 + 50.0);
    }
}
