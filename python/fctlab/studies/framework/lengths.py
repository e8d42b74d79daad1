"""Whether effects are converged: runs twice as long, seed by seed against the study's own.

A run of a seed that is twice as long begins with the same flows, so both runs of a seed are paired.
An effect is converged when the doubling moves it by less than what would count as no effect
(`regions.nothing`), and the interval of that move is narrower than that to either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fctlab.studies.framework import regions, verdict
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.longer import FACTOR, LONGER
from fctlab.studies.framework.readings import cpu_s, tried
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Claim, Part
from fctlab.studies.framework.verdict import Bound, Estimate


@dataclass(frozen=True)
class Doubled:
    """A part of a claim, and what runs twice as long make of its effect.

    Attributes:
        moved: the factor by which they move it, over the seeds; ``None`` where an effect is not
            known.
        limit: the share that it has to stay within.
    """

    part: Part
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
    """Claims after a doubling.

    Attributes:
        claims: of each the counting part that is farthest from being converged, by its id.
        cpu_s: of the longer runs; where they were not done, about what they would take.
        done: whether they were.
    """

    claims: dict[str, Doubled]
    cpu_s: float
    done: bool = True


def double(
    claims: Sequence[Claim],
    results: Results,
    run: Callable[[Sequence[Cell]], Results],
    max_cpu_hours: float,
) -> Converged:
    """Run the paper's claims twice as long, and compare.

    Args:
        claims: of a study.
        results: runs of all cells as the study has them.
        run: runs cells with the same seeds.
        max_cpu_hours: nothing is run where it would take more.
    """
    own = tried(claims)
    cells = list(dict.fromkeys(cell for claim in own for cell in claim.cells))
    pairs = zip(cells, LONGER.cells(cells), strict=True)
    changed = [after for before, after in pairs if after is not before]
    about = FACTOR * cpu_s(results, changed)
    if about > max_cpu_hours * 3600:
        return Converged({}, about, done=False)
    found = run(changed)
    both = results, results.with_more(found)
    worst = {}
    for claim in own:
        parts = [_doubled(part, *both) for part in claim.parts if part.cells]
        worst[claim.id] = max(parts, key=lambda each: each.excess)
    return Converged(worst, cpu_s(found, changed))


def _doubled(part: Part, before: Results, after: Results) -> Doubled:
    limit = regions.nothing(part.expected) or regions.LEAST
    own, own_bound = before.bounded(part.cells, part.measure)
    longer, bound = after.bounded(part.cells, part.measure)
    positive = all(math.isfinite(x) and x > 0 for x in (*own, *longer))
    if own_bound | bound is not Bound.NONE or not positive:
        return Doubled(part, None, limit)
    return Doubled(part, verdict.estimate([b / a for a, b in zip(own, longer, strict=True)]), limit)
