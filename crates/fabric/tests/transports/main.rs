//! Transports between two endpoints: a sender and a receiver joined by hand,
//! with scripted losses, marks and delays and no network.

#![allow(clippy::unwrap_used)]

use fctlab_core::units::PathScale;
use fctlab_core::{Duration, Rate, Time, spec};
use fctlab_fabric::packet::Stamp;
use fctlab_fabric::transports::receiver::{Acknowledgement, Receiver};
use fctlab_fabric::transports::sender::{Ack, Sender, SenderConfig, Transmit};
use fctlab_fabric::transports::{Rule, TransportSpec};
use serde_json::{Value, json};

use Transmit::{Again, New};

mod any_script;
mod connections;
mod dctcp;
mod mintcp;
mod recovery;
mod reduction;
mod timer;
mod windows;

const SCALE: PathScale = PathScale {
    packet_bytes: 1500,
    payload_bytes: 1460,
    host_rate: Rate::from_gbps(10),
    base_rtt: Duration::from_us(100),
};

/// The window rule of a flow that starts.
fn rule_of(transport: &Value, config: &SenderConfig) -> Rule {
    let spec: TransportSpec = spec::read(transport.clone()).unwrap();
    spec.rule.start(config.initial_window, &SCALE)
}

/// Both ends of one flow; what the sender transmits reaches the receiver only
/// when the test says so.
struct Ends {
    sender: Sender,
    receiver: Receiver,
    config: SenderConfig,
    now: Time,
}

impl Ends {
    /// A flow of `total` packets; the base RTT is 100 us, 10 Gbps.
    fn new(transport: Value, total: u32) -> Self {
        let spec: TransportSpec = spec::read(transport.clone()).unwrap();
        let config = spec.sender.resolve(&SCALE).unwrap();
        let rule = rule_of(&transport, &config);
        let mut sender = Sender::new(total, rule, &config);
        sender.make_available(Time::ZERO, total, &config);
        Ends {
            sender,
            receiver: Receiver::default(),
            config,
            now: Time::ZERO,
        }
    }
    /// All that the sender wants to send now.
    fn send(&mut self) -> Vec<Transmit> {
        std::iter::from_fn(|| self.sender.poll(self.now, &self.config)).collect()
    }
    fn ack(&mut self, ack: Acknowledgement, marked: bool, sent_at: Time) -> Vec<Transmit> {
        let (cumulative, block) = (ack.cumulative, ack.block);
        let ack = Ack {
            cumulative,
            block,
            marked,
            stamp: Stamp::at(sent_at),
        };
        self.sender.on_ack::<true>(self.now, &ack, &self.config);
        self.send()
    }
    /// Packet `number` arrives, sent one RTT ago, and so does its ACK; what is sent upon it.
    fn hear(&mut self, number: u32) -> Vec<Transmit> {
        self.hear_marked(number, false)
    }
    fn hear_marked(&mut self, number: u32, marked: bool) -> Vec<Transmit> {
        let ack = self.receiver.on_data(number);
        let sent_at = Time::from_ps(self.now.ps().saturating_sub(100_000_000));
        self.ack(ack, marked, sent_at)
    }
    /// The clock moves to the deadline; what is sent upon the timeout.
    fn time_out(&mut self) -> Vec<Transmit> {
        self.now = self.sender.deadline();
        assert_ne!(self.now, Time::NEVER);
        self.sender.on_timer(self.now, &self.config);
        self.send()
    }
    fn window(&self) -> f64 {
        self.sender.congestion_window()
    }
    /// Time from now to the deadline, in microseconds.
    fn rto_us(&self) -> f64 {
        self.sender.deadline().since(self.now).ps() as f64 / 1e6
    }
}

fn tcp(window: u32) -> Value {
    json!({"kind": "tcp", "initial_window": format!("{window}pkt"), "min_rto": "1ms"})
}

fn news(range: std::ops::Range<u32>) -> Vec<Transmit> {
    range.map(New).collect()
}

/// TCP that has lost packet 0 of a window of 10 and recovered it: window 5.
fn after_one_recovery() -> Ends {
    let mut ends = Ends::new(tcp(10), 1000);
    assert_eq!(ends.send(), news(0..10));
    assert_eq!(ends.hear(1), news(10..11)); // one packet less in flight (limited transmit)
    assert_eq!(ends.hear(2), news(11..12));
    // Third packet above the hole: 12 packets outstanding, so threshold and
    // window become 6 (RFC 5681, equation 4); the hole is filled at once (RFC
    // 6675, step 4.3) although 12 - 3 - 1 = 8 are in flight; then 9 are.
    assert_eq!(ends.hear(3), [Again(0)]);
    assert_eq!((ends.window(), ends.sender.in_flight()), (6.0, 9));
    // Packets 4, 5, 6 leave 6 in flight, 7 leaves 5: one may go.
    for n in 4..7 {
        assert_eq!(ends.hear(n), []);
    }
    assert_eq!(ends.hear(7), news(12..13));
    ends
}
