"""Section 2: which matters more, scheduling or rate setting? Claims ads-1 to ads-8 and ads-16."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from fctlab.studies.ads.setting import (
    DESCRIPTIONS,
    FCT,
    FIRST,
    HOSTS,
    NO_MARKS,
    SCHEDULERS,
    SCHEMES,
    TAIL,
    TRANSPORTS,
    TURNS,
    Lab,
    Scales,
    Scheme,
    Setting,
)
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.figures import Bars, Quantity, bar_figure
from fctlab.studies.framework.judged import shown
from fctlab.studies.framework.lab import Stated, claim
from fctlab.studies.framework.runs import SLOWDOWN, Results, Run
from fctlab.studies.framework.study import Figure, Part, ratio
from fctlab.studies.framework.verdict import Apart, Band, Expectation, Number, Range, Sign

Of: TypeAlias = Callable[[Run], float]


def figure(lab: Lab) -> Figure:
    """The paper's figure 1."""

    def groups(of: Callable[[Run], float]) -> Bars:
        return {
            words: {SCHEDULERS[s]: ((lab.cell(t, s),), of) for s in SCHEDULERS}
            for t, words in TRANSPORTS.items()
        }

    slowdown = Quantity("slowdown (FCT / ideal)", least=1.0)
    time = Quantity("completion time (ms)", 1e3)
    return bar_figure(
        "figure-1",
        "Figure 1: scheduling and rate setting",
        "The paper's figure 1: every scheduling algorithm with every rate setting in the default "
        "scenario (heavy-tailed workload at 70% load). Means over the seeds with 95% intervals.",
        tuple(f"ads-{n}" for n in (1, 2, 3, 4, 5, 6, 7, 16)),
        [
            ("(a) average slowdown", slowdown, groups(SLOWDOWN)),
            ("(b) average FCT", time, groups(FCT)),
            ("(c) 99th percentile of the FCT", time, groups(TAIL)),
        ],
    )


def _over_srpt(
    lab: Lab,
    of: Of,
    transport: str,
    scheme: str,
    expected: Expectation,
    paper: str,
    percent: bool = False,
) -> Part:
    name = f"{TRANSPORTS[transport]}, {SCHEDULERS[scheme]} / SRPT"
    cells = lab.cell(transport, scheme), lab.cell(transport, "srpt")
    return ratio(name, *cells, expected, paper, of=of, percent=percent)


# The parts of ads-1 to ads-5, of some metric, with the paper's numbers for the slowdown.


def _tcp(lab: Lab, of: Of = SLOWDOWN) -> Iterator[Part]:
    yield _over_srpt(lab, of, "tcp", "fifo", Number(9.7), "9.7x")
    yield _over_srpt(lab, of, "tcp", "fq", Number(1.8), "1.8x")


def _dctcp(lab: Lab, of: Of = SLOWDOWN) -> Iterator[Part]:
    yield _over_srpt(lab, of, "dctcp", "fifo", Number(2.2), "2.2x")


def _mintcp(lab: Lab, of: Of = SLOWDOWN) -> Iterator[Part]:
    def worst(*runs: Run) -> float:
        return max(map(of, runs)) / min(map(of, runs))

    cells = tuple(lab.cell("mintcp", scheme) for scheme in SCHEDULERS)
    yield Part("minTCP, worst / best scheduling", "70x", Number(70), cells, worst)


def _close(lab: Lab, of: Of = SLOWDOWN) -> Iterator[Part]:
    for a, b in itertools.combinations(TRANSPORTS, 2):
        yield ratio(
            f"SRPT, {TRANSPORTS[a]} / {TRANSPORTS[b]}",
            lab.cell(a, "srpt"),
            lab.cell(b, "srpt"),
            Band.within(0.10),
            "within 5% (band 10%)",
            of=of,
            percent=True,
        )


def _sjf(lab: Lab, of: Of = SLOWDOWN) -> Iterator[Part]:
    band = Band.within(0.08)
    yield _over_srpt(lab, of, "tcp", "sjf", band, "within 5% (band 8%)", percent=True)
    yield _over_srpt(lab, of, "dctcp", "sjf", band, "within 1.5% (band 8%)", percent=True)
    yield _over_srpt(lab, of, "mintcp", "sjf", Range(1.08), "much worse (above the band)")


