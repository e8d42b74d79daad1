"""Whether effects are converged, as plain values and as rows of text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fctlab.studies.framework.longer import FACTOR
from fctlab.studies.framework.report.words import Plain

if TYPE_CHECKING:
    from fctlab.studies.framework.lengths import Converged, Doubled

HEADER = ("id", "converged", "moved by", "within", "part")
TWICE = "twice as long"
"""What was doubled, in reports that say nothing of it."""


def plain(found: Converged) -> dict[str, Any]:
    """Everything that was found."""
    return {
        "factor": FACTOR,
        "cpu_hours": found.cpu_s / 3600,
        "left": [{"by": way.words, "cpu_hours": cpu_s / 3600} for way, cpu_s in found.left.items()],
        "claims": [_claim(id, each) for id, each in found.claims.items()],
    }


def _claim(id: str, each: Doubled) -> dict[str, Any]:
    moved = each.moved
    high = moved.high if moved and math.isfinite(moved.high) else None
    return {
        "id": id,
        "converged": each.excess < 1,
        "part": each.part.name,
        "by": each.by.words,
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
    """What a doubling does to an effect: ``"runs twice as long: +3.1% [+2.0%, +4.2%]"``."""
    by = each.get("by", TWICE)
    if each["moved"] is None:
        return f"{by}: not known"
    low, high = each["ci95"]
    end = "inf" if high is None else f"{high - 1:+.1%}"
    return f"{by}: {each['moved'] - 1:+.1%} [{low - 1:+.1%}, {end}]"


def unconverged(found: Plain | None, claim: str) -> str:
    """That a doubling moves a claim's effect, where it was tried and does.

    Args:
        found: ``lengths`` of a report.
        claim: its id.
    """
    there = found["claims"] if found else ()
    one = next((each for each in there if each["id"] == claim), None)
    return "" if one is None or one["converged"] else f"not converged: {moved(one)}"


def summary(found: Plain) -> str:
    """Sentences."""
    number = sum(each["converged"] for each in found["claims"])
    told = (
        f"Doublings ({found['cpu_hours']:.2g} CPU hours): {number} of {len(found['claims'])} "
        "claims are converged. Of several parts and doublings the one that is farthest from it is "
        "shown."
    )
    for each in found.get("left", ()):
        told += f" Left: {each['by']}, about {each['cpu_hours']:.2g} CPU hours."
    return told
