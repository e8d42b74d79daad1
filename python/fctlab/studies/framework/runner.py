"""Runs what a study needs and keeps it: cells under every seed, files that they read, answers.

Everything is a point of the study's store (`fctlab.results.points`): a study that is started
again with the same store computes only what is missing or has changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fctlab import memory
from fctlab.errors import OutputError
from fctlab.jobs import Job, named, run_jobs
from fctlab.results.drafts import write_whole
from fctlab.results.points import Found, PointStore, Wanted
from fctlab.results.simulation import simulated
from fctlab.scenario import Prepared, Scenario
from fctlab.studies.framework.cells import Cell, Source
from fctlab.studies.framework.runs import Results, Run

STORE = "store"
INPUTS = "inputs"
BYTES_PER_RUN = 40_000


@dataclass(frozen=True)
class Status:
    """How far a study has come."""

    done: int
    total: int
    done_cost: float
    """As `total_cost`, in the unit of `Cell.cost`."""
    total_cost: float
    running: tuple[str, ...]
    """Names of the runs that are under way."""


Watch: TypeAlias = Callable[[Status], object]


@dataclass(frozen=True)
class Task:
    """A point that a study wants, and what it costs beside others (`Cell.cost`)."""

    wanted: Wanted
    cost: float = 1.0
    held: memory.Held | None = None
    """Flows that it holds in memory."""


class Work:
    """Does tasks and keeps what they find.

    Args:
        store: where.
        workers: cores that runs of packets use together.
        executor: does them instead of threads of this process.
        watch: told how far it has come, over all tasks so far.
    """

    def __init__(
        self,
        store: PointStore,
        workers: int,
        executor: Executor | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.store = store
        self._workers, self._executor, self._watch = workers, executor, watch
        self._costs: dict[str, float] = {}
        self._left: dict[str, float] = {}

    def do(self, tasks: Iterable[Task]) -> None:
        """Do what is missing, the longest first; all stop when one fails.

        Raises:
            OutputError: a point cannot be kept; the text says what was.
            KeyboardInterrupt: on Ctrl-C, within a second; its text says what was kept.
        """
        by_key = {task.wanted.key: task for task in tasks}
        there = self.store.names()
        missing = [task for key, task in by_key.items() if key not in there]
        missing.sort(key=lambda task: -task.cost)
        memory.check_runs((task.held for task in missing), self._workers)
        self._costs |= {key: task.cost for key, task in by_key.items()}
        self._left = {task.wanted.key: task.cost for task in missing}
        self._tell(())
        try:
            self._perform(missing)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(self._kept()) from None
        except OutputError as error:
            raise OutputError(f"{error}; {self._kept()}") from None

    def _perform(self, missing: Sequence[Task]) -> None:
        keys = {id(task.wanted.job): task.wanted for task in missing}
        running: dict[int, str] = {}

        def started(job: Job[Found]) -> None:
            running[id(job)] = job.name

        jobs = run_jobs(
            [task.wanted.job for task in missing],
            self._workers,
            executor=self._executor,
            started=started,
            tick=lambda: self._tell(running.values()),
        )
        with closing(jobs) as done:
            for job, found in done:
                wanted = keys[id(job)]
                self.store.keep(wanted, found)
                del running[id(job)], self._left[wanted.key]
                self._tell(running.values())

    def _tell(self, running: Iterable[str]) -> None:
        if self._watch and self._costs:
            total, left = sum(self._costs.values()), sum(self._left.values())
            done = len(self._costs) - len(self._left)
            self._watch(Status(done, len(self._costs), total - left, total, tuple(running)))

    def _kept(self) -> str:
        whole, where = len(self.store.names()), self.store.directory
        if not whole:
            return f"nothing was kept in {where}"
        plural = "s"[: whole > 1]
        return f"kept {whole} finished run{plural} in {where}; the same command goes on from there"


def run(cells: Sequence[Cell], seeds: int, folder: Path, work: Work) -> Results:
    """Run every cell under the seeds 1, 2, ....

    Args:
        cells: of a study.
        seeds: how many.
        folder: the study's; files that scenarios read are written into it.
        work: does it.

    Raises:
        SpecError: a scenario has a mistake; nothing has been simulated but what makes files.
        OutputError: what is found cannot be kept.
        KeyboardInterrupt: on Ctrl-C, within a second; its text says what was kept.
    """
    inputs = _Inputs(folder.absolute() / INPUTS, cells, work)
    numbers = range(1, seeds + 1)
    tasks = {
        (c.id, seed): _task(c, inputs.resolve(c.scenario, seed)) for c in cells for seed in numbers
    }
    work.do(tasks.values())
    return Results(_run(work.store, id, seed, task.wanted) for (id, seed), task in tasks.items())


def _run(store: PointStore, cell: str, seed: int, wanted: Wanted) -> Run:
    # Cells that come to the same share a point; it may be called by another's name.
    found, times = store.get(wanted.key).found, store.times(wanted.key)
    return Run(cell, seed, wanted.given["scenario"], found, times.get("cpu_s", 0.0))


def _task(cell: Cell, prepared: Prepared) -> Task:
    """A run of a cell."""
    tables = prepared.tables
    job = _job(f"{cell.id}, seed {tables['seed']}", tables, cell.keep)
    on_disk = "also" in job.input or any(tables["record"].values())
    return Task(Wanted.of(job), cell.cost, memory.held(prepared, on_disk))


def _job(
    name: str,
    scenario: Mapping[str, Any],
    also: Callable[..., Any] | None,
    arguments: Sequence[Any] = (),
) -> Job[Found]:
    given: dict[str, Any] = {"scenario": scenario, "keep": "summary"}
    if also:
        given["also"] = {**named(also), "arguments": list(arguments)}
    return Job(name, simulated, given)


def expected_bytes(cells: Sequence[Cell], seeds: int) -> int:
    """A generous estimate of what is kept."""
    return BYTES_PER_RUN * seeds * len(cells)


class _Inputs:
    """The files that scenarios read, each called by a digest of its text.

    Args:
        folder: where they are written.
        cells: whose scenarios read them.
        work: does the runs that files are made from.
    """

    def __init__(self, folder: Path, cells: Sequence[Cell], work: Work) -> None:
        self._folder = folder
        self._files: dict[Source, Path] = {}
        sources = dict.fromkeys(source for cell in cells for source in _sources(cell.scenario))
        made = [source for source in sources if source.scenario is not None]
        inner = dict.fromkeys(s for source in made for s in _sources(source.scenario))
        for source in {**sources, **inner}:
            if source.scenario is None:
                self._add(source, source.make(*source.arguments))
        tasks = {source: self._task(source) for source in made}
        work.do(tasks.values())
        for source, task in tasks.items():
            self._add(source, work.store.get(task.wanted.key).found["kept"])

    def _add(self, source: Source, text: str) -> None:
        digest = hashlib.sha256(text.encode()).hexdigest()
        file = self._folder / f"{digest[:12]}-{source.name}"
        if not file.exists():
            write_whole(file, text)
        self._files[source] = file

    def _task(self, source: Source) -> Task:
        """The run that a file is made from."""
        assert source.scenario is not None
        prepared = self.resolve(source.scenario)
        job = _job(source.name, prepared.tables, source.make, source.arguments)
        return Task(Wanted.of(job), 1.0, memory.held(prepared, True))

    def resolve(self, scenario: Mapping[str, Any], seed: int | None = None) -> Prepared:
        """The scenario as the engine takes it, sources replaced by their files."""

        def replaced(value: Any) -> Any:
            if isinstance(value, Source):
                if value not in self._files:
                    raise ValueError(f"{value.name} needs a run that needs a run")
                return str(self._files[value])
            if isinstance(value, Mapping):
                return {key: replaced(inner) for key, inner in value.items()}
            return value

        chosen = {} if seed is None else {"seed": seed}
        return Scenario({**replaced(scenario), **chosen}).resolve()


def _sources(value: Any) -> Iterator[Source]:
    """Every source inside a scenario."""
    if isinstance(value, Source):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _sources(inner)
