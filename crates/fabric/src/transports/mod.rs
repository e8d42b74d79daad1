//! How fast a host sends: transports as state machines without I/O.
//!
//! Time is an argument, answers are returned and nothing is reached into: the
//! [`Sender`](sender::Sender) is asked what to send ([`poll`](sender::Sender::poll))
//! and told what happened (`on_ack`, `on_timer`); the
//! [`Receiver`](receiver::Receiver) turns data packets into ACKs.
//!
//! What all window-based transports share is in `sender` (sequence space, SACK
//! recovery, timers, probes) and configured by [`SenderSpec`]. What they differ
//! in, how the window answers to ACKs, marks, losses and timeouts, is a
//! [`CongestionControl`]: one file and two lines below per transport.

pub mod receiver;
mod reduction;
mod scoreboard;
pub mod sender;
mod settings;

use std::borrow::Cow;

use fctlab_core::units::{DataLength, PathScale};
use fctlab_core::{Bytes, SpecError, Time, spec};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

pub use sender::{SenderConfig, SenderSpec};
pub use settings::Receiving;
use settings::Reduction;

use crate::packet::Stamp;
use crate::telemetry::Path;

/// What an ACK told the sender, after its bookkeeping is done.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// When it arrived.
    pub now: Time,
    /// Packets newly acknowledged cumulatively.
    pub acknowledged: u32,
    /// Packets newly known to have arrived, cumulatively or selectively.
    pub delivered: u32,
    /// Whether the acknowledged packet was marked with CE.
    pub marked: bool,
    /// First packet not yet acknowledged cumulatively.
    pub una: u32,
    /// Next new packet to send.
    pub next: u32,
    /// Whether the sender is recovering from a loss it detected without a timeout, or a window that
    /// has shrunk is not reached yet (`reduction = "prr"`).
    pub recovering: bool,
    /// Packets that were in flight when it arrived.
    pub in_flight: u32,
    /// When the acknowledged packet was sent.
    pub sent: Stamp,
}

/// An ACK of one packet; tests change what they look at.
#[cfg(test)]
pub(crate) fn test_ack() -> AckEvent {
    AckEvent {
        now: Time::ZERO,
        acknowledged: 1,
        delivered: 1,
        marked: false,
        una: 1,
        next: 1,
        recovering: false,
        in_flight: 1,
        sent: Stamp::at(Time::ZERO),
    }
}

/// A retransmission timeout.
#[derive(Clone, Copy, Debug)]
pub struct TimeoutEvent {
    /// Packets sent and not acknowledged cumulatively.
    pub flight: u32,
    /// Whether the previous timeout was followed by an ACK of anything new.
    pub first: bool,
}

/// How the window answers to the network. Windows are in full packets.
pub trait CongestionControl {
    /// Data packets may be marked (ECT).
    const ECN: bool;
    /// Packets are spaced by [`pacing_rate`](Self::pacing_rate).
    const PACED: bool = false;
    /// Few runs have it: what it does on an ACK is kept out of the way of the
    /// others, where it would cost instructions (docs/evidence/performance.md).
    const RARE: bool = false;
    /// An ACK has arrived.
    fn on_ack(&mut self, ack: &AckEvent);
    /// The same, out of line. A copy: a reference would keep every caller's event in memory.
    #[inline(never)]
    fn on_ack_apart(&mut self, ack: AckEvent) {
        self.on_ack(&ack);
    }
    /// An ACK is about to be heard that brings this telemetry; only told to
    /// transports that ask for it (see [`TransportPart::telemetry`]).
    fn on_telemetry(&mut self, _path: &Path) {}
    /// A loss was detected by duplicate or selective ACKs; `flight` packets
    /// were sent and not acknowledged cumulatively. Once per window of data.
    fn on_loss(&mut self, flight: u32);
    /// The retransmission timer has expired.
    fn on_timeout(&mut self, timeout: &TimeoutEvent);
    /// The last packet of the flow has become available to the sender (at
    /// once, unless the traffic spaces packets). Whether everything outstanding
    /// is to be sent again.
    fn on_complete(&mut self, _now: Time) -> bool {
        false
    }
    /// The next flow of a persistent connection starts: what it has of this one, whose packets
    /// are all acknowledged. Sequence numbers count anew. `None` for a transport that keeps nothing.
    fn next_flow(self, _initial_window: f64) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
    /// The congestion window in packets.
    fn window(&self) -> f64;
    /// Bits per second of a paced flow, headers included; the window holds too.
    fn pacing_rate(&self) -> f64 {
        f64::INFINITY
    }
    /// Whether a mark has shrunk the window for the packets in flight at `una`.
    fn has_reduced(&self, _una: u32) -> bool {
        false
    }
    /// The estimate of the share of marked packets, where there is one.
    fn alpha(&self) -> Option<f64> {
        None
    }
}

