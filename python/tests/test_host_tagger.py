"""The host tagger in namespaces: what it writes into packets, and what is left of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from fctlab.testbed import congestion, contained, namespaces

ROOT = Path(__file__).parents[2]
HOST = ROOT / "target" / "host" / "release" / "fctlab-host"
MANIFEST = ROOT / "docs" / "clusters" / "host-tagger.yaml"
INSIDE = Path(__file__).parent / "tagged.py"


def lacks() -> str | None:
    if not HOST.exists():
        return f"{HOST} is not there: make host"
    if os.geteuid() != 0:
        return "BPF needs root"
    return contained.lacks()


needs_program = pytest.mark.skipif(bool(lacks()), reason=str(lacks()))


def seen(*arguments: str) -> dict[str, Any]:
    """What `tagged` answers, in namespaces of its own."""
    words = contained.command([sys.executable, str(INSIDE), str(HOST), *arguments])
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@needs_program
def test_packets_are_tagged_by_bytes_sent() -> None:
    told = seen("bands")
    packets = told["packets"]
    assert len(packets) > 50
    again: set[int] = set()
    for offset, dscp, ecn, good in packets:
        assert good, "the checksum of IPv4"
        # ECT(0) stays; what is sent again has none (RFC 3168, section 6.1.5).
        assert ecn == (0 if offset in again else 2)
        again.add(offset)
        # What is sent at once has one tag.
        assert dscp == (10 if offset <= 20_000 else 18)
    assert told["opening"] == [10]
    assert told["changed"] == [10]
    assert told["shown"].startswith("Settings { thresholds: [5000000]")


@needs_program
def test_packets_are_tagged_by_what_is_outstanding() -> None:
    dscps = seen("outstanding")["dscps"]
    # The first bytes that the program wrote, and what is behind a window that is full.
    assert dscps[0] == 10 and set(dscps) == {10, 18}
    assert dscps.count(18) > dscps.count(10)


@needs_program
def test_behind_a_router_packets_pass_as_they_are() -> None:
    told = seen("router")
    assert told["dscps"] == [0]


@needs_program
def test_nothing_is_left_of_it() -> None:
    told = seen("ends")
    assert told["after_term"] == []
    assert told["after_kill_and_next"] == []
    assert "eth0 has a tagger already" in str(told["second"])


@needs_program
def test_records_of_flows(tmp_path: Path) -> None:
    file = tmp_path / "flows.csv"
    told = seen("records", str(file))
    rows = file.read_text().splitlines()
    assert rows[0].startswith("start_s,end_s,src,src_port,dst,dst_port,size_bytes")
    cells = rows[1].split(",")
    assert cells[2:3] + cells[4:7] == ["10.9.0.1", "10.9.0.2", "5001", "100000"]
    assert 0 <= float(cells[1]) - float(cells[0]) < 10
    cost = str(told["cost"])
    assert " packets, " in cost and cost.strip().endswith("ns each")


NO_DCTCP = lacks() or congestion.lacks()


@pytest.mark.skipif(bool(NO_DCTCP), reason=str(NO_DCTCP))
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_congestion_control_goes_with_its_program(how: signal.Signals) -> None:
    given = subprocess.Popen([str(HOST), "dctcp"], stdout=subprocess.PIPE, text=True)
    assert given.stdout is not None
    name = given.stdout.readline().strip()
    assert name.startswith("fctlab_") and name in namespaces.AVAILABLE.read_text().split()
    given.send_signal(how)
    given.communicate(timeout=20)
    assert given.returncode == (-9 if how == signal.SIGKILL else 0)
    for _ in range(50):
        if name not in namespaces.AVAILABLE.read_text():
            break
        time.sleep(0.1)
    assert name not in namespaces.AVAILABLE.read_text()


def test_the_manifest_is_one_of_kubernetes() -> None:
    for each in yaml.safe_load_all(MANIFEST.read_text()):
        kubernetes_validate.validate(each, "1.30", strict=True)


@needs_program
def test_mistakes_are_one_line() -> None:
    words = [str(HOST), "attach", "--device", "none0", "--thresholds", "5,4", "--dscp", "1,2,3"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: thresholds have to ascend: [5, 4]\n"
