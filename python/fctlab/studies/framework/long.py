"""The long runs of a study within one budget: doublings, then readings, then more seeds.

What was in the store already counts as well, so a report is the same whenever it was made: the same
command with a larger budget goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fctlab.studies.framework import lengths, readings, settle
from fctlab.studies.framework.asking import Asking
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.judged import Judged
from fctlab.studies.framework.left_open import LeftOpen
from fctlab.studies.framework.lengths import Converged
from fctlab.studies.framework.readings import Readings
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Claim, Mode
from fctlab.studies.framework.under import own_s

MAX_CPU_HOURS = 5.0
"""Of doublings and readings, unless told otherwise."""
MAX_SEEDS = 40
"""Where `settle` ends unless told otherwise."""


@dataclass(frozen=True)
class Long:
    """What is asked for beyond a study's own runs.

    Attributes:
        doubled: runs twice as long, and wider fabrics.
        settings: claims under every reading.
        settled: more seeds for claims that are open.
        max_seeds: of `settled`.
        max_cpu_hours: of all runs together, the study's own among them. 5 unless given, but
            `settled` alone has no limit, and readings have no more than 5 in any case where
            there is something else.
    """

    doubled: bool = False
    settings: bool = False
    settled: bool = False
    max_seeds: int | None = None
    max_cpu_hours: float | None = None

    @property
    def hours(self) -> float:
        """The budget."""
        own = MAX_CPU_HOURS if self.doubled or self.settings else math.inf
        return own if self.max_cpu_hours is None else self.max_cpu_hours

    @property
    def of_readings(self) -> float:
        """The same of readings alone."""
        several = self.doubled or self.settled
        return min(self.hours, MAX_CPU_HOURS) if several else self.hours


@dataclass(frozen=True)
class Found:
    """What they found.

    Attributes:
        judged: every claim, with more seeds where it was given more.
        runs: all, but for those of doublings and readings.
        asked_s: CPU seconds of what claims asked for by seed, where more seeds were wanted.
    """

    judged: Sequence[Judged]
    runs: Results
    lengths: Converged | None = None
    readings: Readings | None = None
    asked_s: float = 0.0


def do(
    claims: Sequence[Claim],
    mode: Mode,
    left_open: LeftOpen,
    results: Results,
    run: Callable[[Sequence[Cell], int], Results],
    seeds: int,
    asked: Long,
    asking: Asking | None = None,
) -> Found:
    """Do what is asked for.

    Args:
        claims: of a study.
        mode: how much its own runs are.
        left_open: what its paper leaves open.
        results: its own runs.
        run: runs cells with so many seeds.
        seeds: of its own runs.
        asked: what is wanted.
        asking: makes the paper's claims, where they ask.
    """

    def again(cells: Sequence[Cell]) -> Results:
        return run(cells, seeds)

    spent = sum(one.cpu_s for one in results.all) / 3600
    longer = tried = None
    if asked.doubled:
        rest = asked.hours - spent
        longer = lengths.double(claims, results, again, rest, mode, asking)
        spent += longer.cpu_s / 3600
    if asked.settings:
        # Of readings the study's own is the first: its runs are spent already.
        own = own_s(claims, results, asking) / 3600
        rest = min(asked.of_readings, asked.hours - spent + own)
        tried = readings.read(claims, left_open, results, again, rest, asking)
        spent += tried.cpu_s / 3600 - own
    if not asked.settled:
        judged = [claim.judge(results) for claim in claims]
        if asking:
            asking.price(judged)
        return Found(judged, results, longer, tried)
    beyond = spent - sum(one.cpu_s for one in results.all) / 3600
    most = asked.max_seeds or MAX_SEEDS
    judged, runs = settle.settle(claims, results, run, most, asked.hours - beyond, asking)
    asked_s = asking.asked_s(*(each.claim for each in judged)) if asking else 0.0
    return Found(judged, runs, longer, tried, asked_s)
