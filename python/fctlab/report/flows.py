"""Flows of runs, thinned to what can be seen: distributions, and metrics against flow size.

Ten million flows and a thousand make curves of the same length. Flows are counted by polars
as they are read, in bins so narrow that a screen does not tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fctlab import intervals
from fctlab.formats import count
from fctlab.report.charts import Series, rounded
from fctlab.results.words import LARGEST_BYTES

BINS_PER_DECADE = 100
"""Of a time or a slowdown: 2.3% wide."""
FLOWS_PER_BIN = 200
"""Flows of a seed behind one point against size, at least: a p99 needs them."""
MOST_BINS = 20
"""Points of a line against size."""
MOST_NUMBERS = 400_000
"""Of all distributions of a page."""
MOST_POINTS = 300
FEWEST_POINTS = 12
"""Of one distribution."""

METRICS = ("fct_s", "slowdown")
SMALLEST_S = 1e-12
ALL = "all"


@dataclass(frozen=True)
class Curve:
    """The flows of one scheme at one load.

    Attributes:
        keys: of its series.
        frames: one per seed (columns: `fctlab.Result.flows`).
    """

    keys: Mapping[str, str]
    frames: Sequence[pl.LazyFrame]


def _size_class() -> pl.Expr:
    size = pl.col("size_bytes")
    classes = LARGEST_BYTES.items()
    fits = [pl.when(size <= end).then(pl.lit(name)) for name, end in classes if end is not None]
    return pl.coalesce(*fits, *(pl.lit(name) for name, end in classes if end is None))


def distributions(curves: Sequence[Curve], traffic: Sequence[str]) -> list[Series]:
    """Distributions of completion times and slowdowns, by size and traffic class, seeds pooled.

    A point is exact: so many flows took at most so long. Flows that had not finished count,
    without a time: with them a line ends below 1.

    Args:
        curves: whose.
        traffic: names of traffic classes; ``"all"`` is one.

    Returns:
        A series per curve with the keys ``metric``, ``size`` and ``traffic``.
    """
    lines = len(curves) * len(METRICS) * 4 * len(traffic)
    points = int(np.clip(MOST_NUMBERS // (2 * max(lines, 1)), FEWEST_POINTS, MOST_POINTS))
    found = []
    for curve in curves:
        for metric in METRICS:
            counts = _counts(curve.frames, metric)
            for name in traffic:
                for size in (ALL, "small", "medium", "large"):
                    here = counts
                    if name != ALL:
                        here = here.filter(pl.col("traffic_class") == name)
                    if size != ALL:
                        here = here.filter(pl.col("size") == size)
                    if len(here):
                        keys = {**curve.keys, "metric": metric, "size": size, "traffic": name}
                        found.append(_distribution(here, keys, points))
    return found


def _counts(frames: Sequence[pl.LazyFrame], metric: str) -> pl.DataFrame:
    """Flows by size, traffic class and bin of a metric; null for those that had not finished."""
    logs = pl.col(metric).clip(lower_bound=SMALLEST_S).log10() * BINS_PER_DECADE
    # What lies on an upper end is inside, however its logarithm is rounded.
    bins = (logs - 1e-9).ceil().cast(pl.Int32)
    counted = [
        frame.filter("measured")
        .select(
            "traffic_class",
            _size_class().alias("size"),
            pl.when("finished").then(bins).alias("bin"),
        )
        .group_by("traffic_class", "size", "bin")
        .len()
        .collect(engine="streaming")
        for frame in frames
    ]
    return pl.concat(counted).group_by("traffic_class", "size", "bin").agg(pl.col("len").sum())


def _distribution(counts: pl.DataFrame, keys: Mapping[str, str], points: int) -> Series:
    total = int(counts["len"].sum())
    done = counts.drop_nulls("bin").group_by("bin").agg(pl.col("len").sum()).sort("bin")
    ends = 10.0 ** (done["bin"].to_numpy() / BINS_PER_DECADE)
    shares = np.cumsum(done["len"].to_numpy()) / total
    shown = _spread(shares, points)
    missing = total - int(done["len"].sum())
    label = f" ({missing:,} unfinished)" if missing else ""
    return Series(keys, rounded(ends[shown]), rounded(shares[shown], 6), label=label)


def _spread(shares: NDArray[np.float64], points: int) -> NDArray[np.int64]:
    """Which points of a distribution to show: half of them in its last tenth."""
    if len(shares) <= points:
        return np.arange(len(shares))
    body = np.linspace(0, 0.9, points // 2)
    tail = 1 - np.geomspace(0.1, 1e-6, points - points // 2 - 1)
    wanted = np.searchsorted(shares, np.concatenate((body, tail)))
    return np.unique(np.append(np.minimum(wanted, len(shares) - 1), len(shares) - 1))


def against_size(curves: Sequence[Curve], traffic: Sequence[str]) -> list[Series]:
    """Averages and 99th percentiles in bins of flow size, with 95% intervals over the seeds.

    Args:
        curves: at one load, which have the same flows.
        traffic: names of traffic classes; ``"all"`` is one.

    Returns:
        A series per curve with the keys ``metric``, ``statistic`` and ``traffic``.
    """
    edges = _edges(curves[0].frames)
    found = []
    for curve in curves:
        seeds = [_binned(frame, edges) for frame in curve.frames]
        means = _over_seeds(seeds)
        for name in traffic:
            here = means.filter(pl.col("traffic_class") == name).sort("bin")
            for metric in METRICS:
                for statistic in ("p99", "avg") if len(here) else ():
                    keys = {"metric": metric, "statistic": statistic, "traffic": name}
                    found.append(_by_size(here, {**curve.keys, **keys}))
    return found


def _edges(frames: Sequence[pl.LazyFrame]) -> list[int]:
    """Upper ends of about equally full bins of size; the last one has no end."""
    sizes = pl.concat([frame.filter("measured").select("size_bytes") for frame in frames])
    flows = int(sizes.select(pl.len()).collect(engine="streaming").item())
    bins = int(np.clip(flows // (FLOWS_PER_BIN * len(frames)), 1, MOST_BINS))
    ends = [
        pl.col("size_bytes").quantile(k / bins, "equiprobable").alias(str(k))
        for k in range(1, bins)
    ]
    if not ends:
        return []
    return sorted({int(end) for end in sizes.select(ends).collect(engine="streaming").row(0)})


def _binned(frame: pl.LazyFrame, edges: Sequence[int]) -> pl.DataFrame:
    """Of one run: metrics in each bin of size, of each traffic class and of all."""
    bins = pl.lit(0, pl.Int32)
    for end in edges:
        bins += (pl.col("size_bytes") > end).cast(pl.Int32)
    flows = frame.filter("measured").with_columns(bins.alias("bin"))
    columns = [pl.len().alias("flows"), pl.col("size_bytes").median().alias("size")]
    columns.append((~pl.col("finished")).any().alias("avg_open"))
    for metric in METRICS:
        p99 = pl.col(metric).quantile(0.99, "equiprobable")
        # As many finished flows as its rank with no larger value, or it could still rise.
        known = (pl.col("finished") & (pl.col(metric) <= p99)).sum()
        rank = (0.99 * pl.len() * (1 - 1e-15)).ceil()
        columns += [pl.col(metric).mean().alias(f"avg_{metric}"), p99.alias(f"p99_{metric}")]
        columns.append((known < rank).alias(f"p99_open_{metric}"))
    by_class = flows.group_by("traffic_class", "bin").agg(columns)
    of_all = flows.group_by("bin").agg(columns).with_columns(pl.lit(ALL).alias("traffic_class"))
    frames = pl.collect_all([by_class, of_all])
    return pl.concat(frames, how="diagonal")


def _over_seeds(seeds: Sequence[pl.DataFrame]) -> pl.DataFrame:
    columns = [pl.col("flows").sum(), pl.col("size").mean(), pl.col("^.*open.*$").any()]
    for metric in METRICS:
        for statistic in ("avg", "p99"):
            values = pl.col(f"{statistic}_{metric}")
            half = intervals.of_mean(values, len(seeds)).alias(f"{statistic}_{metric}_ci95")
            columns += [values.mean(), half]
    return pl.concat(seeds).group_by("traffic_class", "bin").agg(columns)


def _by_size(rows: pl.DataFrame, keys: Mapping[str, str]) -> Series:
    name = f"{keys['statistic']}_{keys['metric']}"
    values, halves = rows[name].to_list(), rows[f"{name}_ci95"].to_list()
    bounds = "avg_open" if keys["statistic"] == "avg" else f"p99_open_{keys['metric']}"
    low, high = ends(values, halves)
    return Series(
        keys,
        rounded(rows["size"].to_list()),
        rounded(values),
        low=low,
        high=high,
        open=[i for i, bound in enumerate(rows[bounds].to_list()) if bound],
        notes=[f"{count(flows)} flows" for flows in rows["flows"].to_list()],
    )


def ends(values: Sequence[Any], halves: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Ends of intervals from their middles and half-widths; empty where there is none at all."""
    if all(half is None or math.isnan(half) for half in halves):
        return [], []
    pairs = [
        (math.nan, math.nan) if value is None or half is None else (value, half)
        for value, half in zip(values, halves, strict=True)
    ]
    return rounded(v - h for v, h in pairs), rounded(v + h for v, h in pairs)
