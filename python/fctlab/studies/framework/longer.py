"""Scenarios of longer runs, and of wider fabrics."""

from __future__ import annotations

import re

from fctlab.studies.framework.left_open import Choice, Tables, Variant, got, put

FACTOR = 2
TIMES = ("traffic.duration", "measure.window", "measure.max_time")


def _longer(scenario: Tables) -> None:
    """More flows, or a longer time of arrivals and of measurement; what is a trace stays."""
    _more_flows(scenario)
    for path in TIMES:
        text = got(scenario, path)
        if isinstance(text, str) and (found := re.fullmatch(r"([\d.]+)([a-z]+)", text)):
            put(scenario, path, f"{float(found[1]) * FACTOR:g}{found[2]}")


def _wider(scenario: Tables) -> None:
    """More leaves, so that fewer pairs share one, for the same time; other fabrics stay."""
    if got(scenario, "topology.kind") == "leaf-spine":
        put(scenario, "topology.leaves", got(scenario, "topology.leaves") * FACTOR)
        _more_flows(scenario)


def _more_flows(scenario: Tables) -> None:
    flows = got(scenario, "traffic.flows")
    if isinstance(flows, int):
        put(scenario, "traffic.flows", flows * FACTOR)


TWICE = Choice("longer", "runs twice as long", change=_longer, settings={"length": FACTOR})
WIDER = Choice("wider", "fabrics of twice the leaves", change=_wider)
LONGER = Variant((TWICE,))
