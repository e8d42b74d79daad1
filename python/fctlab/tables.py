"""Results as tables for people."""

from __future__ import annotations

from typing import Any

import polars as pl
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fctlab.comparison import Comparison
from fctlab.result import Result

SIZE_CLASSES = {
    "all": "all",
    "small": "small <= 100 KB",
    "medium": "medium <= 10 MB",
    "large": "large > 10 MB",
}


def result(found: Result) -> RenderableType:
    """Summary, counters and speed of a run."""
    several = found.summary["traffic_class"].n_unique() > 1
    table = _table(found.title)
    if several:
        table.add_column("traffic class")
    table.add_column("flow size", no_wrap=True)
    _numbers(table, "flows", "avg\nFCT", "p50\nFCT", "p99\nFCT")
    _numbers(table, "avg\nslowdown", "p50\nslowdown", "p99\nslowdown")
    for row in found.summary.filter(pl.col("flows") > 0).iter_rows(named=True):
        table.add_row(
            *([row["traffic_class"]] if several else []),
            SIZE_CLASSES[row["class"]],
            _flows(row),
            *(_value(row, f"{s}_fct_s") for s in ("avg", "p50", "p99")),
            *(_value(row, f"{s}_slowdown") for s in ("avg", "p50", "p99")),
        )
    parts: list[RenderableType] = [_whole(table), *_bounds(found.summary)]
    parts += _window(found.extras["measured"])
    parts += _cut(found.extras, found.scenario)
    parts += _offered("", found.report)
    parts.append(_counters(found.scheme, found.engine, found.counters))
    parts += _extras(found.scheme, found.extras)
    parts.append(_speed(found.perf, found.engine, found.counters))
    return Group(*parts)


def comparison(found: Comparison) -> RenderableType:
    """Summary of a comparison: every size class under each scheme, one table per load."""
    base = found.schemes[0]
    several = found.summary["traffic_class"].n_unique() > 1
    parts: list[RenderableType] = []
    for load in found.loads:
        titles = [found.results[0].title]
        titles += [] if load is None else [f"load {load:g}"]
        titles += _sampling(found)
        table = _table(", ".join(filter(None, titles)))
        table.add_column("flow size", no_wrap=True)
        table.add_column("scheme", no_wrap=True)
        _numbers(table, "flows", "avg\nFCT", f"vs\n{base}", "p99\nFCT", f"vs\n{base}")
        _numbers(table, "avg\nslowdown", "p99\nslowdown")
        rows = found.summary.filter(pl.col("load").eq_missing(load), pl.col("flows") > 0)
        for group in rows.partition_by("traffic_class", "class", maintain_order=True):
            for i, row in enumerate(group.iter_rows(named=True)):
                names = [row["traffic_class"]] if several else []
                names.append(SIZE_CLASSES[row["class"]])
                table.add_row(
                    ", ".join(names) if i == 0 else "",
                    row["scheme"],
                    _flows(row),
                    _estimate(row, "avg_fct_s"),
                    _ratio(row, "avg_fct_s", base),
                    _estimate(row, "p99_fct_s"),
                    _ratio(row, "p99_fct_s", base),
                    _estimate(row, "avg_slowdown"),
                    _estimate(row, "p99_slowdown"),
                    end_section=i == len(group) - 1,
                )
        parts.append(_whole(table))
        first = next(r for c, r in zip(found.cells, found.results, strict=True) if c.load == load)
        parts += _offered("" if load is None else f" at load {load:g}", first.report)
    parts += _bounds(found.summary)
    if len(found.seeds) == 1:
        parts += _window(found.results[0].extras["measured"])
    for scheme in found.schemes:
        runs = [r for c, r in zip(found.cells, found.results, strict=True) if c.scheme == scheme]
        total = {k: sum(run.counters[k] for run in runs) for k in runs[0].counters}
        cuts = [run.extras["cut"]["flows_not_started"] for run in runs if "cut" in run.extras]
        words = scheme if len(runs) == 1 else f"{scheme}, {len(runs)} runs"
        parts.append(_counters(words, runs[0].engine, total, sum(cuts)))
    if len(found.cells) == len(found.schemes):
        for run in found.results:
            parts += _extras(run.scheme, run.extras)
    unit, counter = _UNITS[found.results[0].engine]
    done = sum(run.counters[counter] for run in found.results)
    cpu = sum(run.perf["cpu_s"] for run in found.results)
    parts.append(Text(f"{count(done)} {unit} in {cpu:.2f} s of CPU time", style="dim"))
    return Group(*parts)


