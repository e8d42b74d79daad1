"""Pictures of what-ifs: SLIs beside their targets over one value, verdicts over two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.colors import ListedColormap
from matplotlib.ticker import EngFormatter, FixedLocator, FuncFormatter, LogLocator, NullFormatter

from fctlab.errors import SpecError
from fctlab.results import drawing
from fctlab.results.drawing import Drawing
from fctlab.slo.types import Attr, ClassPrediction, Sli, Verdict, WhatIf
from fctlab.slo.words import VERDICTS, worst

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"met": "#009E73", "undecided": "#BBBBBB", "violated": "#D55E00"}
SIGNS: dict[Verdict, dict[str, Any]] = {
    "met": {"marker": "o", "markersize": 3},
    "undecided": {"marker": "o", "markersize": 5, "markerfacecolor": "white"},
    "violated": {"marker": "X", "markersize": 5},
}
"""How a point of a curve says what became of the SLO there."""
LETTERS: dict[Verdict, str] = {"met": "", "undecided": "?", "violated": "\N{MULTIPLICATION SIGN}"}
"""The same in a cell of a map."""
UNITS = {"fct": "s", "throughput": "bps"}
NAMES = {"slowdown": "slowdown", "fct": "FCT", "throughput": "throughput"}
WIDE = 8.0
"""Values so many times as large as others stand on a logarithmic axis."""
LOPSIDED = 0.25
"""So do values half of which are in this part of their range."""
MOST_LETTERS = 400
MOST_TICKS = 8


def lines(found: WhatIf) -> Drawing:
    """SLIs with intervals and targets over one value, a panel for each class and kind of SLI."""
    panels = list(_panels(found))
    xs = [point.at[0] for point in found.points]
    with rc_context(drawing.STYLE):
        figure = Drawing(0.3 + 1.35 * len(panels))
        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        names = list(dict.fromkeys(name for _, _, slis in panels for name in slis))
        for ax, (name, attr, slis) in zip(axes, panels, strict=True):
            each = [next(c for c in point.classes if c.name == name) for point in found.points]
            for sli in slis:
                _curve(ax, xs, each, sli, drawing.line(names.index(sli)))
            _value_axis(ax, attr)
            ax.set(title=name, ylabel=NAMES[attr])
        _place_axis(axes[-1], xs)
        axes[-1].set_xlabel(found.paths[0])
        _legend(axes[0], names)
        figure.furnish(axes[0], "Bands are 99% intervals, level thin lines what the SLO asks for.")
    return figure


def _panels(found: WhatIf) -> Iterator[tuple[str, Attr, list[str]]]:
    """Class, kind of SLI and the names of its SLIs."""
    for each in found.points[0].classes:
        for attr in dict.fromkeys(sli.attr for sli in each.slis):
            yield each.name, attr, [sli.name for sli in each.slis if sli.attr == attr]


def _curve(
    ax: Axes,
    xs: Sequence[float],
    each: Sequence[ClassPrediction],
    name: str,
    look: dict[str, Any],
) -> None:
    """An SLI at every point, with its target and the verdict on its class."""
    slis: list[Sli] = [next(sli for sli in one.slis if sli.name == name) for one in each]
    values = np.array([sli.value if sli.flows else np.nan for sli in slis])
    ends = np.array([sli.ci99 if sli.enough else (None, None) for sli in slis], dtype=float)
    ax.plot(xs, values, **look)
    shade = {"color": look["color"], "alpha": 0.2, "linewidth": 0}
    ax.fill_between(xs, ends[:, 0], ends[:, 1], **shade)
    for bound in {bound for sli in slis for t in sli.targets for bound in (t.below, t.above)}:
        if bound is not None:
            ax.axhline(bound, color=look["color"], linewidth=0.6)
    for verdict, sign in SIGNS.items():
        at = [i for i, one in enumerate(each) if one.verdict == verdict and slis[i].targets]
        points = {"color": look["color"], "linestyle": "none", "zorder": 3, **sign}
        ax.plot([xs[i] for i in at], values[at], **points)


def _value_axis(ax: Axes, attr: Attr) -> None:
    """Units, and a logarithmic axis where values are far apart."""
    data = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.lines])
    data = data[np.isfinite(data) & (data > 0)]
    if len(data) and data.max() > WIDE * data.min():
        ax.set_yscale("log")
        low, high = data.min() / 1.15, data.max() * 1.15
        ax.set_ylim(low, high)
        subs = next(subs for span, subs in drawing.NUMBERS if high / low <= span)
        ax.yaxis.set_major_locator(LogLocator(subs=subs))
        ax.yaxis.set_minor_formatter(NullFormatter())
    unit = UNITS.get(attr)
    number = FuncFormatter(_plain)
    ax.yaxis.set_major_formatter(EngFormatter(unit=unit, sep=drawing.THIN) if unit else number)


def _plain(value: float, _: object) -> str:
    return f"{value:g}"


def _place_axis(ax: Axes, values: Sequence[float]) -> None:
    """Where points are; logarithmic where most of them are close to the least."""
    low, high, middle = min(values), max(values), float(np.median(values))
    if low > 0 and high > WIDE * low and middle - low < LOPSIDED * (high - low):
        ax.set_xscale("log")
        if len(values) <= MOST_TICKS:
            ax.xaxis.set_major_locator(FixedLocator(sorted(values)))
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter(FuncFormatter(_plain))


def _legend(ax: Axes, names: Sequence[str]) -> None:
    """Samples of everything that some panel has."""
    for number, name in enumerate(names):
        ax.plot([], [], label=name, **drawing.line(number))
    for verdict, sign in SIGNS.items():
        ax.plot([], [], label=f"SLO {verdict}", color="black", linestyle="none", **sign)


def region(found: WhatIf) -> Drawing:
    """The worst verdict over two values.

    Raises:
        SpecError: no class has an SLO.
    """
    at = {point.at: worst(each.verdict for each in point.classes) for point in found.points}
    if None in at.values():
        raise SpecError("classes", "have no SLO; a region needs at least one")
    xs, ys = (sorted({values[i] for values in at}) for i in (0, 1))
    grid = [[VERDICTS.index(at[x, y] or "met") for x in xs] for y in ys]
    with rc_context(drawing.STYLE):
        figure = Drawing(2.4)
        ax = figure.subplots()
        colours = ListedColormap(list(COLOURS.values()))
        ax.imshow(grid, cmap=colours, vmin=-0.5, vmax=2.5, origin="lower", aspect="auto")
        for (x, y), verdict in at.items():
            if verdict is not None and len(at) <= MOST_LETTERS:
                place = xs.index(x), ys.index(y)
                ax.text(*place, LETTERS[verdict], ha="center", va="center")
        # A cell for each value, however far apart they are.
        for axis, values in ((ax.xaxis, xs), (ax.yaxis, ys)):
            shown = range(0, len(values), -(-len(values) // MOST_TICKS))
            axis.set_ticks(list(shown), [f"{values[i]:g}" for i in shown])
        ax.set(xlabel=found.paths[0], ylabel=found.paths[1])
        ax.grid(visible=False)
        for verdict in VERDICTS:
            label = "every SLO met" if verdict == "met" else f"an SLO {verdict}"
            look: dict[str, Any] = {"color": COLOURS[verdict], "linestyle": "none", "marker": "s"}
            ax.plot([], [], label=label, markersize=5, **look)
        signs = ", ".join(f"{sign} {verdict}" for verdict, sign in LETTERS.items() if sign)
        figure.furnish(ax, f"The worst verdict of all classes; {signs}.")
    return figure
