"""Demotion thresholds, computed from a workload's flow sizes.

The objective is PIAS's (Bai et al., NSDI 2015, section 4.1; ToN 25(4), 2017); how it is minimised
is said in ``crates/fabric/src/disciplines/solved.rs``. A scenario's ``thresholds = "solve"`` asks
the same for its own traffic.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fctlab import _native
from fctlab.errors import SpecError
from fctlab.tuning.types import Thresholds

PAYLOAD_BYTES = 1460


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
        found, objective = solve([workload], load, queues, folder)
    except SpecError as error:
        raise SpecError(".".join(filter(None, ("workload", error.path))), error.message) from None
    return Thresholds(
        scheme="pias",
        workload=workload,
        load=load,
        queues=queues,
        thresholds=tuple(f"{cut}B" for cut in found),
        empty_queues=queues - 1 - len(found),
        thresholds_bytes=found,
        thresholds_packets=tuple(round(cut / PAYLOAD_BYTES) for cut in found),
        objective=objective,
    )


def solve(
    workloads: Sequence[str | dict[str, Any]],
    load: float,
    queues: int,
    folder: str | Path = ".",
) -> tuple[tuple[int, ...], float]:
    """The best thresholds in bytes, increasing, and their objective in mean service times.

    Args:
        workloads: that have equal shares of the bytes.
        load: of the link, in (0, 1).
        queues: one more than thresholds, or more where the best leave queues empty.
        folder: where relative file names are taken from.

    Raises:
        SpecError: a workload has a mistake.
    """
    texts = [json.dumps(workload) for workload in workloads]
    found, objective = _native.pias_thresholds(texts, load, queues, folder)
    return tuple(found), objective
