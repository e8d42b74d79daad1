"""Mean times in a queue with Poisson arrivals and one server: closed forms, each with its source.

Sizes, and times in the unit in which the server does one unit of size per unit of time, so both
are in bytes here. A time in system ends when the last byte is served. ``rate`` is arrivals per
unit of time. Integrals are done numerically.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Sizes:
    """A distribution of sizes that is uniform between its points, or one size.

    Attributes:
        points: sizes in bytes and the shares of jobs up to them, from 0 to 1; one for one size.
    """

    points: tuple[tuple[float, float], ...]

    def moment(self, power: int, up_to: float = math.inf) -> float:
        """E[X^power; X <= up_to]."""
        if len(self.points) == 1:
            return float(self.points[0][0] ** power) if self.points[0][0] <= up_to else 0.0
        total = 0.0
        for (a, below), (b, share) in pairwise(self.points):
            if up_to > a:
                top = min(b, up_to)
                area = (top ** (power + 1) - a ** (power + 1)) / (power + 1)
                total += (share - below) / (b - a) * area
        return total

    @property
    def mean(self) -> float:
        """E[X], in bytes."""
        return self.moment(1)

    def capped(self, power: int, cap: float) -> float:
        """E[min(X, cap)^power]."""
        return self.moment(power, cap) + cap**power * (1 - self.moment(0, cap))

    def mean_of(self, of: Callable[[float], float], above: float = 0.0) -> float:
        """E[of(X) | X >= above]; `above` is one of the points, or below all."""
        from scipy.integrate import quad

        if len(self.points) == 1:
            return of(self.points[0][0])
        total = share = 0.0
        for (a, below), (b, up_to) in pairwise(self.points):
            if a >= above:
                density = (up_to - below) / (b - a)
                total += density * quad(of, a, b)[0]
                share += up_to - below
        return total / share


def fifo(rate: float, sizes: Sizes, size: float) -> float:
    """First come, first served (Pollaczek 1930, Khinchine 1932); M/D/1 where there is one size."""
    return size + rate * sizes.moment(2) / (2 * (1 - rate * sizes.mean))


def sharing(rate: float, sizes: Sizes, size: float) -> float:
    """Processor sharing (Kleinrock 1967; Sakata, Noguchi and Oizumi 1969)."""
    return size / (1 - rate * sizes.mean)


def srpt(rate: float, sizes: Sizes, size: float) -> float:
    """Shortest remaining processing time (Schrage and Miller 1966)."""
    from scipy.integrate import quad

    def free(t: float) -> float:
        return 1 - rate * sizes.moment(1, t)

    work = sizes.moment(2, size) + size**2 * (1 - sizes.moment(0, size))
    kinks = [point for point, _ in sizes.points if point < size]
    residence = quad(lambda t: 1 / free(t), 0, size, points=kinks or None)[0]
    return float(rate * work / (2 * free(size) ** 2) + residence)


def shortest_first(rate: float, sizes: Sizes, size: float) -> float:
    """Shortest job first, preemptive (Conway, Maxwell and Miller 1967)."""
    free = 1 - rate * sizes.moment(1, size)
    return rate * sizes.moment(2, size) / (2 * free**2) + size / free


def least_attained(rate: float, sizes: Sizes, size: float) -> float:
    """Least attained service first, "foreground-background" (Schrage 1967)."""
    free = 1 - rate * sizes.capped(1, size)
    return rate * sizes.capped(2, size) / (2 * free**2) + size / free


def priority(rates: Sequence[float], sizes: Sizes, wanted: int, size: float) -> float:
    """Priority by class, the first before all others, without preemption (Cobham 1954).

    Args:
        rates: arrivals of each class.
        sizes: of jobs of every class.
        wanted: the class, from 0.
        size: of the job.
    """
    residual = sum(rates) * sizes.moment(2) / 2
    above, up_to = (sum(rates[:n]) * sizes.mean for n in (wanted, wanted + 1))
    return size + residual / ((1 - above) * (1 - up_to))


def line_rate(rate: float, sizes: Sizes, size: float) -> float:
    """First come, first served, where a job of its own source arrives at the server's rate.

    The server is busy while any job is unfinished, so all that is not served is M/G/1's work V,
    with E[V] = rate E[X^2] / (2 (1 - load)). What of it has not arrived is that of an M/G/oo of
    sources, rate E[X^2] / 2, independent of a job that comes. Its last byte arrives after `size`,
    during which V has grown by the load times `size`, and waits for all that has arrived.
    """
    load = rate * sizes.mean
    return size * (1 + load) + load * rate * sizes.moment(2) / (2 * (1 - load))


def closed(chains: int, jobs: int, round_trip: float) -> float:
    """The throughput of one of several alike chains of jobs that share a server, as its share.

    Asymptotic bounds (Muntz and Wong 1974): jobs that never wait go round in a round trip, and the
    server is never more than busy. Where all times are constant both are exact.

    Args:
        chains: how many share the server, evenly.
        jobs: of each.
        round_trip: of a job that does not wait, its own service included, in service times.
    """
    return min(jobs / round_trip, 1 / chains)
