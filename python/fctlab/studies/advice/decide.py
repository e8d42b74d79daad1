"""Which of several choices is best, and what flips that: from costs in a sample of settings.

The winner is the choice of the least mean regret: the log of its cost over the least cost in the
same setting, at most `MOST`. So one setting in which a choice takes thirty times as long weighs no
more than one in which it takes a third longer: in either another is to be taken. What a setting is
flips the winner where choices by predicted regrets (`predict`) have less of it than the winner,
by more than chance: a test by permutation of all settings, so that it does not matter how many
questions there are. Then a table (`tree`) says which questions to ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.stats import ttest_1samp

from fctlab.studies.advice import tree
from fctlab.studies.advice.predict import Factors, Smoother, left_out
from fctlab.studies.advice.tree import When

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

LEVEL = 0.05
"""The chance of a flip where there is none, in all decisions together; and of telling a choice
from the winner."""
MOST = 0.3
"""Regret beyond this counts as this."""
SHUFFLES = 999
RESAMPLES = 1000


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
    when: When = ()

    def fits(self, factors: Factors) -> bool:
        """Whether it is for a setting."""
        return all(question.holds(factors) is answer for question, answer in self.when)


Decision: TypeAlias = "list[Winner]"
"""Winners for all that there is, each setting fitting one."""


class Deciding:
    """Makes decisions from what was tried in the same settings.

    Args:
        factors: of the settings.
        elsewhere: of many more that fill the space, for which a table is to hold.
    """

    def __init__(self, factors: Sequence[Factors], elsewhere: Sequence[Factors]) -> None:
        self._factors = factors
        smoother = Smoother(factors)
        self._own, self._elsewhere = smoother.weights(factors), smoother.weights(elsewhere)
        self._table = tree.Table(elsewhere, factors)

    def decide(self, costs: Array, decisions: int = 1, depth: int = tree.DEPTH) -> Decision:
        """Which choice to take, by what is known of a setting.

        Args:
            costs: above zero, a row for each setting, a column for each choice.
            decisions: how many are made at once, over which `LEVEL` is shared.
            depth: questions one after the other, at most.
        """
        regret = np.minimum(np.log(costs) - np.log(costs).min(axis=1, keepdims=True), MOST)
        flips = depth > 0 and self._beyond_chance(regret, LEVEL / decisions)
        if flips:
            leaves = self._table.leaves(self._elsewhere @ regret, depth)
        else:
            leaves = [(int(regret.mean(axis=0).argmin()), ())]
        return [self._winner(regret, choice, when) for choice, when in leaves]

    def _beyond_chance(self, regret: Array, level: float) -> bool:
        """Whether it matters what a setting is."""
        rng = np.random.default_rng(0)
        found = self._lower(regret)
        chance = [self._lower(rng.permutation(regret)) for _ in range(SHUFFLES)]
        p_value = (1 + sum(gain >= found - 1e-12 for gain in chance)) / (1 + SHUFFLES)
        return p_value <= level

    def _lower(self, regret: Array) -> float:
        """By how much choosing for each setting, from all others, lowers the mean regret."""
        chosen = left_out(self._own, regret).argmin(axis=1)
        own = np.take_along_axis(regret, chosen[:, None], axis=1)
        return float(regret.mean(axis=0).min() - own.mean())

    def _winner(self, regret: Array, choice: int, when: When) -> Winner:
        known = Winner(choice, 1.0, (), (), when)
        among = [i for i, each in enumerate(self._factors) if known.fits(each)]
        own = regret[among]
        drawn = np.random.default_rng(0).integers(len(own), size=(RESAMPLES, len(own)))
        wins = own[drawn].mean(axis=1).argmin(axis=1) == choice
        others = [k for k in range(own.shape[1]) if k != choice]
        told = holm([_worse(own[:, k] - own[:, choice]) for k in others])
        alike = tuple(k for k, fallen in zip(others, told, strict=True) if not fallen)
        return Winner(choice, float(wins.mean()), alike, tuple(among), when)


def advised(decision: Decision, factors: Factors) -> int:
    """The choice for a setting."""
    return next(winner.choice for winner in decision if winner.fits(factors))


def near(decision: Decision, costs: Array, factors: Sequence[Factors], within: float) -> float:
    """In which share of settings the advice costs no more than the best choice and so much."""
    return near_best(np.array([advised(decision, each) for each in factors]), costs, within)


def near_best(choices: NDArray[np.int64], costs: Array, within: float) -> float:
    """The same of a choice for each setting."""
    found = np.take_along_axis(costs, choices[:, None], axis=1)[:, 0]
    return float(np.mean(found <= (1 + within) * costs.min(axis=1)))


def holm(p_values: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Which hypotheses fall, such that any true one does in `level` of cases at most."""
    fallen = [False] * len(p_values)
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if p_values[i] > level / (len(p_values) - rank):
            break
        fallen[i] = True
    return fallen


def _worse(more: Array) -> float:
    """The chance of so much more, or yet more, where there is no difference on average."""
    if np.ptp(more) == 0:
        return 0.0 if more[0] > 0 else 1.0
    return float(ttest_1samp(more, 0, alternative="greater").pvalue)
