"""Pictures: what a figure of a study shows, as data, and how matplotlib paints it.

The page of a study has charts of the same data. Paintings have no background, and what is black
becomes the colour of the text around it in a web page (see `svg`), so that they can be read on
light and on dark paper.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from matplotlib import rc_context
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fctlab.results.colours import COLOURS, LINES, MARKERS
from fctlab.results.plots import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#010203"
"""Stands for the colour of text: never used otherwise."""
WIDTH_OF_A_NAME = 1.6
"""Inches of a legend below a figure, at least."""
WIDTH_OF_A_LETTER = 0.085
MOST_COLUMNS = 4
"""Panels of lines beside each other."""
MOST_MARKERS = 40
"""Points of a line that are marked one by one."""
INKED: dict[Any, Any] = {
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
}
"""What a drawing has that can be read on light and on dark paper."""
LOOK: dict[Any, Any] = {
    **STYLE,
    **INKED,
    "grid.color": "#88888844",
    "axes.axisbelow": True,
    "svg.hashsalt": "fctlab",
}


@dataclass(frozen=True)
class Series:
    """Points that belong together.

    Attributes:
        name: the same in every panel.
        x: positions; names of groups for bars.
        y: values; nothing where there is no number.
        half: half-widths of 95% intervals.
        bounds: of each value ``">"``, ``"<"`` or ``"?"`` where it rests on unfinished flows.
    """

    name: str
    x: Sequence[float | str]
    y: Sequence[float | None]
    half: Sequence[float | None]
    bounds: Sequence[str] = ()

    @property
    def points(self) -> list[tuple[float, float]]:
        """Values and half-widths; NaN for none."""
        pairs = zip(self.y, self.half, strict=True)
        return [(math.nan if y is None else y, math.nan if h is None else h) for y, h in pairs]


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        title: of the panel.
        y: what is shown, with the unit.
        series: what is drawn.
        log: whether its axis is logarithmic.
        least: where a logarithmic axis starts; by itself unless given.
    """

    title: str
    y: str
    series: Sequence[Series]
    log: bool = False
    least: float | None = None


@dataclass(frozen=True)
class Picture:
    """Panels of bars or of lines.

    Attributes:
        kind: which.
        panels: in order.
        x: what is along the axis of lines.
        x_log: whether that axis is logarithmic.
        from_zero: whether axes of lines start at zero.
        below: whether panels of bars stand below each other.
    """

    kind: Literal["bars", "lines"]
    panels: Sequence[Panel]
    x: str = ""
    x_log: bool = False
    from_zero: bool = True
    below: bool = False

    @property
    def names(self) -> list[str]:
        """Of all series."""
        return list(dict.fromkeys(each.name for panel in self.panels for each in panel.series))


def paint(picture: Picture) -> Drawing:
    """With matplotlib; series of the same name look the same in every panel."""
    with rc_context(LOOK):
        return _bars(picture) if picture.kind == "bars" else _lines(picture)


def groups(panel: Panel) -> list[str]:
    """Names of the groups of bars, in order."""
    return list(dict.fromkeys(str(x) for series in panel.series for x in series.x))


def _bars(picture: Picture) -> Drawing:
    widths = [_width(panel) for panel in picture.panels]
    n = len(widths)
    size = (max(widths), 3.2 * n) if picture.below else (sum(widths), 3.4)
    drawing = Drawing(figsize=size, layout="constrained")
    rows, columns = (n, 1) if picture.below else (1, n)
    ratios = None if picture.below else widths
    axes = drawing.subplots(rows, columns, squeeze=False, width_ratios=ratios).ravel()
    for ax, panel in zip(axes, picture.panels, strict=True):
        _panel(ax, panel, picture.names)
        ax.set_title(panel.title, loc="left")
    if len(picture.names) > 1:
        _legend(drawing, axes[0], picture.names, size[0])
    return drawing


def _legend(drawing: Drawing, ax: Axes, names: Sequence[str], width: float) -> None:
    """One for all panels, below them."""
    widest = max(WIDTH_OF_A_NAME, 0.6 + max(map(len, names)) * WIDTH_OF_A_LETTER)
    fit = min(len(names), max(1, int(width / widest)))
    handles, labels = ax.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=fit)


