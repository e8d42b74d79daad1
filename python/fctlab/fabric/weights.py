"""Weights at the ports of a fabric: where a scenario has them, and as integers for switches."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from fctlab.errors import SpecError
from fctlab.fabric.asked import Asked
from fctlab.scenario import Scenario

WEIGHTED = ("wfq", "drr", "wrr")
MOST = 100
"""Weights above this do not exist on devices, below 1 neither."""
CLOSE = 0.05
"""Integers may be off a ratio by so much of it."""
OWN = "ports."
"""Before the name of a tier that has a table of its own."""

Weights = tuple[int, ...]


def today(asked: Asked) -> dict[str, Weights]:
    """The weights of each table of ports that has any: ``port``, ``nic``, ``ports.TIER``.

    Those that no switch takes are about these, in whole numbers from 1 to 100.

    Raises:
        SpecError: there is none.
    """
    found = {
        place: _whole(each["weights"])
        for place, each in asked.disciplines().items()
        if each["kind"] in WEIGHTED
    }
    if not found:
        kind = asked.disciplines()["port"]["kind"]
        known = ", ".join(WEIGHTED)
        raise SpecError("scheme.port.discipline", f"{kind} has no weights; take one of {known}")
    return found


def tiers(asked: Asked) -> dict[str, str]:
    """By tier of switches whose ports have weights, what these ports are called."""
    tables = asked.tables["scheme"].get("ports", {})
    disciplines = asked.disciplines()

    def table(tier: str, side: str) -> str:
        return next((f"{OWN}{name}" for name in (side, tier) if name in tables), "port")

    sides = {tier: side for tier, side in asked.sides.items() if side != "nic"}
    return {
        tier: side
        for tier, side in sides.items()
        if disciplines[table(tier, side)]["kind"] in WEIGHTED
    }


def written(asked: Asked, base: Weights, own: Mapping[str, Weights]) -> Asked:
    """The scenario with these weights.

    Args:
        asked: the scenario.
        base: at all ports that have weights.
        own: of ports that have others, by what a tier's ports are called.
    """
    tables = copy.deepcopy(asked.tables)
    scheme = tables["scheme"]
    ports = scheme.setdefault("ports", {})
    names = {side: tier for tier, side in asked.sides.items()}
    for side in own:
        if side not in ports and names.get(side) not in ports:
            ports[side] = copy.deepcopy(scheme["port"])
    places: dict[str, Any] = {"port": scheme["port"], "nic": scheme["nic"], **ports}
    for place, port in places.items():
        if port["discipline"]["kind"] in WEIGHTED:
            side = asked.sides.get(place, place)
            port["discipline"]["weights"] = list(own.get(side, base))
    return Asked(Scenario(tables).resolve())


def _whole(weights: Sequence[float]) -> Weights:
    if all(1 <= weight <= MOST and weight == round(weight) for weight in weights):
        return tuple(round(weight) for weight in weights)
    return integers(weights)


def integers(weights: Sequence[float]) -> Weights:
    """The smallest whole numbers from 1 to 100 in about the same ratios."""
    least = min(weights)
    ratios = [min(weight / least, float(MOST)) for weight in weights]
    best = tuple(max(1, round(ratio)) for ratio in ratios)
    for scale in range(1, MOST + 1):
        rounded = tuple(round(ratio * scale) for ratio in ratios)
        if max(rounded) > MOST:
            break
        off = max(abs(n / (r * scale) - 1) for n, r in zip(rounded, ratios, strict=True))
        best = rounded
        if off <= CLOSE:
            break
    return best
