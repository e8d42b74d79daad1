"""The theory bench: a slotted big switch, its policies, optima and worst cases.

Instances are mappings (or JSON, TOML or YAML files)::

    {"ingress_ports": 1, "egress_ports": 1, "flows": [
        {"packets": [1, 1, 4]},                    # the slot in which each packet arrives
        {"packets": [[3, 10], 7], "weight": 2},    # ten packets in slot 3
        {"arrival": 5, "size": 3, "every": 2}]}    # the short form

Slots are numbered from 1, ports from 0. A policy is a name (``"las"``) or a name with
parameters (``'pias{thresholds=[2, 4]}'``, ``'ga{policy="ideal"}'``), or a mapping with
``kind``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fctlab import _native, files
from fctlab.errors import SpecError
from fctlab.jobs import Told

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Metric: TypeAlias = Literal["fpt", "weighted_fpt"]
Method: TypeAlias = Literal["srpt", "sets", "states", "bounds", "milp", "lp"]
Policy: TypeAlias = "str | Mapping[str, Any]"
Instance: TypeAlias = "str | PathLike[str] | Mapping[str, Any]"

FIGURES = {f"figure-{i}": i for i in (1, 2, 3)}
"""Instances that have names."""
MOST_VARIABLES = 200_000
"""Of an integer or linear program."""


def ask(question: str, told: Told | None = None, **arguments: Any) -> Any:
    """Ask the engine.

    Args:
        question: its name.
        told: called again and again until it answers; what it raises ends it.
        arguments: of the question, plain values.

    Raises:
        SpecError: a mistake in the arguments.
    """
    return json.loads(_native.bigswitch(json.dumps({"ask": question, **arguments}), told))


def policies() -> list[dict[str, str]]:
    """Every policy, ``{"name", "description"}``."""
    found: list[dict[str, str]] = ask("policies")
    return found


def policy(text: Policy) -> dict[str, Any]:
    """A policy as a mapping, from ``"las"`` or ``"pias{thresholds=[2, 4]}"``.

    Raises:
        SpecError: it cannot be read.
    """
    if not isinstance(text, str):
        return dict(text)
    name, brace, inner = text.strip().partition("{")
    if brace and not inner.rstrip().endswith("}"):
        raise SpecError("policy", f"{text!r} has no closing brace")
    inner = inner.rstrip()[:-1].strip()
    comma = ", " if inner else ""
    try:
        table = json.loads(_native.parse(f"p = {{kind = '{name}'{comma}{inner}}}", "toml"))
    except SpecError as error:
        raise SpecError("policy", f"{text!r}: {error.message}") from None
    found: dict[str, Any] = table["p"]
    return found


def load(instance: Instance) -> dict[str, Any]:
    """Read and validate an instance; ``"figure-1"`` to ``"figure-3"`` are known by name.

    Raises:
        SpecError: a mistake in it, with its path.
    """
    if isinstance(instance, Mapping):
        value: Any = dict(instance)
    elif str(instance) in FIGURES:
        value = ask("figure", number=FIGURES[str(instance)])
    else:
        if Path(instance).suffix.lower() not in files.FORMATS:
            known = f"{', '.join(files.FORMATS)} file, nor {', '.join(FIGURES)}"
            raise SpecError(str(instance), f"is no {known}")
        value = files.read_tables(instance, files.INSTANCE)
    found: dict[str, Any] = ask("validate", instance=value)["instance"]
    return found


def names(instance: Mapping[str, Any]) -> list[str]:
    """What the flows are called."""
    return [flow.get("name", f"f{i}") for i, flow in enumerate(instance["flows"], 1)]


def run(instance: Mapping[str, Any], by: Policy, *, schedule: bool = False) -> dict[str, Any]:
    """Run a policy.

    Returns:
        ``ends`` (slot in which each flow ends), ``metrics`` (``fpt``, ``fct``, ``afct``,
        ``weighted_fpt``, in slots) and, if wanted, ``schedule``: stretches of slots
        ``{"slot", "slots", "flow"}`` in which a flow (from 0) sends.

    Raises:
        SpecError: a mistake in instance or policy.
    """
    found: dict[str, Any] = ask("run", instance=instance, policy=policy(by), schedule=schedule)
    return found


def optimum(
    instance: Mapping[str, Any],
    metric: Metric = "fpt",
    *,
    method: Method | None = None,
    schedule: bool = False,
) -> dict[str, Any]:
    """The least FPT there is, or a certified lower bound of it.

    Args:
        instance: see `load`.
        metric: what is minimised.
        method: instead of the first that applies of ``srpt``, ``sets``, ``states`` and
            ``bounds``; ``milp`` and ``lp`` are an integer program and its like in
            mean busy times, solved by HiGHS.
        schedule: also return a best schedule (not for ``bounds``, ``milp``, ``lp``).

    Returns:
        ``value``, ``label`` (``exact`` or ``lower-bound``) and ``method``.

    Raises:
        SpecError: a mistake in the instance, or the method does not apply.
    """
    if method in ("milp", "lp"):
        return _program(load(instance), metric, integer=method == "milp")
    found: dict[str, Any] = ask(
        "optimum", instance=instance, metric=metric, method=method, schedule=schedule
    )
    return found


def _program(instance: Mapping[str, Any], metric: Metric, *, integer: bool) -> dict[str, Any]:
    """Solves the instance with HiGHS.

    ``x[f, t]`` is what flow `f` sends in slot `t`. The integer program has ``y[f, t]``, whether
    it has ended by then, so that it ends in slot ``1 + sum(1 - y)``. The linear one has its end
    ``e[f]`` and knows that of ``l`` slots the last is at least their mean plus ``(l - 1) / 2``.
    """
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, linprog, milp
    from scipy.sparse import coo_array

    flows = [(f, *_arrivals(f)) for f in instance["flows"]]
    last = max(slots[-1] for _, slots, _ in flows)
    horizon = last + sum(size for *_, size in flows)
    if len(flows) * horizon * (1 + integer) > MOST_VARIABLES:
        raise SpecError("method", f"more than {MOST_VARIABLES:,} variables")
    weights = [f.get("weight", 1) if metric == "weighted_fpt" else 1 for f, *_ in flows]
    sends = len(flows) * horizon
    variables = sends + (sends if integer else len(flows))
    rows: list[tuple[list[int], list[float], float]] = []  # columns, factors, at most

    def x(f: int, t: int) -> int:
        return f * horizon + t - 1

    low, high = np.zeros(variables), np.ones(variables)
    cost, constant = np.zeros(variables), 0.0
    for f, (_, slots, size) in enumerate(flows):
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
    for side in ("ingress", "egress"):
        for port in {f.get(side, 0) for f, *_ in flows}:
            here = [i for i, (f, *_) in enumerate(flows) if f.get(side, 0) == port]
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
        return {"value": round(value), "label": "exact", "method": "milp"}
    # The optimum is an integer; what HiGHS may be off by is not rounded up.
    return {"value": math.ceil(value - 1e-6), "label": "lower-bound", "method": "lp"}


def _arrivals(flow: Mapping[str, Any]) -> tuple[list[int], int]:
    """The slot of each packet, and how many there are."""
    slots: list[int] = []
    for packet in flow["packets"]:
        slot, count = packet if isinstance(packet, list) else (packet, 1)
        slots += [slot] * count
    return slots, len(slots)


def ratios(
    instance: Mapping[str, Any], by: Iterable[Policy], metric: Metric = "fpt"
) -> dict[str, Any]:
    """What each policy costs compared with the optimum.

    Returns:
        ``optimum`` as `optimum` gives it, and ``policies``: ``{"policy", "value", "ratio"}``.
        Against a lower bound a ratio is an upper bound of the true one.
    """
    best = optimum(instance, metric)
    rows = []
    for each in by:
        value = run(instance, each)["metrics"][metric]
        rows.append({"policy": label(each), "value": value, "ratio": value / best["value"]})
    return {"metric": metric, "optimum": best, "policies": rows}


def random_ratios(
    by: Sequence[Policy],
    instances: int,
    *,
    metric: Metric = "fpt",
    seed: int = 1,
    told: Told | None = None,
    **shape: int | bool,
) -> dict[str, Any]:
    """The worst ratio of each policy to the exact optimum over random instances.

    Args:
        by: the policies.
        instances: how many.
        metric: what is compared.
        seed: of the instances.
        told: called again and again meanwhile; what it raises ends it.
        shape: ``ingress``, ``egress``, ``flows``, ``packets``, ``slots``, ``weight`` (the most
            of each) and ``gapless``.

    Returns:
        ``tried`` and ``policies``: ``{"policy", "worst", "mean", "proven", "violations",
        "instance"}``; ``violations`` counts instances above the proven ratio.
    """
    found: dict[str, Any] = ask(
        "random",
        told,
        shape=shape,
        policies=[policy(p) for p in by],
        metric=metric,
        instances=instances,
        seed=seed,
    )
    for text, row in zip(by, found["policies"], strict=True):
        row["policy"] = label(text)
    return found


GROWTH = (0.4, 0.6, 0.8, 1.0)
"""Sizes of instances, as a share of the largest, that a search goes through."""


def search(
    by: Policy,
    *,
    steps: int = 20_000,
    restarts: int = 2,
    metric: Metric = "fpt",
    objective: Literal["ratio", "residual-optimum"] = "ratio",
    seed: int = 1,
    told: Told | None = None,
    **shape: int | bool,
) -> dict[str, Any]:
    """Search for an instance on which a policy does badly, against the exact optimum.

    Simulated annealing, first of small instances, then of ever larger ones that start
    from the worst so far or from scratch.

    Args:
        by: the policy.
        steps: changes per annealing.
        restarts: annealings of each size and start.
        metric: what is compared.
        objective: ``"ratio"``, or for GA the second step in the proof of theorem 8.
        seed: of everything random.
        told: called again and again meanwhile; what it raises ends it.
        shape: see `random_ratios`; the last size.

    Returns:
        ``value`` (the ratio), ``instance``, ``tried``, ``proven``, ``violations``.

    Raises:
        SpecError: a mistake in any of these, with its path.
    """
    if restarts < 1:
        raise SpecError("restarts", f"{restarts} is not at least 1")
    whole = {"flows": 8, "packets": 240, "slots": 240, **shape}
    best: dict[str, Any] | None = None
    tried = violations = 0
    for i, share in enumerate(GROWTH):
        sizes = {k: whole[k] for k in ("flows", "packets", "slots")}
        scaled = {k: max(min(2, size), round(size * share)) for k, size in sizes.items()}
        for restart in range(restarts):
            for start in [None] if best is None else [None, best["instance"]]:
                found: dict[str, Any] = ask(
                    "search",
                    told,
                    shape={**whole, **scaled},
                    policy=policy(by),
                    metric=metric,
                    objective=objective,
                    steps=steps,
                    seed=seed * 1000 + i * 100 + restart,
                    start=start,
                )
                tried += found["tried"]
                violations += found["violations"]
                if best is None or found["value"] > best["value"]:
                    best = found
    assert best is not None
    return {**best, "policy": label(by), "tried": tried, "violations": violations}


def label(by: Policy) -> str:
    """A policy's name for people: ``"pias{thresholds=[2, 4]}"``."""
    if isinstance(by, str):
        return by
    inner = ", ".join(
        f"{key}={label(value) if isinstance(value, Mapping) else json.dumps(value)}"
        for key, value in by.items()
        if key != "kind"
    )
    return f"{by['kind']}{{{inner}}}" if inner else str(by["kind"])


