"""What size costs the packet engine, and what ports that choose cost it.

Speed and memory at three sizes of fabric with the same traffic per host, over the same simulated
time from an empty network; on the smallest fabric the same flows under each discipline; and what
many cores make of it (:mod:`fctlab.bench.parallel`).
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fctlab.bench import packet, parallel
from fctlab.bench.engine import alone, reference
from fctlab.formats import rate_bps
from fctlab.scenario import Scenario

FABRICS: dict[int, dict[str, Any] | None] = {
    144: None,
    1_024: {"kind": "fat-tree", "k": 16},
    8_192: {"kind": "fat-tree", "k": 32},
}
"""Hosts, and the topology: the reference's, or a fat-tree at its host rate and base RTT."""

PER_FABRIC = ("host_rate", "base_rtt")

CLASSES = 3
PORTS: dict[str, dict[str, Any]] = {
    "fifo": {"kind": "fifo"},
    "wfq": {"kind": "wfq", "weights": [3, 2, 1]},
    "drr": {"kind": "drr", "weights": [3, 2, 1]},
    "strict": {"kind": "strict", "classes": CLASSES},
}
"""Disciplines of switches and hosts under DCTCP."""


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    hosts: tuple[int, ...]
    """The fabrics, by hosts; the others are compared with the first."""
    simulated: str
    """Simulated time on each of them."""
    flows: int
    """Flows through each discipline."""
    counted: bool
    """Whether instructions are, which takes as long as all the rest."""
    windows: int
    """In which events are counted."""


FULL = Size(hosts=tuple(FABRICS), simulated="4ms", flows=1_000, counted=True, windows=20)
QUICK = Size(hosts=(144, 1_024), simulated="200us", flows=20, counted=False, windows=2)
MANY_FLOWS = 10**9
"""More than start in any of these times."""
ONE_PACKET = {"kind": "fixed", "size": "1KB"}
PAIR = {"kind": "star", "senders": 1, "host_rate": "10Gbps", "base_rtt": "16us"}
"""The smallest fabric, whose process is what others are more than."""


