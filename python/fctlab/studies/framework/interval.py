"""A measured interval after a warm-up, as long as a host takes to start so many flows.

A run that starts empty and drains never has the load that it names. Here flows that start in the
interval are measured, and others go on arriving until these are done.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fctlab import _native

WARMUP = 0.25
"""As a share of the interval."""
AFTER = 0.5
"""Arrivals go on for so much of an interval more at most; what is left then drains."""
PATIENCE = "300s"
"""A run ends then."""


@dataclass(frozen=True)
class Interval:
    """Which flows of a run are measured.

    Attributes:
        per_host: flows that a host starts meanwhile, on average.
    """

    per_host: float

    def length_ms(self, mean_bytes: float, load: float, host_gbps: float) -> float:
        """How long it is, where hosts send flows of so many bytes at a load of their links."""
        return self.per_host * mean_bytes * 8 / (load * host_gbps * 1e6)

    def tables(self, mean_bytes: float, load: float, host_gbps: float) -> dict[str, dict[str, Any]]:
        """Keys of ``[traffic]`` and ``[measure]``."""
        length = self.length_ms(mean_bytes, load, host_gbps)
        return {
            "traffic": {"duration": _ms(length * (WARMUP + 1 + AFTER))},
            "measure": {
                "warmup": _ms(length * WARMUP),
                "window": _ms(length),
                "stop": "measured",
                "max_time": PATIENCE,
            },
        }


def mean_bytes(*workloads: Any) -> float:
    """The mean size of a flow, where workloads have equal shares of the bytes."""
    return len(workloads) / math.fsum(1 / _mean(each) for each in map(json.dumps, workloads))


def mean_of_table(sizes: Sequence[float], shares: Sequence[float]) -> float:
    """The mean of a distribution that is linear between its points."""
    rises = zip(sizes, sizes[1:], shares, shares[1:], strict=False)
    return sizes[0] * shares[0] + math.fsum((b - a) * (x + y) / 2 for x, y, a, b in rises)


@functools.cache
def _mean(workload: str) -> float:
    found: float = json.loads(_native.size_distribution(workload, ""))["mean_bytes"]
    return found


def _ms(value: float) -> str:
    return f"{round(value, 2):.10g}ms"
