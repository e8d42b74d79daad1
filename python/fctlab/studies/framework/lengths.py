"""Whether effects are converged: longer runs and wider fabrics against the study's own, by seed.

A run of a seed that is twice as long begins with the same flows, so both runs of a seed are a pair;
a fabric of twice the leaves has other flows. An effect is converged when a doubling moves it by
less than what would count as no effect (`regions.nothing`), and the interval of that move is
narrower than that to either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fctlab.studies.framework import regions, verdict
from fctlab.studies.framework.asking import Asking
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.left_open import OWN, Choice, Variant
from fctlab.studies.framework.longer import FACTOR, TWICE, WIDER
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Claim, Mode, Part
from fctlab.studies.framework.under import cpu_s, tried
from fctlab.studies.framework.verdict import Bound, Estimate

WAYS: Mapping[Mode, tuple[Choice, ...]] = {"quick": (TWICE, WIDER), "full": (TWICE,)}
"""What is doubled; fabrics are the papers' own in ``"full"``."""


@dataclass(frozen=True)
class Doubled:
    """A part of a claim, and what a doubling makes of its effect.

    Attributes:
        by: what is doubled.
        moved: the factor by which it moves the effect, over the seeds; ``None`` where an effect is
            not known.
        limit: the share that it has to stay within.
    """

    part: Part
    by: Choice
    moved: Estimate | None
    limit: float

    @property
    def excess(self) -> float:
        """The larger of move and half-width of its interval, as a share of the limit, in logs."""
        if self.moved is None:
            return math.inf
        low, point, high = (
            math.log(x) if 0 < x < math.inf else math.inf
            for x in (self.moved.low, self.moved.point, self.moved.high)
        )
        half = max(high - point, point - low) if math.isfinite(high) else math.inf
        return max(abs(point), half) / math.log1p(self.limit)


@dataclass(frozen=True)
class Converged:
    """Claims after doublings.

    Attributes:
        claims: of each the counting part and the doubling that are farthest from being converged,
            by its id.
        cpu_s: of the runs.
        left: doublings that the budget does not allow, and about what they would take.
    """

    claims: dict[str, Doubled]
    cpu_s: float
    left: Mapping[Choice, float]


def double(
    claims: Sequence[Claim],
    results: Results,
    run: Callable[[Sequence[Cell]], Results],
    max_cpu_hours: float,
    mode: Mode = "quick",
    asking: Asking | None = None,
) -> Converged:
    """Run the paper's claims twice as long, and on wider fabrics, and compare.

    Args:
        claims: of a study.
        results: runs of all cells as the study has them.
        run: runs cells with the same seeds.
        max_cpu_hours: a doubling is left where all would take more.
        mode: says what is doubled.
        asking: makes the claims instead, where they ask.
    """
    made = asking.claims(OWN) if asking else claims
    own = tried(made, bool(asking))
    cells = list(dict.fromkeys(cell for claim in own for cell in claim.cells))
    worst: dict[str, Doubled] = {}
    spent, left = 0.0, {}
    for way in WAYS[mode]:
        variant = Variant((way,))
        pairs = zip(cells, variant.cells(cells), strict=True)
        changed = [after for before, after in pairs if after is not before]
        asked = asking.cpu_s(variant) if asking else 0.0
        if not changed and not asked:
            continue
        about = FACTOR * cpu_s(results, changed) + asked
        if spent + about > max_cpu_hours * 3600:
            left[way] = about
            continue
        found = run(changed) if changed else Results(())
        there = tried(asking.claims(variant), True) if asking else own
        spent += cpu_s(found, changed) + (asking.cpu_s(variant) if asking else 0.0)
        for claim, other in zip(own, there, strict=True):
            parts = zip(claim.parts, other.parts, strict=True)
            seen = [_doubled(*both, way, results, results.with_more(found)) for both in parts]
            already = [worst[claim.id]] if claim.id in worst else []
            worst[claim.id] = max([*already, *seen], key=lambda each: each.excess)
    return Converged(worst, spent, left)


def _doubled(part: Part, other: Part, by: Choice, before: Results, after: Results) -> Doubled:
    least = regions.PART if part.is_number else regions.LEAST
    limit = regions.nothing(part.expected) or least
    own, own_bound = part.bounded(before)
    doubled, bound = other.bounded(after)
    positive = all(math.isfinite(x) and x > 0 for x in (*own, *doubled))
    if own_bound | bound is not Bound.NONE or not positive or len(own) != len(doubled):
        return Doubled(part, by, None, limit)
    moved = verdict.estimate([b / a for a, b in zip(own, doubled, strict=True)])
    return Doubled(part, by, moved, limit)