def catalog(places: dict[str, list[dict[str, str]]]) -> RenderableType:
    """What there is to choose from, one table per place."""
    parts: list[RenderableType] = []
    for place, entries in places.items():
        table = _table(place)
        table.add_column("name", no_wrap=True)
        table.add_column("what it is")
        for entry in entries:
            table.add_row(entry["name"], entry["description"])
        parts.append(_whole(table))
    return Group(*parts)


def thresholds(found: dict[str, Any]) -> RenderableType:
    """Demotion thresholds and what they achieve."""
    title = f"{found['scheme']}: {found['workload']} at load {found['load']:g}"
    table = _table(title)
    _numbers(table, "threshold", "bytes", "packets")
    pairs = zip(found["thresholds_bytes"], found["thresholds_packets"], strict=True)
    for i, (size, packets) in enumerate(pairs, start=1):
        table.add_row(str(i), f"{size:,}", f"{packets:,}")
    lines = [f"objective: {found['objective']:.4f} mean service times"]
    if empty := found["empty_queues"]:
        lines.append(f"{empty} of {found['queues']} queues would stay empty and are left out")
    cuts = ", ".join(f'"{cut}"' for cut in found["thresholds"])
    lines.append(f"in a scenario: scheme.port.discipline.thresholds = [{cuts}]")
    return Group(_whole(table), *map(Text, lines))


def mapping(found: dict[str, Any]) -> RenderableType:
    """The thresholds of a static mapping."""
    table = _table(f"largest value of each queue but the last, {found['policy']}")
    table.add_column("where", no_wrap=True)
    _numbers(table, *(f"queue {i}" for i in range(found["queues"] - 1)))
    thresholds = found["thresholds"]
    named = {"every port": thresholds} if isinstance(thresholds, list) else thresholds
    for name, cuts in named.items():
        table.add_row(name, *map(str, cuts))
    return _whole(table)


def prediction(found: dict[str, Any]) -> RenderableType:
    """SLIs with intervals, and verdicts."""
    table = _classes(found["spec"]["name"] or "prediction", found["classes"])
    simulated = seconds(found["simulated_s"])
    note = f"{count(found['flows'])} flows over {simulated}, 95% intervals; {_cost(found['cost'])}"
    return Group(_whole(table), *_load(found), Text(note, style="dim"))


def _load(found: dict[str, Any]) -> list[Text]:
    """The load on the link, and what to beware of."""
    load = found["load"]
    each = ", ".join(f"{c['name']} {c['wire']:.3f}" for c in load["classes"])
    lines = _warnings(found)
    if each:
        text = f"load on the link: {load['payload']:.3f} payload, {load['wire']:.3f} on the wire"
        used = f", {load['used']:.3f} of what is used" if load["used"] > load["wire"] else ""
        lines.append(f"{text}{used} ({each})")
    return [Text(line) for line in lines]


def _warnings(found: dict[str, Any]) -> list[str]:
    return [f"warning: {warning}" for warning in found["warnings"]]


def plan(found: dict[str, Any]) -> RenderableType:
    """Weights, what they achieve, and what would break them."""
    made, classes = found["plan"], found["spec"]["classes"]
    names = [c["name"] for c in classes]
    table = _classes(found["spec"]["name"] or "plan", made["classes"], made["weights"])
    word = "every SLO is met" if made["success"] else "found no weights that meet every SLO"
    side = "to spare" if made["success"] else "over its threshold"
    lines = [
        f"{word} ({made['verdict']}); the worst is {made['binding']}, "
        f"{abs(made['margin']):.0%} {side}"
    ]
    for name, key in (("algorithm 1", "algorithm_1"), ("search", "search")):
        ended = made[key]
        weights = ", ".join(f"{n} {w:.3f}" for n, w in zip(names, ended["weights"], strict=True))
        after = f"after {ended['rounds']} rounds ({weights})"
        lines.append(f"{name}: worst loss {_loss(ended)} {after}")
    each = (f"{c['name']} {':'.join(map(str, c['weights']))} {_loss(c)}" for c in made["compared"])
    lines.append(f"chosen from, all on the same flows, by worst loss: {', '.join(each)}")
    needs = zip(names, made["baselines"], strict=True)
    shares = ", ".join(f"{n} {'-' if b is None else f'{b:.3f}'}" for n, b in needs)
    lines.append(f"share each needs against always backlogged others: {shares}")
    off = _table("if a forecast is off")
    off.add_column("what", no_wrap=True)
    _numbers(off, "worst loss")
    off.add_column("broken")
    for row in made["off_forecast"]:
        loss = "overload" if row["worst_loss"] is None else f"{row['worst_loss']:+.3f}"
        what = f"{row['class']}: {row['what']} {row['change']}"
        off.add_row(what, loss, ", ".join(row["broken"]) or "none")
    parts: list[RenderableType] = [_whole(table), *map(Text, lines)]
    parts += [_whole(off)] if made["off_forecast"] else []
    return Group(*parts, *_load(found), Text(_cost(found["cost"]), style="dim"))


