"""What choices cost in settings that were not tried: from all settings around them.

A smooth function of what is known of a setting, with Gaussian kernels: near settings count most,
and what chance did in one of them is evened out by the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.interpolate import RBFInterpolator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

Factors: TypeAlias = "Mapping[str, float | str]"
REACH = 3.0
"""Of a kernel, in standard deviations of a number."""
APART = 2.0
"""How far a setting of another name is, in the same unit, times the root of two."""
CHANCE = 0.2
"""The variance of chance as a share of the kernel's."""


class Smoother:
    """Linear functions of what was found in settings.

    Args:
        factors: of the settings; numbers are above zero and count by ratios.
    """

    def __init__(self, factors: Sequence[Factors]) -> None:
        first = factors[0]
        self._numbers = [key for key, value in first.items() if not isinstance(value, str)]
        self._names = {
            key: sorted({str(each[key]) for each in factors})
            for key, value in first.items()
            if isinstance(value, str)
        }
        logs = self._logs(factors)
        self._mean, self._spread = logs.mean(axis=0), np.maximum(logs.std(axis=0), 1e-9)
        self._weights = RBFInterpolator(
            self._places(factors),
            np.eye(len(factors)),
            kernel="gaussian",
            epsilon=1 / (np.sqrt(2) * REACH),
            smoothing=CHANCE,
            degree=0,
        )

    def weights(self, factors: Sequence[Factors]) -> Array:
        """What each known setting counts in others: a row for each of those."""
        found: Array = self._weights(self._places(factors))
        return found

    def _logs(self, factors: Sequence[Factors]) -> Array:
        return np.log([[float(each[key]) for key in self._numbers] for each in factors])

    def _places(self, factors: Sequence[Factors]) -> Array:
        numbers = (self._logs(factors) - self._mean) / self._spread
        names = [
            [APART * (each[key] == name) for key, known in self._names.items() for name in known]
            for each in factors
        ]
        return np.hstack([numbers, np.array(names, dtype=float).reshape(len(factors), -1)])


def left_out(own: Array, found: Array) -> Array:
    """What is predicted of each setting from all others.

    Args:
        own: what settings count in each other, see `Smoother.weights`.
        found: in each.
    """
    itself = np.diag(own)[:, None]
    predicted: Array = (own @ found - itself * found) / (1 - itself)
    return predicted