/// How a transport's specification becomes the state of one flow.
pub trait TransportPart {
    /// The state of one flow.
    type State: CongestionControl;
    /// What the transport presumes about the sender; a scenario can change any of it.
    fn sender_defaults() -> SenderSpec;
    /// Bytes that telemetry adds to every data packet; `None` for a transport
    /// that does not use it.
    fn telemetry(&self) -> Option<Bytes> {
        None
    }
    /// Checks its own parameters.
    ///
    /// # Errors
    /// A parameter that makes no sense, with its path.
    fn check(&self, _scale: &PathScale) -> Result<(), SpecError> {
        Ok(())
    }
    /// Bytes of a full packet that a window counts: windows written as bytes or BDPs are so many packets.
    fn counted(&self, scale: &PathScale) -> u64 {
        scale.packet_bytes
    }
    /// The largest window that the rule itself allows.
    fn largest_window(&self) -> Option<DataLength> {
        None
    }
    /// The state at the start of a flow with this initial window (packets);
    /// `scale.host_rate` is the rate of the sender's own link.
    fn start(&self, initial_window: f64, scale: &PathScale) -> Self::State;
}

/// Declares the transports: one line each, naming file and name; the file's `mod` line is beside them.
macro_rules! transports {
    ($( $kind:literal => $variant:ident($file:ident) ),+ $(,)?) => {
        fctlab_core::parts! {
            /// The window rule of a transport.
            pub enum RuleSpec, "transport" { $( $kind => $variant($file::Spec) ),+ }
        }

        /// The window rule of one flow; a closed set, so that no ACK pays for a virtual call.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub enum Rule { $( $variant(<$file::Spec as TransportPart>::State) ),+ }

        impl RuleSpec {
            fn sender_defaults(kind: &str) -> Option<SenderSpec> {
                match kind {
                    $( $kind => Some(<$file::Spec as TransportPart>::sender_defaults()), )+
                    _ => None,
                }
            }
            /// Whether data packets are sent ECN-capable.
            pub fn ecn(&self) -> bool {
                match self {
                    $( RuleSpec::$variant(_) =>
                        <<$file::Spec as TransportPart>::State as CongestionControl>::ECN ),+
                }
            }
            /// See [`TransportPart::telemetry`].
            pub fn telemetry(&self) -> Option<Bytes> {
                match self { $( RuleSpec::$variant(spec) => spec.telemetry() ),+ }
            }
            /// Whether packets are spaced.
            pub fn paced(&self) -> bool {
                match self {
                    $( RuleSpec::$variant(_) =>
                        <<$file::Spec as TransportPart>::State as CongestionControl>::PACED ),+
                }
            }
            /// See [`TransportPart::check`].
            ///
            /// # Errors
            /// A parameter that makes no sense.
            pub fn check(&self, scale: &PathScale) -> Result<(), SpecError> {
                match self { $( RuleSpec::$variant(spec) => spec.check(scale) ),+ }
            }
            /// See [`TransportPart::counted`].
            fn counted(&self, scale: &PathScale) -> u64 {
                match self { $( RuleSpec::$variant(spec) => spec.counted(scale) ),+ }
            }
            /// See [`TransportPart::largest_window`].
            fn largest_window(&self) -> Option<DataLength> {
                match self { $( RuleSpec::$variant(spec) => spec.largest_window() ),+ }
            }
            /// The state of a flow that starts with `initial_window` packets.
            pub fn start(&self, initial_window: f64, scale: &PathScale) -> Rule {
                match self {
                    $( RuleSpec::$variant(spec) => Rule::$variant(spec.start(initial_window, scale)) ),+
                }
            }
        }

        impl Rule {
            /// See [`CongestionControl::on_ack`].
            #[inline(always)]
            pub fn on_ack(&mut self, ack: &AckEvent) {
                match self { $(
                    Rule::$variant(r) =>
                        if <<$file::Spec as TransportPart>::State as CongestionControl>::RARE {
                            r.on_ack_apart(*ack)
                        } else {
                            r.on_ack(ack)
                        }
                ),+ }
            }
            /// See [`CongestionControl::on_telemetry`].
            pub fn on_telemetry(&mut self, path: &Path) {
                match self { $( Rule::$variant(r) => r.on_telemetry(path) ),+ }
            }
            /// See [`CongestionControl::on_loss`].
            pub fn on_loss(&mut self, flight: u32) {
                match self { $( Rule::$variant(r) => r.on_loss(flight) ),+ }
            }
            /// See [`CongestionControl::on_timeout`].
            pub fn on_timeout(&mut self, timeout: &TimeoutEvent) {
                match self { $( Rule::$variant(r) => r.on_timeout(timeout) ),+ }
            }
            /// See [`CongestionControl::on_complete`].
            pub fn on_complete(&mut self, now: Time) -> bool {
                match self { $( Rule::$variant(r) => r.on_complete(now) ),+ }
            }
            /// See [`CongestionControl::next_flow`].
            pub fn next_flow(self, initial_window: f64) -> Option<Rule> {
                match self { $( Rule::$variant(r) => r.next_flow(initial_window).map(Rule::$variant) ),+ }
            }
            /// See [`CongestionControl::window`].
            #[inline]
            pub fn window(&self) -> f64 {
                match self { $( Rule::$variant(r) => r.window() ),+ }
            }
            /// See [`CongestionControl::pacing_rate`].
            pub fn pacing_rate(&self) -> f64 {
                match self { $( Rule::$variant(r) => r.pacing_rate() ),+ }
            }
            /// See [`CongestionControl::has_reduced`].
            pub fn has_reduced(&self, una: u32) -> bool {
                match self { $( Rule::$variant(r) => r.has_reduced(una) ),+ }
            }
            /// See [`CongestionControl::alpha`].
            pub fn alpha(&self) -> Option<f64> {
                match self { $( Rule::$variant(r) => r.alpha() ),+ }
            }
        }
    };
}

