"""Metrics of points by name: ``small.p99_slowdown``, ``all.web.avg_fct_s``, ``web.tail``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fctlab.errors import SpecError
from fctlab.sweep.grid import Kind

STATISTICS = tuple(f"{s}_{m}" for m in ("fct_s", "slowdown") for s in ("avg", "p50", "p99"))


def value_of(kind: Kind, answer: Mapping[str, Any], metric: str) -> float | None:
    """The value of a metric; ``None`` where only a lower bound is known, or nothing.

    Raises:
        SpecError: an answer has no such metric.
    """
    first, *middle, last = metric.split(".")
    if kind == "specification":
        classes = answer["classes"] if "classes" in answer else answer["plan"]["classes"]
        for each in classes:
            for sli in each["slis"] if each["name"] == first and not middle else ():
                if sli["name"] == last:
                    value: float | None = sli["value"]
                    return value
        known = [f"{c['name']}.{s['name']}" for c in classes for s in c["slis"]]
        raise SpecError("until.metric", f"{metric!r} is not one of {', '.join(known)}")
    of = ".".join(middle) or "all"
    rows = {(row["class"], row["traffic_class"]): row for row in answer["summary"]}
    row = rows.get((first, of))
    if row is None or last not in STATISTICS:
        names = dict.fromkeys(c if t == "all" else f"{c}.{t}" for c, t in rows)
        known = f"{', '.join(names)}, a dot, and {', '.join(STATISTICS)}"
        raise SpecError("until.metric", f"{metric!r} is not one of {known}")
    if row[f"{last}_lower_bound"] or row[last] is None:
        return None
    found: float = row[last]
    return found
