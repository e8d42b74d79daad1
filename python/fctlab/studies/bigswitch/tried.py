"""What is tried of every theorem: random instances, searches, and constructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fctlab.jobs import Told, deaf
from fctlab.studies.framework import lab
from fctlab.studies.framework.asked import asked
from fctlab.studies.framework.lab import Settled
from fctlab.studies.framework.study import Mode
from fctlab.theory import bigswitch


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
FAMILIES = {
    BRR: ("crowd", "fpt"),
    LAS: ("equal", "fpt"),
    **{p: ("golden", "fpt") for p in ASRPT.values()},
    WEIGHTED: ("heavy", "weighted_fpt"),
}
"""The family in which a policy does worst, and the metric."""


@asked("random instances")
def at_random(
    policy: str, metric: bigswitch.Metric, mode: Mode, told: Told = deaf
) -> dict[str, Any]:
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
        row = found["policies"][0]
        worst["worst"] = max(worst["worst"], row["worst"])
        worst["violations"] += row["violations"]
        worst["tried"] += found["tried"]
    return worst


@asked("searches on one port")
def searched(
    policy: str, metric: bigswitch.Metric, mode: Mode, told: Told = deaf
) -> dict[str, Any]:
    """The worst that the search finds on one port."""
    scale = SCALES[mode]
    return bigswitch.search(
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


@asked("searches on several ports")
def on_ports(
    objective: str, gapless: bool, ports: int, mode: Mode, told: Told = deaf
) -> dict[str, Any]:
    """The worst that the search finds for GA(Ideal) on several ports."""
    scale = SCALES[mode]
    chosen: Any = objective
    return bigswitch.search(
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


@asked("steps of a proof")
def steps(mode: Mode, told: Told = deaf) -> list[dict[str, Any]]:
    """The steps of theorem 8's proof on random instances."""
    scale = SCALES[mode]
    found = []
    for ports in (1, 2, 3):
        for policy in ("ideal", "fifo", "las", "brr", "sjf"):
            row: dict[str, Any] = bigswitch.ask(
                "theorem8",
                told,
                shape={"ingress": ports, "egress": ports, "flows": 5, "packets": 14, "slots": 12},
                policy={"kind": "ga", "policy": policy},
                instances=scale.ports // 5,
                seed=ports,
            )
            found.append(row)
    return found


@asked("instances of theorem 1")
def theorem1(policy: str, n: int, told: Told = deaf) -> float:
    """The ratio in theorem 1's construction."""
    found = bigswitch.ask("theorem1", told, policy=bigswitch.policy(policy), n=n, stream=10)
    return float(found["ratio"])


@asked("pairs of schedules")
def theorem2(mode: Mode, told: Told = deaf) -> dict[str, Any]:
    """How schedules rank in FPT and in FCT."""
    shape = {"ingress": 2, "egress": 2, "flows": 6, "packets": 40, "slots": 30, "weight": 5}
    found: dict[str, Any] = bigswitch.ask(
        "theorem2", told, shape=shape, instances=SCALES[mode].random // 2, seed=1
    )
    return found


@asked("instances of theorems 3 and 6")
def constructed(policy: str, n: int) -> float:
    """The ratio in the constructions of theorems 3 and 6."""
    thresholds = bigswitch.policy(policy).get("thresholds", [1])
    instance = bigswitch.ask("theorem6", n=n, factor=8, thresholds=thresholds)
    found = bigswitch.ratios(instance, [policy])
    assert found["optimum"]["label"] == "exact"
    return float(found["policies"][0]["ratio"])


@asked("families of instances")
def family(policy: str, n: int) -> float:
    """The ratio in the policy's family: to a schedule there is, so at least to the optimum."""
    family, metric = FAMILIES[policy]
    made = bigswitch.ask("family", family=family, n=n)
    ranks = [0] * len(made["order"])
    for rank, flow in enumerate(made["order"]):
        ranks[flow] = rank
    instance = made["instance"]
    best = bigswitch.run(instance, {"kind": "fixed", "ranks": ranks})["metrics"][metric]
    if family == "crowd":  # no gaps: SRPT is optimal
        best = bigswitch.run(instance, "srpt")["metrics"][metric]
    return float(bigswitch.run(instance, policy)["metrics"][metric] / best)
