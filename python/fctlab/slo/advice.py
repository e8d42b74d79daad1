"""What follows from an answer for who runs the link, in sentences and commands."""

from __future__ import annotations

import itertools
from typing import Any

from fctlab.slo import words
from fctlab.slo.types import ClassPrediction, Plan, Prediction, Provision, Weighting, WhatIf


def after(found: Prediction | Plan | Provision | WhatIf, spec: str) -> list[str]:
    """What follows for who runs the link.

    Args:
        found: the answer.
        spec: file of its specification, for commands.
    """
    if isinstance(found, Plan):
        return _after_plan(found, spec)
    if isinstance(found, Provision):
        return _after_provision(found)
    if isinstance(found, WhatIf):
        return _after_whatif(found, spec)
    return _after_prediction(found, spec)


def _after_prediction(found: Prediction, spec: str) -> list[str]:
    judged = [each for each in found.classes if each.verdict is not None]
    lines = []
    if any(each.verdict == "violated" for each in judged):
        if found.spec["queue"]["kind"] in ("wrr", "drr", "wfq"):
            lines.append(f"Look for weights that meet every SLO: fctlab plan {spec}")
        lines.append(f"Look for the least link that does: {_least_link(found.spec, spec)}")
    lines += [_undecided(each) for each in judged if each.verdict == "undecided"]
    known = [each for each in judged if each.loss is not None and each.verdict == "met"]
    if known and len(known) == len(judged):
        tight = max(known, key=lambda each: each.loss or 0.0)
        spare = f"{-(tight.loss or 0.0):.0%}"
        lines.append(f"The tightest is {tight.name}, with {spare} of its threshold to spare.")
        asked = [each for each in found.spec["classes"] if each["name"] == tight.name]
        if key := next((key for key in ("load", "rate") for each in asked if key in each), None):
            path = f"classes.{tight.name}.{key}=+10%"
            lines.append(f"Ask what more load would do: fctlab predict {spec} --set {path}")
    return lines


def _undecided(each: ClassPrediction) -> str:
    return f"{each.name} is undecided: {each.why}. Let it run more flows: --most-flows."


def _least_link(spec: dict[str, Any], file: str) -> str:
    """The command that finds a link that is fast enough.

    A trace that ends is no load that `provision` could find a link for.
    """
    if all("trace" not in each or "repeat" in each for each in spec["classes"]):
        return f"fctlab provision {file}"
    rate = words.link_bps(spec) / 1e9
    links = ",".join(f"{rate * times:g}Gbps" for times in (1, 1.5, 2, 4))
    return f"fctlab whatif {file} --vary network.link={links}"


def _after_plan(found: Plan, spec: str) -> list[str]:
    made, lines = found.plan, []
    if made.success:
        pairs = zip(made.classes, made.weights, strict=True)
        weights = ", ".join(f"{each.name} {weight}" for each, weight in pairs)
        lines.append(f"Set the weights of the link's queues: {weights}. Only their ratios count.")
    lines += [_undecided(each) for each in made.classes if each.verdict == "undecided"]
    if made.success:
        lines.append(f"The tightest is {made.binding}{words.margin(made)}.")
        return lines + _first_to_break(made)
    lines.append(f"Look for the least link with which weights do: {_least_link(found.spec, spec)}")
    lines.append(f"Or make the SLO of {made.binding} laxer, or its load lower: it is the worst.")
    return lines


def _first_to_break(made: Weighting) -> list[str]:
    """The forecast whose error would do most harm."""
    if not made.off_forecast:
        return []
    first = made.off_forecast[0]
    if first.worst_loss is None and not first.cut_short:
        return [f"Watch the forecasts: {words.off(first)} would overload the link."]
    if not first.broken:
        return ["No forecast of a load or sigma that is off by 20% would break an SLO."]
    return [f"Watch the forecasts: {words.off(first)} would break {', '.join(first.broken)}."]


def _after_provision(found: Provision) -> list[str]:
    known = [each for each in found.strategies if each.capacity_bps is not None]
    if not known:
        return ["No strategy meets every SLO, on however fast a link: make SLOs laxer."]
    least = min(known, key=lambda each: each.capacity_bps or 0.0)
    how = words.STRATEGIES[least.strategy]
    lines = [f"The least link is {words.gbps(least.capacity_bps)}: {how}."]
    _, high = least.capacity_ci95
    if high is None:
        lines.append(
            "How fast a link is surely enough is not known: ask with a larger --precision."
        )
    else:
        lines.append(
            f"From {words.gbps(high)} on it is surely enough: every SLO is met within its interval."
        )
    return lines


def _after_whatif(found: WhatIf, spec: str) -> list[str]:
    """Between which values it matters."""
    if len(found.paths) > 1:
        return []
    points = sorted(found.points, key=lambda point: point.at)
    lines = []
    for one, other in itertools.pairwise(points):
        for before, after in zip(one.classes, other.classes, strict=True):
            if {before.verdict, after.verdict} == {"met", "violated"}:
                turns = f"from {before.verdict} to {after.verdict}"
                between = f"Between {one.at[0]:g} and {other.at[0]:g} of {found.paths[0]}"
                lines.append(f"{between} the SLO of {before.name} turns {turns}.")
    path, _, unit = found.paths[0].partition(" (")
    violated = next((p for p in points if "violated" in {c.verdict for c in p.classes}), None)
    if violated is not None:
        value = f"{violated.at[0]:g}{unit.removesuffix(')')}"
        lines.append(
            f"Look for weights where one is violated: fctlab plan {spec} --set {path}={value}"
        )
    return lines