def _loss(ended: dict[str, Any]) -> str:
    return "-" if ended["worst_loss"] is None else f"{ended['worst_loss']:+.3f}"


def whatif(found: dict[str, Any]) -> RenderableType:
    """SLIs and verdicts at every point."""
    table = _table(found["spec"])
    points = found["points"]
    keys = list(points[0])
    paths = keys[: keys.index("class")]
    _numbers(table, *paths)
    table.add_column("class", no_wrap=True)
    table.add_column("SLI", no_wrap=True)
    _numbers(table, "value", "target")
    table.add_column("95% interval")
    table.add_column("SLO")
    for row in points:
        value, low, high = (row[key] for key in ("value", "low", "high"))
        table.add_row(
            *(f"{row[path]:g}" for path in paths),
            row["class"],
            row["sli"],
            _sli(row["attr"], value),
            row["target"],
            f"{_sli(row['attr'], low)} to {_sli(row['attr'], high)}",
            row["verdict"] or "-",
        )
    return _whole(table)


def calibration(found: dict[str, Any]) -> RenderableType:
    """Fitted parameters, and how far the model is off with them and with the paper's."""
    table = _table(f"the model against {found['scheme']}")
    table.add_column("flows", no_wrap=True)
    for words in ("fitted", found["preset"]):
        _numbers(table, f"p99, mean ({words})", f"p99, worst ({words})", f"long ({words})")
    for row in found["errors"]:
        cells = []
        for key in ("fitted", "preset"):
            short = [b for b in row["bins"] if b["up_to_bdp"]]
            off = [bin[key] / bin["p99"] - 1 for bin in short]
            mean = sum(map(abs, off)) / len(off) if off else None
            worst = max(off, key=abs, default=None)
            long = row["long_mean"]
            far = None if long["packet"] is None else long[key] / long["packet"] - 1
            cells += [
                "-" if mean is None else f"{mean:.1%}",
                *("-" if value is None else f"{value:+.1%}" for value in (worst, far)),
            ]
        table.add_row(row["sample"] + (", held out" if row["held_out"] else ""), *cells)
    cc = ", ".join(f"{key} {value}" for key, value in found["cc"].items())
    note = (
        "p99 slowdown of size bins up to a BDP: mean and largest error; mean slowdown of flows "
        "above 1 MB"
    )
    return Group(_whole(table), Text(cc), Text(note, style="dim"))


def _ends(ends: list[float | None]) -> str:
    """Ends of an interval of rates, in Gbps."""
    low, high = ("?" if end is None else f"{end / 1e9:.1f}" for end in ends)
    return f"{low} to {high}"


def provisions(found: dict[str, Any]) -> RenderableType:
    """The least capacity of each strategy."""
    rows = found["strategies"]
    base = next((r["capacity_bps"] for r in rows if r["strategy"] == "weights"), None)
    table = _table(found["spec"]["name"] or "least capacity")
    table.add_column("strategy", no_wrap=True)
    _numbers(table, "Gbps", "95% interval", "load", "vs weights", "tried")
    table.add_column("weights")
    names = [c["name"] for c in found["spec"]["classes"]]
    for row in rows:
        capacity = row["capacity_bps"]
        pairs = zip(names, row["weights"] or [], strict=False)
        table.add_row(
            row["strategy"],
            "none does" if capacity is None else f"{capacity / 1e9:.1f}",
            _ends(row["capacity_ci95"]),
            "-" if capacity is None else f"{row['load']:.2f}",
            "-" if None in (capacity, base) else f"{capacity / base:.2f}x",
            str(row["tried"]),
            ", ".join(f"{n} {w:.3f}" for n, w in pairs),
        )
    slos = (Text(f"{c['name']}: {c['slo']}") for c in found["spec"]["classes"])
    lines = (Text(line) for line in _warnings(found))
    return Group(_whole(table), *slos, *lines, Text(_cost(found["cost"]), style="dim"))


