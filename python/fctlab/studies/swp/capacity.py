"""Figures 8 to 10: the least capacity of random scenarios (table 4) under each strategy.

Per class: sizes of Google, Facebook or Alibaba, log-normal gaps with sigma in [1, 2], a mean
rate, and a p99 slowdown threshold in [3, 8] for flows below 125 KB, twice that for others. RTT
10 us, SWP-D. The ideal is at the candidate capacity, r_init follows it, T and 125 KB stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure as Drawing

from fctlab.jobs import Told, deaf
from fctlab.slo import planning
from fctlab.slo.types import Strategy
from fctlab.studies.framework.asked import asked, of_each
from fctlab.studies.framework.lab import TEXT, Reading, claim
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import Check, Figure, Mode, Part
from fctlab.studies.framework.verdict import Band, Expectation, Number, Sign, Within
from fctlab.studies.swp.readings import ENDS, Lab, Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZES = ("google_rpc", "facebook_hadoop_bytes", "alibaba_storage")
RATES = {3: (5.0, 10.0), 5: (3.0, 6.0)}
"""Gbps per class, by number of classes."""
STRATEGIES: tuple[Strategy, ...] = ("fifo", "static", "weights", "weights-fq")
CC = "swp-d"
COUNT: dict[Mode, int] = {"quick": 15, "full": 150}
PRECISION: dict[Mode, float] = {"quick": 0.5, "full": 2.0}
"""Flows behind each SLI, in multiples of 1,000."""


@dataclass(frozen=True)
class Drawn:
    """A random scenario."""

    spec: dict[str, Any]
    thresholds: tuple[float, ...]
    """p99 slowdown of small flows, by class."""
    sigmas: tuple[float, ...]
    rates: tuple[float, ...]
    """Gbps."""


@dataclass(frozen=True)
class Scenario(Drawn):
    """A random scenario and what it needs."""

    least: dict[str, float]
    """Strategy -> bits per second."""

    def inflation(self, over: str, under: str) -> float:
        """How much more `over` needs than `under`."""
        return self.least[over] / self.least[under]

    @property
    def hard(self) -> bool:
        """Whether a class is bursty and has a tight SLO (figures 8b and 9b)."""
        pairs = zip(self.sigmas, self.thresholds, strict=True)
        return any(sigma > 1.7 and threshold < 4 for sigma, threshold in pairs)

    @property
    def tight(self) -> bool:
        """Whether an SLO is below 4 (figure 8c)."""
        return min(self.thresholds) < 4

    @property
    def easy(self) -> bool:
        """Whether no SLO is below 4 and no class above sigma 1.7 (figure 8d)."""
        return min(self.thresholds) >= 4 and max(self.sigmas) <= 1.7


def draw(classes: int, number: int) -> Drawn:
    """The `number`-th scenario with so many classes."""
    rng = np.random.default_rng([classes, number])
    low, high = RATES[classes]
    rows, thresholds, sigmas, rates = [], [], [], []
    for k in range(classes):
        threshold = float(rng.uniform(3, 8))
        sizes = str(rng.choice(SIZES))
        sigma = float(rng.uniform(1, 2))
        rate = float(rng.uniform(low, high))
        thresholds.append(threshold)
        sigmas.append(sigma)
        rates.append(rate)
        tails = [
            {"name": "small", "metric": "p99", "below": "125KB"},
            {"name": "large", "metric": "p99", "from": "125KB"},
        ]
        rows.append(
            {
                "name": f"c{k}",
                "flowsizes": sizes,
                "interarrivals": {"kind": "lognormal", "sigma": sigma},
                "rate": f"{rate:.6f}Gbps",
                "slis": tails,
                "slo": f"small < {threshold:.6f} and large < {2 * threshold:.6f}",
            }
        )
    spec = {**_link(Settings()), "seed": number, "queue": "wfq", "classes": rows}
    return Drawn(spec, tuple(thresholds), tuple(sigmas), tuple(rates))


def _link(settings: Settings) -> dict[str, Any]:
    """What a specification has of a reading."""
    return {"network": settings.network("400Gbps"), "cc": settings.cc(CC, thresh=settings.thresh)}


def draw_spec(classes: int, number: int) -> dict[str, Any]:
    """The specification of `draw`."""
    return draw(classes, number).spec


def scenario(lab: Lab, classes: int, number: int) -> Scenario | None:
    """A scenario with its least capacities; nothing where a strategy has none."""
    drawn = draw(classes, number)
    spec = {**drawn.spec, **_link(lab.settings)}
    least = least_links(spec, PRECISION[lab.mode] * lab.settings.length)
    if least is None:
        return None
    return Scenario(spec, drawn.thresholds, drawn.sigmas, drawn.rates, least)


@asked("least capacities", alone=True)
def least_links(
    spec: dict[str, Any], precision: float, told: Told = deaf
) -> dict[str, float] | None:
    """Strategy -> bits per second; nothing where one has none."""
    found = planning.provision(spec, STRATEGIES, precision=precision, intervals=False, told=told)
    least: dict[str, float] = {
        row.strategy: row.capacity_bps for row in found.strategies if row.capacity_bps is not None
    }
    return least if len(least) == len(found.strategies) else None


def count(lab: Lab, classes: int) -> int:
    """How many scenarios are asked for."""
    return lab.scenarios.get(classes, COUNT[lab.mode])


def scenarios(lab: Lab, classes: int) -> list[Scenario]:
    """All of these that every strategy can meet."""
    found = of_each(partial(scenario, lab, classes), range(1, count(lab, classes) + 1))
    return [one for one in found if one is not None]


FIFO, STATIC, WEIGHTS, FAIR = STRATEGIES


def _inflation(
    lab: Lab,
    name: str,
    classes: int,
    over: str,
    under: str,
    expected: Expectation,
    paper: str,
    only: Callable[[Scenario], bool] = lambda _: True,
) -> Part:
    """How much more a strategy needs than another, scenario by scenario."""

    def measure() -> Sequence[float]:
        return [each.inflation(over, under) for each in filter(only, scenarios(lab, classes))]

    return Part(name, paper, expected, (), measure, percent=True)


@claim(
    "swp-9",
    "Figure 8a: three classes; FIFO needs more capacity than optimised weights; than weights + FQ",
    "+44%; +247%",
)
def fifo_needs_more(lab: Lab) -> Iterator[Part]:
    """All scenarios with three classes."""
    yield _inflation(lab, "FIFO over weights", 3, FIFO, WEIGHTS, Number(1.44), "+44%")
    yield _inflation(lab, "FIFO over weights + FQ", 3, FIFO, FAIR, Number(3.47), "+247%")


@claim(
    "swp-10",
    "Figure 8b: a class of sigma > 1.7 with an SLO < 4; 8c (an SLO < 4) and 8d (neither)",
    "+62%; in between",
)
def hard_and_easy(lab: Lab) -> Iterator[Part]:
    """Subsets of these."""
    pair = FIFO, WEIGHTS
    yield _inflation(lab, "hard", 3, *pair, Number(1.62), "+62%", lambda s: s.hard)
    yield _inflation(lab, "SLO < 4", 3, *pair, Sign(+1), "> 0", lambda s: s.tight)
    yield _inflation(lab, "easy", 3, *pair, Sign(+1), "> 0", lambda s: s.easy)


@claim(
    "swp-11",
    "Figure 8a: static per-class provisioning costs about as much as FIFO",
    "about 1 (band 25%)",
)
def static_is_like_fifo(lab: Lab) -> Iterator[Part]:
    """Links of their own for three classes."""
    yield _inflation(lab, "static over FIFO", 3, STATIC, FIFO, Band.within(0.25), "about 0")


@claim(
    "swp-12",
    "Figure 9: five classes; FIFO over weights; in the hard subset; weights over weights + "
    "FQ; static is worse than FIFO",
    "+65%; +79%; about 2x; yes",
)
def five_classes(lab: Lab) -> Iterator[Part]:
    """The same with five classes."""
    pair = FIFO, WEIGHTS
    yield _inflation(lab, "FIFO over weights", 5, *pair, Number(1.65), "+65%")
    yield _inflation(lab, "hard", 5, *pair, Number(1.79), "+79%", lambda s: s.hard)
    yield _inflation(lab, "weights over weights + FQ", 5, WEIGHTS, FAIR, Number(2.0), "+100%")
    yield _inflation(lab, "static over FIFO", 5, STATIC, FIFO, Sign(+1), "> 0")


@claim("swp-13", "Figure 10: inflation grows as the tightest SLO falls", "yes")
def tighter_costs_more(lab: Lab) -> Iterator[Part]:
    """Slopes over five classes' thresholds."""

    def rise(name: str, under: str) -> Part:
        def measure() -> Sequence[float]:
            return _rise(scenarios(lab, 5), FIFO, under)

        return Part(name, "> 0", Sign(+1), (), measure, percent=True)

    yield rise("FIFO over weights, per 1 by which the tightest threshold is lower", WEIGHTS)
    yield rise("FIFO over weights + FQ", FAIR)


