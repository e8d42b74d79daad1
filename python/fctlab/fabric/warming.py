"""The warm-up of a scenario that gives none: so long that slowdowns are level behind it.

A run starts empty. How long queues and windows take to fill hangs on load, sizes, scheme and
fabric, so it is tried on the fluid: whether slowdowns rise in windows as they are, and if they do,
from where on they are level in windows that are longer. All commands find the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fctlab.errors import SpecError
from fctlab.fabric import lengths, windows
from fctlab.fabric.asked import Asked, with_engine
from fctlab.formats import TIMES
from fctlab.jobs import Told
from fctlab.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

WINDOWS = 4
FLOWS = 80_000
"""In all windows: where fewer have as many, fewer do."""
SHARES = (0.25, 0.5, 1.0, 2.0)
"""Warm-ups that are tried, in windows. The last is taken where slowdowns rise behind all."""
ENDS = (("traffic", "duration"), ("measure", "max_time"))
"""Times of a scenario that are counted from its start, so the warm-up is a part of them."""


def settled(asked: Asked, told: Told | None = None) -> Asked:
    """The scenario with a warm-up, if it has none.

    A trace is left as it is: it may begin in the middle of things.

    Args:
        asked: the scenario, with windows as long as they are to be.
        told: called with (windows that are over, their flows).
    """
    if asked.warmup != "open" or asked.traces:
        return asked
    try:
        fluid = Asked(with_engine(Scenario(asked.tables), "fluid").resolve())
        return _after(asked, _found(fluid, told))
    except SpecError:
        if asked.tables["engine"]["kind"] == "fluid":
            raise
    # The fluid does not know all of it, or overflows a buffer where packets would be lost.
    return _after(asked, _found(asked, told))


def _found(asked: Asked, told: Told | None) -> float:
    """How long the warm-up has to be on a scenario's engine, in seconds."""
    enough = math.ceil(FLOWS / max(1, asked.prepared.expected_flows))
    seeds = windows.seeds(asked, "warm-up", min(WINDOWS, enough))
    short = windows.run(asked, seeds, told)
    if not lengths.rises(asked, short.flows):
        return 0.0
    tables = lengths.longer(asked, 1 + SHARES[-1])
    long = windows.run(Asked(Scenario(tables).resolve()), seeds, told).flows
    level = (share for share in SHARES if not lengths.rises(asked, _part(long, share)))
    return next(level, SHARES[-1]) * short.length_s


def _part(flows: pl.DataFrame, share: float) -> pl.DataFrame:
    """Of long windows the part of a window's length behind such a share of one."""
    import polars as pl

    window = pl.col("start").floor()
    into = (pl.col("start") - window) * (1 + SHARES[-1]) - share
    part = flows.with_columns(window.alias("of"), into.alias("into"))
    part = part.filter(pl.col("into").is_between(0, 1, closed="left"))
    return part.with_columns((pl.col("of") + pl.col("into")).alias("start"))


def _after(asked: Asked, warmup_s: float) -> Asked:
    """The scenario that measures as long as before, after a warm-up."""
    tables = lengths.with_times(asked.tables, ENDS, lambda time_s: time_s + warmup_s)
    measure = {**tables["measure"], "warmup": f"{round(warmup_s / TIMES['ns'])}ns"}
    return Asked(Scenario({**tables, "measure": measure}).resolve(), warmup="found")
