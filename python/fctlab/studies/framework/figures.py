"""Figures of studies from runs: grouped bars and lines, with 95% intervals over the seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fctlab.studies.framework import study, verdict
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.pictures import Panel, Picture, Series
from fctlab.studies.framework.runs import SLOWDOWN, Measure, Results

SPANS_DECADES = 12.0
"""From this ratio of the largest to the smallest bar on, the axis is logarithmic."""


@dataclass(frozen=True)
class Quantity:
    """What an axis shows.

    Attributes:
        label: with the unit.
        scale: what values are multiplied with: 1000 for seconds shown in ms.
        least: where a logarithmic axis starts; by itself unless given.
    """

    label: str
    scale: float = 1.0
    least: float | None = None


Bar: TypeAlias = tuple[tuple[Cell, ...], Measure]
"""Cells, and the height of the bar from their runs of one seed."""
Bars: TypeAlias = Mapping[str, Mapping[str, Bar]]
"""Groups along the axis, and in each the bars by the name of their series."""


def bars(
    results: Results, panels: Sequence[tuple[str, Quantity, Bars]], below: bool = False
) -> Picture:
    """Panels of grouped bars, beside or below each other: means over the seeds with 95% intervals.

    Bars of the same name have the same colour in every panel.
    """
    return Picture("bars", [_panel(results, *panel) for panel in panels], below=below)


def _panel(results: Results, title: str, quantity: Quantity, groups: Bars) -> Panel:
    names = dict.fromkeys(name for inside in groups.values() for name in inside)
    series = []
    for name in names:
        there = [group for group, inside in groups.items() if name in inside]
        found = [results.bounded(*groups[group][name]) for group in there]
        means = [mean_and_half_width([v * quantity.scale for v in values]) for values, _ in found]
        y, half = zip(*means, strict=True)
        series.append(Series(name, there, y, half, [bound.mark for _, bound in found]))
    heights = [y for each in series for y, _ in each.points]
    log = min(heights) > 0 and max(heights) / min(heights) >= SPANS_DECADES
    return Panel(title, quantity.label, series, log, quantity.least)


def slowdowns(groups: Mapping[str, Mapping[str, Cell]]) -> Bars:
    """Bars of average slowdowns."""
    return {
        group: {name: ((cell,), SLOWDOWN) for name, cell in cells.items()}
        for group, cells in groups.items()
    }


def bar_figure(
    id: str,
    title: str,
    caption: str,
    claims: tuple[str, ...],
    panels: Sequence[tuple[str, Quantity, Bars]],
    below: bool = False,
) -> study.Figure:
    """A figure of bars (see `bars`) as a part of a study."""
    found = [
        bar for _, _, groups in panels for inside in groups.values() for bar in inside.values()
    ]
    cells = tuple(dict.fromkeys(cell for cells, _ in found for cell in cells))
    return study.Figure(id, title, caption, cells, lambda r: bars(r, panels, below), claims)


@dataclass(frozen=True)
class Line:
    """A line: what it is called, its x values, and at each the values of the seeds."""

    name: str
    x: Sequence[float]
    seeds: Sequence[Sequence[float]]


def lines(
    panels: Sequence[tuple[str, Sequence[Line]]],
    x_label: str,
    y_label: str,
    x_log: bool = False,
    y_log: bool = False,
    from_zero: bool = True,
) -> Picture:
    """Panels of lines through the means over the seeds, with 95% intervals as shades.

    Lines of the same name have the same look in every panel.
    """

    def series(line: Line) -> Series:
        points = [mean_and_half_width(values) for values in line.seeds]
        return Series(line.name, line.x, [m for m, _ in points], [h for _, h in points])

    drawn = [Panel(title, y_label, list(map(series, inside)), y_log) for title, inside in panels]
    return Picture("lines", drawn, x_label, x_log, from_zero)


def mean_and_half_width(values: Sequence[float]) -> tuple[float, float]:
    """The mean and the half-width of its 95% t interval; 0 for one value."""
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, 0.0
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    return mean, verdict.half_width(spread, n)
