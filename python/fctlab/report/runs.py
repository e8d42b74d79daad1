"""Pages of runs and comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from fctlab.formats import seconds
from fctlab.report import flows, recordings
from fctlab.report.charts import Axis, Chart, Choice, Series, rounded
from fctlab.report.flows import ALL, Curve
from fctlab.report.page import Page, Section
from fctlab.results import kinds, words
from fctlab.results.comparison import Comparison
from fctlab.results.result import Result
from fctlab.results.words import SIZE_CLASSES

MOST_TRAFFIC = 6
"""Traffic classes that can be chosen, besides all."""

METRIC = Choice("metric", "Metric", [("fct_s", "completion time"), ("slowdown", "slowdown")])
SLOWDOWN_FIRST = Choice("metric", "Metric", METRIC.options[::-1])
STATISTIC = Choice(
    "statistic",
    "Statistic",
    [("p99", "99th percentile"), ("p50", "median"), ("avg", "average")],
)
TAIL_OR_AVERAGE = Choice("statistic", "Statistic", [STATISTIC.options[0], STATISTIC.options[2]])
HOLLOW = "Hollow: at least, since flows had not finished."
AXES = {
    "fct_s": Axis("flow completion time", "s", log=True),
    "slowdown": Axis("slowdown (FCT / ideal)", log=True, least=1),
}


def sizes(frame: pl.DataFrame) -> Choice:
    """The size classes of a summary that have flows."""
    there = set(frame.filter(pl.col("flows") > 0)["class"].to_list())
    options = [(name, label) for name, label in SIZE_CLASSES.items() if name in there]
    return Choice("size", "Flow size", options)


def of_run(directory: Path) -> Page:
    """The page of one run."""
    found = Result.load(directory)
    report = found.report
    traffic = _traffic(found.summary)
    scheme = Choice("scheme", "Schemes", [(found.scheme, found.scheme)], several=True)
    curves = [Curve({"scheme": found.scheme}, [found.scan_flows()])]
    command = f"fctlab run {directory / kinds.SCENARIO}"
    if found.made_elsewhere:
        flows = directory / kinds.FLOWS
        command = f"fctlab summary {directory / kinds.SCENARIO} {flows}"
    return Page(
        title=found.title or directory.name,
        kind="run",
        facts=[
            ("scheme", found.scheme),
            ("seed", str(found.scenario["seed"])),
            *_facts([found], report),
        ],
        command=command,
        warnings=report.get("warnings", []),
        choices=[scheme, *_several(traffic)],
        sections=[
            Section("Results", words.result(found)),
            Section("Flows", charts=_flow_charts([curves], sizes(found.summary), traffic)),
            *recordings.section(found),
        ],
        beside=" and ".join(kinds.drawn(directory)),
    )


def of_comparison(directory: Path) -> Page:
    """The page of a comparison."""
    found = Comparison.load(directory)
    traffic = _traffic(found.summary)
    loads = [] if found.loads == [None] else [f"{load:g}" for load in found.loads]
    pairs = list(zip(found.cells, found.results, strict=True))
    by_load = []
    for load in found.loads:
        keys = {} if load is None else {"load": f"{load:g}"}
        by_load.append(
            [
                Curve(
                    {**keys, "scheme": scheme},
                    [r.scan_flows() for c, r in pairs if (c.scheme, c.load) == (scheme, load)],
                )
                for scheme in found.schemes
            ]
        )
    seeds = ", ".join(map(str, found.seeds[:3]))
    return Page(
        title=found.results[0].title or directory.name,
        kind="comparison",
        facts=[
            ("schemes", f"{', '.join(found.schemes)} (the first is the baseline)"),
            *([("loads", ", ".join(loads))] if loads else []),
            ("seeds", seeds if len(found.seeds) < 4 else f"{seeds}, ... ({len(found.seeds)})"),
            *_facts(found.results, found.results[0].report),
        ],
        command=f"fctlab compare {directory / kinds.SCENARIO}",
        warnings=list(dict.fromkeys(w for _, r in pairs for w in r.report.get("warnings", []))),
        choices=[
            Choice("scheme", "Schemes", [(s, s) for s in found.schemes], several=True),
            *([Choice("load", "Load", [(load, load) for load in loads])] if loads else []),
            *_several(traffic),
        ],
        sections=[
            Section("Schemes side by side", charts=[_side_by_side(found, loads)]),
            Section("Flows", charts=_flow_charts(by_load, sizes(found.summary), traffic)),
            Section("Results", words.comparison(found)),
        ],
        beside=" and ".join(kinds.drawn(directory)),
    )


def _facts(runs: Any, report: dict[str, Any]) -> list[tuple[str, str]]:
    engines = {
        "packet": "packet by packet",
        "model": "functional model of one bottleneck",
        "fluid": "one fluid for all links",
    }
    first = runs[0]
    how = f"summary of flows made by {first.engine}"
    if not first.made_elsewhere:
        how = engines[first.engine]
    rtt = first.scenario.get("base_rtt_s")
    return [
        ("engine", f"{how}, build {report.get('engine', 'not known')}"),
        *([("base RTT", seconds(rtt))] if rtt else []),
    ]


def _traffic(summary: pl.DataFrame) -> Choice:
    names = [ALL, *(n for n in summary["traffic_class"].unique(maintain_order=True) if n != ALL)]
    return Choice("traffic", "Traffic class", [(n, n) for n in names[: MOST_TRAFFIC + 1]])


def _several(choice: Choice) -> list[Choice]:
    """Where a single traffic class has everything, there is nothing to choose."""
    return [choice] if len(choice.options) > 2 else []


def _side_by_side(found: Comparison, loads: list[str]) -> Chart:
    """A metric of every scheme, against load where there are several."""
    against_load = len(loads) > 1
    series = []
    rows = found.summary.filter(pl.col("flows") > 0)
    keys = ("scheme", "class", "traffic_class") if against_load else ("class", "traffic_class")
    for (*names,), group in rows.group_by(keys, maintain_order=True):
        told = dict(zip(keys, map(str, names), strict=True))
        for metric in flows.METRICS:
            for statistic, _ in STATISTIC.options:
                shown = {"metric": metric, "statistic": statistic, "size": told["class"]}
                shown["traffic"] = told["traffic_class"]
                for rest in [group] if against_load else group.partition_by("scheme"):
                    scheme = {"scheme": str(rest["scheme"][0])}
                    series.append(_points(rest, {**shown, **scheme}, against_load))
    axis = Axis("load") if against_load else Axis("scheme", words=True)
    return Chart(
        "side",
        "Each scheme" + (" against load" if against_load else ""),
        (f"{found.draws}; bars are 95% intervals of the mean. " if found.draws else "") + HOLLOW,
        "lines",
        axis,
        AXES,
        series,
        lines="scheme",
        choices=[METRIC, STATISTIC, sizes(found.summary)],
        by="metric",
    )


def _points(rows: pl.DataFrame, keys: dict[str, str], against_load: bool) -> Series:
    name = f"{keys['statistic']}_{keys['metric']}"
    values = rows[name].to_list()
    low, high = flows.ends(values, rows[f"{name}_ci95"].to_list())
    return Series(
        keys,
        rows["load" if against_load else "scheme"].to_list(),
        rounded(values),
        low=low,
        high=high,
        open=[i for i, bound in enumerate(rows[f"{name}_lower_bound"].to_list()) if bound],
        notes=[f"{flows:,} flows" for flows in rows["flows"].to_list()],
    )


def _flow_charts(by_load: list[list[Curve]], size: Choice, traffic: Choice) -> list[Chart]:
    """Distributions, and metrics against size."""
    names = [name for name, _ in (traffic.options if _several(traffic) else traffic.options[:1])]
    every = [curve for curves in by_load for curve in curves]
    return [
        Chart(
            "cdf",
            "Distribution",
            "Share of flows that took at most so long; seeds are pooled. "
            "A line that ends below 1 has flows that had not finished.",
            "steps",
            AXES,
            Axis("share of flows", zero=True),
            flows.distributions(every, names),
            lines="scheme",
            choices=[METRIC, size],
            by="metric",
        ),
        Chart(
            "sizes",
            "Against flow size",
            "Each point stands for about as many flows of neighbouring size, at their median size; "
            f"bars are 95% intervals over the seeds. {HOLLOW}",
            "lines",
            Axis("flow size", "B", log=True),
            AXES,
            [s for curves in by_load for s in flows.against_size(curves, names)],
            lines="scheme",
            choices=[SLOWDOWN_FIRST, TAIL_OR_AVERAGE],
            by="metric",
        ),
    ]
