"""Runs the cells of a study under every seed, and resumes.

Each finished run is a small file in ``OUT/cells``, named after a hash of its resolved
scenario, of the files it reads, and of the engine: a study that is started again in the
same directory runs only what is missing or has changed.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fctlab import memory
from fctlab.errors import OutputError
from fctlab.results import kinds, store
from fctlab.results.result import simulate
from fctlab.scenario import Prepared, Scenario
from fctlab.studies.study import Cell, Results, Run, Source
from fctlab.waiting import as_completed

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
class _Job:
    """Something to be run once, and where its outcome is kept."""

    name: str
    file: Path
    cost: float
    work: Callable[[Callable[[object], None]], str]
    """Does it, calling its argument now and then, and returns what to write into `file`."""


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
        scenarios = (inputs.resolve(cell.scenario, 1) for cell in cells)
        held = [s for s in scenarios if memory.is_held(s, _is_recorded(s))]
        memory.check_runs(held * seeds, workers)
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


def _job(folder: Path, cell: Cell, seed: int, inputs: _Inputs) -> _Job:
    prepared = inputs.resolve(cell.scenario, seed)
    scenario = prepared.tables
    keep = inspect.getsource(cell.keep) if cell.keep else ""
    key = _key(inputs.portable(scenario), keep)

    def work(alive: Callable[[object], None]) -> str:
        with _workspace(scenario, folder) as temporary:
            result = simulate(prepared, temporary, alive)
            record = {
                "cell": cell.id,
                "seed": seed,
                "scenario": scenario,
                **result.report,
                "kept": cell.keep(result) if cell.keep else {},
            }
        return json.dumps(record, ensure_ascii=False)

    return _Job(f"{cell.id}, seed {seed}", folder / CELLS / f"{key}.json", cell.cost, work)


def _is_recorded(scenario: Mapping[str, Any]) -> bool:
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

    def jobs(self) -> list[_Job]:
        """What makes the files that need a run; those that need the same run share it."""
        shared: dict[str, tuple[Prepared, dict[Path, Source]]] = {}
        for source, file in self._files.items():
            if source.scenario is not None and not file.exists():
                prepared = self.resolve(source.scenario)
                shared.setdefault(json.dumps(prepared.tables), (prepared, {}))[1][file] = source
        return [self._job(*each) for each in shared.values()]

    def _job(self, scenario: Prepared, files: dict[Path, Source]) -> _Job:
        first, *rest = files

        def work(alive: Callable[[object], None]) -> str:
            with store.workspace(self._folder) as temporary:
                result = simulate(scenario, temporary, alive)
                result.write_tables(temporary)
                texts = {file: source.make(result) for file, source in files.items()}
            for file in rest:
                store.write_whole(file, texts[file])
            return texts[first]

        return _Job(", ".join(source.name for source in files.values()), first, 1.0, work)

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
    text = json.dumps([FORMAT, kinds.engine(), *what], sort_keys=True)
    return _digest(text)[:24]


# Performing them


def _perform(jobs: Sequence[_Job], workers: int, watch: Watch | None) -> None:
    """Do what is missing, the longest first; all stop when one fails."""
    jobs = list({job.file: job for job in jobs}.values())
    if not jobs:
        return
    stop = threading.Event()
    running: dict[str, None] = {}
    missing = sorted((j for j in jobs if not j.file.exists()), key=lambda j: -j.cost)
    done = [job for job in jobs if job.file.exists()]

    def one(job: _Job) -> None:
        def alive(_: object) -> None:
            if stop.is_set():
                raise CancelledError

        alive(None)
        running[job.name] = None
        store.write_whole(job.file, job.work(alive))

    def tell() -> None:
        if watch:
            costs = sum(job.cost for job in done), sum(job.cost for job in jobs)
            watch(Status(len(done), len(jobs), *costs, tuple(running)))

    with ThreadPoolExecutor(workers) as pool:
        pending: dict[Future[None], _Job] = {pool.submit(one, job): job for job in missing}
        try:
            tell()
            for future in as_completed(list(pending), tell):
                job = pending.pop(future)
                running.pop(job.name, None)
                future.result()
                done.append(job)
                tell()
        except BaseException:
            stop.set()
            for future in pending:
                future.cancel()
            raise
