"""Windows of a log: the busiest, the median and random ones of equal length.

A window's bytes decide, a flow counting no more than its sender can put on its link meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from fctlab import choices
from fctlab.errors import SpecError
from fctlab.formats import seconds

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

Pick: TypeAlias = Literal["busiest", "median", "random"]
PICKS: tuple[Pick, ...] = ("busiest", "median", "random")
FLOWS = 50_000
"""Of a window whose length nobody says, about."""
WARMUP = 0.1
"""The first part of a window fills queues, and is not measured."""


@dataclass(frozen=True)
class Cut:
    """A window of a log.

    Attributes:
        pick: why it was taken.
        begin_s: from the log's first flow on.
        length_s: of the window.
        bytes: of the flows that start in it.
    """

    pick: Pick
    begin_s: float
    length_s: float
    bytes: float


def cut(
    flows: pl.DataFrame,
    picks: Sequence[str],
    length_s: float | None,
    host_bps: float,
    seed: int,
) -> list[Cut]:
    """Choose windows; one that would be taken twice is taken once.

    Args:
        flows: in order of start, with ``start_s``, ``bytes`` and ``weight``.
        picks: of `PICKS`.
        length_s: of each window; ``None`` for about `FLOWS` flows.
        host_bps: of the fastest host.
        seed: of random ones.

    Raises:
        SpecError: a pick that there is not, or windows that are longer than the log.
    """
    for pick in picks:
        choices.check("windows", pick, PICKS, "a window")
    start, weight = flows["start_s"].to_numpy(), flows["weight"].to_numpy()
    span = float(start[-1]) * (1 + 1e-9) + 1e-9
    length = length_s or min(span, span * FLOWS / float(weight.sum()))
    if length > span * (1 + 1e-6):
        said = f"{seconds(length)} is longer than the log, whose flows start within {seconds(span)}"
        raise SpecError("window", said)
    count = max(1, int(span / length))
    inside = np.minimum(start / length, count).astype(np.int64)
    carried = np.minimum(flows["bytes"].to_numpy(), host_bps * length / 8) * weight
    offered = np.bincount(inside, carried, minlength=count)[:count].astype(float)
    chosen = _chosen(offered, [pick for pick in PICKS if pick in picks], seed)
    return [Cut(pick, at * length, length, float(offered[at])) for at, pick in chosen.items()]


def _chosen(offered: NDArray[np.float64], picks: Sequence[Pick], seed: int) -> dict[int, Pick]:
    order = np.argsort(offered, kind="stable")
    found: dict[int, Pick] = {}
    for pick in picks:
        if pick == "busiest":
            at = int(order[-1])
        elif pick == "median":
            at = int(order[(len(order) - 1) // 2])
        else:
            free = [number for number in range(len(order)) if number not in found]
            if not free:
                continue
            at = int(np.random.default_rng(seed).choice(free))
        found.setdefault(at, pick)
    return found
