//! What all window-based senders share: sequence space, SACK-based loss
//! recovery (RFC 6675), the retransmission timer (RFC 6298), and pFabric's
//! probe mode.
//!
//! A sender has a fixed number of packets to deliver. It may have as many in
//! flight as the window of its [`Rule`] allows.

use fctlab_core::{Duration, Time};

use super::reduction::Prr;
use super::scoreboard::Scoreboard;
pub use super::settings::{
    Connections, Holes, Reduction, Rto, SenderConfig, SenderSpec, WindowLimits,
};
use super::{AckEvent, Rule, TimeoutEvent};
use crate::packet::Stamp;
use crate::telemetry::Path;

/// What a sender wants on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// Data packet number `.0`, for the first time.
    New(u32),
    /// Data packet number `.0`, again.
    Again(u32),
    /// A header-only probe.
    Probe,
}

/// An arriving ACK.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Every packet before this one has arrived.
    pub cumulative: u32,
    /// SACK block around the packet being acknowledged, empty when that one
    /// is covered by `cumulative`.
    pub block: (u32, u32),
    /// Whether the packet being acknowledged was marked.
    pub marked: bool,
    /// When the packet being acknowledged was sent.
    pub stamp: Stamp,
}

/// Smoothed RTT and its variation, RFC 6298.
#[derive(Clone, Copy, Debug, Default)]
struct RttEstimate {
    smoothed: Duration,
    variation: Duration,
}

impl RttEstimate {
    fn update(&mut self, sample: Duration) {
        let (srtt, var, r) = (self.smoothed.ps(), self.variation.ps(), sample.ps());
        if srtt == 0 {
            *self = RttEstimate {
                smoothed: sample,
                variation: Duration::from_ps(r / 2),
            };
            return;
        }
        // RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|; SRTT = 7/8 SRTT + 1/8 R.
        self.variation = Duration::from_ps(var - var / 4 + srtt.abs_diff(r) / 4);
        self.smoothed = Duration::from_ps(srtt - srtt / 8 + r / 8);
    }
}

/// What a connection keeps from one flow to the next.
#[derive(Clone, Debug)]
pub struct Kept {
    rule: Option<Rule>,
    rtt: RttEstimate,
}

/// The sending end of one flow.
#[derive(Clone, Debug)]
pub struct Sender {
    /// First packet not acknowledged cumulatively.
    una: u32,
    /// Next new packet.
    next: u32,
    /// Packets that may be sent, and packets in the flow.
    available: u32,
    total: u32,
    /// Packets in flight (RFC 6675's pipe).
    pipe: u32,
    /// Whole packets that may be in flight.
    window: u32,
    /// When the retransmission timer expires.
    deadline: Time,
    rtt: RttEstimate,
    rule: Rule,
    board: Scoreboard,
    /// End of the recovery in progress; no new one starts below it.
    recovery_end: u32,
    recovering: bool,
    reduction: Prr,
    /// The first packet presumed lost goes out now, whatever is in flight.
    fast_retransmit_due: bool,
    /// The timer starts again when the first outstanding packet is sent again: a copy of the
    /// configuration's, which would have to be passed for each packet that is not sent.
    again_restarts: bool,
    probe_due: bool,
    /// Nothing is sent before the first probe is answered.
    opening: bool,
    /// Timeouts since the last ACK of anything new.
    timeouts_in_row: u32,
    retransmissions: u32,
    timeouts: u32,
}

impl Sender {
    /// A sender of `total` packets, none of which is [available](Self::make_available).
    pub fn new(total: u32, rule: Rule, config: &SenderConfig) -> Self {
        let mut sender = Sender {
            una: 0,
            next: 0,
            available: 0,
            total,
            pipe: 0,
            window: 0,
            deadline: Time::NEVER,
            rtt: RttEstimate::default(),
            rule,
            board: Scoreboard::default(),
            recovery_end: 0,
            recovering: false,
            reduction: Prr::default(),
            fast_retransmit_due: false,
            again_restarts: config.again_restarts,
            probe_due: false,
            opening: false,
            timeouts_in_row: 0,
            retransmissions: 0,
            timeouts: 0,
        };
        sender.update_window(config);
        sender
    }

