"""Claims under one reading of their paper: their cells so changed, or made anew where they ask."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from fctlab.studies.framework.asking import Asking
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.judged import Judged
from fctlab.studies.framework.left_open import OWN, Variant
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Claim
from fctlab.studies.framework.verdict import Verdict


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


class Under:
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
        return Read(OWN, self._results, judged(self.claims, self._results), spent)

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
        results = self._results.with_more(found)
        took = math.fsum(run.cpu_s for run in found.all) + self.asked_s(variant)
        return Read(variant, results, judged(self.made(variant), results), took)


def tried(claims: Sequence[Claim], asking: bool = False) -> list[Claim]:
    """The paper's claims that have runs, with the parts that count; not those inside others.

    Where they are made by asking, those that have none as well.
    """
    own = [claim for claim in claims if not claim.beyond and "." not in claim.id]
    counting = [replace(c, parts=tuple(p for p in c.parts if p.counts), why=None) for c in own]
    return [claim for claim in counting if claim.cells or asking]


def own_s(claims: Sequence[Claim], results: Results, asking: Asking | None) -> float:
    """CPU seconds of the study's own reading."""
    cells = list(dict.fromkeys(cell for claim in tried(claims) for cell in claim.cells))
    return cpu_s(results, cells) + (asking.spent() if asking else 0.0)


def judged(claims: Sequence[Claim], results: Results) -> dict[str, Judged]:
    """Claims by their ids."""
    return {claim.id: claim.judge(results) for claim in claims}


def cpu_s(results: Results, cells: Sequence[Cell]) -> float:
    """CPU seconds of all runs of cells."""
    return math.fsum(run.cpu_s for cell in cells for run in results.of(cell))