@claim(
    "swp-15",
    "Section 1: a class beyond its forecast breaks other classes' SLOs; spare capacity is "
    "spread after success",
    "yes",
)
def off_forecast(lab: Lab) -> Iterator[Part]:
    """What happens beyond a forecast, and with room to spare."""
    yield Part(
        "share of plans at 1.05 times the least capacity that a class at +20% breaks for another",
        "> 0.5",
        Within(0.5),
        (),
        lambda: _broken_share(lab),
    )
    yield Part(
        "with 1.3 times the least capacity, worst margin: spread / algorithm 1",
        "> 1",
        Sign(+1),
        (),
        lambda: [_spread(plan) for plan in _plans(lab, 1.3)],
    )


INFLATIONS = (fifo_needs_more, hard_and_easy, static_is_like_fifo, five_classes, tighter_costs_more)
CLAIMS = (*(each.under(reading) for reading in ENDS for each in INFLATIONS), off_forecast)


def _rise(found: Sequence[Scenario], over: str, under: str) -> list[float]:
    """What an inflation is multiplied by when the tightest threshold is lower by 1.

    The slope of its logarithm (least squares), as Tukey's pseudo-values: their mean is the
    jackknife's estimate, their spread over scenarios that of its error.
    """
    count = len(found)
    if count < 4:
        return []
    x = np.array([min(each.thresholds) for each in found])
    y = np.log([each.inflation(over, under) for each in found])

    def slope(of: NDArray[np.bool_]) -> float:
        return float(np.polyfit(x[of], y[of], 1)[0])

    rows = np.arange(count)
    whole = slope(rows >= 0)
    pseudo = (count * whole - (count - 1) * slope(rows != i) for i in rows)
    return [math.exp(-each) for each in pseudo]


