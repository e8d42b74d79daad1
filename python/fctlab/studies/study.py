"""What a study is: claims and figures, as data, about cells.

A `Cell` is a scenario that is run once per seed. A `Claim` has parts, each an effect
(a number per seed, taken from the runs of some cells with that seed) and what the paper
expects of it. A `Figure` draws cells. The cells of a study are those that its claims and
figures refer to; a cell that several refer to runs once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fctlab.studies import verdict
from fctlab.studies.judged import Judged
from fctlab.studies.likeness import Intended
from fctlab.studies.verdict import Bound, Computed, Exact, Expectation, Finding, Within

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from fctlab.results.result import Result

Mode: TypeAlias = Literal["quick", "full"]
SEEDS: dict[Mode, int] = {"quick": 5, "full": 10}

Keep: TypeAlias = "Callable[[Result], dict[str, Any]]"
"""What to remember of a run besides its summary, counters and extras: a module-level function of
the saved run, to plain values by name."""


@dataclass(frozen=True, eq=False)
class Source:
    """A file that scenarios read, as a value inside them: ``{"file": Source(...)}``.

    Attributes:
        name: of the file, such as ``"imc10-8.json"``; what is made otherwise is called otherwise.
        make: a module-level function whose value is the file's text; it takes the saved run of
            `scenario`, if there is one, and `arguments`.
        arguments: plain values.
        scenario: what has to be run first, with seed 1 unless it says otherwise.
    """

    name: str
    make: Callable[..., str]
    arguments: tuple[Any, ...] = ()
    scenario: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Cell:
    """A scenario that is run under every seed.

    Attributes:
        id: different for every cell of a study.
        scenario: tables and keys as people write them, without a seed; values may be `Source`.
        cost: how long a run takes compared with others; long ones start first.
        keep: what else to remember of a run.
    """

    id: str
    scenario: Mapping[str, Any]
    cost: float = 1.0
    keep: Keep | None = None


class Cells:
    """The cells of a study, each made once."""

    def __init__(self) -> None:
        self._made: dict[str, Cell] = {}

    def cell(
        self, id: str, scenario: Mapping[str, Any], cost: float = 1.0, keep: Keep | None = None
    ) -> Cell:
        """The cell called `id`: always the same one.

        Raises:
            ValueError: one of this name has another scenario or keeps something else.
        """
        made = self._made.setdefault(id, Cell(id, scenario, cost, keep))
        if made.scenario != scenario or made.keep is not keep:
            raise ValueError(f"two different cells are called {id}")
        return made


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
        """The runs of a cell, in order of seed."""
        runs = self._runs[cell.id]
        return [runs[seed] for seed in sorted(runs)]

    def measured(self, cells: Sequence[Cell], measure: Callable[..., Any]) -> list[float]:
        """`measure` of the cells' runs, seed by seed."""
        return [measure(*runs) for runs in zip(*map(self.of, cells), strict=True)]

    def bounded(
        self, cells: Sequence[Cell], measure: Callable[..., Any]
    ) -> tuple[list[float], Bound]:
        """`measure` seed by seed, and what that is if it rests on unfinished flows."""
        bounds = Bounds()
        with bounds.seeing():
            effects: list[float] = self.measured(cells, measure)
        found = Bound.NONE
        for cell in sorted(bounds.seen):
            with Bounds(raised=cell).seeing():
                raised: list[float] = self.measured(cells, measure)
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
            again = self.mean(
                cell, lambda run: run.counters["retransmissions"] / run.counters["data_packets"]
            )
            at_least = f"{bound.value} {slowdown:.3g}".strip()
            text = f"{cell.id}: slowdown {at_least}, {timeouts:.2g} timeouts per flow, {again:.1%}"
            unfinished = self.mean(cell, lambda run: run.of("all")["unfinished"])
            late = f", {unfinished:.0f} flows unfinished" if unfinished >= 0.5 else ""
            sentences.append(f"{text} of packets sent again{late}")
        return "; ".join(sentences) + "."


