"""Section 3: SRPT emulated on a few priority queues. Claims ads-9 to ads-15 and ads-17."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import fctlab
from fctlab.studies.ads.factors import acks_first, trend
from fctlab.studies.ads.setting import (
    CAP,
    DESCRIPTIONS,
    EVICTING,
    MTU,
    TRANSPORTS,
    TURNS,
    Lab,
    Scheme,
    Setting,
    ads,
)
from fctlab.studies.framework import figures
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.figures import Quantity, bar_figure, slowdowns
from fctlab.studies.framework.judged import shown
from fctlab.studies.framework.lab import beside, claim
from fctlab.studies.framework.pictures import Picture
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.study import Figure, Part, ratio
from fctlab.studies.framework.verdict import Band, Computed, Number, Range, Sign

if TYPE_CHECKING:
    from fctlab.results.result import Result

SLOWDOWN_AXIS = Quantity("average slowdown")


def _parts(lab: Lab, transport: str, setting: Setting) -> dict[str, Part]:
    """Ratios of ads-9 to ads-12 in one setting."""

    def cell(scheme: str | Scheme) -> Cell:
        return lab.cell(transport, scheme, setting)

    srpt, fifo = cell("srpt"), cell("fifo")
    two, four, eight = (cell(ads(n)) for n in (2, 4, 8))
    static2, static8 = (cell(lab.static(n, setting)) for n in (2, 8))
    band = "little difference (band 5%)"
    return {
        "8": ratio("ADS-8 dynamic / SRPT", eight, srpt, Number(1.066), "+6.6%", percent=True),
        "8s": ratio("ADS-8 static / SRPT", static8, srpt, Number(1.066), "+6.6%", percent=True),
        "2/8": ratio("ADS-2 / ADS-8, dynamic", two, eight, Number(3.0), "about 3x"),
        "4/8": ratio("ADS-4 / ADS-8, dynamic", four, eight, Number(1.13), "+13%", percent=True),
        "s/d8": ratio(
            "ADS-8, static / dynamic", static8, eight, Band.within(0.05), band, percent=True
        ),
        "s/d2": ratio("ADS-2, static / dynamic", static2, two, Sign(1), "dynamic better"),
        "fifo/2": ratio("FIFO / ADS-2 dynamic", fifo, two, Range(3.0), "more than 3x"),
    }


def _with_turns(lab: Lab) -> Part:
    """ADS-8 / SRPT where flows take turns in hosts."""
    turns = lab.read(TURNS)
    cells = turns.cell("tcp", ads(8)), turns.cell("tcp", "srpt")
    name = f"ADS-8 dynamic / SRPT, {TURNS.words}"
    return ratio(name, *cells, Number(1.066), "+6.6%", counts=False, percent=True)


def _evicting(lab: Lab) -> Part:
    """ADS-8 / SRPT with another drop rule."""
    cells = lab.read(EVICTING).cell("tcp", ads(8)), lab.cell("tcp", "srpt")
    name = f"ADS-8 dynamic / SRPT, {EVICTING.words}"
    return ratio(name, *cells, Number(1.066), "+6.6%", counts=False, percent=True)


def _with_others(lab: Lab, *names: str) -> Iterator[Part]:
    """Parts under TCP, and under the other transports beside."""
    own = _parts(lab, "tcp", lab.main)
    yield from (own[name] for name in names)
    for transport in ("dctcp", "mintcp"):
        parts = _parts(lab, transport, lab.main)
        for part in beside(parts[name] for name in names):
            yield replace(part, name=f"{TRANSPORTS[transport]}, {part.name}")


@claim(
    "ads-9",
    "ADS with 8 queues is almost as good as true SRPT",
    "+6.6%",
    why=lambda lab, results: (
        "A full port of FIFO queues drops what arrives, packets of short flows too. "
        f"Dropping the lowest priority instead: {shown(_evicting(lab), results)}; with hosts in "
        f"which flows take turns, so that fewer ports fill up: {shown(_with_turns(lab), results)}."
    ),
)
def eight_queues(lab: Lab) -> Iterator[Part]:
    """Eight queues and exact SRPT."""
    yield from _with_others(lab, "8")
    yield from beside([_parts(lab, "tcp", lab.main)["8s"]])
    yield _with_turns(lab)
    yield _evicting(lab)


@claim("ads-10", "ADS with 2 and with 4 queues against 8", "about 3x; +13%")
def fewer_queues(lab: Lab) -> Iterator[Part]:
    """Two and four queues."""
    return _with_others(lab, "2/8", "4/8")


@claim(
    "ads-11",
    "Static against dynamic: little difference with 8 queues, dynamic better with 2",
    "band 5%; dynamic better",
)
def static_or_dynamic(lab: Lab) -> Iterator[Part]:
    """Both kinds of mapping."""
    return _with_others(lab, "s/d8", "s/d2")


@claim("ads-12", "FIFO against ADS with 2 queues", "more than 3x")
def fifo_or_two_queues(lab: Lab) -> Iterator[Part]:
    """Two queues and one."""
    yield from _with_others(lab, "fifo/2")
    yield acks_first(lab, "tcp", ads(2))


@claim(
    "ads-13",
    "ads-9 to ads-12 hold for the uniform and the Facebook workload",
    "same trends",
)
def other_workloads(lab: Lab) -> Iterator[Part]:
    """The same for other workloads."""
    for workload in ("uniform", "facebook"):
        for part in _parts(lab, "tcp", Setting(lab.scales.main, workload)).values():
            if part.name == "ADS-8 static / SRPT":
                continue
            expected = trend(part)
            if part.name == "ADS-8 dynamic / SRPT":
                expected = replace(part, expected=Band(0, 1.10), paper="almost as good (band 10%)")
            yield replace(expected, name=f"{DESCRIPTIONS[workload]}: {part.name}")


def figure(lab: Lab, number: int, workload: str) -> Figure:
    """The paper's figures 2 to 4."""
    setting = Setting(lab.scales.main, workload)
    schemes: dict[str, str | Scheme] = {
        "FIFO": "fifo",
        "ADS-2\nstatic": lab.static(2, setting),
        "ADS-2\ndynamic": ads(2),
        "ADS-8\nstatic": lab.static(8, setting),
        "ADS-8\ndynamic": ads(8),
        "SRPT": "srpt",
    }
    groups = {name: {"TCP": lab.cell("tcp", s, setting)} for name, s in schemes.items()}
    return bar_figure(
        f"figure-{number}",
        f"Figure {number}: ADS, {DESCRIPTIONS[workload]}",
        f"The paper's figure {number}: average slowdown with SRPT emulated on 2 and 8 queues, "
        f"{DESCRIPTIONS[workload]} workload at 70% load, TCP.",
        tuple(f"ads-{n}" for n in range(9, 13)) if workload == "imc10" else ("ads-13",),
        [("", SLOWDOWN_AXIS, slowdowns(groups))],
    )


