"""What is tried of every theorem: random instances, searches, and constructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fctlab.jobs import Told, deaf
from fctlab.studies.framework import lab
from fctlab.studies.framework.asked import asked
from fctlab.studies.framework.lab import Settled
from fctlab.studies.framework.study import Mode
from fctlab.theory import bigswitch, proofs
from fctlab.theory.types import Metric


@dataclass(frozen=True)
class Scale:
    """How much is tried."""

    random: int
    """Instances per policy."""
    steps: int
    """Of an annealing."""
    restarts: int
    flows: int
    packets: int
    largest_n: int
    """Of theorem 1."""
    family: int
    """Flows of the families that show how tight a bound is."""
    ports: int
    """Random instances on several ports."""
    port_steps: int


SCALES: dict[Mode, Scale] = {
    "quick": Scale(20_000, 10_000, 1, 8, 240, 3, 300, 2_000, 1_000),
    "full": Scale(120_000, 20_000, 2, 10, 600, 4, 1_000, 20_000, 10_000),
}


class Lab(lab.Lab[Settled]):
    """What the study's claims are functions of; there are no cells."""

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode, Settled())
        self.scale = SCALES[mode]


SHAPES = (
    {"flows": 4, "packets": 8, "slots": 8},
    {"flows": 6, "packets": 40, "slots": 40},
    {"flows": 8, "packets": 160, "slots": 100},
)
"""Of random instances on one port, in equal shares: tiny, small, larger."""

BRR, LAS = "brr", "las"
ASRPT = {second: f'asrpt{{second="{second}"}}' for second in ("fifo", "brr", "las")}
WEIGHTED = "asrpt{weighted=true}"
IDEAL = 'ga{policy="ideal"}'
PIAS = ("pias{thresholds=[1]}", "pias{thresholds=[10, 100]}", "pias{thresholds=[2, 4, 8, 16]}")
EXAMPLES = ("fifo", "brr", "las", "srpt", "asrpt")
FAMILIES: dict[str, tuple[proofs.FamilyName, Metric]] = {
    BRR: ("crowd", "fpt"),
    LAS: ("equal", "fpt"),
    **{p: ("golden", "fpt") for p in ASRPT.values()},
    WEIGHTED: ("heavy", "weighted_fpt"),
}
"""The family in which a policy does worst, and the metric."""


@asked("random instances")
def at_random(policy: str, metric: Metric, mode: Mode, told: Told = deaf) -> dict[str, Any]:
    """The worst over random instances on one port."""
    scale = SCALES[mode]
    worst: dict[str, Any] = {"worst": 0.0, "violations": 0, "tried": 0}
    for i, shape in enumerate(SHAPES):
        found = bigswitch.random_ratios(
            [policy],
            scale.random // len(SHAPES),
            metric=metric,
            seed=i + 1,
            weight=1 if metric == "fpt" else 1000,
            told=told,
            **shape,
        )
        (row,) = found.policies
        worst["worst"] = max(worst["worst"], row.worst or 0.0)
        worst["violations"] += row.violations
        worst["tried"] += found.tried
    return worst


@asked("searches on one port")
def searched(policy: str, metric: Metric, mode: Mode, told: Told = deaf) -> dict[str, Any]:
    """The worst that the search finds on one port."""
    scale = SCALES[mode]
    found = bigswitch.search(
        policy,
        steps=scale.steps,
        restarts=scale.restarts,
        metric=metric,
        flows=scale.flows,
        packets=scale.packets,
        slots=scale.packets,
        weight=1 if metric == "fpt" else 1000,
        told=told,
    )
    return found.to_dict()


@asked("searches on several ports")
def on_ports(
    objective: str, gapless: bool, ports: int, mode: Mode, told: Told = deaf
) -> dict[str, Any]:
    """The worst that the search finds for GA(Ideal) on several ports."""
    scale = SCALES[mode]
    chosen: Any = objective
    found = bigswitch.search(
        IDEAL,
        steps=scale.port_steps,
        restarts=2,
        objective=chosen,
        ingress=ports,
        egress=ports,
        flows=6,
        packets=16,
        slots=14,
        gapless=gapless,
        told=told,
    )
    return found.to_dict()


@asked("steps of a proof")
def steps(mode: Mode, told: Told = deaf) -> list[dict[str, Any]]:
    """The steps of theorem 8's proof on random instances."""
    scale = SCALES[mode]
    found = []
    for ports in (1, 2, 3):
        for policy in ("ideal", "fifo", "las", "brr", "sjf"):
            row = proofs.theorem8(
                {"kind": "ga", "policy": policy},
                scale.ports // 5,
                seed=ports,
                told=told,
                ingress=ports,
                egress=ports,
                flows=5,
                packets=14,
                slots=12,
            )
            found.append(row.to_dict())
    return found


@asked("instances of theorem 1")
def theorem1(policy: str, n: int, told: Told = deaf) -> float:
    """The ratio in theorem 1's construction."""
    return proofs.theorem1(policy, n, stream=10, told=told).ratio


@asked("pairs of schedules")
def theorem2(mode: Mode, told: Told = deaf) -> dict[str, Any]:
    """How schedules rank in FPT and in FCT."""
    shape = {"ingress": 2, "egress": 2, "flows": 6, "packets": 40, "slots": 30, "weight": 5}
    return proofs.theorem2(SCALES[mode].random // 2, seed=1, told=told, **shape).to_dict()


@asked("instances of theorems 3 and 6")
def constructed(policy: str, n: int) -> float:
    """The ratio in the constructions of theorems 3 and 6."""
    found = proofs.against(policy, proofs.theorem6(n, policy))
    assert found.optimum.is_exact
    return found.value


@asked("families of instances")
def family(policy: str, n: int) -> float:
    """The ratio in the policy's family: to a schedule there is, so at least to the optimum."""
    name, metric = FAMILIES[policy]
    made = proofs.family(name, n)
    ranks = [0] * len(made.order)
    for rank, flow in enumerate(made.order):
        ranks[flow] = rank
    best = bigswitch.run(made.instance, {"kind": "fixed", "ranks": ranks})
    if name == "crowd":  # no gaps: SRPT is optimal
        best = bigswitch.run(made.instance, "srpt")
    return bigswitch.run(made.instance, policy).metrics.of(metric) / best.metrics.of(metric)
