"""Figure 1: a foreground class of 10% beside a background of 20 to 80%.

Google's sizes, log-normal gaps with sigma 2, HPCC (SWP-H of table 2), 100 Gbps, RTT 10 us;
what counts is the p99 slowdown of messages below one BDP, against a target of 2.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing

from fctlab.jobs import Told, deaf
from fctlab.slo import planning
from fctlab.studies.framework.asked import asked, of_each
from fctlab.studies.framework.lab import claim
from fctlab.studies.framework.pictures import INK
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Figure, Mode, Part
from fctlab.studies.framework.verdict import Sign
from fctlab.studies.swp.readings import BOTH, ENDS, IDEAL, Lab

TARGET = 2.5
LEAST, MOST, PRECISION = 0.002, 0.98, 1.01
"""Where the foreground's weight is looked for, and to which factor."""
CC = "swp-h"
LOADS = (20, 40, 60, 80)
SEEDS: dict[Mode, int] = {"quick": 5, "full": 10}
FLOWS: dict[Mode, int] = {"quick": 1_000_000, "full": 4_000_000}
"""Of a run, both classes."""

FIFO = {"kind": "fifo"}
PRIORITY = {"kind": "priority"}
WEIGHTS = {"kind": "wfq"}
WEIGHTS_FQ = {"kind": "wfq", "inside": "fq"}
QUEUES = {
    "CC + FIFO": FIFO,
    "CC + PQ": PRIORITY,
    "CC + TC weights": WEIGHTS,
    "CC + TC weights + FQ": WEIGHTS_FQ,
}
NOTES = (
    "Figure 1: the weight is the least, to "
    f"{PRECISION - 1:.0%}, with which the foreground meets its target at a background of 80% under "
    "every seed of the mode, for FIFO and for fair queueing inside classes on their own; kept for "
    "all loads.",
)


def _shared_link(
    lab: Lab, name: str, background: int, weight: float, seed: int, cc: str
) -> dict[str, Any]:
    """The specification of the foreground beside so much background."""
    tail = [{"name": "tail", "metric": "p99", "below": "125KB"}]

    def traffic(name: str, load: float, weight: float) -> dict[str, Any]:
        gaps = {"kind": "lognormal", "sigma": 2.0}
        sizes = "google_rpc"
        both = {"flowsizes": sizes, "interarrivals": gaps, "slis": tail}
        return {"name": name, "load": load, "weight": weight, **both}

    return {
        # SWP-H leaves a tenth of the link unused: at 80% background all that it uses is offered.
        "network": {**lab.settings.network(), "overload": True},
        "seed": seed,
        "queue": QUEUES[name],
        "cc": lab.settings.cc(cc),
        "classes": [
            traffic("foreground", 0.1, weight),
            traffic("background", background / 100, 1 - weight),
        ],
    }


@asked("p99s", alone=True)
def _tails(spec: dict[str, Any], most_flows: int, told: Told = deaf) -> dict[str, float]:
    """p99 slowdown below one BDP, by class."""
    limit = {"most_flows": most_flows}
    found = planning.ask("predict", told, spec=spec, limit=limit, fixed=True)
    return {c["name"]: float(c["slis"][0]["value"]) for c in found["classes"]}


def measured(lab: Lab, name: str, background: int, seed: int, cc: str = CC) -> dict[str, float]:
    """p99 slowdown below one BDP, by class, with the tuned weight where there is one.

    NaN where no weight meets the target.
    """
    weight = tuned(lab, name) if QUEUES[name]["kind"] == "wfq" else 0.5
    if weight is None:
        return {"foreground": math.nan, "background": math.nan}
    return _tails(_shared_link(lab, name, background, weight, seed, cc), _flows(lab))


def _flows(lab: Lab) -> int:
    """Of a run."""
    return FLOWS[lab.mode] * lab.settings.length


def tuned(lab: Lab, name: str) -> float | None:
    """The least foreground weight that meets the target at the largest background, if one does.

    Under every seed of the mode, which is the margin of error that the paper speaks of; it stays
    what it is where claims get more seeds.
    """

    def foreground(weight: float, seed: int) -> float:
        spec = _shared_link(lab, name, LOADS[-1], weight, seed, CC)
        return _tails(spec, _flows(lab))["foreground"]

    def meets(weight: float) -> bool:
        found = of_each(lambda seed: foreground(weight, seed), range(1, SEEDS[lab.mode] + 1))
        return max(found) <= TARGET

    return least_weight(meets)


def least_weight(meets: Callable[[float], bool]) -> float | None:
    """The least weight that does, by bisection of its logarithm to `PRECISION`, if any does."""
    low, high = LEAST, MOST
    if not meets(high):
        return None
    if meets(low):
        return low
    while high / low > PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class _Queue:
    """Parts about one of the queues."""

    lab: Lab
    name: str
    cc: str = CC

    def p99(self, which: str, load: int) -> Callable[[int], float]:
        return lambda seed: measured(self.lab, self.name, load, seed, self.cc)[which]

    def part(self, name: str, way: int, effect: Callable[[int], float]) -> Part:
        paper = "> 1" if way > 0 else "< 1"
        seeds = self.lab.seeds(SEEDS)
        return Part(name, paper, Sign(way), (), lambda: of_each(effect, seeds), by_seed=True)

    def to_target(self, load: int, way: int) -> Part:
        value = self.p99("foreground", load)
        text = f"foreground over target, background {load}%"
        return self.part(text, way, lambda seed: value(seed) / TARGET)

    def to_foreground(self, load: int, way: int) -> Part:
        behind, before = self.p99("background", load), self.p99("foreground", load)
        text = f"background over foreground, background {load}%"
        return self.part(text, way, lambda seed: behind(seed) / before(seed))

    def over(self, other: _Queue, text: str, load: int, way: int) -> Part:
        a, b = self.p99("background", load), other.p99("background", load)
        return self.part(f"background, over {text}", way, lambda seed: a(seed) / b(seed))


