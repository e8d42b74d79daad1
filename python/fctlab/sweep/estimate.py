"""What a sweep will cost, from short points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import mean
from typing import Any

from fctlab.jobs import deaf
from fctlab.results.simulation import simulated
from fctlab.sweep.question import asked
from fctlab.sweep.running import Plan

SHORT_FLOWS = 1000
"""Of a short point."""
MOST_SHORT = 6
"""Short points, spread over cells and schemes."""
BYTES_PER_POINT = 20_000
BYTES_PER_FLOW = 60
"""Of a flow in Parquet."""


@dataclass(frozen=True)
class Estimated:
    """What a sweep will cost.

    Attributes:
        cells: combinations of the axes.
        points: at first; with a rule (``until``) more may be wanted.
        most_points: at most, with ``max_seeds``.
        there: of `points`, those that need not be computed.
        cpu_hours: for what is missing of `points`, about.
        disk_bytes: for the same.
    """

    cells: int
    points: int
    most_points: int
    there: int
    cpu_hours: float
    disk_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


def estimate(plan: Plan, there: set[str]) -> Estimated:
    """Runs short points of some cells and schemes, and scales by the number of flows."""
    grid = plan.grid
    runs = list(plan.runs(range(len(grid.cells)), grid.seeds))
    missing = [run for run in runs if run.key not in there]
    groups = list(dict.fromkeys((run.cell, run.scheme) for run in missing))
    step = max(math.ceil(len(groups) / MOST_SHORT), 1)
    timed = {group: _cpu_s(plan, *group) for group in groups[::step]}
    per_point = mean(timed.values()) if timed else 0.0
    cpu_s = sum(timed.get((run.cell, run.scheme), per_point) for run in missing)
    flows = sum(plan.flows.get((run.cell, run.scheme), 0) for run in missing)
    kept = flows * BYTES_PER_FLOW if grid.keep == "flows" else 0
    groups_of = len(runs) // max(grid.seeds, 1)
    return Estimated(
        cells=len(grid.cells),
        points=len(runs),
        most_points=groups_of * grid.max_seeds if grid.until else len(runs),
        there=len(runs) - len(missing),
        cpu_hours=cpu_s / 3600,
        disk_bytes=len(missing) * BYTES_PER_POINT + kept,
    )


def _cpu_s(plan: Plan, cell: int, scheme: str | None) -> float:
    """CPU seconds of a whole point, from a short one with the same settings."""
    run = plan.run(cell, scheme, plan.first_seed)
    given = dict(run.wanted.job.input)
    if plan.grid.kind == "specification":
        return float(asked(given, deaf).times["cpu_s"])
    scenario = dict(given["scenario"])
    whole = plan.flows[cell, scheme]
    if "flows" not in scenario["traffic"] or whole <= SHORT_FLOWS:
        return float(simulated(given, deaf).times["cpu_s"])
    scenario["traffic"] = {**scenario["traffic"], "flows": SHORT_FLOWS}
    scenario["measure"] = {**scenario["measure"], "warmup": "0s"}
    short = simulated({**given, "scenario": scenario, "keep": "summary"}, deaf)
    return float(short.times["cpu_s"]) * whole / SHORT_FLOWS
