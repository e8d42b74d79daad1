"""Sections 5.3 to 5.5: four workloads at once. Claims dsrtf-6 to dsrtf-9 and dsrtf-13."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fctlab.studies.dsrtf.setting import (
    CLASSES,
    D_SRTF,
    DCTCP,
    FCT,
    L2DCT,
    OWN_SETTING,
    PANELS,
    PFABRIC,
    PFABRIC_OWN,
    PIAS_DM,
    PIAS_WS,
    SHARES,
    SHORT,
    SHORT_TAIL,
    Lab,
    Scheme,
)
from fctlab.studies.framework import figures as drawing
from fctlab.studies.framework import loads
from fctlab.studies.framework.figures import Line
from fctlab.studies.framework.lab import beside, claim
from fctlab.studies.framework.pictures import Picture
from fctlab.studies.framework.runs import Results, Run, metric
from fctlab.studies.framework.study import Figure, Part
from fctlab.studies.framework.verdict import Expectation, Number, Range, Sign

OTHERS = (PIAS_WS, PIAS_DM, L2DCT, DCTCP)


PIAS, FAIR = (PIAS_WS, PIAS_DM), (L2DCT, DCTCP)


def _against(
    lab: Lab,
    other: Scheme,
    words: str,
    of: Callable[[Run], float],
    expected: Expectation,
    paper: str,
    *,
    scheme: Scheme = D_SRTF,
    topology: str = "leaf-spine",
    everywhere: bool = False,
) -> tuple[Part, ...]:
    """A scheme over another at all loads of the mix."""
    chosen = lab.scale.deep if topology == "fat-tree" else lab.scale.loads
    ours, theirs = (lab.loads(s, "mixed", topology, chosen) for s in (scheme, other))
    name = f"{words}, {scheme.name} / {lab.scheme(other).name}"
    return loads.across(name, ours, theirs, expected, paper, of=of, everywhere=everywhere)


@claim(
    "dsrtf-6",
    "Four workloads mixed: overall average FCT against PIAS with web search's thresholds, "
    "at every load; with data mining's, mean of the loads",
    "-5%; -1 to -7%",
)
def all_flows(lab: Lab) -> Iterator[Part]:
    """All flows of the mix."""
    yield from _against(lab, PIAS_WS, "all flows", FCT, Number(0.95), "-5%", everywhere=True)
    yield from _against(lab, PIAS_DM, "all flows", FCT, Range(0.93, 0.99), "-1 to -7%")


@claim(
    "dsrtf-7",
    "... short flows: average against PIAS; against L2DCT and DCTCP; p99 against both",
    "up to -10%; more than -40%; -15 to -20%, more than -60%",
)
def short_flows(lab: Lab) -> Iterator[Part]:
    """Short flows of the mix."""
    tail = "short, p99", SHORT_TAIL
    for other in PIAS:
        yield from _against(lab, other, "short", SHORT, Range(0.90, 1), "up to -10%")
    for other in FAIR:
        yield from _against(lab, other, "short", SHORT, Range(0, 0.6), "more than -40%")
    for other in PIAS:
        yield from _against(lab, other, *tail, Range(0.80, 0.85), "-15 to -20%")
    for other in FAIR:
        yield from _against(lab, other, *tail, Range(0, 0.4), "more than -60%")


@claim("dsrtf-8", "Fat-tree: D-SRTF is better in all cases (at every load)", "lower everywhere")
def fat_tree(lab: Lab) -> Iterator[Part]:
    """The mix on a fat-tree."""
    where: Any = {"topology": "fat-tree", "everywhere": True}
    for words, of in (("all flows", FCT), ("short flows", SHORT)):
        for other in OTHERS:
            yield from _against(lab, other, words, of, Sign(-1), "lower", **where)


def _short_of_data_mining(lab: Lab) -> Iterator[Part]:
    """D-SRTF and PIAS over pFabric."""
    mining = metric("avg_fct_s", "small", "data mining")
    for scheme, number in ((D_SRTF, 1.016), (PIAS_WS, 1.049), (PIAS_DM, 1.049)):
        expected = Number(number), f"{number - 1:+.1%}"
        words = "short, data mining"
        yield from _against(lab, PFABRIC, words, mining, *expected, scheme=scheme)


@claim(
    "dsrtf-9",
    "Short flows of data mining inside the mix against pFabric: D-SRTF; PIAS",
    "+1.6%; +4.9%",
)
def against_pfabric(lab: Lab) -> Iterator[Part]:
    """As the paper ran pFabric; its own setting beside."""
    yield from _short_of_data_mining(lab)
    yield from beside(_short_of_data_mining(lab.read(OWN_SETTING)))


@claim(
    "dsrtf-13",
    "Figure 10: for each workload inside the mix D-SRTF has the lowest average FCT, mean "
    "of the loads",
    "lowest",
)
def each_workload(lab: Lab) -> Iterator[Part]:
    """Each workload of the mix."""
    for name in CLASSES:
        of = metric("avg_fct_s", traffic_class=name)
        for other in OTHERS:
            yield from _against(lab, other, name, of, Sign(-1), "lower")


CLAIMS = (all_flows, short_flows, fat_tree, against_pfabric)


def figures(lab: Lab) -> list[Figure]:
    """The paper's figures 8 to 10, 12 and 13."""
    five = (PIAS_WS, PIAS_DM, D_SRTF, L2DCT, DCTCP)

    def of_class(name: str) -> Callable[[Run], float]:
        return metric("avg_fct_s", traffic_class=name)

    def short_of(name: str) -> Callable[[Run], float]:
        return metric("avg_fct_s", "small", name)

    def drawn(
        number: int,
        title: str,
        caption: str,
        claims: tuple[str, ...],
        panels: dict[str, Callable[[Run], float]],
        schemes: tuple[Scheme, ...] = five,
        topology: str = "leaf-spine",
        chosen: tuple[float, ...] | None = None,
    ) -> Figure:
        return loads.relative(
            f"figure-{number}",
            f"Figure {number}: {title}",
            f"The paper's figure {number}: {caption}, as shares of those under "
            f"{schemes[0].name}; below 1 is better.",
            claims,
            panels,
            {s.name: lab.loads(s, "mixed", topology, chosen) for s in schemes},
            schemes[0].name,
        )

    return [
        drawn(8, "four workloads mixed", "completion times", ("dsrtf-6", "dsrtf-7"), PANELS),
        _distribution(lab, five),
        drawn(
            10,
            "by workload inside the mix",
            "average completion times of each workload",
            ("dsrtf-13",),
            {name: of_class(name) for name in CLASSES},
        ),
        drawn(
            12,
            "fat-tree, mixed",
            "completion times",
            ("dsrtf-8",),
            PANELS,
            topology="fat-tree",
            chosen=lab.scale.deep,
        ),
        drawn(
            13,
            "short flows against pFabric",
            "average completion times of short flows by workload",
            ("dsrtf-9",),
            {name: short_of(name) for name in CLASSES},
            (PFABRIC_OWN, PFABRIC, D_SRTF, PIAS_WS, PIAS_DM),
        ),
    ]


def _distribution(lab: Lab, schemes: tuple[Scheme, ...]) -> Figure:
    """The paper's figure 9."""
    load = lab.scale.deep[0]
    cells = {s.name: lab.cell(s, "mixed", load) for s in schemes}

    def draw(results: Results) -> Picture:
        lines = []
        for name, cell in cells.items():
            runs = [run.kept["fct_s"] for run in results.of(cell)]
            times = [sum(each) / len(each) * 1e3 for each in zip(*runs, strict=True)]
            lines.append(Line(name, times, [[share] for share in SHARES]))
        return drawing.lines([("", lines)], "completion time (ms)", "share of flows", x_log=True)

    return Figure(
        "figure-9",
        "Figure 9: distribution of completion times",
        f"The paper's figure 9: four workloads mixed at load {load:g}; means over the seeds of "
        "the time that a share of the flows does not exceed.",
        tuple(cells.values()),
        draw,
        ("dsrtf-13",),
    )
