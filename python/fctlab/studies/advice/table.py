"""The decision table: which scheme, when, how sure that is, and what flips it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fctlab.studies.advice import decide
from fctlab.studies.advice.decide import Deciding, Decision, Winner
from fctlab.studies.advice.setting import BASE, GROUPS, SCHEMES, Lab, Scheme, Setting, everywhere
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.runs import Results, Run, metric
from fctlab.studies.framework.study import Mode

if TYPE_CHECKING:
    from numpy.typing import NDArray

AIMS: Mapping[str, Callable[[Run], float]] = {
    "short flows on average": metric("avg_fct_s", "small"),
    "short flows at p99": metric("p99_fct_s", "small"),
    "all flows on average": metric("avg_fct_s"),
}
DECISIONS = len(GROUPS) * len(AIMS)
WITHIN = 0.05
"""Of the best scheme's completion times: as good as the best."""


def cells(lab: Lab) -> tuple[Cell, ...]:
    """Every scheme in every setting, those that are held back last."""
    scale = lab.scale
    made = [cell for each in lab.sampled for cell in lab.cells_of(each, scale.host_mb)]
    tried = [cell for each in lab.held_back for cell in lab.cells_of(each, scale.held_back_mb)]
    return (*made, *tried)


@dataclass(frozen=True)
class Question:
    """What somebody wants who can have some schemes.

    Attributes:
        group: what they can have, by its name.
        aim: by its name.
    """

    group: str
    aim: str

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """That they can have."""
        return GROUPS[self.group]

    def decided(self, lab: Lab, costs: NDArray[np.float64]) -> Answer:
        """Their table, from the costs of all schemes in all settings under each seed."""
        columns = [SCHEMES.index(scheme) for scheme in self.schemes]
        number = len(lab.sampled)
        own = _mean(costs[:, columns])
        decision = deciding(lab.mode).decide(own[:number], DECISIONS)
        over = _mean(costs[:number, [SCHEMES.index(BASE)]]) ** -1 * own[:number]
        return Answer(self, decision, costs[number:, columns], lab.held_back, over)


@functools.cache
def deciding(mode: Mode) -> Deciding:
    """What all questions of a mode share."""
    factors = [each.factors for each in Lab(mode).sampled]
    return Deciding(factors, [each.factors for each in everywhere()])


@dataclass(frozen=True)
class Answer:
    """A question's part of the table.

    Attributes:
        question: what it answers.
        decision: by settings.
        held_back: costs there under each seed, and
        settings: these settings.
        over_base: costs in the sample as shares of the base's.
    """

    question: Question
    decision: Decision
    held_back: NDArray[np.float64]
    settings: Sequence[Setting]
    over_base: NDArray[np.float64]

    @property
    def near(self) -> float:
        """The share of settings held back in which the advice is as good as the best."""
        factors = [each.factors for each in self.settings]
        return decide.near(self.decision, _mean(self.held_back), factors, WITHIN)

    @property
    def by_another_seed(self) -> float | None:
        """The same of the scheme that is best in the setting itself, under another seed."""
        by_seed = [self.held_back[:, :, seed] for seed in range(self.held_back.shape[2])]
        found = [
            decide.near_best(one.argmin(axis=1), other, WITHIN)
            for one, other in itertools.permutations(by_seed, 2)
        ]
        return float(np.mean(found)) if found else None

    def scheme(self, choice: int) -> Scheme:
        """Of a choice."""
        return self.question.schemes[choice]

    def gain(self, winner: Winner) -> float:
        """What it changes against the base where it is advised: ``-0.3`` is 30% less."""
        logs = np.log(self.over_base[list(winner.settings), winner.choice])
        return float(np.exp(logs.mean()) - 1)


def when(winner: Winner) -> str:
    """For which settings a winner is."""
    told = " and ".join(question.words(answer) for question, answer in winner.when)
    return told or "always"


def costs(
    lab: Lab, runs: Sequence[Sequence[Run]], of: Callable[[Run], float]
) -> NDArray[np.float64]:
    """Under each seed, the last axis: a row for each setting, a column for each scheme.

    Args:
        lab: says which settings.
        runs: of each of `cells`.
        of: what counts.
    """
    found = np.array([[of(run) for run in each] for each in runs])
    number = len(lab.sampled) + len(lab.held_back)
    return found.reshape(number, len(SCHEMES), -1)


def _mean(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Geometric means over the seeds."""
    mean: NDArray[np.float64] = np.exp(np.log(costs).mean(axis=2))
    return mean


def questions() -> list[Question]:
    """All of them."""
    return [Question(group, aim) for group in GROUPS for aim in AIMS]


def answers(lab: Lab, results: Results) -> list[Answer]:
    """The table."""
    runs = [results.of(cell) for cell in cells(lab)]
    by_aim = {aim: costs(lab, runs, of) for aim, of in AIMS.items()}
    return [each.decided(lab, by_aim[each.aim]) for each in questions()]


HEADER = (
    "you have",
    "you want",
    "when",
    "take",
    "against DCTCP",
    "wins in",
    "not told apart",
    "as good as the best elsewhere",
    "one seed by another",
)


def rows(found: Sequence[Answer]) -> list[tuple[str, ...]]:
    """A row for each winner, as wide as `HEADER`."""
    return [
        (
            answer.question.group,
            answer.question.aim,
            when(winner),
            answer.scheme(winner.choice).name,
            f"{answer.gain(winner):+.0%}",
            f"{winner.sure:.0%}",
            ", ".join(answer.scheme(k).name for k in winner.alike) or "-",
            f"{answer.near:.0%}",
            "-" if (by := answer.by_another_seed) is None else f"{by:.0%}",
        )
        for answer in found
        for winner in answer.decision
    ]


def sentences(found: Sequence[Answer]) -> list[str]:
    """One for each question: what to take, how sure, and what flips it."""
    return [_sentence(answer) for answer in found]


def _sentence(answer: Answer) -> str:
    asked = f"{answer.question.group[0].upper()}{answer.question.group[1:]}, {answer.question.aim}"
    parts = [_taken(answer, winner) for winner in answer.decision]
    flips = dict.fromkeys(q.factor for winner in answer.decision for q, _ in winner.when)
    told = f"{', '.join(flips)} flips it" if flips else "nothing that was tried flips it"
    return (
        f"{asked}: {'; '.join(parts)}; {told}. As good as the best in {answer.near:.0%} elsewhere."
    )


def _taken(answer: Answer, winner: Winner) -> str:
    scheme = answer.scheme(winner.choice)
    where = f" with {when(winner)}" if winner.when else ""
    alike = ", ".join(answer.scheme(k).name for k in winner.alike)
    also = f", not told apart: {alike}" if alike else ""
    gain = f"{answer.gain(winner):+.0%} against {BASE.name}, wins in {winner.sure:.0%}{also}"
    sizes = "sizes, and " if scheme.sizes else ""
    return f"{scheme.name}{where} ({gain}; needs {sizes}{scheme.needs})"
