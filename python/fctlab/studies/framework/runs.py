"""Runs of cells, what is measured of them, and whether that is known or only a bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.verdict import Bound

_bounds: ContextVar[Bounds | None] = ContextVar("bounds", default=None)


class Bounds:
    """Sees which cells' lower bounds are read while an effect is measured (see `seeing`).

    Attributes:
        seen: ids of cells of which a lower bound was read.
        raised: of this cell lower bounds read as much larger values.
    """

    def __init__(self, raised: str | None = None) -> None:
        self.seen: set[str] = set()
        self.raised = raised

    @contextmanager
    def seeing(self) -> Iterator[None]:
        """While this lasts."""
        token = _bounds.set(self)
        try:
            yield
        finally:
            _bounds.reset(token)


class Values(dict[str, Any]):
    """Statistics of a run by name, nested as in its report.

    ``x`` is a lower bound where ``x_lower_bound`` is true; reading it is noticed.
    """

    def __init__(self, cell: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._cell = cell

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if isinstance(value, dict):
            return Values(self._cell, value)
        bounds = _bounds.get()
        if bounds and self.get(f"{key}_lower_bound"):
            bounds.seen.add(self._cell)
            return value * RAISED if bounds.raised == self._cell else value
        return value


RAISED = 2.0
"""What lower bounds are multiplied with to see which way an effect then goes."""


class Run:
    """What is remembered of one run of a cell.

    Args:
        cell: its name.
        seed: under which it was run.
        scenario: resolved, with digests in the place of names of files.
        found: what `fctlab.results.simulation.simulated` answers.
        cpu_s: that it took.
    """

    def __init__(
        self,
        cell: str,
        seed: int,
        scenario: Mapping[str, Any],
        found: Mapping[str, Any],
        cpu_s: float = 0.0,
    ) -> None:
        self.cell = cell
        self.seed = seed
        self.scenario = scenario
        self.summary: list[dict[str, Any]] = [Values(cell, row) for row in found["summary"]]
        self.counters: Mapping[str, int] = found["counters"]
        self.extras: dict[str, Any] = Values(cell, found["extras"])
        self.kept: Mapping[str, Any] = found.get("kept", {})
        self.tenths: Sequence[float] | None = found.get("tenths")
        self.cpu_s = cpu_s

    def of(self, size: str, traffic_class: str = "all") -> dict[str, Any]:
        """The summary row of a size class (``"all"``, ``"small"``, ``"medium"``, ``"large"``)."""
        rows = (
            r for r in self.summary if (r["class"], r["traffic_class"]) == (size, traffic_class)
        )
        return next(rows)

    def per_flow(self, counter: str) -> float:
        """A counter of the whole run per flow that started."""
        return self.counters[counter] / self.counters["flows_started"]


Measure: TypeAlias = "Callable[..., float] | Callable[[], Sequence[float]]"
"""Runs of one seed, one per cell in the order of the cells -> a number. Without cells: nothing
-> a number, or one per seed."""


def metric(name: str, size: str = "all", traffic_class: str = "all") -> Callable[[Run], float]:
    """A column of the summary: ``metric("avg_slowdown")``; NaN where there are no flows."""

    def read(run: Run) -> float:
        value = run.of(size, traffic_class)[name]
        return math.nan if value is None else float(value)

    return read


SLOWDOWN = metric("avg_slowdown")


def _again(run: Run) -> float:
    """The share of packets that were sent again; 0 where there are no packets."""
    return run.counters["retransmissions"] / max(1, run.counters["data_packets"])


class NotRun(LookupError):
    """A cell without runs: ``--only`` left it out."""


class Results:
    """All runs of a study."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs: dict[str, dict[int, Run]] = {}
        for run in runs:
            self._runs.setdefault(run.cell, {})[run.seed] = run

    @property
    def all(self) -> list[Run]:
        """Every run."""
        return [run for runs in self._runs.values() for run in runs.values()]

    def first(self, seeds: int) -> Results:
        """The runs with the first `seeds` seeds."""
        return Results(run for run in self.all if run.seed <= seeds)

    def with_more(self, other: Results) -> Results:
        """These runs and those of `other`."""
        return Results([*self.all, *other.all])

    def of(self, cell: Cell) -> list[Run]:
        """The runs of a cell, in order of seed.

        Raises:
            NotRun: there are none.
        """
        runs = self._runs.get(cell.id)
        if runs is None:
            raise NotRun(cell.id)
        return [runs[seed] for seed in sorted(runs)]

    def measured(
        self, cells: Sequence[Cell], measure: Callable[..., Any], pooled: bool = False
    ) -> list[float]:
        """`measure` of the cells' runs, seed by seed; or once, of lists of runs of all seeds."""
        if pooled:
            return [measure(*map(self.of, cells))]
        return [measure(*runs) for runs in zip(*map(self.of, cells), strict=True)]

    def bounded(
        self, cells: Sequence[Cell], measure: Callable[..., Any], pooled: bool = False
    ) -> tuple[list[float], Bound]:
        """The same, and what that is if it rests on unfinished flows."""
        bounds = Bounds()
        with bounds.seeing():
            effects = self.measured(cells, measure, pooled)
        found = Bound.NONE
        for cell in sorted(bounds.seen):
            with Bounds(raised=cell).seeing():
                raised = self.measured(cells, measure, pooled)
            for before, after in zip(effects, raised, strict=True):
                if after != before:
                    found |= Bound.LOWER if after > before else Bound.UPPER
        return effects, found

    def mean(self, cell: Cell, measure: Callable[[Run], float]) -> float:
        """Mean over the seeds."""
        values = self.measured([cell], measure)
        return math.fsum(values) / len(values)

    def compared(self, cells: Sequence[Cell]) -> str:
        """What cells measured, with what usually explains it: drops, timeouts, retransmissions."""
        sentences = []
        for cell in dict.fromkeys(cells):
            slowdown = self.mean(cell, SLOWDOWN)
            _, bound = self.bounded([cell], SLOWDOWN)
            timeouts = self.mean(cell, lambda run: run.per_flow("timeouts"))
            again = self.mean(cell, _again)
            at_least = f"{bound.value} {slowdown:.3g}".strip()
            text = f"{cell.id}: slowdown {at_least}, {timeouts:.2g} timeouts per flow, {again:.1%}"
            unfinished = self.mean(cell, lambda run: run.of("all")["unfinished"])
            late = f", {unfinished:.0f} flows unfinished" if unfinished >= 0.5 else ""
            sentences.append(f"{text} of packets sent again{late}")
        return "; ".join(sentences) + "."