def _width(panel: Panel) -> float:
    """Inches that a panel of bars needs."""
    bars = sum(len(series.x) for series in panel.series)
    return max(3.2, 0.8 + 0.26 * bars + 0.24 * len(groups(panel)))


def _panel(ax: Axes, panel: Panel, names: Sequence[str]) -> None:
    """Grouped bars with their numbers above."""
    ticks, left = [], 0.0
    heights = [y for series in panel.series for y, _ in series.points]
    for group in groups(panel):
        inside = [series for series in panel.series if group in series.x]
        for place, series in enumerate(inside):
            i = list(series.x).index(group)
            mean, half = series.points[i]
            colour = COLOURS[names.index(series.name) % len(COLOURS)]
            look: dict[str, Any] = {"color": colour, "error_kw": {"ecolor": INK, "lw": 1}}
            label = series.name if i == 0 else None
            ax.bar(left + place, mean, width=0.86, yerr=half, label=label, **look)
            text = (series.bounds[i] if series.bounds else "") + _short(mean)
            top = mean + (half if math.isfinite(half) else 0)
            at = (left + place, top)
            ax.annotate(text, at, (0, 2), textcoords="offset points", ha="center", size=7)
        ticks.append(left + (len(inside) - 1) / 2)
        left += len(inside) + 0.9
    if panel.log:
        ax.set_yscale("log")
        least = min(heights) / 2 if panel.least is None else panel.least
        ax.set_ylim(least, max(heights) * 2)
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        ax.yaxis.set_minor_formatter(NullFormatter())
    else:
        ax.set_ylim(bottom=0)
        ax.margins(y=0.12)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_xticks(ticks, groups(panel))
    ax.tick_params(axis="x", length=0)
    ax.grid(visible=False, axis="x")
    ax.set_ylabel(panel.y + (", log" if panel.log else ""))


def _lines(picture: Picture) -> Drawing:
    panels, names = picture.panels, picture.names
    rows = math.ceil(len(panels) / MOST_COLUMNS)
    columns = math.ceil(len(panels) / rows)
    common = len(panels) > 2
    width = 0.8 + 4.0 * columns
    drawing = Drawing(figsize=(width, 3.3 * rows + 0.2), layout="constrained")
    axes = drawing.subplots(rows, columns, squeeze=False).ravel()
    for ax, panel in zip(axes, panels, strict=False):
        for series in panel.series:
            _line(ax, series, names.index(series.name))
        if picture.x_log:
            ax.set_xscale("log")
        if panel.log:
            ax.set_yscale("log")
        ax.set_title(panel.title, loc="left")
        ax.set_xlabel(picture.x)
        if picture.from_zero and not panel.log:
            ax.set_ylim(bottom=0)
        if panel.series and not common:
            ax.legend()
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    for ax, panel in zip(axes[::columns], panels[::columns], strict=True):
        ax.set_ylabel(panel.y)
    if common:
        _legend(drawing, axes[0], names, width)
    return drawing


def _line(ax: Axes, series: Series, style: int) -> None:
    x: Any = series.x
    look: dict[str, Any] = {"color": COLOURS[style % len(COLOURS)]}
    low, high = ([mean + way * half for mean, half in series.points] for way in (-1, 1))
    ax.fill_between(x, low, high, alpha=0.18, linewidth=0, **look)
    few = len(x) <= MOST_MARKERS
    more: dict[str, Any] = {"linestyle": LINES[style % len(LINES)]}
    more |= {"marker": MARKERS[style % len(MARKERS)], "markersize": 3.5} if few else {}
    ax.plot(x, [mean for mean, _ in series.points], label=series.name, **look, **more)


def svg(drawing: Drawing, name: str) -> str:
    """A drawing as an SVG element for a page; `name` keeps its ids apart from others'."""
    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        drawing.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # A figure is as wide as it needs, but no wider than the page, which then sets the height.
    text = re.sub(r' width="(\S+)" height="\S+"', r' style="width:\1"', text, count=1)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # the same in every figure, and of no use
    return text.replace(INK, "currentColor")


def png(drawing: Drawing) -> bytes:
    """A drawing on white."""
    buffer = io.BytesIO()
    drawing.savefig(buffer, format="png", facecolor="white", dpi=140)
    return buffer.getvalue()


def _short(value: float) -> str:
    """A number above a bar: three digits."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
