"""Sections 4.4 and 4.5: AWAFS and PIAS with other thresholds. Claims awafs-3 to 9 and 11."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fctlab.studies.awafs.setting import (
    AWAFS,
    DESCRIPTIONS,
    EQUAL_BYTES,
    FCT,
    LONG,
    LONG_TAIL,
    PIAS_DM,
    PIAS_WS,
    SHORT,
    SHORT_TAIL,
    SOLVED,
    Lab,
    Scheme,
    awafs,
    pias,
    timeouts,
)
from fctlab.studies.framework import loads
from fctlab.studies.framework.lab import beside, claim
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.study import Figure, Part, ratio
from fctlab.studies.framework.verdict import Band, Expectation, Number, Range, Sign

Of = Callable[[Run], float]
HIGH = 0.9


class _Against:
    """Parts that compare AWAFS with a PIAS under a traffic."""

    def __init__(self, lab: Lab, traffic: str, other: Scheme, ours: Scheme = AWAFS) -> None:
        self.lab, self.traffic, self.ours, self.other = lab, traffic, ours, other
        self.name = f"{DESCRIPTIONS[traffic]}, {ours.name} / {lab.scheme(other).name}"

    def mean(self, words: str, of: Of, expected: Expectation, paper: str) -> tuple[Part, ...]:
        """Over the loads, and each of them beside."""
        ours, other = (self.lab.loads(scheme, self.traffic) for scheme in (self.ours, self.other))
        name = f"{words}: {self.name}"
        return loads.across(name, ours, other, expected, paper, of=of)

    def high(self, words: str, of: Of, expected: Expectation, paper: str) -> Part:
        """At load 0.9."""
        ours, other = (self.lab.cell(s, self.traffic, HIGH) for s in (self.ours, self.other))
        name = f"{words} at load {HIGH:g}: {self.name}"
        return ratio(name, ours, other, expected, paper, of=of, percent=True)


def _less(share: float) -> tuple[Number, str]:
    """A reduction by `share`, and how people write it."""
    return Number(1 - share), f"-{share:.1%}"


ALL = "all flows", FCT
SMALL, SMALL_TAIL = ("short flows", SHORT), ("short flows, p99", SHORT_TAIL)
LARGE, LARGE_TAIL = ("long flows", LONG), ("long flows, p99", LONG_TAIL)
TIMEOUTS = "timeouts", timeouts
NONE = Band.within(0.03), "none (band 3%)"


def _short_of_web_search(lab: Lab) -> Iterator[Part]:
    web = _Against(lab, "websearch", PIAS_DM)
    yield from web.mean(*SMALL, *_less(0.096))
    yield from web.mean(*SMALL_TAIL, *_less(0.166))


@claim(
    "awafs-3",
    "Web search, PIAS with data mining's thresholds: short flows, average and p99 FCT; at load 0.9",
    "-9.6%, -16.6%; -11.7%, -15.9%",
)
def web_search(lab: Lab) -> Iterator[Part]:
    """Web search's short flows; against solved thresholds beside."""
    web = _Against(lab, "websearch", PIAS_DM)
    yield from _short_of_web_search(lab)
    yield web.high(*SMALL, *_less(0.117))
    yield web.high(*SMALL_TAIL, *_less(0.159))
    yield from beside(_short_of_web_search(lab.read(SOLVED)))


@claim(
    "awafs-4",
    "... long flows, average and p99; overall average; timeouts",
    "-20.3%, -32.7%; -36%; -78%",
)
def long_of_web_search(lab: Lab) -> Iterator[Part]:
    """Web search's long flows."""
    web = _Against(lab, "websearch", PIAS_DM)
    yield from web.mean(*LARGE, *_less(0.203))
    yield from web.mean(*LARGE_TAIL, *_less(0.327))
    yield from web.mean(*ALL, *_less(0.36))
    yield from web.mean(*TIMEOUTS, *_less(0.78))


