"""Tables of sweeps: a row per point and size class, and means over seeds."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fctlab import intervals
from fctlab.results.comparison import METRICS
from fctlab.results.points import PointStore
from fctlab.sweep.grid import Grid, Kind, show
from fctlab.sweep.running import Run

if TYPE_CHECKING:
    import polars as pl


def load() -> None:
    """Imports what answers and tables need, to be had while points are computed."""
    for needed in ("numpy", "polars"):
        importlib.import_module(needed)


def runs_frame(grid: Grid, runs: Sequence[Run], store: PointStore) -> pl.DataFrame:
    """See `Sweep.points`."""
    import polars as pl

    rows = (row for run in runs for row in _rows(grid, run, store))
    return pl.DataFrame(list(rows), infer_schema_length=None)


def _rows(grid: Grid, run: Run, store: PointStore) -> Iterator[dict[str, Any]]:
    axes = {path: as_cell(value) for path, value in grid.cells[run.cell].settings}
    told = {**axes, "scheme": run.scheme, "seed": run.seed, "key": run.key}
    yield from rows_of(grid.kind, told, store.get(run.key).found)


def rows_of(
    kind: Kind, told: Mapping[str, Any], answer: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Rows of one point.

    Args:
        kind: what was asked about.
        told: axes, ``scheme``, ``seed`` and ``key``, which are in every row.
        answer: of the point.
    """
    if kind == "scenario":
        for row in answer["summary"]:
            yield {**told, **row, "scheme": told["scheme"] or row["scheme"]}
        return
    for each in answer["classes"] if "classes" in answer else answer["plan"]["classes"]:
        for sli in each["slis"]:
            named = {"class": each["name"], "verdict": each["verdict"], "sli": sli["name"]}
            yield {**told, **named, "value": sli["value"]}


def as_cell(value: Any) -> Any:
    """The value of an axis as a cell of a table."""
    return value if isinstance(value, int | float | str | bool) else show(value)


def summary_frame(kind: Kind, axes: Sequence[str], points: pl.DataFrame) -> pl.DataFrame:
    """See `Sweep.summary`."""
    import polars as pl

    most = points["seed"].n_unique()
    if kind == "specification":
        keys = [*axes, "class", "sli"]
        count = pl.len().alias("seeds")
        values = pl.col("value")
        half = intervals.of_mean(values, most).alias("value_ci95")
        return points.group_by(keys, maintain_order=True).agg(count, values.mean(), half)
    keys = [*axes, "scheme", "class", "traffic_class"]
    base = points.filter(pl.col("scheme") == points["scheme"][0])
    pairs = [*axes, "seed", "class", "traffic_class"]
    paired = points.join(
        base, on=pairs, suffix="_base", how="left", nulls_equal=True, maintain_order="left"
    )
    columns = [pl.len().alias("seeds"), pl.col("flows").sum(), pl.col("unfinished").sum()]
    for metric in METRICS:
        known = ~pl.col(f"{metric}_lower_bound").any()
        both = known & ~pl.col(f"{metric}_lower_bound_base").any()
        logs = (pl.col(metric) / pl.col(f"{metric}_base")).log()
        wide = intervals.of_mean(logs, most)
        columns += [
            pl.col(metric).mean(),
            pl.col(f"{metric}_lower_bound").any(),
            pl.when(known).then(intervals.of_mean(pl.col(metric), most)).alias(f"{metric}_ci95"),
            pl.when(both).then(logs.mean().exp()).alias(f"{metric}_ratio"),
            pl.when(both).then((logs.mean() - wide).exp()).alias(f"{metric}_ratio_low"),
            pl.when(both).then((logs.mean() + wide).exp()).alias(f"{metric}_ratio_high"),
        ]
    return paired.group_by(keys, maintain_order=True).agg(columns)
