"""Section VIII: ASCC, SRPT, PIAS and LAS. Claims ascc-1 to ascc-12."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fctlab.studies.ascc.setting import (
    ASCC,
    DESCRIPTIONS,
    FCT,
    FOUR,
    LARGE,
    LAS,
    MEDIUM,
    MICE,
    PIAS,
    SIZES,
    SRPT,
    Lab,
    Scheme,
)
from fctlab.studies.framework import loads
from fctlab.studies.framework.figures import Quantity
from fctlab.studies.framework.judged import shown
from fctlab.studies.framework.lab import claim
from fctlab.studies.framework.runs import Results, Run, metric
from fctlab.studies.framework.study import Figure, Part, ratio
from fctlab.studies.framework.verdict import Band, Expectation, Number, Range, Sign

Of = Callable[[Run], float]
WS, DM = BOTH = ("websearch", "datamining")


PIAS_PAIR, SRPT_PAIR = (ASCC, PIAS), (ASCC, SRPT)


def _over_loads(
    lab: Lab,
    workload: str,
    of: Of,
    pair: tuple[Scheme, Scheme],
    expected: Expectation,
    paper: str,
    *,
    alpha: float = 1.0,
    only: tuple[float, ...] | None = None,
    everywhere: bool = False,
) -> tuple[Part, ...]:
    """A ratio of two schemes, over the loads."""
    over, under = (lab.loads(scheme, workload, alpha, only) for scheme in pair)
    name = f"{_words(workload, of)}, alpha {alpha:g}, {pair[0].name} / {pair[1].name}"
    return loads.across(name, over, under, expected, paper, of=of, everywhere=everywhere)


def _at(
    lab: Lab,
    workload: str,
    of: Of,
    pair: tuple[Scheme, Scheme],
    load: float,
    expected: Expectation,
    paper: str,
    *,
    percent: bool = True,
) -> Part:
    """A ratio of two schemes at one load."""
    over, under = (lab.cell(scheme, workload, load) for scheme in pair)
    name = f"{_words(workload, of)}, load {load:g}, {pair[0].name} / {pair[1].name}"
    return ratio(name, over, under, expected, paper, of=of, percent=percent)


def _words(workload: str, of: Of) -> str:
    size = next(words for words, known in SIZES.items() if known is of)
    return f"{DESCRIPTIONS[workload]}, {size}"


@claim(
    "ascc-1",
    "Data mining, mice (below 100 KB): all schemes are alike, the difference never exceeds",
    "3%",
)
def mice_of_data_mining(lab: Lab) -> Iterator[Part]:
    """Data mining's mice at every load."""
    close = Band.within(0.06), "within 3% (band 6%)"
    for scheme in (ASCC, PIAS, LAS):
        yield from _over_loads(lab, DM, MICE, (scheme, SRPT), *close, everywhere=True)


@claim(
    "ascc-2",
    "Web search, mice, alpha = 0: ASCC against PIAS; against SRPT",
    "-18%; equal (band 2%)",
)
def mice_at_once(lab: Lab) -> Iterator[Part]:
    """Web search's mice whose data are there at once."""
    less, equal = (Number(0.82), "-18%"), (Band.within(0.02), "equal (band 2%)")
    yield from _over_loads(lab, WS, MICE, PIAS_PAIR, *less, alpha=0, only=lab.scale.at)
    yield from _over_loads(lab, WS, MICE, SRPT_PAIR, *equal, alpha=0, only=lab.scale.at)


def _why_pias(lab: Lab, results: Results) -> str:
    """What PIAS's thresholds mean for mice."""
    part, *_ = _over_loads(lab, WS, MICE, (PIAS, LAS), Sign(1), "")
    return (
        "PIAS's published thresholds leave the first megabyte of every flow in the queue of the "
        f"mice, which take {shown(part, results)} against LAS."
    )


@claim(
    "ascc-3",
    "Web search, mice: ASCC starts to exceed PIAS at alpha = 1; its excess at alpha = 2",
    "1; +9%",
    why=_why_pias,
)
def crossing(lab: Lab) -> Iterator[Part]:
    """Where ASCC starts to exceed PIAS."""
    before = max(alpha for alpha in lab.scale.alphas if alpha < 1)
    steps: tuple[tuple[float, Expectation, str], ...] = (
        (before, Sign(-1), "below"),
        (1.0, Band.within(0.05), "crosses (band 5%)"),
        (2.0, Number(1.09), "+9%"),
    )
    only = lab.scale.at
    for alpha, expected, paper in steps:
        yield from _over_loads(lab, WS, MICE, PIAS_PAIR, expected, paper, alpha=alpha, only=only)


