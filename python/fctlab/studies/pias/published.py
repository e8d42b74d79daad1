"""Demotion thresholds as published, and those that the solver gives."""

from __future__ import annotations

from functools import cache

from fctlab.tuning import thresholds

PIAS_LOADS = (0.5, 0.6, 0.7, 0.8, 0.9)


def pias(workload: str, load: float) -> str:
    """The name of PIAS's published thresholds for eight queues; below load 0.5 those of 0.5."""
    nearest = min(PIAS_LOADS, key=lambda published: abs(published - load))
    return f"{workload}@{nearest:g}"


@cache
def pias_solved(workload: str, load: float, queues: int = 8) -> tuple[int, ...]:
    """The thresholds that minimise PIAS's objective (``fctlab thresholds pias``).

    They are fewer where the optimum leaves queues empty, that is, has equal thresholds.
    """
    return thresholds.solve([workload], load, queues)[0]


@cache
def pias_solved_for_mix(
    workloads: tuple[str, ...], load: float, queues: int = 8
) -> tuple[int, ...]:
    """The same for workloads that have equal shares of the bytes."""
    return thresholds.solve(workloads, load, queues)[0]
