//! What is recorded of ports and windows.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use serde_json::json;

use super::{Dir, busy, execute, star, with};

#[test]
fn port_series_add_up_to_what_was_counted() {
    for scheme in ["dctcp", "pfabric"] {
        let dir = Dir::new();
        let record = json!({"ports": {"interval": "30us"}});
        let outcome = execute(with(busy(scheme), "record", record), Some(&dir.0)).unwrap();
        let table = dir.table("port_series.parquet");
        let sum = |name: &str| {
            let column = table
                .column_by_name(name)
                .unwrap()
                .as_primitive::<UInt64Type>();
            column.iter().flatten().sum::<u64>()
        };
        assert!(outcome.counters.drops > 0);
        assert_eq!(sum("drops"), outcome.counters.drops);
        assert_eq!(sum("marks"), outcome.counters.ecn_marks);
        assert_eq!(sum("packets"), outcome.counters.packet_hops);
        let shares = table
            .column_by_name("utilisation")
            .unwrap()
            .as_primitive::<Float64Type>();
        assert!(shares.iter().flatten().all(|u| (0.0..=1.0).contains(&u)));
        let queued = table
            .column_by_name("queued_bytes")
            .unwrap()
            .as_primitive::<UInt64Type>();
        assert!(queued.iter().flatten().max().unwrap() > 10_000);
    }
}

/// Two packets of 1500 B at 10 Gbps, 1.2 us each, to one receiver at once.
#[test]
fn a_port_by_hand() {
    let dir = Dir::new();
    let scenario = star(&dir, "0,0,2,1460\n0,1,2,1460\n");
    let ports = json!({"interval": "2.8us", "which": ["switch -> host 2"]});
    let record = json!({"ports": ports, "waits": {"longest": 5}});
    execute(with(scenario, "record", record), Some(&dir.0)).unwrap();
    let table = dir.table("port_series.parquet");
    let values = |name: &str| {
        table
            .column_by_name(name)
            .unwrap()
            .as_primitive::<Float64Type>()
            .values()
            .to_vec()
    };
    // Both arrive at 2.2 us; one is sent until 3.4 us, the other until 4.6 us.
    let (times, shares) = (values("time_s"), values("utilisation"));
    assert!((times[0] - 2.8e-6).abs() < 1e-15 && (times[1] - 5.6e-6).abs() < 1e-15);
    assert!(
        (shares[0] - 0.6 / 2.8).abs() < 1e-6 && (shares[1] - 1.8 / 2.8).abs() < 1e-6,
        "{shares:?}"
    );
    assert_eq!(
        table
            .column_by_name("queued_bytes")
            .unwrap()
            .as_primitive::<UInt64Type>()
            .value(0),
        1500
    );
    let text = dir.text("waits.csv");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "time_s,port,flow,seq,kind,waited_s");
    assert_eq!(
        lines[1..],
        ["0.0000022,switch -> host 2,1,0,data,0.0000012"]
    );
}

/// At a choosing port, waits end when the packet is chosen.
#[test]
fn waits_at_a_choosing_port_by_hand() {
    let dir = Dir::new();
    let scenario = star(&dir, "0,0,2,1460\n0,1,2,1460\n0.000000001,0,2,1460\n");
    let nic = json!({"discipline": "fifo", "drop": "tail"});
    let mut scenario = with(scenario, "record", json!({"waits": {}}));
    scenario["scheme"] = json!({"preset": "pfabric", "nic": nic});
    execute(scenario, Some(&dir.0)).unwrap();
    let text = dir.text("waits.csv");
    // Flow 2 waits 1.199 us in its NIC, and then for flow 1 at the switch.
    let at_switch: Vec<&str> = text
        .lines()
        .filter(|l| l.contains("switch -> host 2"))
        .collect();
    assert_eq!(
        at_switch,
        [
            "0.0000022,switch -> host 2,1,0,data,0.0000012",
            "0.0000034,switch -> host 2,2,0,data,0.0000012",
        ],
        "{text}"
    );
    assert!(
        text.contains("0.000000001,host 0 -> switch,2,0,data,0.000001199"),
        "{text}"
    );
}

/// What a port notes on packets, to mark them by what leaves before them, is no part of who they are.
#[test]
fn waits_are_the_same_where_ports_count_departures() {
    let waits = |port: serde_json::Value| {
        let dir = Dir::new();
        let scenario = star(&dir, "0,0,2,14600\n0,1,2,14600\n");
        let mut scenario = with(scenario, "record", json!({"waits": {}}));
        scenario["scheme"] = json!({"preset": "pfabric", "transport": "dctcp", "port": port});
        execute(scenario, Some(&dir.0)).unwrap();
        dir.text("waits.csv")
    };
    let unmarked = waits(json!({"ecn_threshold": "1000pkt"}));
    assert!(unmarked.lines().count() > 10, "{unmarked}");
    let counting = json!({"ecn_threshold": "1000pkt", "ecn_at": "departures"});
    assert_eq!(waits(counting), unmarked);
}

#[test]
fn windows_by_hand() {
    let dir = Dir::new();
    let mut scenario = star(&dir, "0,0,2,14600\n0,1,2,1460\n");
    scenario["scheme"] = json!({
        "preset": "dctcp",
        "transport": {"initial_window": "4pkt", "initial_alpha": 0.5},
        "nic": {"per_flow_limit": "none"},
    });
    execute(
        with(scenario, "record", json!({"windows": {"flows": [0]}})),
        Some(&dir.0),
    )
    .unwrap();
    let table = dir.table("windows.parquet");
    let floats = |i: usize| {
        table
            .column(i)
            .as_primitive::<Float64Type>()
            .values()
            .to_vec()
    };
    let in_flight = table
        .column(3)
        .as_primitive::<UInt32Type>()
        .values()
        .to_vec();
    // Four packets at once; each ACK lets two more go; alpha decays once per window of data.
    assert_eq!((floats(0)[0], floats(2)[0], in_flight[0]), (0.0, 4.0, 4));
    assert_eq!(floats(2)[1..4], [5.0, 6.0, 7.0]);
    assert_eq!(in_flight[1..4], [5, 6, 7]);
    assert_eq!(floats(4)[1], 0.5 * 15.0 / 16.0);
    assert_eq!(*in_flight.last().unwrap(), 0);
    assert!(floats(0).is_sorted());
}
