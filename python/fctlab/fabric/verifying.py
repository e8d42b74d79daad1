"""`verify`: packets, in windows that planning never saw, with enough flows of every class."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from fctlab.errors import SpecError
from fctlab.fabric import judging, windows
from fctlab.fabric.asked import Asked, load
from fctlab.fabric.types import Verification
from fctlab.formats import TIMES, time_s
from fctlab.jobs import Told
from fctlab.scenario import Scenario, ScenarioLike
from fctlab.slo.words import worst

WINDOWS = 3
FLOWS = 1000
"""Of every class in each window, and as many of every SLI as it takes in all windows together."""
SPARE = 1.15
"""Numbers of flows are random: so many times as many are asked for."""


def verify(
    spec: ScenarioLike,
    *,
    sets: Iterable[str] = (),
    count: int = WINDOWS,
    flows: int = FLOWS,
    told: Told | None = None,
) -> Verification:
    """Judge every class on packets.

    Windows are the scenario under seeds of their own, so long that every class has enough flows
    in each.

    Args:
        spec: a scenario whose classes have SLIs.
        sets: changes ``path=value``.
        count: of windows.
        flows: of every class in each, at least.
        told: called with (windows that are over, their flows).

    Raises:
        SpecError: a mistake, with its path, the value and what is allowed.
    """
    return of(load(spec, sets, engine="packet"), count=count, flows=flows, told=told)


def of(
    asked: Asked, *, count: int = WINDOWS, flows: int = FLOWS, told: Told | None = None
) -> Verification:
    """The same of a scenario that was read, with its engine."""
    for name, value in (("windows", count), ("flows", flows)):
        if value < 1:
            raise SpecError(name, f"{value} is not at least 1")
    long = enough(asked, flows)
    run = windows.run(long, windows.seeds(long, "verify", count), told)
    count = len(run.seeds)
    classes = judging.judge(long, run)
    each = [judging.judge(long, run.only(number)) for number in range(count)]
    counted = run.flows.group_by("window", "class").len()["len"]
    least = int(counted.min() or 0) if len(counted) == count * len(long.classes) else 0  # type: ignore[arg-type]
    notes = list(long.prepared.warnings)
    if least < flows:
        notes.append(f"a class has {least:,} flows in a window, less than {flows:,}")
    return Verification(
        verdict=worst(found.verdict for found in classes),
        classes=classes,
        windows=tuple(judging.worst_loss(found) for found in each),
        least_flows=least,
        runs=run.runs(),
        warnings=tuple(notes),
    )


def enough(asked: Asked, flows: int) -> Asked:
    """A scenario with windows so long that each class has about so many flows in each.

    Those that are longer stay as long as they are, and so does a trace.
    """
    if asked.traces:
        return asked
    traffic = asked.tables["traffic"]
    shares = list(flow_shares(asked))
    total = SPARE * max(flows / share for share in shares)
    now = asked.prepared.expected_flows
    if now >= total:
        return asked
    measure = asked.tables["measure"]
    longer = total / now
    changed: dict[str, Any] = dict(traffic)
    if "flows" in traffic:
        changed["flows"] = math.ceil(traffic["flows"] * longer)
    if "duration" in traffic:
        changed["duration"] = _times(traffic["duration"], longer)
    if "window" in measure:
        measure = {**measure, "window": _times(measure["window"], longer)}
    if "max_time" in measure:
        measure = {**measure, "max_time": _times(measure["max_time"], longer)}
    tables = {**asked.tables, "traffic": changed, "measure": measure}
    return Asked(Scenario(tables).resolve())


def _times(time: str, factor: float) -> str:
    return f"{math.ceil(time_s(time) * factor / TIMES['ns'])}ns"


def flow_shares(asked: Asked) -> Iterable[float]:
    """Which share of flows each class has, as expected."""
    rates = [load / mean for load, mean in zip(asked.loads, asked.mean_bytes, strict=True)]
    return [each / sum(rates) for each in rates]
