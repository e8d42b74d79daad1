"""What runs and comparisons found, in words and tables."""

from __future__ import annotations

from typing import Any

import polars as pl

from fctlab import _native
from fctlab.formats import count, plain, seconds
from fctlab.results import traces
from fctlab.results.comparison import Comparison
from fctlab.results.result import Result
from fctlab.results.unlike import unlike
from fctlab.tables import Column, Line, Part, Table, numbers

LARGEST_BYTES = dict(_native.size_classes())
"""The largest flow of each size class; None where there is none."""


def _size_class(name: str, largest: int | None) -> str:
    """Such as ``small <= 100 KB``."""
    sign, end = "<=", largest
    if end is None:
        sign, end = ">", max(filter(None, LARGEST_BYTES.values()))
    return f"{name} {sign} {end / 1e6:g} MB" if end >= 1e6 else f"{name} {sign} {end / 1e3:g} KB"


SIZE_CLASSES = {"all": "all", **{k: _size_class(k, v) for k, v in LARGEST_BYTES.items()}}
"""Size classes as tables call them."""


def result(found: Result) -> list[Part]:
    """Summary, counters and speed of a run."""
    several = found.summary["traffic_class"].n_unique() > 1
    table = Table(
        found.title,
        (
            *([Column("traffic class")] if several else []),
            Column("flow size", "name"),
            *numbers("flows", "avg\nFCT", "p50\nFCT", "p99\nFCT"),
            *numbers("avg\nslowdown", "p50\nslowdown", "p99\nslowdown"),
        ),
    )
    for row in found.summary.filter(pl.col("flows") > 0).iter_rows(named=True):
        table.add(
            *([row["traffic_class"]] if several else []),
            SIZE_CLASSES[row["class"]],
            _flows(row),
            *(_value(row, f"{s}_fct_s") for s in ("avg", "p50", "p99")),
            *(_value(row, f"{s}_slowdown") for s in ("avg", "p50", "p99")),
        )
    parts: list[Part] = [table, *_bounds(found.summary)]
    parts += _window(found.extras["measured"])
    parts += _cut(found.extras, found.scenario)
    parts += _offered("", found.report)
    parts += _trace(found)
    parts += _base_rtt(found.scenario)
    parts.append(_counters(found.scheme, found.engine, found.counters))
    parts += _extras(found.scheme, found.extras)
    if found.made_elsewhere:
        last = seconds(found.perf["simulated_s"])
        parts.append(Line(f"made by {found.engine}; the last is told of at {last}", soft=True))
    else:
        parts.append(_speed(found.perf, found.engine, found.counters))
    return parts


def comparison(found: Comparison) -> list[Part]:
    """Summary of a comparison: every size class under each scheme, one table per load."""
    parts: list[Part] = []
    for load in found.loads:
        parts.append(_compared(found, load))
        first = next(r for c, r in zip(found.cells, found.results, strict=True) if c.load == load)
        parts += _offered("" if load is None else f" at load {load:g}", first.report)
    parts += _trace(found.results[0])
    parts += _base_rtt(found.results[0].scenario)
    parts += _bounds(found.summary)
    if len(found.seeds) == 1:
        parts += _window(found.results[0].extras["measured"])
    for scheme in found.schemes:
        runs = [r for c, r in zip(found.cells, found.results, strict=True) if c.scheme == scheme]
        total = {k: sum(run.counters[k] for run in runs) for k in runs[0].counters}
        cuts = [run.extras["cut"]["flows_not_started"] for run in runs if "cut" in run.extras]
        words = scheme if len(runs) == 1 else f"{scheme}, {len(runs)} runs"
        parts.append(_counters(words, runs[0].engine, total, sum(cuts)))
    parts += _unlike(found)
    if len(found.cells) == len(found.schemes):
        for run in found.results:
            parts += _extras(run.scheme, run.extras)
    unit, counter = _UNITS[found.results[0].engine]
    done = sum(run.counters[counter] for run in found.results)
    cpu = sum(run.perf["cpu_s"] for run in found.results)
    parts.append(Line(f"{count(done)} {unit} in {cpu:.2f} s of CPU time", soft=True))
    return parts


