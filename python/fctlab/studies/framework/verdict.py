"""From the seeds of a study to a verdict: pure functions, no input or output.

An effect is a ratio (``average slowdown under FIFO / under SRPT``) taken per seed on the same
flows. Its estimate is the geometric mean over the seeds; its 95% interval is the t interval
of the logarithm. A ratio of 1 is no effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from fctlab import intervals

CONFIDENCE = 0.95
NEAR = 0.25
"""How far from the paper's number an effect may lie, as a share of that number's distance
from no effect, to agree with it."""
MOST_SEEDS = 10_000
"""Where the search for the number of seeds that would settle a claim gives up."""


class Verdict(str, Enum):
    """What became of a claim, the best first."""

    COMPUTED = "computed"
    """Nothing was tried: it follows from what was put in, and can only be shown. It decides
    nothing beside what was tried."""
    AGREES = "agrees"
    DIRECTION = "direction"
    UNDECIDED = "undecided"
    DIFFERS = "differs"

    @property
    def weakness(self) -> int:
        """0 for the best."""
        return list(Verdict).index(self)


@dataclass(frozen=True)
class Number:
    """The paper gives the ratio itself: 9.7 for "9.7x", 1.066 for "+6.6%"."""

    ratio: float


@dataclass(frozen=True)
class Range:
    """The paper gives a range on one side of 1: ``Range(3, inf)`` for "more than 3x"."""

    low: float
    high: float = math.inf


@dataclass(frozen=True)
class Sign:
    """The paper says only which way: +1 for a ratio above 1, -1 for one below."""

    way: int


@dataclass(frozen=True)
class Band:
    """The paper says "equal": the ratio lies in ``[low, high]``."""

    low: float
    high: float

    @classmethod
    def within(cls, share: float) -> Band:
        """Neither is more than `share` above the other."""
        return cls(1 / (1 + share), 1 + share)


@dataclass(frozen=True)
class Apart:
    """The paper says "differ clearly" and not which way: by at least `share`."""

    share: float


@dataclass(frozen=True)
class Exact:
    """A number that is read off, not estimated: off by at most `tolerance`, a share of it."""

    value: float
    tolerance: float = 0.0


@dataclass(frozen=True)
class Within:
    """A number that lies in ``[low, high]``, such as a theorem's bound, under every seed."""

    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class Computed:
    """A number that follows from what was put in: constants, or an instance made so that it holds.

    That it is right says that the arithmetic is, not that the claim is.
    """

    value: float
    tolerance: float = 0.0
    """A share of it."""


Expectation: TypeAlias = Number | Range | Sign | Band | Apart | Exact | Within | Computed


def span(expected: Expectation) -> tuple[float | None, float | None] | None:
    """From where to where the paper says that an effect lies; ``None`` for an end that is open.

    Nothing where it says only which way, or gives a number in some unit.
    """
    match expected:
        case Number(ratio):
            return ratio, ratio
        case Range(low, high) | Band(low, high):
            return low or None, None if high == math.inf else high
    return None


@dataclass(frozen=True)
class Estimate:
    """A ratio over seeds: geometric mean and the t interval of its logarithm."""

    point: float
    low: float
    high: float
    seeds: int


class Bound(str, Enum):
    """What an effect is that rests on lower bounds: times of flows that had not finished."""

    NONE = ""
    LOWER = ">"
    UPPER = "<"
    NOT_KNOWN = "not known"

    @property
    def mark(self) -> str:
        """For figures, before a number."""
        return "?" if self is Bound.NOT_KNOWN else self.value

    def __or__(self, other: object) -> Bound:
        """That of what rests on both."""
        if not isinstance(other, Bound):
            return NotImplemented
        either = {self, other} - {Bound.NONE}
        return either.pop() if len(either) == 1 else Bound.NOT_KNOWN if either else Bound.NONE


@dataclass(frozen=True)
class Finding:
    """What was found, and what it says about the expectation."""

    verdict: Verdict
    estimate: Estimate | None
    """``None`` when there was nothing to estimate from."""
    seeds_needed: int | None = None
    """Seeds that would settle it if point and spread stay as they are; where it is not settled."""
    bound: Bound = Bound.NONE
    """What `estimate` is, if it rests on times of flows that had not finished."""
    settled: bool = True
    """Whether more seeds would hardly make it another."""
    nothing: float | None = None
    """There is no effect where one is claimed: none beyond this share. See `regions`."""


