"""Demotion thresholds as published, and those that the solver gives, in bytes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from fctlab import thresholds
from fctlab.thresholds import PAYLOAD_BYTES, Sizes

# PIAS's scripts for ns-2 (Bai et al., ToN 25(4), 2017), in packets of 1460 B, by load.
PIAS: dict[str, dict[float, tuple[int, ...]]] = {
    "websearch": {
        0.5: (1059, 1412, 1643, 1869, 2008, 2115, 2184),
        0.6: (956, 1381, 1718, 2028, 2297, 2551, 2660),
        0.7: (999, 1305, 1564, 1763, 1956, 2149, 2309),
        0.8: (909, 1329, 1648, 1960, 2143, 2337, 2484),
        0.9: (759, 1132, 1456, 1737, 2010, 2199, 2325),
    },
    "datamining": {
        0.5: (805, 1106, 1401, 10693, 11970, 21162, 22272),
        0.6: (840, 1232, 1617, 11950, 12238, 21494, 25720),
        0.7: (907, 1301, 1619, 12166, 12915, 21313, 26374),
        0.8: (745, 1083, 1391, 13689, 14936, 21149, 27245),
        0.9: (750, 1083, 1416, 13705, 14952, 21125, 28253),
    },
}


def pias(workload: str, load: float) -> list[int]:
    """PIAS's published thresholds for eight queues; below load 0.5 those of load 0.5."""
    by_load = PIAS[workload]
    nearest = min(by_load, key=lambda published: abs(published - load))
    return [packets * PAYLOAD_BYTES for packets in by_load[nearest]]


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