LEAST_LOAD, MOST_LOAD = LOADS[0], LOADS[-1]
MISSES = "Figure 1a: with FIFO the foreground misses its target at high background load, not at low"


@claim("swp-1", MISSES, "yes")
def misses(lab: Lab) -> Iterator[Part]:
    """FIFO's foreground at the least load and at the largest."""
    fifo = _Queue(lab, "CC + FIFO")
    yield fifo.to_target(LEAST_LOAD, -1)
    yield fifo.to_target(MOST_LOAD, +1)


@claim(
    "swp-1-hpcc",
    f"... with windows of its own (preset hpcc; nothing is fitted): {MISSES}",
    "yes",
    beyond=True,
)
def misses_under_hpcc(lab: Lab) -> Iterator[Part]:
    """The same with HPCC's own windows."""
    fifo = _Queue(lab, "CC + FIFO", "hpcc")
    yield fifo.to_target(LEAST_LOAD, -1)
    yield fifo.to_target(MOST_LOAD, +1)


@claim(
    "swp-14", "Figure 1a: under FIFO the background's tail is worse than the foreground's", "yes"
)
def background_is_worse(lab: Lab) -> Iterator[Part]:
    """FIFO's classes at every load."""
    fifo = _Queue(lab, "CC + FIFO")
    for load in LOADS:
        yield fifo.to_foreground(load, +1)


@claim("swp-2", "Figure 1b: strict priority meets it, and the background is far worse", "yes")
def priority_meets(lab: Lab) -> Iterator[Part]:
    """Strict priority at the largest load."""
    priority = _Queue(lab, "CC + PQ")
    yield priority.to_target(MOST_LOAD, -1)
    yield priority.over(_Queue(lab, "CC + FIFO"), "FIFO", MOST_LOAD, +1)


@claim(
    "swp-3",
    "Figure 1c: one weight meets it at every load; the background is better than in 1b",
    "yes",
)
def a_weight_meets(lab: Lab) -> Iterator[Part]:
    """One weight at every load."""
    weights = _Queue(lab, "CC + TC weights")
    for load in LOADS:
        yield weights.to_target(load, -1)
    yield weights.over(_Queue(lab, "CC + PQ"), "priority", MOST_LOAD, -1)


@claim(
    "swp-4",
    "Figure 1d: with fair queueing inside, the background is below the foreground",
    "yes",
)
def fair_inside(lab: Lab) -> Iterator[Part]:
    """Fair queueing inside classes, at every load."""
    fair = _Queue(lab, "CC + TC weights + FQ")
    for load in LOADS:
        yield fair.to_foreground(load, -1)
    for load in LOADS:
        yield fair.to_target(load, -1)


ON_FIFO = (misses, background_is_worse)
CLAIMS = (
    *(
        each.under(reading)
        for reading in ENDS
        for each in (*ON_FIFO, priority_meets, a_weight_meets, fair_inside)
    ),
    *(each.under(reading) for reading in (IDEAL, BOTH) for each in ON_FIFO),
    misses_under_hpcc,
)


def figures(lab: Lab) -> list[Figure]:
    """Figure 1."""

    def at(name: str, where: tuple[int, int]) -> dict[str, float]:
        load, seed = where
        return measured(lab, name, load, seed)

    def draw(_: Results) -> Drawing:
        drawing = Drawing(figsize=(11, 3), layout="constrained")
        for ax, name in zip(drawing.subplots(1, 4), QUEUES, strict=True):
            for which in ("foreground", "background"):
                seeds = range(1, SEEDS[lab.mode] + 1)
                pairs = of_each(partial(at, name), product(LOADS, seeds))
                values = np.array([one[which] for one in pairs]).reshape(len(LOADS), -1)
                ax.plot(LOADS, values.mean(axis=1), marker="o", label=which)
                ax.fill_between(LOADS, values.min(axis=1), values.max(axis=1), alpha=0.2)
            ax.axhline(TARGET, color=INK, linestyle=":")
            title = name
            if QUEUES[name]["kind"] == "wfq":
                weight = tuned(lab, name)
                title += ", no weight does" if weight is None else f", weight {weight:.2f}"
            ax.set_title(title, fontsize=9)
            ax.set_xlabel("background load (%)")
            ax.set_ylim(bottom=1)
        drawing.axes[0].set_ylabel("p99 slowdown, below 125 KB")
        drawing.axes[0].legend(frameon=False, fontsize=8)
        return drawing

    return [
        Figure(
            "figure-1",
            "Figure 1: tail slowdown of foreground and background",
            "Foreground 10% of the link. Mean over seeds, bands from the least to the largest; "
            "dotted, the target of 2.5. The y axes differ.",
            (),
            draw,
            ("swp-1", "swp-2", "swp-3", "swp-4", "swp-14"),
        )
    ]
