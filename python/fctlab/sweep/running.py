"""Runs a sweep: the points that are missing, and more seeds where its rule asks for them."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from fctlab import memory
from fctlab.errors import SpecError
from fctlab.jobs import Job, run_jobs
from fctlab.results.points import Point, PointStore
from fctlab.scenario import Scenario, load_scenario, warn
from fctlab.slo import planning
from fctlab.sweep import point
from fctlab.sweep.grid import Cell, Grid, show
from fctlab.sweep.inputs import packed
from fctlab.sweep.looks import Estimate, Verdict
from fctlab.sweep.metrics import value_of


@dataclass(frozen=True)
class Run:
    """One point of a sweep.

    Attributes:
        cell: its place in `Grid.cells`.
        scheme: of several, or None.
        seed: of the scenario or specification.
        key: of its job: the point's name in a store.
        job: what is done.
    """

    cell: int
    scheme: str | None
    seed: int
    key: str
    job: Job[point.Found]


@dataclass(frozen=True)
class Status:
    """How far a sweep has come.

    Attributes:
        done: points that are there.
        total: points that are wanted so far.
        computed: of `done`, those that were not there before.
        cpu_s: that these took.
        running: names of those under way.
        settled: pairs of cell and scheme that need no more seeds.
        open: those that do.
    """

    done: int
    total: int
    computed: int
    cpu_s: float
    running: tuple[str, ...]
    settled: int
    open: int


Watch: TypeAlias = Callable[[Status], object]


@dataclass(frozen=True)
class Decision:
    """What is known of one scheme in one cell.

    Attributes:
        cell: its place in `Grid.cells`.
        scheme: that is judged; None for the scenario's own.
        verdict: why no seeds are added, or ``"open"``.
        found: ratio and interval; None where a value is only a lower bound.
        seeds_needed: about how many would be enough, where it is open.
        cpu_hours_needed: about what these would cost.
        why: it is open.
    """

    cell: int
    scheme: str | None
    verdict: Verdict
    found: Estimate | None
    seeds_needed: float | None = None
    cpu_hours_needed: float | None = None
    why: str = ""


@dataclass
class Plan:
    """A sweep whose every mistake has been found: what it will run.

    Attributes:
        grid: the sweep.
        bases: by cell and scheme, what is run, with the first seed.
        first_seed: seeds count up from it.
    """

    grid: Grid
    bases: dict[tuple[int, str | None], dict[str, Any]]
    first_seed: int
    flows: dict[tuple[int, str | None], int] = field(default_factory=dict)

    def run(self, cell: int, scheme: str | None, seed: int) -> Run:
        """The point of a cell, scheme and seed."""
        base = {**self.bases[cell, scheme], "seed": seed}
        function: Any
        if self.grid.kind == "scenario":
            function, given = point.simulated, {"scenario": base, "keep": self.grid.keep}
        else:
            function, given = point.asked, {"specification": base, "ask": self.grid.ask}
        where = ", ".join(filter(None, (self.grid.cells[cell].name, scheme, f"seed {seed}")))
        job = Job(where, function, given)
        return Run(cell, scheme, seed, key(job), job)

    def runs(self, cells: Sequence[int], seeds: int, after: int = 0) -> Iterator[Run]:
        """Points of cells, their seeds numbered from `after` on below `seeds`."""
        for cell, number, scheme in itertools.product(
            cells, range(after, seeds), self.grid.schemes
        ):
            yield self.run(cell, scheme, self.first_seed + number)


def plan(grid: Grid, at_once: int) -> Plan:
    """Prepare every point with its first seed; nothing is simulated.

    Raises:
        SpecError: the first mistake; two cells that are the same; flows that do not fit.
    """
    bases: dict[tuple[int, str | None], dict[str, Any]] = {}
    flows: dict[tuple[int, str | None], int] = {}
    seen: dict[str, str] = {}
    held, prepared = [], []
    for number, cell in enumerate(grid.cells):
        for scheme in grid.schemes:
            tables: dict[str, Any]
            if grid.kind == "scenario":
                found = _scenario(grid, cell, scheme).resolve()
                if any(found["record"].values()):
                    raise SpecError("record", "a sweep keeps no recordings; run one scenario")
                prepared.append(found)
                held.append(memory.held(found, grid.keep == "flows"))
                flows[number, scheme] = found.expected_flows
                tables = found.tables
            else:
                sets = [f"{path}={_text(value)}" for path, value in (*grid.sets, *cell.settings)]
                tables = planning.load(grid.base, sets)
            bases[number, scheme] = tables
            name = ", ".join(filter(None, (cell.name, scheme)))
            same = repr({k: v for k, v in tables.items() if k != "name"})
            if other := seen.get(same):
                raise SpecError("axes", f"{name} is the same run as {other}; leave one of them out")
            seen[same] = name or "the other"
    warn(prepared)
    memory.check_runs(held, at_once)
    first = {tables["seed"] for tables in bases.values()}
    return Plan(grid, bases, min(first, default=1), flows)


def _scenario(grid: Grid, cell: Cell, scheme: str | None) -> Scenario:
    loaded = load_scenario(grid.base)
    for path, value in grid.sets:
        loaded = loaded.set(path, value)
    if scheme is not None:
        loaded = loaded.with_scheme(scheme)
    for path, value in cell.settings:
        loaded = loaded.set(path, value)
    return loaded


def _text(value: object) -> str:
    return value if isinstance(value, str) else show(value)