def trend(part: Part) -> Part:
    """The same part where the paper says only that the ordering holds."""
    if isinstance(part.expected, Number | Range):
        ratio_or_low = (
            part.expected.ratio if isinstance(part.expected, Number) else part.expected.low
        )
        return replace(part, expected=Sign(1 if ratio_or_low >= 1 else -1), paper="ordering holds")
    return part


@claim("ads-1", "TCP: average slowdown of FIFO and of FQ over SRPT's", "9.7x; 1.8x")
def tcp(lab: Lab) -> Iterator[Part]:
    """TCP's schedulers."""
    yield from _tcp(lab)
    yield _with_turns(lab, "tcp")
    yield acks_first(lab, "tcp", "srpt")


@claim("ads-2", "DCTCP: average slowdown of FIFO over SRPT's", "2.2x")
def dctcp(lab: Lab) -> Iterator[Part]:
    """DCTCP's schedulers."""
    yield from _dctcp(lab)
    yield _with_turns(lab, "dctcp")
    yield acks_first(lab, "dctcp", "srpt")


def _why_worst(lab: Lab, results: Results) -> str:
    timeouts = results.mean(lab.cell("mintcp", "fifo"), lambda run: run.per_flow("timeouts"))
    return (
        f"minTCP over FIFO collapses ({timeouts:.0f} timeouts per flow): how bad it is "
        f"depends on how long one looks. {_cut_off(lab, results)}"
    )


@claim("ads-3", "minTCP: worst over best scheduling", "70x", why=_why_worst, told=True)
def mintcp(lab: Lab) -> Iterator[Part]:
    """MinTCP's schedulers."""
    return _mintcp(lab)


def _why_close(part: Part, results: Results) -> str:
    return (
        "DCTCP answers to the marks of its own host's port, where a window waits that is larger "
        f"than 15 packets: when only switches mark, TCP / DCTCP is {shown(part, results)}."
    )


@claim(
    "ads-4",
    "With SRPT the three rate settings are close",
    "within 5%",
    why=lambda lab, results: _why_close(_without_marks(lab, lab.main), results),
)
def close(lab: Lab) -> Iterator[Part]:
    """Rate settings under SRPT."""
    yield from _close(lab)
    yield _without_marks(lab, lab.main)


@claim(
    "ads-5",
    "SJF is close to SRPT with TCP and DCTCP, much worse with minTCP",
    "within 5%; within 1.5%; much worse",
)
def sjf(lab: Lab) -> Iterator[Part]:
    """SJF, also in pFabric's setting."""
    yield from _sjf(lab)
    yield ratio(
        "minTCP in pFabric's setting, SJF / SRPT",
        _in_pfabric(lab, "sjf"),
        _in_pfabric(lab, "srpt"),
        Band.within(0.08),
        "no such gap (band 8%)",
        counts=False,
        percent=True,
    )


@claim("ads-6", "The orderings of ads-1 to ads-5 hold for the average FCT", "same")
def by_fct(lab: Lab) -> Iterator[Part]:
    """The same of completion times."""
    for parts in (_tcp, _dctcp, _mintcp, _close, _sjf):
        yield from map(trend, parts(lab, FCT))


@claim(
    "ads-7",
    "99th percentile of the FCT: SRPT is best with DCTCP and minTCP; with TCP FIFO is, "
    "and SRPT is near",
    "SRPT best; FIFO best, SRPT within 8%",
    why=lambda lab, results: _cut_off(lab, results),
    told=True,
)
def tails(lab: Lab) -> Iterator[Part]:
    """Tails of completion times."""
    expected: dict[str, Expectation] = {
        "fifo": Sign(1),
        "fq": Sign(1),
        "sjf": Band(1.0, math.inf),
    }
    for transport in ("dctcp", "mintcp"):
        for scheme, best in expected.items():
            yield _over_srpt(lab, TAIL, transport, scheme, best, "SRPT best")
    fifo, srpt = lab.cell("tcp", "fifo"), lab.cell("tcp", "srpt")
    yield ratio("TCP, FIFO / SRPT", fifo, srpt, Sign(-1), "FIFO best", of=TAIL)
    yield ratio("TCP, SRPT / FIFO", srpt, fifo, Band(0, 1.08), "within 8%", of=TAIL, percent=True)
    first = lab.read(FIRST).cell("tcp", "fifo")
    name = f"TCP, {FIRST.words} / SRPT"
    yield ratio(name, first, srpt, Sign(-1), "-", of=TAIL, counts=False)


