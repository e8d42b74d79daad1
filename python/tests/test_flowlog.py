"""Flow logs: what is read as what, and what is wrong with them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fctlab import memory
from fctlab.errors import SpecError
from fctlab.slo import flowlog

MS = 1_700_000_000_000


def read(folder: Path, text: str, name: str = "log.csv", **given: Any) -> flowlog.FlowLog:
    file = folder / name
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    columns = flowlog.Columns(**given.pop("columns", {}))
    return flowlog.read(file, columns, **given)


def starts(log: flowlog.FlowLog) -> Any:
    return pytest.approx(log.flows["start_s"].to_list(), abs=1e-9)


IPFIX = (
    "flowStartMilliseconds,flowEndMilliseconds,octetDeltaCount,ipClassOfService,"
    "sourceIPv4Address,destinationIPv4Address\n"
    f"{MS + 250},{MS + 260},2000,40,10.0.0.1,10.0.0.2\n{MS},{MS + 1500},7,3,10.0.0.3,10.0.0.2\n"
)


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
def test_ipfix_is_known(tmp_path: Path, name: str) -> None:
    log = read(tmp_path, IPFIX, name, names={"10": "storage"})
    assert log.flows.to_dict(as_series=False) == {
        "start_s": [0.0, 0.25],
        "bytes": [7, 2000],
        # The upper six bits of the ToS byte: the lower two are ECN's.
        "class": ["dscp-0", "storage"],
        "dscp": [0, 10],
        "source": ["10.0.0.3", "10.0.0.1"],
        "destination": ["10.0.0.2", "10.0.0.2"],
        "duration_s": [1.5, 0.01],
    }
    assert "starts: flowStartMilliseconds, in milliseconds" in log.notes


def test_zeek_is_known(tmp_path: Path) -> None:
    fields = "#fields\tts\tuid\tid.orig_h\tduration\torig_bytes\n"
    rows = "1700000000.25\tC1\t10.0.0.1\t-\t100\n1700000000.5\tC2\t10.0.0.1\t0.5\t-\n"
    text = f"#separator \\x09\n{fields}#types\ttime\tstring\taddr\tinterval\tcount\n{rows}"
    log = read(tmp_path, text + "1700000001.25\tC3\t10.0.0.2\t0.5\t7\n", "conn.log")
    assert log.flows["bytes"].to_list() == [100, 7] and starts(log) == [0.0, 1.0]
    assert log.flows["duration_s"].to_list() == [None, 0.5]
    assert "1 connections without a byte are left out" in log.notes
    lines = '{"ts":1700000000.25,"orig_bytes":5}\n{"ts":1700000000.75,"orig_bytes":6}\n'
    assert starts(read(tmp_path, lines, "conn.log")) == [0.0, 0.5]


CONNECTIONS = """ts,id.orig_h,id.orig_p,id.resp_h,id.resp_p,proto,duration,orig_bytes,resp_bytes
1700000000.25,10.0.0.1,999,10.0.0.2,80,tcp,0.5,100,9000
1700000000.50,10.0.0.3,998,10.0.0.2,80,tcp,0.25,0,70
1700000000.75,10.0.0.4,997,10.0.0.2,80,tcp,0.25,5,0
1700000001.00,10.0.0.5,996,10.0.0.2,80,tcp,0.25,0,0
"""


def test_two_ways_of_zeeks_connections_are_two_flows(tmp_path: Path) -> None:
    log = read(tmp_path, CONNECTIONS)
    assert log.flows.select("source", "destination", "bytes", "duration_s").rows() == [
        ("10.0.0.1", "10.0.0.2", 100, 0.5),
        ("10.0.0.2", "10.0.0.1", 9000, 0.5),
        ("10.0.0.2", "10.0.0.3", 70, 0.25),
        ("10.0.0.4", "10.0.0.2", 5, 0.25),
    ]
    assert "1 connections without a byte are left out" in log.notes
    assert (
        "both ways of a connection are flows: 2 of who opened one, 2 of who answered (resp_bytes)"
        in log.notes
    )
    one = read(tmp_path, CONNECTIONS, columns={"size": "orig_bytes"})
    assert one.flows["bytes"].to_list() == [100, 5]
    other = read(tmp_path, CONNECTIONS, columns={"size": "resp_bytes"})
    assert other.flows.select("source", "bytes").rows() == [("10.0.0.2", 9000), ("10.0.0.2", 70)]
    with pytest.raises(SpecError, match="line 3, column orig_bytes: 'x' is not a finite number"):
        read(tmp_path, CONNECTIONS.replace("tcp,0.25,0,70", "tcp,0.25,70,x"))


def test_acknowledgements_alone_are_no_flow(tmp_path: Path) -> None:
    rows = "1.5,1.6,a,b,tcp,  5,  268\n1.5,1.6,  b, a,TCP  ,7,191263\n2.5,2.6,b,a,17,7,300\n"
    log = read(tmp_path, "ts,te,sa,da,pr,ipkt,ibyt\n" + rows)
    assert log.flows["bytes"].to_list() == [191263, 300]
    assert log.flows["source"].to_list() == ["b", "b"]
    assert any(note.startswith("1 records of acknowledgements alone") for note in log.notes)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (
            "vpc.log",
            "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets "
            "bytes start end action log-status\n2 1 eni-1 a b 1 2 6 3 840 1 2 ACCEPT OK\n",
            "is a VPC flow log: .* neither a flow's start nor its size",
        ),
        (
            "vpc.csv",
            "account_id,version,interface_id,start,bytes\n1,2,e,1,9\n",
            "is a VPC flow log",
        ),
        (
            "vpc.jsonl",
            '{"jsonPayload": {"bytes_sent": "9"}, "resource": {}}\n',
            "is a VPC flow log",
        ),
        ("sflow.csv", "FLOW,10.0.0.1,1,2,0a,0b,0x0800,0,0\n", "is of sFlow .*RFC 3176.*samples"),
        ("sflow.csv", "start_s,bytes,samplingRate,samplePool\n1,9,1,1\n", "is of sFlow"),
        (
            "netflow.csv",
            "start_s,bytes,samplingInterval\n1,9,1\n2,9,1000\n",
            "line 3, column samplingInterval: 1000: records are of sampled packets",
        ),
    ],
)
def test_logs_without_flows_sizes_are_refused(
    tmp_path: Path, name: str, text: str, why: str
) -> None:
    with pytest.raises(SpecError, match=why):
        read(tmp_path, text, name)
    unsampled = "start_s,bytes,samplingInterval\n1,9,1\n2,9,0\n"
    assert len(read(tmp_path, unsampled).flows) == 2


def test_nfdump_is_known(tmp_path: Path) -> None:
    head = "ts,te,td,sa,da,stos,ibyt\n"
    rows = [f"2026-01-01 00:00:0{i}.25,x,0.5,10.0.0.1,10.0.0.2,40,{100 + i}\n" for i in range(3)]
    summary = "Summary\nflows,bytes,packets,avg_bps,avg_pps,avg_bpp\n3,303,3,1,1,1\n"
    log = read(tmp_path, head + "".join(rows) + summary)
    assert log.flows["bytes"].to_list() == [100, 101, 102] and starts(log) == [0.0, 1.0, 2.0]
    assert log.flows["duration_s"].to_list() == [0.5] * 3 and log.packets
    assert log.flows["class"].to_list() == ["dscp-10"] * 3


@pytest.mark.parametrize(
    ("cells", "unit", "seconds"),
    [
        (("1700000000", "1700000002"), "seconds since 1970", 2.0),
        ((f"{MS}", f"{MS + 2}"), "milliseconds since 1970", 0.002),
        ((f"{MS}000", f"{MS}002"), "microseconds since 1970", 2e-6),
        ((f"{MS}000000", f"{MS}000002"), "nanoseconds since 1970", 2e-9),
        (("0.25", "0.75"), "seconds (a guess", 0.5),
        (("2026-01-02T03:04:05.250Z", "2026-01-02T03:04:06.5Z"), "times of day", 1.25),
        (("2026-01-02 03:04:05", "2026-01-02 03:04:06"), "times of day", 1.0),
        (("2026-01-02T05:04:05+02:00", "2026-01-02T03:04:06Z"), "times of day", 1.0),
    ],
)
def test_units_are_guessed_and_said(
    tmp_path: Path, cells: tuple[str, str], unit: str, seconds: float
) -> None:
    log = read(tmp_path, "time,bytes\n" + "".join(f"{cell},9\n" for cell in cells))
    assert log.flows["start_s"][1] == pytest.approx(seconds, rel=1e-6)
    assert unit in log.notes[0], log.notes


def test_whole_numbers_are_not_silently_seconds(tmp_path: Path) -> None:
    text = "start,size\n3,1\n5,2\n"
    with pytest.raises(SpecError, match=r"start has whole numbers, .*; say --time start:ms"):
        read(tmp_path, text)
    assert starts(read(tmp_path, text, columns={"time": "start:ms"})) == [0.0, 0.002]
    sized = read(tmp_path, text, columns={"time": "start:s", "size": "size:KB"})
    assert sized.flows["bytes"].to_list() == [1000, 2000] and starts(sized) == [0.0, 2.0]


def test_durations_have_units_too(tmp_path: Path) -> None:
    text = f"start,duration,size\n{MS},3,1\n{MS + 5},4,2\n"
    assert read(tmp_path, text).flows["duration_s"].to_list() == [0.003, 0.004]
    unknown = read(tmp_path, "start,duration,size\n0.5,3,1\n")
    assert "duration_s" not in unknown.flows.columns
    assert any("--duration duration:ms" in note for note in unknown.notes)
    told = read(tmp_path, "start,took,size\n0.5,3,1\n", columns={"duration": "took:us"})
    assert told.flows["duration_s"].to_list() == [pytest.approx(3e-6)]


def test_two_codes_of_one_name_are_one_class(tmp_path: Path) -> None:
    text = "start_s,size,dscp\n0,1,8\n1,1,10\n2,1,46\n"
    log = read(tmp_path, text, names={"8": "bulk", "10": "bulk"})
    assert log.flows["class"].to_list() == ["bulk", "bulk", "dscp-46"]


def test_classes_may_have_names_and_codes(tmp_path: Path) -> None:
    log = read(tmp_path, "start_s,size,class,tos\n0,1,web,0\n1,1,web,32\n2,1,rpc,184\n")
    assert log.flows["class"].to_list() == ["web", "web", "rpc"]
    assert log.flows["dscp"].to_list() == [0, 8, 46]
    told = read(tmp_path, "start_s,size,mark\n0,1,184\n", columns={"traffic_class": "mark:tos"})
    assert told.flows["class"].to_list() == ["dscp-46"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start_s,flow\n1,2\n", "has no column of sizes (size_bytes, size, bytes, "),
        ("start_s,size\n1,2\n\n# a comment\n2,x\n", "line 5, column size: 'x' is not a finite num"),
        ("start_s,size\n1,2\n2,0\n", "line 3, column size: '0' is below 1 byte"),
        ("start_s,size\nNaN,5\n", "line 2, column start_s: 'NaN' is not a finite number"),
        ("start_s,size\n1,\n", "line 2, column size: is empty"),
        ("start_s,size\n1,2\n1,2,3\n", "line 3 has 3 columns, not 2"),
        ("start_s,size\n", "has no flows"),
        ("start_s,size,dscp\n1,2,64\n", "line 2, column dscp: '64' is not in [0, 63]"),
        ("start_s,size,tos\n1,2,2.5\n", "line 2, column tos: '2.5' is not in [0, 255]"),
        ("start_s,end_s,size\n2,1,9\n", "line 2, column end_s: '1' is before the flow starts"),
        ("time,size\n2026-01-02 03:04:05,1\nsoon,1\n", "line 3, column time: 'soon' is not a tim"),
    ],
)
def test_mistakes_have_a_line_and_a_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'log.csv'}: {message}"), caught.value


def test_other_mistakes(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such file"):
        flowlog.read(tmp_path / "none.csv")
    with pytest.raises(SpecError, match="is not a flow log"):
        flowlog.read(tmp_path / "none.xlsx")
    (tmp_path / "log.csv.gz").write_bytes(b"start_s,size\n1,2\n")
    with pytest.raises(SpecError, match="gzip"):
        flowlog.read(tmp_path / "log.csv.gz")
    text = "start_s,size,dscp\n1,2,8\n"
    with pytest.raises(SpecError, match=r"--time: 'begin' is not a column of .*; it has start_s"):
        read(tmp_path, text, columns={"time": "begin"})
    with pytest.raises(SpecError, match=r"--names: '0' is not in dscp; it has 8"):
        read(tmp_path, text, names={"0": "rpc"})
    table = pl.DataFrame({"start_s": [0.5, 1.5], "size": [1, -3]})
    table.write_parquet(tmp_path / "log.parquet")
    with pytest.raises(SpecError, match="row 2, column size: -3 is below 1 byte"):
        flowlog.read(tmp_path / "log.parquet")


CUT = """ts,te,td,sa,da,sp,dp,pr,ibyt
100.0,160.0,60.0,a,b,1,2,TCP,600
160.1,219.9,59.8,a,b,1,2,TCP,500
220.0,230.0,10.0,a,b,1,2,TCP,100
160.1,220.0,59.9,a,b,9,2,TCP,70
300.0,301.0,1.0,a,b,9,2,TCP,7
"""


def test_records_that_the_active_timeout_cut_are_one_flow(tmp_path: Path) -> None:
    log = read(tmp_path, CUT)
    assert log.flows.select("start_s", "bytes", "duration_s").rows() == [
        (0.0, 1200, pytest.approx(130.0)),
        (pytest.approx(60.1), 70, pytest.approx(59.9)),  # The next is a flow of its own.
        (200.0, 7, 1.0),
    ]
    assert "flows that were cut after 60 s and are joined: 1, of 3 records" in log.notes
    assert log.flows.columns == ["start_s", "bytes", "class", "source", "destination", "duration_s"]
    without = "\n".join(
        line.replace(",9,2,", ",").replace(",1,2,", ",") for line in CUT.split("\n")
    )
    assert len(read(tmp_path, without.replace("sp,dp,", "")).flows) == 5, "no ports: not the same"
    short = CUT.replace("60.0,a", "0.6,a").replace("59.8", "0.5").replace("59.9,", "0.5,")
    assert len(read(tmp_path, short.replace("10.0", "0.1").replace("1.0,a", "0.1,a")).flows) == 5
    with pytest.raises(SpecError, match=r"line 2, column te: '99.0' is before the flow starts"):
        read(tmp_path, CUT.replace("160.0,60.0", "99.0,60.0").replace(",td,", ",x,"))


CONVERSATIONS = """================================================================================
TCP Conversations
Filter:<No Filter>
    |  <-  | |  ->  | |  Total  |    Relative    |   Duration   |
    | Frames  Bytes | | Frames  Bytes | | Frames  Bytes |  Start  |  |
