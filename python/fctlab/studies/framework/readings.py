"""Claims under every reading of their paper, on the same flows: which survive, and what decides.

A reading is a `Variant` of what the paper leaves open. What it does not change is not run again.
Claims whose verdict a reading changes are judged again in runs twice as long.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from fctlab.studies.framework import verdict
from fctlab.studies.framework.asking import NOTHING, Asking
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.judged import Judged
from fctlab.studies.framework.left_open import OWN, Choice, LeftOpen, Variant
from fctlab.studies.framework.longer import FACTOR, LONGER, TWICE
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Claim
from fctlab.studies.framework.verdict import Estimate, Number, Verdict


@dataclass(frozen=True)
class Read:
    """What was found under a reading.

    Attributes:
        variant: the reading.
        results: runs of the cells of all claims.
        judged: every claim by its id.
        cpu_s: of the runs that this reading does not share with the study's own.
    """

    variant: Variant
    results: Results
    judged: dict[str, Judged]
    cpu_s: float

    def verdict(self, claim: str) -> Verdict:
        """Of a claim."""
        return self.judged[claim].verdict

    def effects(self, claim: str, index: int) -> list[float]:
        """Of a part of a claim, seed by seed."""
        return self.judged[claim].parts[index][0].effects(self.results)

    @property
    def agreeing(self) -> int:
        """Claims that agree."""
        return sum(each.verdict is Verdict.AGREES for each in self.judged.values())


@dataclass(frozen=True)
class Left:
    """A reading for which the budget did not suffice, and about what it would take."""

    variant: Variant
    cpu_s: float


@dataclass(frozen=True)
class Decides:
    """A single change under which a claim's verdict is another.

    Attributes:
        choice: what is changed.
        verdict: of the claim then.
        moved: by what factor it moves the effect of the part that is weakest in the weaker of both
            verdicts, seed by seed on the same flows.
    """

    choice: Choice
    verdict: Verdict
    moved: Estimate


@dataclass(frozen=True)
class Readings:
    """Claims under all readings; the study's own comes first.

    Attributes:
        left_open: what the paper leaves open.
        claims: those of the paper that have runs, with the parts that count.
        read: readings that were tried.
        left: readings that were not, and longer runs of readings.
        longer: by reading and claim, where a reading changes the verdict: the verdict of runs twice
            as long as the study reads the paper, and under the reading.
    """

    left_open: LeftOpen
    claims: Sequence[Claim]
    read: Sequence[Read]
    left: Sequence[Left]
    longer: Mapping[tuple[str, str], tuple[Verdict, Verdict]] = field(default_factory=dict)
    longer_s: float = 0.0

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all readings, the study's own among them."""
        return math.fsum(read.cpu_s for read in self.read) + self.longer_s

    def counts(self, claim: str) -> Counter[Verdict]:
        """In how many readings a claim got which verdict."""
        return Counter(read.judged[claim].verdict for read in self.read)

    def deciding(self, claim: str) -> list[Decides]:
        """The single changes that change its verdict, and its effect by more than chance.

        Where it agrees as the study reads the paper, what leads farthest from that is first; else
        what leads nearest to it. Then comes what moves the effect most.
        """
        own = self.read[0]
        before = own.judged[claim]
        found = []
        for read in self.read[1:]:
            after = read.judged[claim]
            if len(read.variant.choices) == 1 and after.verdict is not before.verdict:
                moved = _moved(own, read, claim)
                if moved and not moved.low <= 1 <= moved.high:
                    found.append(Decides(read.variant.choices[0], after.verdict, moved))
        way = -1 if before.verdict is Verdict.AGREES else 1

        def order(one: Decides) -> tuple[int, float]:
            return way * one.verdict.weakness, -abs(math.log(one.moved.point))

        return sorted(found, key=order)

    def best(self, claim: str) -> Read:
        """The reading with the best verdict; of several the one with the fewest changes."""
        return min(
            self.read,
            key=lambda r: (r.judged[claim].verdict.weakness, len(r.variant.choices)),
        )

    @cached_property
    def nearest(self) -> Read:
        """The reading with most claims that agree, then the least `distance` to the paper."""
        return min(self.read, key=lambda read: (-read.agreeing, self.distance(read)))

    def distance(self, read: Read) -> float:
        """Mean of ``|log(here / paper)|``, over the numbers known under every reading.

        Infinite without any.
        """
        away = [
            abs(math.log(found.point / paper))
            for claim, index, paper in self._numbers
            if (found := read.judged[claim].parts[index][1].estimate)
        ]
        return math.fsum(away) / len(away) if away else math.inf

    @cached_property
    def _numbers(self) -> list[tuple[str, int, float]]:
        """Claims and indices of parts of which the paper gives the ratio, and that."""
        return [
            (claim.id, index, part.expected.ratio)
            for claim in self.claims
            for index, part in enumerate(claim.parts)
            if isinstance(part.expected, Number)
            and all(read.judged[claim.id].parts[index][1].estimate for read in self.read)
        ]


