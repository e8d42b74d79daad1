"""All schemes on the same flows: the table that no single paper has.

Thirteen schemes, five workloads with queries among them, two loads (`setting`); claims of
the papers tried on all of them at once; and advice computed from the table (`advice`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fctlab.studies.crosscut import advice
from fctlab.studies.crosscut.setting import (
    BASE,
    BY_NAME,
    DESCRIPTIONS,
    INTENDED,
    LOADS,
    METRICS,
    SCHEMES,
    TRAFFICS,
    Lab,
    Metric,
    Scheme,
)
from fctlab.studies.framework import figures, loads
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.figures import Quantity, bar_figure
from fctlab.studies.framework.lab import claim
from fctlab.studies.framework.runs import Results
from fctlab.studies.framework.study import (
    Advice,
    Check,
    Figure,
    Mode,
    Part,
    Plan,
    Study,
    Table,
)
from fctlab.studies.framework.verdict import Band, Bound, Expectation, Sign


def _against(
    lab: Lab, metric: str, over: str, under: str, expected: Expectation, paper: str
) -> tuple[Part, ...]:
    """A scheme over another in all settings."""
    ours, theirs = (lab.row(BY_NAME[name]) for name in (over, under))
    chosen = METRICS[metric]
    words = chosen.name.partition(" (")[0]
    name = f"{words}: {over} / {under}"
    return loads.across(
        name, ours, theirs, expected, paper, of=chosen.above, together="all settings"
    )


def _lower(lab: Lab, metric: str, over: str, under: str) -> tuple[Part, ...]:
    return _against(lab, metric, over, under, Sign(-1), "lower")


@claim(
    "crosscut-1",
    "Every scheme that schedules has a lower average FCT of short flows than DCTCP, mean "
    "of all settings",
    "lower",
)
def scheduling(lab: Lab) -> Iterator[Part]:
    """All schemes over DCTCP."""
    for scheme in SCHEMES:
        if scheme not in (BASE, BY_NAME["PIAS, mismatched"]):
            yield from _lower(lab, "small", scheme.name, "DCTCP")


@claim("crosscut-2", "D-SRTF is better than PIAS: short flows, and overall", "lower")
def d_srtf(lab: Lab) -> Iterator[Part]:
    """What D-SRTF's paper says."""
    for metric in ("small", "all"):
        yield from _lower(lab, metric, "D-SRTF", "PIAS")


@claim(
    "crosscut-3",
    "PIAS with thresholds of the wrong workload is worse: short flows; AWAFS is better than that",
    "higher; lower",
)
def mismatched(lab: Lab) -> Iterator[Part]:
    """What AWAFS's paper says."""
    yield from _against(lab, "small", "PIAS, mismatched", "PIAS", Sign(1), "higher")
    yield from _lower(lab, "small", "AWAFS", "PIAS, mismatched")


@claim(
    "crosscut-4",
    "ASCC, where a flow's data are there at once, has a lower average FCT than LAS and PIAS",
    "lower",
)
def ascc(lab: Lab) -> Iterator[Part]:
    """What ASCC's paper says."""
    for under in ("LAS", "PIAS"):
        yield from _lower(lab, "all", "ASCC", under)


@claim("crosscut-5", "ADS needs eight queues: short flows against two", "lower")
def ads(lab: Lab) -> Iterator[Part]:
    """What ADS's paper says."""
    yield from _lower(lab, "small", "ADS-8", "ADS-2")


@claim("crosscut-6", "Knowing sizes is worth something: overall average FCT", "lower")
def sizes(lab: Lab) -> Iterator[Part]:
    """Schemes that know sizes over those that do not."""
    for over, under in (("D-SRTF-IA", "D-SRTF"), ("SJF", "LAS")):
        yield from _lower(lab, "all", over, under)


@claim(
    "crosscut-7",
    "Exact priorities gain little over eight queues: LAS against PIAS, short flows",
    "equal (band 5%)",
)
def exact(lab: Lab) -> Iterator[Part]:
    """Exact priorities over queues."""
    band = Band.within(0.05), "equal (band 5%)"
    yield from _against(lab, "small", "LAS", "PIAS", *band)


@claim(
    "crosscut-8",
    "Priorities starve large flows: the longest starvation under LAS, PIAS, SJF against DCTCP",
    "longer",
)
def starvation(lab: Lab) -> Iterator[Part]:
    """Starvation over DCTCP's."""
    for name in ("LAS", "PIAS", "SJF"):
        yield from _against(lab, "starved", name, "DCTCP", Sign(1), "longer")


CLAIMS = (scheduling, d_srtf, mismatched, ascc, ads, sizes, exact, starvation)
IDS = tuple(each.id for each in CLAIMS)


def plan(mode: Mode) -> Plan:
    """Claims, tables, advice and figures in a mode."""
    lab = Lab(mode)
    return Plan(
        claims=[each.of(lab) for each in CLAIMS],
        figures=[_figure(lab, load) for load in LOADS],
        checks=[_unfinished(lab)],
        notes=_notes(lab),
        intended=INTENDED,
        tables=[_overview(lab), *(_table(lab, name) for name in lab.columns)],
        advice=Advice(lab.table, lambda results: advice.sentences(results, lab)),
    )


def _cell_text(results: Results, cell: Cell, metric: Metric) -> str:
    """``"0.123 ±0.004"``: mean and half-width of the 95% interval; ``"> 0.123"`` of a bound."""
    values, bound = results.bounded([cell], metric.of)
    mean, half = figures.mean_and_half_width(values)
    if bound is not Bound.NONE:
        return f"{bound.mark} {_digits(mean)}"
    return f"{_digits(mean)} ±{_digits(half)}"


