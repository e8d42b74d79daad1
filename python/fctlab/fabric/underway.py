"""Flows that are under way when a window of a log begins: what is left of them.

A flow is taken for one that sends evenly from its start to its end, as the log has them. All at
once they would be a burst that never was. So they go on one by one, spread over the part of the
window that is not measured, each with what is left of it by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fctlab.fabric.cutting import WARMUP, Cut

if TYPE_CHECKING:
    import polars as pl


def resumed(flows: pl.DataFrame, cut: Cut, seed: int) -> pl.DataFrame:
    """What is left of flows that began before a window and ended in it or later.

    Args:
        flows: of the log, with ``start_s``, ``duration_s`` (or null), ``bytes`` and ``weight``.
        cut: the window.
        seed: of what is drawn: records of weight w stand for w such flows.

    Returns:
        The same columns, starts from the window's beginning on; the log does not say how long
        what is left took.
    """
    import polars as pl

    end_s = pl.col("start_s") + pl.col("duration_s")
    before = flows.filter((pl.col("start_s") < cut.begin_s) & (end_s > cut.begin_s))
    weight = before["weight"].to_numpy()
    times = np.floor(weight + np.random.default_rng(seed).random(len(weight))).astype(np.int64)
    before = before[np.repeat(np.arange(len(before)), times)]
    goes_on = cut.length_s * WARMUP * (pl.int_range(pl.len()) / pl.len())
    left = (end_s - cut.begin_s - goes_on) / pl.col("duration_s")
    return (
        before.with_columns(
            start_s=goes_on,
            bytes=(pl.col("bytes") * left).ceil().cast(flows.schema["bytes"]),
            duration_s=pl.lit(None, pl.Float64),
            weight=pl.lit(1.0),
        )
        .filter(pl.col("bytes") >= 1)
        .sort("start_s", maintain_order=True)
    )
