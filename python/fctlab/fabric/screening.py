"""Candidates of the one-link planner: weights for the busiest link of each tier, alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fctlab.errors import SpecError
from fctlab.fabric import weights
from fctlab.fabric.asked import Asked
from fctlab.fabric.weights import Weights
from fctlab.jobs import Told
from fctlab.slo import planning

FLOWS = 10_000
"""Behind a choice: these are candidates, which the fluid judges."""
ALIKE = 0.02
"""Links of one rate whose loads are closer have the same weights."""


def candidates(asked: Asked, told: Told | None = None) -> Iterator[tuple[str, Weights]]:
    """A tier, and the weights for its busiest link; links that are alike once."""
    if asked.traces:
        return  # its classes have no workload to plan for
    seen: list[tuple[float, float]] = []
    names = weights.tiers(asked)
    for tier in sorted(asked.offered, key=lambda each: -each["load"]):
        at = tier["rate_bps"], tier["data"]
        if tier["tier"] not in names or any(
            at[0] == rate and abs(at[1] - load) < ALIKE for rate, load in seen
        ):
            continue
        seen.append(at)
        if any("workload" not in each for each in asked.tables["traffic"]["classes"]):
            return  # sizes that only a pattern knows
        try:
            made = planning.weights(of_link(asked, tier), most_flows=FLOWS, told=told)
        except SpecError:
            continue  # more than such a link carries
        yield names[tier["tier"]], made


def of_link(asked: Asked, tier: dict[str, Any]) -> dict[str, Any]:
    """The specification of a tier's busiest link: classes share it as they share all bytes."""
    prepared, port = asked.prepared, asked.tables["scheme"]["port"]
    total = sum(asked.loads)
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
                "flowsizes": each["workload"],
                "interarrivals": each["arrivals"],
                "load": tier["data"] * load / total,
                "slis": each.get("slis", []),
                **({"slo": each["slo"]} if "slo" in each else {}),
            }
            for number, (each, load) in enumerate(zip(table, asked.loads, strict=True))
        ],
    }