@dataclass(frozen=True, eq=False)
class Part:
    """One effect of a claim.

    Attributes:
        name: short, such as ``"FIFO / SRPT"``.
        paper: the paper's number as people write it.
        expected: the same for `verdict.judge`.
        cells: whose runs `measure` takes.
        measure: the effect of one seed; a part without cells has no runs and measures by
            itself: one number, or one per seed.
        counts: whether the claim's verdict depends on it; others are shown beside.
        percent: write the effect as a change ("+6.6%") instead of a ratio ("1.07x"), and a
            number as a share ("6.6%").
    """

    name: str
    paper: str
    expected: Expectation
    cells: tuple[Cell, ...]
    measure: Measure
    counts: bool = True
    percent: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is a number in some unit, not a ratio."""
        return isinstance(self.expected, Exact | Within | Computed)

    def judge(self, results: Results, confidence: float = verdict.CONFIDENCE) -> Finding:
        """What the runs say about it; of an interval of so much `confidence`."""
        if self.cells:
            effects, bound = results.bounded(self.cells, self.measure)
            return verdict.judge_bounds(effects, self.expected, bound, confidence)
        found = self.measure()
        effects = [found] if isinstance(found, float | int) else list(found)
        return verdict.judge(effects, self.expected, confidence)


def ratio(
    name: str,
    over: Cell,
    under: Cell,
    expected: Expectation,
    paper: str = "",
    *,
    of: Callable[[Run], float] = SLOWDOWN,
    counts: bool = True,
    percent: bool = False,
) -> Part:
    """The effect ``of(over) / of(under)`` on the same flows."""
    return Part(name, paper, expected, (over, under), lambda a, b: of(a) / of(b), counts, percent)


@dataclass(frozen=True, eq=False)
class Claim:
    """A row of the table: what the paper says, and the parts that decide about it.

    Attributes:
        id: such as ``"ads-1"``.
        text: what the paper claims.
        paper: its numbers as people write them.
        parts: the claim is as good as the weakest that counts.
        why: one sentence with a measurement, for what does not simply agree.
        told: `why` says something that belongs beside the numbers even where they agree.
        beyond: an open question that the paper leaves, not a claim of it.
        combines: its parts are those of other claims, called ``ID.something``, and are
            shown there.
    """

    id: str
    text: str
    paper: str
    parts: tuple[Part, ...]
    why: Callable[[Results], str] | None = None
    beyond: bool = False
    combines: bool = False
    told: bool = False

    def judge(self, results: Results, confidence: float = verdict.CONFIDENCE) -> Judged:
        """Judge every part."""
        parts = [(part, part.judge(results, confidence)) for part in self.parts]
        return Judged(self, parts, results, confidence)

    @property
    def cells(self) -> list[Cell]:
        """That its parts refer to."""
        return list(dict.fromkeys(cell for part in self.parts for cell in part.cells))


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of the report.

    Attributes:
        id: its file name; different for every figure of a study.
        title: what it shows.
        caption: how to read it, and what the paper's figure says.
        cells: whose runs it draws.
        draw: draws it.
        claims: ids of the claims that it belongs to.
    """

    id: str
    title: str
    caption: str
    cells: tuple[Cell, ...]
    draw: Callable[[Results], Drawing]
    claims: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Check:
    """A number that shows whether the setting is the paper's; no claim."""

    text: str
    paper: str
    cells: tuple[Cell, ...]
    measure: Callable[[Results], str]
    claims: tuple[str, ...] = ()
    """Ids of the claims that it belongs to; without any, it is shown whenever its cells run."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table of the report, beside that of the claims.

    Attributes:
        id: its name in ``report.json``; different for every table of a study.
        title: what it shows.
        caption: how to read it.
        cells: whose runs it shows.
        header: names of the columns, with units.
        rows: as text, as wide as the header.
        claims: ids of the claims that it belongs to.
        folded: the page shows it when asked.
    """

    id: str
    title: str
    caption: str
    cells: tuple[Cell, ...]
    header: tuple[str, ...]
    rows: Callable[[Results], list[tuple[str, ...]]]
    claims: tuple[str, ...]
    folded: bool = False


@dataclass(frozen=True, eq=False)
class Advice:
    """What follows for people who have to choose, computed from the runs."""

    cells: tuple[Cell, ...]
    sentences: Callable[[Results], list[str]]


@dataclass(frozen=True, eq=False)
class Plan:
    """What a study does in one mode."""

    claims: Sequence[Claim]
    figures: Sequence[Figure] = ()
    checks: Sequence[Check] = ()
    notes: Sequence[str] = ()
    """What the paper leaves open and how it is settled here, and what this mode shrinks."""
    tables: Sequence[Table] = ()
    advice: Advice | None = None
    intended: Sequence[Intended] = ()
    """How scenarios that are compared differ on purpose; in all else they are alike."""

    def cells(self) -> list[Cell]:
        """Every cell that something refers to, once.

        Raises:
            ValueError: two different cells have the same id.
        """
        cells: dict[str, Cell] = {}
        referred = [part.cells for claim in self.claims for part in claim.parts]
        referred += [figure.cells for figure in self.figures]
        referred += [check.cells for check in self.checks]
        referred += [table.cells for table in self.tables]
        referred += [self.advice.cells] if self.advice else []
        for cell in chain(*referred):
            if cells.setdefault(cell.id, cell) is not cell:
                raise ValueError(f"two cells are called {cell.id}")
        return list(cells.values())

    def asking(self, results: Results) -> list[Callable[[], object]]:
        """Whatever may ask for answers (see `asked`): what is measured or drawn without cells."""
        return [
            *(
                partial(part.judge, results)
                for claim in self.claims
                for part in claim.parts
                if not part.cells
            ),
            *(partial(c.measure, results) for c in self.checks if not c.cells),
            *(partial(t.rows, results) for t in self.tables if not t.cells),
            *(partial(f.draw, results) for f in self.figures if not f.cells),
        ]

    def only(self, prefixes: Sequence[str]) -> Plan:
        """The claims whose ids start with one of `prefixes`, and their figures.

        A number at the end of a prefix is whole: ``ads-1`` does not choose ``ads-10``.
        """
        if not prefixes:
            return self

        def chosen(name: str) -> bool:
            return any(
                name.startswith(p) and not (p[-1:].isdigit() and name[len(p) :][:1].isdigit())
                for p in prefixes
            )

        claims = [claim for claim in self.claims if chosen(claim.id)]
        figures = [figure for figure in self.figures if any(map(chosen, figure.claims))]
        tables = [table for table in self.tables if any(map(chosen, table.claims))]
        plan = Plan(claims, figures, (), self.notes, tables, intended=self.intended)
        needed = set(plan.cells())
        checks = [
            check
            for check in self.checks
            if needed.issuperset(check.cells)
            and (not check.claims or any(map(chosen, check.claims)))
        ]
        advice = self.advice
        if advice and not needed.issuperset(advice.cells):
            advice = None
        return replace(plan, checks=checks, advice=advice)


@dataclass(frozen=True, eq=False)
class Study:
    """A paper and how its claims are measured."""

    name: str
    title: str
    paper: str
    """The citation."""
    plan: Callable[[Mode], Plan] = field(repr=False)
