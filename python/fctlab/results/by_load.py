"""The figure of the field: a metric of every scheme against load, in panels by flow size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.ticker import FixedLocator, FuncFormatter

from fctlab.results import drawing
from fctlab.results.drawing import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_INCHES = 0.98
STATISTICS = {"avg": "average", "p99": "99th percentile"}
LABELS = {"fct_s": "FCT", "slowdown": "slowdown"}
MOST_TICKS = 6
"""Loads that are written out."""
APART = 0.011
"""From one scheme to the next at the same load, as a share of the axis: intervals beside each other
can be read."""


def by_load(summary: pl.DataFrame, metric: str, sizes: Mapping[str, str], caption: str) -> Drawing:
    """Average and 99th percentile against load, one line per scheme, one row per size class.

    Panels of a row share their axis of values, all panels that of loads. Bars are the 95%
    intervals of `fctlab.Comparison.summary`. Hollow points are lower bounds.

    Args:
        summary: of one traffic class (columns: `fctlab.Comparison.summary`).
        metric: ``"fct_s"`` or ``"slowdown"``.
        sizes: size classes from top to bottom, and what they are called; those without flows
            are left out.
        caption: below.
    """
    there = set(summary.filter(pl.col("flows") > 0)["class"])
    rows = [name for name in sizes if name in there] or list(sizes)[:1]
    schemes = summary["scheme"].unique(maintain_order=True).to_list()
    loads = summary["load"].unique().sort().to_list()
    apart = _apart(loads, len(schemes))
    with rc_context(drawing.STYLE):
        figure = Drawing(0.35 + PANEL_INCHES * len(rows))
        panels = figure.subplots(len(rows), 2, sharex=True, sharey="row", squeeze=False)
        for axes, size in zip(panels, rows, strict=True):
            here = summary.filter(pl.col("class") == size, pl.col("flows") > 0).sort("load")
            for ax, statistic in zip(axes, STATISTICS, strict=True):
                name = f"{statistic}_{metric}"
                for number, scheme in enumerate(schemes):
                    found = here.filter(pl.col("scheme") == scheme)
                    aside = (number - (len(schemes) - 1) / 2) * apart
                    drawing.estimates(
                        ax,
                        found["load"].to_numpy() + aside,
                        found[name].to_numpy(),
                        found[f"{name}_ci95"].cast(pl.Float64).to_numpy(),
                        found[f"{name}_lower_bound"].to_numpy(),
                        number,
                        scheme,
                    )
            axes[0].set_ylabel(f"{sizes[size]}\n{LABELS[metric]}")
            drawing.log_values(axes, metric)
        for ax, words in zip(panels[0], STATISTICS.values(), strict=True):
            ax.set_title(words)
        _label_loads(panels[-1], loads)
        figure.furnish(panels[0][0], caption)
    return figure


def _apart(loads: Sequence[float], schemes: int) -> float:
    """So that schemes stay closer to their load than to the next one."""
    gaps = np.diff(loads)
    return float(min(APART * (loads[-1] - loads[0]), gaps.min() / (2 * schemes)))


def _label_loads(axes: Iterable[Axes], loads: Sequence[float]) -> None:
    """Loads as they were asked for; of many every second, third, ..."""
    for ax in axes:
        ax.set_xlabel("load")
        ax.margins(x=0.09)
        ax.xaxis.set_major_locator(FixedLocator(loads[:: -(-len(loads) // MOST_TICKS)]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
