"""What sweeps found, in words and tables."""

from __future__ import annotations

import math
from typing import Any

from fctlab.results.kinds import SUMMARY, SWEEP_FILE
from fctlab.sweep.grid import show
from fctlab.sweep.looks import same_for_all
from fctlab.sweep.saved import Decision, Saved
from fctlab.tables import Column, Line, Part, Table, cut, numbers

SHOWN = {"all": "avg_slowdown", "small": "p99_slowdown"}
"""By size class, what the table has of it."""


def summary(found: Saved, most_rows: int) -> list[Part]:
    """Slowdowns of all and small flows per cell and scheme, or SLIs.

    Args:
        found: the sweep.
        most_rows: of the table; a line says how many are left out.
    """
    axes = [Column(axis.rpartition(".")[2], "number") for axis in found.axes]
    if found.kind == "specification":
        table = Table(
            found.sweep,
            (*axes, Column("class", "name"), Column("SLI", "name"), *numbers("seeds", "value")),
        )
        for row in found.summary:
            cells = [show(row[axis]) for axis in found.axes]
            value = _value(row["value"], row["value_ci95"])
            table.add(*cells, row["class"], row["sli"], str(row["seeds"]), value)
        return cut(table, most_rows, SUMMARY)
    table = Table(
        found.sweep,
        (
            *axes,
            Column("scheme", "name"),
            *numbers("seeds", "avg slowdown", "ratio", "small p99", "ratio"),
        ),
    )
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in found.summary:
        if row["traffic_class"] == "all" and row["class"] in SHOWN:
            key = (*(row[axis] for axis in found.axes), row["scheme"])
            rows.setdefault(key, {"seeds": row["seeds"]})[row["class"]] = row
    for key, each in rows.items():
        values = []
        for size, metric in SHOWN.items():
            row = each.get(size, {})
            bound = "> " if row.get(f"{metric}_lower_bound") else ""
            values += [
                bound + _value(row.get(metric), row.get(f"{metric}_ci95")),
                _ratio(row, metric),
            ]
        table.add(*(show(value) for value in key), str(each["seeds"]), *values)
    parts = cut(table, most_rows, SUMMARY)
    if len(schemes := found.schemes) > 1:
        told = f"ratio: to {schemes[0]}, seed by seed, with its 95% interval"
        parts.append(Line(told, soft=True))
    return parts


def _value(value: float | None, half: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:.3g}" + (f" ±{half:.2g}" if half else "")


def _ratio(row: dict[str, Any], metric: str) -> str:
    ratio, low, high = (row.get(f"{metric}_ratio{end}") for end in ("", "_low", "_high"))
    if ratio is None:
        return "not known"
    return f"{ratio:.3f}" + ("" if low is None or low == high else f" [{low:.3f}, {high:.3f}]")


def decisions(found: Saved, most_rows: int) -> list[Part]:
    """What the rule says of every cell and scheme; nothing without a rule."""
    if not found.decisions:
        return []
    until = found.until
    against = f" / {until.against}" if until and until.against else ""
    table = Table(
        f"{until.metric}{against}" if until else "as many seeds as it takes",
        (
            *(Column(name) for name in ("cell", "scheme", "verdict")),
            *numbers("seeds", "value", "still needed"),
        ),
    )
    for each in found.decisions:
        table.add(*_decision(found, each))
    return [*cut(table, most_rows, SWEEP_FILE), *_saved(found)]


def _saved(found: Saved) -> list[Part]:
    """How many seeds the rule saves beside one number for all."""
    known = [each.found for each in found.decisions if each.found]
    seeds = [each.seeds for each in known]
    if not seeds or min(seeds) == max(seeds):
        return []
    if not any(each.verdict == "narrow" for each in found.decisions):
        same = len(seeds) * max(seeds)
        told = f"{sum(seeds):,} seeds; {same:,} if all had as many as the one that takes most"
        return [Line(told, soft=True)]
    each = same_for_all((value.seeds, math.log(value.high / value.ratio)) for value in known)
    told = f"{sum(seeds):,} seeds; {len(seeds) * each:,} if all had {each:,}"
    return [Line(f"{told}, for an interval as wide as the widest here", soft=True)]


def _decision(found: Saved, each: Decision) -> list[str]:
    verdict = f"{each.verdict}: {each.why}" if each.why else each.verdict
    value, seeds, needed = "not known", "", ""
    if each.found:
        seeds = str(each.found.seeds)
        value = f"{each.found.ratio:.3f} [{each.found.low:.3f}, {each.found.high:.3f}]"
    if each.seeds_needed is not None:
        hours = f"{(each.cpu_hours_needed or 0.0):.2g} CPU hours"
        needed = f"about {each.seeds_needed:,.0f} seeds, {hours}"
    return [found.name_of(each.cell), each.scheme or "", verdict, seeds, value, needed]
