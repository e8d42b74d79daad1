"""Answers about SLOs as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fctlab.cli.layout import frame, numbers, whole
from fctlab.formats import count, seconds, sli_value
from fctlab.slo.fitted import Fit
from fctlab.slo.types import (
    ClassPrediction,
    Compared,
    Cost,
    Interval,
    Plan,
    Prediction,
    Provision,
    Search,
    Weighting,
)


def prediction(found: Prediction) -> RenderableType:
    """SLIs with intervals, and verdicts."""
    table = _classes(found.spec["name"] or "prediction", found.classes)
    simulated = seconds(found.simulated_s)
    note = f"{count(found.flows)} flows over {simulated}, 95% intervals; {_cost(found.cost)}"
    return Group(whole(table), *_load(found), Text(note, style="dim"))


def _load(found: Prediction | Plan) -> list[Text]:
    """The load on the link, and what to beware of."""
    load = found.load
    each = ", ".join(f"{c.name} {c.wire:.3f}" for c in load.classes)
    lines = _warnings(found.warnings)
    if each:
        text = f"load on the link: {load.payload:.3f} payload, {load.wire:.3f} on the wire"
        used = f", {load.used:.3f} of what is used" if load.used > load.wire else ""
        lines.append(f"{text}{used} ({each})")
    return [Text(line) for line in lines]


def _warnings(lines: Iterable[str]) -> list[str]:
    return [f"warning: {line}" for line in lines]


def plan(found: Plan) -> RenderableType:
    """Weights, what they achieve, and what would break them."""
    made = found.plan
    names = [c.name for c in made.classes]
    table = _classes(found.spec["name"] or "plan", made.classes, made.weights)
    word = "every SLO is met" if made.success else "found no weights that meet every SLO"
    lines = [f"{word} ({made.verdict}); the worst is {made.binding}{_margin(made)}"]
    for name, ended in (("algorithm 1", made.algorithm_1), ("search", made.search)):
        weights = ", ".join(f"{n} {w:.3f}" for n, w in zip(names, ended.weights, strict=True))
        after = f"after {ended.rounds} rounds ({weights})"
        lines.append(f"{name}: worst loss {_loss(ended)} {after}")
    each = (f"{c.name} {':'.join(map(str, c.weights))} {_loss(c)}" for c in made.compared)
    lines.append(f"chosen from, all on the same flows, by worst loss: {', '.join(each)}")
    needs = zip(names, made.baselines, strict=True)
    shares = ", ".join(f"{n} {'-' if b is None else f'{b:.3f}'}" for n, b in needs)
    lines.append(f"share each needs against always backlogged others: {shares}")
    off = frame("if a forecast is off")
    off.add_column("what", no_wrap=True)
    numbers(off, "worst loss")
    off.add_column("broken")
    for row in made.off_forecast:
        loss = "overload" if row.worst_loss is None else f"{row.worst_loss:+.3f}"
        what = f"{row.traffic_class}: {row.what} {row.change}"
        off.add_row(what, loss, row.cut_short or ", ".join(row.broken) or "none")
    parts: list[RenderableType] = [whole(table), *map(Text, lines)]
    parts += [whole(off)] if made.off_forecast else []
    return Group(*parts, *_load(found), Text(_cost(found.cost), style="dim"))


def _margin(made: Weighting) -> str:
    if made.margin is None:
        return ""
    side = "to spare" if made.success else "over its threshold"
    return f", {abs(made.margin):.0%} {side}"


def _loss(ended: Search | Compared) -> str:
    return "-" if ended.worst_loss is None else f"{ended.worst_loss:+.3f}"


def whatif(found: dict[str, Any]) -> RenderableType:
    """SLIs and verdicts at every point."""
    table = frame(found["spec"])
    points = found["points"]
    keys = list(points[0])
    paths = keys[: keys.index("class")]
    numbers(table, *paths)
    table.add_column("class", no_wrap=True)
    table.add_column("SLI", no_wrap=True)
    numbers(table, "value", "target")
    table.add_column("95% interval")
    table.add_column("SLO")
    for row in points:
        value, low, high = (row[key] for key in ("value", "low", "high"))
        table.add_row(
            *(f"{row[path]:g}" for path in paths),
            row["class"],
            row["sli"],
            sli_value(row["attr"], value),
            row["target"],
            f"{sli_value(row['attr'], low)} to {sli_value(row['attr'], high)}",
            row["verdict"] or "-",
        )
    return whole(table)


def calibration(found: dict[str, Any]) -> RenderableType:
    """Fitted parameters, and how far the model is off with them and with the paper's."""
    table = frame(f"the model against {found['scheme']}")
    table.add_column("flows", no_wrap=True)
    for words in ("fitted", found["preset"]):
        numbers(table, f"p99, mean ({words})", f"p99, worst ({words})", f"long ({words})")
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
    return Group(whole(table), Text(cc), Text(note, style="dim"))


