"""Metrics of points by name: ``small.p99_slowdown``, ``all.web.avg_fct_s``, ``web.tail``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fctlab.errors import SpecError
from fctlab.results.comparison import METRICS
from fctlab.sweep.grid import Kind

SIZES = ("all", "small", "medium", "large")


def check(kind: Kind, inputs: Iterable[Mapping[str, Any]], metric: str) -> None:
    """See that every answer will have a metric.

    Args:
        kind: of the inputs.
        inputs: resolved scenarios or specifications.
        metric: its name.

    Raises:
        SpecError: one will not.
    """
    for tables in inputs:
        if kind == "specification":
            known = [f"{c['name']}.{s['name']}" for c in tables["classes"] for s in c["slis"]]
            if metric not in known:
                listed = ", ".join(known) or "none: no class has SLIs"
                raise SpecError("until.metric", f"{metric!r} is not one of {listed}")
            continue
        size, *middle, statistic = metric.split(".")
        traffic = [each["name"] for each in tables["traffic"].get("classes", [])]
        of = ".".join(middle)
        if size not in SIZES or statistic not in METRICS or (of and of not in traffic):
            classes = f" (and a class between them: {', '.join(traffic)})" if traffic else ""
            listed = f"{', '.join(SIZES)}, a dot{classes} and {', '.join(METRICS)}"
            raise SpecError("until.metric", f"{metric!r} is not one of {listed}")


def value_of(kind: Kind, answer: Mapping[str, Any], metric: str) -> float | None:
    """The value of a metric that was checked; ``None`` where only a lower bound is known."""
    first, *middle, last = metric.split(".")
    if kind == "specification":
        classes = answer["classes"] if "classes" in answer else answer["plan"]["classes"]
        slis = next(each["slis"] for each in classes if each["name"] == first)
        value: float | None = next(sli["value"] for sli in slis if sli["name"] == last)
        return value
    of = ".".join(middle) or "all"
    for row in answer["summary"]:
        if (row["class"], row["traffic_class"]) == (first, of):
            return None if row[f"{last}_lower_bound"] else row[last]
    return None
