"""Scenarios of runs twice as long."""

from __future__ import annotations

import re

from fctlab.studies.framework.left_open import Choice, Tables, Variant, got, put

FACTOR = 2
TIMES = ("traffic.duration", "measure.window", "measure.max_time")


def _longer(scenario: Tables) -> None:
    """More flows, or a longer time of arrivals and of measurement; what is a trace stays."""
    flows = got(scenario, "traffic.flows")
    if isinstance(flows, int):
        put(scenario, "traffic.flows", flows * FACTOR)
    for path in TIMES:
        text = got(scenario, path)
        if isinstance(text, str) and (found := re.fullmatch(r"([\d.]+)([a-z]+)", text)):
            put(scenario, path, f"{float(found[1]) * FACTOR:g}{found[2]}")


TWICE = Choice("longer", "runs twice as long", change=_longer)
LONGER = Variant((TWICE,))
