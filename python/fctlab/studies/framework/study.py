"""What a study is: claims and figures, as data, about cells.

A `Cell` is a scenario that is run once per seed. A `Claim` has parts, each an effect
(a number per seed, taken from the runs of some cells with that seed) and what the paper
expects of it. A `Figure` draws cells. The cells of a study are those that its claims and
figures refer to; a cell that several refer to runs once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias

from fctlab.studies.framework import verdict
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.judged import Judged
from fctlab.studies.framework.left_open import LeftOpen
from fctlab.studies.framework.likeness import Intended
from fctlab.studies.framework.reading import Reading
from fctlab.studies.framework.runs import SLOWDOWN, Measure, Results, Run
from fctlab.studies.framework.verdict import (
    Bound,
    Computed,
    Exact,
    Expectation,
    Finding,
    Rule,
    Within,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from fctlab.studies.framework.pictures import Picture

Mode: TypeAlias = Literal["quick", "full"]
SEEDS: dict[Mode, int] = {"quick": 5, "full": 10}


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
        pooled: `measure` takes lists of runs, of all seeds, and gives one number.
        by_seed: it has no cells, and asks for one number per seed: as many as its lab says.
    """

    name: str
    paper: str
    expected: Expectation
    cells: tuple[Cell, ...]
    measure: Measure
    counts: bool = True
    percent: bool = False
    pooled: bool = False
    by_seed: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is a number in some unit, not a ratio."""
        return isinstance(self.expected, Exact | Within | Computed)

    @property
    def takes_seeds(self) -> bool:
        """Whether more seeds say more."""
        return bool(self.cells) or self.by_seed

    def effects(self, results: Results) -> list[float]:
        """The effect of every seed."""
        return self.bounded(results)[0]

    def bounded(self, results: Results) -> tuple[list[float], Bound]:
        """The same, and what it is if it rests on unfinished flows."""
        if self.cells:
            return results.bounded(self.cells, self.measure, self.pooled)
        found = self.measure()
        return [found] if isinstance(found, float | int) else list(found), Bound.NONE

    def judge(
        self, results: Results, confidence: float = verdict.CONFIDENCE, rule: Rule = verdict.judge
    ) -> Finding:
        """What the runs say about it, by a rule; of an interval of so much `confidence`."""
        effects, bound = self.bounded(results)
        if not self.takes_seeds:
            return verdict.judge(effects, self.expected, confidence)
        return verdict.judge_bounds(effects, self.expected, bound, confidence, rule)


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

    def judge(
        self, results: Results, confidence: float = verdict.CONFIDENCE, rule: Rule = verdict.judge
    ) -> Judged:
        """Judge every part."""
        parts = [(part, part.judge(results, confidence, rule)) for part in self.parts]
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
        draw: what it shows, or a drawing of matplotlib's.
        claims: ids of the claims that it belongs to.
    """

    id: str
    title: str
    caption: str
    cells: tuple[Cell, ...]
    draw: Callable[[Results], Picture | Drawing]
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
        """The claims whose ids start with one of `prefixes`.

        With them comes what is shown of their runs alone, and what belongs to no other claim. A
        number at the end of a prefix is whole: ``ads-1`` does not choose ``ads-10``.
        """
        if not prefixes:
            return self

        def chosen(name: str) -> bool:
            return any(
                name.startswith(p) and not (p[-1:].isdigit() and name[len(p) :][:1].isdigit())
                for p in prefixes
            )

        claims = [claim for claim in self.claims if chosen(claim.id)]
        needed = set(Plan(claims).cells())

        def fits(shown: Figure | Table | Check) -> bool:
            if all(map(chosen, shown.claims)):
                return bool(shown.claims) or needed.issuperset(shown.cells)
            # It takes no runs but theirs. What asks for answers may ask for others' as well.
            free = bool(shown.cells) and needed.issuperset(shown.cells)
            return free and any(map(chosen, shown.claims))

        advice = self.advice
        return replace(
            self,
            claims=claims,
            figures=list(filter(fits, self.figures)),
            tables=list(filter(fits, self.tables)),
            checks=list(filter(fits, self.checks)),
            advice=advice if advice and needed.issuperset(advice.cells) else None,
        )


@dataclass(frozen=True, eq=False)
class Study:
    """A paper and how its claims are measured."""

    name: str
    title: str
    paper: str
    """The citation."""
    plan: Callable[[Mode], Plan] = field(repr=False)
    left_open: LeftOpen = field(default=LeftOpen(), repr=False)
    """What the paper does not say, and what else is plausible."""
    asks: Callable[[Mode, Reading], Sequence[Claim]] | None = field(default=None, repr=False)
    """The paper's claims under a reading, where they ask instead of running cells."""
