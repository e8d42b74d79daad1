"""Section VIII: ASCC, SRPT, PIAS and LAS. Claims ascc-1 to ascc-12."""

from __future__ import annotations

from collections.abc import Callable

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
from fctlab.studies.framework.runs import Results, Run, metric
from fctlab.studies.framework.study import Claim, Figure, Part, ratio
from fctlab.studies.framework.verdict import Band, Expectation, Number, Range, Sign

Of = Callable[[Run], float]
BOTH = ("websearch", "datamining")


class _Parts:
    """Makes parts."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def over_loads(
        self,
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
        over, under = (self.lab.loads(scheme, workload, alpha, only) for scheme in pair)
        name = f"{_words(workload, of)}, alpha {alpha:g}, {pair[0].name} / {pair[1].name}"
        return loads.across(name, over, under, expected, paper, of=of, everywhere=everywhere)

    def at(
        self,
        workload: str,
        of: Of,
        pair: tuple[Scheme, Scheme],
        load: float,
        expected: Expectation,
        paper: str,
        *,
        alpha: float = 1.0,
        percent: bool = True,
    ) -> Part:
        """A ratio of two schemes at one load."""
        over, under = (self.lab.cell(scheme, workload, load, alpha) for scheme in pair)
        name = f"{_words(workload, of)}, load {load:g}, {pair[0].name} / {pair[1].name}"
        return ratio(name, over, under, expected, paper, of=of, percent=percent)

    def grown(
        self, workload: str, of: Of, scheme: Scheme, expected: Expectation, paper: str
    ) -> tuple[Part, ...]:
        """A scheme at alpha = 2 over itself at alpha = 1."""
        only = self.lab.scale.at
        over, under = (self.lab.loads(scheme, workload, alpha, only) for alpha in (2.0, 1.0))
        name = f"{_words(workload, of)}, {scheme.name}, alpha 2 / alpha 1"
        return loads.across(name, over, under, expected, paper, of=of)


def _words(workload: str, of: Of) -> str:
    size = next(words for words, known in SIZES.items() if known is of)
    return f"{DESCRIPTIONS[workload]}, {size}"


def claims(lab: Lab) -> list[Claim]:
    """Claims ascc-1 to ascc-12."""
    make = _Parts(lab)
    scale = lab.scale
    at, low, high = scale.at, scale.loads[0], scale.loads[-1]
    close = Band.within(0.06), "within 3% (band 6%)"
    pias = (ASCC, PIAS)
    upto = [alpha for alpha in scale.alphas if alpha <= 1.6]
    return [
        Claim(
            "ascc-1",
            "Data mining, mice (below 100 KB): all schemes are alike, the difference never exceeds",
            "3%",
            tuple(
                part
                for scheme in (ASCC, PIAS, LAS)
                for part in make.over_loads(
                    "datamining", MICE, (scheme, SRPT), *close, everywhere=True
                )
            ),
        ),
        Claim(
            "ascc-2",
            "Web search, mice, alpha = 0: ASCC against PIAS; against SRPT",
            "-18%; equal (band 2%)",
            (
                *make.over_loads("websearch", MICE, pias, Number(0.82), "-18%", alpha=0, only=at),
                *make.over_loads(
                    "websearch",
                    MICE,
                    (ASCC, SRPT),
                    Band.within(0.02),
                    "equal (band 2%)",
                    alpha=0,
                    only=at,
                ),
            ),
        ),
        _crossing(lab, make),
        Claim(
            "ascc-4",
            "Data mining, medium flows (alpha = 1): ASCC is everywhere better than PIAS; at load "
            "0.5; at 0.9",
            "better; -10%; -33%",
            (
                *make.over_loads("datamining", MEDIUM, pias, Sign(-1), "better", everywhere=True),
                make.at("datamining", MEDIUM, pias, low, Number(0.90), "-10%"),
                make.at("datamining", MEDIUM, pias, high, Number(0.67), "-33%"),
            ),
        ),
        Claim(
            "ascc-5",
            "Web search, medium flows, load 0.9: PIAS / ASCC; LAS / ASCC; at every load ASCC "
            "above SRPT by",
            "2x; 2.3x; never more than 10%",
            (
                make.at("websearch", MEDIUM, (PIAS, ASCC), high, Number(2), "2x", percent=False),
                make.at("websearch", MEDIUM, (LAS, ASCC), high, Number(2.3), "2.3x", percent=False),
                *make.over_loads(
                    "websearch",
                    MEDIUM,
                    (ASCC, SRPT),
                    Band(0, 1.10),
                    "at most 10% above",
                    everywhere=True,
                ),
            ),
        ),
        Claim(
            "ascc-6",
            "Data mining, medium flows: ASCC is below PIAS except for alpha > 1.6",
            "below; above",
            (
                *(
                    part
                    for alpha in upto
                    for part in make.over_loads(
                        "datamining", MEDIUM, pias, Sign(-1), "below", alpha=alpha, only=at
                    )
                ),
                *make.over_loads("datamining", MEDIUM, pias, Sign(1), "above", alpha=2, only=at),
            ),
        ),
        Claim(
            "ascc-7",
            "Web search, medium and large flows: the average FCT of SRPT and LAS falls for alpha > "
            "1",
            "falls",
            tuple(
                part
                for of in (MEDIUM, LARGE)
                for scheme in (SRPT, LAS)
                for part in make.grown("websearch", of, scheme, Sign(-1), "falls")
            ),
            why=_why_falls(lab),
        ),
        Claim(
            "ascc-8",
            "Large flows: PIAS against SRPT and ASCC, data mining; web search",
            "up to +25%; -10%",
            tuple(
                part
                for workload, expected, paper in (
                    ("datamining", Range(1, 1.25), "up to +25%"),
                    ("websearch", Number(0.90), "-10%"),
                )
                for under in (SRPT, ASCC)
                for part in make.over_loads(workload, LARGE, (PIAS, under), expected, paper)
            ),
        ),
        Claim(
            "ascc-9",
            "All flows, at every load: ASCC beats LAS and PIAS everywhere, web search; data "
            "mining; LAS is the worst",
            "up to -30%; up to -25%; worst",
            (
                *(
                    part
                    for workload, expected, paper in (
                        ("websearch", Range(0.70, 1), "up to -30%"),
                        ("datamining", Range(0.75, 1), "up to -25%"),
                    )
                    for under in (LAS, PIAS)
                    for part in make.over_loads(
                        workload, FCT, (ASCC, under), expected, paper, everywhere=True
                    )
                ),
                *(
                    part
                    for workload in BOTH
                    for part in make.over_loads(
                        workload, FCT, (LAS, PIAS), Sign(1), "worst", everywhere=True
                    )
                ),
            ),
        ),
        _closing(lab, make),
        _alike(lab),
        Claim(
            "ascc-12",
            "Large flows: LAS is far worse than the others; on large flows alone ASCC and SRPT "
            "beat PIAS",
            "far worse (by 20%); better",
            (
                *(
                    part
                    for workload in BOTH
                    for under in (SRPT, ASCC, PIAS)
                    for part in make.over_loads(
                        workload, LARGE, (LAS, under), Range(1.2), "far worse (by 20%)"
                    )
                ),
                *(
                    part
                    for over in (ASCC, SRPT)
                    for part in make.over_loads(
                        "elephants", LARGE, (over, PIAS), Sign(-1), "better", only=at
                    )
                ),
            ),
        ),
    ]


def _why_pias(make: _Parts) -> Callable[[Results], str]:
    """What PIAS's thresholds mean for mice."""
    part, *_ = make.over_loads("websearch", MICE, (PIAS, LAS), Sign(1), "")
    return lambda results: (
        "PIAS's published thresholds leave the first megabyte of every flow in the queue of the "
        f"mice, which take {shown(part, results)} against LAS."
    )


