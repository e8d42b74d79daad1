"""The functional link model beside the packet engine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from fctlab.slo import planning

FLOWS = 50_000
RUNS = {
    f"{name}{load}": {"flowsizes": sizes, "load": load / 100}
    for name, sizes in (("websearch", "websearch_bytes"), ("google", "google_rpc"))
    for load in (30, 60)
}
"""swp's table 3: sizes and loads."""


def measure(flows: int, runs: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """The functional link model, generation included, as in swp's table 3, and the packet engine.

    Ratios are of CPU time on one flow list, that of seed 1.
    """
    found = []
    for name, traffic in RUNS.items():
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
        _, result = planning.replay(resolved, drawn)
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
