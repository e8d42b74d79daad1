"""What was found about SLOs, in words and tables: the terminal and pages say the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fctlab.answers import Answer
from fctlab.formats import count, rate, rate_bps, seconds, sli_value
from fctlab.slo.types import (
    Capacity,
    ClassPrediction,
    Compared,
    Cost,
    Interval,
    Load,
    Measured,
    OffForecast,
    Plan,
    Point,
    Prediction,
    Provision,
    Search,
    Sli,
    Target,
    Verdict,
    Weighting,
    WhatIf,
)
from fctlab.tables import Column, Line, Part, Table, numbers

VERDICTS: tuple[Verdict, ...] = ("met", "undecided", "violated")
"""From best to worst."""
FAR = 3.0
"""A violation is told in multiples of the threshold from here on, a share of it below."""
ALIKE = 0.25
"""A model that is farther from a log, as a share of the log's value, is not believed as it is."""
SOME = 0.05
"""More durations than this share that cannot be are a reason to believe none."""
STRATEGIES = {
    "fifo": "one queue for all classes",
    "static": "a link of its own for each class",
    "weights": "weights between classes, FIFO inside",
    "weights-fq": "weights between classes, fair queueing inside",
    "priority": "strict priority in the order of classes",
}


@dataclass(frozen=True)
class Told:
    """A verdict and the sentence that says it."""

    verdict: Verdict
    text: str


# Verdicts


def worst(verdicts: Iterable[Verdict | None]) -> Verdict | None:
    """The worst of several verdicts; ``None`` where there is none."""
    there = [verdict for verdict in verdicts if verdict is not None]
    return max(there, key=VERDICTS.index, default=None)


def verdicts(classes: Sequence[ClassPrediction]) -> list[Told]:
    """Of all classes together, then of each with an SLO, the worst first."""
    judged = [each for each in classes if each.verdict is not None]
    overall = worst(each.verdict for each in judged)
    if overall is None:
        return []
    named = [each.name for each in judged if each.verdict == overall]
    if overall == "met":
        text = f"Every SLO is met: {', '.join(named)}."
    else:
        some = f"{len(named)} of {len(judged)}" if len(judged) > 1 else "The only"
        plural = "SLOs are" if len(named) > 1 else "SLO is" if len(judged) == 1 else "SLOs is"
        text = f"{some} {plural} {overall}: {', '.join(named)}."
    order = sorted(judged, key=lambda each: -VERDICTS.index(each.verdict or "met"))
    return [Told(overall, text), *(Told(each.verdict or "met", _class(each)) for each in order)]


def _class(each: ClassPrediction) -> str:
    """By how much a verdict holds of a class, and the SLIs that its SLO names."""
    far = outcome(each).removeprefix(each.verdict or "").strip()
    slis = "; ".join(standing(sli) for sli in each.slis if sli.targets)
    return f"{each.name}{', ' if far else ''}{far}: {slis}"


def standing(sli: Sli) -> str:
    """An SLI with interval and target."""
    return f"{sli.name} {value(sli)} ({interval(sli)}), target {sli.compared}"


def target(attr: str, bound: Target) -> str:
    """A target, such as ``< 3``."""
    sign, limit = (">", bound.above) if bound.below is None else ("<", bound.below)
    return f"{sign} {sli_value(attr, limit)}"


def value(sli: Sli) -> str:
    """The value of an SLI."""
    return sli_value(sli.attr, sli.value) if sli.flows else "not known"


def interval(sli: Sli) -> str:
    """Its interval, the one that verdicts are about."""
    if not sli.enough:
        return "too few flows for an interval"
    low, high = (sli_value(sli.attr, end) for end in sli.ci99)
    return f"99%: {low} to {high}"


def outcome(each: ClassPrediction) -> str:
    """What became of an SLO: ``met by 25%``, ``violated by 21%`` (of the threshold), ..."""
    if each.verdict is None:
        return "-"
    if each.verdict == "undecided" or each.loss is None:
        return each.verdict
    if each.loss > FAR:
        return f"violated {1 + each.loss:.0f}x"
    return f"{each.verdict} by {abs(each.loss):.0%}"


