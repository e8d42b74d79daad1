"""Whether effects are converged, as plain values and as rows of text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fctlab.studies.framework.longer import FACTOR
from fctlab.studies.framework.report.words import Plain

if TYPE_CHECKING:
    from fctlab.studies.framework.lengths import Converged, Doubled

HEADER = ("id", "converged", "moved by", "within", "part")


def plain(found: Converged) -> dict[str, Any]:
    """Everything that was found."""
    return {
        "factor": FACTOR,
        "done": found.done,
        "cpu_hours": found.cpu_s / 3600,
        "claims": [_claim(id, each) for id, each in found.claims.items()],
    }


def _claim(id: str, each: Doubled) -> dict[str, Any]:
    moved = each.moved
    high = moved.high if moved and math.isfinite(moved.high) else None
    return {
        "id": id,
        "converged": each.excess < 1,
        "part": each.part.name,
        "moved": moved and moved.point,
        "ci95": moved and [moved.low, high],
        "limit": each.limit,
    }


def rows(found: Plain) -> list[tuple[str, ...]]:
    """A row per claim, as wide as `HEADER`."""
    return [
        (
            each["id"],
            "converged" if each["converged"] else "not converged",
            moved(each),
            f"{each['limit']:.1%}",
            each["part"],
        )
        for each in found["claims"]
    ]


def moved(each: Plain) -> str:
    """By how much a doubling moves an effect."""
    if each["moved"] is None:
        return "not known"
    low, high = each["ci95"]
    end = "inf" if high is None else f"{high - 1:+.1%}"
    return f"{each['moved'] - 1:+.1%} [{low - 1:+.1%}, {end}]"


def summary(found: Plain) -> str:
    """A sentence."""
    hours = f"{found['cpu_hours']:.2g} CPU hours"
    if not found["done"]:
        return f"Runs {found['factor']} times as long were not done: they take about {hours}."
    number = sum(each["converged"] for each in found["claims"])
    return (
        f"Runs {found['factor']} times as long ({hours}): {number} of {len(found['claims'])} "
        "claims are converged. Of several parts the one that is farthest from it is shown."
    )