def tried(claims: Sequence[Claim], asking: bool = False) -> list[Claim]:
    """The paper's claims that have runs, with the parts that count; not those inside others.

    Where they are made by asking, those that have none as well.
    """
    own = [claim for claim in claims if not claim.beyond and "." not in claim.id]
    counting = [replace(c, parts=tuple(p for p in c.parts if p.counts), why=None) for c in own]
    return [claim for claim in counting if claim.cells or asking]


def read(
    claims: Sequence[Claim],
    left_open: LeftOpen,
    results: Results,
    run: Callable[[Sequence[Cell]], Results],
    max_cpu_hours: float,
    asking: Asking | None = None,
) -> Readings:
    """Judge claims under every reading that the budget allows.

    Args:
        claims: of a study.
        left_open: what its paper leaves open.
        results: runs of all cells as the study reads the paper.
        run: runs cells with the same seeds.
        max_cpu_hours: a reading that would lead beyond is left. The study's own runs count, and
            so does what was in the store already: what is done does not depend on when.
        asking: makes the claims instead, where they ask.
    """
    made = asking.claims(OWN) if asking else claims
    under = _Under(tried(made, bool(asking)), results, asking)
    done = [under.own()]
    spent, left = done[0].cpu_s, []
    for variant in left_open.variants()[1:]:
        changed = under.changed(variant)
        about = under.about(variant)
        if not changed and not about:
            continue  # it is about other claims
        if spent + about > max_cpu_hours * 3600:
            left.append(Left(variant, about))
            continue
        done.append(under.read(variant, run(changed) if changed else NOTHING))
        spent += done[-1].cpu_s
    longer, later, took = _longer(under, done, run, max_cpu_hours * 3600 - spent)
    return Readings(left_open, under.claims, done, [*left, *later], longer, took)


def own_s(claims: Sequence[Claim], results: Results, asking: Asking | None) -> float:
    """CPU seconds of the study's own reading."""
    cells = list(dict.fromkeys(cell for claim in tried(claims) for cell in claim.cells))
    return cpu_s(results, cells) + (asking.spent() if asking else 0.0)


