"""The reference benchmarks, on the user's own machine.

Every measurement is a process of its own that loads the engine and nothing else, so that
CPU time, memory and instructions are the engine's.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from fctlab import _native
from fctlab.errors import InternalError, SpecError
from fctlab.scenario import Scenario
from fctlab.slo import bottleneck, planning
from fctlab.theory import bigswitch

AREAS = ("packet", "bigswitch", "model")
SCHEMES = ("dctcp", "pfabric")
FLOWS_UNDER_CALLGRIND = 150

ENGINE_ALONE = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_native", sys.argv[1])
native = importlib.util.module_from_spec(spec)
spec.loader.exec_module(native)
print(native.run(native.prepare(sys.stdin.read(), [], "")).report())
"""

WHOLE_RUN = """
import json, resource, sys
import fctlab
fctlab.run(json.load(sys.stdin), out=sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

MANY = 100
MANY_WORKLOAD = {"kind": "fixed", "size": "20KB"}


def measure(
    area: str, flows: int | None, runs: int, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Run the benchmarks of an area.

    Args:
        area: ``"packet"``, ``"bigswitch"`` or ``"model"``.
        flows: instead of the reference's 20,000 (``"packet"``).
        runs: of each benchmark; the median counts.
        say: told what is going on, a line at a time.

    Returns:
        One ``{"name", "value", "unit", "note"}`` per benchmark.

    Raises:
        SpecError: an unknown area, too few runs, or a debug build.
    """
    if area not in AREAS:
        raise SpecError("bench", f"{area!r} is not an area; known: {', '.join(AREAS)}")
    if runs < 1:
        raise SpecError("runs", f"{runs} is not at least 1")
    if _native.build_profile() != "release":
        raise SpecError("bench", "this is a debug build, whose speed means nothing")
    if area == "bigswitch":
        return _bigswitch(runs, say)
    if area == "model":
        return _model(flows or MODEL_FLOWS, runs, say)
    measured = reference()
    if flows is not None:
        measured = measured.set("traffic.flows", flows)
    found = []
    for scheme in SCHEMES:
        scenario = measured.with_scheme(scheme)
        found += _speed(scheme, scenario, runs, say)
        found += instructions(scheme, scenario, say)
    found.append(_memory(measured, say))
    return found


def reference() -> Scenario:
    """The scenario that speed is told of: 144 hosts, web search at load 0.6."""
    text = (resources.files("fctlab") / "data" / "reference.toml").read_text(encoding="utf-8")
    return Scenario(json.loads(_native.parse(text, "toml")))


SWITCH_POLICIES = ("fifo", "brr", "las", "srpt", "asrpt")
SWITCH_PACKETS = 5_000_000