10.0.0.1:54321  <-> 10.0.0.2:80  12 15,234 bytes  10 900 bytes  22 16,134 bytes  0.500000000  1.2500
10.0.0.1:54322  <-> 10.0.0.2:80    2 120  3 12 kB  5 12 kB  0.000000000  0.2500
================================================================================
"""


def test_conversations_of_tshark(tmp_path: Path) -> None:
    log = read(tmp_path, CONVERSATIONS, name="conv.txt")
    assert log.flows.select("start_s", "bytes", "source", "duration_s").rows() == [
        (0.0, 12500, "10.0.0.1", 0.25),
        (0.5, 15234, "10.0.0.2", 1.25),
    ]
    assert log.packets and any("the way that sent more" in note for note in log.notes)
    with pytest.raises(SpecError, match="has no flows"):
        read(tmp_path, "\n".join(CONVERSATIONS.split("\n")[:5]), name="conv.txt")


def test_packets_of_tshark(tmp_path: Path) -> None:
    head = "frame.time_epoch,ip.src,ip.dst,tcp.srcport,tcp.dstport,tcp.len,ip.dsfield.dscp\n"
    rows = [
        "1700000000.5,a,b,1,80,1000,8",
        "1700000000.6,b,a,80,1,0,8",
        "1700000000.75,a,b,1,80,500,8",
        "1700000001.0,c,b,1,80,10,46",
    ]
    log = read(tmp_path, head + "\n".join(rows) + "\n")
    assert log.flows["bytes"].to_list() == [1500, 10], "ACKs are no flow"
    assert log.flows["dscp"].to_list() == [8, 46]
    assert log.flows["duration_s"].to_list() == [pytest.approx(0.25), 0.0]
    assert starts(log) == [0.0, pytest.approx(0.5)]


def test_what_unpacks_to_more_than_fits_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some 4 KB of gzip may be 4 MB of text."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 4_000_000)
    text = "start_s,size_bytes\n" + "1,2000\n" * 500_000
    with pytest.raises(SpecError, match=r"log\.csv\.gz: unpacks to more than 1,000,000 bytes"):
        read(tmp_path, text, "log.csv.gz")


ODD: dict[str, Any] = {
    "lists": [[1], [2]],
    "bytes": [b"a", b"b"],
    "tables": [{"a": 1}, {"a": 2}],
    "durations": pl.Series([1, 2], dtype=pl.Duration("us")),
    "clocks": pl.Series([1, 2], dtype=pl.Time),
    "categories": pl.Series(["a", "b"], dtype=pl.Categorical),
    "wide numbers": pl.Series([2**70, 2], dtype=pl.Int128),
    "large numbers": [1e300, 1e18],
    "no calendar's times": pl.Series([9 * 10**18, 1], dtype=pl.Datetime("ms")),
    "decimals": pl.Series(["1.5", "2"]).cast(pl.Decimal(10, 2)),
    "nothing": [None, None],
}
ROLES = ("start_s", "bytes", "class", "dscp", "duration", "end_s", "src", "samplinginterval")


@pytest.mark.parametrize("role", [*ROLES, "ipkt"])
@pytest.mark.parametrize("odd", ODD)
def test_columns_of_any_kind_are_read_or_refused(tmp_path: Path, odd: str, role: str) -> None:
    table = {"start_s": [0.5, 1.5], "bytes": [10, 20], "proto": ["TCP", "TCP"], role: ODD[odd]}
    file = tmp_path / "log.parquet"
    pl.DataFrame(table).write_parquet(file)
    try:
        assert flowlog.read(file).flows["start_s"].min() == 0
    except SpecError as error:
        assert str(file) in str(error)


CONVERSATION = "TCP Conversations\n1.1.1.1:1 <-> 2.2.2.2:2 1 {bytes} 1 6 2 7 {start} 0.5\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ts,bytes\n2024-01-01 00:00:0A,5\n", "line 2, column ts: .* is not a time of day"),
        ("ts,bytes\n9999-01-01 00:00:00,5\n", "column ts: .* is not a time of day"),
        ("start_s,bytes\n0.5,1e300\n", "column bytes: '1e300' is above a petabyte"),
        ("start_s,bytes\n1e301,5\n", "column start_s: '1e301' is further away than times reach"),
        (CONVERSATION.format(bytes=",", start=1), "has no flows"),
        (CONVERSATION.format(bytes=5, start="1.2.3"), "has no flows"),
        (
            "frame.time_epoch,frame.len\n1.5,5\n",
            "no column that says whose they are, such as ip.src",
        ),
    ],
)
def test_what_fuzzing_found_in_texts(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        read(tmp_path, text, "log.txt")


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (pl.List(pl.Int64), [[1], [2]], "is neither numbers nor text nor times, but List"),
        (pl.Datetime("ms"), [9 * 10**18, 1], "has times that are no times of ours"),
    ],
)
def test_what_fuzzing_found_in_columns(
    tmp_path: Path, kind: Any, values: Any, message: str
) -> None:
    file = tmp_path / "log.parquet"
    pl.DataFrame({"start_s": pl.Series(values, dtype=kind), "bytes": [1, 2]}).write_parquet(file)
    with pytest.raises(SpecError, match=message):
        flowlog.read(file)


def test_a_packed_log_that_is_broken_inside(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"start_s,size_bytes\n0.1,1000\n" * 50))
    packed[20:24] = b"\xff\xff\xff\xff"
    (tmp_path / "log.csv.gz").write_bytes(packed)
    with pytest.raises(SpecError, match=r"log\.csv\.gz: "):
        flowlog.read(tmp_path / "log.csv.gz")
