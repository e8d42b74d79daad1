"""Claims that ask instead of running cells, under any reading of their lab, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fctlab.studies.framework import asked
from fctlab.studies.framework.asked import Answers
from fctlab.studies.framework.left_open import OWN, Choice, Variant
from fctlab.studies.framework.longer import FACTOR, TWICE
from fctlab.studies.framework.runs import Results

if TYPE_CHECKING:
    from fctlab.results.points import Wanted
    from fctlab.studies.framework.judged import Judged
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
        self._own = {claim.id: keys for claim, keys, _ in self._noted(OWN)}

    def claims(self, variant: Variant, only: Container[str] | None = None) -> list[Claim]:
        """Under a reading, or some of them; whatever they ask for is there then."""
        while True:
            noted = self._noted(variant, only)
            missing = {one.key: one for _, _, missing in noted for one in missing}
            if not missing:
                return [claim for claim, _, _ in noted]
            self._answer(list(missing.values()))

    def cpu_s(self, variant: Variant, only: Container[str] | None = None) -> float:
        """CPU seconds of what they ask for under a reading, and not as the study reads the paper.

        About, where a claim misses answers: as much as what it asks for otherwise, of a length.
        One answer may decide what is asked next, so nobody knows what is missing.
        """
        noted = self._noted(variant, only)
        own = set().union(*self._own.values())
        keys = {key for _, keys, _ in noted for key in keys}
        known = {key for _, keys, missing in noted if not missing for key in keys} - own
        open_ = [self._own[claim.id] for claim, _, missing in noted if missing]
        longer = FACTOR if TWICE in variant.choices else 1
        return self._cost(known) + longer * self._cost(set().union(*open_) - keys)

    def with_seeds(self, claims: Iterable[Claim], seeds: int) -> list[Claim]:
        """Those that take more seeds: what they ask for is there then; cells are the caller's."""
        chosen = list(claims)
        by_seed = {each.id for each in chosen if any(part.by_seed for part in each.parts)}
        choice = Choice(f"{seeds} seeds", f"{seeds} seeds", settings={"seeds": seeds})
        found = self.claims(Variant((choice,)), by_seed) if by_seed else []
        made = {each.id: each for each in found}
        return [made.get(each.id, each) for each in chosen if each.id in made or each.cells]

    def asked_s(self, *claims: Claim) -> float:
        """CPU seconds of what claims ask for by seed, which is there."""
        with self._answers.noting() as keys:
            for claim in claims:
                for part in claim.parts:
                    if part.by_seed:
                        part.effects(NOTHING)
        return self._cost(keys)

    def price(self, judged: Iterable[Judged]) -> None:
        """Notes what each claim's answers took, from which follows what more seeds take."""
        for each in judged:
            each.asked_s = self.asked_s(each.claim)

    def spent(self) -> float:
        """CPU seconds of what they ask for as the study reads the paper."""
        return self._cost(set().union(*self._own.values()))

    def _cost(self, keys: Iterable[str]) -> float:
        return math.fsum(self._answers.cpu_s(key) or 0.0 for key in keys)

    def _noted(
        self, variant: Variant, only: Container[str] | None = None
    ) -> list[tuple[Claim, set[str], list[Wanted]]]:
        """The claims, what each asks for by key, and what of it is missing."""
        found = []
        for claim in self._make(variant.reading):
            if only is None or claim.id in only:
                with self._answers.noting() as keys:
                    parts = [part for part in claim.parts if not part.cells]
                    asking = [partial(part.effects, NOTHING) for part in parts]
                    _, missing = asked.unanswered(asking)
                found.append((claim, set(keys), missing))
        return found