@claim(
    "ascc-4",
    "Data mining, medium flows (alpha = 1): ASCC is everywhere better than PIAS; at load "
    "0.5; at 0.9",
    "better; -10%; -33%",
)
def medium_of_data_mining(lab: Lab) -> Iterator[Part]:
    """Data mining's medium flows."""
    low, high = lab.scale.loads[0], lab.scale.loads[-1]
    yield from _over_loads(lab, DM, MEDIUM, PIAS_PAIR, Sign(-1), "better", everywhere=True)
    yield _at(lab, DM, MEDIUM, PIAS_PAIR, low, Number(0.90), "-10%")
    yield _at(lab, DM, MEDIUM, PIAS_PAIR, high, Number(0.67), "-33%")


@claim(
    "ascc-5",
    "Web search, medium flows, load 0.9: PIAS / ASCC; LAS / ASCC; at every load ASCC above SRPT by",
    "2x; 2.3x; never more than 10%",
)
def medium_of_web_search(lab: Lab) -> Iterator[Part]:
    """Web search's medium flows."""
    high = lab.scale.loads[-1]
    yield _at(lab, WS, MEDIUM, (PIAS, ASCC), high, Number(2), "2x", percent=False)
    yield _at(lab, WS, MEDIUM, (LAS, ASCC), high, Number(2.3), "2.3x", percent=False)
    band = Band(0, 1.10), "at most 10% above"
    yield from _over_loads(lab, WS, MEDIUM, SRPT_PAIR, *band, everywhere=True)


@claim(
    "ascc-6",
    "Data mining, medium flows: ASCC is below PIAS except for alpha > 1.6",
    "below; above",
)
def medium_by_alpha(lab: Lab) -> Iterator[Part]:
    """Data mining's medium flows by alpha."""
    only, pair = lab.scale.at, PIAS_PAIR
    for alpha in lab.scale.alphas:
        if alpha <= 1.6:
            below = Sign(-1), "below"
            yield from _over_loads(lab, DM, MEDIUM, pair, *below, alpha=alpha, only=only)
    yield from _over_loads(lab, DM, MEDIUM, pair, Sign(1), "above", alpha=2, only=only)


def _why_falls(lab: Lab, results: Results) -> str:
    """Completion times include the wait for a flow's own data; slowdowns do not."""
    over, under = (lab.loads(SRPT, WS, alpha, lab.scale.at) for alpha in (2.0, 1.0))
    slowdown = metric("avg_slowdown", "medium")
    part, *_ = loads.across("", over, under, Sign(-1), of=slowdown)
    return (
        "At alpha = 2 a flow's last packet is there only after twice its transmission time. "
        f"Against flows that have the same data and no competition, medium flows under SRPT are "
        f"{shown(part, results)} in slowdown."
    )


@claim(
    "ascc-7",
    "Web search, medium and large flows: the average FCT of SRPT and LAS falls for alpha > 1",
    "falls",
    why=_why_falls,
)
def falls(lab: Lab) -> Iterator[Part]:
    """Schemes at alpha = 2 over themselves at alpha = 1."""
    for of in (MEDIUM, LARGE):
        for scheme in (SRPT, LAS):
            over, under = (lab.loads(scheme, WS, alpha, lab.scale.at) for alpha in (2.0, 1.0))
            name = f"{_words(WS, of)}, {scheme.name}, alpha 2 / alpha 1"
            yield from loads.across(name, over, under, Sign(-1), "falls", of=of)


@claim(
    "ascc-8",
    "Large flows: PIAS against SRPT and ASCC, data mining; web search",
    "up to +25%; -10%",
)
def large_under_pias(lab: Lab) -> Iterator[Part]:
    """Large flows under PIAS."""
    more, less = (Range(1, 1.25), "up to +25%"), (Number(0.90), "-10%")
    for workload, expected in ((DM, more), (WS, less)):
        for under in (SRPT, ASCC):
            yield from _over_loads(lab, workload, LARGE, (PIAS, under), *expected)


@claim(
    "ascc-9",
    "All flows, at every load: ASCC beats LAS and PIAS everywhere, web search; data "
    "mining; LAS is the worst",
    "up to -30%; up to -25%; worst",
)
def all_flows(lab: Lab) -> Iterator[Part]:
    """All flows at every load."""
    web, mining = (Range(0.70, 1), "up to -30%"), (Range(0.75, 1), "up to -25%")
    for workload, expected in ((WS, web), (DM, mining)):
        for under in (LAS, PIAS):
            yield from _over_loads(lab, workload, FCT, (ASCC, under), *expected, everywhere=True)
    for workload in BOTH:
        yield from _over_loads(lab, workload, FCT, (LAS, PIAS), Sign(1), "worst", everywhere=True)


