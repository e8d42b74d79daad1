"""More seeds for claims that are open, until their whole intervals settle them.

What settled means is in `fctlab.studies.framework.regions`. Looks are at 5, 10, 20, ... seeds and
at no other number, and each asks for more confidence than the one before
(`fctlab.sweep.looks.Decided`): the chance that a part is ever settled wrongly is at most 5%,
however often one goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from fctlab.studies.framework import regions
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.judged import Judged
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Claim
from fctlab.sweep.looks import Decided

RULE = Decided(margin=0.0)
FIRST = next(RULE.looks())
"""Seeds of the first look."""


def settle(
    claims: Sequence[Claim],
    results: Results,
    run: Callable[[Sequence[Cell], int], Results],
    most_seeds: int,
    most_cpu_hours: float = math.inf,
) -> tuple[list[Judged], Results]:
    """Judge claims, those that stay open with ever more seeds.

    Args:
        claims: of a study.
        results: runs of all their cells with `FIRST` seeds.
        run: runs cells with so many seeds.
        most_seeds: no look is beyond.
        most_cpu_hours: no look follows that would lead beyond.

    Returns:
        Each claim as its last look judged it, and all runs.
    """
    judged: dict[str, Judged] = {}
    open_ = list(claims)
    for look, seeds in enumerate(RULE.looks(), 1):
        if look > 1:
            cells = list(dict.fromkeys(cell for claim in open_ for cell in claim.cells))
            results = results.with_more(run(cells, seeds))
        seen = results.first(seeds)
        found = [claim.judge(seen, RULE.confidence(look), regions.judge) for claim in open_]
        judged |= {each.claim.id: each for each in found}
        open_ = [each.claim for each in found if each.is_open]
        # The next look has as many seeds again.
        again = {run.cell for claim in open_ for cell in claim.cells for run in seen.of(cell)}
        more = sum(one.cpu_s for one in seen.all if one.cell in again)
        spent = sum(one.cpu_s for one in results.all)
        if not open_ or 2 * seeds > most_seeds or spent + more > most_cpu_hours * 3600:
            break
    return [judged[claim.id] for claim in claims], results
