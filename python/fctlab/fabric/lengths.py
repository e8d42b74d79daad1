"""How long windows are: so long that enough flows of every class stand in each.

Every command judges windows of one length. A run starts empty, so flows of short windows meet
shorter queues: what the fluid says of short ones does not hold in the long ones of packets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fctlab.fabric.asked import Asked
from fctlab.fabric.windows import Windows
from fctlab.formats import TIMES, time_s
from fctlab.results import rising
from fctlab.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

FLOWS = 1000
"""Of every class in each window, and as many of every SLI as it takes in all windows together."""
SPARE = 1.15
"""Numbers of flows are random: so many times as many are asked for."""
MOST = 1_000_000
"""Flows of a window that was made longer: a class that is rarer has fewer, and is told so."""
DURATIONS = (("traffic", "duration"), ("measure", "window"), ("measure", "max_time"))
"""Times of a scenario that say how long it lasts."""


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
    return Asked(Scenario(longer(asked, total / now)).resolve(), warmup=asked.warmup)


def longer(asked: Asked, times: float) -> dict[str, Any]:
    """The tables of a scenario with windows that are so many times as long."""
    traffic = dict(asked.tables["traffic"])
    if "flows" in traffic:
        traffic["flows"] = math.ceil(traffic["flows"] * times)
    changed = {**asked.tables, "traffic": traffic}
    return with_times(changed, DURATIONS, lambda time_s: time_s * times)


def with_times(
    tables: Mapping[str, Any], names: Iterable[tuple[str, str]], change: Callable[[float], float]
) -> dict[str, Any]:
    """Tables in which those of some times that are there are changed, in seconds."""
    changed = dict(tables)
    for table, name in names:
        if name in changed[table]:
            time = math.ceil(change(time_s(changed[table][name])) / TIMES["ns"])
            changed[table] = {**changed[table], name: f"{time}ns"}
    return changed


def flow_shares(asked: Asked) -> list[float]:
    """Which share of flows each class has, as expected."""
    rates = [load / mean for load, mean in zip(asked.loads, asked.mean_bytes, strict=True)]
    return [each / sum(rates) for each in rates]


def too_short(asked: Asked, windows: Windows) -> Iterator[str]:
    """Of classes whose slowdowns still rise in windows: that these are too short, in words."""
    if asked.traces:
        return  # they may have been recorded while more and more came
    for name, more in rises(asked, windows.flows).items():
        yield (
            f"{name}: slowdowns in the second half of windows are {more:.0%} "
            "above those in the first: windows start empty; give measure.warmup, or more flows"
        )


def rises(asked: Asked, flows: pl.DataFrame) -> dict[str, float]:
    """By how much slowdowns rise in windows, of each class of which they do.

    Parts of windows are compared (`fctlab.results.rising`).

    Args:
        asked: the scenario.
        flows: as `Windows` has them.
    """
    import polars as pl

    part = (pl.col("start") * 2 * rising.PARTS).floor().cast(pl.Int64)
    means = flows.group_by("class", part.alias("part")).agg(pl.col("slowdown").mean())
    halves: dict[tuple[int, bool], list[float]] = {}
    for row in means.sort("part").iter_rows(named=True):
        late = bool(row["part"] // rising.PARTS % 2)
        halves.setdefault((row["class"], late), []).append(row["slowdown"])
    found: dict[str, float] = {}
    for place, each in enumerate(asked.classes):
        early, later = (halves.get((place, half), ()) for half in (False, True))
        more = rising.rise(early, later) if min(len(early), len(later)) > 1 else None
        if more is not None:
            found[each.name] = more
    return found
