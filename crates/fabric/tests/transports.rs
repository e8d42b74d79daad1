//! Transports between two endpoints: a sender and a receiver joined by hand,
//! with scripted losses, marks and delays and no network.

#![allow(clippy::unwrap_used)]

use fctlab_core::units::PathScale;
use fctlab_core::{Duration, Rate, Time, spec};
use fctlab_fabric::packet::Stamp;
use fctlab_fabric::transports::TransportSpec;
use fctlab_fabric::transports::receiver::{Acknowledgement, Receiver};
use fctlab_fabric::transports::sender::{Ack, Sender, SenderConfig, Transmit};
use serde_json::{Value, json};

use Transmit::{Again, New, Probe};

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
        let scale = PathScale {
            packet_bytes: 1500,
            payload_bytes: 1460,
            host_rate: Rate::from_gbps(10),
            base_rtt: Duration::from_us(100),
        };
        let spec: TransportSpec = spec::read(transport).unwrap();
        let config = spec.sender.resolve(&scale).unwrap();
        let rule = spec.rule.start(config.initial_window, &scale);
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
        self.sender.on_ack(self.now, &ack, &self.config);
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

// ---- slow start and congestion avoidance (RFC 5681, section 3.1) -----------

#[test]
fn slow_start_sends_two_packets_per_ack() {
    for kind in ["tcp", "dctcp", "mintcp"] {
        let mut ends = Ends::new(json!({"kind": kind, "initial_window": "4pkt"}), 100);
        assert_eq!(ends.send(), news(0..4));
        // 4 ACKs make 8, 8 more make 16; always as many in flight as the window allows.
        for n in 0..12 {
            assert_eq!(ends.hear(n), news(4 + 2 * n..6 + 2 * n), "{kind}");
            assert_eq!(ends.window(), f64::from(5 + n));
            assert_eq!(ends.sender.in_flight(), 5 + n);
        }
    }
}

#[test]
fn the_initial_and_the_largest_window_hold() {
    let mut ends = Ends::new(
        json!({"kind": "tcp", "initial_window": "3pkt", "max_window": "5pkt"}),
        100,
    );
    assert_eq!(ends.send(), news(0..3));
    assert_eq!(ends.hear(0), news(3..5));
    assert_eq!(ends.hear(1), news(5..7));
    // 5 in flight: from here on one packet per ACK.
    for n in 2..20 {
        assert_eq!(ends.hear(n), news(5 + n..6 + n));
        assert_eq!(ends.sender.in_flight(), 5);
    }
}

