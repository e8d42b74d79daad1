"""Figures: completion times and slowdowns of one or several schemes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

from fctlab.results.colours import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
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
MOST_STEPS = 20_000
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


def fct_cdf(curves: Sequence[Curve], title: str, pooled: str = "") -> Figure:
    """Cumulative distribution of completion times; one panel per load, one line per scheme.

    Seeds are pooled. Flows that had not finished count, without a completion time: with
    them a line ends below 1, and its label says how many they are.

    Args:
        curves: what to draw.
        title: of the figure.
        pooled: what several frames of a curve are, such as ``"3 seeds"``.
    """
    loads = _loads(curves)
    with rc_context(STYLE):
        figure = Figure(figsize=(1.4 + 4.4 * len(loads), 3.8), layout="constrained")
        axes = figure.subplots(1, len(loads), sharey=True, squeeze=False)[0]
        for ax, load in zip(axes, loads, strict=True):
            for style, curve in _styled(curves, load):
                flows = pl.concat(curve.measured("fct_s", "finished"))
                times = np.sort(flows.filter("finished")["fct_s"].to_numpy())
                # As many steps as can be seen; the first and the last are among them.
                shown = np.unique(np.linspace(0, len(times) - 1, MOST_STEPS).astype(np.int64))
                shown = shown[: len(times)]
                share = (shown + 1) / max(len(flows), 1)
                label = curve.label + _unfinished(len(flows) - len(times))
                ax.step(times[shown], share, where="post", label=label, **_line(style))
            _log_axis(ax, "s")
            ax.set(xlabel="flow completion time", ylim=(0, 1.02), title=_load_title(load))
        axes[0].set_ylabel("share of flows" + (f" ({pooled} pooled)" if pooled else ""))
        _finish(figure, axes[-1], title)
    return figure


def slowdown_by_size(curves: Sequence[Curve], title: str) -> Figure:
    """Average and 99th percentile of the slowdown against flow size; one row per load.

    Each point stands for the same number of flows of neighbouring size, drawn at their
    median size. Over several seeds it is the mean of the seeds' values. Hollow points are lower
    bounds: flows that had not finished could raise them.
    """
    loads = _loads(curves)
    with rc_context(STYLE):
        figure = Figure(figsize=(8.6, 0.6 + 3.3 * len(loads)), layout="constrained")
        rows = figure.subplots(len(loads), 2, sharex=True, squeeze=False)
        lower = False
        for (left, right), load in zip(rows, loads, strict=True):
            for style, curve in _styled(curves, load):
                flows = curve.measured("size_bytes", "slowdown", "finished")
                sizes, average, p99, *bounds = _binned(flows)
                look = _line(style) | {"marker": MARKERS[style % len(MARKERS)], "markersize": 4}
                hollow = look | {"linestyle": "none", "markerfacecolor": "white"}
                label = curve.label + _unfinished(
                    sum(f.filter(~pl.col("finished")).height for f in flows)
                )
                for ax, values, bound in ((left, average, bounds[0]), (right, p99, bounds[1])):
                    ax.plot(sizes, values, label=label, **look)
                    if len(at := np.flatnonzero(bound)):
                        ax.plot(sizes[at], values[at], **hollow)
                        lower = True
            for ax, statistic in ((left, "average"), (right, "99th percentile")):
                _log_axis(ax, "B")
                _slowdown_axis(ax)
                ax.set_title(", ".join(filter(None, (statistic, _load_title(load)))))
            left.set_ylabel("slowdown (FCT / ideal)")
        for ax in rows[-1]:
            ax.set_xlabel("flow size")
        if lower:
            title = f"{title}\nhollow: at least (flows unfinished)".strip()
        _finish(figure, rows[0][0], title)
    return figure


def mapping_over_time(series: pl.DataFrame, title: str) -> Figure:
    """The mapping from tags to queues over time, one panel per port; busiest ports first.

    Args:
        series: `port_series.parquet` of ports whose queues take tags up to a threshold.
        title: of the figure.
    """
    ports = _busiest(series)
    cuts = series.filter(pl.col("up_to").is_not_null())
    few = cuts["up_to"].min() in range(100)  # near zero every value counts
    with rc_context(STYLE):
        figure = Figure(figsize=(8.6, 0.8 + 2.1 * len(ports)), layout="constrained")
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


def state_over_time(series: pl.DataFrame, title: str) -> Figure:
    """The memory of ports whose queues remember packets that have left; busiest ports first.

    Args:
        series: `port_series.parquet`.
        title: of the figure.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(8.6, 3.2), layout="constrained")
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
    """Of each bin: median size, average slowdown, its p99, and whether these are lower bounds."""
    sizes = np.sort(np.concatenate([s["size_bytes"].to_numpy() for s in seeds]))
    if len(sizes) == 0:
        return np.empty((5, 0))
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
        p99s = [float(np.percentile(i, 99, method="inverted_cdf")) for i in slowdowns]
        points.append(
            (
                np.median(sizes[(sizes > low) & (sizes <= high)]),
                np.mean([i.mean() for i in slowdowns]),
                np.mean(p99s),
                not all(i["finished"].all() for i in inside),
                any(_is_bound(i, p99, 0.99) for i, p99 in zip(inside, p99s, strict=True)),
            )
        )
    return np.array(points, dtype=np.float64).T


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


def _line(style: int) -> dict[str, str]:
    return {"color": COLOURS[style % len(COLOURS)], "linestyle": LINES[style % len(LINES)]}


def _log_axis(ax: Axes, unit: str) -> None:
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(EngFormatter(unit=unit))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _slowdown_axis(ax: Axes) -> None:
    ax.set_yscale("log")
    ax.set_ylim(bottom=1)
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _finish(figure: Figure, legend: Axes, title: str) -> None:
    legend.legend()
    if title:
        figure.suptitle(title, fontsize=11)