def _with_turns(lab: Lab, transport: str) -> Part:
    """FIFO / SRPT when a flow may have only one packet waiting in its host's port."""
    fifo, srpt = (lab.read(TURNS).cell(transport, scheme) for scheme in ("fifo", "srpt"))
    name = f"{TRANSPORTS[transport]}, FIFO / SRPT, {TURNS.words}"
    return ratio(name, fifo, srpt, Sign(1), counts=False)


def acks_first(lab: Lab, transport: str, under: str | Scheme) -> Part:
    """FIFO with ACKs first against another scheme: not what the footnote says, but could be."""
    words = SCHEDULERS[under] if isinstance(under, str) else under.id
    cells = lab.read(FIRST).cell(transport, "fifo"), lab.cell(transport, under)
    name = f"{TRANSPORTS[transport]}, {FIRST.words} / {words}"
    return ratio(name, *cells, Sign(1), counts=False)


def _cut_off(lab: Lab, results: Results) -> str:
    """How many measured flows were not done when the runs ended, by scheme."""
    left = {}
    for transport, words in TRANSPORTS.items():
        for scheme, name in SCHEDULERS.items():
            cell = lab.cell(transport, scheme)
            unfinished = results.mean(cell, lambda run: run.of("all")["unfinished"])
            if unfinished:
                flows = results.mean(cell, lambda run: run.of("all")["flows"])
                left[f"{words} over {name}"] = f"{unfinished:,.1f} of {flows:,.0f}"
    end = lab.scales.main.end_ms
    if not left:
        return f"Every measured flow was done at {end:g} ms."
    told = "; ".join(f"{name} {number}" for name, number in left.items())
    return f"Flows cut off at {end:g} ms, which count with their age: {told}."


def _without_marks(lab: Lab, setting: Setting) -> Part:
    """SRPT, TCP / DCTCP, when only switches mark, not the hosts' own ports."""
    unmarked = lab.read(NO_MARKS).cell("dctcp", "srpt", setting)
    name = f"SRPT, TCP / DCTCP, {NO_MARKS.words}"
    cells = lab.cell("tcp", "srpt", setting), unmarked
    return ratio(name, *cells, Band.within(0.10), percent=True, counts=False)


def _in_pfabric(lab: Lab, name: str) -> Cell:
    """SJF or SRPT with minTCP in pFabric's own setting: spraying, 24-packet ports."""
    scheme = SCHEMES[name]
    scenario = lab.main.scenario("mintcp", scheme) | {
        "scheme": {
            "name": f"pfabric-{name}",
            "preset": "pfabric-paper",
            "tagger": scheme.tagger,
            "port": {"discipline": scheme.port["discipline"]},
            "nic": HOSTS,
        }
    }
    return lab.cells.cell(f"pfabric/{name}", scenario)


@claim(
    "ads-16",
    "The 99th percentile of the FCT depends on the transport even under SRPT",
    "TCP and DCTCP differ clearly",
)
def tail(lab: Lab) -> Iterator[Part]:
    """Tails under SRPT."""
    cells = lab.cell("tcp", "srpt"), lab.cell("dctcp", "srpt")
    yield ratio("SRPT, TCP / DCTCP", *cells, Apart(0.05), "differ (by 5% at least)", of=TAIL)


UNREASONABLE = "rto-1ms"


@dataclass(frozen=True)
class _Variant:
    """One parameter that differs from the default scenario; its name in ids and in words."""

    name: str
    words: str
    of: Callable[[Scales], Setting]


def _variants() -> Iterator[_Variant]:
    for workload in ("facebook", "websearch", "uniform", "bimodal", "point"):
        of = partial(_of_workload, workload)
        yield _Variant(workload, DESCRIPTIONS[workload], of)
    for load in (0.3, 0.5):
        yield _changed(f"load-{load}", f"load {load}", load=load)
    for window in (2, 7, 21):
        yield _changed(f"window-{window}", f"initial window {window}", window=window)
    for rto in ("16us", "160us", "1ms"):
        yield _changed(f"rto-{rto}", f"minimum RTO {rto}", min_rto=rto)