def regions(found: WhatIf) -> list[Told]:
    """For each verdict where it holds, the best first."""
    at: dict[Verdict, list[Point]] = {}
    for point in found.points:
        overall = worst(each.verdict for each in point.classes)
        if overall is not None:
            at.setdefault(overall, []).append(point)
    told = []
    for verdict in VERDICTS:
        if points := at.get(verdict):
            what = "Every SLO is met" if verdict == "met" else f"An SLO is {verdict}"
            share = f"at {len(points)} of {len(found.points)} points"
            where = f": {_where(found, points)}" if len(found.paths) == 1 else ""
            classes = (c.name for p in points for c in p.classes if c.verdict == verdict)
            whose = f" ({', '.join(dict.fromkeys(classes))})" if verdict != "met" else ""
            told.append(Told(verdict, f"{what} {share}{where}{whose}."))
    return told


def _where(found: WhatIf, points: Sequence[Point]) -> str:
    """Values of the one path, neighbours together: ``rate (Gbps) 5 to 20, 30``."""
    values = sorted(point.at[0] for point in found.points)
    inside = {point.at[0] for point in points}
    runs: list[list[float]] = []
    for before, value in zip([None, *values], values, strict=False):
        if value in inside:
            if before in inside:
                runs[-1].append(value)
            else:
                runs.append([value])
    ends = (f"{r[0]:g}" + (f" to {r[-1]:g}" if len(r) > 1 else "") for r in runs)
    return f"{found.paths[0]} {', '.join(ends)}"


# Tables


def prediction(found: Prediction) -> list[Part]:
    """SLIs with intervals, and verdicts."""
    simulated = seconds(found.simulated_s)
    note = f"{count(found.flows)} flows over {simulated}; {_cost(found.cost)}"
    table = slos(found.spec["name"] or "prediction", found.classes, measured=found.measured)
    return [
        table,
        *map(Line, compared(found.classes, found.measured)),
        *_load(found.load),
        Line(note, soft=True),
    ]


def plan(found: Plan, *, verbose: bool = True) -> list[Part]:
    """Weights and what they achieve; `verbose` also how they were found, and what breaks them."""
    made = found.plan
    word = f"found no weights that meet every SLO; the worst is {made.binding}{margin(made)}"
    if made.success:
        word = "every SLO is met"
        if made.verdict == "undecided":
            word = "every value is within its SLO, and undecided whether that holds for other flows"
    return [
        slos(found.spec["name"] or "plan", made.classes, made.weights),
        Line(word),
        *_load(found.load),
        *(search(found) if verbose else []),
        Line(_cost(found.cost), soft=True),
    ]


def search(found: Plan) -> list[Part]:
    """How weights were found, and what would break them."""
    made = found.plan
    names = [c.name for c in made.classes]
    lines = []
    for name, ended in (("algorithm 1", made.algorithm_1), ("search", made.search)):
        weights = ", ".join(f"{n} {w:.3f}" for n, w in zip(names, ended.weights, strict=True))
        after = f"after {ended.rounds} rounds ({weights})"
        lines.append(f"{name}: worst loss {_loss(ended)} {after}")
    each = (f"{c.name} {':'.join(map(str, c.weights))} {_loss(c)}" for c in made.compared)
    lines.append(f"chosen from, all on the same flows, by worst loss: {', '.join(each)}")
    needs = zip(names, made.baselines, strict=True)
    shares = ", ".join(f"{n} {'-' if b is None else f'{b:.3f}'}" for n, b in needs)
    lines.append(f"share each needs against always backlogged others: {shares}")
    return [*map(Line, lines), *([_off_forecast(made)] if made.off_forecast else [])]


def _off_forecast(made: Weighting) -> Table:
    columns = (Column("what", "name"), *numbers("worst loss"), Column("broken"))
    table = Table("if a forecast is off", columns)
    for row in made.off_forecast:
        loss = "overload" if row.worst_loss is None else f"{row.worst_loss:+.3f}"
        table.add(off(row), loss, row.cut_short or ", ".join(row.broken) or "none")
    return table


