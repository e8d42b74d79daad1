"""What follows from the table for people who have to choose a scheme: computed, not written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fctlab.studies.crosscut.setting import (
    BASE,
    COMMODITY,
    DESCRIPTIONS,
    METRICS,
    SCHEMES,
    TRAFFICS,
    Lab,
    Scheme,
)
from fctlab.studies.framework import verdict
from fctlab.studies.framework.cells import Cell
from fctlab.studies.framework.loads import geometric_mean
from fctlab.studies.framework.runs import Results, Run
from fctlab.studies.framework.verdict import Estimate

# Whom the advice is for: schemes that can be had.
GROUPS: Mapping[str, tuple[Scheme, ...]] = {
    "Sizes unknown, switches as they are sold": tuple(
        s for s in SCHEMES if not s.sizes and s.switch in COMMODITY and "mismatched" not in s.name
    ),
    "Sizes unknown, any switch": tuple(
        s for s in SCHEMES if not s.sizes and "mismatched" not in s.name
    ),
    "Sizes known, switches as they are sold": tuple(
        s for s in SCHEMES if s.switch in COMMODITY and "mismatched" not in s.name
    ),
    "Sizes known, any switch": tuple(s for s in SCHEMES if "mismatched" not in s.name),
}
AIMS = {
    "small": "short flows on average",
    "tail": "short flows at p99",
    "all": "all flows on average",
    "queries": "queries",
}
COSTS = {"large": "large flows", "starved": "the longest starvation", "timeouts": "timeouts"}
NEAR = 1.1
"""How far from the best a scheme may be to be named beside it."""
CLEAR = 1.05
"""A scheme is said to be better in a setting when it is by so much, and the interval agrees."""


def relative(
    results: Results, lab: Lab, scheme: Scheme, base: Scheme, metric: str, only: Sequence[str] = ()
) -> Estimate | None:
    """Geometric mean over the settings of the metric under `scheme` over that under `base`."""
    of = METRICS[metric].above
    pairs: list[Cell] = []
    ours, theirs = lab.row(scheme), lab.row(base)
    for name in only or lab.columns:
        pairs += [ours[name], theirs[name]]

    def mean(*runs: Run) -> float:
        # A setting without such flows (no large one in a short run) says nothing.
        found = [(of(a), of(b)) for a, b in zip(runs[::2], runs[1::2], strict=True)]
        return geometric_mean([a / b for a, b in found if a > 0 and b > 0])

    ratios = results.measured(pairs, mean)
    return verdict.estimate(ratios)


@dataclass(frozen=True)
class _Ranked:
    """A scheme and how it stands against the base."""

    scheme: Scheme
    found: Estimate


def _ranked(
    results: Results, lab: Lab, group: Sequence[Scheme], metric: str, only: Sequence[str] = ()
) -> list[_Ranked]:
    """The best first."""
    found = [(s, relative(results, lab, s, BASE, metric, only)) for s in group]
    ranked = [_Ranked(s, e) for s, e in found if e is not None]
    return sorted(ranked, key=lambda each: each.found.point)


def change(found: Estimate | None) -> str:
    """``"-35% [-38%, -31%]"``, or ``"3.1x [2.9x, 3.4x]"`` where it is more than doubled."""
    if found is None:
        return "no value"

    def one(value: float) -> str:
        return f"{value - 1:+.0%}" if value < 2 else f"{value:.1f}x"

    return f"{one(found.point)} [{one(found.low)}, {one(found.high)}]"


def _alike(
    results: Results, lab: Lab, ranked: Sequence[_Ranked], metric: str, only: Sequence[str] = ()
) -> list[Scheme]:
    """Those that are near the best, and that the runs cannot tell from it."""
    best, *others = ranked
    alike = []
    for each in others:
        found = relative(results, lab, each.scheme, best.scheme, metric, only)
        if found is not None and found.low <= 1 and found.point <= NEAR:
            alike.append(each.scheme)
    return alike


def _needs(scheme: Scheme) -> str:
    sizes = "sizes at the start of a flow and " if scheme.sizes else ""
    tuned = f", {scheme.tuned}" if scheme.tuned != "nothing" else ""
    return f"needs {sizes}{scheme.switch}{tuned}"


def _names(schemes: Sequence[Scheme]) -> str:
    return ", ".join(scheme.name for scheme in schemes)


def sentences(results: Results, lab: Lab) -> list[str]:
    """One for each group and aim, and where a workload says otherwise."""
    found = []
    for group, schemes in GROUPS.items():
        by_best: dict[str, list[str]] = {}
        for metric, words in AIMS.items():
            ranked = _ranked(results, lab, schemes, metric)
            if not ranked:
                continue
            best = ranked[0]
            alike = _alike(results, lab, ranked, metric)
            also = f" (not told apart: {_names(alike)})" if alike else ""
            gain = f"{words} {change(best.found)}{also}{_exceptions(results, lab, ranked, metric)}"
            by_best.setdefault(best.scheme.name, []).append(gain)
        for name, gains in by_best.items():
            scheme = next(s for s in schemes if s.name == name)
            costs = "; ".join(
                f"{words} {change(relative(results, lab, scheme, BASE, metric))}"
                for metric, words in COSTS.items()
            )
            price = f" It costs: {costs}." if scheme is not BASE else ""
            found.append(
                f"{group}: {name} for {'; '.join(gains)}, against DCTCP.{price} It "
                f"{_needs(scheme)}."
            )
    return [*found, _mismatch(results, lab)]


def _exceptions(results: Results, lab: Lab, ranked: Sequence[_Ranked], metric: str) -> str:
    """Workloads for which another scheme of the group is clearly better than the best overall."""
    best, group = ranked[0].scheme, [each.scheme for each in ranked]
    others = []
    for workload in TRAFFICS:
        only = [name for name, (w, _) in lab.columns.items() if w == workload]
        first, *_ = _ranked(results, lab, group, metric, only) or [ranked[0]]
        if first.scheme is best:
            continue
        over = relative(results, lab, best, first.scheme, metric, only)
        if over is not None and over.point >= CLEAR and over.low > 1:
            others.append(f"{first.scheme.name} for {DESCRIPTIONS[workload]}")
    return f" (but {', '.join(others)})" if others else ""


def _mismatch(results: Results, lab: Lab) -> str:
    """What wrong thresholds cost."""
    right, wrong = (next(s for s in SCHEMES if s.name == n) for n in ("PIAS", "PIAS, mismatched"))
    costs = "; ".join(
        f"{words} {change(relative(results, lab, wrong, right, metric))}"
        for metric, words in AIMS.items()
    )
    return f"Thresholds of the wrong workload change what PIAS gives by: {costs}."