class _Under:
    """Claims under readings.

    Args:
        claims: as the study reads the paper.
        results: runs of their cells.
        asking: makes them under other readings, where they ask.
    """

    def __init__(self, claims: Sequence[Claim], results: Results, asking: Asking | None) -> None:
        self.claims, self._asking = claims, asking
        self._cells = list(dict.fromkeys(cell for claim in claims for cell in claim.cells))
        self._results = Results(one for cell in self._cells for one in results.of(cell))

    def own(self) -> Read:
        """As the study reads the paper."""
        spent = cpu_s(self._results, self._cells) + (self._asking.spent() if self._asking else 0.0)
        return Read(OWN, self._results, _judged(self.claims, self._results), spent)

    def changed(self, variant: Variant) -> list[Cell]:
        """The cells that a reading changes."""
        pairs = zip(self._cells, variant.cells(self._cells), strict=True)
        return [after for before, after in pairs if after is not before]

    def about(self, variant: Variant) -> float:
        """CPU seconds that it takes, about."""
        return cpu_s(self._results, self.changed(variant)) + self.asked_s(variant)

    def asked_s(self, variant: Variant, only: Container[str] | None = None) -> float:
        """Those of what the claims, or some of them, ask for under it alone."""
        return self._asking.cpu_s(variant, only) if self._asking else 0.0

    def cells_of(self, only: Container[str]) -> list[Cell]:
        """Of some claims."""
        claims = (claim for claim in self.claims if claim.id in only)
        return list(dict.fromkeys(cell for claim in claims for cell in claim.cells))

    def made(self, variant: Variant, only: Container[str] | None = None) -> list[Claim]:
        """The claims under a reading, or some of them."""
        if self._asking:
            return tried(self._asking.claims(variant, only), True)
        return [claim for claim in self.claims if only is None or claim.id in only]

    def read(self, variant: Variant, found: Results) -> Read:
        """With runs of the cells that it changes."""
        judged = _judged(self.made(variant), results := self._results.with_more(found))
        took = math.fsum(run.cpu_s for run in found.all) + self.asked_s(variant)
        return Read(variant, results, judged, took)


Longer: TypeAlias = dict[tuple[str, str], tuple[Verdict, Verdict]]


def _longer(
    under: _Under,
    done: Sequence[Read],
    run: Callable[[Sequence[Cell]], Results],
    cpu_s_left: float,
) -> tuple[Longer, list[Left], float]:
    """Runs twice as long of the claims whose verdict a reading changes, and what was left."""
    own, begin = done[0], cpu_s_left
    long = Results(())
    found: Longer = {}
    left = []
    for read in done[1:]:
        other = {id for id, each in read.judged.items() if each.verdict is not own.verdict(id)}
        if not other:
            continue
        cells = under.cells_of(other)
        there = {each.cell for each in long.all}
        wanted = LONGER.cells([cell for cell in cells if cell.id not in there])
        variant = Variant((*read.variant.choices, TWICE))
        asked = under.asked_s(LONGER, other) + under.asked_s(variant, other)
        about = FACTOR * (cpu_s(own.results, wanted) + cpu_s(read.results, cells)) + asked
        if about > cpu_s_left:
            left.append(Left(variant, about))
            continue
        long = long.with_more(run(wanted)) if wanted else long
        there_too = run(variant.cells(cells)) if cells else long
        before = _judged(under.made(LONGER, other), long)
        after = _judged(under.made(variant, other), there_too)
        asked = under.asked_s(LONGER, other) + under.asked_s(variant, other)
        cpu_s_left -= cpu_s(long, wanted) + asked
        cpu_s_left -= cpu_s(there_too, cells)
        for id in before:
            found[read.variant.name, id] = before[id].verdict, after[id].verdict
    return found, left, begin - cpu_s_left


def _judged(claims: Sequence[Claim], results: Results) -> dict[str, Judged]:
    return {claim.id: claim.judge(results) for claim in claims}


def cpu_s(results: Results, cells: Sequence[Cell]) -> float:
    """CPU seconds of all runs of cells."""
    return math.fsum(run.cpu_s for cell in cells for run in results.of(cell))


def _moved(own: Read, other: Read, claim: str) -> Estimate | None:
    """The factor between both readings of the effect that the weaker verdict rests on."""
    both = own.judged[claim], other.judged[claim]
    index = max(both, key=lambda judged: judged.verdict.weakness).decisive_index
    before, after = (read.effects(claim, index) for read in (own, other))
    known = all(math.isfinite(x) and x > 0 for x in (*before, *after))
    if not known or len(before) != len(after):
        return None  # where a reading leaves out scenarios there are no pairs
    return verdict.estimate([b / a for a, b in zip(before, after, strict=True)])
