"""Runs the cells of a study under every seed, and resumes.

Each finished run is a small file in ``OUT/cells``, named after a hash of its resolved
scenario, of the files it reads, and of the engine: a study that is started again in the
same directory runs only what is missing or has changed.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fctlab import memory
from fctlab.errors import OutputError
from fctlab.jobs import Job, Told, engine, run_jobs
from fctlab.results import store
from fctlab.results.result import Result, simulate
from fctlab.scenario import Prepared, Scenario
from fctlab.studies.study import Cell, Results, Run, Source

FORMAT = 1
"""Of the files in ``cells``; those of another format are not read."""
CELLS = "cells"
INPUTS = "inputs"
BYTES_PER_RUN = 20_000


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
class _Task:
    """A job whose outcome is a file, and what it costs beside others (`Cell.cost`)."""

    file: Path
    cost: float
    job: Job[None]
    held: memory.Held | None = None
    """Flows that it holds in memory."""


def run(
    cells: Sequence[Cell], seeds: int, folder: Path, workers: int, watch: Watch | None = None
) -> Results:
    """Run every cell under the seeds 1, 2, ..., keeping each finished run in `folder`.

    Raises:
        SpecError: a scenario has a mistake; nothing has been simulated.
        OutputError: `folder` cannot be written.
        KeyboardInterrupt: on Ctrl-C, within a second; its text says what was kept.
    """
    try:
        inputs = _Inputs(folder.absolute() / INPUTS, cells)
        _perform(inputs.jobs(), workers, watch)
        seeds_of = range(1, seeds + 1)
        jobs = {(c.id, seed): _job(folder, c, seed, inputs) for c in cells for seed in seeds_of}
        memory.check_runs((task.held for task in jobs.values()), workers)
        _perform(list(jobs.values()), workers, watch)
        # Cells that come to the same share a file; it may be called by another's name.
        return Results(Run(_read(job.file) | {"cell": id}) for (id, _), job in jobs.items())
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_kept(folder)) from None
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}; {_kept(folder)}") from error


def expected_bytes(cells: Sequence[Cell], seeds: int) -> int:
    """A generous estimate of what is kept."""
    return BYTES_PER_RUN * seeds * len(cells)


def _read(file: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return record


def _kept(folder: Path) -> str:
    whole = len(list((folder / CELLS).glob("*.json")))
    if not whole:
        return f"nothing was kept in {folder}"
    plural = "s"[: whole > 1]
    kept = f"kept {whole} finished run{plural} in {folder / CELLS}"
    return f"{kept}; the same command goes on from there"


# Jobs


def _job(folder: Path, cell: Cell, seed: int, inputs: _Inputs) -> _Task:
    prepared = inputs.resolve(cell.scenario, seed)
    scenario = prepared.tables
    keep = inspect.getsource(cell.keep) if cell.keep else ""
    key = _key(inputs.portable(scenario), keep)
    file = folder / CELLS / f"{key}.json"
    name = f"{cell.id}, seed {seed}"
    job = Job(name, _run_cell, (scenario, cell, seed, folder, file))
    return _Task(file, cell.cost, job, memory.held(prepared, _is_recorded(scenario)))


def _run_cell(run: tuple[Mapping[str, Any], Cell, int, Path, Path], told: Told) -> None:
    """Run a cell under a seed, and keep what there is to keep."""
    scenario, cell, seed, folder, file = run
    # Prepared again here: a study has hundreds of runs, and a fabric is not small.
    prepared = Scenario(scenario).resolve()
    with _workspace(prepared, folder) as temporary:
        result = simulate(prepared, temporary, told)
        record = {
            "cell": cell.id,
            "seed": seed,
            "scenario": prepared.tables,
            **result.report,
            "kept": cell.keep(result) if cell.keep else {},
        }
    store.write_whole(file, json.dumps(record, ensure_ascii=False))


def _is_recorded(scenario: Mapping[str, Any]) -> bool:
    """Whether a run records anything, which goes into files."""
    return any(scenario["record"].values())


@contextmanager
def _workspace(scenario: Mapping[str, Any], folder: Path) -> Iterator[Path | None]:
    """A directory for what the run records, if it records anything; gone afterwards."""
    if not _is_recorded(scenario):
        yield None
        return
    with store.workspace(folder) as temporary:
        yield temporary


class _Inputs:
    """The files that scenarios read."""

    def __init__(self, folder: Path, cells: Sequence[Cell]) -> None:
        self._folder = folder
        self._files: dict[Source, Path] = {}
        for cell in cells:
            for source in _sources(cell.scenario):
                self._add(source)

    def _add(self, source: Source) -> None:
        """Names the source's file, and writes it if that needs no run."""
        if source in self._files:
            return
        if source.scenario is None:
            text = source.make(None)
            file = self._folder / f"{_digest(text)[:12]}-{source.name}"
            if not file.exists():
                store.write_whole(file, text)
        else:
            for inner in _sources(source.scenario):
                if inner.scenario is not None:
                    raise ValueError(f"{source.name} needs a run that needs a run")
                self._add(inner)
            key = _key(self.portable(self.resolve(source.scenario).tables), source.name)
            file = self._folder / f"{key[:12]}-{source.name}"
        self._files[source] = file

    def jobs(self) -> list[_Task]:
        """What makes the files that need a run; those that need the same run share it."""
        shared: dict[str, tuple[Prepared, dict[Path, Source]]] = {}
        for source, file in self._files.items():
            if source.scenario is not None and not file.exists():
                prepared = self.resolve(source.scenario)
                shared.setdefault(json.dumps(prepared.tables), (prepared, {}))[1][file] = source
        return [self._job(*each) for each in shared.values()]

    def _job(self, scenario: Prepared, files: dict[Path, Source]) -> _Task:
        name = ", ".join(source.name for source in files.values())
        # The first one last: a job is done when its file is there.
        last, *rest = files.items()
        makes = [(file, source.make) for file, source in (*rest, last)]
        return _Task(last[0], 1.0, Job(name, _make_files, (scenario, self._folder, makes)))

    def resolve(self, scenario: Mapping[str, Any], seed: int | None = None) -> Prepared:
        """The scenario as the engine takes it, sources replaced by their files."""

        def replaced(value: Any) -> Any:
            if isinstance(value, Source):
                return str(self._files[value])
            if isinstance(value, Mapping):
                return {key: replaced(inner) for key, inner in value.items()}
            return value

        chosen = {} if seed is None else {"seed": seed}
        return Scenario({**replaced(scenario), **chosen}).resolve()

    def portable(self, value: Any) -> Any:
        """A resolved scenario with the contents of files in the place of their names."""
        if isinstance(value, dict):
            return {key: self.portable(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.portable(inner) for inner in value]
        if isinstance(value, str) and Path(value) in self._files.values():
            return _digest(Path(value).read_text(encoding="utf-8"))
        return value


Makes: TypeAlias = list[tuple[Path, Callable[[Result | None], str]]]


def _make_files(run: tuple[Prepared, Path, Makes], told: Told) -> None:
    """Run what files are made from, and write them."""
    prepared, folder, makes = run
    with store.workspace(folder) as temporary:
        result = simulate(prepared, temporary, told)
        result.write_tables(temporary)
        texts = {file: make(result) for file, make in makes}
    for file, text in texts.items():
        store.write_whole(file, text)


def _sources(value: Any) -> Iterator[Source]:
    """Every source inside a scenario."""
    if isinstance(value, Source):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _sources(inner)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _key(*what: object) -> str:
    text = json.dumps([FORMAT, engine(), *what], sort_keys=True)
    return _digest(text)[:24]


# Performing them


def _perform(jobs: Sequence[_Task], workers: int, watch: Watch | None) -> None:
    """Do what is missing, the longest first; all stop when one fails."""
    by_file = {kept.file: kept for kept in jobs}
    if not by_file:
        return
    missing = sorted((j for j in by_file.values() if not j.file.exists()), key=lambda j: -j.cost)
    running = dict[str, float]()
    total = sum(kept.cost for kept in by_file.values())
    left = {kept.job.name: kept.cost for kept in missing}

    def tell() -> None:
        if watch:
            costs = total - sum(left.values()), total
            watch(Status(len(by_file) - len(left), len(by_file), *costs, tuple(running)))

    def started(job: Job[None]) -> None:
        running[job.name] = left[job.name]

    tell()
    work = [kept.job for kept in missing]
    with closing(run_jobs(work, workers, started=started, tick=tell)) as done:
        for job, _ in done:
            del running[job.name], left[job.name]
            tell()
