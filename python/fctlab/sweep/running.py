"""Runs a sweep: the points that are missing, and more seeds where its rule asks for them."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from fctlab import memory
from fctlab.errors import SpecError
from fctlab.jobs import Job, run_jobs
from fctlab.results.points import Found, PointStore, Wanted
from fctlab.results.simulation import simulated
from fctlab.scenario import Scenario, load_scenario, toml, warn
from fctlab.slo import planning
from fctlab.sweep.grid import Cell, Grid, Until
from fctlab.sweep.looks import Estimate, Verdict
from fctlab.sweep.metrics import check, value_of
from fctlab.sweep.question import asked

BYTES_OF_A_PROCESS = 300_000_000
"""Of a worker before it holds a flow."""


@dataclass(frozen=True)
class Run:
    """One point of a sweep.

    Attributes:
        cell: its place in `Grid.cells`.
        scheme: of several, or None.
        seed: of the scenario or specification.
        wanted: its point.
    """

    cell: int
    scheme: str | None
    seed: int
    wanted: Wanted

    @property
    def key(self) -> str:
        """The point's name in a store."""
        return self.wanted.key


@dataclass(frozen=True)
class Status:
    """How far a sweep has come.

    Attributes:
        done: points that are there.
        total: points that are wanted so far.
        computed: of `done`, those that were not there before.
        cpu_s: that these took.
        settled: pairs of cell and scheme that need no more seeds.
        open: those that do.
    """

    done: int
    total: int
    computed: int
    cpu_s: float
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
        flows: of scenarios, how many each has or is expected to have.
    """

    grid: Grid
    bases: dict[tuple[int, str | None], dict[str, Any]]
    first_seed: int
    flows: dict[tuple[int, str | None], int]

    def run(self, cell: int, scheme: str | None, seed: int) -> Run:
        """The point of a cell, scheme and seed."""
        base = {**self.bases[cell, scheme], "seed": seed}
        function: Any
        given: dict[str, Any]
        if self.grid.kind == "scenario":
            function, given = simulated, {"scenario": base, "keep": self.grid.keep}
        else:
            function, given = asked, {"specification": base, "ask": self.grid.ask}
        where = ", ".join(filter(None, (self.grid.cells[cell].name, scheme, f"seed {seed}")))
        flows = self.flows.get((cell, scheme), 0) + BYTES_OF_A_PROCESS // memory.BYTES_PER_FLOW
        job = Job(where, function, given, memory_bytes=flows * memory.BYTES_PER_FLOW)
        return Run(cell, scheme, seed, Wanted.of(job))

    def runs(
        self,
        cells: Sequence[int],
        seeds: int,
        after: int = 0,
        schemes: Sequence[str | None] | None = None,
    ) -> Iterator[Run]:
        """Points of cells, of all schemes or some; seeds from number `after` on, below `seeds`."""
        for cell, number, scheme in itertools.product(
            cells, range(after, seeds), schemes or self.grid.schemes
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
    if grid.until:
        check(grid.kind, bases.values(), grid.until.metric)
    warn(prepared)
    memory.check_runs(held, at_once)
    first = {tables["seed"] for tables in bases.values()}
    return Plan(grid, bases, min(first, default=1), flows)


def _scenario(grid: Grid, cell: Cell, scheme: str | None) -> Scenario:
    loaded = load_scenario(grid.base).with_presets(*grid.presets)
    for path, value in grid.sets:
        loaded = loaded.set(path, value)
    if scheme is not None:
        loaded = loaded.with_scheme(scheme)
    for path, value in cell.settings:
        loaded = loaded.set(path, value)
    return loaded


def _text(value: object) -> str:
    """As `planning.load` takes it: ``+20%`` is a change only without quotes."""
    return value if isinstance(value, str) else toml(value)


# Performing


class Progress:
    """Points that are there, the groups that they belong to, and what is wanted next."""

    def __init__(self, plan: Plan, store: PointStore, watch: Watch | None) -> None:
        self.plan, self.store, self._watch = plan, store, watch
        self.there = store.names()
        self.runs: list[Run] = []
        self.decisions: dict[tuple[int, str | None], Decision] = {}
        self.computed, self.cpu_s = 0, 0.0
        self.waiting: deque[Job[Found]] = deque()
        self._by_name: dict[str, Run] = {}
        self._left: dict[int, int] = {}
        self._runs_of: dict[int, list[Run]] = {cell: [] for cell in range(len(plan.grid.cells))}
        self._values: dict[str, float | None] = {}
        self._look = dict.fromkeys(range(len(plan.grid.cells)), 0)

    def begin(self) -> None:
        """Wants the first seeds of every cell."""
        for cell in self._look:
            self._want(cell, 0, self.plan.grid.seeds)

    def _want(
        self, cell: int, after: int, seeds: int, schemes: Sequence[str | None] | None = None
    ) -> None:
        runs = list(self.plan.runs([cell], seeds, after, schemes))
        missing = [run for run in runs if run.key not in self.there]
        self.runs += runs
        self._runs_of[cell] += runs
        self._left[cell] = len(missing)
        for run in missing:
            self._by_name[run.wanted.job.name] = run
            self.waiting.append(run.wanted.job)
        if not missing:
            self._all_there(cell)

    def put(self, job: Job[Found], found: Found) -> None:
        """Keeps what a job found, and wants more seeds where its cell's rule asks for them."""
        run = self._by_name.pop(job.name)
        self.store.keep(run.wanted, found)
        self.there.add(run.key)
        self.computed += 1
        self.cpu_s += found.times["cpu_s"]
        self._left[run.cell] -= 1
        if not self._left[run.cell]:
            self._all_there(run.cell)
        self.tell()

    def tell(self) -> None:
        """Tells how far it has come."""
        if self._watch:
            settled = sum(d.verdict != "open" for d in self.decisions.values())
            open_ = len(self.decisions) - settled
            done = len(self.runs) - len(self._by_name)
            told = done, len(self.runs), self.computed, self.cpu_s
            self._watch(Status(*told, settled, open_))

    def _all_there(self, cell: int) -> None:
        """A look: every point of the cell is there, up to this look's number of seeds.

        Schemes that are settled get no more seeds; the ones that others are divided by do.
        """
        grid, until = self.plan.grid, self.plan.grid.until
        if until is None:
            return
        self._look[cell] += 1
        looks = list(itertools.islice(until.rule.looks(), self._look[cell] + 1))
        seeds, following = looks[-2:]
        open_, over = [], self._over_budget()
        for scheme in grid.schemes:
            known = self.decisions.get((cell, scheme))
            if (known and known.verdict != "open") or (scheme and scheme == until.against):
                continue
            decision = self._decide(cell, scheme, until)
            if decision.verdict == "open" and not decision.why:
                needed = decision.seeds_needed or 0.0
                if following > grid.max_seeds:
                    decision = replace(decision, why=f"max_seeds = {grid.max_seeds:,}")
                elif over:
                    decision = replace(decision, why=f"max_cpu_hours = {grid.max_cpu_hours:g}")
                else:
                    open_.append(scheme)
                pair = {scheme, until.against or scheme}
                hours = max(needed - seeds, 0.0) * self._cpu_s(cell, pair) / 3600
                decision = replace(decision, cpu_hours_needed=hours)
            self.decisions[cell, scheme] = decision
        if open_:
            going = {grid.schemes[0], until.against, *open_}
            schemes = [scheme for scheme in grid.schemes if scheme in going]
            self._want(cell, seeds, following, schemes)

    def _decide(self, cell: int, scheme: str | None, until: Until) -> Decision:
        of = {(run.scheme, run.seed): run for run in self._runs_of[cell]}
        logs = []
        for seed in sorted(seed for one, seed in of if one == scheme):
            value = self._value(of[scheme, seed], until)
            base = 1.0 if until.against is None else self._value(of[until.against, seed], until)
            if value is None or base is None:
                why = f"seed {seed}: only a lower bound is known, flows did not finish"
                return Decision(cell, scheme, "open", None, why=why)
            logs.append(math.log(value / base))
        verdict, found = until.rule.judge(logs, self._look[cell])
        needed = until.rule.needed(found) if verdict == "open" else None
        return Decision(cell, scheme, verdict, found, needed)

    def _value(self, run: Run, until: Until) -> float | None:
        """The metric that the rule judges, of one point."""
        if run.key not in self._values:
            answer = self.store.get(run.key).found
            self._values[run.key] = value_of(self.plan.grid.kind, answer, until.metric)
        return self._values[run.key]

    def _over_budget(self) -> bool:
        most = self.plan.grid.max_cpu_hours
        return most is not None and self.cpu_s / 3600 >= most

    def _cpu_s(self, cell: int, schemes: Collection[str | None]) -> float:
        """CPU seconds of one seed of a cell under these schemes."""
        runs = [run for run in self._runs_of[cell] if run.scheme in schemes]
        known = [self.store.times(run.key).get("cpu_s", 0.0) for run in runs]
        return float(len(schemes) * sum(known) / max(len(known), 1))


def perform(
    plan: Plan,
    store: PointStore,
    workers: int,
    executor: Executor | None = None,
    watch: Watch | None = None,
) -> Progress:
    """Compute the points that are not in the store.

    Raises:
        OutputError: the store cannot be written; finished points stay.
        KeyboardInterrupt: on Ctrl-C, within a second; finished points stay.
    """
    seen = Progress(plan, store, watch)
    seen.begin()
    seen.tell()
    jobs = run_jobs(seen.waiting, workers, executor=executor, tick=seen.tell)
    with closing(jobs) as done:
        for job, found in done:
            seen.put(job, found)
    return seen