def _spare(mode: Mode) -> range:
    return range(1, 4 if mode == "quick" else 16)


def _planned(lab: Lab, number: int, factor: float) -> dict[str, Any] | None:
    """The plan of a three-class scenario on a link of `factor` times the least capacity."""
    found = scenario(lab, 3, number)
    if found is None:
        return None
    link = f"{found.least['weights'] * factor / 1e9:.6f}Gbps"
    spec = {**found.spec, "network": {**found.spec["network"], "link": link}}
    return _plan(spec)


@asked("plans", alone=True)
def _plan(spec: dict[str, Any], told: Told = deaf) -> dict[str, Any]:
    """What the planner finds for a specification."""
    return planning.plan(spec, most_flows=4_000_000, told=told).plan.to_dict()


def _plans(lab: Lab, factor: float) -> list[dict[str, Any]]:
    """Plans of the scenarios that every strategy can meet."""
    found = of_each(lambda number: _planned(lab, number, factor), _spare(lab.mode))
    return [plan for plan in found if plan is not None]


def _breaks(plan: Mapping[str, Any]) -> bool:
    """Whether a class at +20% breaks another that held."""
    return any(
        row["what"] == "load" and row["change"] == "+20%" and set(row["broken"]) - {row["class"]}
        for row in plan["off_forecast"]
    )


def _broken_share(lab: Lab) -> float:
    """Of the plans that were met; NaN without any."""
    met = [plan for plan in _plans(lab, 1.05) if plan["success"]]
    return round(sum(map(_breaks, met)) / len(met), 3) if met else math.nan


def _spread(plan: Mapping[str, Any]) -> float:
    """The worst class's distance from its threshold after the search, over that of algorithm 1."""
    # Shares of the threshold that are left: 1 + loss is the value over its threshold.
    return float((1 + plan["algorithm_1"]["worst_loss"]) / (1 + plan["search"]["worst_loss"]))


def checks(lab: Lab) -> list[Check]:
    """What stands behind the ratios."""

    def row(classes: int, reading: Reading) -> Check:
        def text(_: Results) -> str:
            found = scenarios(lab.read(reading), classes)
            dropped = count(lab, classes) - len(found)
            parts = [
                f"{len(found)} scenarios, {sum(s.hard for s in found)} hard; {dropped} more left "
                "out: no capacity up to 64 times the load meets their SLOs under some strategy"
            ]
            for strategy in STRATEGIES:
                mean = sum(s.least[strategy] for s in found) / max(len(found), 1)
                parts.append(f"{strategy} {mean / 1e9:.1f} Gbps on average")
            return "; ".join(parts)

        belongs = {3: ("swp-9", "swp-10", "swp-11"), 5: ("swp-12", "swp-13")}[classes]
        title = f"least capacity, {classes} classes"
        if reading is not TEXT:
            title = f"{title}; {reading.words}"
        return Check(title, "", (), text, tuple(id + reading.name for id in belongs))

    def forecast(_: Results) -> str:
        parts = []
        for factor in (1.05, 1.3):
            plans = _plans(lab, factor)
            met = [plan for plan in plans if plan["success"]]
            text = (
                f"at {factor:g} times the least capacity {len(plans)} of {len(_spare(lab.mode))} "
            )
            text += f"scenarios planned, {len(met)} met"
            if factor == 1.05:
                text += f", {sum(map(_breaks, met))} of these broken for another class"
            parts.append(text)
        return "; ".join(parts)

    plans = "plans behind swp-15; the others have a strategy without a capacity"
    rows = [row(classes, reading) for classes in RATES for reading in ENDS]
    return [*rows, Check(plans, "", (), forecast, ("swp-15",))]