def _compared(found: Comparison, load: float | None) -> Table:
    """Every size class under each scheme at one load."""
    base = found.schemes[0]
    several = found.summary["traffic_class"].n_unique() > 1
    titles = [found.results[0].title]
    titles += [] if load is None else [f"load {load:g}"]
    titles += _sampling(found)
    table = Table(
        ", ".join(filter(None, titles)),
        (
            Column("flow size", "name"),
            Column("scheme", "name"),
            *numbers("flows", "avg\nFCT", f"vs\n{base}", "p99\nFCT", f"vs\n{base}"),
            *numbers("avg\nslowdown", "p99\nslowdown"),
        ),
    )
    rows = found.summary.filter(pl.col("load").eq_missing(load), pl.col("flows") > 0)
    for group in rows.partition_by("traffic_class", "class", maintain_order=True):
        for i, row in enumerate(group.iter_rows(named=True)):
            names = [row["traffic_class"]] if several else []
            names.append(SIZE_CLASSES[row["class"]])
            table.add(
                ", ".join(names) if i == 0 else "",
                row["scheme"],
                _flows(row),
                _estimate(row, "avg_fct_s"),
                _ratio(row, "avg_fct_s", base),
                _estimate(row, "p99_fct_s"),
                _ratio(row, "p99_fct_s", base),
                _estimate(row, "avg_slowdown"),
                _estimate(row, "p99_slowdown"),
                ends=i == len(group) - 1,
            )
    return table


def _flows(row: dict[str, Any]) -> str:
    unfinished = f" ({row['unfinished']} unfinished)" if row["unfinished"] else ""
    return f"{row['flows']:,}{unfinished}"


def _value(row: dict[str, Any], metric: str) -> str:
    text = seconds(row[metric]) if metric.endswith("_s") else plain(row[metric])
    return f"> {text}" if row[f"{metric}_lower_bound"] else text


def _estimate(row: dict[str, Any], metric: str) -> str:
    value, ci = row[metric], row[f"{metric}_ci95"]
    text = _value(row, metric)
    return text if ci is None or not value else f"{text} ±{ci / value:.0%}"


def _ratio(row: dict[str, Any], metric: str, base: str) -> str:
    value, ci = row[f"{metric}_ratio"], row[f"{metric}_ratio_ci95"]
    if row["scheme"] == base:
        return ""
    if value is None:
        return "not known"
    return f"{value:.2f}x" if ci is None else f"{value:.2f}x ±{ci:.2f}"


_UNITS = {
    "packet": ("packet-hops", "packet_hops"),
    "model": ("steps of the model", "events"),
    "fluid": ("steps of flows", "events"),
}
"""By engine, what its work is counted in."""
_WITHOUT_PACKETS = {
    "model": "on the functional model, no packets",
    "fluid": "as a fluid, no packets",
}


def _sampling(found: Comparison) -> list[str]:
    """What the seeds are a sample of."""
    if not found.draws:
        return []
    if not found.one_trace:
        return [f"mean of {found.draws} ± 95% interval"]
    if found.same_under_every_seed:
        return ["one trace, the same under every seed"]
    return [f"one trace, {found.draws} ± 95% interval"]


def _bounds(summary: pl.DataFrame) -> list[Line]:
    """What ">" means, where it is."""
    if not summary["unfinished"].sum():
        return []
    return [Line("> : at least; flows that had not finished when the run ended could raise it")]


def _cut(extras: dict[str, Any], scenario: dict[str, Any]) -> list[Line]:
    """What `measure.max_time` left undone."""
    if "cut" not in extras:
        return []
    cut = extras["cut"]
    about = "" if {"flows", "trace"} & scenario["traffic"].keys() else "about "
    left = [f"{cut['flows_unfinished']:,} flows unfinished"] if cut["flows_unfinished"] else []
    if missing := cut["flows_not_started"]:
        left.append(f"{about}{missing:,} flows never started")
    return [Line(f"cut at {seconds(cut['at_s'])} (measure.max_time): {', '.join(left)}")]