def _ends(ends: Interval) -> str:
    """Ends of an interval of rates, in Gbps."""
    low, high = ("?" if end is None else f"{end / 1e9:.1f}" for end in ends)
    return f"{low} to {high}"


def provisions(found: Provision) -> RenderableType:
    """The least capacity of each strategy."""
    base = next((r.capacity_bps for r in found.strategies if r.strategy == "weights"), None)
    table = frame(found.spec["name"] or "least capacity")
    table.add_column("strategy", no_wrap=True)
    numbers(table, "Gbps", "95% interval", "load", "vs weights", "tried")
    table.add_column("weights")
    names = [c["name"] for c in found.spec["classes"]]
    for row in found.strategies:
        capacity = row.capacity_bps
        pairs = zip(names, row.weights or [], strict=False)
        table.add_row(
            row.strategy,
            "none does" if capacity is None else f"{capacity / 1e9:.1f}",
            _ends(row.capacity_ci95),
            "-" if capacity is None else f"{row.load:.2f}",
            "-" if capacity is None or base is None else f"{capacity / base:.2f}x",
            str(row.tried),
            ", ".join(f"{n} {w:.3f}" for n, w in pairs),
        )
    slos = (Text(f"{c['name']}: {c['slo']}") for c in found.spec["classes"])
    lines = (Text(line) for line in _warnings(found.warnings))
    return Group(whole(table), *slos, *lines, Text(_cost(found.cost), style="dim"))


def fit(found: Fit) -> RenderableType:
    """Classes of a flow log."""
    table = frame(found.trace)
    table.add_column("class", no_wrap=True)
    numbers(table, "flows", "over", "rate", "mean size", "p99 size")
    table.add_column("gaps", no_wrap=True)
    numbers(table, "KS distance", "burstiness / fit", "p99 of the log", "of the fit")
    lines = []
    for each in found.classes:
        gaps, sizes = each.interarrivals, each.sizes
        sigma = "" if gaps.sigma is None else f", sigma {gaps.sigma:.2f}"
        ratios = [r.measured / r.fitted for r in each.burstiness if r.fitted]
        low, _, high = each.tail.drawn
        table.add_row(
            each.name,
            f"{each.flows:,}",
            seconds(each.span_s),
            count(each.rate_bps) + "bps",
            count(sizes.mean_bytes) + "B",
            count(sizes.p99_bytes) + "B",
            gaps.family + sigma,
            f"{gaps.ks:.3f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-",
            f"{each.tail.log:.3g}",
            f"{low:.3g} to {high:.3g}",
        )
        lines += [Text(f"{each.name}: {warning}") for warning in each.warnings]
    return Group(whole(table), *lines)


def _classes(
    title: str, classes: Sequence[ClassPrediction], weights: Sequence[int] | None = None
) -> Table:
    """A row per SLI, and the verdict on its class."""
    table = frame(title)
    table.add_column("class", no_wrap=True)
    if weights:
        numbers(table, "weight")
    table.add_column("SLI", no_wrap=True)
    numbers(table, "value", "target", "95% interval", "flows")
    table.add_column("SLO", no_wrap=True)
    table.add_column("why")
    for k, each in enumerate(classes):
        for i, sli in enumerate(each.slis):
            low, value, high = (
                sli_value(sli.attr, number) for number in (sli.ci95[0], sli.value, sli.ci95[1])
            )
            first = i == 0
            table.add_row(
                each.name if first else "",
                *([str(weights[k]) if first else ""] if weights else []),
                sli.name,
                value if sli.flows else "-",
                sli.compared,
                f"{low} to {high}" if sli.enough else "too few",
                count(sli.flows),
                (each.verdict or "-") if first else "",
                each.why if first else "",
                end_section=i == len(each.slis) - 1,
            )
    return table


def _cost(cost: Cost) -> str:
    return f"{count(cost.flows)} flows simulated in {cost.evaluations} runs, {seconds(cost.wall_s)}"
