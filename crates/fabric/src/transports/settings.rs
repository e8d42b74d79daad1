//! What a scenario writes about a sender, whatever its transport.

use fctlab_core::spec::OrNone;
use fctlab_core::units::{DataLength, PathScale, RttTime};
use fctlab_core::{Duration, SpecError, spec};
use serde::{Deserialize, Serialize};

/// What all transports share; the defaults differ by transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SenderSpec {
    /// Window at the start of a flow. `dctcp-rate` sets a rate and no window: there it is the
    /// most that is in flight, in proportion to the rate, a cap that never grows (`"1pkt"`: one
    /// packet per round trip for ever).
    pub initial_window: DataLength,
    /// Largest window, or `"none"`.
    #[serde(with = "spec::or_none")]
    #[schemars(with = "OrNone<DataLength>")]
    pub max_window: Option<DataLength>,
    /// What a window limits.
    pub window_limits: WindowLimits,
    /// How a window that shrinks is reached.
    pub reduction: Reduction,
    /// Whether flows between the same hosts share connections.
    pub connections: Connections,
    /// Open each new connection by a header and its answer: a round trip, which is part of the
    /// FCT and not of the ideal (RFC 9293, section 3.5).
    pub handshake: bool,
    /// How the retransmission timeout is set.
    pub rto: Rto,
    /// Smallest retransmission timeout; the timeout itself when `rto = "fixed"`.
    pub min_rto: RttTime,
    /// Timeout before the first RTT sample; `"none"` for the smallest.
    #[serde(with = "spec::or_none")]
    #[schemars(with = "OrNone<RttTime>")]
    pub initial_rto: Option<RttTime>,
    /// Largest retransmission timeout.
    pub max_rto: Duration,
    /// Double the timeout each time it expires without progress.
    pub rto_backoff: bool,
    /// What starts a running timer again.
    pub rto_restarts: RtoRestarts,
    /// Detect losses by selective ACKs (RFC 6675); otherwise duplicate ACKs
    /// are ignored and only the timer detects losses.
    pub fast_retransmit: bool,
    /// Selectively acknowledged packets above a hole that declare it lost.
    #[schemars(range(min = 1))]
    pub dupack_threshold: u32,
    /// Which holes below selectively acknowledged packets are sent again before a timeout.
    pub holes: Holes,
    /// Timeouts in a row after which only header-sized probes are sent, one
    /// per timeout, until an ACK arrives (pFabric, section 4.2); `"none"` for never.
    #[serde(with = "spec::or_none")]
    #[schemars(with = "OrNone<u32>")]
    pub probe_after: Option<u32>,
    /// Packets that come in order for which a receiver sends one ACK: `1`, or `2` for delayed ACKs
    /// (RFC 5681, section 4.2). The last packet of a flow, one out of order, and one whose mark
    /// differs from the last one's (RFC 8257, section 3.2) are not waited with.
    #[schemars(range(min = 1))]
    pub ack_every: u32,
    /// How long a delayed ACK waits at most (Linux: 40 ms and more).
    pub ack_delay: Duration,
    /// ACKs at the start of a flow that are not delayed (Linux: 16, and as long as the receiver's
    /// window grows, which may be thousands of packets).
    pub quick_acks: u32,
    /// An ACK goes up to so much later, by chance: uniformly, and in order within a flow. Without it
    /// hosts keep in step, and a full buffer may take all packets of one flow and none of another
    /// (Floyd and Jacobson 1992).
    pub ack_jitter: Duration,
    /// Packets of one ACK that grow a window: 1, once for each ACK (RFC 5681, section 3.1); 2, the L
    /// of RFC 3465; `"none"`, every packet that it says has arrived (Linux).
    #[serde(with = "spec::or_none")]
    #[schemars(with = "OrNone<u32>")]
    pub abc_limit: Option<u32>,
}

/// Which holes below selectively acknowledged packets are sent again before a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Holes {
    /// Those that are detected as losses (`fast_retransmit`).
    Detected,
    /// Also every hole, once, until what was in flight when a mark shrank the window is
    /// acknowledged (`recover_` and `nxt_tseq` of the ns-2 code that pFabric and PIAS published).
    /// Losses are repaired without a timeout. What was only overtaken goes out twice.
    AfterCut,
}

