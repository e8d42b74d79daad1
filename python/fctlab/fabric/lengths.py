"""How long windows are: so long that enough flows of every class stand in each.

Every command judges windows of one length. A run starts empty, so flows of short windows meet
shorter queues: what the fluid says of short ones does not hold in the long ones of packets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from fctlab import intervals
from fctlab.fabric.asked import Asked
from fctlab.fabric.windows import Windows
from fctlab.formats import TIMES, time_s
from fctlab.scenario import Scenario

FLOWS = 1000
"""Of every class in each window, and as many of every SLI as it takes in all windows together."""
SPARE = 1.15
"""Numbers of flows are random: so many times as many are asked for."""
MOST = 1_000_000
"""Flows of a window that was made longer: a class that is rarer has fewer, and is told so."""
RISE = 0.1
"""Of mean slowdowns from one half of windows to the other: more is told."""
PARTS = 5
"""Of each half, whose means tell a rise from chance."""


def enough(asked: Asked, flows: int = FLOWS) -> Asked:
    """A scenario with windows so long that each class has about so many flows in each.

    Those that are longer stay as long as they are, and so does a trace; none gets more than `MOST`.
    """
    if asked.traces:
        return asked
    traffic = asked.tables["traffic"]
    total = min(MOST, SPARE * max(flows / share for share in flow_shares(asked)))
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


def flow_shares(asked: Asked) -> list[float]:
    """Which share of flows each class has, as expected."""
    rates = [load / mean for load, mean in zip(asked.loads, asked.mean_bytes, strict=True)]
    return [each / sum(rates) for each in rates]


def rising(asked: Asked, windows: Windows) -> Iterator[str]:
    """Of classes whose slowdowns still rise in windows: that these are too short, in words.

    Parts of windows are compared: a rise has to be more than `RISE`, and more than chance (5%).
    """
    import polars as pl

    if asked.traces:
        return  # they may have been recorded while more and more came
    part = (pl.col("start") * 2 * PARTS).floor().cast(pl.Int64)
    means = windows.flows.group_by("class", part.alias("part")).agg(pl.col("slowdown").mean())
    late = (pl.col("part") // PARTS % 2).cast(pl.Boolean)
    mean = pl.col("slowdown")
    halves = means.group_by("class", late.alias("late")).agg(
        mean.mean().alias("mean"), mean.var().alias("variance"), mean.len().alias("parts")
    )
    found = {(row["class"], row["late"]): row for row in halves.iter_rows(named=True)}
    for place, each in enumerate(asked.classes):
        early, later = (found.get((place, half)) for half in (False, True))
        if early is None or later is None:
            continue
        rise, few = later["mean"] / early["mean"] - 1, min(early["parts"], later["parts"])
        if rise <= RISE or few < 2:
            continue
        spread = math.sqrt(early["variance"] + later["variance"])
        if later["mean"] - early["mean"] > spread * intervals.half_width(few, 0.9):
            yield (
                f"{each.name}: slowdowns in the second half of windows are {rise:.0%} "
                "above those in the first: windows start empty; give measure.warmup, or more flows"
            )