@claim(
    "awafs-5",
    "Data mining, PIAS with web search's thresholds: no noticeable difference",
    "band 3%",
)
def data_mining(lab: Lab) -> Iterator[Part]:
    """Data mining, also between both of PIAS's thresholds."""
    yield from _Against(lab, "datamining", PIAS_WS).mean(*ALL, *NONE)
    yield from _Against(lab, "datamining", PIAS_DM, PIAS_WS).mean(*ALL, *NONE)


@claim(
    "awafs-6",
    "Hadoop, PIAS with data mining's thresholds: short flows, average and p99; overall; "
    "timeouts; long flows at load 0.9, average and p99",
    "-0.3 to -0.7%, -0.6 to -2.3%; -0.4%; -95%; -1%, -5.7%",
    why=lambda *_: (
        "Most of Hadoop's flows end between 35 and 98 KB (its 10th and 70th percentiles), "
        "so thresholds that follow those percentiles demote short flows while they last, "
        "to be served with what else is there; PIAS's first threshold is above 1 MB."
    ),
)
def hadoop(lab: Lab) -> Iterator[Part]:
    """Hadoop."""
    against = _Against(lab, "hadoop", PIAS_DM)
    yield from against.mean(*SMALL, Range(0.993, 0.997), "-0.3 to -0.7%")
    yield from against.mean(*SMALL_TAIL, Range(0.977, 0.994), "-0.6 to -2.3%")
    yield from against.mean(*ALL, *_less(0.004))
    yield from against.mean(*TIMEOUTS, *_less(0.95))
    yield against.high(*LARGE, *_less(0.01))
    yield against.high(*LARGE_TAIL, *_less(0.057))


@claim(
    "awafs-7",
    "Cache, PIAS with data mining's thresholds: short flows, average and p99; long flows, "
    "average and p99; overall; timeouts",
    "-11.8%, -12.7%; -10.2%, -18.5%; -5.3%; -63%",
)
def cache(lab: Lab) -> Iterator[Part]:
    """Cache."""
    against = _Against(lab, "cache", PIAS_DM)
    yield from against.mean(*SMALL, *_less(0.118))
    yield from against.mean(*SMALL_TAIL, *_less(0.127))
    yield from against.mean(*LARGE, *_less(0.102))
    yield from against.mean(*LARGE_TAIL, *_less(0.185))
    yield from against.mean(*ALL, *_less(0.053))
    yield from against.mean(*TIMEOUTS, *_less(0.63))


@claim(
    "awafs-8",
    "Heterogeneous traffic (web search from i to j > i, else data mining), PIAS with web "
    "search's thresholds: short flows, average and p99",
    "-4.3 to -5.1%; -8 to -15%",
)
def heterogeneous(lab: Lab) -> Iterator[Part]:
    """Both at once."""
    mixed = _Against(lab, "heterogeneous", PIAS_WS)
    yield from mixed.mean(*SMALL, Range(0.949, 0.957), "-4.3 to -5.1%")
    yield from mixed.mean(*SMALL_TAIL, Range(0.85, 0.92), "-8 to -15%")


@claim(
    "awafs-9",
    "Abstract: average FCT of short flows; of long flows",
    "-16.9 to -45.2%; up to -39%",
    why=lambda *_: "The body's numbers (awafs-3 and awafs-4) are smaller than the abstract's.",
)
def abstract(lab: Lab) -> Iterator[Part]:
    """What the abstract says."""
    web = _Against(lab, "websearch", PIAS_DM)
    yield from web.mean(*SMALL, Range(0.548, 0.831), "-16.9 to -45.2%")
    yield from web.mean(*LARGE, Range(0.61, 1), "up to -39%")


