"""A class of flows at packet level and in the model: p99s by size, and the mean of long flows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BDP_BYTES = 125_000
LONG_BYTES = 1_000_000
BINS = 10
LEAST = 1_000
"""Flows in a size bin that counts: 10 are beyond the p99."""


@dataclass(frozen=True)
class Compared:
    """A class at packet level and in the model. Arrays by the name of a set, and ``"packet"``."""

    largest: NDArray[np.float64]
    """Of each size bin, in bytes."""
    flows: NDArray[np.int64]
    """In each bin."""
    p99: Mapping[str, NDArray[np.float64]]
    """Slowdown in each bin."""
    long: int
    """Flows above `LONG_BYTES`."""
    mean: Mapping[str, float]
    """Their mean slowdown; NaN without any."""

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Compared:
        """From its plain form."""
        means = {k: math.nan if v is None else float(v) for k, v in record["mean"].items()}
        p99 = {k: np.array(v) for k, v in record["p99"].items()}
        largest, flows = np.array(record["largest"]), np.array(record["flows"])
        return cls(largest, flows, p99, record["long"], means)

    def record(self) -> dict[str, Any]:
        """Its plain form."""
        return {
            "largest": self.largest.tolist(),
            "flows": self.flows.tolist(),
            "p99": {k: v.tolist() for k, v in self.p99.items()},
            "long": self.long,
            "mean": {k: None if math.isnan(v) else v for k, v in self.mean.items()},
        }

    def errors(self, which: str) -> NDArray[np.float64]:
        """How far off the model is, as a share, in the bins up to a BDP that count."""
        chosen = (self.largest <= BDP_BYTES) & (self.flows >= LEAST)
        ratios = self.p99[which] / self.p99["packet"]
        found: NDArray[np.float64] = ratios[chosen] - 1
        return found

    def long_ratio(self, which: str) -> float:
        """Mean slowdown of long flows, model over packet engine."""
        return self.mean[which] / self.mean["packet"]


def compare(sizes: NDArray[np.float64], slowdowns: Mapping[str, NDArray[np.float64]]) -> Compared:
    """Cut flows into size bins with as many flows each as ties allow."""
    shares = np.linspace(0, 1, BINS + 1)[1:]
    largest = np.unique(np.quantile(sizes, shares, method="inverted_cdf"))
    bins = np.searchsorted(largest, sizes)
    inside = [bins == k for k in range(len(largest))]
    long = sizes > LONG_BYTES

    def p99(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([np.quantile(values[i], 0.99, method="inverted_cdf") for i in inside])

    return Compared(
        largest,
        np.array([i.sum() for i in inside]),
        {name: p99(values) for name, values in slowdowns.items()},
        int(long.sum()),
        {k: float(v[long].mean()) if long.any() else math.nan for k, v in slowdowns.items()},
    )
