"""SLIs with intervals and verdicts, from the flows of windows and what the engine may be off by."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fctlab import _native
from fctlab.fabric.asked import Asked
from fctlab.fabric.types import ClassFound, Error, Pair, Rack
from fctlab.fabric.windows import Windows

if TYPE_CHECKING:
    import polars as pl

LEAST_FLOWS = 1000
"""Behind the p99 of a pair of racks."""
VERIFY = "verify on packets (--verify)"


def judge(
    asked: Asked,
    windows: Windows,
    errors: Sequence[Error] = (),
    *,
    look: int = 1,
    chosen: pl.DataFrame | None = None,
) -> tuple[ClassFound, ...]:
    """What became of each class.

    Args:
        asked: the scenario.
        windows: its flows.
        errors: what the engine may be off by, as `accuracy.errors` has it; nothing for packets.
        look: how often these have been looked at until something was decided.
        chosen: these flows of the windows alone.
    """
    question = {
        "classes": list(_classes(asked, windows, errors)),
        "until": float(len(windows.seeds)),
        "look": look,
    }
    found = json.loads(_native.judge_fabric(json.dumps(question), windows.table(chosen)))
    return tuple(map(ClassFound.read, found))


def _classes(asked: Asked, windows: Windows, errors: Sequence[Error]) -> Iterator[dict[str, Any]]:
    of = {(each.traffic_class, each.sli): each for each in errors}
    for each in asked.classes:
        own = [of.get((each.name, sli["name"])) for sli in each.slis]
        open_ = next((f"{error.open}: {VERIFY}" for error in own if error and error.open), None)
        if windows.unfinished:
            open_ = f"{windows.unfinished:,} flows had not finished when measure.max_time ended it"
        yield {
            "name": each.name,
            "slis": each.slis,
            "slo": each.slo,
            "errors": [(error.low, error.high) if error else (1.0, 1.0) for error in own],
            "open": open_,
        }


def worst_loss(classes: Sequence[ClassFound]) -> float | None:
    """The largest loss of a class, what the engine may be off by included."""
    losses = [each.worst_loss for each in classes if each.verdict is not None]
    if not losses or None in losses:
        return None
    return max(loss for loss in losses if loss is not None)


def racks(
    asked: Asked, windows: Windows, errors: Sequence[Error], look: int = 1
) -> tuple[Rack, ...]:
    """The same of flows that start or end in each rack."""
    import polars as pl

    ends = [_rack(asked, name) for name in ("src", "dst")]
    placed = windows.flows.with_columns(*ends)
    return tuple(
        Rack(
            name=name,
            classes=judge(
                asked,
                windows,
                errors,
                look=look,
                chosen=placed.filter((pl.col("src_rack") == i) | (pl.col("dst_rack") == i)),
            ),
        )
        for i, name in enumerate(asked.racks)
    )


def _rack(asked: Asked, end: str) -> pl.Expr:
    import polars as pl

    hosts = range(len(asked.rack_of))
    rack = pl.col(end).replace_strict(hosts, asked.rack_of, return_dtype=pl.UInt32)
    return rack.alias(f"{end}_rack")


def pairs(asked: Asked, windows: Windows) -> tuple[Pair, ...]:
    """Slowdowns from rack to rack."""
    import numpy as np
    import polars as pl

    keys = ["src_rack", "dst_rack", "class"]
    placed = windows.flows.with_columns(*(_rack(asked, name) for name in ("src", "dst")))
    # Sums of numpy are the same ones on any number of threads.
    table = placed.group_by(keys).agg(pl.col("slowdown").sort()).sort(keys)
    found = []
    for source, destination, number, listed in table.iter_rows():
        slowdown = np.asarray(listed)
        count = len(slowdown)
        nearest = slowdown[math.ceil(0.99 * count) - 1]
        found.append(
            Pair(
                source=asked.racks[source],
                destination=asked.racks[destination],
                traffic_class=asked.classes[number].name,
                flows=count,
                mean=float(slowdown.mean()),
                p50=float(slowdown[math.ceil(0.5 * count) - 1]),
                p99=float(nearest) if count >= LEAST_FLOWS else None,
            )
        )
    return tuple(found)
