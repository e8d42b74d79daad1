"""Flow logs of real programs: softflowd, nfcapd and nfdump, and tshark, of one set of transfers.

Debian's packages softflowd, nfdump, tcpdump and tshark have them. All of it happens in a network
namespace of the test's own. Zeek's log of the same packets is written as `zeek` says.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest

from fctlab.slo import flowlog
from tests import zeek

TOOLS = ("unshare", "ip", "softflowd", "softflowctl", "nfcapd", "nfdump", "tcpdump")
TRANSFERS = 400

SEND = """
import json, random, socket, threading, time
draw = random.Random(1)
PORTS = {10: 5001, 18: 5002, 0: 5003}

def serve(server):
    while True:
        end, _ = server.accept()
        with end:
            while end.recv(1 << 20):
                pass

for port in PORTS.values():
    server = socket.create_server(("127.0.0.1", port), backlog=64)
    threading.Thread(target=serve, args=(server,), daemon=True).start()

def transfer(size, dscp):
    end = socket.socket()
    end.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
    sent.append((size, dscp))
    end.connect(("127.0.0.1", PORTS[dscp]))
    end.sendall(bytes(size))
    end.shutdown(socket.SHUT_WR)
    end.recv(1)  # until the other end has read it all
    end.close()
    time.sleep(0.001)

sent = []
for _ in range(%d):
    transfer(draw.randint(200_000, 1_000_000), draw.choice((10, 18)))
print(json.dumps(sent))
for _ in range(150):  # softflowd hears of packets late, and when others come
    transfer(1, 0)
    time.sleep(0.01)
"""

RECORD = """
set -e
cd {place}
mkdir records
ip link set lo up
# No probe for a lost tail, which a busy machine would send twice for nothing (RFC 8985, section 7).
echo 0 > /proc/sys/net/ipv4/tcp_early_retrans
tcpdump -i lo -Z root -s 128 -B 65536 --immediate-mode -w all.pcap portrange 5001-5002 \
    2> tcpdump.txt &
capture=$!
nfcapd -w records -p 9995 -b 127.0.0.1 -t 3600 -B 4000000 > nfcapd.txt 2>&1 &
collector=$!
softflowd -d -i lo -n 127.0.0.1:9995 -v {version} -A milli -p soft.pid -c {place}/soft.ctl tcp \
    > softflowd.txt 2>&1 &
exporter=$!
while ! grep -q Exporting softflowd.txt || ! grep -q Bound nfcapd.txt \
    || ! grep -q listening tcpdump.txt; do sleep 0.05; done
{python} send.py > sent.json
sleep 0.5
kill $capture
wait $capture || true
softflowctl -c soft.ctl expire-all > /dev/null
sleep 0.2
softflowctl -c soft.ctl shutdown > /dev/null
wait $exporter || true
kill $collector
wait $collector || true
echo ts,te,td,sa,da,sp,dp,pr,stos,ipkt,ibyt > log.csv
nfdump -R records -q -N -o 'fmt:%ts,%te,%td,%sa,%da,%sp,%dp,%pr,%tos,%pkt,%byt' >> log.csv
"""


@pytest.fixture(scope="module", params=[9, 10], ids=["netflow-9", "ipfix"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with what was sent and the collector's log of it."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not here: {', '.join(missing)}")
    if os.geteuid():
        pytest.skip("softflowd needs root to see packets")
    place = tmp_path_factory.mktemp("records")
    (place / "send.py").write_text(SEND % TRANSFERS)
    script = RECORD.format(place=place, version=request.param, python=sys.executable)
    (place / "record.sh").write_text(script)
    command = ["unshare", "--net", "sh", str(place / "record.sh")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if "Operation not permitted" in ran.stderr:
        pytest.skip(f"no namespace here: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr
    return place


@pytest.fixture(scope="module")
def sent(recorded: Path) -> pl.DataFrame:
    """Sizes and code points, in order."""
    rows = json.loads((recorded / "sent.json").read_text())
    return pl.DataFrame(rows, schema=["size", "dscp"], orient="row")


def test_records_are_the_transfers_that_were_sent(recorded: Path, sent: pl.DataFrame) -> None:
    log = flowlog.read(recorded / "log.csv")
    assert any("records of acknowledgements alone are left out" in note for note in log.notes)
    assert log.flows["dscp"].to_list() == sent["dscp"].to_list()
    ratio = log.flows["bytes"] / sent["size"]
    assert (ratio >= 1.0).all()
    assert (ratio < 1.01).sum() >= 0.99 * TRANSFERS  # the others sent a packet twice
    assert (log.flows["duration_s"] >= 0).all()


def test_classes_of_records_have_the_load_that_was_sent(recorded: Path, sent: pl.DataFrame) -> None:
    log = flowlog.read(recorded / "log.csv", names={"10": "web", "18": "bulk"}).flows
    for code, name in ((10, "web"), (18, "bulk")):
        known = sent.filter(pl.col("dscp") == code)["size"].sum()
        assert log.filter(pl.col("class") == name)["bytes"].sum() == pytest.approx(known, rel=0.01)


@pytest.fixture(scope="module")
def logs(recorded: Path) -> dict[str, Path]:
    """By program, its log of the same packets."""
    if shutil.which("tshark") is None:
        pytest.skip("not here: tshark")
    capture = ["tshark", "-n", "-r", str(recorded / "all.pcap")]
    fields = [each for name in zeek.FIELDS for each in ("-e", name)]
    for name, options in (
        ("conversations.txt", ["-q", "-z", "conv,tcp"]),
        ("packets.txt", ["-T", "fields", *fields]),
    ):
        with (recorded / name).open("w") as out:
            subprocess.run([*capture, *options], stdout=out, stderr=subprocess.DEVNULL, check=True)
    if zeek.ABSENT:
        print(zeek.ABSENT)
        zeek.conn_log(recorded / "packets.txt", recorded / "conn.log")
    else:
        command = ["zeek", "-C", "-r", str(recorded / "all.pcap")]
        subprocess.run(command, cwd=recorded, check=True, capture_output=True)
    names = {"nfdump": "log.csv", "Zeek": "conn.log", "tshark": "conversations.txt"}
    return {program: recorded / name for program, name in names.items()}


PORTS = {"nfdump": "dp", "Zeek": "id.resp_p", "tshark": "dp"}
"""Columns of the port that was connected to; two of the three know no code points."""


def test_three_logs_of_the_same_transfers_give_the_same_classes(
    logs: dict[str, Path], sent: pl.DataFrame
) -> None:
    names = {"5001": "web", "5002": "bulk"}
    found = {}
    for program, file in logs.items():
        columns = flowlog.Columns(traffic_class=PORTS[program])
        found[program] = flowlog.read(file, columns, names).flows
    for flows in found.values():
        assert flows["class"].to_list() == [
            {10: "web", 18: "bulk"}[code] for code in sent["dscp"].to_list()
        ]
    assert found["Zeek"]["bytes"].to_list() == sent["size"].to_list()
    for one, other in combinations(found.values(), 2):
        apart = (one["bytes"] / other["bytes"] - 1).abs()
        # Zeek counts once what is sent twice, which the others do not know.
        assert (apart <= 0.01).sum() >= 0.99 * TRANSFERS
        for name in ("web", "bulk"):
            loads = [each.filter(pl.col("class") == name)["bytes"].sum() for each in (one, other)]
            assert loads[0] == pytest.approx(loads[1], rel=0.01)
        assert ((one["start_s"] - other["start_s"]).abs() <= 1e-3).all()
        assert ((one["duration_s"] - other["duration_s"]).abs() <= 2e-3).all()
