"""What more seeds made of claims, as plain values and in words."""

from __future__ import annotations

import math
from typing import Any

from fctlab.studies.framework.report.words import Plain, is_inner

KEYS = ("id", "verdict", "seeds", "settled", "price")


def plain(report: Plain) -> dict[str, Any] | None:
    """Each claim as its last look has it; ``None`` of a report that settles nothing."""
    if "--settle" not in report["command"].split():
        return None
    return {
        "cpu_hours": (report["runs"]["cpu_s"] + report.get("asked_cpu_s", 0)) / 3600,
        "claims": [
            {key: claim[key] for key in KEYS} for claim in report["claims"] if not is_inner(claim)
        ],
    }


def told(claim: Plain) -> str:
    """``"agrees, 20 seeds"``, or that it is open and what would settle it."""
    number = claim["seeds"]
    seeds = f"{number} seed{'s'[: number != 1]}"
    if claim["settled"]:
        return f"{claim['verdict']}, {seeds}" if number else claim["verdict"]
    if not claim["price"]:
        return f"open at {seeds}; more of this size would not do"
    price = claim["price"]
    return f"open at {seeds}; about {price['seeds']:,}, {_hours(price['cpu_hours'])} CPU hours more"


def summary(found: Plain) -> str:
    """How many are settled, and what the others take."""
    claims = found["claims"]
    number = sum(claim["settled"] for claim in claims)
    sentence = (
        f"Settled: {number} of {len(claims)} claims, in {_hours(found['cpu_hours'])} CPU hours."
    )
    left = [claim["price"]["cpu_hours"] for claim in claims if claim["price"]]
    if not left:
        return sentence
    return f"{sentence} The others take at most {_hours(math.fsum(left))} more."


def _hours(hours: float) -> str:
    return f"{hours:.2g}" if hours < 10 else f"{hours:,.0f}"