def fit(found: dict[str, Any]) -> RenderableType:
    """Classes of a flow log."""
    table = _table(found["trace"])
    table.add_column("class", no_wrap=True)
    _numbers(table, "flows", "over", "rate", "mean size", "p99 size")
    table.add_column("gaps", no_wrap=True)
    _numbers(table, "KS distance", "burstiness / fit", "p99 of the log", "of the fit")
    lines = []
    for each in found["classes"]:
        gaps, sizes = each["interarrivals"], each["sizes"]
        sigma = f", sigma {gaps['sigma']:.2f}" if gaps["family"] == "lognormal" else ""
        ratios = [r["measured"] / r["fitted"] for r in each["burstiness"] if r["fitted"]]
        table.add_row(
            each["name"],
            f"{each['flows']:,}",
            seconds(each["span_s"]),
            count(each["rate_bps"]) + "bps",
            count(sizes["mean_bytes"]) + "B",
            count(sizes["p99_bytes"]) + "B",
            gaps["family"] + sigma,
            f"{gaps['ks']:.3f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-",
            f"{each['tail']['log']:.3g}",
            "{0:.3g} to {2:.3g}".format(*each["tail"]["drawn"]),
        )
        lines += [Text(f"{each['name']}: {warning}") for warning in each["warnings"]]
    return Group(_whole(table), *lines)


def _classes(title: str, classes: list[dict[str, Any]], weights: list[int] | None = None) -> Table:
    """A row per SLI, and the verdict on its class."""
    table = _table(title)
    table.add_column("class", no_wrap=True)
    if weights:
        _numbers(table, "weight")
    table.add_column("SLI", no_wrap=True)
    _numbers(table, "value", "target", "95% interval", "flows")
    table.add_column("SLO", no_wrap=True)
    table.add_column("why")
    for k, each in enumerate(classes):
        for i, sli in enumerate(each["slis"]):
            low, value, high = (
                _sli(sli["attr"], each) for each in (sli["ci95"][0], sli["value"], sli["ci95"][1])
            )
            first = i == 0
            table.add_row(
                each["name"] if first else "",
                *([str(weights[k]) if first else ""] if weights else []),
                sli["name"],
                value if sli["flows"] else "-",
                targets(sli),
                f"{low} to {high}" if sli["enough"] else "too few",
                count(sli["flows"]),
                (each["verdict"] or "-") if first else "",
                each["why"] if first else "",
                end_section=i == len(each["slis"]) - 1,
            )
    return table


def targets(sli: dict[str, Any]) -> str:
    """What the SLO compares an SLI with, such as ``< 3``; empty where it does not name it."""
    signs = {"below": "<", "above": ">"}
    each = (target.popitem() for target in map(dict, sli["targets"]))
    return ", ".join(f"{signs[side]} {_sli(sli['attr'], bound)}" for side, bound in each)


def _sli(attr: str, value: float | None) -> str:
    if value is None:
        return "inf"
    if attr == "throughput":
        return count(value) + "bps"
    return seconds(value) if attr == "fct" else plain(value)


def _cost(cost: dict[str, float]) -> str:
    return (
        f"{count(cost['flows'])} flows simulated in {cost['evaluations']} runs, "
        f"{seconds(cost['wall_s'])}"
    )


def benchmarks(found: list[dict[str, Any]]) -> RenderableType:
    """What was measured, with what it means."""
    table = _table("benchmarks on this machine")
    table.add_column("name", no_wrap=True)
    _numbers(table, "value")
    table.add_column("unit")
    table.add_column("note")
    for row in found:
        value = row["value"]
        number = count(value) if value >= 1e4 else plain(value)
        table.add_row(row["name"], number, row["unit"], row["note"])
    return _whole(table)


def seconds(value: float | None) -> str:
    """A time to three digits: ``"12.3 us"``."""
    if not value:
        return "-" if value is None else "0 s"
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if value * factor < 999.5:
            return f"{plain(value * factor)} {unit}"
    return f"{plain(value)} s"


