from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

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
