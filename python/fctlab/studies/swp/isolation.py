"""Figure 1: a foreground class of 10% beside a background of 20 to 80%.

Google's sizes, log-normal gaps with sigma 2, HPCC (SWP-H of table 2), 100 Gbps, RTT 10 us;
what counts is the p99 slowdown of messages below one BDP, against a target of 2.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing

from fctlab.jobs import Told, deaf
from fctlab.slo import planning
from fctlab.studies.framework.asked import asked, of_each
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Claim, Figure, Mode, Part
from fctlab.studies.framework.verdict import Sign
from fctlab.studies.swp.readings import BOTH, ENDS, IDEAL, TEXT, Reading

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
    "every seed, for FIFO and for fair queueing inside classes on their own; kept for all loads.",
)


def _shared_link(
    name: str, background: int, weight: float, seed: int, reading: Reading, cc: str
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
        "network": {**reading.network(), "overload": True},
        "seed": seed,
        "queue": QUEUES[name],
        "cc": reading.cc(cc),
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


def measured(
    name: str, background: int, seed: int, mode: Mode, reading: Reading = TEXT, cc: str = CC
) -> dict[str, float]:
    """p99 slowdown below one BDP, by class, with the tuned weight where there is one.

    NaN where no weight meets the target.
    """
    weight = tuned(name, mode, reading) if QUEUES[name]["kind"] == "wfq" else 0.5
    if weight is None:
        return {"foreground": math.nan, "background": math.nan}
    return _tails(_shared_link(name, background, weight, seed, reading, cc), FLOWS[mode])


def tuned(name: str, mode: Mode, reading: Reading = TEXT) -> float | None:
    """The least foreground weight that meets the target at the largest background, if one does.

    Under every seed, which is the margin of error that the paper speaks of.
    """

    def foreground(weight: float, seed: int) -> float:
        spec = _shared_link(name, LOADS[-1], weight, seed, reading, CC)
        return _tails(spec, FLOWS[mode])["foreground"]

    def meets(weight: float) -> bool:
        found = of_each(lambda seed: foreground(weight, seed), range(1, SEEDS[mode] + 1))
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


def claims(mode: Mode) -> list[Claim]:
    """swp-1 to swp-4 and swp-14, in each reading."""
    return [
        *(claim for reading in ENDS for claim in _isolated(mode, reading)),
        *_shared(mode, IDEAL),
        *_shared(mode, BOTH),
        _hpcc(mode),
    ]


def _part(name: str, way: int, mode: Mode, effect: Callable[[int], float]) -> Part:
    paper = "> 1" if way > 0 else "< 1"
    seeds = range(1, SEEDS[mode] + 1)
    return Part(name, paper, Sign(way), (), lambda: of_each(effect, seeds))


@dataclass(frozen=True)
class _Queue:
    """Parts about one of the queues."""

    name: str
    mode: Mode
    reading: Reading
    cc: str = CC

    def p99(self, which: str, load: int) -> Callable[[int], float]:
        return lambda seed: measured(self.name, load, seed, self.mode, self.reading, self.cc)[which]

    def to_target(self, load: int, way: int) -> Part:
        value = self.p99("foreground", load)
        text = f"foreground over target, background {load}%"
        return _part(text, way, self.mode, lambda seed: value(seed) / TARGET)

    def to_foreground(self, load: int, way: int) -> Part:
        behind, before = self.p99("background", load), self.p99("foreground", load)
        text = f"background over foreground, background {load}%"
        return _part(text, way, self.mode, lambda seed: behind(seed) / before(seed))

    def over(self, other: _Queue, text: str, load: int, way: int) -> Part:
        a, b = self.p99("background", load), other.p99("background", load)
        return _part(f"background, over {text}", way, self.mode, lambda seed: a(seed) / b(seed))


MISSES = "Figure 1a: with FIFO the foreground misses its target at high background load, not at low"


def _shared(mode: Mode, reading: Reading) -> list[Claim]:
    """What figure 1a says."""
    fifo = _Queue("CC + FIFO", mode, reading)
    return [
        reading.claim(
            "swp-1", MISSES, "yes", (fifo.to_target(LOADS[0], -1), fifo.to_target(LOADS[-1], +1))
        ),
        reading.claim(
            "swp-14",
            "Figure 1a: under FIFO the background's tail is worse than the foreground's",
            "yes",
            tuple(fifo.to_foreground(load, +1) for load in LOADS),
        ),
    ]


def _hpcc(mode: Mode) -> Claim:
    """Figure 1a with HPCC's own windows."""
    fifo = _Queue("CC + FIFO", mode, TEXT, "hpcc")
    return Claim(
        "swp-1-hpcc",
        f"... with windows of its own (preset hpcc; nothing is fitted): {MISSES}",
        "yes",
        (fifo.to_target(LOADS[0], -1), fifo.to_target(LOADS[-1], +1)),
        beyond=True,
    )


def _isolated(mode: Mode, reading: Reading) -> list[Claim]:
    """All that figure 1 says."""
    fifo, priority, weights, fair = (_Queue(name, mode, reading) for name in QUEUES)
    most = LOADS[-1]
    return [
        *_shared(mode, reading),
        reading.claim(
            "swp-2",
            "Figure 1b: strict priority meets it, and the background is far worse",
            "yes",
            (priority.to_target(most, -1), priority.over(fifo, "FIFO", most, +1)),
        ),
        reading.claim(
            "swp-3",
            "Figure 1c: one weight meets it at every load; the background is better than in 1b",
            "yes",
            (
                *(weights.to_target(load, -1) for load in LOADS),
                weights.over(priority, "priority", most, -1),
            ),
        ),
        reading.claim(
            "swp-4",
            "Figure 1d: with fair queueing inside, the background is below the foreground",
            "yes",
            (
                *(fair.to_foreground(load, -1) for load in LOADS),
                *(fair.to_target(load, -1) for load in LOADS),
            ),
        ),
    ]


def figures(mode: Mode) -> list[Figure]:
    """Figure 1."""

    def at(name: str, where: tuple[int, int]) -> dict[str, float]:
        load, seed = where
        return measured(name, load, seed, mode)

    def draw(_: Results) -> Drawing:
        drawing = Drawing(figsize=(11, 3), layout="constrained")
        for ax, name in zip(drawing.subplots(1, 4), QUEUES, strict=True):
            for which in ("foreground", "background"):
                seeds = range(1, SEEDS[mode] + 1)
                pairs = of_each(partial(at, name), product(LOADS, seeds))
                values = np.array([one[which] for one in pairs]).reshape(len(LOADS), -1)
                ax.plot(LOADS, values.mean(axis=1), marker="o", label=which)
                ax.fill_between(LOADS, values.min(axis=1), values.max(axis=1), alpha=0.2)
            ax.axhline(TARGET, color="black", linestyle=":")
            title = name
            if QUEUES[name]["kind"] == "wfq":
                weight = tuned(name, mode)
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