def _digits(value: float) -> str:
    if value != value:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _table(lab: Lab, setting: str) -> Table:
    cells = {scheme: lab.row(scheme)[setting] for scheme in SCHEMES}

    def rows(results: Results) -> list[tuple[str, ...]]:
        return [
            (scheme.name, *(_cell_text(results, cell, metric) for metric in METRICS.values()))
            for scheme, cell in cells.items()
        ]

    return Table(
        setting.replace(" ", "-"),
        f"{setting[0].upper()}{setting[1:]} load",
        "Means over the seeds with the half-width of their 95% intervals. Flows of queries are in "
        "no column but those of queries, timeouts and starvation.",
        tuple(cells.values()),
        ("scheme", *(metric.name for metric in METRICS.values())),
        rows,
        IDS,
        folded=True,
    )


def _overview(lab: Lab) -> Table:
    def rows(results: Results) -> list[tuple[str, ...]]:
        found = []
        for scheme in SCHEMES:
            row = [advice.change(advice.relative(results, lab, scheme, BASE, m)) for m in METRICS]
            if scheme is BASE:
                row = ["1"] * len(METRICS)
            needs = "sizes; " if scheme.sizes else ""
            found.append((scheme.name, *row, f"{needs}{scheme.switch}", scheme.tuned))
        return found

    names = (metric.name.partition(" (")[0] for metric in METRICS.values())
    return Table(
        "overview",
        "All settings together, against DCTCP",
        "Geometric means over the five workloads and two loads of each metric's ratio to DCTCP's "
        "on the same flows, with 95% intervals; less is better.",
        lab.table,
        ("scheme", *names, "needs", "asks for"),
        rows,
        IDS,
    )


def _figure(lab: Lab, load: float) -> Figure:
    def over(metric: Metric) -> Callable[..., float]:
        return lambda a, b: metric.above(a) / metric.above(b)

    panels = []
    for metric in ("small", "tail", "all", "large", "queries"):
        groups = {
            _label(scheme): {
                DESCRIPTIONS[w]: (
                    (lab.cell(scheme, w, load), lab.cell(BASE, w, load)),
                    over(METRICS[metric]),
                )
                for w in TRAFFICS
            }
            for scheme in SCHEMES
            if scheme is not BASE
        }
        words = METRICS[metric].name.partition(" (")[0]
        panels.append((words, Quantity("relative to DCTCP"), groups))
    return bar_figure(
        f"load-{load:g}",
        f"Every scheme against DCTCP, load {load:g}",
        "Ratios to DCTCP's on the same flows, means over the seeds with 95% intervals; below 1 is "
        "better.",
        IDS,
        panels,
        below=True,
    )


def _label(scheme: Scheme) -> str:
    return scheme.name.replace(", ", "\n")


def _unfinished(lab: Lab) -> Check:
    def count(results: Results) -> str:
        left = {
            scheme.name: sum(
                results.mean(cell, lambda run: run.of("all")["unfinished"])
                for cell in lab.row(scheme).values()
            )
            for scheme in SCHEMES
        }
        named = [f"{name} {number:.1f}" for name, number in left.items() if number]
        return ", ".join(named) or "none"

    return Check("flows unfinished at 30 s, sum of all settings", "-", lab.table, count)


def _notes(lab: Lab) -> list[str]:
    scale = lab.scale
    notes = [
        "One setting for all: 10/40 Gbps leaf-spine, base RTT 85.2 us, 240-packet ports with K = "
        "65, windows from a BDP (71 packets) on, alpha from 0, RTO of 2 ms at least, selective "
        "ACKs, one path per flow, hosts' ports as switches'. All run over DCTCP but L2DCT, ASCC "
        "(DCTCP with its rules) and pFabric (minTCP, 140-packet ports, windows up to 139 packets, "
        "RTO 250 us, as PIAS ran it).",
        f"A twentieth of the bytes are queries: {scale.fanin} hosts answer one at once, 20 KB "
        "each. Mixed is the four workloads with equal bytes.",
        "L2DCT stands in two rows: with growth weighted by what a flow has sent, as its paper has "
        "it, and with the law of the ns-2 code that PIAS published, two packets per round trip "
        "for every flow.",
        "PIAS has the thresholds that our solver gives for the workload and load (for the mix: its "
        "distribution of sizes); mismatched, data mining's, and under data mining web search's.",
        "ASCC: all of a flow's data are there at its start (alpha = 0), so every flow is complete; "
        "study ascc varies alpha.",
        "AWAFS has eight queues, percentiles 0.1 to 0.7 and initial thresholds from 7 KB to 49 KB.",
        "In the mix the p99 of small flows is the mean of the four workloads', weighted by flows.",
        "A timeout in ten thousand flows is the least that ratios of timeouts count.",
        "No claim here is a paper's own row: the papers' statements are tried on all settings.",
    ]
    if lab.mode == "quick":
        notes.append(
            f"Quick: {scale.fabric} instead of 9 x 16 and 4; flows that start from "
            f"{scale.warmup_ms:g} to {scale.duration_ms:g} ms; {scale.fanin} answers to a query "
            f"instead of 32; AWAFS with a window of {scale.awafs_window} and an interval of "
            f"{scale.awafs_interval}, a tenth of the paper's; 5 seeds instead of 10."
        )
    return notes


STUDY = Study(
    name="crosscut",
    title="Thirteen schemes on the same flows",
    paper="Mushtaq et al. (ADS), Gao et al. (D-SRTF), Gutierrez et al. (AWAFS), Kogan et al. "
    "(ASCC), Bai et al. (PIAS), Alizadeh et al. (pFabric, DCTCP) and Munir et al. (L2DCT).",
    plan=plan,
)
