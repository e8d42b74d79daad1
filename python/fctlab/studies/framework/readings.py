"""Claims under every reading of their paper, on the same flows: which survive, and what decides.

A reading is a `Variant` of what the paper leaves open. What it does not change is not run again.
Claims whose verdict a reading changes are judged again in runs twice as long.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from fctlab.studies.framework import verdict
from fctlab.studies.framework.asking import NOTHING, Asking
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.left_open import OWN, Choice, LeftOpen, Variant
from fctlab.studies.framework.longer import FACTOR, LONGER, TWICE
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Claim
from fctlab.studies.framework.under import Read, Under, cpu_s, judged, tried
from fctlab.studies.framework.verdict import Estimate, Number, Verdict


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
    under = Under(tried(made, bool(asking)), results, asking)
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


Longer: TypeAlias = dict[tuple[str, str], tuple[Verdict, Verdict]]


def _longer(
    under: Under,
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
        before = judged(under.made(LONGER, other), long)
        after = judged(under.made(variant, other), there_too)
        asked = under.asked_s(LONGER, other) + under.asked_s(variant, other)
        cpu_s_left -= cpu_s(long, wanted) + asked
        cpu_s_left -= cpu_s(there_too, cells)
        for id in before:
            found[read.variant.name, id] = before[id].verdict, after[id].verdict
    return found, left, begin - cpu_s_left


def _moved(own: Read, other: Read, claim: str) -> Estimate | None:
    """The factor between both readings of the effect that the weaker verdict rests on."""
    both = own.judged[claim], other.judged[claim]
    index = max(both, key=lambda judged: judged.verdict.weakness).decisive_index
    before, after = (read.effects(claim, index) for read in (own, other))
    known = all(math.isfinite(x) and x > 0 for x in (*before, *after))
    if not known or len(before) != len(after):
        return None  # where a reading leaves out scenarios there are no pairs
    return verdict.estimate([b / a for a, b in zip(before, after, strict=True)])
