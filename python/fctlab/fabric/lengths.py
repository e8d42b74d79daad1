"""How long windows are: so long that enough flows of every class stand in each.

Every command judges windows of one length. A run starts empty, so flows of short windows meet
shorter queues: what the fluid says of short ones does not hold in the long ones of packets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from fctlab.fabric.asked import Asked
from fctlab.fabric.windows import Windows
from fctlab.formats import TIMES, time_s
from fctlab.results import rising
from fctlab.scenario import Scenario

FLOWS = 1000
"""Of every class in each window, and as many of every SLI as it takes in all windows together."""
SPARE = 1.15
"""Numbers of flows are random: so many times as many are asked for."""
MOST = 1_000_000
"""Flows of a window that was made longer: a class that is rarer has fewer, and is told so."""


def enough(asked: Asked, flows: int = FLOWS) -> Asked:
    """A scenario with windows so long that each class has about so many flows in each.

    Those that are longer stay as long as they are, and so does a trace; none gets more than `MOST`.
    """
    if asked.traces:
        return asked
    traffic = asked.tables["traffic"]
    total = min(MOST, SPARE * max(flows / share for share in flow_shares(asked)))
    # Flows of a warm-up come on top of `flows`.
    now = min(asked.prepared.expected_flows, traffic.get("flows", math.inf))
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


def too_short(asked: Asked, windows: Windows) -> Iterator[str]:
    """Of classes whose slowdowns still rise in windows: that these are too short, in words.

    Parts of windows are compared (`fctlab.results.rising`).
    """
    import polars as pl

    if asked.traces:
        return  # they may have been recorded while more and more came
    part = (pl.col("start") * 2 * rising.PARTS).floor().cast(pl.Int64)
    means = windows.flows.group_by("class", part.alias("part")).agg(pl.col("slowdown").mean())
    halves: dict[tuple[int, bool], list[float]] = {}
    for row in means.sort("part").iter_rows(named=True):
        late = bool(row["part"] // rising.PARTS % 2)
        halves.setdefault((row["class"], late), []).append(row["slowdown"])
    for place, each in enumerate(asked.classes):
        early, later = (halves.get((place, half), ()) for half in (False, True))
        more = rising.rise(early, later) if min(len(early), len(later)) > 1 else None
        if more is not None:
            yield (
                f"{each.name}: slowdowns in the second half of windows are {more:.0%} "
                "above those in the first: windows start empty; give measure.warmup, or more flows"
            )