    /// Goes on with what an earlier flow has left.
    pub fn resume(&mut self, kept: Kept, config: &SenderConfig) {
        if let Some(rule) = kept.rule {
            self.rule = rule;
        }
        self.rtt = kept.rtt;
        self.update_window(config);
    }

    /// What the connection keeps of this flow, all of which is acknowledged.
    pub fn keep(&self, config: &SenderConfig) -> Kept {
        Kept {
            rule: self.rule.clone().next_flow(config.initial_window),
            rtt: self.rtt,
        }
    }

    /// Opens a connection: a bare header goes first, and nothing else until it is answered.
    pub fn open(&mut self) {
        self.opening = true;
        self.probe_due = true;
        self.window = 0;
    }

    /// First packet not acknowledged cumulatively.
    #[inline]
    pub fn una(&self) -> u32 {
        self.una
    }
    /// Packets that have become available to the sender.
    #[inline]
    pub fn available(&self) -> u32 {
        self.available
    }
    /// Whether everything available has been acknowledged and there is more to come.
    pub fn is_idle(&self) -> bool {
        self.una == self.available && self.available < self.total
    }
    /// Whether every packet has been acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.una == self.total
    }
    /// When to call [`on_timer`](Self::on_timer); [`Time::NEVER`] for not at all.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }
    /// Data packets sent again so far.
    pub fn retransmissions(&self) -> u32 {
        self.retransmissions
    }
    /// Retransmission timeouts so far.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }
    /// The congestion window in packets.
    pub fn congestion_window(&self) -> f64 {
        self.rule.window()
    }
    /// Bits per second at which a paced flow sends.
    pub fn pacing_rate(&self) -> f64 {
        self.rule.pacing_rate()
    }
    /// Packets in flight.
    pub fn in_flight(&self) -> u32 {
        self.pipe
    }
    /// The rule's estimate of the share of marked packets.
    pub fn alpha(&self) -> Option<f64> {
        self.rule.alpha()
    }
    /// Whether the flow is in pFabric's probe mode.
    pub fn is_probing(&self, config: &SenderConfig) -> bool {
        self.timeouts_in_row >= config.probe_after
    }

    #[inline]
    fn update_window(&mut self, config: &SenderConfig) {
        // At least one packet, or the flow would never move again.
        let window = self.rule.window();
        let window = if window > config.max_window {
            config.max_window
        } else {
            window
        };
        self.window = if window < 1.0 { 1 } else { window as u32 };
    }

    fn timeout_interval(&self, config: &SenderConfig) -> Duration {
        let base = if !config.estimate_rto {
            config.min_rto
        } else if self.rtt.smoothed == Duration::ZERO {
            config.initial_rto
        } else {
            let variation = (self.rtt.variation * 4).max(config.least_variation);
            let estimate = self.rtt.smoothed + variation;
            estimate.max(config.min_rto)
        };
        if !config.rto_backoff || self.timeouts_in_row == 0 {
            return base.min(config.max_rto);
        }
        let doublings = self.timeouts_in_row.min(30);
        Duration::from_ps(base.ps().saturating_mul(1 << doublings)).min(config.max_rto)
    }

    /// What to send now, if anything; to be asked again until it answers `None`.
    #[inline(always)]
    pub fn poll(&mut self, now: Time, config: &SenderConfig) -> Option<Transmit> {
        let sent = self.choose(config)?;
        if self.deadline == Time::NEVER {
            self.deadline = now + self.timeout_interval(config);
        }
        Some(sent)
    }

    #[inline(always)]
    fn choose(&mut self, config: &SenderConfig) -> Option<Transmit> {
        if self.pipe >= self.window || self.timeouts_in_row > 0 && self.is_probing(config) {
            return self.choose_beyond_window();
        }
        // Without holes what is sent and not acknowledged is what is in flight.
        let mut reaches = true;
        if !self.board.is_empty() {
            let reach = self.window.max(config.least_reach);
            if let Some(index) = self.board.send_again(reach) {
                return Some(self.again(index, 1));
            }
            reaches = self.next - self.una < reach;
        }
        if self.next < self.available && reaches {
            self.pipe += 1;
            self.next += 1;
            return Some(Transmit::New(self.next - 1));
        }
        if self.recovering
            && let Some(index) = self.board.send_early()
        {
            return Some(self.again(index, 1));
        }
        None
    }

    /// What may be sent although the window is full: the retransmission that
    /// starts a recovery (RFC 6675, section 5, step 4.3), and a probe.
    #[inline(never)]
    fn choose_beyond_window(&mut self) -> Option<Transmit> {
        if self.fast_retransmit_due
            && let Some(index) = self.board.send_again(u32::MAX)
        {
            return Some(self.again(index, 1));
        }
        std::mem::take(&mut self.probe_due).then_some(Transmit::Probe)
    }

    fn again(&mut self, index: usize, in_flight: u32) -> Transmit {
        self.fast_retransmit_due = false;
        if index == 0 && self.again_restarts {
            self.deadline = Time::NEVER; // until it is on its way
        }
        self.pipe += in_flight;
        self.retransmissions += 1;
        Transmit::Again(self.una + index as u32)
    }

    /// The ACK that arrives next brings this telemetry.
    pub fn on_telemetry(&mut self, path: &Path) {
        self.rule.on_telemetry(path);
    }

    /// The first `packets` packets of the flow are available from now on.
    pub fn make_available(&mut self, now: Time, packets: u32, config: &SenderConfig) {
        self.available = packets;
        if packets == self.total {
            if self.rule.on_complete(now) {
                self.send_all_again();
            }
            if !self.opening && !self.reduction.goes_on(self.una) {
                self.update_window(config);
            }
        }
    }

    /// Presumes everything outstanding lost, as after a timeout.
    fn send_all_again(&mut self) {
        self.board.lose_all((self.next - self.una) as usize);
        self.pipe = 0;
        // RFC 6675 section 5.1: no fast recovery below what was sent before.
        self.recovering = false;
        self.reduction.clear();
        self.fast_retransmit_due = false;
        self.recovery_end = self.next;
    }

    /// An ACK has arrived. `RARE`: windows may grow by its packets (`config.most_growth`).
    #[inline(always)]
    pub fn on_ack<const RARE: bool>(&mut self, now: Time, ack: &Ack, config: &SenderConfig) {
        let in_flight_before = self.pipe;
        let mut marked = ack.marked;
        let acknowledged = ack.cumulative.saturating_sub(self.una);
        let mut delivered = acknowledged;
        if acknowledged > 0 {
            let mut in_flight = acknowledged;
            if !self.board.is_empty() {
                (delivered, in_flight) = self.board.advance(acknowledged);
            }
            self.pipe -= in_flight;
            self.una = ack.cumulative;
        }
        if ack.block.1 > self.una.max(ack.block.0) {
            delivered += self.on_sack(ack.block);
        }
        if delivered > 0 {
            self.timeouts_in_row = 0;
            self.probe_due = false;
            if config.estimate_rto {
                self.rtt.update(ack.stamp.elapsed(now));
            }
        } else if self.opening || self.timeouts_in_row > 0 && self.is_probing(config) {
            // What opens a connection says nothing of congestion (RFC 3168, section 6.1.1).
            marked &= !self.opening;
            self.on_probe_answered(now, ack);
        }
        if self.recovering && self.una >= self.recovery_end {
            self.recovering = false;
            self.fast_retransmit_due = false;
        }
        let before = if config.proportional {
            self.rule.window()
        } else {
            0.0
        };
        let event = AckEvent {
            now,
            acknowledged,
            delivered,
            marked,
            una: self.una,
            next: self.next,
            recovering: self.recovering || config.proportional && self.reduction.goes_on(self.una),
            in_flight: in_flight_before,
            sent: ack.stamp,
        };
        if RARE && config.most_growth > 1 {
            self.grow_by_packets(event, config);
        } else {
            self.rule.on_ack(&event);
        }
        let mut lost = 0;
        if config.fast_retransmit && !self.board.is_empty() {
            lost = self.detect_losses(config);
        }
        if config.fills_holes_after_cut && self.rule.has_reduced(self.una) {
            self.pipe -= self.board.detect(1);
        }
        if config.proportional {
            self.reduce(before, acknowledged, delivered, lost > 0, config);
        } else {
            self.update_window(config);
        }
        if self.una == self.next {
            self.deadline = Time::NEVER;
        } else if acknowledged > 0 {
            self.deadline = now + self.timeout_interval(config);
        }
    }

    /// An ACK for which the window grows by each packet that counts (RFC 3465, section 2).
    fn grow_by_packets(&mut self, ack: AckEvent, config: &SenderConfig) {
        let before = self.rule.window();
        self.rule.on_ack(&ack);
        if self.rule.window() > before {
            // Nothing is new in these, so that they can but grow it.
            let again = AckEvent {
                delivered: 0,
                ..ack
            };
            for _ in 1..ack.delivered.min(config.most_growth) {
                self.rule.on_ack(&again);
            }
        }
    }

    /// The answer to a probe: leave probe mode, slow start goes on, or the connection is open.
    #[cold]
    fn on_probe_answered(&mut self, now: Time, ack: &Ack) {
        self.timeouts_in_row = 0;
        self.probe_due = false;
        if std::mem::take(&mut self.opening) {
            self.rtt.update(ack.stamp.elapsed(now));
        }
    }

    fn on_sack(&mut self, block: (u32, u32)) -> u32 {
        let from = block.0.max(self.una) - self.una;
        let to = block.1 - self.una;
        let (delivered, in_flight) = self.board.sack(from as usize, to as usize);
        self.pipe -= in_flight;
        delivered
    }

    /// The window after an ACK before which the rule's was `before`.
    #[inline(never)]
    fn reduce(
        &mut self,
        before: f64,
        acknowledged: u32,
        delivered: u32,
        lost: bool,
        config: &SenderConfig,
    ) {
        let (held, sent) = (self.window, self.next + self.retransmissions);
        self.update_window(config);
        if self.rule.window() < before {
            let outstanding = self.next - self.una + acknowledged;
            self.reduction
                .begin(self.window, outstanding, self.next, sent);
        }
        if self.reduction.goes_on(self.una) {
            self.window = match delivered {
                0 => held,
                _ => self.reduction.on_ack(delivered, self.pipe, sent, lost),
            };
        }
    }

    /// Packets that are presumed lost from now on.
    fn detect_losses(&mut self, config: &SenderConfig) -> u32 {
        let newly = self.board.detect(config.dupack_threshold);
        self.pipe -= newly;
        if !self.recovering && self.board.first_is_lost() && self.una >= self.recovery_end {
            self.recovering = true;
            self.fast_retransmit_due = true;
            self.recovery_end = self.next;
            self.rule.on_loss(self.next - self.una);
        }
        newly
    }

    /// The clock has reached [`deadline`](Self::deadline).
    pub fn on_timer(&mut self, now: Time, config: &SenderConfig) {
        let flight = self.next - self.una;
        self.timeouts += 1;
        if self.opening {
            self.timeouts_in_row = self.timeouts_in_row.saturating_add(1);
            self.probe_due = true;
            self.deadline = now + self.timeout_interval(config);
            return;
        }
        self.rule.on_timeout(&TimeoutEvent {
            flight,
            first: self.timeouts_in_row == 0,
        });
        self.timeouts_in_row = self.timeouts_in_row.saturating_add(1);
        self.send_all_again();
        self.probe_due = self.is_probing(config);
        self.deadline = now + self.timeout_interval(config);
        self.update_window(config);
    }
}
