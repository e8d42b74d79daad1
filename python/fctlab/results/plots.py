"""Figures of flows and ports: completion times and slowdowns of schemes, what ports did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter

from fctlab import intervals
from fctlab.results import drawing
from fctlab.results.colours import COLOURS
from fctlab.results.drawing import Drawing

if TYPE_CHECKING:
    from numpy.typing import NDArray

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "savefig.dpi": 160,
    "figure.dpi": 160,
}
FLOWS_PER_BIN = 200
"""Flows behind one point of `slowdown_by_size`, at least: a p99 needs them."""
MOST_STEPS = 500
"""Of a line: more than a column of 300 dots per inch shows."""
SHARES = ((0, 0.25, 0.5, 0.75, 1), ("0", "", "0.5", "", "1"))
"""Where an axis of shares has lines, and which of them have numbers."""
MOST_BINS = 20
MOST_PORTS = 4


@dataclass(frozen=True)
class Curve:
    """The flows of one scheme at one load, one frame per seed (columns: `Result.flows`)."""

    label: str
    load: float | None
    frames: Sequence[pl.LazyFrame]

    def measured(self, *columns: str) -> list[pl.DataFrame]:
        """The measured flows of each seed, so many columns of them."""
        wanted = [frame.filter("measured").select(columns) for frame in self.frames]
        return [frame.collect(engine="streaming") for frame in wanted]


def fct_cdf(curves: Sequence[Curve], caption: str) -> Drawing:
    """Cumulative distribution of completion times; one panel per load, one line per scheme.

    Over several seeds a line is the mean of the seeds' distributions, with the 95% t interval of
    each share as a band. Flows that had not finished count, without a completion time: with
    them a line ends below 1, and its label says how many they are.

    Args:
        curves: what to draw.
        caption: below.
    """
    loads = _loads(curves)
    columns = min(len(loads), 2)
    rows = -(-len(loads) // columns)
    with rc_context(drawing.STYLE):
        figure = Drawing(0.3 + (1.8 if columns == 1 else 1.25) * rows)
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for ax, load in zip(axes.ravel(), loads, strict=False):
            for style, curve in _styled(curves, load):
                times, share, half, unfinished = _distribution(curve)
                look = drawing.line(style)
                label = curve.label + (_unfinished(unfinished) if len(loads) == 1 else "")
                ax.step(times, share, where="post", label=label, **look)
                if np.isfinite(half).any():
                    low, high = np.clip(share - half, 0, 1), np.clip(share + half, 0, 1)
                    shade = {"color": look["color"], "alpha": 0.2, "linewidth": 0}
                    ax.fill_between(times, low, high, step="post", **shade)
            drawing.log_sizes(ax, "s")
            ax.set(ylim=(0, 1.02), title=_load_title(load))
            ax.set_yticks(*SHARES)  # chosen ones change when the layout is done
        for ax in axes.ravel()[len(loads) :]:
            ax.set_axis_off()
        for row in axes:
            row[0].set_ylabel("share of flows")
        for ax in axes.ravel()[max(len(loads) - columns, 0) : len(loads)]:
            ax.set_xlabel("FCT")
            ax.tick_params(labelbottom=True)
        figure.furnish(axes[0][0], caption)
    return figure


def _distribution(
    curve: Curve,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]:
    """Times, shares of flows that took at most so long, half-widths of 95% intervals, unfinished.

    The first three have the shape (steps,); a half-width is NaN with one seed. The last is a count.
    """
    seeds = [seed for seed in curve.measured("fct_s", "finished") if len(seed)]
    finished = [np.sort(seed.filter("finished")["fct_s"].to_numpy()) for seed in seeds]
    every = np.sort(np.concatenate([*finished, np.empty(0)]))
    # As many steps as can be seen; the first and the last are among them.
    shown = np.unique(np.linspace(0, len(every) - 1, MOST_STEPS).astype(np.int64))
    times = every[shown[: len(every)]]
    shares = [
        np.searchsorted(there, times, side="right") / len(seed)
        for there, seed in zip(finished, seeds, strict=True)
    ]
    half = np.full(len(times), np.nan)
    if len(shares) > 1:
        half = np.std(shares, axis=0, ddof=1) * intervals.half_width(len(shares), 0.95)
    mean = np.mean(shares, axis=0) if shares else times
    return times, mean, half, sum(map(len, seeds)) - len(every)


def slowdown_by_size(curves: Sequence[Curve], caption: str) -> Drawing:
    """Average and 99th percentile of the slowdown against flow size; one row per load.

    Each point stands for the same number of flows of neighbouring size, drawn at their
    median size. Over several seeds it is the mean of the seeds' values, with its 95% t interval.
    Hollow points are lower bounds: flows that had not finished could raise them.

    Args:
        curves: what to draw.
        caption: below.
    """
    loads = _loads(curves)
    with rc_context(drawing.STYLE):
        figure = Drawing(0.35 + (1.5 if len(loads) == 1 else 1.15) * len(loads))
        rows = figure.subplots(len(loads), 2, sharex=True, sharey="row", squeeze=False)
        for axes, load in zip(rows, loads, strict=True):
            for style, curve in _styled(curves, load):
                flows = curve.measured("size_bytes", "slowdown", "finished")
                sizes, average, p99, *bounds, half, half_p99 = _binned(flows)
                unfinished = sum(f.filter(~pl.col("finished")).height for f in flows)
                label = curve.label + (_unfinished(unfinished) if len(loads) == 1 else "")
                for ax, values, halves, bound in (
                    (axes[0], average, half, bounds[0]),
                    (axes[1], p99, half_p99, bounds[1]),
                ):
                    known = np.where(bound, np.nan, halves)
                    drawing.estimates(ax, sizes, values, known, bound > 0, style, label)
            for ax in axes:
                drawing.log_sizes(ax, "B")
            drawing.log_values(axes, "slowdown")
            axes[0].set_ylabel("\n".join(filter(None, (_load_title(load), "slowdown"))))
        for ax, statistic in zip(rows[0], ("average", "99th percentile"), strict=True):
            ax.set_title(statistic)
        for ax in rows[-1]:
            ax.set_xlabel("flow size")
        figure.furnish(rows[0][0], caption)
    return figure


def mapping_over_time(series: pl.DataFrame, title: str) -> Drawing:
    """The mapping from tags to queues over time, one panel per port; busiest ports first.

    Args:
        series: `port_series.parquet` of ports whose queues take tags up to a threshold.
        title: of the figure.
    """
    ports = _busiest(series)
    cuts = series.filter(pl.col("up_to").is_not_null())
    few = cuts["up_to"].min() in range(100)  # near zero every value counts
    with rc_context(STYLE):
        figure = Drawing(figsize=(8.6, 0.8 + 2.1 * len(ports)))
        axes = figure.subplots(len(ports), 1, sharex=True, squeeze=False)[:, 0]
        for ax, port in zip(axes, ports, strict=True):
            here = cuts.filter(pl.col("port") == port)
            for queue, rows in here.sort("time_s").group_by("queue", maintain_order=True):
                style = int(str(queue[0]))
                look = {"color": COLOURS[style % len(COLOURS)], "label": f"queue {style} up to"}
                ax.step(rows["time_s"], rows["up_to"], where="post", **look)
            if few:
                ax.set_yscale("symlog", linthresh=1)
                ax.set_ylim(bottom=0)
            else:
                ax.set_yscale("log")
            ax.set(ylabel="tag", title=port)
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            ax.yaxis.set_minor_formatter(NullFormatter())
        axes[-1].xaxis.set_major_formatter(EngFormatter(unit="s"))
        axes[-1].set_xlabel("time")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", fontsize=8)
        figure.suptitle(title, fontsize=11)
    return figure


def state_over_time(series: pl.DataFrame, title: str) -> Drawing:
    """The memory of ports whose queues remember packets that have left; busiest ports first.

    Args:
        series: `port_series.parquet`.
        title: of the figure.
    """
    with rc_context(STYLE):
        figure = Drawing(figsize=(8.6, 3.2))
        ax = figure.subplots()
        for style, port in enumerate(_busiest(series)):
            here = series.filter(pl.col("port") == port, pl.col("queue") == 0).sort("time_s")
            look: dict[str, Any] = {"color": COLOURS[style % len(COLOURS)], "label": port}
            ax.step(here["time_s"], here["state_bytes"], where="post", **look)
        ax.set_ylim(bottom=0)
        ax.set(xlabel="time", ylabel="memory")
        ax.xaxis.set_major_formatter(EngFormatter(unit="s"))
        ax.yaxis.set_major_formatter(EngFormatter(unit="B"))
        figure.legend(loc="outside right upper", fontsize=8)
        figure.suptitle(title, fontsize=11)
    return figure


def _busiest(series: pl.DataFrame) -> list[str]:
    """The ports with the most packets, at most `MOST_PORTS` of them."""
    packets = series.group_by("port").agg(pl.col("packets").sum()).sort("packets", "port")
    ports: list[str] = packets["port"].to_list()[: -MOST_PORTS - 1 : -1]
    return ports


def _binned(
    seeds: list[pl.DataFrame],
) -> NDArray[np.float64]:
    """Median size, average slowdown, p99, whether these are lower bounds, half-widths of both.

    Shape (7, bins); a half-width is NaN with one seed.
    """
    sizes = np.sort(np.concatenate([s["size_bytes"].to_numpy() for s in seeds]))
    if len(sizes) == 0:
        return np.empty((7, 0))
    bins = int(np.clip(len(sizes) // (FLOWS_PER_BIN * len(seeds)), 1, MOST_BINS))
    # Upper ends of equally full bins; an often-used size makes neighbours coincide.
    ends = np.unique(sizes[np.arange(1, bins + 1) * len(sizes) // bins - 1])
    points = []
    for low, high in zip(np.concatenate(([-1], ends[:-1])), ends, strict=True):
        inside = [
            s.filter((pl.col("size_bytes") > low) & (pl.col("size_bytes") <= high)) for s in seeds
        ]
        inside = [i for i in inside if len(i)]
        slowdowns = [i["slowdown"].to_numpy() for i in inside]
        averages = [float(i.mean()) for i in slowdowns]
        p99s = [float(np.percentile(i, 99, method="inverted_cdf")) for i in slowdowns]
        points.append(
            (
                np.median(sizes[(sizes > low) & (sizes <= high)]),
                np.mean(averages),
                np.mean(p99s),
                not all(i["finished"].all() for i in inside),
                any(_is_bound(i, p99, 0.99) for i, p99 in zip(inside, p99s, strict=True)),
                _half_width(averages),
                _half_width(p99s),
            )
        )
    return np.array(points, dtype=np.float64).T


def _half_width(values: Sequence[float]) -> float:
    """Of the 95% t interval of the mean; NaN with one value."""
    if len(values) < 2:
        return math.nan
    return float(np.std(values, ddof=1)) * intervals.half_width(len(values), 0.95)


def _is_bound(flows: pl.DataFrame, value: float, share: float) -> bool:
    """Whether unfinished flows could move a percentile of the slowdown."""
    # They could not where as many finished flows as its rank have no larger one.
    known = flows.filter(pl.col("finished") & (pl.col("slowdown") <= value))
    return len(known) < math.ceil(share * len(flows) * (1 - 1e-15))


def _unfinished(flows: int) -> str:
    return f" ({flows:,} unfinished)" if flows else ""


def _loads(curves: Sequence[Curve]) -> list[float | None]:
    return list(dict.fromkeys(curve.load for curve in curves))


def _load_title(load: float | None) -> str:
    return "" if load is None else f"load {load:g}"


def _styled(curves: Sequence[Curve], load: float | None) -> list[tuple[int, Curve]]:
    """The curves of a load, each with its number: a scheme looks the same in every panel."""
    return list(enumerate(curve for curve in curves if curve.load == load))
