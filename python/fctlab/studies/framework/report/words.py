"""What several forms of a report say. Reports are those of `json.plain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from fctlab import formats
from fctlab.results import rising
from fctlab.studies.framework.verdict import Verdict

Plain: TypeAlias = Mapping[str, Any]
"""A report, or a part of one."""

FLOWS = "flows per host (hosts)"


def scale(claim: Plain) -> str:
    """``"190 (12)"``, ``"23 to 190 (12 to 16)"`` where runs of a row differ.

    ``"-"`` where nothing was run; without hosts where they were not kept.
    """
    if claim["flows_per_host"] is None:
        return "-"
    among = claim.get("hosts")
    return _span(claim["flows_per_host"]) + (f" ({_span(among)})" if among else "")


def _span(found: Sequence[float]) -> str:
    low, high = (f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in found)
    return low if low == high else f"{low} to {high}"


def is_inner(claim: Plain) -> bool:
    """Whether it is called ``ID.something``: a part of ID with figures of its own."""
    return "." in claim["id"]


def inner(report: Plain, claim: Plain) -> list[Plain]:
    """The claims that it combines."""
    return [each for each in report["claims"] if each["id"].startswith(claim["id"] + ".")]


def tally(report: Plain) -> dict[Verdict, int]:
    """How many of the paper's claims got each verdict that there is."""
    own = [c for c in report["claims"] if not c["beyond_the_paper"] and not is_inner(c)]
    counts = {v: sum(claim["verdict"] == v.value for claim in own) for v in Verdict}
    return {verdict: number for verdict, number in counts.items() if number}


def summary(report: Plain) -> str:
    """The tally as a sentence."""
    counts = tally(report)
    told = ", ".join(f"{number} {verdict.value}" for verdict, number in counts.items())
    return f"{sum(counts.values())} claims: {told}"


def mode(report: Plain) -> str:
    """``"quick, 5 seeds"``."""
    seeds = report["seeds"]
    most = max((claim["seeds"] for claim in report["claims"]), default=0)
    more = f" to {most}" if most > seeds else ""
    return f"{report['mode']}, {seeds}{more} seed{'s'[: seeds > 1]}"


def cost(report: Plain) -> str:
    """What all runs took, and this time."""
    runs = report["runs"]
    return (
        f"{runs['runs']:,} runs, {formats.count(runs['flows'])} flows, "
        f"{formats.count(runs['packet_hops'])} packet-hops in {_duration(runs['cpu_s'])} of CPU "
        f"time ({formats.count(runs['packet_hops_per_cpu_s'])} per second and core); this time "
        f"{_duration(report['wall_s'])}"
    )


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def rises(report: Plain) -> str:
    """Whether runs had the load that they name: a sentence, or nothing where that is not known."""
    known = report.get("rising")
    if not known:
        return ""
    found = known["cells"]
    told = (
        f"Slowdowns still rise while they are measured in {len(found) or 'none'} of {known['of']}"
    )
    if not found:
        return f"{told} scenarios."
    return f"{told} scenarios, which are too short for their load: {rising.named(found)}."


def notes(report: Plain) -> list[str]:
    """What is settled how, and how scenarios differ on purpose."""
    meant = [
        f"Differs on purpose: {', '.join(one['keys'])} "
        f"({', '.join(one['cells']) if one['cells'] != ['*'] else 'all runs'}): {one['why']}."
        for one in report["intended"]
    ]
    alike = ["In all else, every key of the scenarios that are compared is the same."]
    length = rises(report)
    return [*([length] if length else []), *report["notes"], *meant, *(alike if meant else [])]
