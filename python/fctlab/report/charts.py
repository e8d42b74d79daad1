"""Charts as data: series with keys, and choices among them.

A chart has many series and shows those whose keys are what is chosen. A key that a series does not
have fits every choice. ``assets/charts.js`` draws; nothing there knows of runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Number = float | int | None


@dataclass(frozen=True)
class Axis:
    """An axis.

    Attributes:
        title: what it shows.
        unit: behind each number, which gets an SI prefix (``100 us``); empty for plain numbers.
        log: whether it is logarithmic.
        words: whether its values are words rather than numbers.
        least: what no value is below; nothing is drawn there.
        zero: whether zero is shown.
        centre: what values are compared with: a line across, and the middle of a map's colours.
        states: of values that are a few words, these, in order; style.css has colours for those
            that are verdicts.
    """

    title: str
    unit: str = ""
    log: bool = False
    words: bool = False
    least: float = 0.0
    zero: bool = False
    centre: float | None = None
    states: Sequence[str] = ()


@dataclass(frozen=True)
class Choice:
    """Something to choose, by a native control.

    Attributes:
        name: key of series.
        label: for people.
        options: values and their labels; the first is chosen at first.
        several: whether any number of them can be chosen; all are at first.
    """

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    several: bool = False

    @property
    def open(self) -> bool:
        """Whether there is more than one option."""
        return len(self.options) > 1


@dataclass(frozen=True)
class Series:
    """Points of one line, or values on a grid.

    Attributes:
        keys: when it is shown.
        x: positions; none on a grid.
        y: values; on a grid one for each combination, the last dimension's value changing fastest.
        low: lower ends of 95% intervals; empty for none.
        high: upper ends.
        open: numbers of the points that are only lower bounds.
        notes: of each point, shown when it is pointed at.
        label: of the line, behind its option's.
        marks: values that it is held against, as lines across.
    """

    keys: Mapping[str, str]
    x: Sequence[Any]
    y: Sequence[Any]
    low: Sequence[Number] = ()
    high: Sequence[Number] = ()
    open: Sequence[int] = ()
    notes: Sequence[Any] = ()
    label: str = ""
    marks: Sequence[float] = ()


@dataclass(frozen=True)
class Dimension:
    """What varies in a grid.

    Attributes:
        axis: how it looks where it is drawn along.
        values: in order: numbers, or words.
        labels: of the values.
    """

    axis: Axis
    values: Sequence[Any]
    labels: Sequence[str]


@dataclass(frozen=True)
class Chart:
    """What is drawn in one place.

    Attributes:
        id: of its element.
        title: over it.
        caption: under it.
        kind: ``"lines"`` with points, ``"steps"``, ``"points"`` beside each other,
            ``"dots"`` beside the words of the axis x, or ``"map"``: colours over two dimensions.
        x: the axis; on a grid the dimensions' axes are in its place.
        y: the axis; or by value of the choice `by`, one for each.
        series: everything that can be shown; charts with the same ones share them.
        lines: the key that tells lines apart; it has its colour in all charts of a page.
        choices: of this chart alone.
        by: of the choice that axes depend on.
        grid: what its series are values over. `slices` makes its choices: which dimensions are
            drawn along, and the values of the others.
    """

    id: str
    title: str
    caption: str
    kind: Literal["lines", "steps", "points", "dots", "map"]
    x: Axis | Mapping[str, Axis]
    y: Axis | Mapping[str, Axis]
    series: Sequence[Series]
    lines: str = ""
    choices: Sequence[Choice] = field(default_factory=tuple)
    by: str = ""
    grid: Sequence[Dimension] = ()


ALONG = "along"
"""The choice of dimensions that a chart is drawn along: their numbers, with spaces between."""
AT = "at"
"""With a dimension's number behind it: the choice of its value where it is not drawn along."""


def slices(grid: Sequence[Dimension], along: int) -> list[Choice]:
    """What to choose of a grid.

    Args:
        grid: its dimensions.
        along: how many of them are drawn along at once.
    """
    ways = list(itertools.combinations(range(len(grid)), along))
    label = "Along" if along == 1 else "Axes"
    titles = [
        (" ".join(map(str, way)), " and ".join(grid[place].axis.title for place in way))
        for way in ways
    ]
    fixed = [
        Choice(
            f"{AT}{place}",
            dimension.axis.title,
            [(str(number), value) for number, value in enumerate(dimension.labels)],
        )
        for place, dimension in enumerate(grid)
        if len(grid) > along
    ]
    return [Choice(ALONG, label, titles), *fixed]


def rounded(values: Iterable[Number], digits: int = 4) -> list[Number]:
    """Numbers with as many digits as can be seen; null for what is no finite number."""
    return [_rounded(value, digits) for value in values]


def _rounded(value: Number, digits: int) -> Number:
    if value is None or not math.isfinite(value):
        return None
    if isinstance(value, int):
        return value
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
