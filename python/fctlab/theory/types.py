"""What is found about the big switch.

Times (ends, FPT, FCT) are in slots, which are numbered from 1; sizes are in packets; flows and
ports are numbered from 0.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from fctlab.answers import Answer

Metric: TypeAlias = Literal["fpt", "weighted_fpt"]
Method: TypeAlias = Literal["srpt", "sets", "states", "bounds", "milp", "lp"]
Label: TypeAlias = Literal["exact", "lower-bound"]
Packets: TypeAlias = int | tuple[int, int]
"""The slot in which a packet arrives, or a slot and how many arrive in it."""


class Flow(Answer, frozen=True, kw_only=True):
    """A flow of an instance.

    Attributes:
        name: what people call it, if they do.
        ingress: the port at which it enters; ``None`` where the switch has one.
        egress: the port at which it leaves; ``None`` where the switch has one.
        weight: what a slot of its processing time costs.
        packets: when they arrive, in order.
    """

    name: str | None = None
    ingress: int | None = None
    egress: int | None = None
    weight: int = 1
    packets: tuple[Packets, ...]

    @property
    def slots(self) -> list[int]:
        """The slot in which each packet arrives."""
        found: list[int] = []
        for packet in self.packets:
            slot, count = packet if isinstance(packet, tuple) else (packet, 1)
            found += [slot] * count
        return found

    def weight_in(self, metric: Metric) -> int:
        """What a slot of its processing time costs in `metric`."""
        return self.weight if metric == "weighted_fpt" else 1


class Instance(Answer, frozen=True, kw_only=True):
    """Flows and the switch that they meet.

    Attributes:
        ingress_ports: how many ports flows enter at.
        egress_ports: how many ports flows leave at.
        flows: ties that FIFO leaves go to the first of them.
    """

    ingress_ports: int
    egress_ports: int
    flows: tuple[Flow, ...]

    @property
    def names(self) -> list[str]:
        """What the flows are called: ``f1``, ``f2``, ... unless they have a name."""
        return [f"f{i}" if f.name is None else f.name for i, f in enumerate(self.flows, 1)]


class Metrics(Answer, frozen=True, kw_only=True):
    """Totals over the flows of a schedule, in slots.

    Attributes:
        fpt: flow processing time, the sum of the slots in which flows end.
        fct: flow completion time, from each flow's arrival to its end, both slots included.
        afct: `fct` per flow.
        weighted_fpt: `fpt` with each flow times its weight.
    """

    fpt: int
    fct: int
    afct: float
    weighted_fpt: int

    def of(self, metric: Metric) -> int:
        """The value of `metric`, in slots."""
        return self.weighted_fpt if metric == "weighted_fpt" else self.fpt


class Stretch(Answer, frozen=True, kw_only=True):
    """Slots in a row in which a flow sends.

    Attributes:
        slot: the first of them.
        slots: how many.
        flow: its place in the instance, from 0.
    """

    slot: int
    slots: int
    flow: int


class Run(Answer, frozen=True, kw_only=True):
    """A policy on an instance.

    Attributes:
        ends: the slot in which each flow ends.
        metrics: of the schedule.
        packets: how many were sent.
        schedule: who sends when; ``None`` unless asked for.
        wall_s: time of day, in seconds.
    """

    ends: tuple[int, ...]
    metrics: Metrics
    packets: int
    schedule: tuple[Stretch, ...] | None
    wall_s: float


class Optimum(Answer, frozen=True, kw_only=True):
    """The least FPT, or weighted FPT, of an instance.

    Attributes:
        value: in slots.
        label: whether it is the optimum, or no more than the optimum.
        method: how it was found.
        ends: the slot in which each flow ends in a best schedule, if one was asked for and found.
        metrics: of that schedule.
        schedule: who sends when in it.
    """

    value: int
    label: Label
    method: Method
    ends: tuple[int, ...] | None = None
    metrics: Metrics | None = None
    schedule: tuple[Stretch, ...] | None = None

    @property
    def is_exact(self) -> bool:
        """Whether it is the optimum itself."""
        return self.label == "exact"


class Ratio(Answer, frozen=True, kw_only=True):
    """A policy against the optimum.

    Attributes:
        policy: as people write it.
        value: of the metric, in slots.
        ratio: over the optimum, or over a lower bound of it: then no less than the true one.
    """

    policy: str
    value: int
    ratio: float


class Ratios(Answer, frozen=True, kw_only=True):
    """Policies against the optimum of one instance.

    Attributes:
        metric: what is compared.
        optimum: the least there is.
        policies: in the order in which they were asked for.
    """

    metric: Metric
    optimum: Optimum
    policies: tuple[Ratio, ...]


class RandomRatio(Answer, frozen=True, kw_only=True):
    """A policy against the exact optimum of random instances.

    Attributes:
        worst: the largest ratio; ``None`` where no instance was small enough for the optimum.
        mean: over the instances; ``None`` as `worst`.
        proven: the bound that a theorem has for one port, if one has.
        violations: instances above it.
        instance: one with the largest ratio.
        policy: as people write it.
    """

    worst: float | None
    mean: float | None
    proven: int | None
    violations: int
    instance: Instance | None
    policy: str


class RandomRatios(Answer, frozen=True, kw_only=True):
    """Policies against the exact optimum of random instances.

    Attributes:
        tried: instances that were small enough for the optimum.
        policies: in the order in which they were asked for.
    """

    tried: int
    policies: tuple[RandomRatio, ...]


class WorstCase(Answer, frozen=True, kw_only=True):
    """The worst instance for a policy that a search found.

    Attributes:
        value: the ratio, or what else the search made large.
        instance: it.
        tried: instances that were looked at.
        proven: the bound that a theorem has for one port, if one has.
        violations: instances above it.
        policy: as people write it.
    """

    value: float
    instance: Instance
    tried: int
    proven: int | None
    violations: int
    policy: str


class Theorem1(Answer, frozen=True, kw_only=True):
    """What came of the construction of theorem 1.

    Attributes:
        n: flows that it fools the policy with.
        size: packets of each of them.
        packets: in all.
        policy_fct: FCT of the policy, in slots.
        feasible_fct: FCT of a schedule that there is, in slots; the optimum is no more.
        ratio: the first over the second.
        still_active: of the `n` flows, those that have not ended when the proof says so.
        instance: it, up to 100,000 flows.
    """

    n: int
    size: int
    packets: int
    policy_fct: int
    feasible_fct: int
    ratio: float
    still_active: int
    instance: Instance | None = None


class Theorem2(Answer, frozen=True, kw_only=True):
    """How schedules of random instances rank in FPT and in FCT.

    Attributes:
        instances: how many.
        pairs: of schedules that were compared.
        violations: schedules whose FPT is not their FCT plus what the proof says, and pairs that
            the two metrics rank differently.
    """

    instances: int
    pairs: int
    violations: int


class Extreme(Answer, frozen=True, kw_only=True):
    """The largest of what was found.

    Attributes:
        value: it.
        instance: that has it.
    """

    value: float
    instance: Instance


class Theorem8(Answer, frozen=True, kw_only=True):
    """The steps in the proof of theorem 8 on random instances.

    Attributes:
        tried: instances that were small enough for the optimum.
        different_schedules: those on which GA(A) sends another packet than A on the residual flows.
        violations: those whose residual flows have an optimum above three times theirs.
        residual_optimum: the optimum of the residual flows over that of the flows, at its largest;
            ``None`` without instances.
        ratio: the policy over the optimum, at its largest; ``None`` as before.
    """

    tried: int
    different_schedules: int
    violations: int
    residual_optimum: Extreme | None
    ratio: Extreme | None


class Family(Answer, frozen=True, kw_only=True):
    """An instance of a family on which a policy does badly.

    Attributes:
        instance: it.
        order: its flows in the order in which a good schedule ends them.
    """

    instance: Instance
    order: tuple[int, ...]


class Construction(Answer, frozen=True, kw_only=True):
    """A policy against the optimum of a proof's construction.

    Attributes:
        value: the ratio in FPT.
        optimum: the least FPT.
        instance: that was constructed.
    """

    value: float
    optimum: Optimum
    instance: Instance