def estimate(ratios: Sequence[float], confidence: float = CONFIDENCE) -> Estimate | None:
    """Geometric mean of paired ratios and its interval; with one seed the interval is open.

    ``None`` when there is no ratio, or one that is no positive number.
    """
    if not ratios or not all(math.isfinite(r) and r > 0 for r in ratios):
        return None
    mean, spread = _log_moments(ratios)
    half = half_width(spread, len(ratios), confidence)
    # exp(-inf) = 0 and exp(inf) = inf: with one seed anything is possible.
    high = math.exp(mean + half) if half < math.inf else math.inf
    return Estimate(math.exp(mean), math.exp(mean - half), high, len(ratios))


def judge(
    ratios: Sequence[float], expected: Expectation, confidence: float = CONFIDENCE
) -> Finding:
    """The verdict on one expectation.

    It rests on an interval of so much `confidence`; the estimate that is returned has 95%.

    * `Number`, `Range`, `Sign`: **agrees** when the effect has the right sign, its interval
      excludes 1 and it lies inside the range or within `NEAR` of the number; **direction**
      when only its size is another; **differs** when the interval lies on the other side of
      1; else **undecided**.
    * `Band`: **agrees** when the whole interval lies inside, **direction** when the point
      does, **differs** when the whole interval lies outside; else **undecided**.
    * `Apart`: **agrees** when the interval excludes 1 and the point is far enough from it,
      **direction** when it is nearer, **differs** when the whole interval is nearer; else
      **undecided**.
    * `Exact`, `Within`: **agrees** or **differs**; the interval is the range over the seeds.
    * `Computed`: **computed** or **differs**.
      **undecided** without a number.
    """
    if not ratios:
        return Finding(Verdict.UNDECIDED, None, settled=False)
    if isinstance(expected, Exact | Within | Computed):
        return _judge_computed(ratios, expected)
    found = estimate(ratios, confidence)
    if found is None:
        return Finding(Verdict.UNDECIDED, None, settled=False)
    if isinstance(expected, Apart):
        verdict, border = _judge_apart(found, expected), 1.0
    elif isinstance(expected, Band):
        verdict, border = _judge_band(found, expected)
    else:
        verdict, border = _judge_effect(found, expected), 1.0
    settled = verdict in (Verdict.AGREES, Verdict.DIFFERS) or (
        verdict is Verdict.DIRECTION and not isinstance(expected, Band)
    )
    needed = None if settled else seeds_needed(ratios, border, confidence)
    return Finding(verdict, estimate(ratios), needed, settled=settled)


Rule: TypeAlias = Callable[[Sequence[float], Expectation, float], Finding]
"""Ratios, what is expected and a confidence -> a finding: `judge`, or another of its kind."""

FAR = 1e6
"""Factor by which `judge_bounds` moves an effect that may lie anywhere further on."""


def judge_bounds(
    effects: Sequence[float],
    expected: Expectation,
    bound: Bound,
    confidence: float = CONFIDENCE,
    rule: Rule = judge,
) -> Finding:
    """The verdict on effects that rest on lower bounds: one that holds wherever they really lie.

    That is the verdict on the effects as measured if it is the same when all of them lie far
    further on, to the side to which they may; **direction** when both have the right sign; else
    **undecided**.
    """
    found = rule(effects, expected, confidence)
    if bound is Bound.NONE:
        return found
    if bound is Bound.NOT_KNOWN:
        return Finding(Verdict.UNDECIDED, found.estimate, None, bound)
    factor = FAR if bound is Bound.LOWER else 1 / FAR
    # Towards infinity or nothing, whatever the sign of a number.
    moved = [e * factor if e >= 0 else e / factor for e in effects]
    verdicts = {found.verdict, rule(moved, expected, confidence).verdict}
    if len(verdicts) == 1:
        return replace(found, bound=bound)
    right = verdicts <= {Verdict.AGREES, Verdict.DIRECTION}
    verdict = Verdict.DIRECTION if right else Verdict.UNDECIDED
    return Finding(verdict, found.estimate, None, bound)


