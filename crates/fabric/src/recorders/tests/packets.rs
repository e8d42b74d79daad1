//! Packet traces.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::{Dir, busy, execute, star, with};

/// Interface, nanoseconds, captured bytes and original length of each packet,
/// and the names of the interfaces.
type Capture = (Vec<String>, Vec<(u32, u64, Vec<u8>, u32)>);

fn read_pcapng(bytes: &[u8]) -> Capture {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut names, mut packets) = (0, Vec::new(), Vec::new());
    while at < bytes.len() {
        let length = word(at + 4) as usize;
        assert_eq!(word(at + length - 4) as usize, length);
        match word(at) {
            1 => {
                let name = word(at + 16);
                assert_eq!(name & 0xFFFF, 2);
                let end = at + 20 + (name >> 16) as usize;
                names.push(String::from_utf8(bytes[at + 20..end].to_vec()).unwrap());
            }
            6 => {
                let captured = word(at + 20) as usize;
                let ns = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
                let data = bytes[at + 28..at + 28 + captured].to_vec();
                packets.push((word(at + 8), ns, data, word(at + 24)));
            }
            kind => assert_eq!(kind, 0x0A0D_0D0A),
        }
        at += length;
    }
    (names, packets)
}

/// A flow of two packets: seen leaving, arriving, and so their ACKs.
#[test]
fn a_packet_trace_by_hand() {
    let dir = Dir::new();
    let scenario = star(&dir, "0,0,2,2000\n0.5,1,2,1460\n");
    let outcome = execute(
        with(scenario, "record", json!({"packets": {"flows": [0]}})),
        Some(&dir.0),
    )
    .unwrap();
    let (names, packets) = read_pcapng(&fs::read(dir.0.join("packets.pcapng")).unwrap());
    assert_eq!(names, ["host 0", "host 2"]);
    let seen: Vec<(u32, u64, u32, u32)> = packets
        .iter()
        .map(|(interface, ns, data, length)| {
            let number = u32::from_be_bytes(data[24..28].try_into().unwrap());
            let ack = u32::from_be_bytes(data[28..32].try_into().unwrap());
            assert!(data.len() == 40 && (number == 0 || ack == 0));
            (*interface, *ns, number + ack, *length)
        })
        .collect();
    // 1500 B take 1200 ns per link, 580 B 464 ns, 40 B 32 ns; links 1 us.
    let expected = [
        (0, 0, 0, 1500),
        (0, 0, 1460, 580),
        (1, 4400, 0, 1500),
        (1, 4400, 1460, 40),
        (1, 4864, 1460, 580),
        (1, 4864, 2000, 40),
        (0, 6464, 1460, 40),
        (0, 6928, 2000, 40),
    ];
    assert_eq!(seen, expected);
    let report = json!({"written_packets": 8, "left_out_packets": 0, "flows_not_seen": []});
    assert_eq!(outcome.extras["recordings"]["packets"], report);
}

#[test]
fn a_packet_trace_has_a_limit_and_a_view() {
    let dir = Dir::new();
    let scenario = star(&dir, "0,0,2,20000\n");
    let record = json!({"packets": {"flows": [0], "at": "sender", "max_packets": 5}});
    let outcome = execute(with(scenario, "record", record), Some(&dir.0)).unwrap();
    let (names, packets) = read_pcapng(&fs::read(dir.0.join("packets.pcapng")).unwrap());
    assert_eq!((names.len(), packets.len()), (1, 5));
    // 14 data packets and 14 ACKs.
    assert_eq!(
        outcome.extras["recordings"]["packets"]["left_out_packets"],
        23
    );
}

/// Wireshark's own reading, where it is installed.
#[test]
fn wireshark_reads_the_packet_trace() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed");
        return;
    }
    let dir = Dir::new();
    let flows: Vec<u32> = (0..60).collect();
    let record = json!({"packets": {"flows": flows, "at": "sender", "max_packets": 20_000}});
    let mut scenario = with(busy("dctcp"), "record", record);
    scenario["scheme"]["port"]["ecn_threshold"] = json!("5pkt");
    scenario["scheme"]["port"]["buffer"] = json!("12pkt");
    execute(scenario, Some(&dir.0)).unwrap();
    let fields = [
        "_ws.malformed",
        "ip.checksum.status",
        "tcp.checksum.status",
        "tcp.len",
        "frame.len",
        "ip.dsfield.ecn",
        "tcp.options.sack_le",
        "tcp.flags.ece",
        "tcp.analysis.retransmission",
    ];
    let mut tshark = Command::new("tshark");
    tshark.args([
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
        "-T",
        "fields",
    ]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = tshark
        .arg("-r")
        .arg(dir.0.join("packets.pcapng"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(rows.len(), 20_000);
    for row in &rows {
        // Not malformed; IPv4's checksum good (1), TCP's good or, without the payload, not verified (2).
        assert!(
            row[0].is_empty() && row[1] == "1" && ["1", "2"].contains(&row[2]),
            "{row:?}"
        );
    }
    let some = |test: &dyn Fn(&[&str]) -> bool| rows.iter().any(|row| test(row));
    assert!(some(&|row| row[3..6] == ["1460", "1500", "2"]));
    assert!(some(&|row| !row[6].is_empty()), "no SACK block");
    assert!(some(&|row| row[7] == "1"), "no ECE");
    assert!(some(&|row| !row[8].is_empty()), "no retransmission");
}