def figures(lab: Lab) -> list[Figure]:
    """Figures 8, 9 and 10."""

    def cdf(classes: int) -> Callable[[Results], Drawing]:
        def draw(_: Results) -> Drawing:
            found = scenarios(lab, classes)
            drawing = Drawing(figsize=(8, 3), layout="constrained")
            axes = drawing.subplots(1, 2, sharey=True)
            subsets = (("all", found), ("hard", [s for s in found if s.hard]))
            for ax, (title, chosen) in zip(axes, subsets, strict=True):
                for strategy in STRATEGIES:
                    values = sorted(s.least[strategy] / 1e9 for s in chosen)
                    shares = np.arange(1, len(values) + 1) / max(len(values), 1)
                    ax.step(values, shares, where="post", label=strategy)
                ax.set_title(f"{title} ({len(chosen)})", fontsize=9)
                ax.set_xlabel("least capacity (Gbps)")
            axes[0].set_ylabel("CDF")
            axes[0].legend(frameon=False, fontsize=8)
            return drawing

        return draw

    def scatter(_: Results) -> Drawing:
        found = scenarios(lab, 5)
        drawing = Drawing(figsize=(9, 5), layout="constrained")
        grid = drawing.subplots(2, 3, sharey="row")
        columns: tuple[tuple[str, Callable[[Scenario], float]], ...] = (
            ("least SLO threshold", lambda s: min(s.thresholds)),
            ("largest sigma", lambda s: max(s.sigmas)),
            ("largest mean rate (Gbps)", lambda s: max(s.rates)),
        )
        for axes, under in zip(grid, ("weights", "weights-fq"), strict=True):
            for ax, (label, value) in zip(axes, columns, strict=True):
                inflations = [s.inflation("fifo", under) for s in found]
                ax.plot([value(s) for s in found], inflations, "o", markersize=4, alpha=0.6)
                ax.set_xlabel(label)
            axes[0].set_ylabel(f"FIFO over {under.replace('-fq', ' + FQ')}")
        return drawing

    what = "CDF over random scenarios of table 4; hard: a class of sigma > 1.7 with an SLO below 4."
    nine, ten = ("swp-9", "swp-10", "swp-11"), ("swp-12",)
    return [
        Figure("figure-8", "Figure 8: least capacity, three classes", what, (), cdf(3), nine),
        Figure("figure-9", "Figure 9: least capacity, five classes", what, (), cdf(5), ten),
        Figure(
            "figure-10",
            "Figure 10: inflation of FIFO",
            "A circle per scenario with five classes.",
            (),
            scatter,
            ("swp-13",),
        ),
    ]


def notes(mode: Mode) -> list[str]:
    """What the paper leaves open, and what this mode shrinks."""
    return [
        f"Figures 8 to 10: {COUNT[mode]} scenarios of each kind, "
        f"{PRECISION[mode] * 1000:,.0f} flows or more behind each p99. Averages are geometric over "
        "scenarios, the paper's are arithmetic.",
        "Static: the sum of the least links on which each class meets its SLO alone. Reading "
        "it as one link on which the shares that each class needs against always backlogged "
        "others add up to 1 costs several times as much: r_init and the ideal then follow a link "
        "that the class never gets.",
        "Off forecast: swp-15 is read as 'in most scenarios'; plans that are not met at 1.05 times "
        "the least capacity are left out of it and counted in the check.",
        "T of equation 11 is per class: three classes keep three queues of up to 100 KB.",
        "Slowdown counts a round trip, as in section 2's example; the rows called -delivery count "
        "one way, FCT and ideal, which its definition of latency would say.",
        "Weights are real numbers, found by balancing the classes' losses from the baselines on, "
        "not by algorithm 1; strict priority is left out, as in the paper.",
    ]
