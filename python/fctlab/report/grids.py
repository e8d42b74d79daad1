"""Axes of sweeps and what-ifs as dimensions of charts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fctlab.report.charts import Axis, Dimension
from fctlab.sweep.grid import show

LOG_FROM = 30
"""An axis whose largest value is so many times its smallest one is logarithmic."""


class Places:
    """Dimensions, and where each combination of values is among all of them.

    Axes that go together, value by value, are one dimension; one with a single value is none.
    Where less than a quarter of all combinations is there, they are one dimension, each by name.

    Args:
        cells: values by axis, of every combination that is there.

    Attributes:
        dimensions: of charts; none where nothing varies.
        count: of combinations, whether they are there or not.
        fixed: axes with a single value, and that value.
    """

    def __init__(self, cells: Sequence[Mapping[str, Any]]) -> None:
        axes = list(cells[0]) if cells else []
        columns = {axis: [cell[axis] for cell in cells] for axis in axes}
        several = [axis for axis in axes if len(set(map(repr, columns[axis]))) > 1]
        self.fixed = [(axis, show(columns[axis][0])) for axis in axes if axis not in several]
        self._groups = _linked(columns, several)
        made = [self._dimension(group, columns) for group in self._groups]
        if math.prod(len(values) for _, values in made) > 4 * len(cells):
            self._groups = [several]
            made = [self._dimension(several, columns)]
        self.dimensions = [dimension for dimension, _ in made]
        self._places = [{value: i for i, value in enumerate(values)} for _, values in made]
        self.count = math.prod(len(values) for _, values in made)

    def place(self, cell: Mapping[str, Any]) -> int:
        """Where a combination is; the last dimension's value changes fastest."""
        at = 0
        for group, places in zip(self._groups, self._places, strict=True):
            at = at * len(places) + places[_told(cell, group)]
        return at

    def _dimension(
        self, group: Sequence[str], columns: Mapping[str, Sequence[Any]]
    ) -> tuple[Dimension, list[tuple[str, ...]]]:
        rows = dict.fromkeys(zip(*(columns[axis] for axis in group), strict=True))
        first = [row[0] for row in rows]
        numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in first)
        unique = len(set(first)) == len(first)
        ordered = sorted(rows, key=lambda row: row[0]) if numeric and unique else list(rows)
        labels = [", ".join(map(show, row)) for row in ordered]
        title = ", ".join(short(axis, columns) for axis in group)
        told = [tuple(map(repr, row)) for row in ordered]
        if not (numeric and unique):
            return Dimension(Axis(title, words=True), labels, labels), told
        values = [row[0] for row in ordered]
        log = len(values) > 2 and values[0] > 0 and values[-1] >= LOG_FROM * values[0]
        return Dimension(Axis(title, log=log), values, labels), told


def _told(cell: Mapping[str, Any], group: Sequence[str]) -> tuple[str, ...]:
    return tuple(repr(cell[axis]) for axis in group)


def _linked(columns: Mapping[str, Sequence[Any]], axes: Sequence[str]) -> list[list[str]]:
    """Axes in groups: those of a group say the same of every combination."""
    groups: list[list[str]] = []
    for axis in axes:
        for group in groups:
            pairs = {
                (repr(a), repr(b)) for a, b in zip(columns[group[0]], columns[axis], strict=True)
            }
            if len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}):
                group.append(axis)
                break
        else:
            groups.append([axis])
    return groups


def short(axis: str, axes: Mapping[str, Any] | Sequence[str]) -> str:
    """The last key of a path, or as many as it takes to tell it from other paths."""
    keys = axis.split(".")
    for taken in range(1, len(keys)):
        ending = ".".join(keys[-taken:])
        if sum(other == ending or other.endswith(f".{ending}") for other in axes) == 1:
            return ending
    return axis
