"""Results as tables for people."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from fctlab.cli.layout import frame, numbers, shown, whole
from fctlab.formats import count, plain
from fctlab.results import words
from fctlab.results.comparison import Comparison
from fctlab.results.result import Result
from fctlab.tuning.types import Mapping, Thresholds


def result(found: Result) -> RenderableType:
    """Summary, counters and speed of a run."""
    return shown(words.result(found))


def comparison(found: Comparison) -> RenderableType:
    """Summary of a comparison: every size class under each scheme, one table per load."""
    return shown(words.comparison(found))


def thresholds(found: Thresholds) -> RenderableType:
    """Demotion thresholds and what they achieve."""
    table = frame(f"{found.scheme}: {found.workload} at load {found.load:g}")
    numbers(table, "threshold", "bytes", "packets")
    pairs = zip(found.thresholds_bytes, found.thresholds_packets, strict=True)
    for i, (size, packets) in enumerate(pairs, start=1):
        table.add_row(str(i), f"{size:,}", f"{packets:,}")
    lines = [f"objective: {found.objective:.4f} mean service times"]
    if empty := found.empty_queues:
        lines.append(f"{empty} of {found.queues} queues would stay empty and are left out")
    cuts = ", ".join(f'"{cut}"' for cut in found.thresholds)
    lines.append(f"in a scenario: scheme.port.discipline.thresholds = [{cuts}]")
    return Group(whole(table), *map(Text, lines))


def mapping(found: Mapping) -> RenderableType:
    """The thresholds of a static mapping."""
    table = frame(f"largest value of each queue but the last, {found.policy}")
    table.add_column("where", no_wrap=True)
    numbers(table, *(f"queue {i}" for i in range(found.queues - 1)))
    thresholds = found.thresholds
    named = thresholds if isinstance(thresholds, dict) else {"every port": thresholds}
    for name, cuts in named.items():
        table.add_row(name, *map(str, cuts))
    return whole(table)


def benchmarks(found: list[dict[str, Any]]) -> RenderableType:
    """What was measured, with what it means."""
    table = frame("benchmarks on this machine")
    table.add_column("name", no_wrap=True)
    numbers(table, "value")
    table.add_column("unit")
    table.add_column("note")
    for row in found:
        value = row["value"]
        number = count(value) if value >= 1e4 else plain(value)
        table.add_row(row["name"], number, row["unit"], row["note"])
    return whole(table)
