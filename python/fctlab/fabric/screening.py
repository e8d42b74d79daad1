"""Candidates of the one-link planner: weights for the busiest link of each tier, alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fctlab.errors import SpecError
from fctlab.fabric import weights, windows
from fctlab.fabric.asked import Asked
from fctlab.fabric.weights import Weights
from fctlab.jobs import Told
from fctlab.slo import planning

if TYPE_CHECKING:
    import polars as pl

FLOWS = 10_000
"""Behind a choice: these are candidates, which the fluid judges."""
ALIKE = 0.02
"""Links of one rate whose loads are closer have the same weights."""
SIZES = 200
"""That stand for those of a trace: means of so many equal parts of its flows, by size."""


@dataclass(frozen=True)
class Flows:
    """What a link sees of a class.

    Attributes:
        sizes: as a specification writes them.
        arrivals: the same of when they come.
        share: of all bytes.
    """

    sizes: Any
    arrivals: Any
    share: float


def candidates(asked: Asked, told: Told | None = None) -> Iterator[tuple[str, Weights]]:
    """A tier, and the weights for its busiest link; links that are alike once."""
    classes = _classes(asked)
    if classes is None:
        return
    seen: list[tuple[float, float]] = []
    names = weights.tiers(asked)
    for tier in sorted(asked.offered, key=lambda each: -each["load"]):
        at = tier["rate_bps"], tier["data"]
        if tier["tier"] not in names or any(
            at[0] == rate and abs(at[1] - load) < ALIKE for rate, load in seen
        ):
            continue
        seen.append(at)
        try:
            made = planning.weights(of_link(asked, tier, classes), most_flows=FLOWS, told=told)
        except SpecError:
            continue  # more than such a link carries
        yield names[tier["tier"]], made


def _classes(asked: Asked) -> list[Flows] | None:
    """Flows of each class; `None` where only a pattern knows sizes, or a trace lacks a class."""
    table = asked.tables["traffic"]["classes"]
    if asked.traces:
        if asked.traces[0].suffix != ".parquet":
            return None
        flows = windows.flows_of(asked.traces[0])
        found = [flows.filter(flows["traffic_class"] == each.name) for each in asked.classes]
        total = float(flows["size_bytes"].sum())
        return [_traced(each, total) for each in found] if all(map(len, found)) else None
    if any("workload" not in each for each in table):
        return None
    total = sum(asked.loads)
    return [
        Flows(each["workload"], each["arrivals"], load / total)
        for each, load in zip(table, asked.loads, strict=True)
    ]


def _traced(flows: pl.DataFrame, total: float) -> Flows:
    """A class of a trace of `total` bytes; to a link that many share its flows come by chance."""
    import numpy as np

    sizes = flows["size_bytes"].sort().to_numpy()
    parts = np.array_split(sizes, min(SIZES, len(sizes)))
    means = [f"{max(1, round(float(part.mean())))}B" for part in parts]
    return Flows({"kind": "uniform", "sizes": means}, "poisson", float(sizes.sum()) / total)


def of_link(asked: Asked, tier: dict[str, Any], classes: list[Flows]) -> dict[str, Any]:
    """The specification of a tier's busiest link: classes share it as they share all bytes."""
    prepared, port = asked.prepared, asked.tables["scheme"]["port"]
    mark = prepared.bytes_at(port["ecn_threshold"], tier["rate_bps"])
    table = asked.tables["traffic"]["classes"]
    return {
        "network": {
            "link": f"{tier['rate_bps']:.0f}bps",
            "rtt": f"{round(asked.tables['base_rtt_s'] * 1e9)}ns",
        },
        "queue": "wfq",
        "cc": {"preset": "dctcp-rate", "thresh": f"{mark}B"},
        "classes": [
            {
                "name": f"class-{number}",
                "flowsizes": flows.sizes,
                "interarrivals": flows.arrivals,
                "load": tier["data"] * flows.share,
                "slis": each.get("slis", []),
                **({"slo": each["slo"]} if "slo" in each else {}),
            }
            for number, (each, flows) in enumerate(zip(table, classes, strict=True))
        ],
    }
