"""Intervals of means: the one place that knows Student's t."""

from __future__ import annotations

import math


def half_width(count: int, confidence: float) -> float:
    """Half-width of the t interval of a mean, in standard deviations of one value.

    Args:
        count: of values, at least 2.
        confidence: such as 0.95.
    """
    from scipy.special import stdtrit

    quantile = float(stdtrit(count - 1, (1 + confidence) / 2))
    return quantile / math.sqrt(count)