def _counters(scheme: str, engine: str, counters: dict[str, int], not_started: int = 0) -> Line:
    names = ("data_packets", "retransmissions", "timeouts", "drops", "ecn_marks")
    known = [name for name in names if name in counters]  # of flows made elsewhere few are
    parts = [f"{count(counters[name])} {name.replace('_', ' ')}" for name in known]
    if engine in _WITHOUT_PACKETS:
        parts = [_WITHOUT_PACKETS[engine]]
    unfinished = counters["flows_started"] - counters["flows_finished"]
    parts += [f"{unfinished:,} flows unfinished"] if unfinished else []
    parts += [f"{not_started:,} never started"] if not_started else []
    return Line(f"{scheme}: {', '.join(parts) or f'flows of {engine}'}")


def _unlike(found: Comparison) -> list[Line]:
    """In what the schemes differ that is no part of what they are."""
    if found.results[0].engine != "packet":
        return []
    keys = unlike({cell.scheme: cell.scenario["scheme"] for cell in found.cells})
    lines = [Line(f"  {key}; {key.option}") for key in keys]
    head = "beyond their mechanisms the schemes differ in (and what makes them alike):"
    return [Line(head), *lines] if lines else []


def _extras(scheme: str, extras: dict[str, Any]) -> list[Line]:
    """A line per further summary that the scenario asked for."""
    asked = {name: value for name, value in extras.items() if name not in ("measured", "cut")}
    return [Line(f"{scheme}, {name}: {_inline(value)}") for name, value in asked.items()]


def _offered(when: str, report: dict[str, Any]) -> list[Line]:
    """The load of each tier of links, expected beforehand."""
    tiers = report.get("offered") or []  # results saved before it was computed do not have it
    loads = ", ".join(f"{tier['tier']} {tier['load']:.1%}" for tier in tiers)
    return [Line(f"offered to the busiest links{when}: {loads}", soft=True)] if loads else []


def _trace(found: Result) -> list[Line]:
    """What traffic a trace is, in all and on the links of hosts."""
    if "trace" not in found.scenario["traffic"]:
        return []
    rate = found.scenario["topology"].get("host_rate")
    return [Line(line, soft=True) for line in traces.lines(found.scan_flows(), rate)]


def _base_rtt(scenario: dict[str, Any]) -> list[Line]:
    """The time that windows, timeouts and thresholds in BDPs go by."""
    found = scenario.get("base_rtt_s")  # results saved before it was computed do not have it
    return [Line(f"base RTT: {seconds(found)}", soft=True)] if found else []


def _window(measured: dict[str, Any]) -> list[Line]:
    """Which flows are measured, if not all are."""
    start, end, flows = measured["from_s"], measured["until_s"], measured["flows"]
    if not (start or end):
        return []
    until = f" and before {seconds(end)}" if end else ""
    return [Line(f"measured: the {flows:,} flows that start from {seconds(start)} on{until}")]


def _inline(value: Any) -> str:
    """A summary on one line; keys that end in ``_s`` hold seconds."""
    if value is None:
        return ""
    if isinstance(value, dict):
        texts = {}
        for key, inner in value.items():
            if key.endswith("_lower_bound"):
                continue
            text = seconds(inner) if key.endswith("_s") and inner is not None else _inline(inner)
            bound = value.get(f"{key}_lower_bound", False)
            texts[key.removesuffix("_s")] = f"> {text}" if bound else text
        return ", ".join(f"{key.replace('_', ' ')} {text}" for key, text in texts.items() if text)
    if isinstance(value, list):
        return ", ".join(map(_inline, value))
    if isinstance(value, float):
        return count(value) if value >= 1e4 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _speed(perf: dict[str, float], engine: str, counters: dict[str, int]) -> Line:
    unit, counter = _UNITS[engine]
    return Line(
        f"{seconds(perf['simulated_s'])} simulated in {seconds(perf['wall_s'])}: "
        f"{count(counters[counter])} {unit}, "
        f"{count(counters[counter] / perf['wall_s'])} per second; "
        f"peak memory {count(perf['peak_rss_bytes'])}B",
        soft=True,
    )