def off(row: OffForecast) -> str:
    """Which forecast is off, and by how much."""
    return f"{row.traffic_class}: {row.what} {row.change}"


def margin(made: Weighting) -> str:
    """How far the worst class is from its threshold."""
    if made.margin is None:
        return ""
    side = "to spare" if made.success else "over its threshold"
    return f", {abs(made.margin):.0%} {side}"


def _loss(ended: Search | Compared) -> str:
    return "-" if ended.worst_loss is None else f"{ended.worst_loss:+.3f}"


def provision(found: Provision) -> list[Part]:
    """The least capacity of each strategy."""
    base = next((r.capacity_bps for r in found.strategies if r.strategy == "weights"), None)
    table = Table(
        found.spec["name"] or "least capacity",
        (
            Column("strategy", "name"),
            *numbers("Gbps", "95% interval", "load", "vs weights", "tried"),
            Column("weights"),
        ),
    )
    names = [c["name"] for c in found.spec["classes"]]
    for row in found.strategies:
        capacity = row.capacity_bps
        pairs = zip(names, row.weights or [], strict=False)
        table.add(
            row.strategy,
            "none does" if capacity is None else f"{capacity / 1e9:.1f}",
            _ends(row.capacity_ci95),
            "-" if capacity is None else f"{row.load:.2f}",
            "-" if capacity is None or base is None else f"{capacity / base:.2f}x",
            str(row.tried),
            ", ".join(f"{n} {w:.3f}" for n, w in pairs),
        )
    return [
        table,
        *(Line(f"{c['name']}: {c['slo']}") for c in found.spec["classes"]),
        Line(_cost(found.cost), soft=True),
    ]


def gbps(rate_bps: float | None) -> str:
    """A rate."""
    return "?" if rate_bps is None else rate(rate_bps)


def _ends(ends: Interval) -> str:
    """Ends of an interval of rates, in Gbps."""
    low, high = ("?" if end is None else f"{end / 1e9:.1f}" for end in ends)
    return f"{low} to {high}"


def enough(row: Capacity, link_bps: float) -> Verdict:
    """Whether a link is as fast as a strategy needs."""
    low, high = row.capacity_ci95
    if row.capacity_bps is None or (low is not None and link_bps <= low):
        return "violated"
    return "met" if high is not None and link_bps >= high else "undecided"


def links(found: Provision) -> list[Told]:
    """Whether the specification's own link is fast enough: at all, then for each strategy."""
    link = link_bps(found.spec)
    each = [(enough(row, link), row) for row in found.strategies]
    best = min((verdict for verdict, _ in each), key=VERDICTS.index)
    named = ", ".join(row.strategy for verdict, row in each if verdict == best)
    text = {
        "met": f"The link of {gbps(link)} is fast enough with {named}.",
        "undecided": f"Whether the link of {gbps(link)} is fast enough is not sure with {named}.",
        "violated": f"The link of {gbps(link)} is too slow with {named}.",
    }[best]
    told = [Told(best, text)]
    for verdict, row in each:
        needs = f"needs {gbps(row.capacity_bps)} (95%: {_ends(row.capacity_ci95)})"
        if row.capacity_bps is None:
            needs = "no rate is enough"
        told.append(Told(verdict, f"{row.strategy}: {needs}; {STRATEGIES[row.strategy]}"))
    return told


def link_bps(spec: Mapping[str, Any]) -> float:
    """The rate of a resolved specification's link."""
    return rate_bps(spec["network"]["link"])


def whatif(found: WhatIf) -> Table:
    """SLIs and verdicts at every point."""
    table = Table(
        found.spec,
        (
            *numbers(*(path.replace(" (", "\n(") for path in found.paths)),
            Column("class", "name"),
            Column("SLO", "state"),
            Column("SLI", "name"),
            *numbers("value", "target"),
            Column("99% interval", "name"),
        ),
    )
    for point in found.points:
        at = tuple(f"{number:g}" for number in point.at)
        rows = [(each, i, sli) for each in point.classes for i, sli in enumerate(each.slis)]
        for row, (each, i, sli) in enumerate(rows):
            whose = (each.name, outcome(each)) if i == 0 else ("", "")
            place = at if row == 0 else ("",) * len(at)
            table.add(*place, *whose, *_cells(sli), ends=row == len(rows) - 1)
    return table


