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
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from fctlab import _native, files
from fctlab.errors import SpecError
from fctlab.jobs import Told
from fctlab.theory import program
from fctlab.theory.types import (
    Instance,
    Method,
    Metric,
    Optimum,
    RandomRatios,
    Ratio,
    Ratios,
    Run,
    WorstCase,
)

Policy: TypeAlias = "str | Mapping[str, Any]"
InstanceLike: TypeAlias = "Instance | str | PathLike[str] | Mapping[str, Any]"
"""An instance: read, or a mapping, a file, or the name of a figure."""

FIGURES = {f"figure-{i}": i for i in (1, 2, 3)}
"""Instances that have names."""


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
    """Every policy, ``{"name", "description"}``, as `fctlab.catalog` has other parts."""
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


def load(instance: InstanceLike) -> Instance:
    """Read and validate an instance; ``"figure-1"`` to ``"figure-3"`` are known by name.

    Raises:
        SpecError: a mistake in it, with its path.
    """
    written = _written(instance)
    with files.located(None if isinstance(instance, Instance | Mapping) else instance):
        return Instance.read(ask("validate", instance=written)["instance"])


def _written(instance: InstanceLike) -> Any:
    """An instance as the engine takes it."""
    if isinstance(instance, Instance):
        return instance.to_dict()
    if isinstance(instance, Mapping):
        return dict(instance)
    if str(instance) in FIGURES:
        return ask("figure", number=FIGURES[str(instance)])
    if Path(instance).suffix.lower() not in files.FORMATS:
        known = f"{', '.join(files.FORMATS)} file, nor {', '.join(FIGURES)}"
        raise SpecError(str(instance), f"is no {known}")
    return files.read_tables(instance, files.INSTANCE)


def run(instance: InstanceLike, by: Policy, *, schedule: bool = False) -> Run:
    """Run a policy.

    Args:
        instance: see `load`.
        by: the policy.
        schedule: also say who sends when.

    Raises:
        SpecError: a mistake in instance or policy.
    """
    given = _written(instance)
    return Run.read(ask("run", instance=given, policy=policy(by), schedule=schedule))


def optimum(
    instance: InstanceLike,
    metric: Metric = "fpt",
    *,
    method: Method | None = None,
    schedule: bool = False,
) -> Optimum:
    """The least FPT there is, or a certified lower bound of it.

    Args:
        instance: see `load`.
        metric: what is minimised.
        method: instead of the first that applies of ``srpt``, ``sets``, ``states`` and
            ``bounds``; ``milp`` and ``lp`` are an integer program and its like in
            mean busy times, solved by HiGHS.
        schedule: also return a best schedule (not for ``bounds``, ``milp``, ``lp``).

    Raises:
        SpecError: a mistake in the instance, or the method does not apply.
    """
    if method in ("milp", "lp"):
        return program.solve(load(instance), metric, integer=method == "milp")
    given = _written(instance)
    found = ask("optimum", instance=given, metric=metric, method=method, schedule=schedule)
    return Optimum.read(found)


def ratios(instance: InstanceLike, by: Iterable[Policy], metric: Metric = "fpt") -> Ratios:
    """What each policy costs compared with the optimum.

    Args:
        instance: see `load`.
        by: the policies.
        metric: what is compared.

    Raises:
        SpecError: a mistake in instance or policy.
    """
    loaded = load(instance)
    best = optimum(loaded, metric)
    rows = []
    for each in by:
        value = run(loaded, each).metrics.of(metric)
        rows.append(Ratio(policy=label(each), value=value, ratio=value / best.value))
    return Ratios(metric=metric, optimum=best, policies=tuple(rows))


def random_ratios(
    by: Sequence[Policy],
    instances: int,
    *,
    metric: Metric = "fpt",
    seed: int = 1,
    told: Told | None = None,
    **shape: int | bool,
) -> RandomRatios:
    """The worst ratio of each policy to the exact optimum over random instances.

    Args:
        by: the policies.
        instances: how many.
        metric: what is compared.
        seed: of the instances.
        told: called again and again meanwhile; what it raises ends it.
        shape: ``ingress``, ``egress``, ``flows``, ``packets``, ``slots``, ``weight`` (the most
            of each) and ``gapless``.

    Raises:
        SpecError: a mistake in any of these, with its path.
    """
    found = ask(
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
    return RandomRatios.read(found)


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
) -> WorstCase:
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

    Raises:
        SpecError: a mistake in any of these, with its path.
    """
    if restarts < 1:
        raise SpecError("restarts", f"{restarts} is not at least 1")
    whole = {"flows": 8, "packets": 240, "slots": 240, **shape}
    best: WorstCase | None = None
    tried = violations = 0
    for i, share in enumerate(GROWTH):
        sizes = {k: whole[k] for k in ("flows", "packets", "slots")}
        scaled = {k: max(min(2, size), round(size * share)) for k, size in sizes.items()}
        for restart in range(restarts):
            for start in [None] if best is None else [None, best.instance.to_dict()]:
                answer = ask(
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
                found = WorstCase.read({**answer, "policy": label(by)})
                tried += found.tried
                violations += found.violations
                if best is None or found.value > best.value:
                    best = found
    assert best is not None
    return replace(best, tried=tried, violations=violations)


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
