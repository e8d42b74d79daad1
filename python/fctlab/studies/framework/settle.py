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
from fctlab.studies.framework.asking import Asking
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
    asking: Asking | None = None,
) -> tuple[list[Judged], Results]:
    """Judge claims, those that stay open with ever more seeds.

    Args:
        claims: of a study.
        results: runs of all their cells with `FIRST` seeds.
        run: runs cells with so many seeds.
        most_seeds: no look is beyond.
        most_cpu_hours: of all runs together. Where another look at all that is open would lead
            beyond, those go on that are nearest to being settled, by their price.
        asking: makes claims anew with more seeds, where they ask instead of running cells.

    Returns:
        Each claim as its last look judged it, and all runs.
    """
    judged: dict[str, Judged] = {}
    open_ = list(claims)
    for look, seeds in enumerate(RULE.looks(), 1):
        if look > 1:
            open_ = asking.with_seeds(open_, seeds) if asking else open_
            cells = list(dict.fromkeys(cell for claim in open_ for cell in claim.cells))
            results = results.with_more(run(cells, seeds))
        seen = results.first(seeds)
        found = [claim.judge(seen, RULE.confidence(look), regions.judge) for claim in open_]
        if asking:
            asking.price(found)
        judged |= {each.claim.id: each for each in found}
        spent_s = sum(one.cpu_s for one in results.all)
        spent_s += asking.asked_s(*(each.claim for each in judged.values())) if asking else 0.0
        rest_s = most_cpu_hours * 3600 - spent_s
        open_ = _within(rest_s, [each for each in found if each.is_open], seen)
        if not open_ or 2 * seeds > most_seeds:
            break
    return [judged[claim.id] for claim in claims], results


def _within(rest_s: float, open_: Sequence[Judged], seen: Results) -> list[Claim]:
    """Claims that go on: the next look has as many seeds again, in cells that claims may share."""
    again: set[str] = set()
    chosen = []
    for each in sorted(open_, key=_hours):
        own = {run.cell for cell in each.claim.cells for run in seen.of(cell)} - again
        more_s = sum(one.cpu_s for one in seen.all if one.cell in own) + each.asked_s
        if more_s <= rest_s:
            rest_s -= more_s
            again |= own
            chosen.append(each.claim)
    return chosen


def _hours(judged: Judged) -> float:
    return judged.price[1] if judged.price else math.inf
