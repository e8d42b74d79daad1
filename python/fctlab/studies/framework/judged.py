"""A claim with what was found: its verdict, and both in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fctlab.studies.framework.runs import NotRun
from fctlab.studies.framework.verdict import CONFIDENCE, Bound, Finding, Verdict

if TYPE_CHECKING:
    from fctlab.studies.framework.cells import Cell
    from fctlab.studies.framework.runs import Results, Run
    from fctlab.studies.framework.study import Claim, Part


def hosts(topology: Mapping[str, Any]) -> int | None:
    """How many hosts a resolved topology has; ``None`` for one of another kind."""
    match topology["kind"]:
        case "star":
            return int(topology["senders"]) + 1
        case "leaf-spine":
            return int(topology["leaves"]) * int(topology["hosts_per_leaf"])
        case "fat-tree":
            return int(topology["k"]) ** 3 // 4
    return None


def _measured(run: Run) -> float:
    """How many of its flows count."""
    return float(run.extras["measured"]["flows"])


MOST_NAMED = 4
"""Parts that a sentence names, at most."""


class Judged:
    """A claim with what was found.

    Attributes:
        claim: what the paper says.
        parts: each with what was found.
        confidence: of the intervals that the verdicts rest on.
        asked_s: CPU seconds of what it asks for instead of running cells, all seeds together.
    """

    def __init__(
        self,
        claim: Claim,
        parts: Sequence[tuple[Part, Finding]],
        results: Results,
        confidence: float = CONFIDENCE,
    ) -> None:
        self.claim = claim
        self.parts = parts
        self.confidence = confidence
        self.asked_s = 0.0
        self._results = results

    @property
    def verdict(self) -> Verdict:
        """That of the weakest part."""
        return self.decisive[1].verdict

    @property
    def is_open(self) -> bool:
        """Whether more seeds could change the verdict.

        Not where a part differs for sure, and not for what has no runs or rests on flows that do
        not finish.
        """
        return bool(self._open())

    def _open(self) -> list[Finding]:
        """Of parts that more seeds could settle, where that could change the verdict."""
        if self.verdict is Verdict.DIFFERS:
            return []
        counting = [found for part, found in self.parts if part.counts and part.takes_seeds]
        return [found for found in counting if found.bound is Bound.NONE and not found.settled]

    @property
    def price(self) -> tuple[int, float] | None:
        """Seeds that would settle it and CPU hours more that they take.

        ``None`` where it is settled, and where no number of seeds of this size would do.
        """
        needed = [found.seeds_needed for found in self._open()]
        if not needed or None in needed:
            return None
        seeds = max(each for each in needed if each is not None)
        return seeds, (seeds - self.seeds) * self.cpu_s_per_seed / 3600

    @property
    def cpu_s_per_seed(self) -> float:
        """CPU seconds of one seed of its cells, and of what it asks for."""
        runs = [run for cell in self.claim.cells for run in self._results.of(cell)]
        return (sum(run.cpu_s for run in runs) + self.asked_s) / max(1, self.seeds)

    @property
    def seeds(self) -> int:
        """How many its cells were run with, or it asked for; 0 without any."""
        runs = [len(self._results.of(cell)) for cell in self.claim.cells]
        asked = [
            found.estimate.seeds for part, found in self.parts if part.by_seed and found.estimate
        ]
        return max([*runs, *asked], default=0)

    @property
    def decisive(self) -> tuple[Part, Finding]:
        """The part that the verdict rests on: the first of the weakest that count."""
        return self.parts[self.decisive_index]

    @property
    def decisive_index(self) -> int:
        """Where it is among the parts."""
        counting = [i for i, (part, _) in enumerate(self.parts) if part.counts]
        return max(counting, key=lambda i: self.parts[i][1].verdict.weakness)

    @property
    def flows_per_host(self) -> tuple[float, float] | None:
        """How many measured flows per host the runs behind it had, means over seeds: least, most.

        How long runs are and how large a fabric is decides what a number is worth. ``None``
        where nothing was run.
        """
        means = [self._results.mean(cell, _measured) / number for cell, number in self._fabrics()]
        return (min(means), max(means)) if means else None

    @property
    def hosts(self) -> tuple[int, int] | None:
        """How many the fabrics of these runs had: least and most."""
        numbers = [number for _, number in self._fabrics()]
        return (min(numbers), max(numbers)) if numbers else None

    def _fabrics(self) -> list[tuple[Cell, int]]:
        """Cells of the parts that count, and their hosts."""
        cells = dict.fromkeys(c for part in self.claim.parts if part.counts for c in part.cells)
        found = ((cell, hosts(self._results.of(cell)[0].scenario["topology"])) for cell in cells)
        return [(cell, number) for cell, number in found if number]

    @property
    def here(self) -> str:
        """What was found, as people write it."""
        counting = [(part, finding) for part, finding in self.parts if part.counts]
        if len(counting) == 1:
            return effect(*counting[0])
        if len(counting) <= 4:
            return "; ".join(f"{part.name} {effect(part, finding)}" for part, finding in counting)
        tally = {v: sum(f.verdict is v for _, f in counting) for v in Verdict}
        words = {Verdict.AGREES: "agree", Verdict.DIFFERS: "differ"}
        return f"of {len(counting)} parts " + ", ".join(
            f"{number} {words.get(v, v.value)}" for v, number in tally.items() if number
        )

    @property
    def why(self) -> str:
        """How the verdict comes about; empty where everything agrees, unless `Claim.told`."""
        bounds = self._bounds()
        if self.verdict in (Verdict.AGREES, Verdict.COMPUTED):
            told = self._explained() if self.claim.told else ""
            return " ".join(filter(None, (bounds, self._needed(), told)))
        part, finding = self.decisive
        sentences = [bounds, self._decided_by(part, finding), self._needed()]
        sentences.append(self._likewise(part, finding))
        if self.claim.why:
            sentences.append(self._explained())
        elif part.cells and finding.verdict is not Verdict.UNDECIDED:
            # Of many loads the last, which is the highest.
            sentences.append(self._results.compared(part.cells[-2:]))
        return " ".join(filter(None, sentences))

    def _explained(self) -> str:
        """What the claim says of itself; it may rest on cells of other claims."""
        try:
            return self.claim.why(self._results) if self.claim.why else ""
        except NotRun:
            return "What explains it was not run: --only left it out."

    def _bounds(self) -> str:
        """Which parts rest on flows that had not finished."""
        names = [part.name for part, found in self.parts if found.bound is not Bound.NONE]
        if not names:
            return ""
        what = ", ".join(names[:MOST_NAMED]) if len(self.parts) > 1 else "the effect"
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        words = "rests" if len(names) == 1 else "rest"
        return f"{what}{more} {words} on lower bounds: flows had not finished."

    def _decided_by(self, part: Part, finding: Finding) -> str:
        """Which part it was, if there are several."""
        if finding.estimate is None:
            return f"{part.name}: no flows to compare."
        sentence = ""
        if sum(p.counts for p in self.claim.parts) > 1:
            paper = f", paper {part.paper}" if part.paper else ""
            found = f"{effect(part, finding)} {interval(part, finding)}".strip()
            sentence = f"{part.name}: {found}{paper}."
        if finding.nothing is not None:
            return f"{sentence} No effect: less than {finding.nothing:.1%} either way.".strip()
        return sentence

    def _needed(self) -> str:
        """What would settle it, where it is open."""
        if not self.is_open:
            return ""
        if self.price is None:
            few = self.seeds < 2
            return "It takes at least 2 seeds." if few else "More seeds of this size would not do."
        seeds, hours = self.price
        cost = f", {hours:.2g} CPU hours more" if hours >= 0.01 else ""
        return f"About {seeds} seeds would settle it{cost}."

    def _likewise(self, decisive: Part, finding: Finding) -> str:
        """Other parts that are no better than the one that decided."""
        others = [
            f"{part.name} {effect(part, found)}"
            for part, found in self.parts
            if part.counts and part is not decisive and found.verdict is finding.verdict
        ]
        if not others:
            return ""
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        return f"So {'is' if len(others) == 1 else 'are'} {', '.join(others[:MOST_NAMED])}{more}."


def effect(part: Part, finding: Finding) -> str:
    """The point estimate: ``"9.12x"``, or ``"+6.6%"``; ``"> 9.12x"`` where it is a lower bound."""
    if finding.estimate is None:
        return "-"
    if finding.bound is Bound.NOT_KNOWN:
        return "not known"
    sign: str = finding.bound.value
    return f"{sign} {written(part, finding.estimate.point)}".strip()


def interval(part: Part, finding: Finding) -> str:
    """The 95% interval: ``"[8.31x, 10.0x]"``; empty for what was computed, and for a bound."""
    found = finding.estimate
    if found is None or finding.bound is not Bound.NONE:
        return ""
    if part.is_number and found.low == found.high:
        return ""
    return f"[{written(part, found.low)}, {written(part, found.high)}]"


def shown(part: Part, results: Results) -> str:
    """A part's effect and interval, for sentences."""
    finding = part.judge(results)
    return f"{effect(part, finding)} {interval(part, finding)}".strip()


def written(part: Part, value: float) -> str:
    """An effect as people write it."""
    if part.is_number and part.percent:
        return f"{value:.1%}"
    if part.is_number:
        measured = f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
        return measured if part.cells else f"{value:,g}"
    if math.isinf(value):
        return "inf"
    if part.percent:
        return f"{value - 1:+.1%}"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}x"