#[test]
fn a_window_that_is_not_filled_does_not_grow() {
    // 3 packets in a window of 10: less than half of it was ever needed.
    let mut ends = Ends::new(tcp(10), 3);
    ends.send();
    for n in 0..3 {
        assert_eq!(ends.hear(n), []);
    }
    assert_eq!(ends.window(), 10.0);
    assert!(ends.sender.is_done());
    assert_eq!(ends.sender.deadline(), Time::NEVER);
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

#[test]
fn congestion_avoidance_adds_one_packet_per_window() {
    let mut ends = after_one_recovery();
    for (n, sent) in [(8, 13), (9, 14), (10, 15), (11, 16)] {
        assert_eq!(ends.hear(n), news(sent..sent + 1));
    }
    // Packet 0 arrives: all of 0..12 is acknowledged, recovery ends. In flight:
    // 12 to 16; the window of 6 lets one more go. The ACK that ends recovery
    // finds 6 in flight and 6 = threshold: congestion avoidance, 6 + 1/6.
    assert_eq!(ends.hear(0), news(17..18));
    let mut window = 6.0 + 1.0 / 6.0;
    assert_eq!(ends.window(), window);
    // Each ACK adds 1 / window: 6.1667 + 0.1622 + 0.1580 + 0.1542 + 0.1506 +
    // 0.1472 = 6.9389; the sixth from here passes 7 (7.0829).
    for n in 12..18 {
        assert_eq!(ends.window() as u32, 6);
        ends.hear(n);
        window += 1.0 / window;
        assert_eq!(ends.window(), window);
    }
    assert!(ends.window() > 7.0 && ends.window() < 7.1);
    assert_eq!(ends.sender.in_flight(), 7);
}

// ---- SACK recovery (RFC 6675) ----------------------------------------------

#[test]
fn one_hole_is_filled_once_and_the_window_cut_once() {
    let mut ends = after_one_recovery();
    assert_eq!(
        (ends.sender.retransmissions(), ends.sender.timeouts()),
        (1, 0)
    );
    // The rest of the window: neither a second cut nor a second retransmission.
    for n in 8..12 {
        assert_eq!(ends.hear(n), news(n + 5..n + 6));
        assert_eq!(ends.window(), 6.0);
    }
    ends.hear(0);
    assert_eq!((ends.sender.retransmissions(), ends.sender.una()), (1, 12));
}

#[test]
fn two_duplicates_are_no_loss() {
    let mut ends = Ends::new(tcp(4), 4);
    ends.send();
    assert_eq!(ends.hear(1), []);
    assert_eq!(ends.hear(2), []);
    assert_eq!(ends.hear(0), []);
    assert_eq!(ends.hear(3), []);
    assert!(ends.sender.is_done());
    assert_eq!(ends.sender.retransmissions(), 0);
}

#[test]
fn many_holes_are_filled_in_one_recovery() {
    // 0, 2 and 4 of 10 are lost; the flow has no more packets.
    let mut ends = Ends::new(tcp(10), 10);
    ends.send();
    assert_eq!(ends.hear(1), []);
    assert_eq!(ends.hear(3), []);
    // 1, 3, 5 above 0: lost. 10 outstanding: window 5. In flight 10 - 3 - 1 = 6,
    // and the retransmission.
    assert_eq!(ends.hear(5), [Again(0)]);
    assert_eq!((ends.window(), ends.sender.in_flight()), (5.0, 7));
    // 3, 5, 6 above 2: lost. In flight: 7 - 1 (packet 6) - 1 (packet 2) = 5: full.
    assert_eq!(ends.hear(6), []);
    assert_eq!(ends.sender.in_flight(), 5);
    // 5, 6, 7 above 4: lost. 5 - 2 = 3: both holes go.
    assert_eq!(ends.hear(7), [Again(2), Again(4)]);
    assert_eq!(ends.sender.in_flight(), 5);
    // Nothing lost and nothing new is left. 8: 4 in flight. The rule for early
    // retransmissions (NextSeg 3) finds no packet below the highest that has
    // neither arrived nor been sent again.
    assert_eq!(ends.hear(8), []);
    assert_eq!(ends.hear(9), []);
    assert_eq!(ends.sender.in_flight(), 3);
    assert_eq!(ends.hear(0), []);
    assert_eq!(ends.sender.una(), 2);
    assert_eq!(ends.hear(2), []);
    assert_eq!(ends.hear(4), []);
    assert!(ends.sender.is_done());
    assert_eq!(
        (ends.sender.retransmissions(), ends.sender.timeouts()),
        (3, 0)
    );
    assert_eq!(ends.sender.in_flight(), 0);
}

#[test]
fn an_idle_window_retransmits_early_what_is_not_known_to_be_lost() {
    // 8 packets; 0 and 5 are lost. 1, 2, 3 declare 0 lost: 8 - 3 - 1 + 1 = 5 in
    // flight, window 4. 4: 4 in flight. 6: 3: one may be sent; no loss, nothing
    // new: packet 5, below the highest arrived (6), goes early (NextSeg 3) and
    // counts twice: 4 in flight.
    let mut ends = Ends::new(tcp(8), 8);
    ends.send();
    assert_eq!([ends.hear(1), ends.hear(2)], [vec![], vec![]]);
    assert_eq!(ends.hear(3), [Again(0)]);
    assert_eq!((ends.window(), ends.sender.in_flight()), (4.0, 5));
    assert_eq!(ends.hear(4), []);
    assert_eq!(ends.hear(6), [Again(5)]);
    assert_eq!(ends.sender.in_flight(), 4);
    assert_eq!(ends.hear(7), []);
    assert_eq!(ends.hear(0), []);
    // 5 is all that is missing, counted twice.
    assert_eq!((ends.sender.una(), ends.sender.in_flight()), (5, 2));
    ends.hear(5);
    assert!(ends.sender.is_done());
    assert_eq!(ends.sender.in_flight(), 0);
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let mut ends = Ends::new(tcp(10), 10);
    ends.send();
    ends.now = Time::from_ps(100_000_000);
    for n in [1, 2] {
        ends.hear(n);
    }
    assert_eq!(ends.hear(3), [Again(0)]);
    // The retransmission is lost; all others arrive and change nothing.
    for n in 4..10 {
        assert_eq!(ends.hear(n), []);
    }
    // Nothing was acknowledged cumulatively, so the timer runs since time 0: 1 ms.
    assert_eq!(ends.sender.deadline(), Time::from_ps(1_000_000_000));
    assert_eq!(ends.time_out(), [Again(0)]);
    // 10 outstanding: threshold 5, window 1 (RFC 5681, section 3.1).
    assert_eq!((ends.window(), ends.sender.timeouts()), (1.0, 1));
    assert_eq!(ends.hear(0), []);
    assert!(ends.sender.is_done());
    assert_eq!(ends.sender.retransmissions(), 2);
}

#[test]
fn a_lost_tail_waits_for_the_timer() {
    // 7, 8 and 9 of 10 are lost: nothing above them arrives.
    let mut ends = Ends::new(tcp(10), 10);
    ends.send();
    for n in 0..7 {
        assert_eq!(ends.hear(n), []);
    }
    assert_eq!(ends.time_out(), [Again(7)]);
    assert_eq!(ends.window(), 1.0);
    // 3 outstanding: threshold max(3 / 2, 2) = 2. The ACK makes the window 2.
    assert_eq!(ends.hear(7), [Again(8), Again(9)]);
    assert_eq!(ends.window(), 2.0);
    // From the threshold on, 1 / 2 per ACK.
    ends.hear(8);
    assert_eq!(ends.window(), 2.5);
    ends.hear(9);
    assert!(ends.sender.is_done());
    assert_eq!(
        (ends.sender.retransmissions(), ends.sender.timeouts()),
        (3, 1)
    );
}

#[test]
fn after_a_timeout_what_has_arrived_is_not_sent_again() {
    // 0, 1 and 5 of 10 are lost, and so is all of recovery: a timeout sends 0,
    // 1 and 5 and nothing else.
    let mut ends = Ends::new(
        json!({"kind": "tcp", "initial_window": "10pkt", "dupack_threshold": 100}),
        10,
    );
    ends.send();
    for n in [2, 3, 4, 6, 7, 8, 9] {
        assert_eq!(ends.hear(n), []);
    }
    assert_eq!(ends.time_out(), [Again(0)]);
    assert_eq!(ends.hear(0), [Again(1), Again(5)]);
    ends.hear(1);
    ends.hear(5);
    assert!(ends.sender.is_done());
    assert_eq!(ends.sender.retransmissions(), 3);
}

// ---- the timer (RFC 6298) --------------------------------------------------

#[test]
fn the_timer_follows_rfc_6298() {
    let spec = json!({
        "kind": "tcp", "initial_window": "1pkt", "min_rto": "10us", "initial_rto": "3ms",
        "max_rto": "6ms", "max_window": "1pkt",
    });
    let mut ends = Ends::new(spec, 100);
    ends.send();
    assert_eq!(ends.rto_us(), 3000.0); // (2.1), here 3 ms
    // First sample R = 102.4 us (stamps count 1.024 ns): SRTT = R, RTTVAR = R / 2,
    // RTO = R + 4 R / 2 = 3 R = 307.2 us (2.2).
    ends.now = Time::from_ps(102_400_000);
    let ack = ends.receiver.on_data(0);
    ends.ack(ack, false, Time::ZERO);
    assert_eq!(ends.rto_us(), 307.2);
    // Second sample R = 204.8 us: RTTVAR = 3/4 x 51.2 + 1/4 x |102.4 - 204.8| =
    // 64 us; SRTT = 7/8 x 102.4 + 1/8 x 204.8 = 115.2 us; RTO = 115.2 + 256 (2.3).
    let sent_at = ends.now;
    ends.now = Time::from_ps(307_200_000);
    let ack = ends.receiver.on_data(1);
    ends.ack(ack, false, sent_at);
    assert_eq!(ends.rto_us(), 371.2);
    // Each timeout doubles it (5.5), up to the largest.
    for expected in [742.4, 1484.8, 2969.6, 5939.2, 6000.0, 6000.0] {
        assert_eq!(ends.time_out(), [Again(2)]);
        assert_eq!(ends.rto_us(), expected);
    }
    // An ACK of new data: a new sample, no doubling. R = 115.2 us = SRTT: RTTVAR
    // = 3/4 x 64 = 48, RTO = 115.2 + 192.
    let sent_at = ends.now;
    ends.now = Time::from_ps(sent_at.ps() + 115_200_000);
    let ack = ends.receiver.on_data(2);
    ends.ack(ack, false, sent_at);
    // Stamps are rounded down to 1.024 ns at both ends: within one unit of R,
    // of which 1/8 + 4 x 1/4 enter.
    assert!((ends.rto_us() - 307.2).abs() < 0.002, "{}", ends.rto_us());
}

#[test]
fn the_smallest_timeout_holds() {
    let mut ends = Ends::new(tcp(1), 100);
    ends.send();
    assert_eq!(ends.rto_us(), 1000.0);
    ends.now = Time::from_ps(100_000_000);
    ends.hear(0); // 3 x 100 us is less than 1 ms
    assert_eq!(ends.rto_us(), 1000.0);
}

#[test]
fn only_a_cumulative_ack_restarts_the_timer() {
    let mut ends = Ends::new(tcp(4), 4);
    ends.send();
    ends.now = Time::from_ps(200_000_000);
    ends.hear(2);
    assert_eq!(ends.sender.deadline(), Time::from_ps(1_000_000_000));
    ends.hear(0);
    assert_eq!(ends.sender.deadline(), Time::from_ps(1_200_000_000));
}

// ---- DCTCP (RFC 8257, section 3.3) -----------------------------------------

fn dctcp(window: u32, alpha: f64) -> Value {
    json!({
        "kind": "dctcp", "initial_window": format!("{window}pkt"), "g": 0.0625,
        "initial_alpha": alpha, "min_rto": "1ms",
    })
}

#[test]
fn alpha_follows_the_share_of_marks_per_window() {
    // Window fixed at 4 by the largest window, alpha from 1, g = 1/16.
    let mut spec = dctcp(4, 1.0);
    spec["max_window"] = json!("4pkt");
    let mut ends = Ends::new(spec, 1000);
    ends.send();
    let alpha = |ends: &Ends| ends.sender.alpha().unwrap();
    // The first ACK closes the empty first window: F = 0 of 1: 15/16. The next
    // window ends beyond packet 3 (4 had been sent), that is with packet 4's ACK.
    ends.hear(0);
    assert_eq!(alpha(&ends), 0.9375);
    for n in 1..4 {
        ends.hear(n);
        assert_eq!(alpha(&ends), 0.9375);
    }
    // Packets 1 to 4: F = 0: 15/16 x 15/16 = 0.87890625. 8 had been sent.
    ends.hear(4);
    assert_eq!(alpha(&ends), 0.878_906_25);
    // Packets 5 to 8, two of them marked: F = 1/2: 0.87890625 x 15/16 + 1/32.
    ends.hear_marked(5, true);
    ends.hear_marked(6, true);
    ends.hear(7);
    assert_eq!(alpha(&ends), 0.878_906_25);
    ends.hear(8);
    assert_eq!(alpha(&ends), 0.878_906_25 * 0.9375 + 0.03125);
}

/// A mark for each of the packets `from..to`, all in one window of data.
fn mark_all(ends: &mut Ends, from: u32, to: u32) -> Vec<f64> {
    (from..to)
        .map(|n| {
            ends.hear_marked(n, true);
            ends.window()
        })
        .collect()
}

#[test]
fn one_cut_per_window_of_data() {
    // Alpha 1, window 16, all of packets 0 to 15 marked: one cut for all of
    // them, 16 x (1 - 1/2) = 8, on the first ACK. (F = 1 of 1 keeps alpha 1.)
    let mut ends = Ends::new(dctcp(16, 1.0), 1000);
    assert_eq!(ends.send(), news(0..16));
    let windows = mark_all(&mut ends, 0, 16);
    assert_eq!(windows, [8.0; 16]);
    // 8 packets were sent since: 16 to 23. The first of them, marked, is of the
    // next window of data: 8 x (1 - 1/2) = 4, once.
    let windows = mark_all(&mut ends, 16, 24);
    assert_eq!(windows, [4.0; 8]);
    // Then 2, which is the least.
    assert_eq!(mark_all(&mut ends, 24, 28), [2.0; 4]);
    assert_eq!(mark_all(&mut ends, 28, 30), [2.0; 2]);
}

#[test]
fn the_cut_follows_alpha() {
    // Alpha from 0: packet 0, marked, closes a window with F = 1: alpha = 1/16,
    // window 16 x (1 - 1/32) = 15.5.
    let mut ends = Ends::new(dctcp(16, 0.0), 1000);
    ends.send();
    ends.hear_marked(0, true);
    assert_eq!((ends.sender.alpha(), ends.window()), (Some(0.0625), 15.5));
    // The cut ended slow start: an unmarked ACK adds 1 / 15.5.
    assert_eq!(ends.sender.in_flight(), 15);
    ends.hear(1);
    assert_eq!(ends.window(), 15.5 + 1.0 / 15.5);
}

#[test]
fn marked_acks_do_not_grow_the_window() {
    let mut ends = Ends::new(dctcp(4, 0.0), 1000);
    ends.send();
    // Alpha = 1/16 with the first: 4 x (1 - 1/32) = 3.875. Then no growth.
    assert_eq!(mark_all(&mut ends, 0, 4), [3.875; 4]);
}

#[test]
fn dctcp_halves_on_a_loss() {
    // RFC 8257, section 3.5: as TCP. 12 outstanding when the third packet above
    // the hole arrives: 6.
    let mut ends = Ends::new(dctcp(10, 0.0), 1000);
    ends.send();
    ends.hear(1);
    ends.hear(2);
    assert_eq!(ends.hear(3), [Again(0)]);
    assert_eq!(ends.window(), 6.0);
    // A mark during recovery is no second cut.
    ends.hear_marked(4, true);
    assert_eq!(ends.window(), 6.0);
    let mut ends = Ends::new(dctcp(10, 0.0), 10);
    ends.send();
    assert_eq!(ends.time_out(), [Again(0)]);
    assert_eq!(ends.window(), 1.0);
}

// ---- minTCP (pFabric, SIGCOMM 2013, section 4.2) ---------------------------

/// 3 base RTTs of 100 us.
const RTO_US: f64 = 300.0;

#[test]
fn mintcp_starts_at_one_bdp_and_ignores_duplicates() {
    // 10 Gbps x 100 us = 125 KB = 83.3 packets: 84.
    let mut ends = Ends::new(json!("mintcp"), 84);
    assert_eq!(ends.send(), news(0..84));
    assert_eq!(ends.rto_us(), RTO_US);
    // Packet 0 is lost; 83 ACKs of later packets retransmit nothing and change no window.
    for n in 1..84 {
        assert_eq!(ends.hear(n), []);
    }
    assert_eq!(ends.window(), 84.0);
    // The timer: only packet 0 is missing, and only that is sent.
    assert_eq!(ends.time_out(), [Again(0)]);
    assert_eq!(ends.window(), 1.0);
    assert_eq!(ends.rto_us(), RTO_US);
    ends.hear(0);
    assert!(ends.sender.is_done());
}

#[test]
fn mintcp_slow_starts_to_half_the_window_after_a_timeout() {
    // All of a window of 8 is lost: threshold 4, window 1.
    let mut ends = Ends::new(json!({"kind": "mintcp", "initial_window": "8pkt"}), 1000);
    ends.send();
    assert_eq!(ends.time_out(), [Again(0)]);
    assert_eq!(ends.hear(0), [Again(1), Again(2)]); // window 2
    assert_eq!(ends.hear(1), [Again(3), Again(4)]); // 3
    assert_eq!(ends.hear(2), [Again(5), Again(6)]); // 4
    assert_eq!(ends.hear(3), [Again(7)]); // 4.25
    assert_eq!(ends.window(), 4.25);
    assert_eq!(ends.hear(4), [New(8)]);
}

#[test]
fn mintcp_probes_after_five_timeouts_in_a_row() {
    let mut ends = Ends::new(json!({"kind": "mintcp", "initial_window": "8pkt"}), 1000);
    ends.send();
    for timeout in 1..5 {
        assert_eq!(ends.time_out(), [Again(0)], "timeout {timeout}");
        assert_eq!(ends.now, Time::from_ps(timeout * 300_000_000)); // no backoff
        assert!(!ends.sender.is_probing(&ends.config));
    }
    // The fifth and all later ones: one probe each, no data.
    for timeout in 5..9 {
        assert_eq!(ends.time_out(), [Probe], "timeout {timeout}");
        assert_eq!(ends.send(), []);
        assert!(ends.sender.is_probing(&ends.config));
    }
    assert_eq!(
        (ends.sender.timeouts(), ends.sender.retransmissions()),
        (8, 4)
    );
    // A probe's ACK says nothing new; the flow leaves probe mode in slow start
    // from a window of 1.
    let ack = ends.receiver.on_probe();
    assert_eq!(ends.ack(ack, false, Time::ZERO), [Again(0)]);
    assert!(!ends.sender.is_probing(&ends.config));
    // The threshold is at its least, 2, after so many timeouts.
    assert_eq!(ends.hear(0), [Again(1), Again(2)]);
    assert_eq!(ends.window(), 2.0);
    // Five in a row are counted anew.
    for _ in 0..4 {
        assert_eq!(ends.time_out(), [Again(1)]);
    }
    assert_eq!(ends.time_out(), [Probe]);
}

#[test]
fn a_late_ack_of_data_ends_probe_mode_too() {
    let mut ends = Ends::new(json!({"kind": "mintcp", "initial_window": "8pkt"}), 8);
    ends.send();
    for _ in 0..4 {
        ends.time_out();
    }
    assert_eq!(ends.time_out(), [Probe]);
    // Packet 3, long presumed lost, had arrived after all.
    assert_eq!(ends.hear(3), [Again(0)]);
    assert!(!ends.sender.is_probing(&ends.config));
    // The next timeout is the first of a new row.
    assert_eq!(ends.time_out(), [Again(0)]);
}

#[test]
fn a_probe_that_is_no_longer_needed_is_not_sent() {
    // The NIC is full when the fifth timeout comes, so that the probe waits; an
    // ACK that says nothing new ends probe mode before it goes.
    let mut ends = Ends::new(json!({"kind": "mintcp", "initial_window": "2pkt"}), 8);
    ends.send();
    for _ in 0..4 {
        ends.time_out();
    }
    ends.now = ends.sender.deadline();
    ends.sender.on_timer(ends.now, &ends.config);
    let ack = ends.receiver.on_probe();
    assert_eq!(ends.ack(ack, false, Time::ZERO), [Again(0)]);
    assert_eq!(ends.send(), []);
}

// ---- all of them -----------------------------------------------------------

mod any_script {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        /// Whatever is lost, delayed or marked: every packet arrives in the end,
        /// nothing beyond the flow is sent, no new packet is sent twice, the
        /// window is respected, and packets in flight are never fewer than none.
        #[test]
        fn everything_arrives_in_the_end(
            kind in prop::sample::select(vec!["tcp", "dctcp", "mintcp"]),
            total in 1u32..60,
            window in 1u32..30,
            script in prop::collection::vec((any::<u8>(), any::<bool>()), 0..400),
        ) {
            let spec = json!({"kind": kind, "initial_window": format!("{window}pkt"), "min_rto": "500us"});
            let mut ends = Ends::new(spec, total);
            let mut wire = VecDeque::new();
            let mut next_new = 0;
            let mut script = script.into_iter();
            let mut steps = 0;
            let mut sent = ends.send();
            while !ends.sender.is_done() {
                for transmit in &sent {
                    match *transmit {
                        New(n) => {
                            prop_assert_eq!(n, next_new);
                            next_new += 1;
                        }
                        Again(n) => prop_assert!(n < next_new && n >= ends.sender.una()),
                        Probe => prop_assert_eq!(kind, "mintcp"),
                    }
                }
                prop_assert!(next_new <= total);
                wire.extend(sent.iter().copied());
                steps += 1;
                prop_assert!(steps < 5000, "no end");
                // When the script is over, nothing is lost or reordered any more.
                let (choice, marked) = script.next().unwrap_or((255, false));
                let Some(front) = wire.pop_front() else {
                    sent = ends.time_out();
                    continue;
                };
                ends.now = Time::from_ps((ends.now.ps() + 1_200_000).min(ends.sender.deadline().ps()));
                sent = match choice {
                    0..50 => vec![], // lost
                    50..90 => {
                        wire.push_back(front); // overtaken by all others
                        vec![]
                    }
                    90..100 => ends.time_out(),
                    _ => match front {
                        New(n) | Again(n) => ends.hear_marked(n, marked && kind == "dctcp"),
                        Probe => {
                            let ack = ends.receiver.on_probe();
                            ends.ack(ack, false, Time::ZERO)
                        }
                    },
                };
            }
            prop_assert_eq!(ends.receiver.distinct(), total);
            prop_assert_eq!(ends.sender.in_flight(), 0);
            prop_assert_eq!(ends.sender.deadline(), Time::NEVER);
        }
    }
}
