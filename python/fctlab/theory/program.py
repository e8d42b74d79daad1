"""The optimum of the big switch by integer and linear programs."""

from __future__ import annotations

import math

from fctlab.errors import SpecError
from fctlab.theory.types import Instance, Metric, Optimum

MOST_VARIABLES = 200_000
"""Of a program."""


def solve(instance: Instance, metric: Metric, *, integer: bool) -> Optimum:
    """Solve an instance with HiGHS.

    ``x[f, t]`` is what flow `f` sends in slot `t`. The integer program has ``y[f, t]``, whether
    it has ended by then, so that it ends in slot ``1 + sum(1 - y)``. The linear one has its end
    ``e[f]`` and knows that of ``l`` slots the last is at least their mean plus ``(l - 1) / 2``.

    Args:
        instance: small: a variable for each flow and slot.
        metric: what is minimised.
        integer: the optimum, by an integer program; else a lower bound, by its like in mean busy
            times.

    Raises:
        SpecError: the program is too large, or HiGHS gives up.
    """
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp
    from scipy.sparse import coo_array

    flows = [flow.slots for flow in instance.flows]
    horizon = max(slots[-1] for slots in flows) + sum(map(len, flows))
    if len(flows) * horizon * (1 + integer) > MOST_VARIABLES:
        raise SpecError("method", f"more than {MOST_VARIABLES:,} variables")
    weights = [flow.weight_in(metric) for flow in instance.flows]
    sends = len(flows) * horizon
    variables = sends + (sends if integer else len(flows))
    rows: list[tuple[list[int], list[float], float]] = []  # columns, factors, at most

    def x(f: int, t: int) -> int:
        return f * horizon + t - 1

    low, high = np.zeros(variables), np.ones(variables)
    cost, constant = np.zeros(variables), 0.0
    for f, slots in enumerate(flows):
        size = len(slots)
        # No packet before it arrives, all by the horizon.
        for t in range(1, horizon + 1):
            arrived = sum(slot <= t for slot in slots)
            before = [x(f, s) for s in range(1, t + 1)]
            rows.append((before, [1.0] * t, arrived))
            if integer:
                rows.append(([*before, sends + x(f, t)], [-1.0] * t + [float(size)], 0))
        everything = [x(f, s) for s in range(1, horizon + 1)]
        rows.append((everything, [-1.0] * horizon, -size))
        if integer:
            for t in range(1, horizon + 1):
                cost[sends + x(f, t)] = -weights[f]
            constant += weights[f] * (1 + horizon)
        else:
            end = sends + f
            cost[end] = weights[f]
            low[end] = max(slot + size - 1 - j for j, slot in enumerate(slots))
            high[end] = horizon
            mean = [t / size for t in range(1, horizon + 1)]
            rows.append(([*everything, end], [*mean, -1.0], -(size - 1) / 2))
    ingress, egress = zip(*((f.ingress or 0, f.egress or 0) for f in instance.flows), strict=True)
    for side in (ingress, egress):
        for port in set(side):
            here = [f for f, at in enumerate(side) if at == port]
            rows += [([x(f, t) for f in here], [1.0] * len(here), 1) for t in range(1, horizon + 1)]
    entries = [(i, c, v) for i, (cs, vs, _) in enumerate(rows) for c, v in zip(cs, vs, strict=True)]
    at, columns, factors = zip(*entries, strict=True)
    matrix = coo_array((factors, (at, columns)), shape=(len(rows), variables)).tocsr()
    most = [bound for *_, bound in rows]
    if integer:
        done = milp(
            cost,
            integrality=np.ones(variables),
            bounds=Bounds(low, high),
            constraints=LinearConstraint(matrix, ub=most),
            options={"mip_rel_gap": 0.0},
        )
    else:
        bounds = list(zip(low, high, strict=True))
        done = linprog(cost, A_ub=matrix, b_ub=most, bounds=bounds, method="highs")
    if done.status != 0:
        raise SpecError("method", f"HiGHS gave up: {done.message}")
    value = done.fun + constant
    if integer:
        return Optimum(value=round(value), label="exact", method="milp")
    # The optimum is an integer; what HiGHS may be off by is not rounded up.
    return Optimum(value=math.ceil(value - 1e-6), label="lower-bound", method="lp")
