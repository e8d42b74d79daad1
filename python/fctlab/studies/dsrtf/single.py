"""Section 5.2: web search and data mining alone. Claims dsrtf-1 to dsrtf-5 and dsrtf-15."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fctlab.studies.dsrtf.setting import (
    D_SRTF,
    DCTCP,
    FCT,
    L2DCT,
    LONG,
    MEDIUM,
    PANELS,
    PIAS_DM,
    PIAS_WS,
    SHORT,
    SHORT_TAIL,
    WEIGHTED,
    Lab,
    Scheme,
)
from fctlab.studies.framework import loads
from fctlab.studies.framework.judged import shown
from fctlab.studies.framework.lab import beside, claim
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.study import Figure, Part, ratio
from fctlab.studies.framework.verdict import Band, Expectation, Number, Range, Sign

SCHEMES = {"websearch": PIAS_WS, "datamining": PIAS_DM}
"""PIAS as it was compared: with the thresholds of the workload itself."""


def _against(
    lab: Lab,
    other: Scheme,
    traffic: str,
    words: str,
    of: Callable[[Run], float],
    expected: Expectation,
    paper: str,
) -> tuple[Part, ...]:
    """D-SRTF over another scheme at all loads."""
    ours, theirs = lab.loads(D_SRTF, traffic), lab.loads(other, traffic)
    name = f"{words}, D-SRTF / {lab.scheme(other).name}"
    return loads.across(name, ours, theirs, expected, paper, of=of)


def _at(
    lab: Lab,
    load: float,
    words: str,
    of: Callable[[Run], float],
    expected: Expectation,
    paper: str,
) -> Part:
    """D-SRTF over PIAS with web search at one load."""
    ours, theirs = (lab.cell(s, "websearch", load) for s in (D_SRTF, PIAS_WS))
    name = f"{words}, load {load:g}, D-SRTF / {PIAS_WS.name}"
    return ratio(name, ours, theirs, expected, paper, of=of, percent=True)


WS, DM = "websearch", "datamining"


@claim(
    "dsrtf-1",
    "Web search, all flows, average FCT against PIAS at load 0.3 and 0.9",
    "-11%; -2%",
)
def all_flows(lab: Lab) -> Iterator[Part]:
    """Web search at the least load and at the largest."""
    low, high = lab.scale.loads[0], lab.scale.loads[-1]
    yield _at(lab, low, "all flows", FCT, Number(0.89), "-11%")
    yield _at(lab, high, "all flows", FCT, Number(0.98), "-2%")


@claim(
    "dsrtf-2",
    "Web search, short flows against PIAS: average and p99 FCT",
    "-8 to -13%; -12 to -33%",
)
def short_flows(lab: Lab) -> Iterator[Part]:
    """Web search's short flows."""
    average = "short flows, average", SHORT, Range(0.87, 0.92), "-8 to -13%"
    tail = "short flows, p99", SHORT_TAIL, Range(0.67, 0.88), "-12 to -33%"
    for words, of, expected, paper in (average, tail):
        yield from _against(lab, PIAS_WS, WS, words, of, expected, paper)


def _fairness(lab: Lab, other: Scheme, number: float) -> tuple[Part, ...]:
    """Against a scheme that shares links, all flows of web search."""
    expected = Number(number), f"{number - 1:+.0%}"
    return _against(lab, other, WS, "all flows", FCT, *expected)


def _why_fair(lab: Lab, results: Results) -> str:
    weighted = _fairness(lab.read(WEIGHTED), L2DCT, 0.80)[0]
    return (
        "L2DCT grows by the law of the code that PIAS published (every flow by two packets "
        "per round trip; that the paper ran it is an inference). With growth weighted by "
        "what a flow has sent, as L2DCT's own paper has it, D-SRTF is "
        f"{shown(weighted, results)} against it."
    )


@claim(
    "dsrtf-3",
    "Web search, all flows, average FCT against L2DCT and DCTCP",
    "-20%; -25%",
    why=_why_fair,
)
def against_fair(lab: Lab) -> Iterator[Part]:
    """Web search against schemes without priorities."""
    yield from _fairness(lab, L2DCT, 0.80)
    yield from _fairness(lab, DCTCP, 0.75)
    yield from beside(_fairness(lab.read(WEIGHTED), L2DCT, 0.80))


@claim(
    "dsrtf-4",
    "Web search against PIAS: medium flows; long flows, similar and slightly worse at high load",
    "-10%; similar (band 5%), worse",
)
def longer_flows(lab: Lab) -> Iterator[Part]:
    """Web search's medium and long flows."""
    *lower, high = lab.scale.loads
    yield from _against(lab, PIAS_WS, WS, "medium flows", MEDIUM, Number(0.90), "-10%")
    ours, theirs = (lab.loads(s, WS, loads=tuple(lower)) for s in (D_SRTF, PIAS_WS))
    name, paper = f"long flows, D-SRTF / {PIAS_WS.name}", "similar (band 5%)"
    yield from loads.across(name, ours, theirs, Band.within(0.05), paper, of=LONG)
    yield _at(lab, high, "long flows", LONG, Sign(1), "slightly worse")


@claim(
    "dsrtf-5",
    "Data mining, mean of the loads: D-SRTF has the lowest overall average FCT; medium "
    "flows against PIAS",
    "best; -4%",
)
def data_mining(lab: Lab) -> Iterator[Part]:
    """Data mining against all."""
    for other in (PIAS_DM, L2DCT, DCTCP):
        yield from _against(lab, other, DM, "all flows", FCT, Sign(-1), "lower")
    yield from _against(lab, PIAS_DM, DM, "medium flows", MEDIUM, Number(0.96), "-4%")


@claim("dsrtf-15", "Data mining: large flows are better than under PIAS", "better")
def large_of_data_mining(lab: Lab) -> Iterator[Part]:
    """Data mining's large flows."""
    yield from _against(lab, PIAS_DM, DM, "large flows", LONG, Sign(-1), "better")


CLAIMS = (all_flows, short_flows, against_fair, longer_flows, data_mining)


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
