"""When a sweep has seen enough seeds: rules that look at fixed numbers of seeds.

A rule looks at 10, 15, 23, ... seeds (or 5, 10, 20, ...) and at no other number, whatever was
computed before: a sweep that is continued later stops where it would have stopped at once.
Both rules judge logs: of the ratio of two schemes on the same seed, which pairs them, or of the
value itself. Means of logs are exponentials of them afterwards, that is geometric means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal, TypeAlias

from fctlab.intervals import half_width

Verdict: TypeAlias = Literal["narrow", "higher", "lower", "no effect", "open"]


@dataclass(frozen=True)
class Estimate:
    """The mean of logs of paired values, and its interval.

    Attributes:
        seeds: how many values.
        mean: of the logs.
        half_width: of the interval around it; infinite with one value.
    """

    seeds: int
    mean: float
    half_width: float

    @property
    def ratio(self) -> float:
        """The geometric mean."""
        return math.exp(self.mean)

    @property
    def interval(self) -> tuple[float, float]:
        """Around `ratio`."""
        return math.exp(self.mean - self.half_width), math.exp(self.mean + self.half_width)


def estimate(logs: Sequence[float], confidence: float) -> Estimate:
    """Mean of logs with a t interval at level `confidence`."""
    n = len(logs)
    mean = math.fsum(logs) / n
    if n < 2:
        return Estimate(n, mean, math.inf)
    spread = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (n - 1))
    return Estimate(n, mean, spread * half_width(n, confidence))


def same_for_all(found: Iterable[tuple[int, float]], confidence: float = 0.95) -> int:
    """The number of seeds, one for all, whose widest t interval is no wider than the widest here.

    Args:
        found: seeds, at least 2, and half-width of the interval; at least one.
        confidence: of all intervals.
    """
    each = list(found)
    spread = max(half / half_width(seeds, confidence) for seeds, half in each)
    widest = max(half for _, half in each) * (1 + 1e-9)
    most = max(seeds for seeds, _ in each)
    return next(n for n in range(2, most + 1) if spread * half_width(n, confidence) <= widest)


@dataclass(frozen=True)
class Narrow:
    """Enough once the 95% t interval is within `share` of the value, to either side.

    Looks are at 10, 15, 23, ... seeds, half as many again each time. Whether it stops hangs on
    the spread alone, not on where the mean lies.

    Attributes:
        share: such as 0.05.
    """

    share: float

    def looks(self) -> Iterator[int]:
        """Numbers of seeds, without end."""
        n = 10
        while True:
            yield n
            n = math.ceil(1.5 * n)

    def judge(self, logs: Sequence[float], look: int) -> tuple[Verdict, Estimate]:
        """What the `look`-th look, counted from 1, at the logs of all seeds so far shows."""
        found = estimate(logs, 0.95)
        return ("narrow" if found.half_width <= math.log1p(self.share) else "open"), found

    def needed(self, found: Estimate) -> float:
        """About how many seeds would be enough, if the spread stays as it is."""
        return found.seeds * (found.half_width / math.log1p(self.share)) ** 2


@dataclass(frozen=True)
class Decided:
    """Enough once the sign of the effect is sure, or that there is none.

    The k-th look, at 5, 10, 20, ... seeds, uses a t interval at level 1 - alpha / (k (k + 1)).
    As these sum to alpha, the chance of ever deciding wrongly is at most alpha (union bound),
    however often and whenever one goes on.

    Attributes:
        margin: an effect within it, to either side, is none; such as 0.01.
        alpha: the chance that is accepted, such as 0.05.
    """

    margin: float
    alpha: float = 0.05

    def looks(self) -> Iterator[int]:
        """Numbers of seeds, without end."""
        return (5 * 2**k for k in count())

    def confidence(self, look: int) -> float:
        """Of the interval at the `look`-th look, counted from 1."""
        return 1 - self.alpha / (look * (look + 1))

    def judge(self, logs: Sequence[float], look: int) -> tuple[Verdict, Estimate]:
        """What the `look`-th look, counted from 1, at the logs of all seeds so far shows."""
        found = estimate(logs, self.confidence(look))
        low, high = found.mean - found.half_width, found.mean + found.half_width
        edge = math.log1p(self.margin)
        verdict: Verdict = "open"
        if -edge <= low and high <= edge:
            verdict = "no effect"
        elif low > 0:
            verdict = "higher"
        elif high < 0:
            verdict = "lower"
        return verdict, found

    def needed(self, found: Estimate) -> float:
        """About how many seeds would be enough, if mean and spread stay as they are."""
        edge = math.log1p(self.margin)
        room = max(abs(found.mean), edge - abs(found.mean))
        return found.seeds * (found.half_width / room) ** 2


Rule: TypeAlias = Narrow | Decided