def _why_falls(lab: Lab) -> Callable[[Results], str]:
    """Completion times include the wait for a flow's own data; slowdowns do not."""
    over, under = (lab.loads(SRPT, "websearch", alpha, lab.scale.at) for alpha in (2.0, 1.0))
    slowdown = metric("avg_slowdown", "medium")
    part, *_ = loads.across("", over, under, Sign(-1), of=slowdown)
    return lambda results: (
        "At alpha = 2 a flow's last packet is there only after twice its transmission time. "
        f"Against flows that have the same data and no competition, medium flows under SRPT are "
        f"{shown(part, results)} in slowdown."
    )


def _crossing(lab: Lab, make: _Parts) -> Claim:
    """Where ASCC starts to exceed PIAS."""
    at = lab.scale.at
    before = max(alpha for alpha in lab.scale.alphas if alpha < 1)
    steps: tuple[tuple[float, Expectation, str], ...] = (
        (before, Sign(-1), "below"),
        (1.0, Band.within(0.05), "crosses (band 5%)"),
        (2.0, Number(1.09), "+9%"),
    )
    return Claim(
        "ascc-3",
        "Web search, mice: ASCC starts to exceed PIAS at alpha = 1; its excess at alpha = 2",
        "1; +9%",
        tuple(
            part
            for alpha, expected, paper in steps
            for part in make.over_loads(
                "websearch", MICE, (ASCC, PIAS), expected, paper, alpha=alpha, only=at
            )
        ),
        why=_why_pias(make),
    )


def _closing(lab: Lab, make: _Parts) -> Claim:
    """The gap between ASCC and PIAS over the load."""
    low, high = lab.scale.loads[0], lab.scale.loads[-1]
    cells = tuple(
        lab.cell(scheme, "websearch", load) for load in (high, low) for scheme in (ASCC, PIAS)
    )

    def closing(a: Run, b: Run, c: Run, d: Run) -> float:
        return (MICE(a) / MICE(b)) / (MICE(c) / MICE(d))

    return Claim(
        "ascc-10",
        "Web search, mice, alpha = 1: PIAS is slightly better, the gap closing with load",
        "yes",
        (
            *make.over_loads("websearch", MICE, (ASCC, PIAS), Sign(1), "slightly above"),
            Part(
                f"ASCC / PIAS, load {high:g} / load {low:g}",
                "closing",
                Sign(-1),
                cells,
                closing,
                percent=True,
            ),
        ),
        why=_why_pias(make),
    )


def _alike(lab: Lab) -> Claim:
    """Growth from alpha = 1 to 2."""
    only = lab.scale.at
    cells = tuple(
        lab.cell(scheme, "websearch", load, alpha)
        for load in only
        for scheme in (ASCC, SRPT)
        for alpha in (2.0, 1.0)
    )

    def growth(*runs: Run) -> float:
        fours = zip(runs[0::4], runs[1::4], runs[2::4], runs[3::4], strict=True)
        ratios = [(MICE(a) / MICE(b)) / (MICE(c) / MICE(d)) for a, b, c, d in fours]
        return loads.geometric_mean(ratios)

    name = "growth of mice's FCT from alpha 1 to 2, ASCC / SRPT, mean of both loads"
    return Claim(
        "ascc-11",
        "Web search, mice, alpha from 1 to 2: ASCC and SRPT grow at the same rate",
        "same (band 5%)",
        (Part(name, "same (band 5%)", Band.within(0.05), cells, growth, percent=True),),
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