def _borrowed(lab: Lab, workload: str) -> dict[str, Cell]:
    """ADS with a workload's own mapping and with imc10's, between FIFO and SRPT."""
    setting = Setting(lab.scales.main, workload)
    schemes: dict[str, str | Scheme] = {
        "FIFO": "fifo",
        "imc10's mapping": lab.static(8, lab.main, "imc10"),
        "own mapping": lab.static(8, setting),
        "SRPT": "srpt",
    }
    return {name: lab.cell("tcp", scheme, setting) for name, scheme in schemes.items()}


@claim(
    "ads-14",
    "A static mapping computed from imc10 is almost as good as their own for Facebook and web "
    "search; for some workload it collapses into FIFO",
    "almost as good (band 5%); FIFO",
)
def borrowed(lab: Lab) -> Iterator[Part]:
    """A static mapping computed from another workload."""
    band = Band.within(0.05)
    for workload in BORROWING:
        cells, words = _borrowed(lab, workload), DESCRIPTIONS[workload]
        other, own = cells["imc10's mapping"], cells["own mapping"]
        if workload == "short":
            name, paper = f"{words}: imc10's mapping / FIFO", "collapses into FIFO (band 5%)"
            yield ratio(name, other, cells["FIFO"], band, paper, percent=True)
            yield ratio(f"{words}: imc10's mapping / own", other, own, Sign(1), "worse")
        else:
            name, paper = f"{words}: imc10's mapping / own", "almost as good (band 5%)"
            yield ratio(name, other, own, band, paper, percent=True)


BORROWING = ("facebook", "websearch", "short")


def borrowed_figure(lab: Lab) -> Figure:
    """What a borrowed mapping is worth."""
    groups = {DESCRIPTIONS[workload]: _borrowed(lab, workload) for workload in BORROWING}
    return bar_figure(
        "borrowed-mapping",
        "A mapping from another workload",
        "Static ADS with 8 queues and TCP. The mapping computed from imc10 is used for other "
        "workloads, beside the one computed from each workload itself. All flows of the last "
        "workload are so short that imc10's mapping puts them into one queue.",
        ("ads-14",),
        [("", SLOWDOWN_AXIS, slowdowns(groups))],
    )


BIN_MS = 5.0


def slowdown_by_start(result: Result) -> dict[str, Any]:
    """Average slowdown of the flows that start in each 5 ms before the measured ones end."""
    import polars as pl

    measure = result.extras["measured"]
    flows = result.flows.filter(pl.col("start_s") < measure["until_s"])
    bins = (pl.col("start_s") * 1e3 / BIN_MS).floor().cast(pl.Int64).alias("bin")
    found = flows.group_by(bins).agg(pl.col("slowdown").mean(), pl.len()).sort("bin")
    return {
        "bin": found["bin"].to_list(),
        "slowdown": found["slowdown"].to_list(),
        "flows": found["len"].to_list(),
    }


