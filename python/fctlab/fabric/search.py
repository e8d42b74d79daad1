"""A search for weights: a compass on their logarithms, every candidate on the same flows.

Which way is better is tried, class by class, up and down by a factor; where nothing is, the factor
becomes smaller. So it supposes nothing of how a class's loss hangs on its own weight.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from fctlab.fabric import judging, weights, windows
from fctlab.fabric.asked import Asked
from fctlab.fabric.types import Candidate, Error
from fctlab.fabric.weights import Weights
from fctlab.fabric.windows import Windows
from fctlab.jobs import Told

FACTOR = 2.0
LEAST_FACTOR = 1.15
GAIN = 1e-3
"""A loss that is smaller by less is the same."""


K = TypeVar("K", bound=Hashable)
Wanted: TypeAlias = tuple[str, Weights, Mapping[str, Weights]]
"""A name, weights at all tiers, and those of tiers that have their own."""
Key: TypeAlias = tuple[Weights, tuple[tuple[str, Weights], ...]]


@dataclass
class Trials:
    """Candidates on the same flows.

    Attributes:
        asked: the scenario.
        errors: of the fluid.
        seeds: of the windows that all candidates have.
        budget: runs that are left.
        done: all that were tried, in order.
        runs: of each candidate, by its weights.
    """

    asked: Asked
    errors: Sequence[Error]
    seeds: Sequence[int]
    budget: int
    told: Told | None = None
    done: list[Candidate] = field(default_factory=list)
    runs: dict[Key, Windows] = field(default_factory=dict)
    _known: dict[Key, Candidate] = field(default_factory=dict)

    def all(self, wanted: Mapping[K, Wanted]) -> dict[K, Candidate]:
        """Try candidates, each under a key of its own.

        Those that were tried before are not run again; those beyond the budget are left out.
        """
        keys, fresh = {}, dict[Key, Wanted]()
        for own, (name, base, tiers) in wanted.items():
            tiers = {tier: each for tier, each in tiers.items() if each != base}
            keys[own] = key = (base, tuple(sorted(tiers.items())))
            if key not in self._known and len(fresh) < self.budget:
                fresh.setdefault(key, (name, base, tiers))
        made = [weights.written(self.asked, base, own) for _, base, own in fresh.values()]
        found = windows.run_all(made, self.seeds, self.told) if made else []
        for each, run in zip(fresh.values(), found, strict=True):
            self.keep(each, run)
        return {own: self._known[key] for own, key in keys.items() if key in self._known}

    def keep(self, wanted: Wanted, run: Windows) -> None:
        """Judge a candidate by its run on `seeds`, which the budget pays for."""
        name, base, tiers = wanted
        key = (base, tuple(sorted(tiers.items())))
        lost = judging.worst_loss(judging.judge(self.asked, run, self.errors))
        tried = Candidate(name=name, weights=base, tiers=dict(tiers), loss=lost)
        self._known[key], self.runs[key] = tried, run
        self.done.append(tried)
        self.budget -= 1

    def run_of(self, candidate: Candidate) -> Windows:
        """The flows of a candidate."""
        return self.runs[candidate.weights, tuple(sorted(candidate.tiers.items()))]


def loss(candidate: Candidate) -> float:
    """Its loss; infinite without one."""
    return math.inf if candidate.loss is None else candidate.loss


def compass(trials: Trials, start: Candidate, tier: str | None = None) -> Candidate:
    """Go on from a candidate while it becomes better and the budget lasts.

    Args:
        trials: on the same flows.
        start: where to begin.
        tier: change the weights of this tier alone, by what its ports are called.
    """
    name = "search" if tier is None else f"own {tier}"
    begin = start.weights if tier is None else start.tiers.get(tier, start.weights)
    best, at, factor = start, [float(weight) for weight in begin], FACTOR
    while factor >= LEAST_FACTOR and trials.budget > 0:
        ways = dict[Weights, list[float]]()
        # With two classes one ratio says all.
        for k in range(len(at) if len(at) > 2 else 1):
            for times in (factor, 1 / factor):
                moved = [weight * (times if i == k else 1) for i, weight in enumerate(at)]
                ways.setdefault(weights.integers(moved), moved)
        tried = {
            grid: (name, grid, start.tiers)
            if tier is None
            else (name, start.weights, {**start.tiers, tier: grid})
            for grid in ways
        }
        found = trials.all(tried)
        better = min(found, key=lambda grid: loss(found[grid]), default=None)
        if better is not None and loss(found[better]) < loss(best) - GAIN:
            best, at = found[better], ways[better]
        else:
            factor = math.sqrt(factor)
    return best
