"""Clocks of flow logs that were set while the log was written.

Logs are written in order of starts or of ends, give or take what an exporter holds back. A row far
before the one above it says that the clock was set back; a long time without any flow that it was
set forward, or that the log is of two captures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

JUMP_S = 60.0
"""Exporters hold records back for less."""
UNORDERED = 0.01
"""With so many rows out of order a log has no order to jump in."""
EMPTY = 0.5
"""A log that has no flow in so much of its time is two logs."""


def back(start_s: pl.Series, lasts_s: pl.Series | None) -> tuple[int, float] | None:
    """Where a clock was set back: the row, and by how many seconds; ``None`` if it never was.

    Args:
        start_s: starts, in the order of the file.
        lasts_s: from start to end; null where it is not known.
    """
    start = start_s.to_numpy()
    orders = [start]
    if lasts_s is not None:
        orders.append(start + lasts_s.fill_null(0.0).to_numpy())
    found: tuple[int, float] | None = None
    for times in orders:
        steps = -np.diff(times)
        far = int((steps > JUMP_S).sum())
        if far == 0 or far > max(1, UNORDERED * len(times)):
            return None
        row = int(steps.argmax())
        found = found or (row + 1, float(steps[row]))
    return found


def silence(start_s: pl.Series) -> tuple[float, float] | None:
    """The longest time without a start, from and to, if it is most of the log's.

    Args:
        start_s: in order, from 0 on.
    """
    start = start_s.to_numpy()
    if len(start) < 2:
        return None
    gaps = np.diff(start)
    row = int(gaps.argmax())
    if gaps[row] <= max(JUMP_S, EMPTY * start[-1]):
        return None
    return float(start[row]), float(start[row + 1])
