"""When flows start that a sampled log does not have: bursts as its records have them.

Gaps of a sender's flows are taken for exponential or log-normal, as those of `fctlab fit`. How
uneven they are, records tell though most flows are missing: time is halved again and again, and
counts of records in halves vary more than those of a coin would. Of the families that are tried,
the one is taken whose flows, sampled alike, vary most alike at all scales.

What is between two records is then drawn: two flows of the family that are sampled with as long a
gap between them, and all those that were not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

LEVELS = 14
"""Halvings of a window."""
SIGMAS = (0.0, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0)
"""Of log-normal gaps; 0 stands for exponential ones."""
TRIES = 4
"""Lists of flows that are drawn for each."""
DRAWN = 300_000
"""Flows among which those between two records are looked for."""
ALIKE = 10
"""Gaps of about the same length, of which one is taken."""


@dataclass(frozen=True)
class Stream:
    """Flows of one sender.

    Attributes:
        sender: its number.
        flows: how many there are expected to be.
        record_s: starts of those that were recorded, in order.
    """

    sender: int
    flows: float
    record_s: Floats


def drawn(streams: list[Stream], until_s: float, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Senders and starts of flows that were not recorded.

    Args:
        streams: of a class.
        until_s: all start before.
        rng: that draws.
    """
    records = sum(len(each.record_s) for each in streams)
    kept = records / sum(each.flows for each in streams)
    between = _Between(_sigma(streams, kept, until_s, rng), kept, rng)
    found = [between.missing(each, until_s) for each in streams]
    senders = np.repeat([each.sender for each in streams], list(map(len, found)))
    return senders.astype(np.int64), np.concatenate(found)


def _gaps(sigma: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Gaps with a mean of 1."""
    if sigma == 0:
        return rng.exponential(1.0, shape)
    return rng.lognormal(-(sigma**2) / 2, sigma, shape)


def _sigma(streams: list[Stream], kept: float, until_s: float, rng: np.random.Generator) -> float:
    """The family whose flows vary as records do."""
    seen, weight = _variation([each.record_s / until_s for each in streams])

    def far(sigma: float) -> float:
        found = [_variation(list(_sampled(streams, sigma, kept, rng)))[0] for _ in range(TRIES)]
        return float((weight * (np.mean(found, 0) - seen) ** 2).sum())

    return min(SIGMAS, key=far)


def _sampled(
    streams: list[Stream], sigma: float, kept: float, rng: np.random.Generator
) -> Iterator[Floats]:
    """Starts of flows of a family, sampled alike, as shares of the window."""
    for each in streams:
        # The first half is over when the window begins.
        count = int(3 * each.flows) + 10
        times = np.cumsum(_gaps(sigma, (count,), rng)) / max(each.flows, 1e-9) - 1
        yield times[(times >= 0) & (times < 1) & (rng.random(count) < kept)]


def _variation(streams: list[Floats]) -> tuple[Floats, Floats]:
    """By level, how much shares of halves vary beyond a coin's, and how well that is known."""
    cells = 1 << LEVELS
    of = np.repeat(np.arange(len(streams)), list(map(len, streams)))
    at = (of << LEVELS) | (np.concatenate(streams) * cells).astype(np.int64)
    found, weights = np.zeros(LEVELS), np.zeros(LEVELS)
    for level in range(LEVELS):
        halves = at >> (LEVELS - level - 1)
        nodes, which = np.unique(halves >> 1, return_inverse=True)
        count = np.bincount(which).astype(float)
        late = np.bincount(which, halves & 1, minlength=len(nodes))
        weights[level] = pairs = float((count * (count - 1)).sum())
        if pairs:
            found[level] = float(((late - count / 2) ** 2 - count / 4).sum()) / pairs
    return found, weights


class _Between:
    """What lies between two flows that are sampled one after the other."""

    def __init__(self, sigma: float, kept: float, rng: np.random.Generator) -> None:
        self.rng = rng
        self.times = np.cumsum(_gaps(sigma, (DRAWN,), rng))
        self.sampled = np.flatnonzero(rng.random(DRAWN) < kept)
        lengths = np.diff(self.times[self.sampled])
        self.order = np.argsort(lengths)
        self.lengths = lengths[self.order]

    def missing(self, stream: Stream, until_s: float) -> Floats:
        """Starts of the flows of a stream that were not recorded."""
        ends = np.concatenate(([0.0], stream.record_s, [until_s]))
        mean = until_s / max(stream.flows, 1e-9)
        found = [self._one(begin, end, mean) for begin, end in pairwise(ends)]
        return np.concatenate(found)

    def _one(self, begin: float, end: float, mean: float) -> Floats:
        if end <= begin or not len(self.lengths):
            return np.zeros(0)
        near = int(np.searchsorted(self.lengths, (end - begin) / mean))
        near += int(self.rng.integers(-ALIKE // 2, ALIKE // 2 + 1))
        at = self.order[min(max(near, 0), len(self.order) - 1)]
        first, last = self.sampled[at], self.sampled[at + 1]
        inner = self.times[first + 1 : last] - self.times[first]
        length = self.times[last] - self.times[first]
        found: Floats = begin + inner * (end - begin) / length
        return found