@claim(
    "ascc-10",
    "Web search, mice, alpha = 1: PIAS is slightly better, the gap closing with load",
    "yes",
    why=_why_pias,
)
def closing(lab: Lab) -> Iterator[Part]:
    """The gap between ASCC and PIAS over the load."""
    low, high = lab.scale.loads[0], lab.scale.loads[-1]
    cells = tuple(lab.cell(scheme, WS, load) for load in (high, low) for scheme in PIAS_PAIR)

    def gap(a: Run, b: Run, c: Run, d: Run) -> float:
        return (MICE(a) / MICE(b)) / (MICE(c) / MICE(d))

    yield from _over_loads(lab, WS, MICE, PIAS_PAIR, Sign(1), "slightly above")
    name = f"ASCC / PIAS, load {high:g} / load {low:g}"
    yield Part(name, "closing", Sign(-1), cells, gap, percent=True)


@claim(
    "ascc-11",
    "Web search, mice, alpha from 1 to 2: ASCC and SRPT grow at the same rate",
    "same (band 5%)",
)
def alike(lab: Lab) -> Iterator[Part]:
    """Growth from alpha = 1 to 2."""
    cells = tuple(
        lab.cell(scheme, WS, load, alpha)
        for load in lab.scale.at
        for scheme in SRPT_PAIR
        for alpha in (2.0, 1.0)
    )

    def growth(*runs: Run) -> float:
        fours = zip(runs[0::4], runs[1::4], runs[2::4], runs[3::4], strict=True)
        ratios = [(MICE(a) / MICE(b)) / (MICE(c) / MICE(d)) for a, b, c, d in fours]
        return loads.geometric_mean(ratios)

    name = "growth of mice's FCT from alpha 1 to 2, ASCC / SRPT, mean of both loads"
    yield Part(name, "same (band 5%)", Band.within(0.05), cells, growth, percent=True)


@claim(
    "ascc-12",
    "Large flows: LAS is far worse than the others; on large flows alone ASCC and SRPT beat PIAS",
    "far worse (by 20%); better",
)
def large_under_las(lab: Lab) -> Iterator[Part]:
    """Large flows under LAS, and alone."""
    worse, better = (Range(1.2), "far worse (by 20%)"), (Sign(-1), "better")
    for workload in BOTH:
        for under in (SRPT, ASCC, PIAS):
            yield from _over_loads(lab, workload, LARGE, (LAS, under), *worse)
    for over in (ASCC, SRPT):
        only = lab.scale.at
        yield from _over_loads(lab, "elephants", LARGE, (over, PIAS), *better, only=only)


@claim(
    "ascc-x3",
    "Large flows: SRPT and ASCC are almost identical",
    "almost identical (band 5%)",
    beyond=True,
)
def large_under_ascc(lab: Lab) -> Iterator[Part]:
    """Section VIII says so of its figures, at every load and for both workloads."""
    equal = Band.within(0.05), "almost identical (band 5%)"
    for workload in BOTH:
        yield from _over_loads(lab, workload, LARGE, SRPT_PAIR, *equal, everywhere=True)


CLAIMS = (
    *(mice_of_data_mining, mice_at_once, crossing, medium_of_data_mining, medium_of_web_search),
    *(medium_by_alpha, falls, large_under_pias, all_flows, closing, alike, large_under_las),
)


def figures(lab: Lab) -> list[Figure]:
    """The paper's figures 4 and 5."""
    time = Quantity("average completion time (ms)", 1e3)
    found = []
    for number, workload in ((4, "datamining"), (5, "websearch")):
        ids = tuple(
            f"ascc-{n}" for n in ((1, 4, 6, 8, 9, 12) if number == 4 else (2, 3, 5, 7, 9, 10, 11))
        )
        words = DESCRIPTIONS[workload]
        by_load = {s.name: lab.loads(s, workload) for s in FOUR}
        found.append(
            loads.absolute(
                f"figure-{number}-load",
                f"Figure {number} (e-h): {words}, by load",
                f"The paper's figure {number}, right half: average completion times at alpha = 1.",
                ids,
                {size: (by_load, of) for size, of in SIZES.items()},
                "load",
                time,
            )
        )
        by_alpha = {
            load: {s.name: lab.alphas(s, workload, load) for s in FOUR} for load in lab.scale.at
        }
        found.append(
            loads.absolute(
                f"figure-{number}-alpha",
                f"Figure {number} (a-d): {words}, by alpha",
                f"The paper's figure {number}, left half, whose load is not stated.",
                ids,
                {
                    f"{size}, load {load:g}": (rows, of)
                    for load, rows in by_alpha.items()
                    for size, of in SIZES.items()
                },
                "alpha",
                time,
            )
        )
    return found