/// What a window limits. They differ once a packet is lost or overtaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowLimits {
    /// Packets in flight: neither acknowledged, selectively or not, nor presumed lost (RFC 6675).
    InFlight,
    /// Also how far a sender goes beyond the cumulative ACK, whatever was acknowledged
    /// selectively. Behind a hole it stops after one window, and where duplicate ACKs are
    /// ignored it stops until its timer expires (minTCP of the ns-2 code that pFabric and PIAS
    /// published: Full TCP outside of fast recovery).
    Sequence,
}

/// How a window that shrinks is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// At once: nothing is sent until no more than it is in flight.
    AtOnce,
    /// Over a round trip, in proportion to what arrives, without growth meanwhile (RFC 6937; Linux,
    /// also on marks).
    Prr,
}

/// Whether flows between the same hosts share connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// Each flow is a connection of its own, which needs no set-up.
    PerFlow,
    /// A flow takes an idle connection of its pair of hosts: it starts with the initial window,
    /// and with the slow-start threshold, the RTT and alpha that earlier flows have left (rates
    /// and HPCC's window start anew). Where all are busy it opens another, which takes a round
    /// trip (the ns-2 experiments of pFabric and PIAS).
    Persistent,
}

/// How the retransmission timeout is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rto {
    /// From smoothed RTT and its variation (RFC 6298).
    Estimated,
    /// The same with a variation of `min_rto` at least, so that it is that much above the smoothed RTT
    /// (RFC 6298, section 2.3, with it as G; Linux).
    AboveRtt,
    /// Always `min_rto`.
    Fixed,
}

/// What starts a running retransmission timer again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RtoRestarts {
    /// A cumulative ACK of new data (RFC 6298, section 5.3). A recovery that takes longer than the timer
    /// ends in a timeout.
    Acks,
    /// Also the retransmission of the first outstanding packet (Linux; RFC 6675, section 6, allows that for
    /// each retransmission of a recovery).
    FirstAgain,
}

impl Default for SenderSpec {
    fn default() -> Self {
        SenderSpec {
            initial_window: DataLength::of_packets(10.0), // RFC 6928
            max_window: None,
            window_limits: WindowLimits::InFlight,
            reduction: Reduction::AtOnce,
            connections: Connections::PerFlow,
            handshake: false,
            rto: Rto::Estimated,
            min_rto: RttTime::Absolute(Duration::from_ms(1)),
            initial_rto: None,
            max_rto: Duration::from_ms(60_000), // RFC 6298 (2.5)
            rto_backoff: true,
            rto_restarts: RtoRestarts::Acks,
            fast_retransmit: true,
            dupack_threshold: 3,
            holes: Holes::Detected,
            probe_after: None,
            ack_every: 1,
            ack_delay: Duration::from_ms(40),
            quick_acks: 0,
            ack_jitter: Duration::ZERO,
            abc_limit: Some(1),
        }
    }
}

/// When a receiver answers.
#[derive(Clone, Copy, Debug)]
pub struct Receiving {
    /// One ACK speaks for so many packets.
    pub packets: u32,
    /// It waits for so long at most.
    pub delay: Duration,
    /// So many ACKs of a flow do not wait.
    pub at_once: u32,
    /// Those that do not wait go up to so much later.
    pub jitter: Duration,
}

impl Receiving {
    /// Whether any ACK waits.
    pub fn delays(&self) -> bool {
        self.skips() || self.jitter > Duration::ZERO
    }
    /// Whether any packet has no ACK of its own.
    pub fn skips(&self) -> bool {
        self.packets > 1
    }
}

