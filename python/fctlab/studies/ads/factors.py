"""Section 2: which matters more, scheduling or rate setting? Claims ads-1 to ads-8 and ads-16."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fctlab.studies.ads.setting import (
    ACKS_FIRST,
    DESCRIPTIONS,
    FCT,
    HOSTS,
    SCHEDULERS,
    SCHEMES,
    TAIL,
    TRANSPORTS,
    Lab,
    Scheme,
    Setting,
)
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.figures import Bars, Quantity, bar_figure
from fctlab.studies.framework.judged import shown
from fctlab.studies.framework.runs import SLOWDOWN, Results, Run
from fctlab.studies.framework.study import Claim, Figure, Part, ratio
from fctlab.studies.framework.verdict import Apart, Band, Number, Range, Sign


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


def _parts(lab: Lab, of: Callable[[Run], float]) -> dict[str, list[Part]]:
    """The parts of ads-1 to ads-5, of some metric, with the paper's numbers for the slowdown."""

    def over_srpt(
        transport: str, scheme: str, expected: Any, paper: str, percent: bool = False
    ) -> Part:
        name = f"{TRANSPORTS[transport]}, {SCHEDULERS[scheme]} / SRPT"
        cells = lab.cell(transport, scheme), lab.cell(transport, "srpt")
        return ratio(name, *cells, expected, paper, of=of, percent=percent)

    mintcp = tuple(lab.cell("mintcp", scheme) for scheme in SCHEDULERS)
    pairs = itertools.combinations(TRANSPORTS, 2)
    return {
        "ads-1": [
            over_srpt("tcp", "fifo", Number(9.7), "9.7x"),
            over_srpt("tcp", "fq", Number(1.8), "1.8x"),
        ],
        "ads-2": [over_srpt("dctcp", "fifo", Number(2.2), "2.2x")],
        "ads-3": [
            Part(
                "minTCP, worst / best scheduling",
                "70x",
                Number(70),
                mintcp,
                lambda *runs: max(map(of, runs)) / min(map(of, runs)),
            )
        ],
        "ads-4": [
            ratio(
                f"SRPT, {TRANSPORTS[a]} / {TRANSPORTS[b]}",
                lab.cell(a, "srpt"),
                lab.cell(b, "srpt"),
                Band.within(0.10),
                "within 5% (band 10%)",
                of=of,
                percent=True,
            )
            for a, b in pairs
        ],
        "ads-5": [
            over_srpt("tcp", "sjf", Band.within(0.08), "within 5% (band 8%)", percent=True),
            over_srpt("dctcp", "sjf", Band.within(0.08), "within 1.5% (band 8%)", percent=True),
            over_srpt("mintcp", "sjf", Range(1.08), "much worse (above the band)"),
        ],
    }


def trend(part: Part) -> Part:
    """The same part where the paper says only that the ordering holds."""
    if isinstance(part.expected, Number | Range):
        ratio_or_low = (
            part.expected.ratio if isinstance(part.expected, Number) else part.expected.low
        )
        return replace(part, expected=Sign(1 if ratio_or_low >= 1 else -1), paper="ordering holds")
    return part


