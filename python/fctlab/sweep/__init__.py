"""Sweeps: many points of a grid, seed by seed, until enough is known.

>>> from fctlab import sweep
>>> found = sweep.sweep("sweeps/marking.toml", out="results/marking")
>>> found.summary, found.decisions
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from fctlab import formats
from fctlab.errors import OutputError, SpecError, SpecWarning
from fctlab.jobs import at_once
from fctlab.results import drafts, kinds, rising
from fctlab.results.points import PointStore
from fctlab.sweep import grid as grids
from fctlab.sweep import running
from fctlab.sweep.estimate import Estimated, estimate
from fctlab.sweep.grid import Grid
from fctlab.sweep.running import Decision, Run, Status, Watch
from fctlab.sweep.table import load, runs_frame, summary_frame

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Decision", "Estimated", "Grid", "Status", "Sweep", "dry_run", "sweep"]

STORE = kinds.STORE
SWEEP = kinds.SWEEP_FILE
SUMMARY = kinds.SUMMARY


@dataclass(frozen=True)
class Sweep:
    """What a sweep found.

    Attributes:
        grid: what was asked.
        runs: its points: cell, scheme, seed and key.
        decisions: per cell and scheme, where there is a rule (``until``).
        store: where the points are.
        computed: how many were not there before.
        cpu_s: that these took.
    """

    grid: Grid
    runs: tuple[Run, ...]
    decisions: tuple[Decision, ...]
    store: PointStore
    computed: int
    cpu_s: float

    @cached_property
    def points(self) -> pl.DataFrame:
        """One row per point and size class (of a specification: class and SLI).

        Columns: the axes, ``scheme``, ``seed``, ``key``, and those of `Result.summary`; or
        ``class``, ``verdict``, ``sli``, ``value``.
        """
        return runs_frame(self.grid, self.runs, self.store)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Means over the seeds, one row per cell, scheme and size class (or SLI).

        For each metric ``M``: ``M`` (mean), ``M_ci95`` (half-width of its 95% t interval),
        ``M_ratio`` (geometric mean of the seeds' ratios to the first scheme), ``M_ratio_low`` and
        ``M_ratio_high`` (its 95% interval); null where a seed's value is only a lower bound.
        """
        return summary_frame(self.grid.kind, self.grid.axes, self.points)

    @property
    def report(self) -> dict[str, Any]:
        """Everything as plain values."""
        cells = [dict(cell.settings) for cell in self.grid.cells]
        until = self.grid.until
        rule = {"until": {"metric": until.metric, "against": until.against}} if until else {}
        return {
            "sweep": self.grid.name,
            **rule,
            "cells": cells,
            "summary": self.summary.to_dicts(),
            "decisions": [_plain(decision) for decision in self.decisions],
            "points": [
                {"cell": run.cell, "scheme": run.scheme, "seed": run.seed, "key": run.key}
                for run in self.runs
            ],
            "computed": self.computed,
            "cpu_s": self.cpu_s,
        }


def sweep(
    file: str | PathLike[str] | Mapping[str, Any],
    *,
    out: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    shard: str | None = None,
    presets: str | PathLike[str] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    watch: Watch | None = None,
) -> Sweep:
    """Compute every point of a grid that is not there yet; more seeds where its rule asks.

    Args:
        file: a sweep file (see `fctlab.sweep.grid`), or its tables, with file names taken from the
            working directory.
        out: directory of ``sweep.json`` and ``summary.csv``; ``results/NAME`` unless given.
        store: of the points; several sweeps and machines may share one. ``OUT/store`` unless given.
        shard: ``"3/16"``: the third sixteenth of the cells, whole.
        presets: a directory of presets of your own, beside those of the sweep and its scenario.
        workers: points at once; one per core unless given.
        executor: of ``concurrent.futures``, computes points instead of threads of this process.
        watch: told now and then how far it has come.

    Raises:
        SpecError: a mistake in the sweep or one of its points; nothing has been simulated.
        OutputError: nothing can be written there, or no more; finished points stay.
        KeyboardInterrupt: on Ctrl-C, within a second; finished points stay.
    """
    grid = _grid(file, shard, presets)
    if workers is not None and workers < 1:
        raise SpecError("workers", f"{workers} is not at least 1")
    most = workers or at_once(executor)
    planned = running.plan(grid, most)
    directory = Path(out) if out is not None else Path("results") / grid.name
    points = PointStore(store if store is not None else directory / STORE, create=True)
    Thread(target=load).start()
    try:
        found = running.perform(planned, points, most, executor, watch)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_kept(points)) from None
    except OSError as error:
        raise OutputError(f"{error}; {_kept(points)}") from error
    decisions = tuple(found.decisions[key] for key in sorted(found.decisions, key=str))
    result = Sweep(grid, tuple(found.runs), decisions, points, found.computed, found.cpu_s)
    _write(result, directory)
    for line in _rises(result):
        warnings.warn(line, SpecWarning, stacklevel=2)
    return result


def _rises(found: Sweep) -> list[str]:
    """What is said where slowdowns still rise while they are measured."""
    if found.grid.kind != "scenario":
        return []
    alike: dict[str, list[list[float] | None]] = {}
    for run in found.runs:
        name, cell = run.scheme or "its scheme", found.grid.cells[run.cell].name
        tenths = found.store.get(run.key).found.get("tenths")
        alike.setdefault(f"{name} at {cell}" if cell else name, []).append(tenths)
    return rising.of_several(alike)


def dry_run(
    file: str | PathLike[str] | Mapping[str, Any],
    *,
    store: str | PathLike[str] | None = None,
    shard: str | None = None,
    presets: str | PathLike[str] | None = None,
) -> Estimated:
    """What a sweep will cost, from one short point; nothing is kept.

    Args:
        file: see `sweep`.
        store: whose points need not be computed.
        shard: see `sweep`.
        presets: see `sweep`.

    Raises:
        SpecError: a mistake in the sweep or one of its points.
    """
    planned = running.plan(_grid(file, shard, presets), 1)
    there = PointStore(store) if store is not None and Path(store).exists() else None
    return estimate(planned, there.names() if there else set())


def _grid(
    file: str | PathLike[str] | Mapping[str, Any],
    shard: str | None,
    presets: str | PathLike[str] | None,
) -> Grid:
    grid = grids.parse(file, Path()) if isinstance(file, Mapping) else grids.read(file)
    if presets is not None:
        grid = replace(grid, presets=(*grid.presets, Path(presets)))
    return grid if shard is None else grid.shard(shard)


def _kept(store: PointStore) -> str:
    whole = len(store.names())
    if not whole:
        return f"nothing was kept in {store.directory}"
    kept = f"kept {whole:,} finished point{'s'[: whole > 1]} in {store.directory}"
    return f"{kept}; the same command goes on from there"


def _plain(decision: Decision) -> dict[str, Any]:
    found = decision.found
    plain = asdict(decision)
    plain["found"] = None
    if found is not None:
        low, high = found.interval
        plain["found"] = {"seeds": found.seeds, "ratio": found.ratio, "low": low, "high": high}
    return plain


def _write(found: Sweep, directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        drafts.drop_left_behind(directory)
        drafts.write_whole(directory / SUMMARY, formats.csv(found.summary))
        drafts.write_whole(directory / SWEEP, json.dumps(found.report, indent=1) + "\n")
    except OSError as error:
        raise OutputError(f"{directory}: {error.strerror or error}") from error
