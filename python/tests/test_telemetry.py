"""Flow records of a real exporter and collector: softflowd, nfcapd and nfdump, on loopback.

Debian's packages softflowd and nfdump have them. All of it happens in a network namespace of the
test's own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from fctlab.slo import flowlog

TOOLS = ("unshare", "ip", "softflowd", "softflowctl", "nfcapd", "nfdump")
TRANSFERS = 400

SEND = """
import json, random, socket, threading, time
draw = random.Random(1)
server = socket.create_server(("127.0.0.1", 5001), backlog=64)

def serve():
    while True:
        end, _ = server.accept()
        with end:
            while end.recv(1 << 20):
                pass

threading.Thread(target=serve, daemon=True).start()

def transfer(size, dscp):
    end = socket.socket()
    end.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
    sent.append((time.time(), size, dscp))
    end.connect(("127.0.0.1", 5001))
    end.sendall(bytes(size))
    end.shutdown(socket.SHUT_WR)
    end.recv(1)  # until the other end has read it all
    end.close()
    time.sleep(0.001)

sent = []
for _ in range(%d):
    transfer(draw.randint(50_000, 1_000_000), draw.choice((10, 18)))
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
nfcapd -w records -p 9995 -b 127.0.0.1 -t 3600 -B 4000000 > nfcapd.txt 2>&1 &
collector=$!
softflowd -d -i lo -n 127.0.0.1:9995 -v {version} -A milli -p soft.pid -c {place}/soft.ctl tcp \
    > softflowd.txt 2>&1 &
exporter=$!
while ! grep -q Exporting softflowd.txt || ! grep -q Bound nfcapd.txt; do sleep 0.05; done
{python} send.py > sent.json
sleep 0.5
softflowctl -c soft.ctl expire-all > /dev/null
sleep 0.2
softflowctl -c soft.ctl shutdown > /dev/null
wait $exporter || true
kill $collector
wait $collector || true
echo ts,te,td,sa,da,stos,ibyt > log.csv
nfdump -R records -q -N -o 'fmt:%ts,%te,%td,%sa,%da,%tos,%byt' >> log.csv
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


def test_records_are_the_transfers_that_were_sent(recorded: Path) -> None:
    sent = pl.DataFrame(
        json.loads((recorded / "sent.json").read_text()),
        schema=["at", "size", "dscp"],
        orient="row",
    )
    log = flowlog.read(recorded / "log.csv").flows
    data = log.filter(pl.col("bytes") >= 50_000)  # not the flows of acknowledgements
    assert len(data) == TRANSFERS
    assert data["dscp"].to_list() == sent["dscp"].to_list()
    ratio = data["bytes"] / sent["size"]
    assert (ratio >= 1.0).all()
    assert (ratio < 1.01).sum() >= 0.99 * TRANSFERS  # the others sent a packet twice
    late = (data["start_s"] - data["start_s"][0]) - (sent["at"] - sent["at"][0])
    assert (late.abs() <= 1e-3).sum() >= 0.5 * TRANSFERS
    assert (data["duration_s"] >= 0).all()


def test_classes_of_records_have_the_load_that_was_sent(recorded: Path) -> None:
    log = flowlog.read(recorded / "log.csv", names={"10": "web", "18": "bulk", "0": "acks"}).flows
    sent = json.loads((recorded / "sent.json").read_text())
    for code, name in ((10, "web"), (18, "bulk")):
        known = sum(size for _, size, dscp in sent if dscp == code)
        assert log.filter(pl.col("class") == name)["bytes"].sum() == pytest.approx(known, rel=0.01)