def claims(lab: Lab) -> list[Claim]:
    """Claims ads-1 to ads-7: the default scenario."""
    slowdown = _parts(lab, SLOWDOWN)
    pfabric = _pfabric(lab)
    beside = ratio(
        "minTCP in pFabric's setting, SJF / SRPT",
        pfabric["sjf"],
        pfabric["srpt"],
        Band.within(0.08),
        "no such gap (band 8%)",
        counts=False,
        percent=True,
    )
    tails = []
    for transport in ("dctcp", "mintcp"):
        for scheme, expected in (("fifo", Sign(1)), ("fq", Sign(1)), ("sjf", Band(1.0, math.inf))):
            cells = lab.cell(transport, scheme), lab.cell(transport, "srpt")
            name = f"{TRANSPORTS[transport]}, {SCHEDULERS[scheme]} / SRPT"
            tails.append(ratio(name, *cells, expected, "SRPT best", of=TAIL))
    fifo, srpt = lab.cell("tcp", "fifo"), lab.cell("tcp", "srpt")
    tails += [
        ratio("TCP, FIFO / SRPT", fifo, srpt, Sign(-1), "FIFO best", of=TAIL),
        ratio("TCP, SRPT / FIFO", srpt, fifo, Band(0, 1.08), "within 8%", of=TAIL, percent=True),
    ]
    first = lab.cell("tcp", ACKS_FIRST)
    tails += [
        ratio("TCP, FIFO with ACKs first / SRPT", first, srpt, Sign(-1), "-", of=TAIL, counts=False)
    ]
    by_fct = [trend(part) for parts in _parts(lab, FCT).values() for part in parts]
    without_marks = _without_marks(lab, lab.main)
    turns = {transport: _with_turns(lab, transport) for transport in ("tcp", "dctcp")}
    rows = [
        (
            "ads-1",
            "TCP: average slowdown of FIFO and of FQ over SRPT's",
            "9.7x; 1.8x",
            [*slowdown["ads-1"], turns["tcp"], acks_first(lab, "tcp", "srpt")],
        ),
        (
            "ads-2",
            "DCTCP: average slowdown of FIFO over SRPT's",
            "2.2x",
            [*slowdown["ads-2"], turns["dctcp"], acks_first(lab, "dctcp", "srpt")],
        ),
        ("ads-3", "minTCP: worst over best scheduling", "70x", slowdown["ads-3"]),
        (
            "ads-4",
            "With SRPT the three rate settings are close",
            "within 5%",
            [*slowdown["ads-4"], without_marks],
        ),
        (
            "ads-5",
            "SJF is close to SRPT with TCP and DCTCP, much worse with minTCP",
            "within 5%; within 1.5%; much worse",
            [*slowdown["ads-5"], beside],
        ),
        ("ads-6", "The orderings of ads-1 to ads-5 hold for the average FCT", "same", by_fct),
        (
            "ads-7",
            "99th percentile of the FCT: SRPT is best with DCTCP and minTCP; with TCP FIFO is, "
            "and SRPT is near",
            "SRPT best; FIFO best, SRPT within 8%",
            tails,
        ),
    ]
    whys = {
        "ads-3": _why_worst(lab),
        "ads-4": _why_close(without_marks),
        "ads-7": lambda results: _cut_off(lab, results),
    }
    told = ("ads-3", "ads-7")  # how many flows were cut off
    return [
        Claim(name, text, paper, tuple(p), whys.get(name), told=name in told)
        for name, text, paper, p in rows
    ]


def _with_turns(lab: Lab, transport: str) -> Part:
    """FIFO / SRPT when a flow may have only one packet waiting in its host's port."""
    setting = replace(lab.main, tag="turns", nic={"per_flow_limit": 1})
    fifo, srpt = (lab.cell(transport, scheme, setting) for scheme in ("fifo", "srpt"))
    name = f"{TRANSPORTS[transport]}, FIFO / SRPT, flows take turns in the host"
    return ratio(name, fifo, srpt, Sign(1), counts=False)


def acks_first(lab: Lab, transport: str, under: str | Scheme) -> Part:
    """FIFO with ACKs first against another scheme: not what the footnote says, but could be."""
    words = SCHEDULERS[under] if isinstance(under, str) else under.id
    cells = lab.cell(transport, ACKS_FIRST), lab.cell(transport, under)
    name = f"{TRANSPORTS[transport]}, FIFO with ACKs first / {words}"
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
    tag = "-".join(filter(None, (setting.tag, "no-marks-in-hosts")))
    changed = replace(setting, tag=tag, nic={"ecn_threshold": "none"})
    cells = lab.cell("tcp", "srpt", setting), lab.cell("dctcp", "srpt", changed)
    name = "SRPT, TCP / DCTCP, hosts' own ports do not mark"
    return ratio(name, *cells, Band.within(0.10), percent=True, counts=False)


def _why_close(part: Part) -> Callable[[Results], str]:
    return lambda results: (
        "DCTCP answers to the marks of its own host's port, where a window waits that is larger "
        f"than 15 packets: when only switches mark, TCP / DCTCP is {shown(part, results)}."
    )


def _why_worst(lab: Lab) -> Callable[[Results], str]:
    fifo = lab.cell("mintcp", "fifo")

    def why(results: Results) -> str:
        timeouts = results.mean(fifo, lambda run: run.per_flow("timeouts"))
        return (
            f"minTCP over FIFO collapses ({timeouts:.0f} timeouts per flow): how bad it is "
            f"depends on how long one looks. {_cut_off(lab, results)}"
        )

    return why


def _pfabric(lab: Lab) -> dict[str, Cell]:
    """SJF and SRPT with minTCP in pFabric's own setting: spraying, 24-packet ports."""
    cells = {}
    for name in ("sjf", "srpt"):
        scheme = SCHEMES[name]
        scenario = lab.main.scenario("mintcp", scheme) | {
            "scheme": {
                "name": f"pfabric-{name}",
                "preset": "pfabric",
                "tagger": scheme.tagger,
                "port": {"discipline": scheme.port["discipline"]},
                "nic": HOSTS,
            }
        }
        cells[name] = Cell(f"pfabric/{name}", scenario)
    return cells