def plain(value: float | None) -> str:
    """A number to three digits."""
    if value is None:
        return "-"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}"


def count(value: float) -> str:
    """A count to three digits: ``"12.3 M"``."""
    for factor, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= factor:
            return plain(value / factor) + unit
    return f"{value:.0f}"


def _table(title: str) -> Table:
    return Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


def _whole(table: Table) -> Table:
    """Makes the columns that do not wrap as wide as what they hold."""
    for column in table.columns:
        if column.no_wrap:
            cells = [str(column.header), *map(str, column.cells)]
            column.min_width = max(len(line) for cell in cells for line in cell.split("\n"))
    return table


def _numbers(table: Table, *names: str) -> None:
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)


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


_UNITS = {"packet": ("packet-hops", "packet_hops"), "model": ("steps of the model", "events")}
"""By engine, what its work is counted in."""


def _sampling(found: Comparison) -> list[str]:
    """What the seeds are a sample of."""
    if not found.draws:
        return []
    if not found.one_trace:
        return [f"mean of {found.draws} ± 95% interval"]
    if found.same_under_every_seed:
        return ["one trace, the same under every seed"]
    return [f"one trace, {found.draws} ± 95% interval"]


def _bounds(summary: pl.DataFrame) -> list[Text]:
    """What ">" means, where it is."""
    if not summary["unfinished"].sum():
        return []
    return [Text("> : at least; flows that had not finished when the run ended could raise it")]


def _cut(extras: dict[str, Any], scenario: dict[str, Any]) -> list[Text]:
    """What `measure.max_time` left undone."""
    if "cut" not in extras:
        return []
    cut = extras["cut"]
    about = "" if {"flows", "trace"} & scenario["traffic"].keys() else "about "
    left = [f"{cut['flows_unfinished']:,} flows unfinished"] if cut["flows_unfinished"] else []
    if missing := cut["flows_not_started"]:
        left.append(f"{about}{missing:,} flows never started")
    return [Text(f"cut at {seconds(cut['at_s'])} (measure.max_time): {', '.join(left)}")]


def _counters(scheme: str, engine: str, counters: dict[str, int], not_started: int = 0) -> Text:
    names = ("data_packets", "retransmissions", "timeouts", "drops", "ecn_marks")
    parts = [f"{count(counters[name])} {name.replace('_', ' ')}" for name in names]
    if engine == "model":
        parts = ["on the functional model, no packets"]
    unfinished = counters["flows_started"] - counters["flows_finished"]
    parts += [f"{unfinished:,} flows unfinished"] if unfinished else []
    parts += [f"{not_started:,} never started"] if not_started else []
    return Text(f"{scheme}: {', '.join(parts)}")


def _extras(scheme: str, extras: dict[str, Any]) -> list[Text]:
    """A line per further summary that the scenario asked for."""
    asked = {name: value for name, value in extras.items() if name not in ("measured", "cut")}
    return [Text(f"{scheme}, {name}: {_inline(value)}") for name, value in asked.items()]


def _offered(when: str, report: dict[str, Any]) -> list[Text]:
    """The load of each tier of links, expected beforehand."""
    tiers = report.get("offered") or []  # results saved before it was computed do not have it
    loads = ", ".join(f"{tier['tier']} {tier['load']:.1%}" for tier in tiers)
    return [Text(f"offered to the busiest links{when}: {loads}", style="dim")] if loads else []


def _window(measured: dict[str, Any]) -> list[Text]:
    """Which flows are measured, if not all are."""
    start, end, flows = measured["from_s"], measured["until_s"], measured["flows"]
    if not (start or end):
        return []
    until = f" and before {seconds(end)}" if end else ""
    return [Text(f"measured: the {flows:,} flows that start from {seconds(start)} on{until}")]


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


def _speed(perf: dict[str, float], engine: str, counters: dict[str, int]) -> Text:
    unit, counter = _UNITS[engine]
    return Text(
        f"{seconds(perf['simulated_s'])} simulated in {seconds(perf['wall_s'])}: "
        f"{count(counters[counter])} {unit}, "
        f"{count(counters[counter] / perf['wall_s'])} per second; "
        f"peak memory {count(perf['peak_rss_bytes'])}B",
        style="dim",
    )
