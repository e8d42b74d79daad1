"""Effects and figures over several loads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from fctlab.studies import figures, study
from fctlab.studies.figures import Line
from fctlab.studies.study import Cell, Part, Results, Run, ratio
from fctlab.studies.verdict import Expectation

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ByLoad: TypeAlias = Mapping[float, Cell]
"""The cells of a scheme."""


def across(
    name: str,
    over: ByLoad,
    under: ByLoad,
    expected: Expectation,
    paper: str = "",
    *,
    of: Callable[[Run], float],
    counts: bool = True,
    percent: bool = True,
) -> tuple[Part, ...]:
    """The ratio ``of(over) / of(under)``: its geometric mean over the loads, and each beside.

    What a paper says of all its loads at once is judged by the mean, which has more flows
    behind it than any load alone.
    """
    each = tuple(
        ratio(
            f"{name}, load {load:g}",
            over[load],
            under[load],
            expected,
            paper,
            of=of,
            counts=counts and len(over) == 1,
            percent=percent,
        )
        for load in over
    )
    if len(each) == 1:
        return each
    cells = tuple(cell for part in each for cell in part.cells)

    def mean(*runs: Run) -> float:
        return geometric_mean([of(a) / of(b) for a, b in zip(runs[::2], runs[1::2], strict=True)])

    loads = ", ".join(f"{load:g}" for load in over)
    whole = Part(f"{name}, mean of loads {loads}", paper, expected, cells, mean, counts, percent)
    return (whole, *each)


def geometric_mean(values: Sequence[float]) -> float:
    """Not a number where a value is none, or not above zero."""
    if not all(value > 0 for value in values):
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

    def draw(results: Results) -> Drawing:
        drawn = [
            (panel, [line(results, name, of) for name in schemes]) for panel, of in panels.items()
        ]
        return figures.lines(drawn, "load", f"relative to {base}", from_zero=False)

    return study.Figure(id, title, caption, cells, draw, claims)
