"""What is found about SLOs.

Times are in seconds, rates in bits per second, loads and weights shares, unless a name says more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from msgspec import field

from fctlab.answers import Answer
from fctlab.formats import sli_value

if TYPE_CHECKING:
    import polars as pl

Verdict: TypeAlias = Literal["met", "violated", "undecided"]
Engine: TypeAlias = Literal["model", "packet"]
Strategy: TypeAlias = Literal["fifo", "static", "weights", "weights-fq", "priority"]
Attr: TypeAlias = Literal["slowdown", "fct", "throughput"]
Interval: TypeAlias = tuple[float | None, float | None]
"""From, to; ``None`` where it has no end."""


class Target(Answer, frozen=True, kw_only=True):
    """What an SLO compares an SLI with: one of the two, in the unit of the SLI.

    Attributes:
        below: an upper bound.
        above: a lower bound.
    """

    below: float | None = None
    above: float | None = None


class Sli(Answer, frozen=True, kw_only=True):
    """An SLI of a class, predicted.

    Attributes:
        name: what the SLO calls it.
        attr: what it is of: a slowdown (FCT over that of the flow alone), a completion time, or a
            throughput (size over FCT).
        value: a ratio, seconds, or bits per second, as `attr` says; 0 without flows.
        ci95: its 95% interval, in the same unit; open where flows are not `enough`.
        ci99: its 99% interval, which verdicts are about.
        flows: how many stand behind it.
        flows_needed: how many it takes at least.
        count_error: standard error of the number of flows in so long a time, as a share of it;
            ``None`` without flows.
        work_error: the same of the bytes that all classes bring.
        enough: whether enough flows stand behind it for a verdict.
        tight: whether the 95% interval is narrow (10% to either side) as well.
        targets: what the SLO compares it with; none where the SLO does not name it.
    """

    name: str
    attr: Attr
    value: float
    ci95: Interval
    ci99: Interval
    flows: int
    flows_needed: int
    count_error: float | None
    work_error: float | None
    enough: bool
    tight: bool
    targets: tuple[Target, ...]

    @property
    def compared(self) -> str:
        """`targets` as people read them, such as ``< 3``."""
        return ", ".join(
            f"{sign} {sli_value(self.attr, bound)}"
            for target in self.targets
            for sign, bound in (("<", target.below), (">", target.above))
            if bound is not None
        )


class ClassPrediction(Answer, frozen=True, kw_only=True):
    """A traffic class, predicted.

    Attributes:
        name: the class.
        verdict: what became of its SLO; ``None`` without one.
        why: what the verdict rests on.
        loss: how far the SLO is violated, as a share of the threshold (swp, equation 1); negative
            where it is met, ``None`` without one.
        slis: in the order of the specification.
    """

    name: str
    verdict: Verdict | None
    why: str
    loss: float | None
    slis: tuple[Sli, ...]


class ClassLoad(Answer, frozen=True, kw_only=True):
    """The load of a class that is drawn, as shares of the link.

    Attributes:
        name: the class.
        payload: bytes of flows.
        wire: headers and telemetry included.
    """

    name: str
    payload: float
    wire: float


class Load(Answer, frozen=True, kw_only=True):
    """The load of the classes that are drawn; that of a trace is its own.

    Attributes:
        payload: bytes of flows, as a share of the link.
        wire: headers and telemetry included, as a share of the link.
        used: the same as a share of what congestion control uses of the link.
        classes: each of them.
    """

    payload: float
    wire: float
    used: float
    classes: tuple[ClassLoad, ...]


class Cost(Answer, frozen=True, kw_only=True):
    """What an answer took.

    Attributes:
        wall_s: time of day.
        evaluations: runs of the model.
        flows: of all these runs.
    """

    wall_s: float
    evaluations: int
    flows: int


class Measured(Answer, frozen=True, kw_only=True):
    """What a log says of the flows of a class.

    Attributes:
        name: the class.
        flows: whose duration it has, without those that were `paced`.
        paced: flows that something else than the link slowed.
        too_short: flows that took less time than the link allows.
        slis: names of the class's.
        values: of each, in its unit; ``None`` without flows.
        counts: how many flows stand behind each.
    """

    name: str
    flows: int
    paced: int
    too_short: int
    slis: tuple[str, ...]
    values: tuple[float | None, ...]
    counts: tuple[int, ...]


class Prediction(Answer, frozen=True, kw_only=True):
    """Every SLI of a specification, and whether its SLOs are met.

    Attributes:
        warnings: lines: what is not read, where the model is known to be off, ...
        spec: the resolved specification.
        classes: in the order of the specification.
        flows: how many were run.
        simulated_s: the time over which they start.
        cost: what it took.
        load: on the link.
        engine: what ran the flows: ``"model"`` or ``"packet"``.
        packet_hops: of engine ``"packet"`` only.
        measured: what logs say of the same, of classes that have one.
    """

    shown_by: ClassVar[str] = "fctlab.slo.words:prediction"

    warnings: tuple[str, ...]
    spec: dict[str, Any]
    classes: tuple[ClassPrediction, ...]
    flows: int
    simulated_s: float
    cost: Cost
    load: Load
    engine: Engine
    packet_hops: int | None = None
    measured: tuple[Measured, ...] = ()


class Search(Answer, frozen=True, kw_only=True):
    """The end of a search for weights.

    Attributes:
        success: whether every loss is negative.
        rounds: runs of the model.
        weights: of each class; their sum is 1.
        worst_loss: the largest loss of a class; ``None`` where one has no value to compare.
    """

    success: bool
    rounds: int
    weights: tuple[float, ...]
    worst_loss: float | None


class Compared(Answer, frozen=True, kw_only=True):
    """Integer weights among others, on the same flows.

    Attributes:
        name: where they are from: ``search``, ``algorithm 1``, ``equal weights`` or ``step``.
        weights: of each class.
        worst_loss: the largest loss of a class; ``None`` where one has no value to compare.
    """

    name: str
    weights: tuple[int, ...]
    worst_loss: float | None


class OffForecast(Answer, frozen=True, kw_only=True):
    """What happens where the forecast of a class is off.

    Attributes:
        traffic_class: whose.
        what: of it: ``load`` or ``sigma``.
        change: by how much: ``+20%`` or ``-20%``.
        worst_loss: the largest loss of a class then; ``None`` where the link is overloaded.
        broken: classes whose SLO is then violated.
        cut_short: why its flows say little, where their number ended them early.
    """

    traffic_class: str = field(name="class")
    what: Literal["load", "sigma"]
    change: str
    worst_loss: float | None
    broken: tuple[str, ...]
    cut_short: str | None


class Weighting(Answer, frozen=True, kw_only=True):
    """Integer weights and how they were found.

    Attributes:
        success: whether every SLO is met with them; otherwise none were found that do.
        verdict: the same with intervals taken into account, of all classes together.
        weights: of each class, 1 to 100.
        classes: as predicted with them, on flows that they were not chosen on, unless all are
            traces.
        baselines: the least share of the link with which each class meets its SLO against others
            that are always backlogged; ``None`` where the whole link does not do.
        margin: how far the worst class is on the right side, as a share of its threshold;
            ``None`` where it has no value to compare.
        binding: the class that has it.
        algorithm_1: how the paper's algorithm ended.
        search: how the search ended, before rounding.
        compared: from which weights these were chosen, all on the same flows.
        flows: behind the verdict.
        off_forecast: loads and sigmas off by 20%, the worst first.
    """

    success: bool
    verdict: Verdict
    weights: tuple[int, ...]
    classes: tuple[ClassPrediction, ...]
    baselines: tuple[float | None, ...]
    margin: float | None
    binding: str
    algorithm_1: Search
    search: Search
    compared: tuple[Compared, ...]
    flows: int
    off_forecast: tuple[OffForecast, ...]


class Plan(Answer, frozen=True, kw_only=True):
    """Weights for a specification.

    Attributes:
        warnings: lines, as `Prediction` has them.
        spec: the resolved specification.
        plan: the weights, and what they achieve.
        cost: what it took.
        load: on the link.
    """

    shown_by: ClassVar[str] = "fctlab.slo.words:plan"

    warnings: tuple[str, ...]
    spec: dict[str, Any]
    plan: Weighting
    cost: Cost
    load: Load


class Capacity(Answer, frozen=True, kw_only=True):
    """The least link rate with which a strategy meets every SLO.

    Attributes:
        strategy: how classes share the link, one of `planning.STRATEGIES`.
        capacity_bps: the rate; ``None`` where 64 times the offered load does not do.
        capacity_ci95: from the largest rate at which some SLO is violated for all values inside
            the 95% intervals to the least at which every one is met for all of them. In bits per
            second; ``None`` for an end that was not found.
        load: payload offered, as a share of the rate.
        weights: of each class, where the strategy has some; their sum is 1.
        tried: how many rates.
    """

    strategy: Strategy
    capacity_bps: float | None
    capacity_ci95: Interval
    load: float | None
    weights: tuple[float, ...] | None
    tried: int


class Provision(Answer, frozen=True, kw_only=True):
    """The least link rate of each strategy.

    Attributes:
        spec: the resolved specification.
        strategies: in the order in which they were asked for.
        warnings: lines: fewer flows than asked for; where the model is known to be off, on the
            slowest of these links that classes share.
        cost: what it took.
    """

    shown_by: ClassVar[str] = "fctlab.slo.words:provision"

    spec: dict[str, Any]
    strategies: tuple[Capacity, ...]
    warnings: tuple[str, ...]
    cost: Cost


class Point(Answer, frozen=True, kw_only=True):
    """What is predicted where values of a specification are so.

    Attributes:
        at: the values, in the order of `WhatIf.paths`.
        classes: in the order of the specification.
    """

    at: tuple[float, ...]
    classes: tuple[ClassPrediction, ...]


class WhatIf(Answer, frozen=True, kw_only=True):
    """SLIs and SLOs over a range of one or two values of a specification.

    Attributes:
        spec: name of the specification, or of its file.
        paths: of the values, each with its unit if it has one: ``classes.web.rate (Gbps)``.
        points: every combination of values.
    """

    shown_by: ClassVar[str] = "fctlab.slo.words:whatif"

    spec: str
    paths: tuple[str, ...]
    points: tuple[Point, ...]

    def to_dict(self) -> dict[str, Any]:
        """``spec``, and as ``points`` the `rows`."""
        return {"spec": self.spec, "points": self.rows()}

    def table(self) -> pl.DataFrame:
        """`rows` as a table."""
        import polars as pl

        return pl.DataFrame(self.rows(), infer_schema_length=None)

    def rows(self) -> list[dict[str, Any]]:
        """A row per point and SLI.

        The values, named after `paths`; ``class``, ``sli``, ``attr``, ``value``, ``target`` (what
        the SLO compares it with; may be empty), ``low``, ``high`` (95% interval; ``None`` for
        infinity), ``verdict`` of the class.
        """
        return [
            {
                **dict(zip(self.paths, point.at, strict=True)),
                "class": each.name,
                "sli": sli.name,
                "attr": sli.attr,
                "value": sli.value,
                "target": sli.compared,
                "low": sli.ci95[0],
                "high": sli.ci95[1],
                "verdict": each.verdict,
            }
            for point in self.points
            for each in point.classes
            for sli in each.slis
        ]
