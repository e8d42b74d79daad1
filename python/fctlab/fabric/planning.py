"""`plan`: one vector of weights for all tiers, and an own one only where that pays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from fctlab.errors import SpecError
from fctlab.fabric import (
    accuracy,
    judging,
    lengths,
    looking,
    screening,
    verifying,
    warming,
    weights,
    windows,
)
from fctlab.fabric.asked import Asked, load
from fctlab.fabric.search import Trials, Wanted, compass, loss
from fctlab.fabric.types import Candidate, ClassFound, FabricPlan, Verification
from fctlab.fabric.weights import Weights
from fctlab.fabric.windows import Windows
from fctlab.jobs import Told
from fctlab.scenario import ScenarioLike

BUDGET = 32
"""Runs of the fluid in a search."""
JUDGED = 2
"""Windows that weights are judged on, in multiples of those that candidates share."""
MOST_WINDOWS = 8
"""That candidates share: as many as it takes for enough flows of every SLI."""
MARGIN = 0.10
"""Fluid and packets may differ by so much of a value, or by as much as in the study."""


def plan(
    spec: ScenarioLike,
    *,
    sets: Iterable[str] = (),
    budget: int = BUDGET,
    verify: bool = True,
    count: int = verifying.WINDOWS,
    most_windows: int = verifying.MOST_WINDOWS,
    flows: int = lengths.FLOWS,
    told: Told | None = None,
) -> FabricPlan:
    """Find integer weights (1 to 100) that meet every SLO across the fabric.

    Candidates are equal weights, those of the scenario, and those of the one-link planner for the
    busiest link of each tier. A search goes on from the best of them. All have the same flows, on
    the fluid, and the largest loss of a class decides (swp, equation 1), the fluid's error
    included. A tier gets its own weights only where that lowers the loss by more than its interval.

    Args:
        spec: a scenario whose classes have SLIs, an SLO at least, and code points.
        sets: changes ``path=value``.
        budget: candidates that are tried.
        verify: on packets; without that nothing is advised.
        count: windows of packets, at first.
        most_windows: of packets while an SLO is undecided, unless `count` is more.
        flows: of every class in each window, of the fluid and of packets.
        told: called with (windows that are over, their flows).

    Raises:
        SpecError: a mistake; no class with an SLO, a class without code point, no weights.
    """
    looking.check(budget=budget, windows=count, most_windows=most_windows, flows=flows)
    asked = lengths.enough(load(spec, sets, weights=True), flows)
    if not any(each.slo for each in asked.classes):
        raise SpecError("traffic.classes", "no class has an SLO to plan for; write slo")
    now = weights.today(asked)
    asked = warming.settled(asked, told)
    errors = accuracy.errors(asked)
    base, own = _split(asked, now)
    today = weights.written(asked, base, own)
    first = windows.run(today, windows.seeds(asked, "search", 1), told)
    seeds = windows.seeds(asked, "search", _windows(asked, first))
    trials = Trials(asked, errors, seeds, budget, told)
    if len(seeds) == 1:
        trials.keep(("today", base, own), first)
    best, interval = _search(trials, base, own)
    made = weights.written(asked, best.weights, best.tiers)
    judged = windows.run(made, windows.seeds(made, "judge", JUDGED * len(seeds)), told)
    classes = judging.judge(made, judged, errors)
    verified = _verified(made, count, most_windows, flows, told) if verify else None
    margin = max([MARGIN, *(1 - each.low for each in errors), *(each.high - 1 for each in errors)])
    apart = None if verified is None else _apart(classes, verified.classes)
    advice, why = _advice(verified, apart, margin)
    sides = {"nic": best.weights} if "nic" in now else {}
    sides |= {side: best.weights for side in weights.tiers(asked).values()}
    runs = [*trials.runs.values(), judged]
    notes = [*asked.prepared.warnings, *lengths.too_short(made, judged)]
    if len(asked.traces) == 1:
        notes.append("the trace is one window: weights are judged on the flows they were chosen on")
    return FabricPlan(
        warnings=tuple(notes),
        name=asked.name,
        advice=advice,
        why=why,
        names=tuple(each.name for each in asked.classes),
        dscp=tuple(each.dscp for each in asked.classes),
        weights=best.weights,
        tiers=sides | best.tiers,
        candidates=tuple(trials.done),
        interval=interval,
        classes=classes,
        errors=errors,
        verified=verified,
        margin=margin,
        apart=apart,
        runs=windows.told_of(asked, (*trials.seeds, *judged.seeds), runs),
        scenario=made.tables,
    )


def _windows(asked: Asked, one: Windows) -> int:
    """How many windows it takes until enough flows stand behind every SLI that an SLO names.

    Args:
        asked: the scenario.
        one: such a window.
    """
    named = [sli for c in judging.judge(asked, one) for sli in c.slis if sli.targets]
    short = max(sli.flows_needed / max(sli.flows, 1) for sli in named)
    return min(MOST_WINDOWS, max(1, math.ceil(lengths.SPARE * short)))


def _search(trials: Trials, base: Weights, own: Mapping[str, Weights]) -> tuple[Candidate, float]:
    """The best candidate, and the interval of its loss.

    Args:
        trials: with the windows of all.
        base: today's weights at all tiers, and
        own: those of tiers that have others.
    """
    asked = trials.asked
    equal = (1,) * len(asked.classes)
    first: dict[str, Wanted] = {"equal": ("equal", equal, {}), "today": ("today", base, own)}
    for tier, each in screening.candidates(asked, trials.told):
        first[tier] = (f"link {tier}", each, {})
    tried = trials.all(first)
    # From one vector for all tiers, whatever there is today.
    shared = sorted((each for each in tried.values() if not each.tiers), key=loss)
    best = min([*(compass(trials, each) for each in shared[:1]), *tried.values()], key=loss)
    interval = _interval(judging.judge(asked, trials.run_of(best)))
    for tier in dict.fromkeys(weights.tiers(asked).values()):
        found = compass(trials, best, tier)
        if loss(found) < loss(best) - interval:
            best = found
    return best, interval


def _split(asked: Asked, now: dict[str, Weights]) -> tuple[Weights, dict[str, Weights]]:
    """Weights at all tiers, and those of tiers that have others."""
    base = now.get("port") or next(iter(now.values()))
    own = {
        asked.sides.get(name, name): each
        for place, each in now.items()
        for name in (place.removeprefix(weights.OWN),)
        if place != "port" and each != base
    }
    return base, own


def _interval(classes: Sequence[ClassFound]) -> float:
    """By how much the loss of the class that decides may be off (95%), as a share of its target."""
    with_slo = [each for each in classes if each.loss is not None]
    if not with_slo:
        return 0.0
    decides = max(with_slo, key=lambda each: each.loss or 0.0)
    widths = [0.0]
    for sli in decides.slis:
        low, high = sli.ci95
        for target in sli.targets:
            bound = target.below if target.above is None else target.above
            if bound and high is not None and low is not None:
                widths.append(max(high - sli.value, sli.value - low) / bound)
    return max(widths)


def _verified(
    made: Asked, count: int, most_windows: int, flows: int, told: Told | None
) -> Verification:
    from fctlab.scenario import Scenario

    packets = Asked(Scenario({**made.tables, "engine": "packet"}).resolve())
    return verifying.of(packets, count=count, most_windows=most_windows, flows=flows, told=told)


def _apart(fluid: Sequence[ClassFound], packets: Sequence[ClassFound]) -> float:
    """By how much packets are worse than the fluid says, at most, as a share of the value.

    What lies beyond packets' 95% intervals counts, of SLIs that an SLO names. Where packets are
    better than it says, the plan was too careful and what it says still holds.
    """
    found = [0.0]
    for one, other in zip(fluid, packets, strict=True):
        for sli, true in zip(one.slis, other.slis, strict=True):
            low, high = true.ci95
            for target in true.targets:
                if target.above is None:
                    beyond = (low or 0.0) - sli.value
                else:
                    beyond = 0.0 if high is None else sli.value - high
                if true.enough and true.value > 0:
                    found.append(beyond / true.value)
    return max(found)


def _advice(verified: Verification | None, apart: float | None, margin: float) -> tuple[bool, str]:
    if verified is None or apart is None:
        return False, "not verified on packets, so nothing is advised"
    if apart > margin:
        return False, (
            f"packets are {apart:.0%} worse than the fluid says, beyond their intervals, and more "
            f"than the margin of {margin:.0%}: nothing is advised"
        )
    if verified.verdict == "met":
        return True, "packets confirm that every SLO is met"
    if verified.verdict == "violated":
        return False, "packets say that an SLO is violated: no weights were found that meet all"
    windows = len(verified.windows)
    return False, f"packets leave it undecided, windows: {windows}; give more (--most-windows)"
