"""A table that people can read, of what is predicted: few questions, and choices for answers.

The first question is the best with the best second ones behind it (a question may help only
together with another), and so on below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fctlab.studies.advice.predict import Factors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]
    Mask: TypeAlias = NDArray[np.bool_]

DEPTH = 3
"""Questions one after the other, at most."""
GAIN = 0.001
"""By which a question has to lower the mean regret: its price."""
SHARE = 1 / 40
"""Of all settings on either side of a question, at least."""
LEAST = 8
"""Settings that were tried on either side, at least."""
CUTS = 15
"""Places at which a number is cut, at most."""


@dataclass(frozen=True)
class Question:
    """Whether a number is below `at`, or a name is `at`."""

    factor: str
    at: float | str

    def holds(self, factors: Factors) -> bool:
        """Of a setting."""
        value = factors[self.factor]
        return value == self.at if isinstance(self.at, str) else float(value) < self.at

    def words(self, yes: bool) -> str:
        """``"load below 0.72"``, or what it means that it does not hold."""
        if isinstance(self.at, str):
            return f"{self.factor} {'' if yes else 'not '}{self.at}"
        return f"{self.factor} {'below' if yes else 'from'} {self.at:.3g}"


When: TypeAlias = "tuple[tuple[Question, bool], ...]"


class Table:
    """Questions to settings.

    Args:
        elsewhere: settings that fill the space.
        tried: those that were tried.
    """

    def __init__(self, elsewhere: Sequence[Factors], tried: Sequence[Factors]) -> None:
        self._questions = list(_questions(elsewhere))
        self._holds = _answers(self._questions, elsewhere)
        self._tried = _answers(self._questions, tried)

    def leaves(self, regret: Array, depth: int = DEPTH) -> list[tuple[int, When]]:
        """Choices, and the questions with answers that lead to each.

        Args:
            regret: predicted elsewhere, a row for each setting, a column for each choice.
            depth: questions one after the other, at most.
        """
        everywhere = (np.ones(len(regret), bool), np.ones(self._tried.shape[1], bool))
        return list(self._grown(regret, *everywhere, (), depth))

    def _grown(
        self, regret: Array, among: Mask, tried: Mask, when: When, depth: int
    ) -> Iterator[tuple[int, When]]:
        best = self._split(regret, among, tried, depth)
        if best is None:
            yield int(regret[among].sum(axis=0).argmin()), when
            return
        for answer in (True, False):
            inside = among & (self._holds[best] == answer)
            there = tried & (self._tried[best] == answer)
            asked = (*when, (self._questions[best], answer))
            yield from self._grown(regret, inside, there, asked, depth - 1)

    def _split(self, regret: Array, among: Mask, tried: Mask, depth: int) -> int | None:
        """The first question, if there is one that helps enough."""
        if depth == 0:
            return None
        without = float(regret[among].sum(axis=0).min())
        costs = self._after(regret, among, tried)
        if depth > 1:
            for i in np.flatnonzero(np.isfinite(costs)):
                sides = ((among & side, tried & there) for side, there in self._sides(int(i)))
                costs[i] = sum(self._least(regret, *side) for side in sides)
        best = int(costs.argmin())
        return best if without - costs[best] > GAIN * len(regret) else None

    def _sides(self, question: int) -> tuple[tuple[Mask, Mask], tuple[Mask, Mask]]:
        holds, tried = self._holds[question], self._tried[question]
        return (holds, tried), (~holds, ~tried)

    def _least(self, regret: Array, among: Mask, tried: Mask) -> float:
        """The sum of regrets with one question and its price, or with none."""
        asked = self._after(regret, among, tried).min() + GAIN * len(regret)
        return float(min(regret[among].sum(axis=0).min(), asked))

    def _after(self, regret: Array, among: Mask, tried: Mask) -> Array:
        """The sum of regrets after each question; infinite where a side is too small."""
        whole, holds = regret[among].sum(axis=0), self._holds[:, among]
        inside = holds.astype(float) @ regret[among]
        costs: Array = inside.min(axis=1) + (whole - inside).min(axis=1)
        number, known = holds.sum(axis=1), self._tried[:, tried].sum(axis=1)
        small = np.minimum(number, among.sum() - number) < SHARE * len(regret)
        few = np.minimum(known, tried.sum() - known) < LEAST
        costs[small | few] = np.inf
        return costs


def _answers(questions: Sequence[Question], factors: Sequence[Factors]) -> Mask:
    """A row for each question, a column for each setting."""
    return np.array([[each.holds(known) for known in factors] for each in questions], bool)


def _questions(factors: Sequence[Factors]) -> Iterator[Question]:
    """Every question that parts settings: between numbers, and about each name."""
    for factor in factors[0]:
        values = [each[factor] for each in factors]
        if isinstance(values[0], str):
            yield from (Question(factor, name) for name in dict.fromkeys(map(str, values)))
            continue
        ordered = np.unique(np.array(values, dtype=float))
        between = (ordered[1:] + ordered[:-1]) / 2
        chosen = np.linspace(0, len(between) - 1, min(CUTS, len(between))).round().astype(int)
        yield from (Question(factor, float(between[i])) for i in np.unique(chosen))
