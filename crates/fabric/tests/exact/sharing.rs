//! Flows that share a link.

use serde_json::json;

use crate::common::{play, star, toml, unlimited};

#[test]
fn flows_that_share_a_nic_take_turns() {
    // Host 0 sends 5 packets each to hosts 1 and 2. A's first packet leaves at
    // once and its second waits; then B's first waits. From there each flow
    // queues its next packet as one of its own starts: A A B A B A B A B B.
    // A's last is the 8th, B's the 10th; then 1.2 us on the receiver's link and 2 us.
    let flows = [(0, 0, 1, 7300), (0, 0, 2, 7300)];
    let mut scenario = toml(
        r#"
        [topology]
        kind = "leaf-spine"
        leaves = 1
        spines = 1
        hosts_per_leaf = 3
        host_rate = "10Gbps"
        fabric_rate = "40Gbps"
        link_delay = "1us"
        [scheme.transport]
        kind = "tcp"
        initial_window = "10pkt"
        "#,
    );
    assert_eq!(
        play(scenario.clone(), &flows).fcts(),
        [12_800_000, 15_200_000]
    );
    // Without a limit A queues its whole window first: the 5th and the 10th.
    scenario["scheme"]["nic"] = json!({"per_flow_limit": "none"});
    assert_eq!(play(scenario, &flows).fcts(), [9_200_000, 15_200_000]);
}

#[test]
fn two_senders_share_the_link_of_a_receiver() {
    // 5 packets from each of two hosts reach the switch in pairs, from 1.2 + 1
    // us on, host 0's first. The port sends A B A B ...: A's last is the 9th and
    // B's the 10th: 2.2 + 9 x 1.2 + 1 and 2.2 + 10 x 1.2 + 1 us.
    let flows = [(0, 0, 2, 7300), (0, 1, 2, 7300)];
    for discipline in ["fifo", "srpt"] {
        let mut scheme = unlimited("tcp");
        scheme["port"]["discipline"] = json!(discipline);
        assert_eq!(
            play(star(2, scheme), &flows).fcts(),
            [14_000_000, 15_200_000],
            "{discipline}"
        );
    }
}

#[test]
fn srpt_lets_the_shorter_flow_pass() {
    // 10 packets from host 0, 2 from host 1, both from the start. At 2.2 us the
    // first of each reaches the switch, A's by the smaller port number: it is
    // sent, since the port is idle. Then B's two, which arrive at 2.2 and 3.4
    // us, go before all of A's: B ends at 2.2 + 3 x 1.2 + 1 = 6.8 us and A after
    // all 12: 2.2 + 12 x 1.2 + 1 = 17.6 us.
    let mut scheme = unlimited("mintcp");
    scheme["tagger"] = json!("remaining");
    scheme["port"]["discipline"] = json!("srpt");
    let played = play(star(2, scheme), &[(0, 0, 2, 14_600), (0, 1, 2, 2920)]);
    assert_eq!(played.fcts(), [17_600_000, 6_800_000]);
}

#[test]
fn strict_priority_by_bytes_sent_serves_the_newcomer_first() {
    // Queue 0 takes bytes sent up to 1460, so each flow's first two packets.
    // Host 0 sends 6 packets from 0 on. Host 1 sends 2 packets from 3.6 us on,
    // in time for the switch at 5.8 and 7.0 us. By then A's packets 0 to 3 have
    // reached the switch at 2.2, 3.4, 4.6 and 5.8 us and left without delay. A's
    // packet 3 (port 0) finds the port idle at 5.8 us and starts; B's first
    // waits until 7.0 us and starts before A's packet 4, which arrives then;
    // B's second arrives at 7.0 us too and starts at 8.2 us, before A's packets
    // 4 and 5, which end at 9.4 + 2 x 1.2 = 11.8 us. Propagation 1 us.
    let mut scheme = unlimited("tcp");
    scheme["tagger"] = json!("sent");
    scheme["port"]["discipline"] = json!({"kind": "priority", "thresholds": [1460]});
    let played = play(star(2, scheme), &[(0, 0, 2, 8760), (3_600_000, 1, 2, 2920)]);
    assert_eq!(
        played.fcts(),
        [12_800_000, 9_400_000 + 1_000_000 - 3_600_000]
    );
}
