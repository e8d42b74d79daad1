"""Benchmarks of the engines, on the user's own machine: one file for each area.

Every measurement of the packet engine is a process of its own that loads the engine and nothing
else (`engine`), so that CPU time, memory and instructions are the engine's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fctlab import _native, choices
from fctlab.bench import bigswitch, fluid, model, packet, points, scale
from fctlab.errors import SpecError

AREAS = ("packet", "scale", "points", "bigswitch", "model", "fluid")


def measure(
    area: str, flows: int | None, runs: int, say: Callable[[str], None], quick: bool = False
) -> list[dict[str, Any]]:
    """Run the benchmarks of an area.

    Args:
        area: one of :data:`AREAS`.
        flows: instead of the reference's 20,000 (``"packet"``, ``"fluid"``) or of 50,000
            (``"model"``).
        runs: of each benchmark; the median counts.
        say: told what is going on, a line at a time.
        quick: a short run of small fabrics, to see that it works (``"scale"``).

    Returns:
        One ``{"name", "value", "unit", "note"}`` per benchmark.

    Raises:
        SpecError: an unknown area, a number that it does not take, or a development build.
    """
    choices.check("bench", area, AREAS, "an area")
    if runs < 1:
        raise SpecError("runs", f"{runs} is not at least 1")
    if flows is not None and area not in ("packet", "model", "fluid"):
        raise SpecError("flows", f"has no meaning for {area}, only for packet, model and fluid")
    if quick and area != "scale":
        raise SpecError("quick", f"has no meaning for {area}, only for scale")
    if _native.build_profile() != "release":
        raise SpecError("bench", "a development build is no measure; make build")
    if area == "points":
        return points.measure(runs, say)
    if area == "bigswitch":
        return bigswitch.measure(runs, say)
    if area == "model":
        return model.measure(flows or model.FLOWS, runs, say)
    if area == "fluid":
        return fluid.measure(flows or fluid.FLOWS, runs, say)
    if area == "scale":
        return scale.measure(scale.QUICK if quick else scale.FULL, runs, say)
    return packet.measure(flows, runs, say)