def _why_matched(lab: Lab, results: Results) -> str:
    pias_ws, awafs_ws = (
        results.mean(lab.cell(scheme, "websearch", HIGH), timeouts) for scheme in (PIAS_WS, AWAFS)
    )
    return (
        "Published thresholds are not the best for their own workload: they demote first above "
        f"745 packets. PIAS-WS's timeouts per flow at load {HIGH:g}: {pias_ws:.2g}, AWAFS's "
        f"{awafs_ws:.2g}. With more queues AWAFS's thresholds reach "
        "further into web search (0.7 instead of 0.3 of its flows), so it gains more with 8."
    )


@claim(
    "awafs-11",
    "With matched thresholds AWAFS costs nothing; gains are larger with 4 queues than with 8",
    "band 3%; larger",
    why=_why_matched,
)
def matched(lab: Lab) -> Iterator[Part]:
    """Matched thresholds, and gains by number of queues."""
    nothing = Band.within(0.03), "nothing (band 3%)"
    for traffic, own in (("websearch", PIAS_WS), ("datamining", PIAS_DM)):
        against = _Against(lab, traffic, own)
        yield from against.mean(*ALL, *nothing)
        yield from against.mean(*SMALL, *nothing)
    pairs = {4: (pias("datamining", 4), awafs(4)), 8: (pias("datamining", 8), AWAFS)}
    gains = {n: [lab.loads(s, "websearch") for s in pair] for n, pair in pairs.items()}
    cells = tuple(by_load[load] for load in lab.scale.loads for n in (4, 8) for by_load in gains[n])

    def more(*runs: Run) -> float:
        fours = zip(runs[0::4], runs[1::4], runs[2::4], runs[3::4], strict=True)
        return loads.geometric_mean(
            [(SHORT(a) / SHORT(b)) / (SHORT(c) / SHORT(d)) for a, b, c, d in fours]
        )

    name = "web search, short flows: gain over PIAS-DM, 4 queues / 8 queues"
    yield Part(name, "larger with 4", Sign(1), cells, more)


@claim(
    "awafs-x1",
    "Thresholds that give every queue the same bytes of the recent flows, instead of fixed "
    "percentiles",
    "open (future work)",
    beyond=True,
)
def found_in_traffic(lab: Lab) -> Iterator[Part]:
    """Percentiles found in the traffic."""
    for traffic in DESCRIPTIONS:
        against = _Against(lab, traffic, AWAFS, EQUAL_BYTES)
        yield from against.mean(*SMALL, Sign(-1), "better")
        yield from against.mean(*ALL, Sign(-1), "better")


CLAIMS = (
    *(web_search, long_of_web_search, data_mining, hadoop, cache, heterogeneous, abstract),
    *(matched, found_in_traffic),
)


def figures(lab: Lab) -> list[Figure]:
    """The paper's figures 11 to 29: gains per load."""
    panels = {
        "(a) short flows, average": SHORT,
        "(b) short flows, p99": SHORT_TAIL,
        "(c) all flows, average": FCT,
        "(d) long flows, average": LONG,
        "(e) long flows, p99": LONG_TAIL,
        "(f) timeouts per flow": timeouts,
    }
    rows = (
        ("websearch", "11 to 16", PIAS_DM, (pias("datamining", 8), PIAS_WS), (3, 4, 9)),
        ("datamining", "17", PIAS_WS, (PIAS_DM,), (5,)),
        ("hadoop", "18 to 21", PIAS_DM, (), (6,)),
        ("cache", "22 to 27", PIAS_DM, (), (7,)),
        ("heterogeneous", "28 and 29", PIAS_WS, (), (8,)),
    )
    return [
        loads.relative(
            f"gains-{traffic}",
            f"Figures {numbers}: {DESCRIPTIONS[traffic]}",
            f"The paper's figures {numbers}, as shares of what PIAS has with thresholds of the "
            "other workload; below 1 is better.",
            (*(f"awafs-{n}" for n in ids), "awafs-x1"),
            panels,
            {s.name: lab.loads(s, traffic) for s in (base, AWAFS, EQUAL_BYTES, *more)},
            base.name,
        )
        for traffic, numbers, base, more, ids in rows
    ]
