"""What a budget left undone, with its price."""

from __future__ import annotations

import math

from fctlab.studies.framework.report.words import Plain, is_inner

HEADER = ("left", "CPU hours")
Row = tuple[str, float | None]
"""What was not done, and about how many CPU hours it takes; ``None`` where no number would do."""


def plain(report: Plain) -> list[Row]:
    """Everything that is left, the largest first."""
    doublings = report.get("lengths") or {}
    readings = report.get("readings") or {}
    found: list[Row] = [(each["by"], each["cpu_hours"]) for each in doublings.get("left", ())]
    if skipped := readings.get("left", ()):
        hours = math.fsum(each["cpu_hours"] for each in skipped)
        found.append((f"{len(skipped)} reading{'s'[: len(skipped) > 1]}", hours))
    for claim in report["claims"]:
        if claim["settled"] or claim["beyond_the_paper"] or is_inner(claim):
            continue
        if price := claim["price"]:
            found.append((f"{claim['id']}: {price['seeds']} seeds", price["cpu_hours"]))
        else:
            found.append((f"{claim['id']}: more seeds of this size would not do", None))
    return sorted(found, key=lambda each: -(each[1] or 0))


def rows(report: Plain) -> list[tuple[str, str]]:
    """A row each, as wide as `HEADER`."""
    return [(what, "-" if hours is None else f"{hours:.2g}") for what, hours in plain(report)]


def summary(report: Plain) -> str:
    """What was spent, and what all that is left would take at most."""
    spent = (report["runs"]["cpu_s"] + report.get("asked_cpu_s", 0)) / 3600
    spent += (report.get("lengths") or {}).get("cpu_hours", 0)
    spent += (report.get("readings") or {}).get("cpu_hours", 0)
    left = [hours or 0.0 for _, hours in plain(report)]
    told = f"{len(left)} left, at most {math.fsum(left):.2g} more" if left else "nothing is left"
    return f"CPU hours of engine {report['engine']}: {spent:.2g}; {told}."
