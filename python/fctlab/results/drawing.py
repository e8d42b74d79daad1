"""How figures of results look: as wide as a column of a paper, and read without colours.

A figure has its legend above, its panels, and a caption below that says what was drawn. Saved, it
has what publishers ask for: fonts as Type 42 in PDF and PostScript, outlines in SVG, 300 dots per
inch in PNG. The same figure is the same bytes.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Bbox

from fctlab.results.colours import COLOURS, LINES, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

COLUMN_INCHES = 3.3
"""The width of every figure."""
SHOWN_DPI = 170
"""Of a notebook."""
LETTERS = 75
"""Of a caption, in a line of that width."""
LINE_INCHES = 0.108
LEGEND_LETTERS = 58
"""Names and samples of a legend, in a line of that width."""
SAMPLE_LETTERS = 7
STYLE: dict[Any, Any] = {
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "legend.fontsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlepad": 3,
    "axes.labelpad": 2,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.columnspacing": 1.2,
    "legend.borderaxespad": 0.2,
    "lines.linewidth": 1.1,
    "lines.markersize": 2.8,
    "lines.markeredgewidth": 0.8,
    "figure.dpi": 200,
}
SAVED: dict[Any, Any] = {
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.hashsalt": "fctlab",
}
MADE_BY: dict[str, dict[str, Any]] = {
    "png": {"Software": "fctlab"},
    "pdf": {"Creator": "fctlab", "CreationDate": None},
    "svg": {"Creator": "fctlab", "Date": None},
}
"""What each format says of where it comes from; no dates."""


def is_ours(content: bytes) -> bool:
    """Whether a file is a figure that was written here."""
    return b"fctlab" in content and content.startswith((b"\x89PNG", b"%PDF", b"<?xml"))


class Drawing(Figure):
    """A figure of one column; a notebook shows it.

    Attributes:
        caption: what it says below.

    Args:
        height: of the panels, in inches; legend and caption come on top.
    """

    caption = ""

    def __init__(self, height: float = 0.0, **kwargs: Any) -> None:
        kwargs.setdefault("figsize", (COLUMN_INCHES, height))
        super().__init__(layout="constrained", **kwargs)

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        """As matplotlib's, in the way that the module says."""
        named = Path(fname).suffix[1:] if isinstance(fname, str | Path) else ""
        kwargs.setdefault("metadata", MADE_BY.get(kwargs.get("format") or named or "png"))
        if self.get_size_inches()[0] > COLUMN_INCHES:
            kwargs.setdefault("dpi", self.dpi)
        with rc_context(SAVED):
            super().savefig(fname, **kwargs)

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=min(self.dpi, SHOWN_DPI))
        return picture.getvalue()

    def furnish(self, legend: Axes, caption: str) -> None:
        """Put the legend of a panel above all of them, and a caption below.

        Args:
            legend: a panel with all lines.
            caption: plain sentences.
        """
        self.caption = caption
        handles, labels = legend.get_legend_handles_labels()
        columns = _columns(labels)
        lines = textwrap.wrap(caption, LETTERS)
        below = LINE_INCHES * len(lines) + (0.04 if lines else 0)
        above = 0.15 * -(-len(labels) // columns)
        width, panels = self.get_size_inches()
        height = panels + above + below
        self.set_size_inches(width, height)
        engine: Any = self.get_layout_engine()
        engine.set(rect=(0, below / height, 1, 1 - below / height), h_pad=0.02, w_pad=0.02)
        if labels:
            self.legend(handles, labels, loc="outside upper center", ncols=columns)
        look: dict[str, Any] = {"fontsize": 6, "va": "top", "linespacing": 1.2}
        self.text(0.03 / width, (below - 0.02) / height, "\n".join(lines), **look)
        engine.execute(self)
        self.set_layout_engine("none")
        for ax in self.axes:  # the layout's last digits differ from process to process
            ax.set_position(Bbox(np.round(ax.get_position().get_points(), 6)))


def _columns(labels: Sequence[str]) -> int:
    """As many columns of a legend as fit beside each other, of about the same length."""
    widest = max(map(len, labels), default=0) + SAMPLE_LETTERS
    most = max(1, min(len(labels), LEGEND_LETTERS // widest))
    rows = max(1, -(-len(labels) // most))
    return max(1, -(-len(labels) // rows))


def line(number: int) -> dict[str, Any]:
    """The look of a scheme's line, by its place among the schemes: the same in every figure."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": LINES[number % len(LINES)]}


def points(number: int) -> dict[str, Any]:
    """The look of a scheme's line with a marker at each point."""
    # The eighth has the first one's colour, and not its marker.
    return line(number) | {"marker": MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]}


THIN = "\N{THIN SPACE}"
FULL_SPAN = 1e4
"""Of an axis of times, at most: an interval that goes on ends at the edge."""
NUMBERS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (4, (1, 1.5, 2, 3, 4, 6, 8)),
    (12, (1, 2, 3, 5)),
    (50, (1, 2, 5)),
    (400, (1, 3)),
    (math.inf, (1,)),
)
"""Digits at a logarithmic axis, by how many times its start its end is."""
HOLLOW: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "white"}
"""Of a point that is a lower bound."""


def estimates(
    ax: Axes,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    half: NDArray[np.float64],
    bounds: NDArray[np.bool_],
    number: int,
    label: str,
) -> None:
    """A line through estimates with their intervals; hollow points are lower bounds.

    Args:
        ax: the panel.
        x: where; shape (points,), as all arrays are.
        y: the estimates.
        half: half-widths of their intervals; NaN where there is none.
        bounds: whether each is a lower bound.
        number: of the scheme, see `line`.
        label: in the legend.
    """
    look = points(number)
    ax.plot(x, y, label=label, **look)
    if len(at := np.flatnonzero(np.isfinite(half))):
        # What goes below zero cannot be drawn: down to a hundredth of the estimate.
        ends = [np.minimum(half[at], 0.99 * y[at]), half[at]]
        bars: dict[str, Any] = {"elinewidth": 0.7, "capsize": 1.5, "capthick": 0.7, "zorder": 2.1}
        ax.errorbar(x[at], y[at], ends, fmt="none", ecolor=look["color"], **bars)
    if len(at := np.flatnonzero(bounds)):
        ax.plot(x[at], y[at], **look | HOLLOW, zorder=2.2)


def log_sizes(ax: Axes, unit: str) -> None:
    """A logarithmic axis from left to right."""
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(EngFormatter(unit=unit, sep=THIN))
    ax.xaxis.set_minor_formatter(NullFormatter())


def log_values(axes: Sequence[Axes], metric: str) -> None:
    """A logarithmic axis that panels share, with as many numbers as it has room for.

    Args:
        axes: the panels, which have their lines.
        metric: ``"slowdown"``, whose axis starts at 1, or ``"fct_s"`` in seconds.
    """
    limits = [ax.dataLim for ax in axes if np.isfinite(ax.dataLim.get_points()).all()]
    high = max((box.y1 for box in limits), default=2.0)
    low = min((box.minposy for box in limits), default=1.0)
    bottom = 1.0 if metric == "slowdown" else max(low, high / FULL_SPAN) / 1.15
    top = max(high * 1.15, bottom * 1.6)
    subs = next(subs for span, subs in NUMBERS if top / bottom <= span)
    number = FuncFormatter(lambda value, _: f"{value:g}")
    for ax in axes:
        ax.set_yscale("log")
        ax.set_ylim(bottom, top)
        ax.yaxis.set_major_locator(LogLocator(subs=subs))
        ax.yaxis.set_major_formatter(
            number if metric == "slowdown" else EngFormatter(unit="s", sep=THIN)
        )
        ax.yaxis.set_minor_formatter(NullFormatter())
