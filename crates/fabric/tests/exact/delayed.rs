//! ACKs that wait at the receiver.

use serde_json::{Value, json};

use crate::common::{Given, US, play, star, unlimited};

/// Packets of 1460 B; one alone takes 4.4 us and its ACK 2.064 us more.
fn flow(packets: u64) -> Given {
    (0, 0, 1, packets * 1460)
}

fn scheme(window: &str, transport: &Value) -> Value {
    let mut scheme = unlimited("tcp");
    scheme["transport"]["initial_window"] = json!(window);
    for (key, value) in transport.as_object().unwrap() {
        scheme["transport"][key] = value.clone();
    }
    scheme
}

fn fct(packets: u64, window: &str, transport: &Value) -> u64 {
    play(star(1, scheme(window, transport)), &[flow(packets)]).fcts()[0]
}

/// Packets on links, each of which crosses two: data, and all ACKs.
fn acks(scheme: Value, flows: &[Given]) -> u64 {
    let mut scenario = star(flows.len() as u32, scheme);
    scenario["measure"] = json!({"fct_ends": "ack"});
    let played = play(scenario, flows);
    assert!(played.flows.iter().all(|flow| flow.finished));
    assert_eq!(played.counters.retransmissions, 0);
    played.counters.packet_hops / 2 - played.counters.data_packets
}

#[test]
fn an_ack_waits_for_a_second_packet_or_its_time() {
    // A window of one packet: its ACK, back at 6.464 us, lets two go, the last of which arrives 1.2 + 4.4 us
    // later. Nothing follows the first packet, so its ACK waits.
    assert_eq!(fct(3, "1pkt", &json!({})), 12_064_000);
    let late = json!({"ack_every": 2, "ack_delay": "10us"});
    assert_eq!(fct(3, "1pkt", &late), 12_064_000 + 10 * US);
    // Unless it is among those that go at once.
    let quick = json!({"ack_every": 2, "ack_delay": "10us", "quick_acks": 1});
    assert_eq!(fct(3, "1pkt", &quick), 12_064_000);
    // The second packet of two comes 1.2 us after the first, and its ACK lets two more go at 7.664 us.
    assert_eq!(fct(4, "2pkt", &json!({})), 12_064_000);
    assert_eq!(fct(4, "2pkt", &late), 13_264_000);
    // The last packet of a flow is not waited with.
    assert_eq!(fct(1, "1pkt", &late), 4_400_000);
}

#[test]
fn windows_grow_by_acks_or_by_packets() {
    // Two packets, whose one ACK is back at 1.2 + 4.4 + 2.064 = 7.664 us. The window is three then, and
    // the ACK of the next two, 7.664 us later, lets the sixth packet go.
    let late = |limit: Value| json!({"ack_every": 2, "abc_limit": limit});
    assert_eq!(fct(6, "2pkt", &late(json!(1))), 15_328_000 + 4_400_000);
    // Or four, and all of them go at 7.664 us, one each 1.2 us.
    let together = 7_664_000 + 4_400_000 + 3 * 1_200_000;
    assert_eq!(fct(6, "2pkt", &late(json!(2))), together);
    assert_eq!(fct(6, "2pkt", &late(json!("none"))), together);
    // Where each packet has its ACK there is nothing else to count.
    let one = fct(40, "2pkt", &json!({}));
    assert_eq!(fct(40, "2pkt", &json!({"abc_limit": "none"})), one);
}

#[test]
fn one_ack_speaks_for_several_packets() {
    let of = |every: u32| {
        let transport = json!({"ack_every": every});
        acks(scheme("10pkt", &transport), &[flow(10)])
    };
    assert_eq!([of(1), of(2), of(3), of(4)], [10, 5, 4, 3]);
}

#[test]
fn an_ack_says_one_thing_about_marks() {
    // Two hosts send ten packets each to a third, in pairs. K = 3 packets: of the pair that comes as
    // number k the first finds k - 2 waiting and makes it k - 1, the second k. So the first flow has
    // marks from its fifth packet on, the second from its fourth. ACKs of the first: 1 and 2, 3 and 4; 5, marked
    // as none before; 6 and 7, 8 and 9; 10, the last. Of the second: 1 and 2; 3, since 4 is marked; 4; two each.
    let mut scheme = scheme("10pkt", &json!({"kind": "dctcp", "ack_every": 2}));
    let flows = [(0, 0, 2, 14_600), (0, 1, 2, 14_600)];
    assert_eq!(acks(scheme.clone(), &flows), 10);
    scheme["port"]["ecn_threshold"] = json!("3pkt");
    assert_eq!(acks(scheme, &flows), 12);
}

#[test]
fn what_comes_out_of_order_is_answered_at_once() {
    // Of sixteen packets at once from each of two hosts some find no room among nine.
    // Recovery without a timeout needs the ACKs of all that follow a hole.
    let mut scheme = scheme("16pkt", &json!({"ack_every": 2, "ack_delay": "40ms"}));
    scheme["port"]["buffer"] = json!("9pkt");
    let flows = [(0, 0, 2, 40 * 1460), (0, 1, 2, 40 * 1460)];
    let played = play(star(2, scheme), &flows);
    assert!(played.counters.drops > 0);
    assert!(played.counters.retransmissions > 0);
    assert!(played.flows.iter().all(|flow| flow.finished));
    assert_eq!(played.counters.timeouts, 0);
}

#[test]
fn an_ack_goes_a_moment_later_by_chance() {
    // A window of one packet, so a thousand ACKs one after the other, each up to 1 us later: 500 us, and
    // 1000 / sqrt(12 x 1000) us = 9 us is one standard deviation.
    let one = |jitter: &str| json!({"max_window": "1pkt", "ack_jitter": jitter});
    let late = fct(1001, "1pkt", &one("1us")) - fct(1001, "1pkt", &one("0us"));
    assert!((460 * US..540 * US).contains(&late), "{late}");
    // One of each packet all the same, and in order: a window of ten is ten ACKs.
    let few = json!({"ack_jitter": "3us"});
    assert_eq!(acks(scheme("10pkt", &few), &[flow(10)]), 10);
    let played = play(star(1, scheme("10pkt", &few)), &[flow(500)]);
    assert_eq!(played.counters.retransmissions, 0);
}

#[test]
fn a_recovery_may_restart_the_timer() {
    // Eight flows share the port, so between a loss and three packets beyond it others go. Then the hole is sent
    // again, and is back a round trip later: often past a timer that runs since the last cumulative ACK.
    let timeouts = |restarts: &str| {
        let transport = json!({"rto": "fixed", "min_rto": "60us", "rto_restarts": restarts});
        let mut scheme = scheme("4pkt", &transport);
        scheme["port"]["buffer"] = json!("20pkt");
        let flows: Vec<Given> = (0..8).map(|host| (0, host, 8, 60 * 1460)).collect();
        play(star(8, scheme), &flows).counters.timeouts
    };
    let (acks, first_again) = (timeouts("acks"), timeouts("first-again"));
    assert!(first_again < acks, "{first_again} {acks}");
}