def _of_workload(workload: str, scales: Scales) -> Setting:
    return Setting(scales.workloads, workload, "grid")


def _changed(name: str, words: str, **changes: Any) -> _Variant:
    return _Variant(name, words, lambda scales: Setting(scales.grid, tag=name, **changes))


VARIANTS = tuple(_variants())


def _robust(lab: Lab, variant: _Variant) -> Iterator[Part]:
    setting = variant.of(lab.scales)
    for transport in TRANSPORTS:
        srpt = lab.cell(transport, "srpt", setting)
        for scheme in ("fifo", "fq", "sjf"):
            expected = Band(0.95, math.inf) if scheme == "sjf" else Sign(1)
            label = f"{TRANSPORTS[transport]}, {SCHEDULERS[scheme]} / SRPT"
            paper = "SRPT best" if scheme != "sjf" else "SRPT best or within 5%"
            yield ratio(label, lab.cell(transport, scheme, setting), srpt, expected, paper)
    for a, b in itertools.combinations(TRANSPORTS, 2):
        label = f"SRPT, {TRANSPORTS[a]} / {TRANSPORTS[b]}"
        cells = lab.cell(a, "srpt", setting), lab.cell(b, "srpt", setting)
        band, reasonable = Band.within(0.10), variant.name != UNREASONABLE
        paper = "close (band 10%)" if reasonable else "may be far apart"
        yield ratio(label, *cells, band, paper, percent=True, counts=reasonable)
    if variant.name == "facebook":
        yield _without_marks(lab, setting)


@claim(
    "ads-8",
    "The orderings hold for other workloads, loads, initial windows and minimum RTOs: SRPT is "
    "best for every rate setting (SJF may be as good, within 5%), and reasonable rate settings "
    "are close under it",
    "same, except unreasonable RTO",
    combines=True,
)
def robust(lab: Lab) -> Iterator[Part]:
    """All variants."""
    for variant in VARIANTS:
        for part in _robust(lab, variant):
            yield replace(part, name=f"{variant.words}: {part.name}")


def _under(variant: _Variant) -> Stated[Lab]:
    """The claim about one variant."""

    def why(lab: Lab, results: Results) -> str:
        return _why_close(_without_marks(lab, variant.of(lab.scales)), results)

    paper = "same" if variant.name != UNREASONABLE else "rate settings far from optimal"
    return Stated(
        f"ads-8.{variant.name}",
        f"... {variant.words}",
        paper,
        partial(_robust, variant=variant),
        why if variant.name == "facebook" else None,
    )


CLAIMS = (
    *(tcp, dctcp, mintcp, close, sjf, by_fct, tails),
    *(robust, *map(_under, VARIANTS)),
)


def robustness(lab: Lab) -> Figure:
    """Other workloads, loads, initial windows and minimum RTOs."""
    best, alike = {}, {}
    for variant in VARIANTS:
        setting = variant.of(lab.scales)
        label = variant.words.replace("initial ", "").replace("minimum ", "").replace(" ", "\n", 1)
        under = {t: lab.cell(t, "srpt", setting) for t in TRANSPORTS}
        best[label] = {
            TRANSPORTS[t]: ((lab.cell(t, "fifo", setting), under[t]), _over) for t in TRANSPORTS
        }
        alike[label] = {TRANSPORTS[t]: ((under[t],), SLOWDOWN) for t in TRANSPORTS}
    return bar_figure(
        "robustness",
        "Section 2.3.2: other settings",
        "Above: how much FIFO costs, by rate setting; above 1, SRPT is better. Below: the average "
        "slowdown under SRPT; bars of equal height mean that the rate setting does not matter. "
        "One parameter differs from the default scenario in each group.",
        ("ads-8",),
        [
            ("FIFO over SRPT", Quantity("slowdown, FIFO / SRPT"), best),
            ("under SRPT", Quantity("average slowdown"), alike),
        ],
        below=True,
    )


def _over(a: Run, b: Run) -> float:
    return SLOWDOWN(a) / SLOWDOWN(b)
