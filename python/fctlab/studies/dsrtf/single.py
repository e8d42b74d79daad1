"""Section 5.2: web search and data mining alone. Claims dsrtf-1 to dsrtf-5 and dsrtf-15."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fctlab.studies.dsrtf.setting import (
    D_SRTF,
    DCTCP,
    FCT,
    L2DCT,
    L2DCT_WEIGHTED,
    LONG,
    MEDIUM,
    PANELS,
    PIAS_DM,
    PIAS_WS,
    SHORT,
    SHORT_TAIL,
    Lab,
    Scheme,
)
from fctlab.studies.framework import loads
from fctlab.studies.framework.judged import shown
from fctlab.studies.framework.runs import Run
from fctlab.studies.framework.study import Claim, Figure, Part, ratio
from fctlab.studies.framework.verdict import Band, Expectation, Number, Range, Sign

SCHEMES = {"websearch": PIAS_WS, "datamining": PIAS_DM}
"""PIAS as it was compared: with the thresholds of the workload itself."""


def claims(lab: Lab) -> list[Claim]:
    """Claims dsrtf-1 to dsrtf-5 and dsrtf-15."""

    def against(
        other: Scheme,
        traffic: str,
        words: str,
        of: Callable[[Run], float],
        expected: Expectation,
        paper: str,
    ) -> tuple[Part, ...]:
        ours, theirs = lab.loads(D_SRTF, traffic), lab.loads(other, traffic)
        name = f"{words}, D-SRTF / {other.name}"
        return loads.across(name, ours, theirs, expected, paper, of=of)

    def at(
        load: float, words: str, of: Callable[[Run], float], expected: Expectation, paper: str
    ) -> Part:
        ours, theirs = (lab.cell(s, "websearch", load) for s in (D_SRTF, PIAS_WS))
        name = f"{words}, load {load:g}, D-SRTF / {PIAS_WS.name}"
        return ratio(name, ours, theirs, expected, paper, of=of, percent=True)

    beside = tuple(
        replace(part, counts=False)
        for part in against(L2DCT_WEIGHTED, "websearch", "all flows", FCT, Number(0.80), "-20%")
    )
    low, high = lab.scale.loads[0], lab.scale.loads[-1]
    return [
        Claim(
            "dsrtf-1",
            "Web search, all flows, average FCT against PIAS at load 0.3 and 0.9",
            "-11%; -2%",
            (
                at(low, "all flows", FCT, Number(0.89), "-11%"),
                at(high, "all flows", FCT, Number(0.98), "-2%"),
            ),
        ),
        Claim(
            "dsrtf-2",
            "Web search, short flows against PIAS: average and p99 FCT",
            "-8 to -13%; -12 to -33%",
            (
                *against(
                    PIAS_WS,
                    "websearch",
                    "short flows, average",
                    SHORT,
                    Range(0.87, 0.92),
                    "-8 to -13%",
                ),
                *against(
                    PIAS_WS,
                    "websearch",
                    "short flows, p99",
                    SHORT_TAIL,
                    Range(0.67, 0.88),
                    "-12 to -33%",
                ),
            ),
        ),
        Claim(
            "dsrtf-3",
            "Web search, all flows, average FCT against L2DCT and DCTCP",
            "-20%; -25%",
            tuple(
                part
                for other, number in ((L2DCT, 0.80), (DCTCP, 0.75))
                for part in against(
                    other, "websearch", "all flows", FCT, Number(number), f"{number - 1:+.0%}"
                )
            )
            + beside,
            why=lambda results: (
                "L2DCT grows by the law of the code that PIAS published (every flow by two packets "
                "per round trip; that the paper ran it is an inference). With growth weighted by "
                "what a flow has sent, as L2DCT's own paper has it, D-SRTF is "
                f"{shown(beside[0], results)} against it."
            ),
        ),
        Claim(
            "dsrtf-4",
            "Web search against PIAS: medium flows; long flows, similar and slightly worse at "
            "high load",
            "-10%; similar (band 5%), worse",
            (
                *against(PIAS_WS, "websearch", "medium flows", MEDIUM, Number(0.90), "-10%"),
                *loads.across(
                    f"long flows, D-SRTF / {PIAS_WS.name}",
                    lab.loads(D_SRTF, "websearch", loads=lab.scale.loads[:-1]),
                    lab.loads(PIAS_WS, "websearch", loads=lab.scale.loads[:-1]),
                    Band.within(0.05),
                    "similar (band 5%)",
                    of=LONG,
                ),
                at(high, "long flows", LONG, Sign(1), "slightly worse"),
            ),
        ),
        Claim(
            "dsrtf-5",
            "Data mining, mean of the loads: D-SRTF has the lowest overall average FCT; medium "
            "flows against PIAS",
            "best; -4%",
            (
                *(
                    part
                    for other in (PIAS_DM, L2DCT, DCTCP)
                    for part in against(other, "datamining", "all flows", FCT, Sign(-1), "lower")
                ),
                *against(PIAS_DM, "datamining", "medium flows", MEDIUM, Number(0.96), "-4%"),
            ),
        ),
        Claim(
            "dsrtf-15",
            "Data mining: large flows are better than under PIAS",
            "better",
            against(PIAS_DM, "datamining", "large flows", LONG, Sign(-1), "better"),
        ),
    ]


def figures(lab: Lab) -> list[Figure]:
    """The paper's figures 6 and 7."""
    found = []
    for number, (traffic, pias) in zip((6, 7), SCHEMES.items(), strict=True):
        words = {"websearch": "web search", "datamining": "data mining"}[traffic]
        found.append(
            loads.relative(
                f"figure-{number}",
                f"Figure {number}: {words}",
                f"The paper's figure {number}: completion times as shares of those under PIAS with "
                f"the thresholds published for {words}; below 1 is better.",
                tuple(f"dsrtf-{n}" for n in ((1, 2, 3, 4) if number == 6 else (5, 15))),
                PANELS,
                {s.name: lab.loads(s, traffic) for s in (pias, D_SRTF, L2DCT, DCTCP)},
                pias.name,
            )
        )
    return found
