"""Figure 1: a foreground class of 10% beside a background of 20 to 80%.

Google's sizes, log-normal gaps with sigma 2, HPCC (SWP-H of table 2), 100 Gbps, RTT 10 us;
what counts is the p99 slowdown of messages below one BDP, against a target of 2.5.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure as Drawing

from fctlab import planning
from fctlab.studies.study import Claim, Figure, Mode, Part, Results
from fctlab.studies.verdict import Sign

TARGET = 2.5
MARGIN = 0.96
"""A weight is tuned so that the foreground has this share of the target at a background of 80%."""
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
    "Figure 1: the weight is the least that gives the foreground 96% of its target at a "
    "background of 80%, for FIFO and for fair queueing inside classes on their own; found with "
    "seed 1 and kept for all seeds and loads.",
)


def _predict(name: str, background: int, weight: float, seed: int, mode: Mode) -> dict[str, float]:
    """p99 slowdown below one BDP, by class."""
    tail = [{"name": "tail", "metric": "p99", "below": "125KB"}]

    def traffic(name: str, load: float, weight: float) -> dict[str, Any]:
        gaps = {"kind": "lognormal", "sigma": 2.0}
        sizes = "google_rpc"
        both = {"flowsizes": sizes, "interarrivals": gaps, "slis": tail}
        return {"name": name, "load": load, "weight": weight, **both}

    spec = {
        "network": {"link": "100Gbps", "rtt": "10us"},
        "seed": seed,
        "queue": QUEUES[name],
        "cc": "swp-h",
        "classes": [
            traffic("foreground", 0.1, weight),
            traffic("background", background / 100, 1 - weight),
        ],
    }
    found = planning.ask("predict", spec=spec, most_flows=FLOWS[mode], fixed=True)
    return {c["name"]: float(c["slis"][0]["value"]) for c in found["classes"]}


@functools.cache
def measured(name: str, background: int, seed: int, mode: Mode) -> dict[str, float]:
    """p99 slowdown below one BDP, by class, with the tuned weight where there is one.

    NaN where no weight meets the target.
    """
    weight = tuned(name, mode) if QUEUES[name]["kind"] == "wfq" else 0.5
    if weight is None:
        return {"foreground": math.nan, "background": math.nan}
    return _predict(name, background, weight, seed, mode)


@functools.cache
def tuned(name: str, mode: Mode) -> float | None:
    """The least foreground weight that meets the target at the largest background, if one does."""

    def meets(weight: float) -> bool:
        return _predict(name, LOADS[-1], weight, 1, mode)["foreground"] <= TARGET * MARGIN

    low, high = 0.02, 0.98
    if not meets(high):
        return None
    for _ in range(7):
        middle = (low + high) / 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def claims(mode: Mode) -> list[Claim]:
    """swp-1 to swp-4 and swp-14."""
    seeds = range(1, SEEDS[mode] + 1)

    def part(name: str, way: int, effect: Callable[[int], float], *, counts: bool = True) -> Part:
        paper = "> 1" if way > 0 else "< 1"
        return Part(name, paper, Sign(way), (), lambda: [effect(s) for s in seeds], counts)

    def p99(name: str, which: str, load: int) -> Callable[[int], float]:
        return lambda seed: measured(name, load, seed, mode)[which]

    def to_target(name: str, load: int, way: int) -> Part:
        value = p99(name, "foreground", load)
        text = f"foreground over target, background {load}%"
        return part(text, way, lambda seed: value(seed) / TARGET)

    def over(text: str, way: int, a: Any, b: Any, counts: bool = True) -> Part:
        return part(text, way, lambda seed: a(seed) / b(seed), counts=counts)

    fifo, priority, weights, fair = QUEUES
    most = LOADS[-1]
    behind = p99(priority, "background", most)
    return [
        Claim(
            "swp-1",
            "Figure 1a: with FIFO the foreground misses its target at high background load",
            "yes",
            (to_target(fifo, LOADS[0], -1), to_target(fifo, most, +1)),
        ),
        Claim(
            "swp-14",
            "Figure 1a: under FIFO the background's tail is worse than the foreground's",
            "yes",
            tuple(
                over(
                    f"background over foreground, background {load}%",
                    +1,
                    p99(fifo, "background", load),
                    p99(fifo, "foreground", load),
                )
                for load in (LOADS[1], most)
            ),
        ),
        Claim(
            "swp-2",
            "Figure 1b: strict priority meets it, and the background is far worse",
            "yes",
            (
                to_target(priority, most, -1),
                over("background, over FIFO", +1, behind, p99(fifo, "background", most)),
            ),
        ),
        Claim(
            "swp-3",
            "Figure 1c: one weight meets it at every load; the background is better than in 1b",
            "yes",
            (
                *(to_target(weights, load, -1) for load in LOADS),
                over("background, over priority", -1, p99(weights, "background", most), behind),
            ),
        ),
        Claim(
            "swp-4",
            "Figure 1d: with fair queueing inside, the background is below the foreground",
            "yes",
            (
                over(
                    "background over foreground",
                    -1,
                    p99(fair, "background", most),
                    p99(fair, "foreground", most),
                ),
                to_target(fair, most, -1),
            ),
        ),
    ]


def figures(mode: Mode) -> list[Figure]:
    """Figure 1."""

    def draw(_: Results) -> Drawing:
        drawing = Drawing(figsize=(11, 3), layout="constrained")
        for ax, name in zip(drawing.subplots(1, 4), QUEUES, strict=True):
            for which in ("foreground", "background"):
                values = [
                    [measured(name, load, s, mode)[which] for s in range(1, SEEDS[mode] + 1)]
                    for load in LOADS
                ]
                ax.plot(LOADS, [sum(v) / len(v) for v in values], marker="o", label=which)
                low, high = [min(v) for v in values], [max(v) for v in values]
                ax.fill_between(LOADS, low, high, alpha=0.2)
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