def _first_100_ms(run: Run) -> float:
    """Average slowdown of the flows that start in the first 100 ms."""
    rows = zip(run.kept["bin"], run.kept["slowdown"], run.kept["flows"], strict=True)
    early = [(slowdown, flows) for number, slowdown, flows in rows if (number + 1) * BIN_MS <= 100]
    total: int = sum(n for _, n in early)
    return math.fsum(s * n for s, n in early) / total


INTERVALS = ("500us", "5ms", "20ms", "100ms")
WINDOWS = (1, 10, 50)


def _dynamic(lab: Lab, queues: int, interval: str = "5ms", window: int = 10) -> Cell:
    """ADS with other parameters, from an empty network until all mappings have settled."""
    setting = Setting(lab.scales.converged, tag="converged")
    scheme = ads(queues, tag=f"{interval}-{window}", interval=interval, window=window)
    return lab.cell("tcp", scheme, setting, slowdown_by_start)


@claim(
    "ads-15",
    "The update interval (0.5 to 100 ms) and the window W (1 to 50) do not matter after "
    "convergence; convergence takes longer with the interval",
    "negligible (band 5%); grows",
)
def parameters(lab: Lab) -> Iterator[Part]:
    """Update interval and window of the dynamic mapping."""
    band = Band.within(0.05), "negligible (band 5%)"
    for queues in (8, 2):
        base = _dynamic(lab, queues)
        for interval in INTERVALS:
            if interval != "5ms":
                name = f"ADS-{queues}, I = {interval} / 5 ms"
                yield ratio(name, _dynamic(lab, queues, interval), base, *band, percent=True)
        for window in WINDOWS:
            if window != 10:
                name, cell = (
                    f"ADS-{queues}, W = {window} / 10",
                    _dynamic(lab, queues, window=window),
                )
                yield ratio(name, cell, base, *band, percent=True)
    for slow, fast in (("20ms", "5ms"), ("100ms", "20ms")):
        name = f"ADS-8, flows of the first 100 ms, I = {slow} / {fast}"
        over, under = _dynamic(lab, 8, slow), _dynamic(lab, 8, fast)
        yield ratio(name, over, under, Sign(1), "converges later", of=_first_100_ms)


def parameters_figure(lab: Lab) -> Figure:
    """How fast a mapping converges."""

    def draw(results: Results) -> Picture:
        lines = []
        for interval in INTERVALS:
            runs = results.of(_dynamic(lab, 8, interval))
            bins = runs[0].kept["bin"]
            seeds = [[run.kept["slowdown"][i] for run in runs] for i in range(len(bins))]
            middles = [(number + 0.5) * BIN_MS for number in bins]
            lines.append(figures.Line(f"I = {interval}", middles, seeds))
        return figures.lines([("ADS-8", lines)], "start of the flow (ms)", "average slowdown")

    caption = (
        "Dynamic ADS with 8 queues and TCP from an empty network on: average slowdown of the flows "
        "that start in each 5 ms, by update interval. All ports start with one queue for "
        "everything and have no mapping before the first update."
    )
    cells = parameters.of(lab).cells
    return Figure(
        "convergence", "How fast a mapping converges", caption, tuple(cells), draw, (parameters.id,)
    )


def _field_bits(lab: Lab) -> int:
    """Width of the field that the engine's switches match on: the largest value they take."""

    def takes(value: int) -> bool:
        scheme = ads(2, {"kind": "static", "thresholds": [value]})
        try:
            fctlab.load_scenario(lab.main.scenario("tcp", scheme)).resolve()
        except fctlab.SpecError:
            return False
        return True

    return max(bits for bits in range(1, 33) if takes(2**bits - 1))


@claim(
    "ads-17",
    "Table entries per port and for 48 ports, and the width of the field",
    "about 1,400; 67,200; 12 bits",
)
def table_size(lab: Lab) -> Iterator[Part]:
    """Arithmetic on cap and MTU, and the width of the engine's field."""
    entries = math.ceil(CAP / MTU)
    about = 0.01
    yield Part("entries per port", "about 1,400", Computed(1400, about), (), lambda: entries)
    name = "entries for 48 ports"
    yield Part(name, "67,200", Computed(67_200, about), (), lambda: 48 * entries)
    name = f"bits of the field (the values need {entries.bit_length()})"
    yield Part(name, "12", Computed(12), (), lambda: _field_bits(lab))


QUEUES = (eight_queues, fewer_queues, static_or_dynamic, fifo_or_two_queues, other_workloads)
CLAIMS = (*QUEUES, borrowed, parameters)
