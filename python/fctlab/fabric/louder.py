"""Classes that bring more: of flows that are drawn a higher load, of a trace the same flows faster.

A trace that goes by faster is as bursty as it was. So a class that is louder by a fifth has its
flows in five sixths of the time, and then those that came first once more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fctlab.fabric import windows
from fctlab.fabric.asked import Asked

if TYPE_CHECKING:
    import polars as pl

Changed: TypeAlias = tuple[tuple[str, ...], dict[str, Any]]
"""What was changed, in words, and the tables that have it."""


def drawn(asked: Asked, more: Sequence[float]) -> Changed:
    """Loads of flows that are drawn.

    Args:
        asked: the scenario.
        more: of each class by how much its load rises, as a share of it.
    """
    traffic = dict(asked.tables["traffic"])
    for key in ("load", "share_of"):
        traffic.pop(key, None)
    loads = [round(load * (1 + each), 6) for load, each in zip(asked.loads, more, strict=True)]
    traffic["classes"] = [
        {key: value for key, value in each.items() if key != "share"} | {"load": load}
        for each, load in zip(traffic["classes"], loads, strict=True)
    ]
    names = [each.name for each in asked.classes]
    changes = tuple(f"load of {name}: {load:g}" for name, load in zip(names, loads, strict=True))
    return changes, {**asked.tables, "traffic": traffic}


def replayed(asked: Asked, more: Sequence[float], folder: Path) -> Changed:
    """The first window of a trace, faster.

    Args:
        asked: a scenario with a trace in Parquet.
        more: of each class by how much its load rises, as a share of it.
        folder: where the trace goes.
    """
    import polars as pl

    flows = windows.flows_of(asked.traces[0])
    until_s = float(flows["start_s"].max() or 0.0)  # type: ignore[arg-type]
    named = dict(zip((each.name for each in asked.classes), more, strict=True))
    classes = flows.partition_by("traffic_class", as_dict=True, maintain_order=True)
    made = pl.concat([faster(each, named[str(key[0])], until_s) for key, each in classes.items()])
    folder.mkdir()
    trace = folder / "trace.parquet"
    made.sort("start_s", maintain_order=True).write_parquet(trace)
    changes = tuple(
        f"flows of {name}: {1 + by:g} times as many" for name, by in named.items() if by
    )
    return changes, {**asked.tables, "traffic": {**asked.tables["traffic"], "trace": str(trace)}}


def faster(flows: pl.DataFrame, more: float, until_s: float) -> pl.DataFrame:
    """Flows at a higher pace, and from the beginning again until the window is over.

    Args:
        flows: with ``start_s``.
        more: by how much they are faster: 0.2 for 1.2 times as many.
        until_s: when the window is over.
    """
    import polars as pl

    pace = 1 + more
    rounds = [
        flows.with_columns((pl.col("start_s") + until_s * number) / pace)
        for number in range(math.ceil(pace))
    ]
    return pl.concat(rounds).filter(pl.col("start_s") <= until_s)
