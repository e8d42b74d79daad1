"""Demotion thresholds as published, and those that the solver gives."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from fctlab.tuning import thresholds
from fctlab.tuning.thresholds import Sizes

PIAS_LOADS = (0.5, 0.6, 0.7, 0.8, 0.9)


def pias(workload: str, load: float) -> str:
    """The name of PIAS's published thresholds for eight queues; below load 0.5 those of 0.5."""
    nearest = min(PIAS_LOADS, key=lambda published: abs(published - load))
    return f"{workload}@{nearest:g}"


@functools.cache
def pias_solved(workload: str, load: float, queues: int = 8) -> tuple[int, ...]:
    """The thresholds that minimise PIAS's objective (``fctlab thresholds pias``).

    They are fewer where the optimum leaves queues empty, that is, has equal thresholds.
    """
    return _distinct(thresholds.solve(Sizes(workload), load, queues))


@functools.cache
def pias_solved_for_mix(
    workloads: tuple[str, ...], load: float, queues: int = 8
) -> tuple[int, ...]:
    """The same for workloads that have equal shares of the bytes."""
    return _distinct(thresholds.solve(Sizes.mixed([Sizes(w) for w in workloads]), load, queues))


def _distinct(found: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(set(found)))
