"""Claims that ask instead of running cells, under any reading of their lab, and what that costs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fctlab.studies.framework import asked
from fctlab.studies.framework.asked import Answers
from fctlab.studies.framework.left_open import OWN, Variant
from fctlab.studies.framework.longer import FACTOR, TWICE
from fctlab.studies.framework.runs import Results

if TYPE_CHECKING:
    from fctlab.results.points import Wanted
    from fctlab.studies.framework.reading import Reading
    from fctlab.studies.framework.study import Claim

NOTHING = Results(())


class Asking:
    """Makes a study's claims anew under a reading, and has what they ask for answered.

    Args:
        make: the paper's claims under a reading.
        answers: that there are.
        answer: computes answers that are missing.
    """

    def __init__(
        self,
        make: Callable[[Reading], Sequence[Claim]],
        answers: Answers,
        answer: Callable[[Sequence[Wanted]], object],
    ) -> None:
        self._make, self._answers, self._answer = make, answers, answer
        self._own, _ = self._noted(OWN)

    def claims(self, variant: Variant, only: Container[str] | None = None) -> list[Claim]:
        """Under a reading, or some of them; whatever they ask for is there then."""
        while True:
            _, missing = self._noted(variant, only)
            if not missing:
                return self._made(variant, only)
            self._answer(missing)

    def cpu_s(self, variant: Variant, only: Container[str] | None = None) -> float:
        """CPU seconds of what they ask for under a reading, and not as the study reads the paper.

        About, where it is not there yet: as much as such an answer takes on average, of a length.
        """
        keys, _ = self._noted(variant, only)
        means, longer = self._means(), FACTOR if TWICE in variant.choices else 1

        def cost(key: str, one: Wanted) -> float:
            known = self._answers.cpu_s(key)
            return longer * means.get(_about(one), 0.0) if known is None else known

        return math.fsum(cost(key, one) for key, one in keys.items() if key not in self._own)

    def spent(self) -> float:
        """CPU seconds of what they ask for as the study reads the paper."""
        return math.fsum(self._answers.cpu_s(key) or 0.0 for key in self._own)

    def _made(self, variant: Variant, only: Container[str] | None) -> list[Claim]:
        return [c for c in self._make(variant.reading) if only is None or c.id in only]

    def _noted(
        self, variant: Variant, only: Container[str] | None = None
    ) -> tuple[Mapping[str, Wanted], list[Wanted]]:
        """What they ask for by key, and what of it is missing."""
        with self._answers.noting() as keys:
            claims = self._made(variant, only)
            parts = (part for claim in claims for part in claim.parts if not part.cells)
            _, missing = asked.unanswered([partial(part.effects, NOTHING) for part in parts])
        return keys, missing

    def _means(self) -> dict[str, float]:
        """What an answer takes on average as the study reads the paper, by function."""
        costs: dict[str, list[float]] = defaultdict(list)
        for key, one in self._own.items():
            if (cost := self._answers.cpu_s(key)) is not None:
                costs[_about(one)].append(cost)
        return {name: math.fsum(each) / len(each) for name, each in costs.items()}


def _about(wanted: Wanted) -> str:
    """The function that is asked."""
    name: str = wanted.given["function"]["name"]
    return name
