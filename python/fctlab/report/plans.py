"""Pages of predictions, plans and provisions: the verdict first, then what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fctlab.report.charts import Axis, Chart, Choice, Series, rounded
from fctlab.report.page import Headline, Page, Section
from fctlab.results import kinds
from fctlab.slo import advice, saved, words
from fctlab.slo.types import (
    ClassPrediction,
    Load,
    Plan,
    Prediction,
    Provision,
    Sli,
    Target,
    Verdict,
    Weighting,
)
from fctlab.tables import Column, Table, numbers

STATE = "state"
"""The key that tells points apart: a verdict."""
SHARE = Axis("share of its threshold", log=True, centre=1)


def of_prediction(directory: Path) -> Page:
    """The page of a prediction."""
    found = saved.read(Prediction, directory)
    engines = {"model": "functional model", "packet": "packet by packet"}
    return Page(
        title=found.spec["name"] or directory.resolve().name,
        kind="prediction: are the SLOs met?",
        headlines=headlines(words.verdicts(found.classes)),
        advice=advice.after(found, str(directory / kinds.SPECIFICATION)),
        facts=[*facts(found.spec, found.load), ("engine", engines[found.engine])],
        command=_command("predict", directory),
        warnings=found.warnings,
        sections=[
            Section("How close", charts=_standing(found.classes)),
            Section("SLOs", words.prediction(found)),
        ],
    )


def of_plan(directory: Path) -> Page:
    """The page of a plan."""
    found = saved.read(Plan, directory)
    made = found.plan
    return Page(
        title=found.spec["name"] or directory.resolve().name,
        kind="plan: weights that meet every SLO",
        headlines=headlines(words.verdicts(made.classes)),
        advice=advice.after(found, str(directory / kinds.SPECIFICATION)),
        facts=facts(found.spec, found.load),
        command=_command("plan", directory),
        warnings=found.warnings,
        sections=[
            Section("Weights", [_weights(made)]),
            Section("How close", charts=_standing(made.classes)),
            *([Section("If a forecast is off", charts=[_off(made)])] if made.off_forecast else []),
            Section("SLOs with these weights", words.plan(found, verbose=False)),
            Section("How the weights were found", words.search(found)),
        ],
    )


def of_provision(directory: Path) -> Page:
    """The page of a provision."""
    found = saved.read(Provision, directory)
    return Page(
        title=found.spec["name"] or directory.resolve().name,
        kind="provision: the least link that meets every SLO",
        headlines=headlines(words.links(found)),
        advice=advice.after(found, str(directory / kinds.SPECIFICATION)),
        facts=facts(found.spec),
        command=_command("provision", directory),
        warnings=found.warnings,
        sections=[
            Section("Least link", charts=_capacities(found)),
            Section("Results", words.provision(found)),
        ],
    )


def headlines(told: Iterable[words.Told]) -> list[Headline]:
    """Verdicts at the top of a page."""
    return [Headline(each.verdict, each.text) for each in told]


def _command(name: str, directory: Path) -> str:
    return f"fctlab {name} {directory / kinds.SPECIFICATION}"


def facts(spec: dict[str, Any], load: Load | None = None) -> list[tuple[str, str]]:
    """What a specification is about."""
    network, queue, cc = spec["network"], spec["queue"], spec["cc"]
    inside = f", {queue['inside']} inside each class" if "inside" in queue else ""
    return [
        ("link", f"{network['link']}, round trip {network['rtt']}"),
        ("queue", queue["kind"] + inside),
        ("congestion control", f"law {cc['law']}, as the scheme {cc['scheme']}"),
        *((f"SLO of {each['name']}", each["slo"]) for each in spec["classes"] if each.get("slo")),
        *([("load", f"{load.wire:.1%} of the link")] if load and load.classes else []),
    ]


def _standing(classes: Sequence[ClassPrediction]) -> list[Chart]:
    """Every SLI that an SLO names, as a share of its threshold; nothing without any."""
    points: dict[str, list[tuple[str, Sli, Target]]] = {}
    order = []
    for each in classes:
        for sli in each.slis:
            for target in sli.targets:
                told = words.target(sli.attr, target)
                order.append(f"{each.name} {sli.name} {told}")
                if sli.flows and each.verdict is not None:
                    points.setdefault(each.verdict, []).append((order[-1], sli, target))
    if not points:
        return []
    return [
        _dots(
            "standing",
            "SLIs beside their thresholds",
            "At 1 an SLI is at its threshold, to the left of it within. Colours are verdicts on "
            "whole SLOs. Bars are 99% intervals; without one, too few flows stand behind it.",
            Axis("SLI", words=True, states=order),
            SHARE,
            [_shares(verdict, points[verdict]) for verdict in words.VERDICTS if verdict in points],
        )
    ]


def _shares(verdict: Verdict, points: Sequence[tuple[str, Sli, Target]]) -> Series:
    rows = []
    for _, sli, target in points:
        low, high = sli.ci99 if sli.enough else (None, None)
        if target.below is not None:
            rows.append([_over(v, target.below) for v in (sli.value, low, high)])
        else:
            rows.append([_over(target.above, v) for v in (sli.value, high, low)])
    value, low_, high_ = (rounded(column) for column in zip(*rows, strict=True))
    notes = [words.standing(sli) for _, sli, _ in points]
    return Series({STATE: verdict}, [name for name, *_ in points], value, low_, high_, notes=notes)


def _over(value: float | None, bound: float | None) -> float | None:
    return value / bound if value and bound else None


def _dots(
    name: str, title: str, caption: str, things: Axis, values: Axis, series: Sequence[Series]
) -> Chart:
    """Values of things, in the colours of their verdicts."""
    options = [(each.keys[STATE], each.keys[STATE]) for each in series]
    choices = [Choice(STATE, "SLO", options, several=True)]
    return Chart(name, title, caption, "dots", things, values, series, lines=STATE, choices=choices)


def _weights(made: Weighting) -> Table:
    table = Table(
        "",
        (Column("class", "name"), *numbers("weight", "share of weights", "share it needs alone")),
    )
    rows = zip(made.classes, made.weights, made.baselines, strict=True)
    for each, weight, need in rows:
        share = f"{weight / sum(made.weights):.1%}"
        table.add(each.name, str(weight), share, "-" if need is None else f"{need:.1%}")
    return table


def _off(made: Weighting) -> Chart:
    """What forecasts that are off would do."""
    rows: dict[Verdict, list[Any]] = {}
    for row in made.off_forecast:
        bad = bool(row.broken) or row.worst_loss is None
        rows.setdefault("undecided" if row.cut_short else "violated" if bad else "met", []).append(
            row
        )
    series = [
        Series(
            {STATE: verdict},
            [words.off(row) for row in rows[verdict]],
            rounded(row.worst_loss for row in rows[verdict]),
            notes=[
                row.cut_short or f"broken: {', '.join(row.broken) or 'none'}"
                for row in rows[verdict]
            ],
        )
        for verdict in words.VERDICTS
        if verdict in rows
    ]
    return _dots(
        "off",
        "The worst SLO where a forecast is off",
        "By how much of its threshold the worst SLI is beyond it; to the left of 0 every SLO still "
        "holds. Where nothing is drawn the link is overloaded.",
        Axis("forecast", words=True, states=[words.off(row) for row in made.off_forecast]),
        Axis("loss of the worst class", centre=0),
        series,
    )


def _capacities(found: Provision) -> list[Chart]:
    """The least rate of each strategy, beside the link of the specification."""
    link = words.link_bps(found.spec)
    rows: dict[Verdict, list[Any]] = {}
    for row in found.strategies:
        if row.capacity_bps is not None:
            rows.setdefault(words.enough(row, link), []).append(row)
    series = [
        Series(
            {STATE: verdict},
            [row.strategy for row in rows[verdict]],
            rounded(row.capacity_bps for row in rows[verdict]),
            rounded(row.capacity_ci95[0] for row in rows[verdict]),
            rounded(row.capacity_ci95[1] for row in rows[verdict]),
            notes=[words.STRATEGIES[row.strategy] for row in rows[verdict]],
            marks=[link],
        )
        for verdict in words.VERDICTS
        if verdict in rows
    ]
    if not series:
        return []
    return [
        _dots(
            "least",
            "The least link of each strategy",
            f"Dashed: the specification's link, {found.spec['network']['link']}. Bars go from "
            "where an SLO is surely violated to where all are surely met, as far as is known.",
            Axis("strategy", words=True, states=[row.strategy for row in found.strategies]),
            Axis("link rate", "bps", log=True),
            series,
        )
    ]