def tail(lab: Lab) -> Claim:
    """Claim ads-16."""
    tcp, dctcp = lab.cell("tcp", "srpt"), lab.cell("dctcp", "srpt")
    part = ratio("SRPT, TCP / DCTCP", tcp, dctcp, Apart(0.05), "differ (by 5% at least)", of=TAIL)
    return Claim(
        "ads-16",
        "The 99th percentile of the FCT depends on the transport even under SRPT",
        "TCP and DCTCP differ clearly",
        (part,),
    )


def _variants(lab: Lab) -> dict[str, tuple[str, Setting]]:
    """What is varied: its name in ids and in words, and the setting."""
    scales = lab.scales
    variants = {
        workload: (DESCRIPTIONS[workload], Setting(scales.workloads, workload, "grid"))
        for workload in ("facebook", "websearch", "uniform", "bimodal", "point")
    }
    for load in (0.3, 0.5):
        setting = Setting(scales.grid, tag=f"load-{load}", load=load)
        variants[f"load-{load}"] = (f"load {load}", setting)
    for window in (2, 7, 21):
        setting = Setting(scales.grid, tag=f"window-{window}", window=window)
        variants[f"window-{window}"] = (f"initial window {window}", setting)
    for rto in ("16us", "160us", "1ms"):
        setting = Setting(scales.grid, tag=f"rto-{rto}", min_rto=rto)
        variants[f"rto-{rto}"] = (f"minimum RTO {rto}", setting)
    return variants


UNREASONABLE = "rto-1ms"


def robustness(lab: Lab) -> tuple[list[Claim], Figure]:
    """Claim ads-8: other workloads, loads, initial windows and minimum RTOs."""
    claims = []
    variants = _variants(lab)
    for name, (words, setting) in variants.items():
        parts, why = [], None
        for transport in TRANSPORTS:
            srpt = lab.cell(transport, "srpt", setting)
            for scheme in ("fifo", "fq", "sjf"):
                expected = Band(0.95, math.inf) if scheme == "sjf" else Sign(1)
                label = f"{TRANSPORTS[transport]}, {SCHEDULERS[scheme]} / SRPT"
                paper = "SRPT best" if scheme != "sjf" else "SRPT best or within 5%"
                parts.append(
                    ratio(label, lab.cell(transport, scheme, setting), srpt, expected, paper)
                )
        for a, b in itertools.combinations(TRANSPORTS, 2):
            label = f"SRPT, {TRANSPORTS[a]} / {TRANSPORTS[b]}"
            cells = lab.cell(a, "srpt", setting), lab.cell(b, "srpt", setting)
            band, reasonable = Band.within(0.10), name != UNREASONABLE
            paper = "close (band 10%)" if reasonable else "may be far apart"
            parts.append(ratio(label, *cells, band, paper, percent=True, counts=reasonable))
        if name == "facebook":
            parts.append(_without_marks(lab, setting))
            why = _why_close(parts[-1])
        text = f"... {words}"
        paper = "same" if name != UNREASONABLE else "rate settings far from optimal"
        claims.append(Claim(f"ads-8.{name}", text, paper, tuple(parts), why))
    everything = Claim(
        "ads-8",
        "The orderings hold for other workloads, loads, initial windows and minimum RTOs: SRPT is "
        "best for every rate setting (SJF may be as good, within 5%), and reasonable rate settings "
        "are close under it",
        "same, except unreasonable RTO",
        tuple(
            replace(part, name=f"{words}: {part.name}")
            for claim, (words, _) in zip(claims, variants.values(), strict=True)
            for part in claim.parts
        ),
        combines=True,
    )

    best, alike = {}, {}
    for words, setting in variants.values():
        label = words.replace("initial ", "").replace("minimum ", "").replace(" ", "\n", 1)
        under = {t: lab.cell(t, "srpt", setting) for t in TRANSPORTS}
        best[label] = {
            TRANSPORTS[t]: ((lab.cell(t, "fifo", setting), under[t]), _over) for t in TRANSPORTS
        }
        alike[label] = {TRANSPORTS[t]: ((under[t],), SLOWDOWN) for t in TRANSPORTS}
    drawn = bar_figure(
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
    return [everything, *claims], drawn


def _over(a: Run, b: Run) -> float:
    return SLOWDOWN(a) / SLOWDOWN(b)
