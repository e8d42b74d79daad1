"""Which of several choices is best, and what flips that: from costs in a sample of settings.

The winner is the choice of the least mean regret: the log of its cost over the least cost in the
same setting, at most `MOST`. So one setting in which a choice takes thirty times as long weighs no
more than one in which it takes a third longer: in either another is to be taken. A question about
a setting (``load < 0.7``) flips it where asking lowers the mean regret by more than chance: a test
by permutation of the best of all questions, so that it does not matter how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.stats import ttest_1samp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]
    Mask: TypeAlias = NDArray[np.bool_]

Factors: TypeAlias = "Mapping[str, float | str]"
LEVEL = 0.05
"""The chance of a flip where there is none, in all decisions together; and of telling a choice
from the winner."""
MOST = 0.3
"""Regret beyond this counts as this."""
SHUFFLES = 999
RESAMPLES = 1000
LEAST = 6
"""Settings on either side of a question."""
CUTS = 9
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


@dataclass(frozen=True)
class Winner:
    """A choice for some settings.

    Attributes:
        choice: its index.
        sure: the share of resamples of the settings in which it wins.
        alike: choices that are not told apart from it, by Holm's rule over all of them.
        settings: indices of those that say so.
        when: questions that lead to it, and their answers.
    """

    choice: int
    sure: float
    alike: tuple[int, ...]
    settings: tuple[int, ...]
    when: tuple[tuple[Question, bool], ...] = ()

    def fits(self, factors: Factors) -> bool:
        """Whether it is for a setting."""
        return all(question.holds(factors) is answer for question, answer in self.when)


Decision: TypeAlias = "list[Winner]"
"""Winners for all that there is, each setting fitting one."""


def decide(
    costs: Array, factors: Sequence[Factors], decisions: int = 1, depth: int = 2
) -> Decision:
    """Which choice to take, by what is known of a setting.

    Args:
        costs: above zero, a row for each setting, a column for each choice.
        factors: of each setting.
        decisions: how many are made at once, over which `LEVEL` is shared.
        depth: questions one after the other, at most. Those after a question share its level: a
            wrong one among them is then no likelier than a wrong first one.
    """
    regret = np.minimum(np.log(costs) - np.log(costs).min(axis=1, keepdims=True), MOST)
    everything = np.arange(len(costs))
    return list(_decided(regret, factors, everything, (), LEVEL / decisions, depth))


def advised(decision: Decision, factors: Factors) -> int:
    """The choice for a setting."""
    return next(winner.choice for winner in decision if winner.fits(factors))


def near(decision: Decision, costs: Array, factors: Sequence[Factors], within: float) -> float:
    """In which share of settings the advice costs no more than the best choice and so much."""
    found = [row[advised(decision, each)] for row, each in zip(costs, factors, strict=True)]
    return float(np.mean(np.array(found) <= (1 + within) * costs.min(axis=1)))


def holm(p_values: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Which hypotheses fall, such that any true one does in `level` of cases at most."""
    fallen = [False] * len(p_values)
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if p_values[i] > level / (len(p_values) - rank):
            break
        fallen[i] = True
    return fallen


def _decided(
    regret: Array,
    factors: Sequence[Factors],
    among: NDArray[np.int64],
    when: tuple[tuple[Question, bool], ...],
    level: float,
    depth: int,
) -> Iterator[Winner]:
    """Winners for the settings `among`."""
    known = [factors[i] for i in among]
    question = _flip(regret[among], known, level) if depth else None
    if question is None:
        yield _winner(regret, among, when)
        return
    holds = np.array([question.holds(each) for each in known])
    for answer in (True, False):
        inside = among[holds == answer]
        asked = (*when, (question, answer))
        yield from _decided(regret, factors, inside, asked, level / 2, depth - 1)


def _winner(
    regret: Array, among: NDArray[np.int64], when: tuple[tuple[Question, bool], ...]
) -> Winner:
    own = regret[among]
    best = int(own.mean(axis=0).argmin())
    drawn = np.random.default_rng(0).integers(len(own), size=(RESAMPLES, len(own)))
    wins = own[drawn].mean(axis=1).argmin(axis=1) == best
    others = [k for k in range(own.shape[1]) if k != best]
    p_values = [_worse(own[:, k] - own[:, best]) for k in others]
    told = holm(p_values)
    alike = tuple(k for k, fallen in zip(others, told, strict=True) if not fallen)
    return Winner(best, float(wins.mean()), alike, tuple(map(int, among)), when)


def _worse(more: Array) -> float:
    """The chance of so much more, or yet more, where there is no difference on average."""
    if np.ptp(more) == 0:
        return 0.0 if more[0] > 0 else 1.0
    return float(ttest_1samp(more, 0, alternative="greater").pvalue)


def _flip(regret: Array, factors: Sequence[Factors], level: float) -> Question | None:
    """The question that lowers the mean regret most, if that is beyond chance."""
    asked = list(_questions(factors))
    masks = [[question.holds(each) for each in factors] for question in asked]
    fit = [i for i, mask in enumerate(masks) if LEAST <= sum(mask) <= len(mask) - LEAST]
    if not fit:
        return None
    sides = np.array([masks[i] for i in fit], dtype=float)
    found = _lower(sides, regret)
    rng = np.random.default_rng(0)
    chance = [_lower(sides, rng.permutation(regret)).max() for _ in range(SHUFFLES)]
    p_value = (1 + sum(gain >= found.max() - 1e-12 for gain in chance)) / (1 + SHUFFLES)
    return asked[fit[int(found.argmax())]] if p_value <= level else None


def _lower(sides: Array, regret: Array) -> Array:
    """By how much each question lowers the sum of regrets."""
    whole = regret.sum(axis=0)
    inside = sides @ regret
    best: Array = inside.min(axis=1) + (whole - inside).min(axis=1)
    return np.asarray(whole.min() - best)


def _questions(factors: Sequence[Factors]) -> Iterator[Question]:
    """Every question that parts settings: between numbers, and about each name."""
    for factor in factors[0]:
        values = [each[factor] for each in factors]
        if isinstance(values[0], str):
            yield from (Question(factor, name) for name in dict.fromkeys(values))
            continue
        ordered = np.unique(np.array(values, dtype=float))
        between = (ordered[1:] + ordered[:-1]) / 2
        chosen = np.linspace(0, len(between) - 1, min(CUTS, len(between))).round().astype(int)
        yield from (Question(factor, float(between[i])) for i in np.unique(chosen))
