"""Effects and figures over several loads, or other settings of the same schemes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from fctlab.studies.framework import figures, study
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.figures import Line, Quantity
from fctlab.studies.framework.pictures import Picture
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.study import Part, ratio
from fctlab.studies.framework.verdict import Expectation

ByLoad: TypeAlias = Mapping[float, Cell]
"""The cells of a scheme."""
Key = TypeVar("Key", float, str)


def across(
    name: str,
    over: Mapping[Key, Cell],
    under: Mapping[Key, Cell],
    expected: Expectation,
    paper: str = "",
    *,
    of: Callable[[Run], float],
    counts: bool = True,
    percent: bool = True,
    together: str = "mean of all loads",
    everywhere: bool = False,
) -> tuple[Part, ...]:
    """The ratio ``of(over) / of(under)``: its geometric mean over the loads, and each beside.

    What a paper says of all its loads at once is judged by the mean, which has more flows
    behind it than any load alone. What it says of every load (`everywhere`: "never", "in all
    cases") is judged at every load, so that the worst one decides. Keys are loads, or names of
    settings; `together` is what all are called.
    """
    words = {key: key if isinstance(key, str) else f"load {key:g}" for key in over}
    each: tuple[Part, ...] = tuple(
        ratio(
            f"{name}, {words[key]}",
            over[key],
            under[key],
            expected,
            paper,
            of=of,
            counts=counts and (everywhere or len(over) == 1),
            percent=percent,
        )
        for key in over
    )
    if len(each) == 1:
        return each
    cells: tuple[Cell, ...] = tuple(cell for part in each for cell in part.cells)

    def mean(*runs: Run) -> float:
        return geometric_mean([of(a) / of(b) for a, b in zip(runs[::2], runs[1::2], strict=True)])

    whole = Part(f"{name}, {together}", paper, expected, cells, mean, counts, percent)
    return (whole, *each)


def geometric_mean(values: Sequence[float]) -> float:
    """Not a number where a value is none, or not above zero, or there are none."""
    if not values or not all(value > 0 for value in values):
        return math.nan
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def relative(
    id: str,
    title: str,
    caption: str,
    claims: tuple[str, ...],
    panels: Mapping[str, Callable[[Run], float]],
    schemes: Mapping[str, ByLoad],
    base: str,
) -> study.Figure:
    """Lines over the load, a panel per quantity, as shares of the same of the scheme `base`."""
    cells = tuple(dict.fromkeys(cell for loads in schemes.values() for cell in loads.values()))

    def line(results: Results, name: str, of: Callable[[Run], float]) -> Line:
        pairs = [(cell, schemes[base][load]) for load, cell in schemes[name].items()]
        seeds = [results.measured(pair, lambda a, b: of(a) / of(b)) for pair in pairs]
        return Line(name, list(schemes[name]), seeds)

    def draw(results: Results) -> Picture:
        drawn = [
            (panel, [line(results, name, of) for name in schemes]) for panel, of in panels.items()
        ]
        return figures.lines(drawn, "load", f"relative to {base}", from_zero=False)

    return study.Figure(id, title, caption, cells, draw, claims)


Panel: TypeAlias = tuple[Mapping[str, ByLoad], Callable[[Run], float]]
"""The cells of each scheme by what the axis shows, and the quantity."""


def absolute(
    id: str,
    title: str,
    caption: str,
    claims: tuple[str, ...],
    panels: Mapping[str, Panel],
    x_label: str,
    quantity: Quantity,
) -> study.Figure:
    """Lines over the load, or another number, in units of the quantity."""
    found = [cell for rows, _ in panels.values() for row in rows.values() for cell in row.values()]

    def line(results: Results, name: str, cells: ByLoad, of: Callable[[Run], float]) -> Line:
        seeds = [
            results.measured([cell], lambda run: of(run) * quantity.scale)
            for cell in cells.values()
        ]
        return Line(name, list(cells), seeds)

    def draw(results: Results) -> Picture:
        drawn = [
            (panel, [line(results, name, cells, of) for name, cells in rows.items()])
            for panel, (rows, of) in panels.items()
        ]
        return figures.lines(drawn, x_label, quantity.label)

    return study.Figure(id, title, caption, tuple(dict.fromkeys(found)), draw, claims)
