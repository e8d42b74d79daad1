"""One fluid for all links of a fabric beside the packet engine, on the same flows."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from fctlab.results.result import run

FLOWS = 20_000
FABRICS = {
    "10g": {"host_rate": "10Gbps", "fabric_rate": "40Gbps", "base_rtt": "20us"},
    "100g": {"host_rate": "100Gbps", "fabric_rate": "400Gbps", "base_rtt": "10us"},
}
"""Links of 144 hosts at 9 leaves and 4 spines."""


def measure(flows: int, runs: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """CPU time of both engines, web search at a load of 0.5 and DCTCP on rates, and p99s."""
    found = []
    for name, links in FABRICS.items():
        scenario: dict[str, Any] = {
            "packet": {"payload": "1000B", "header": "48B", "ack": "60B"},
            "topology": {
                "kind": "leaf-spine",
                "leaves": 9,
                "spines": 4,
                "hosts_per_leaf": 16,
                **links,
            },
            "traffic": {"workload": "websearch", "load": 0.5, "flows": flows},
            "scheme": "dctcp-rate",
        }
        times: dict[str, list[float]] = {"fluid": [], "packet": []}
        tails = {}
        for engine, cpus in times.items():
            for i in range(runs):
                say(f"{name}, {engine}: run {i + 1} of {runs}")
                found_by = run({**scenario, "engine": engine})
                cpus.append(found_by.perf["cpu_s"])
                tails[engine] = found_by.summary["p99_slowdown"][0]
        fluid, packet = (statistics.median(cpus) for cpus in times.values())
        off = f"p99 slowdown {tails['fluid'] / tails['packet'] - 1:+.1%}"
        rows = (
            ("cpu_s", fluid, "s", f"144 hosts, {flows:,} web search flows, load 0.5"),
            ("packet_cpu_s", packet, "s", "the same flows, packet by packet"),
            ("over_packet", packet / fluid, "x", f"CPU time of packets over the fluid's; {off}"),
        )
        found += [
            {"name": f"fluid.{name}.{key}", "value": value, "unit": unit, "note": note}
            for key, value, unit, note in rows
        ]
    return found
