from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from fctlab import bench
from tests.conftest import PROGRAM


@pytest.mark.parametrize("counted", [False, True], ids=["speed", "instructions"])
def test_the_benchmark_measures(counted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not counted:
        monkeypatch.setenv("PATH", "")
    elif shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    command = [PROGRAM, "bench", "packet", "--flows", "20", "--runs", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    found = {b["name"]: b for b in json.loads(done.stdout)["benchmarks"]}
    names = ["packet_hops_per_cpu_s", "peak_rss_bytes", *(["instructions_per_hop"] * counted)]
    expected = [f"packet.{s}.{n}" for s in ("dctcp", "pfabric") for n in names]
    assert list(found) == [*expected, "packet.many_flows.peak_rss_bytes"]
    assert all(b.keys() == {"name", "value", "unit", "note"} for b in found.values())
    assert all(b["value"] > 10 for b in found.values())
    assert ("valgrind is not installed" in done.stderr) == (not counted)


INSTRUCTIONS_PER_HOP = {"dctcp": 255, "pfabric": 395}
"""What `docs/performance.md` says."""


@pytest.mark.parametrize("scheme", INSTRUCTIONS_PER_HOP)
def test_a_packet_hop_takes_no_more_instructions(scheme: str) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    found = bench.instructions(scheme, bench.reference().with_scheme(scheme), say=print)
    assert found[0]["value"] < 1.02 * INSTRUCTIONS_PER_HOP[scheme]