def measure(size: Size, runs: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Speed and memory by hosts, speed by discipline, predictions for many cores."""
    fabrics = list(_fabrics(size, runs, say))
    found = {row["name"]: row["value"] for row in fabrics}
    speeds = {hosts: found[f"scale.hosts_{hosts}.packet_hops_per_cpu_s"] for hosts in size.hosts}
    predicted = parallel.measure(fabric, speeds, size.windows, size.simulated, runs, say)
    return [*fabrics, *_ports(size, runs, say), *predicted]


def fabric(hosts: int) -> Scenario:
    """The reference on a fabric of so many hosts, without an end."""
    scenario = reference()
    topology = FABRICS[hosts]
    if topology is not None:
        own = scenario.resolve()["topology"]
        kept = {key: own[key] for key in PER_FABRIC}
        scenario = scenario.set("topology", {**topology, **kept})
    return scenario.set("traffic.flows", MANY_FLOWS)


def _fabrics(size: Size, runs: int, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    say("the smallest process")
    least, first = _idle(reference().set("topology", PAIR)), 0.0
    for hosts in size.hosts:
        scenario = fabric(hosts).set("measure.max_time", size.simulated)
        say(f"{hosts:,} hosts: idle")
        idle = _idle(fabric(hosts))
        speeds, peaks = [], []
        with tempfile.TemporaryDirectory() as folder:
            records = Path(folder) / "flows.parquet"
            for i in range(runs):
                say(f"{hosts:,} hosts: run {i + 1} of {runs}")
                report = alone(scenario.resolve().tables, flows_out=records)[0]
                speeds.append(_speed(report))
                peaks.append(report["perf"]["peak_rss_bytes"])
            stored = records.stat().st_size
        counters = report["counters"]
        speed, flows = statistics.median(speeds), counters["peak_flows_in_flight"]
        first = first or speed
        host_s = hosts * report["perf"]["simulated_s"]
        ran = f"{size.simulated} of web search at load 0.6, {counters['packet_hops']:,} packet-hops"
        rows: tuple[tuple[str, float, str, str], ...] = (
            ("packet_hops_per_cpu_s", speed, "packet-hops/s", f"{ran}; {_spread(speeds)}"),
            (
                "packet_hops_per_host_s",
                counters["packet_hops"] / counters["data_packets"] * _offered(scenario),
                "1/s",
                "where the network carries its load",
            ),
            ("flows_per_host_s", counters["flows_started"] / host_s, "flows/s", "started"),
            ("of_smallest", speed / first, "x", f"of the speed at {size.hosts[0]} hosts"),
            ("bytes_per_host", (idle - least) / hosts, "B", "peak where one packet is sent"),
            ("flows_in_flight", flows, "flows", "at the peak"),
            (
                "bytes_per_flow_in_flight",
                (max(peaks) - idle) / flows,
                "B",
                "what the peak is above that, its packets in flight included",
            ),
            ("bytes_per_record", stored / counters["flows_started"], "B", "in flows.parquet"),
        )
        yield from _rows(f"scale.hosts_{hosts}", rows)


def _offered(scenario: Scenario) -> float:
    """Full packets that a host sends per second at the scenario's load."""
    resolved = scenario.resolve()
    bps = rate_bps(resolved["topology"]["host_rate"])
    of_packet = resolved["packet"]
    size = sum(int(of_packet[key].removesuffix("B")) for key in ("payload", "header"))
    return float(resolved["traffic"]["load"] * bps / (8 * size))


def _idle(scenario: Scenario) -> int:
    """Peak memory of a process that sends one packet, in bytes."""
    small = scenario.set("traffic.flows", 1).set("traffic.workload", ONE_PACKET)
    report, _ = alone(small.resolve().tables)
    return int(report["perf"]["peak_rss_bytes"])


def _ports(size: Size, runs: int, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Each discipline in turn, run after run, so that a slow minute is everybody's."""
    scenarios = {name: scenario.resolve().tables for name, scenario in ports(size.flows).items()}
    speeds: dict[str, list[float]] = {name: [] for name in scenarios}
    hops = {}
    for i in range(runs):
        for name, scenario in scenarios.items():
            say(f"{name}: run {i + 1} of {runs}")
            report, _ = alone(scenario)
            speeds[name].append(_speed(report))
            hops[name] = report["counters"]["packet_hops"]
    fifo = statistics.median(speeds["fifo"])
    for name, found in speeds.items():
        speed = statistics.median(found)
        ran = f"{size.flows:,} flows, {hops[name]:,} packet-hops; {_spread(found)}"
        rows = (
            ("packet_hops_per_cpu_s", speed, "packet-hops/s", ran),
            ("of_fifo", speed / fifo, "x", "of the speed with FIFO"),
        )
        yield from _rows(f"scale.{name}", rows)
    for name, one in ports(size.flows).items() if size.counted else ():
        yield from packet.instructions(f"scale.{name}", one, say)


def ports(flows: int) -> dict[str, Scenario]:
    """The reference's flows in classes, under each discipline, and under pFabric."""
    classes = [{"class": f"class {i}"} for i in range(CLASSES)]
    scenario = reference().set("traffic.flows", flows).set("traffic.classes", classes)
    by_class = {
        name: scenario.set("scheme.port.discipline", discipline)
        for name, discipline in PORTS.items()
    }
    return {**by_class, "pfabric": scenario.with_scheme("pfabric")}


def _speed(report: Mapping[str, Any]) -> float:
    """Packet-hops per CPU second."""
    return float(report["counters"]["packet_hops"] / report["perf"]["cpu_s"])


def _spread(speeds: list[float]) -> str:
    few, most = min(speeds) / 1e6, max(speeds) / 1e6
    return f"median of {len(speeds)}, {few:.2f} to {most:.2f} million"


def _rows(prefix: str, rows: Iterable[tuple[str, float, str, str]]) -> Iterator[dict[str, Any]]:
    for key, value, unit, note in rows:
        yield {"name": f"{prefix}.{key}", "value": value, "unit": unit, "note": note}