# Figures like the paper's


def draw(
    instance: Mapping[str, Any], rows: Sequence[Policy], metric: Metric = "fpt", title: str = ""
) -> Figure:
    """Schedules of policies (``"opt"`` for an optimal one) as in the paper's figures 1-3.

    A rectangle marked `n` is a group of `n` packets of a flow; the bold number behind a
    flow's last packet is what it adds to the metric.

    Raises:
        SpecError: a mistake, or there is no exact optimum to draw.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    found = []
    for row in rows:
        if row == "opt":
            best = optimum(instance, metric, schedule=True)
            if best.get("schedule") is None:
                raise SpecError("opt", "the instance is too large for an exact optimum")
            found.append(("OPT", best))
        else:
            found.append((label(row).upper(), run(instance, row, schedule=True)))
    lanes = [flow.get("ingress", 0) for flow in instance["flows"]]
    used = sorted(set(lanes))
    last = max(max(schedule["ends"]) for _, schedule in found)
    height = 0.62
    drawing = Figure(
        figsize=(min(16, 2.5 + 0.42 * last), 1.3 + 0.62 * len(found) * len(used)),
        layout="constrained",
    )
    ax = drawing.subplots()
    colours = [f"C{i % 10}" for i in range(len(lanes))]
    for i, (_, schedule) in enumerate(found):
        for stretch in schedule["schedule"]:
            flow, begin = stretch["flow"], stretch["slot"]
            y = i * len(used) + used.index(lanes[flow])
            left, width = begin - 1, stretch["slots"]
            ax.barh(y, width, height, left, color=colours[flow], edgecolor="black", linewidth=0.6)
            ax.text(left + width / 2, y, str(width), ha="center", va="center", fontsize=8)
        for flow, end in enumerate(schedule["ends"]):
            weight = instance["flows"][flow].get("weight", 1) if metric == "weighted_fpt" else 1
            top = i * len(used) + used.index(lanes[flow]) - height / 2
            ax.text(
                end, top, f"+{end * weight}", ha="right", va="bottom", fontsize=8, weight="bold"
            )
    centres = [i * len(used) + (len(used) - 1) / 2 for i in range(len(found))]
    what = "FPT" if metric == "fpt" else "weighted FPT"
    ax.set_yticks(centres, [f"{name}\n{what} {s['metrics'][metric]}" for name, s in found])
    ax.set_ylim(len(found) * len(used) - 0.4, -0.85)
    ax.set_xlim(0, last)
    ax.set_xticks(range(0, last + 1, max(1, last // 20)))
    ax.set_xlabel("slot")
    ax.spines[["top", "right"]].set_visible(False)
    patches = [Patch(facecolor=c, edgecolor="black") for c in colours]
    if len(patches) <= 20:
        drawing.legend(patches, names(instance), loc="outside right center", frameon=False)
    if title:
        ax.set_title(title, loc="left", fontsize=10)
    return drawing
