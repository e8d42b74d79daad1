"""Figures of studies: grouped bars and lines, with 95% intervals over the seeds.

They are drawn without a background, and what is black becomes the colour of the text around
it in a web page (see `svg`), so that they can be read on light and on dark paper.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fctlab.results.plots import COLOURS, LINES, MARKERS, STYLE
from fctlab.studies import study, verdict
from fctlab.studies.cells import Cell
from fctlab.studies.runs import SLOWDOWN, Measure, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#010203"
"""Stands for the colour of text: never used otherwise."""
SPANS_DECADES = 12.0
"""From this ratio of the largest to the smallest bar on, the axis is logarithmic."""
WIDTH_OF_A_NAME = 1.6
"""Inches of a legend below a figure, at least."""
WIDTH_OF_A_LETTER = 0.085
MOST_COLUMNS = 4
"""Panels of lines beside each other."""
MOST_MARKERS = 40
"""Points of a line that are marked one by one."""
LOOK: dict[Any, Any] = STYLE | {
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.color": "#88888844",
    "axes.axisbelow": True,
    "svg.hashsalt": "fctlab",
}


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
) -> Figure:
    """Panels of grouped bars, beside or below each other: means over the seeds with 95% intervals.

    Bars of the same name have the same colour in every panel.
    """
    inside = [bars for _, _, groups in panels for bars in groups.values()]
    names = list(dict.fromkeys(name for bars in inside for name in bars))
    widths = [_width(groups) for _, _, groups in panels]
    n = len(panels)
    with rc_context(LOOK):
        size = (max(widths), 3.2 * n) if below else (sum(widths), 3.4)
        figure = Figure(figsize=size, layout="constrained")
        rows, columns = (n, 1) if below else (1, n)
        ratios = None if below else widths
        axes = figure.subplots(rows, columns, squeeze=False, width_ratios=ratios).ravel()
        for ax, (title, quantity, groups) in zip(axes, panels, strict=True):
            _panel(ax, results, quantity, groups, names)
            ax.set_title(title, loc="left")
        if len(names) > 1:
            handles, labels = axes[0].get_legend_handles_labels()
            fit = _legend_columns(names, size[0])
            figure.legend(handles, labels, loc="outside lower center", ncols=fit)
    return figure


def _legend_columns(names: Sequence[str], width: float) -> int:
    """How many of the names fit beside each other below a figure of so many inches."""
    widest = max(WIDTH_OF_A_NAME, 0.6 + max(map(len, names)) * WIDTH_OF_A_LETTER)
    return min(len(names), max(1, int(width / widest)))


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


def _width(groups: Bars) -> float:
    """Inches that a panel needs."""
    return max(3.2, 0.8 + sum(0.26 * len(inside) + 0.24 for inside in groups.values()))


def _panel(
    ax: Axes, results: Results, quantity: Quantity, groups: Bars, names: Sequence[str]
) -> None:
    heights: list[float] = []
    positions: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    signs: dict[float, str] = {}
    ticks, left = [], 0.0
    for inside in groups.values():
        for place, (name, (cells, measure)) in enumerate(inside.items()):
            values, bound = results.bounded(cells, measure)
            mean, half = mean_and_half_width([value * quantity.scale for value in values])
            positions[name].append((left + place, mean, half))
            signs[left + place] = bound.mark
            heights.append(mean)
        ticks.append(left + (len(inside) - 1) / 2)
        left += len(inside) + 0.9
    logarithmic = min(heights) > 0 and max(heights) / min(heights) >= SPANS_DECADES
    for colour, (name, found) in enumerate(positions.items()):
        if found:
            x, y, error = zip(*found, strict=True)
            look: dict[str, Any] = {"color": COLOURS[colour % len(COLOURS)], "label": name}
            ax.bar(x, y, width=0.86, yerr=error, error_kw={"ecolor": INK, "lw": 1}, **look)
        for at, mean, half in found:
            text = signs[at] + _short(mean)
            top = mean + (half if math.isfinite(half) else 0)
            ax.annotate(text, (at, top), (0, 2), textcoords="offset points", ha="center", size=7)
    if logarithmic:
        ax.set_yscale("log")
        least = min(heights) / 2 if quantity.least is None else quantity.least
        ax.set_ylim(least, max(heights) * 2)
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        ax.yaxis.set_minor_formatter(NullFormatter())
    else:
        ax.set_ylim(bottom=0)
        ax.margins(y=0.12)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_xticks(ticks, list(groups))
    ax.tick_params(axis="x", length=0)
    ax.grid(visible=False, axis="x")
    ax.set_ylabel(quantity.label + (", log" if logarithmic else ""))


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
) -> Figure:
    """Panels of lines through the means over the seeds, with 95% intervals as shades.

    Lines of the same name have the same look in every panel.
    """
    names = list(dict.fromkeys(line.name for _, drawn in panels for line in drawn))
    rows = math.ceil(len(panels) / MOST_COLUMNS)
    columns = math.ceil(len(panels) / rows)
    common = len(panels) > 2
    with rc_context(LOOK):
        figure = Figure(figsize=(0.8 + 4.0 * columns, 3.3 * rows + 0.2), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for ax, (title, drawn) in zip(axes, panels, strict=False):
            for line in drawn:
                _line(ax, line, names.index(line.name))
            if x_log:
                ax.set_xscale("log")
            if y_log:
                ax.set_yscale("log")
            ax.set_title(title, loc="left")
            ax.set_xlabel(x_label)
            if from_zero and not y_log:
                ax.set_ylim(bottom=0)
            if drawn and not common:
                ax.legend()
        for ax in axes[len(panels) :]:
            ax.set_visible(False)
        for ax in axes[::columns]:
            ax.set_ylabel(y_label)
        if common:
            handles, labels = axes[0].get_legend_handles_labels()
            fit = _legend_columns(names, 0.8 + 4.0 * columns)
            figure.legend(handles, labels, loc="outside lower center", ncols=fit)
    return figure


def _line(ax: Axes, line: Line, style: int) -> None:
    points = [mean_and_half_width(values) for values in line.seeds]
    mean = [m for m, _ in points]
    look: dict[str, Any] = {"color": COLOURS[style % len(COLOURS)]}
    low, high = ([m + way * h for m, h in points] for way in (-1, 1))
    ax.fill_between(line.x, low, high, alpha=0.18, linewidth=0, **look)
    few = len(line.x) <= MOST_MARKERS
    more: dict[str, Any] = {"linestyle": LINES[style % len(LINES)]}
    more |= {"marker": MARKERS[style % len(MARKERS)], "markersize": 3.5} if few else {}
    ax.plot(line.x, mean, label=line.name, **look, **more)


def svg(figure: Figure, name: str) -> str:
    """The figure as an SVG element for a page; `name` keeps its ids apart from others'."""
    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # A figure is as wide as it needs, but no wider than the page, which then sets the height.
    text = re.sub(r' width="(\S+)" height="\S+"', r' style="width:\1"', text, count=1)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # the same in every figure, and of no use
    return text.replace(INK, "currentColor")


def png(figure: Figure) -> bytes:
    """The figure on white."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", facecolor="white", dpi=140)
    return buffer.getvalue()


def mean_and_half_width(values: Sequence[float]) -> tuple[float, float]:
    """The mean and the half-width of its 95% t interval; 0 for one value."""
    n = len(values)
    mean = math.fsum(values) / n
    if n < 2:
        return mean, 0.0
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    return mean, verdict.half_width(spread, n)


def _short(value: float) -> str:
    """A number above a bar: three digits."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