/// [`SenderSpec`] with everything relative resolved.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// Packets.
    pub initial_window: f64,
    pub(super) max_window: f64,
    /// A sender may go so many packets beyond the cumulative ACK, or a window if that is more.
    pub(super) least_reach: u32,
    pub(super) proportional: bool,
    /// Whether flows share connections.
    pub persistent: bool,
    /// Whether a connection is opened before its first use.
    pub handshake: bool,
    pub(super) estimate_rto: bool,
    pub(super) min_rto: Duration,
    /// Of four times the RTT's variation.
    pub(super) least_variation: Duration,
    pub(super) initial_rto: Duration,
    pub(super) max_rto: Duration,
    pub(super) rto_backoff: bool,
    /// Sending the first outstanding packet again starts the timer again.
    pub(super) again_restarts: bool,
    pub(super) fast_retransmit: bool,
    pub(super) dupack_threshold: u32,
    pub(super) fills_holes_after_cut: bool,
    /// Packets of one ACK that grow a window.
    pub(crate) most_growth: u32,
    pub(super) probe_after: u32,
}

impl SenderSpec {
    /// When the receiver of such a sender answers.
    ///
    /// # Errors
    /// ACKs that never go, with the path of the key.
    pub fn receiving(&self) -> Result<Receiving, SpecError> {
        if self.ack_every == 0 {
            return Err(SpecError::new("ack_every", "0 is not at least 1"));
        }
        if self.ack_delay == Duration::ZERO {
            let message = "0s is no time to wait; write ack_every = 1 for an ACK of each packet";
            return Err(SpecError::new("ack_delay", message));
        }
        Ok(Receiving {
            packets: self.ack_every,
            delay: self.ack_delay,
            at_once: self.quick_acks,
            jitter: self.ack_jitter,
        })
    }

    /// Resolves relative lengths and times.
    ///
    /// # Errors
    /// Values that leave a sender unable to send, with the path of the key.
    pub fn resolve(&self, scale: &PathScale) -> Result<SenderConfig, SpecError> {
        let at_least_one = |key: &str, length: DataLength| match length.packets(scale) {
            n if n >= 1.0 => Ok(n),
            _ => Err(SpecError::new(
                key,
                format!("{length} is less than one full packet"),
            )),
        };
        let min_rto = self.min_rto.resolve(scale);
        if min_rto == Duration::ZERO {
            return Err(SpecError::new(
                "min_rto",
                format!("{} is not above zero", self.min_rto),
            ));
        }
        if self.max_rto < min_rto {
            let message = format!("{} is less than min_rto ({min_rto})", self.max_rto);
            return Err(SpecError::new("max_rto", message));
        }
        if self.dupack_threshold == 0 {
            return Err(SpecError::new("dupack_threshold", "0 is not at least 1"));
        }
        if self.probe_after == Some(0) {
            return Err(SpecError::new(
                "probe_after",
                "0 is not at least 1; write \"none\" for never",
            ));
        }
        if self.abc_limit == Some(0) {
            return Err(SpecError::new(
                "abc_limit",
                "0 is not at least 1; write \"none\" for every packet",
            ));
        }
        let max_window = match self.max_window {
            Some(length) => at_least_one("max_window", length)?,
            None => f64::INFINITY,
        };
        Ok(SenderConfig {
            initial_window: at_least_one("initial_window", self.initial_window)?.min(max_window),
            max_window,
            least_reach: match self.window_limits {
                WindowLimits::InFlight => u32::MAX,
                WindowLimits::Sequence => 0,
            },
            proportional: self.reduction == Reduction::Prr,
            persistent: self.connections == Connections::Persistent,
            handshake: self.handshake,
            estimate_rto: self.rto != Rto::Fixed,
            min_rto,
            least_variation: match self.rto {
                Rto::AboveRtt => min_rto,
                Rto::Estimated | Rto::Fixed => Duration::ZERO,
            },
            initial_rto: self
                .initial_rto
                .map_or(min_rto, |t| t.resolve(scale).max(min_rto)),
            max_rto: self.max_rto,
            rto_backoff: self.rto_backoff,
            again_restarts: self.rto_restarts == RtoRestarts::FirstAgain,
            fast_retransmit: self.fast_retransmit,
            dupack_threshold: self.dupack_threshold,
            fills_holes_after_cut: self.holes == Holes::AfterCut,
            most_growth: self.abc_limit.unwrap_or(u32::MAX),
            probe_after: self.probe_after.unwrap_or(u32::MAX),
        })
    }
}
