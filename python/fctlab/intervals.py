"""Intervals of means: the one place that knows Student's t."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fctlab import _native

if TYPE_CHECKING:
    import polars as pl


def half_width(count: int, confidence: float) -> float:
    """Half-width of the t interval of a mean, in standard deviations of one value.

    Args:
        count: of values, at least 2.
        confidence: such as 0.95.
    """
    # The engine's, and not SciPy's, whose import takes as long as a small run.
    return _native.student_t((1 + confidence) / 2, count - 1) / math.sqrt(count)


def of_mean(values: pl.Expr, most: int) -> pl.Expr:
    """Half-width of the 95% t interval of the mean of a column; null with one value.

    Args:
        values: the column, in each group of which it is asked for.
        most: values in a group.
    """
    import polars as pl

    widths = {n: half_width(n, 0.95) if n > 1 else None for n in range(most + 1)}
    return values.std() * values.count().replace_strict(widths, return_dtype=pl.Float64)
