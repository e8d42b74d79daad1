"""The packet engine on the reference scenario: speed, instructions, memory."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fctlab.bench.engine import alone, reference
from fctlab.errors import InternalError
from fctlab.scenario import Scenario

SCHEMES = ("dctcp", "pfabric")
FLOWS_UNDER_CALLGRIND = 150

WHOLE_RUN = """
import json, resource, sys
import fctlab
fctlab.run(json.load(sys.stdin), out=sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

MANY = 100
MANY_WORKLOAD = {"kind": "fixed", "size": "20KB"}


def measure(flows: int | None, runs: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Every scheme of the reference, and a run of very many flows."""
    measured = reference()
    if flows is not None:
        measured = measured.set("traffic.flows", flows)
    found = []
    for scheme in SCHEMES:
        scenario = measured.with_scheme(scheme)
        found += _speed(scheme, scenario, runs, say)
        found += instructions(f"packet.{scheme}", scenario, say)
    found.append(_memory(measured, say))
    return found


def _speed(
    scheme: str, scenario: Scenario, runs: int, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Packet-hops per CPU second, and peak memory."""
    resolved = scenario.resolve().tables
    speeds, peaks, hops = [], [], 0
    for i in range(runs):
        say(f"{scheme}: run {i + 1} of {runs}")
        report = alone(resolved)[0]
        hops = report["counters"]["packet_hops"]
        speeds.append(hops / report["perf"]["cpu_s"])
        peaks.append(report["perf"]["peak_rss_bytes"])
    spread = f"median of {runs}, {min(speeds) / 1e6:.2f} to {max(speeds) / 1e6:.2f} million"
    return [
        {
            "name": f"packet.{scheme}.packet_hops_per_cpu_s",
            "value": statistics.median(speeds),
            "unit": "packet-hops/s",
            "note": f"one core; {spread}; {hops:,} packet-hops each",
        },
        {
            "name": f"packet.{scheme}.peak_rss_bytes",
            "value": max(peaks),
            "unit": "B",
            "note": f"process, flow records of {resolved['traffic']['flows']:,} flows included",
        },
    ]


def instructions(name: str, scenario: Scenario, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Instructions per packet-hop: between two runs of different length, so start-up cancels.

    Args:
        name: of what runs, such as ``"packet.dctcp"``.
        scenario: that runs.
        say: told what is going on.
    """
    if shutil.which("valgrind") is None:
        say(f"{name}: valgrind is not installed, so instructions are not counted")
        return []
    say(f"{name}: counting instructions")
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    few = min(FLOWS_UNDER_CALLGRIND, scenario.resolve()["traffic"]["flows"])
    counted, hops = [], []
    for flows in (few, 2 * few):
        report, log = alone(scenario.set("traffic.flows", flows).resolve().tables, tool)
        collected = re.search(r"Collected : (\d+)", log)
        assert collected, log
        counted.append(int(collected[1]))
        hops.append(report["counters"]["packet_hops"])
    return [
        {
            "name": f"{name}.instructions_per_hop",
            "value": (counted[1] - counted[0]) / (hops[1] - hops[0]),
            "unit": "instructions",
            "note": f"callgrind, {2 * few} flows less {few}: {hops[1] - hops[0]:,} packet-hops",
        }
    ]


def _memory(reference: Scenario, say: Callable[[str], None]) -> dict[str, Any]:
    """Peak memory of a whole run of very many flows, written to disk and plotted."""
    count = MANY * reference.resolve()["traffic"]["flows"]
    say(f"memory: {count:,} flows")
    scenario = reference.set("traffic.flows", count).set("traffic.workload", MANY_WORKLOAD)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", WHOLE_RUN, str(Path(folder) / "out")]
        text = json.dumps(scenario.resolve().tables)
        done = subprocess.run(command, input=text, text=True, capture_output=True)
    if done.returncode != 0:
        raise InternalError(done.stderr)
    return {
        "name": "packet.many_flows.peak_rss_bytes",
        "value": int(done.stdout) * 1024,
        "unit": "B",
        "note": f"whole process, plots included; {count:,} flows of {MANY_WORKLOAD['size']}",
    }
