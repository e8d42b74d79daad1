"""What is found about SLOs of a whole fabric.

Times are in seconds, rates in bits per second, loads and shares of one, unless a name says more.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from fctlab.answers import Answer
from fctlab.slo.types import ClassPrediction, Measured, Verdict

Engine: TypeAlias = Literal["fluid", "packet"]
NotRun: TypeAlias = Literal["overloaded", "cut off", "refused"]


class ClassFound(ClassPrediction, frozen=True, kw_only=True):
    """A traffic class across the fabric.

    Attributes:
        worst_loss: `loss` at the worse end of what the engine's values may be off by; ``None``
            without an SLO, or without a value.
    """

    worst_loss: float | None


class Rack(Answer, frozen=True, kw_only=True):
    """The same classes, of flows that start or end in one rack.

    Attributes:
        name: of the rack.
        classes: in the order of the scenario.
    """

    name: str
    classes: tuple[ClassFound, ...]


class Pair(Answer, frozen=True, kw_only=True):
    """Slowdowns of a class from one rack to another.

    Attributes:
        source: name of the rack in which they start.
        destination: name of the rack in which they end.
        traffic_class: the class.
        flows: how many.
        mean: of their slowdowns.
        p50: median of their slowdowns.
        p99: nearest rank; ``None`` with less than 1,000 flows.
    """

    source: str
    destination: str
    traffic_class: str
    flows: int
    mean: float
    p50: float
    p99: float | None


class Tier(Answer, frozen=True, kw_only=True):
    """The links between two layers in one direction.

    Attributes:
        name: such as ``leaf -> spine``.
        ports: what its ports are called in a scenario, such as ``leaf-up``.
        link: the busiest one, as expected.
        load: of that link, as expected.
        share: of all waiting at ports of switches, that at this tier's; ``None`` where nobody
            counted it (packets).
    """

    name: str
    ports: str
    link: str
    load: float
    share: float | None


class LinkWait(Answer, frozen=True, kw_only=True):
    """Waiting at the tail of one link.

    Attributes:
        link: such as ``leaf 0 -> spine 1``.
        tier: of the link.
        share: of all waiting (bytes times seconds) at ports of switches.
    """

    link: str
    tier: str
    share: float


class Error(Answer, frozen=True, kw_only=True):
    """How far the fluid's value of an SLI may be from that of packets.

    Attributes:
        traffic_class: the class.
        sli: its name.
        low: the least that the fluid's value was, over that of packets.
        high: the most.
        open: why the study says nothing of it; empty where it does.
    """

    traffic_class: str
    sli: str
    low: float
    high: float
    open: str


class Runs(Answer, frozen=True, kw_only=True):
    """What was simulated.

    Attributes:
        engine: ``"fluid"`` or ``"packet"``.
        seeds: of the windows, each the scenario as it is under a seed.
        flows: that were measured, of all windows.
        warmup_s: flows that start so early in a window are not measured.
        warmup_found: whether that was found, since the scenario gives none.
        cpu_s: that they took.
    """

    engine: Engine
    seeds: tuple[int, ...]
    flows: int
    warmup_s: float
    warmup_found: bool
    cpu_s: float


class Verification(Answer, frozen=True, kw_only=True):
    """Classes on packets, in windows that nothing else has seen.

    Attributes:
        verdict: the worst of all classes; ``None`` where none has an SLO.
        classes: of all windows together.
        windows: the largest loss of a class in each window alone; ``None`` without a value.
        least_flows: of the class with the fewest, in the window with the fewest.
        runs: what was simulated.
        warnings: lines.
    """

    shown_by: ClassVar[str] = "fctlab.fabric.words:verification"

    verdict: Verdict | None
    classes: tuple[ClassFound, ...]
    windows: tuple[float | None, ...]
    least_flows: int
    runs: Runs
    warnings: tuple[str, ...]


class FabricPrediction(Answer, frozen=True, kw_only=True):
    """Every SLI of every class, and whether SLOs are met: fabric-wide and per rack.

    Attributes:
        warnings: lines.
        name: of the scenario.
        classes: fabric-wide.
        racks: of flows that start or end there.
        pairs: of racks.
        tiers: with what waits there.
        links: at which most waits, the first first.
        errors: of the fluid, as measured; none of packets.
        runs: what was simulated.
        verified: the same on packets, where that was asked for and something was undecided.
        measured: what the log says of the same flows, where it has their ends.
    """

    shown_by: ClassVar[str] = "fctlab.fabric.words:prediction"

    warnings: tuple[str, ...]
    name: str
    classes: tuple[ClassFound, ...]
    racks: tuple[Rack, ...]
    pairs: tuple[Pair, ...]
    tiers: tuple[Tier, ...]
    links: tuple[LinkWait, ...]
    errors: tuple[Error, ...]
    runs: Runs
    verified: Verification | None = None
    measured: tuple[Measured, ...] = ()


class Candidate(Answer, frozen=True, kw_only=True):
    """Weights, and what they achieve on the flows that all candidates have.

    Attributes:
        name: where they are from: ``equal``, ``today``, ``link TIER``, ``search``, ``own TIER``.
        weights: of each class, 1 to 100, at all tiers.
        tiers: where a tier has its own, these, by what its ports are called.
        loss: the largest loss of a class, the fluid's error included; ``None`` without a value.
    """

    name: str
    weights: tuple[int, ...]
    tiers: dict[str, tuple[int, ...]]
    loss: float | None


class FabricPlan(Answer, frozen=True, kw_only=True):
    """Weights for all ports of a fabric.

    Attributes:
        warnings: lines.
        name: of the scenario.
        advice: whether these weights are advised.
        why: in a sentence.
        names: of the classes.
        dscp: of each class.
        weights: of each class, 1 to 100, at all tiers.
        tiers: what ports with weights are called, and the weights there.
        candidates: all that were tried, in order.
        interval: of the loss: by so much two weights have to differ to be told apart.
        classes: as judged on the fluid with these weights, on flows that they were not chosen on.
        errors: of the fluid, as measured.
        verified: the same on packets.
        margin: packets may be worse than the fluid says by so much of a value.
        apart: by how much they were at most, beyond their intervals.
        runs: of the search.
        scenario: with the weights.
    """

    shown_by: ClassVar[str] = "fctlab.fabric.words:plan"

    warnings: tuple[str, ...]
    name: str
    advice: bool
    why: str
    names: tuple[str, ...]
    dscp: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]
    tiers: dict[str, tuple[int, ...]]
    candidates: tuple[Candidate, ...]
    interval: float
    classes: tuple[ClassFound, ...]
    errors: tuple[Error, ...]
    verified: Verification | None
    margin: float
    apart: float | None
    runs: Runs
    scenario: dict[str, Any]


class Case(Answer, frozen=True, kw_only=True):
    """One thing that is other than the scenario says.

    Attributes:
        what: in words.
        sets: keys that differ, as ``--set`` takes them.
        verdict: the worst of all classes; ``None`` where the case cannot be run.
        loss: the largest of all classes; ``None`` where there is none.
        broken: classes whose SLO is violated.
        classes: all of them; none where the case cannot be run.
        not_run: why it cannot be run: a link is offered more than it carries, hosts are cut off, or
            fctlab refuses it; ``None`` where it was.
        why: the same in words: which link, which host.
    """

    what: str
    sets: tuple[str, ...]
    verdict: Verdict | None
    loss: float | None
    broken: tuple[str, ...]
    classes: tuple[ClassFound, ...]
    not_run: NotRun | None
    why: str


class FabricWhatIf(Answer, frozen=True, kw_only=True):
    """What breaks first.

    Attributes:
        warnings: lines.
        name: of the scenario.
        today: the scenario as it is.
        cases: what breaks most first.
        runs: what was simulated.
    """

    shown_by: ClassVar[str] = "fctlab.fabric.words:whatif"

    warnings: tuple[str, ...]
    name: str
    today: Case
    cases: tuple[Case, ...]
    runs: Runs


class ImportedWindow(Answer, frozen=True, kw_only=True):
    """A window of a log.

    Attributes:
        pick: why it was taken: ``busiest``, ``median`` or ``random``.
        file: its flows, as a trace.
        begin_s: from the log's first flow on.
        length_s: of the window.
        flows: those that were not recorded included.
        under_way: of these, those that go on from before it with what is left of them.
        bytes: of these flows.
    """

    pick: str
    file: str
    begin_s: float
    length_s: float
    flows: int
    under_way: int
    bytes: float


class ImportedClass(Answer, frozen=True, kw_only=True):
    """A class of a log.

    Attributes:
        name: of the scenario's class.
        records: in the log.
        flows: that they stand for.
        share_of_bytes: of all flows that records stand for.
    """

    name: str
    records: int
    flows: int
    share_of_bytes: float


class FabricImport(Answer, frozen=True, kw_only=True):
    """Windows of flow logs, as a scenario.

    Attributes:
        warnings: lines.
        name: of the scenario.
        notes: which column was taken for what, in what unit.
        records: in the logs.
        flows: that they stand for.
        windows: the first is the scenario's trace, the others are beside it.
        classes: in the order of the scenario.
        scenario: whose flows are those of the windows.
    """

    shown_by: ClassVar[str] = "fctlab.fabric.words:imported"

    warnings: tuple[str, ...]
    name: str
    notes: tuple[str, ...]
    records: int
    flows: int
    windows: tuple[ImportedWindow, ...]
    classes: tuple[ImportedClass, ...]
    scenario: dict[str, Any]


class SampledSli(Answer, frozen=True, kw_only=True):
    """An SLI of all flows, and of flows that samples were expanded to.

    Attributes:
        traffic_class: the class.
        sli: its name.
        attr: ``slowdown``, ``fct`` or ``throughput``.
        all_flows: its value.
        flows: that stand behind that.
        sampled: of each sample.
    """

    traffic_class: str
    sli: str
    attr: str
    all_flows: float
    flows: int
    sampled: tuple[float, ...]


class FabricSampling(Answer, frozen=True, kw_only=True):
    """What sampling costs in accuracy.

    Attributes:
        warnings: lines.
        name: of the scenario.
        rates: flows that have more bytes than the first number are recorded with this share.
        flows: of the trace.
        records: of a sample, on average.
        slis: of all classes.
        runs: of all flows, without samples.
    """

    shown_by: ClassVar[str] = "fctlab.fabric.words:sampling"

    warnings: tuple[str, ...]
    name: str
    rates: tuple[tuple[float, float], ...]
    flows: int
    records: float
    slis: tuple[SampledSli, ...]
    runs: Runs


class FabricEpoch(Answer, frozen=True, kw_only=True):
    """A log that was judged while a fabric is watched.

    Attributes:
        warnings: lines.
        name: of the log.
        number: of logs that were judged before.
        at_risk: whether an SLO is, under the weights in force.
        names: of the classes.
        weights: in force, by table of ports (``port``, ``nic``, ``ports.TIER``).
        classes: under them, on the fluid.
        proposed: other weights; ``None`` where none are needed, or none are better.
        proposed_classes: under those, on the fluid.
        specification: the file that has them; empty without.
    """

    shown_by: ClassVar[str] = "fctlab.fabric.words:epoch"

    warnings: tuple[str, ...]
    name: str
    number: int
    at_risk: bool
    names: tuple[str, ...]
    weights: dict[str, tuple[int, ...]]
    classes: tuple[ClassFound, ...]
    proposed: tuple[int, ...] | None
    proposed_classes: tuple[ClassFound, ...]
    specification: str


class Confirmation(Answer, frozen=True, kw_only=True):
    """What packets say of weights that a watch proposed.

    Attributes:
        outcome: ``confirmed``, ``withdrawn`` or ``open``.
        why: in words.
        verification: on packets.
    """

    outcome: str
    why: str
    verification: Verification
