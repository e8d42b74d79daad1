"""Figure 2: a leaky bucket at the source trades delay there for queues downstream.

A bucket of rate r and depth B releases a message when what came before it and itself, less what
r has carried away, fits into B. Messages are exponential in size; arrivals are 5% slower than r.
Sizes are in mean messages, times in the time that r takes for one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure as Drawing

from fctlab.studies.framework.asked import asked, of_each
from fctlab.studies.framework.lab import claim
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Check, Figure, Mode, Part
from fctlab.studies.framework.verdict import Number, Sign
from fctlab.studies.swp.readings import Lab

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOAD = 0.95
SIGMA = 1.5
MESSAGES: dict[Mode, int] = {"quick": 1_000_000, "full": 10_000_000}
SEEDS: dict[Mode, int] = {"quick": 5, "full": 10}
DEPTHS = (10.0, 20.0, 40.0, 60.0, 80.0, 120.0, 160.0)
SOURCES = 20
NOTES = (
    "Figure 2: the paper does not state the bucket. Here it holds 60 mean messages, with which "
    "the p99 source delay of Poisson arrivals is about a third of the one without a bucket; the "
    "ratio grows with the bucket. Downstream 20 such sources share a link of 20 r.",
)


@functools.lru_cache(maxsize=2)
def _messages(process: str, seed: int, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Arrival times and sizes."""
    rng = np.random.default_rng(seed)
    sizes = rng.exponential(1.0, n)
    if process == "poisson":
        gaps = rng.exponential(1 / LOAD, n)
    else:
        gaps = rng.lognormal(-np.log(LOAD) - SIGMA**2 / 2, SIGMA, n)
    return np.cumsum(gaps), sizes


def _backlog(at: NDArray[np.float64], work: NDArray[np.float64]) -> NDArray[np.float64]:
    """Work in a queue of rate 1 just after each arrival (Lindley's recursion)."""
    total = np.cumsum(work)
    free = total - work - at
    found: NDArray[np.float64] = total - at - np.minimum.accumulate(free)
    return found


@asked("delays at a source")
def source_p99(process: str, depth: float, seed: int, n: int) -> float:
    """p99 delay at the source."""
    at, sizes = _messages(process, seed, n)
    return float(np.quantile(np.maximum(_backlog(at, sizes) - depth, 0), 0.99))


@asked("queues behind shaped sources")
def downstream_p99(depth: float, seed: int, n: int) -> float:
    """p99 of the queue that messages of `SOURCES` shaped sources find downstream."""
    released, sizes = [], []
    for source in range(SOURCES):
        at, work = _messages("lognormal", seed * 1000 + source, n // SOURCES)
        released.append(at + np.maximum(_backlog(at, work) - depth, 0))
        sizes.append(work)
    when, work = np.concatenate(released), np.concatenate(sizes)
    order = np.argsort(when, kind="stable")
    when, work = when[order], work[order] / SOURCES
    return float(np.quantile(_backlog(when, work) - work, 0.99) * SOURCES)


@claim(
    "swp-5",
    "Figure 2: log-normal arrivals wait ten times as long in a leaky bucket at the source; "
    "a larger one moves the queue downstream",
    "10x; trade-off",
)
def buckets(lab: Lab) -> Iterator[Part]:
    """Delays at the source and queues downstream."""
    chosen = lab.settings.bucket
    n, seeds = MESSAGES[lab.mode] * lab.settings.length, lab.seeds(SEEDS)

    def ratio(seed: int) -> float:
        bursty, poisson = (source_p99(p, chosen, seed, n) for p in ("lognormal", "poisson"))
        return bursty / poisson

    def source(seed: int) -> float:
        return source_p99("lognormal", 2 * chosen, seed, n) / source_p99(
            "lognormal", chosen, seed, n
        )

    def downstream(seed: int) -> float:
        return downstream_p99(2 * chosen, seed, n) / downstream_p99(chosen, seed, n)

    name = "p99 source delay, log-normal / Poisson"
    yield Part(name, "10x", Number(10), (), lambda: of_each(ratio, seeds), by_seed=True)
    name = "source delay, twice the bucket"
    yield Part(name, "< 1", Sign(-1), (), lambda: of_each(source, seeds), by_seed=True)
    name = "downstream queue, twice the bucket"
    yield Part(name, "> 1", Sign(+1), (), lambda: of_each(downstream, seeds), by_seed=True)


CLAIMS = (buckets,)


def checks(lab: Lab) -> list[Check]:
    """What the ratio is with other buckets."""

    def text(_: Results) -> str:
        n = MESSAGES[lab.mode]

        def row(depth: float) -> str:
            poisson, bursty = of_each(
                lambda process: source_p99(process, depth, 1, n), ("poisson", "lognormal")
            )
            ratio = bursty / poisson if poisson else math.inf
            return f"{depth:g}: {ratio:.3g}x of {poisson:.3g}"

        return "; ".join(of_each(row, (0.0, *DEPTHS)))

    paper = "about 10x of a reasonable delay"
    what = "figure 2a, by bucket: log-normal over Poisson p99 source delay, of the latter"
    burst_s = 1000 * 10e3 * 8 / 100e9
    worst = "worst case of 1,000 senders x 10 KB at 100 Gbps: all at once, one behind the other"
    return [
        Check(what, paper, (), text, ("swp-5",)),
        Check(worst, "near 1 ms", (), lambda _: f"{burst_s * 1e3:g} ms", ("swp-5",)),
    ]


def figures(lab: Lab) -> list[Figure]:
    """Figure 2."""

    def draw(_: Results) -> Drawing:
        n = MESSAGES[lab.mode]
        drawing = Drawing(figsize=(8, 3), layout="constrained")
        left, right = drawing.subplots(1, 2)
        for process in ("poisson", "lognormal"):
            delays = of_each(functools.partial(source_p99, process, seed=1, n=n), DEPTHS)
            left.plot(DEPTHS, delays, "o-", label=process)
        left.set_ylabel("p99 source delay (message times)")
        left.set_yscale("symlog", linthresh=1)
        left.legend(frameon=False)
        right.plot(DEPTHS, of_each(lambda depth: downstream_p99(depth, 1, n), DEPTHS), "o-")
        right.set_ylabel("p99 queue downstream (messages)")
        for ax in (left, right):
            ax.set_xlabel("bucket (mean messages)")
        return drawing

    caption = "Seed 1. Log-normal gaps with sigma 1.5; 20 sources downstream."
    return [
        Figure("figure-2", "Figure 2: a leaky bucket at the source", caption, (), draw, ("swp-5",))
    ]