pub mod ascc;
pub mod dctcp;
pub mod dctcp_rate;
pub mod fixed_window;
pub mod hpcc;
pub mod l2dct;
pub mod mintcp;
pub mod tcp;

transports! {
    "tcp" => Tcp(tcp),
    "dctcp" => Dctcp(dctcp),
    "mintcp" => MinTcp(mintcp),
    "l2dct" => L2dct(l2dct),
    "dctcp-rate" => DctcpRate(dctcp_rate),
    "hpcc" => Hpcc(hpcc),
    "ascc" => Ascc(ascc),
    "fixed-window" => FixedWindow(fixed_window),
}

/// A transport: what all senders share, and the window rule. Both are written
/// into one table: `{kind = "dctcp", initial_window = "14pkt", g = 0.0625}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransportSpec {
    /// The window rule, with `kind`.
    #[serde(flatten)]
    pub rule: RuleSpec,
    /// What all senders share.
    #[serde(flatten)]
    pub sender: SenderSpec,
}

fn keys_of(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

impl TransportSpec {
    /// Resolves relative lengths and times of the sender, and checks the rule.
    ///
    /// # Errors
    /// A parameter that makes no sense, or that another overrules, with its path.
    pub fn resolve(&self, scale: &PathScale) -> Result<SenderConfig, SpecError> {
        self.rule.check(scale)?;
        let scale = PathScale {
            packet_bytes: self.rule.counted(scale),
            ..*scale
        };
        let initial = self.sender.initial_window;
        if let Some(largest) = self.rule.largest_window()
            && initial.packets(&scale) > largest.packets(&scale)
        {
            let (kind, most) = (self.rule.kind(), largest.packets(&scale));
            let message =
                format!("{initial} is above the largest window of {kind}, {largest} = {most}pkt");
            return Err(SpecError::new("initial_window", message));
        }
        if self.rule.paced() && self.sender.reduction == Reduction::Prr {
            let message = format!("{} has a rate, which needs none", self.rule.kind());
            return Err(SpecError::new("reduction", message));
        }
        if self.rule.paced() && self.sender.abc_limit != Some(1) {
            let message = format!("{} has a rate, which grows by time", self.rule.kind());
            return Err(SpecError::new("abc_limit", message));
        }
        self.sender.resolve(&scale)
    }

    /// When receivers answer.
    ///
    /// # Errors
    /// ACKs that never go, or that leave out what the rule has to hear, with the path of the key.
    pub fn receiving(&self) -> Result<Receiving, SpecError> {
        let receiving = self.sender.receiving()?;
        if receiving.skips() && self.rule.telemetry().is_some() {
            let message = format!("{} hears the telemetry of every packet", self.rule.kind());
            return Err(SpecError::new("ack_every", message));
        }
        Ok(receiving)
    }

    /// The keys of a kind of transport, `kind` first; none of what is not one.
    pub(crate) fn keys(kind: &str) -> Vec<&'static str> {
        if !RuleSpec::NAMES.contains(&kind) {
            return Vec::new();
        }
        let own = RuleSpec::keys(kind).iter();
        let shared = spec::keys::<SenderSpec>().iter();
        ["kind"].iter().chain(own).chain(shared).copied().collect()
    }

    fn read(value: Value) -> Result<Self, SpecError> {
        let (kind, mut own) = fctlab_core::parts::split_kind(value, "transport", RuleSpec::NAMES)?;
        let known = &TransportSpec::keys(&kind)[1..];
        if let Some(key) = own.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(spec::unknown_key("", key, known));
        }
        let defaults = RuleSpec::sender_defaults(&kind).unwrap_or_default();
        let mut shared = keys_of(&defaults);
        for (key, slot) in &mut shared {
            if let Some(given) = own.shift_remove(key) {
                *slot = given;
            }
        }
        let sender = spec::read(Value::Object(shared))?;
        own.insert("kind".into(), kind.into());
        let rule = spec::read(Value::Object(own))?;
        Ok(TransportSpec { rule, sender })
    }
}

impl<'de> Deserialize<'de> for TransportSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        TransportSpec::read(Value::deserialize(d)?).map_err(SpecError::into_serde)
    }
}

impl schemars::JsonSchema for TransportSpec {
    fn schema_name() -> Cow<'static, str> {
        "TransportSpec".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = fctlab_core::parts::schema_of::<RuleSpec>(generator);
        let shared = fctlab_core::parts::schema_of::<SenderSpec>(generator);
        let shared = shared["properties"].as_object().cloned();
        let choices = schema.get_mut("oneOf").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten() {
            // The first choice is the bare name; it has no properties.
            let kind = choice["properties"]["kind"]["const"].as_str();
            let defaults = kind.and_then(RuleSpec::sender_defaults);
            let own = choice.get_mut("properties").and_then(Value::as_object_mut);
            if let (Some(own), Some(mut shared), Some(defaults)) = (own, shared.clone(), defaults) {
                for (key, default) in keys_of(&defaults) {
                    shared[&key]["default"] = default;
                }
                own.extend(shared);
            }
        }
        schema.try_into().unwrap_or_default()
    }
}