def compared(classes: Sequence[ClassPrediction], measured: Sequence[Measured]) -> Iterator[str]:
    """What logs say beside what is predicted."""
    of = {each.name: each for each in classes}
    for seen in measured:
        slis = of[seen.name].slis
        if not slis or not seen.flows:
            continue
        if seen.paced:
            share = seen.paced / (seen.paced + seen.flows)
            yield (
                f"{seen.name}: {seen.paced:,} flows of the log ({share:.0%}) are told apart: the "
                "link was not busy while they lasted, so something else slowed them"
            )
        if seen.too_short > SOME * seen.flows:
            yield (
                f"{seen.name}: {seen.too_short / seen.flows:.0%} of the log's durations are "
                "shorter than the link allows: its clock is coarse, or the link is another"
            )
        far = [
            f"{sli.name} {_of_log(seen, sli)}, predicted {value(sli)}"
            for sli, known in zip(slis, seen.values, strict=True)
            if known and _of_log(seen, sli) != "-" and abs(sli.value / known - 1) > ALIKE
        ]
        if far:
            yield (
                f"{seen.name}: log and prediction differ ({'; '.join(far)}): find out why "
                "before you believe either"
            )


def _of_log(seen: Measured, sli: Sli) -> str:
    """An SLI of a log, if enough flows stand behind it."""
    values = dict(zip(seen.slis, zip(seen.values, seen.counts, strict=True), strict=True))
    known, flows = values.get(sli.name, (None, 0))
    if known is None or flows < sli.flows_needed / 10:
        return "-"
    return sli_value(sli.attr, known)


def slos(
    title: str,
    classes: Sequence[ClassPrediction],
    weights: Sequence[int] | None = None,
    measured: Sequence[Measured] = (),
) -> Table:
    """A row per SLI, and the verdict on its class; beside values what a log says of the same."""
    logs = {each.name: each for each in measured}
    table = Table(
        title,
        (
            Column("class", "name"),
            *(numbers("weight") if weights else ()),
            Column("SLO", "state"),
            Column("SLI", "name"),
            *(numbers("log") if logs else ()),
            *numbers("value", "target"),
            Column("99% interval", "name"),
            *numbers("flows"),
        ),
    )
    for k, each in enumerate(classes):
        for i, sli in enumerate(each.slis):
            first = i == 0
            name, *cells = _cells(sli)
            log = _of_log(logs[each.name], sli) if each.name in logs else "-"
            table.add(
                each.name if first else "",
                *([str(weights[k]) if first else ""] if weights else []),
                outcome(each) if first else "",
                name,
                *([log] if logs else []),
                *cells,
                count(sli.flows),
                ends=i == len(each.slis) - 1,
            )
    return table


def _cells(sli: Sli) -> tuple[str, str, str, str]:
    """Name, value, target, interval."""
    low, high = (sli_value(sli.attr, end) for end in sli.ci99)
    known = sli_value(sli.attr, sli.value) if sli.flows else "-"
    return sli.name, known, sli.compared, f"{low} to {high}" if sli.enough else "too few"


def _load(load: Load) -> list[Line]:
    """The load on the link."""
    each = ", ".join(f"{c.name} {c.wire:.3f}" for c in load.classes)
    if not each:
        return []
    text = f"load on the link: {load.payload:.3f} payload, {load.wire:.3f} on the wire"
    used = f", {load.used:.3f} of what is used" if load.used > load.wire else ""
    return [Line(f"{text}{used} ({each})")]


def warnings(found: Answer) -> list[Line]:
    """What to beware of."""
    return [Line(f"warning: {line}") for line in getattr(found, "warnings", ())]


def _cost(cost: Cost) -> str:
    return f"{count(cost.flows)} flows simulated in {cost.evaluations} runs, {seconds(cost.wall_s)}"
