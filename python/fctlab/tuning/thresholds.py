"""Demotion thresholds, computed from a workload's flow sizes.

PIAS (Bai et al., NSDI 2015, section 4.1; ToN 25(4), 2017): a flow of size s passes through the
queues whose thresholds are below s, and waits once in each. With F the distribution of sizes, L
the load and G(a) = E[min(S, a)], queue m serves the bytes between its thresholds at what the
queues before it leave, so that an M/M/1 queue there delays by T_m = 1 / (mu_m - lambda_m), in
units of the link's mean service time. The objective is the mean over flows of the sum of T_m.

Since mu_{m+1} = mu_m - lambda_m, all that the queues up to m serve is L G(a_m) / E[S], so T_m =
1 / (1 - L G(a_m) / E[S]) depends on its own threshold only, and the objective is

    sum over m of  (1 - F(a_{m-1})) / (1 - L G(a_m) / E[S]),  a_0 = 0, a_n = infinity:

a chain, whose optimum dynamic programming finds on a grid of sizes without any start to depend
on; a local search then leaves the grid.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fctlab import _native
from fctlab.errors import SpecError
from fctlab.tuning.types import Thresholds

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAYLOAD_BYTES = 1460
GRID = 1500


class Sizes:
    """A flow-size distribution, with what queues up to a threshold see of it."""

    def __init__(self, workload: str | dict[str, Any], folder: str | Path = ".") -> None:
        found = json.loads(_native.size_distribution(json.dumps(workload), folder))
        sizes, shares = (np.array(found[k], float) for k in ("sizes_bytes", "probabilities"))
        if found["interpolation"] == "step":
            # A jump at each size: the probability just below it, and at it.
            shares = np.column_stack((np.concatenate(([0.0], shares[:-1])), shares)).ravel()
            sizes = np.repeat(sizes, 2)
        self._set(np.concatenate(([0.0, sizes[0]], sizes)), np.concatenate(([0.0, 0.0], shares)))

    def _set(self, sizes: NDArray[np.float64], shares: NDArray[np.float64]) -> None:
        self.sizes, self.shares = sizes, shares
        rest = 1 - (shares[1:] + shares[:-1]) / 2
        self._work = np.concatenate(([0.0], np.cumsum(rest * np.diff(sizes))))

    @classmethod
    def mixed(cls, parts: Sequence[Sizes]) -> Sizes:
        """Of all flows together when each of `parts` has the same share of the bytes."""
        # A byte below every point as well, so that jumps stay jumps.
        points = np.concatenate([part.sizes for part in parts])
        sizes = np.unique(np.concatenate((points, np.clip(points - 1, 0, None))))
        rates = [1 / part.mean for part in parts]
        flows = [rate * part.share_up_to(sizes) for rate, part in zip(rates, parts, strict=True)]
        mix = cls.__new__(cls)
        mix._set(sizes, np.sum(flows, axis=0) / sum(rates))
        return mix

    @property
    def mean(self) -> float:
        """Mean size in bytes."""
        return float(self._work[-1])

    @property
    def largest(self) -> float:
        """The largest size in bytes."""
        return float(self.sizes[-1])

    def share_up_to(self, size: NDArray[np.float64]) -> NDArray[np.float64]:
        """The share of flows of at most `size` bytes."""
        after = np.searchsorted(self.sizes, size, side="right")
        low, high = np.clip(after - 1, 0, None), np.clip(after, None, len(self.sizes) - 1)
        width = self.sizes[high] - self.sizes[low]
        part = np.where(width > 0, (size - self.sizes[low]) / np.where(width > 0, width, 1), 0)
        shares: NDArray[np.float64] = self.shares[low] + np.clip(part, 0, 1) * (
            self.shares[high] - self.shares[low]
        )
        return shares

    def work_up_to(self, size: NDArray[np.float64]) -> NDArray[np.float64]:
        """E[min(S, size)] in bytes."""
        after = np.clip(np.searchsorted(self.sizes, size, side="right"), 1, len(self.sizes) - 1)
        low = after - 1
        into = np.clip(size - self.sizes[low], 0, None)
        into = np.minimum(into, self.sizes[after] - self.sizes[low])
        rest = 1 - (self.shares[low] + self.share_up_to(self.sizes[low] + into)) / 2
        work: NDArray[np.float64] = self._work[low] + into * rest
        return np.minimum(work, self.mean)


def pias_objective(
    sizes: Sizes, load: float, thresholds: Sequence[float] | NDArray[np.float64]
) -> float:
    """Mean over flows of the delays of the queues they pass, in mean service times."""
    cuts = np.asarray(thresholds, float)
    passed = 1 - np.concatenate(([0.0], sizes.share_up_to(cuts)))
    busy = load * np.concatenate((sizes.work_up_to(cuts), [sizes.mean])) / sizes.mean
    return float(np.sum(passed / (1 - busy)))


def pias(
    workload: str | dict[str, Any], load: float, queues: int = 8, folder: str | Path = "."
) -> Thresholds:
    """Thresholds that minimise PIAS's objective for a workload.

    Args:
        workload: as in a scenario's ``traffic.workload``.
        load: of the link, in (0, 1).
        queues: from 2 to 16.
        folder: where relative file names of the workload are taken from.

    Raises:
        SpecError: a parameter is out of range, or the workload has a mistake.
    """
    if not 0 < load < 1:
        raise SpecError("load", f"{load:g} is not in (0, 1)")
    if not 2 <= queues <= 16:
        raise SpecError("queues", f"{queues} is not in [2, 16]")
    try:
        sizes = Sizes(workload, folder)
    except SpecError as error:
        raise SpecError(".".join(filter(None, ("workload", error.path))), error.message) from None
    found = sorted(set(solve(sizes, load, queues)))
    return Thresholds(
        scheme="pias",
        workload=workload,
        load=load,
        queues=queues,
        thresholds=tuple(f"{cut}B" for cut in found),
        empty_queues=queues - 1 - len(found),
        thresholds_bytes=tuple(found),
        thresholds_packets=tuple(round(cut / PAYLOAD_BYTES) for cut in found),
        objective=pias_objective(sizes, load, found),
    )


def solve(sizes: Sizes, load: float, queues: int) -> list[int]:
    """The thresholds in bytes that minimise `pias_objective`, one less than `queues`."""
    from scipy.optimize import minimize

    low, high = min(PAYLOAD_BYTES, sizes.largest), sizes.largest
    grid = np.unique(
        np.concatenate((np.geomspace(low, high, GRID), sizes.sizes[sizes.sizes >= low]))
    )
    passed = 1 - np.concatenate(([0.0], sizes.share_up_to(grid)))
    delay = 1 / (1 - load * sizes.work_up_to(grid) / sizes.mean)
    # cost[i]: the least sum of the queues so far when the last threshold is grid[i].
    cost, came = delay * passed[0], []
    for _ in range(queues - 2):
        # A threshold may not be below the one before.
        options = cost[:, None] + passed[1:, None] * delay[None, :]
        options[np.tril_indices(len(grid), -1)] = np.inf
        came.append(options.argmin(axis=0))
        cost = options.min(axis=0)
    at = int(np.argmin(cost + passed[1:] / (1 - load)))
    cuts = [at]
    for before in reversed(came):
        cuts.append(int(before[cuts[-1]]))
    start = grid[cuts[::-1]]

    def objective(logs: NDArray[np.float64]) -> float:
        return pias_objective(sizes, load, np.maximum.accumulate(np.exp(logs)))

    bounds = [(np.log(low), np.log(high))] * len(start)
    polished = minimize(objective, np.log(start), method="Nelder-Mead", bounds=bounds)
    best = min(
        (start, np.maximum.accumulate(np.exp(polished.x))),
        key=lambda c: pias_objective(sizes, load, c),
    )
    return [round(float(cut)) for cut in best]