def weakest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a claim of several parts: that of its weakest."""
    return max(verdicts, key=lambda verdict: verdict.weakness)


def seeds_needed(
    ratios: Sequence[float], border: float, confidence: float = CONFIDENCE
) -> int | None:
    """The fewest seeds whose interval, around the same point, would exclude `border`.

    ``None`` when `MOST_SEEDS` would not do, or one seed says nothing about the spread.
    """
    return seeds_for(
        ratios, abs(math.fsum(map(math.log, ratios)) / len(ratios) - math.log(border)), confidence
    )


def seeds_for(
    ratios: Sequence[float], distance: float, confidence: float = CONFIDENCE
) -> int | None:
    """The fewest seeds, those there are or more, with a half-width of logs below `distance`.

    ``None`` as for `seeds_needed`.
    """
    if len(ratios) < 2:
        return None
    _, spread = _log_moments(ratios)
    if half_width(spread, MOST_SEEDS, confidence) >= distance:
        return None
    low, high = len(ratios), MOST_SEEDS
    while low < high:  # the half-width falls with the number of seeds
        middle = (low + high) // 2
        if half_width(spread, middle, confidence) < distance:
            high = middle
        else:
            low = middle + 1
    return low


def agreeing(expected: Number | Range | Sign) -> tuple[float, float]:
    """From where to where an effect agrees.

    Raises:
        ValueError: on both sides of no effect.
    """
    if isinstance(expected, Sign):
        low, high = (1.0, math.inf) if expected.way > 0 else (0.0, 1.0)
    elif isinstance(expected, Range):
        low, high = expected.low, expected.high
    else:
        reach = NEAR * abs(expected.ratio - 1)
        low, high = expected.ratio - reach, expected.ratio + reach
    if low < 1 < high:
        raise ValueError(f"{expected} lies on both sides of no effect")
    return low, high


def _judge_effect(found: Estimate, expected: Number | Range | Sign) -> Verdict:
    low, high = agreeing(expected)
    upwards = low >= 1
    if found.low <= 1 <= found.high:
        return Verdict.UNDECIDED
    if (found.point > 1) is not upwards:
        return Verdict.DIFFERS
    return Verdict.AGREES if low <= found.point <= high else Verdict.DIRECTION


def _judge_band(found: Estimate, band: Band) -> tuple[Verdict, float]:
    """The verdict, and the end of the band that stands between it and a firmer one."""
    near_low = abs(math.log(found.point / band.low)) if band.low > 0 else math.inf
    near_high = abs(math.log(band.high / found.point)) if band.high < math.inf else math.inf
    border = band.low if near_low < near_high else band.high
    if band.low <= found.low and found.high <= band.high:
        return Verdict.AGREES, border
    if band.low <= found.point <= band.high:
        return Verdict.DIRECTION, border
    outside = found.high < band.low or found.low > band.high
    return (Verdict.DIFFERS if outside else Verdict.UNDECIDED), border


def _judge_apart(found: Estimate, expected: Apart) -> Verdict:
    near = Band.within(expected.share)
    if near.low <= found.low and found.high <= near.high:
        return Verdict.DIFFERS
    if found.low <= 1 <= found.high:
        return Verdict.UNDECIDED
    inside = near.low < found.point < near.high
    return Verdict.DIRECTION if inside else Verdict.AGREES


def _judge_computed(values: Sequence[float], expected: Exact | Within | Computed) -> Finding:
    if not values or any(map(math.isnan, values)):
        return Finding(Verdict.UNDECIDED, None, settled=False)
    if isinstance(expected, Within):
        low, high = expected.low, expected.high
    else:
        reach = expected.tolerance * abs(expected.value)
        low, high = expected.value - reach, expected.value + reach
    holds = all(low <= value <= high for value in values)
    right = Verdict.COMPUTED if isinstance(expected, Computed) else Verdict.AGREES
    verdict = right if holds else Verdict.DIFFERS
    mean = math.fsum(values) / len(values)
    return Finding(verdict, Estimate(mean, min(values), max(values), len(values)))


def _log_moments(ratios: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of the logarithms; the latter infinite for one ratio."""
    logs = [math.log(r) for r in ratios]
    mean = math.fsum(logs) / len(logs)
    if len(logs) < 2:
        return mean, math.inf
    squares = math.fsum((x - mean) ** 2 for x in logs)
    return mean, math.sqrt(squares / (len(logs) - 1))


def half_width(spread: float, n: int, confidence: float = CONFIDENCE) -> float:
    """Half-width of the t interval of the mean of `n` values."""
    if n < 2:
        return math.inf
    return intervals.half_width(n, confidence) * spread
