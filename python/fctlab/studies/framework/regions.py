"""Settled verdicts: the whole interval of an effect lies where its verdict holds.

The verdicts of `verdict.judge` rest on the point where it is the size that decides. Here an effect
is settled once its interval lies as a whole in one region: where the claim agrees, where it has the
right sign and another size, on the other side, or so near to no effect that there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fctlab.studies.framework import verdict
from fctlab.studies.framework.verdict import (
    CONFIDENCE,
    Apart,
    Band,
    Computed,
    Exact,
    Expectation,
    Finding,
    Number,
    Range,
    Sign,
    Verdict,
    Within,
)

LEAST = 0.01
"""An effect within this share of none is none, whatever a paper says."""
PART = 0.25
"""So is one within this part of the paper's own."""


@dataclass(frozen=True)
class Region:
    """Where a verdict holds: logs of ratios from `low` to `high`."""

    verdict: Verdict
    low: float
    high: float

    @classmethod
    def of(cls, verdict: Verdict, low: float, high: float) -> Region:
        """Of ratios."""
        return cls(verdict, _log(low), _log(high))

    def room(self, mean: float) -> float:
        """How far inside a mean lies; below 0 outside."""
        return min(mean - self.low, self.high - mean)


def nothing(expected: Expectation) -> float | None:
    """The share within which an effect is none; for what claims none there is no such share."""
    match expected:
        case Number(ratio):
            effect = ratio
        case Range(low, high):
            effect = low if low >= 1 else high
        case Sign():
            effect = 1.0
        case _:
            return None
    return max(LEAST, PART * abs(effect - 1))


def regions(expected: Number | Range | Sign | Band | Apart) -> list[Region]:
    """Every region of an expectation; where two overlap the first is its verdict."""
    match expected:
        case Band(low, high):
            return _within(low, high, Verdict.AGREES, Verdict.DIFFERS)
        case Apart(share):
            near = Band.within(share)
            return _within(near.low, near.high, Verdict.DIFFERS, Verdict.AGREES)
    low, high = verdict.agreeing(expected)
    upwards = low >= 1
    share = nothing(expected) or 0.0
    return [
        Region.of(Verdict.AGREES, low, high),
        Region.of(Verdict.DIRECTION, *((1, low) if upwards else (high, 1))),
        Region.of(Verdict.DIRECTION, *((high, math.inf) if upwards else (0, low))),
        Region.of(Verdict.DIFFERS, *((0, 1) if upwards else (1, math.inf))),
        Region.of(Verdict.DIFFERS, 1 / (1 + share), 1 + share),
    ]


def judge(
    ratios: Sequence[float], expected: Expectation, confidence: float = CONFIDENCE
) -> Finding:
    """The verdict of `verdict.judge`, not settled until the whole interval lies in a region.

    An interval around no effect, within `nothing` of it, differs.
    """
    found = verdict.judge(ratios, expected, confidence)
    if isinstance(expected, Exact | Within | Computed):
        return found
    shown = verdict.estimate(ratios, confidence)
    if shown is None:
        return found
    known = regions(expected)
    ends = [_log(shown.low), _log(shown.high)]
    for region in known:
        if all(region.room(end) >= 0 for end in ends):
            share = nothing(expected) if ends[0] <= 0 <= ends[1] else None
            return Finding(region.verdict, found.estimate, nothing=share)
    room = max(region.room(math.log(shown.point)) for region in known)
    needed = verdict.seeds_for(ratios, room, confidence)
    return replace(found, settled=False, seeds_needed=needed)


def _within(low: float, high: float, inside: Verdict, outside: Verdict) -> list[Region]:
    return [
        Region.of(inside, low, high),
        Region.of(outside, 0, low),
        Region.of(outside, high, math.inf),
    ]


def _log(ratio: float) -> float:
    if ratio <= 0:
        return -math.inf
    return math.log(ratio) if ratio < math.inf else math.inf