def _bigswitch(runs: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Scheduled packets per second on one port, on one core."""
    found = []
    for policy in SWITCH_POLICIES:
        for spread, suffix in ((False, ""), (True, "_arriving_one_by_one")):
            speeds, flows = [], 0
            for i in range(runs):
                say(f"{policy}{suffix}: run {i + 1} of {runs}")
                done = bigswitch.ask(
                    "speed",
                    policy={"kind": policy},
                    packets=SWITCH_PACKETS,
                    spread=spread,
                    seed=i + 1,
                )
                speeds.append(done["packets"] / done["wall_s"])
                flows = done["flows"]
            what = (
                "each packet of a flow arrives in a slot of its own"
                if spread
                else "flows arrive whole"
            )
            found.append(
                {
                    "name": f"bigswitch.{policy}.packets{suffix}_per_s",
                    "value": statistics.median(speeds),
                    "unit": "packets/s",
                    "note": f"one core; {what}; {SWITCH_PACKETS:,} packets of {flows:,} flows, "
                    f"heavy tail, load 0.95; {min(speeds) / 1e6:.1f} to {max(speeds) / 1e6:.1f} "
                    "million",
                }
            )
    return found


MODEL_FLOWS = 50_000
MODEL_RUNS = {
    f"{name}{load}": {"flowsizes": sizes, "load": load / 100}
    for name, sizes in (("websearch", "websearch_bytes"), ("google", "google_rpc"))
    for load in (30, 60)
}
"""swp's table 3: sizes and loads."""


def _model(flows: int, runs: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """The functional link model, generation included, as in swp's table 3, and the packet engine.

    Ratios are of CPU time on one flow list, that of seed 1.
    """
    found = []
    for name, traffic in MODEL_RUNS.items():
        walls, cpus, simulated = [], [], 0
        gaps = {"kind": "lognormal", "sigma": 2.0}
        spec: dict[str, Any] = {
            "network": {"link": "100Gbps", "rtt": "10us"},
            "seed": 1,
            "queue": "fifo",
            "classes": [{"name": "all", "interarrivals": gaps, **traffic}],
        }
        for i in range(runs):
            say(f"{name}: run {i + 1} of {runs}")
            begin = time.process_time()
            done = planning.ask("speed", spec=spec, flows=flows)
            cpus.append(time.process_time() - begin)
            walls.append(done["cost"]["wall_s"])
            simulated = done["flows"]
        say(f"{name}: packet engine")
        resolved = planning.load(spec)
        drawn = planning.flows(resolved, flows)
        _, result = bottleneck.replay(resolved, drawn)
        wall, cpu, packet_s = (
            statistics.median(walls),
            statistics.median(cpus),
            result.perf["cpu_s"],
        )
        prefix = f"model.{name}_{flows // 1000}k"
        spread = f"median of {runs}, {min(walls):.3g} to {max(walls):.3g} s"
        made = "one core, flows made and run; SWP-D, FIFO, 100 Gbps, sigma 2"
        packets = f"the same flows, DCTCP: {packet_s:.3g} s, "
        packets += f"{result.counters['packet_hops']:,} packet-hops"
        rows = (
            ("wall_s", wall, "s", f"{made}; {spread}"),
            ("flows_per_cpu_s", simulated / cpu, "flows/s", f"{simulated:,} flows"),
            ("packet_flows_per_cpu_s", len(drawn) / packet_s, "flows/s", packets),
            ("over_packet", packet_s / cpu, "x", "CPU time of the packet engine over the model's"),
        )
        found += [
            {"name": f"{prefix}.{key}", "value": value, "unit": unit, "note": note}
            for key, value, unit, note in rows
        ]
    return found


def _speed(
    scheme: str, scenario: Scenario, runs: int, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Packet-hops per CPU second, and peak memory."""
    resolved = scenario.resolve().tables
    speeds, peaks, hops = [], [], 0
    for i in range(runs):
        say(f"{scheme}: run {i + 1} of {runs}")
        report = _engine_alone([], resolved)[0]
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


def instructions(
    scheme: str, scenario: Scenario, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Instructions per packet-hop: between two runs of different length, so start-up cancels."""
    if shutil.which("valgrind") is None:
        say(f"{scheme}: valgrind is not installed, so instructions are not counted")
        return []
    say(f"{scheme}: counting instructions")
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    few = min(FLOWS_UNDER_CALLGRIND, scenario.resolve()["traffic"]["flows"])
    counted, hops = [], []
    for flows in (few, 2 * few):
        report, log = _engine_alone(tool, scenario.set("traffic.flows", flows).resolve().tables)
        collected = re.search(r"Collected : (\d+)", log)
        assert collected, log
        counted.append(int(collected[1]))
        hops.append(report["counters"]["packet_hops"])
    return [
        {
            "name": f"packet.{scheme}.instructions_per_hop",
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


def _engine_alone(tool: list[str], scenario: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The report of a run in a process of its own, under `tool`, and what that wrote to stderr."""
    assert _native.__file__ is not None
    command = [*tool, sys.executable, "-I", "-S", "-c", ENGINE_ALONE, _native.__file__]
    done = subprocess.run(command, input=json.dumps(scenario), text=True, capture_output=True)
    if done.returncode != 0:
        raise InternalError(done.stderr)
    return json.loads(done.stdout), done.stderr
