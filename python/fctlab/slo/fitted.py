"""What is fitted: the classes of a flow log, and the parameters of the link model."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from fctlab.answers import Answer

ArrivalFamily: TypeAlias = Literal["poisson", "lognormal"]
Point: TypeAlias = tuple[float, float]


class SizeTable(Answer, frozen=True, kw_only=True):
    """The flow sizes of a class of a log.

    Attributes:
        mean_bytes: their mean.
        p50_bytes: their median.
        p99_bytes: their 99th percentile, by nearest rank.
        interpolation: between points, as a workload takes it.
        points: (bytes, share of flows of at most so many).
    """

    mean_bytes: float
    p50_bytes: float
    p99_bytes: float
    interpolation: Literal["step", "linear"]
    points: tuple[Point, ...]


class Family(Answer, frozen=True, kw_only=True):
    """A family of distributions, fitted to gaps by maximum likelihood.

    Attributes:
        family: which.
        mu: of the logarithm of gaps in nanoseconds; ``None`` for Poisson.
        sigma: of the logarithm of gaps; ``None`` for Poisson.
        aic: Akaike's criterion per gap, in seconds; the less, the better.
        ks: Kolmogorov-Smirnov distance from the gaps.
    """

    family: ArrivalFamily
    mu: float | None
    sigma: float | None
    aic: float
    ks: float


class Gaps(Answer, frozen=True, kw_only=True):
    """The times between flows of a class of a log, and the family that is nearest to them.

    Attributes:
        family: see `Family`, as the next three.
        mu: of the logarithm of gaps in nanoseconds; ``None`` for Poisson.
        sigma: of the logarithm of gaps; ``None`` for Poisson.
        ks: Kolmogorov-Smirnov distance from the gaps.
        mean_gap_s: their mean.
        points: (nanoseconds, share of gaps of at most so many).
        others: families that are farther.
    """

    family: ArrivalFamily
    mu: float | None
    sigma: float | None
    ks: float
    mean_gap_s: float
    points: tuple[Point, ...]
    others: tuple[Family, ...]


class Burstiness(Answer, frozen=True, kw_only=True):
    """Variance over mean of the number of flows in windows (index of dispersion for counts).

    Attributes:
        window_s: length of a window.
        measured: of the log; 1 for Poisson.
        fitted: of flows drawn from the fitted process.
    """

    window_s: float
    measured: float
    fitted: float


class Tail(Answer, frozen=True, kw_only=True):
    """The p99 slowdown of a class alone, in the model of a link.

    Attributes:
        log: of the log's flows.
        drawn: of flows drawn from the fitted process: least, median and largest of `draws`.
        draws: how often.
    """

    log: float
    drawn: tuple[float, float, float]
    draws: int


class LogClass(Answer, frozen=True, kw_only=True):
    """A traffic class of a flow log.

    Attributes:
        name: as the log calls it.
        flows: how many.
        share_of_flows: of the log's.
        share_of_bytes: of the log's.
        dscp: its DSCPs, where the log has them.
    """

    name: str
    flows: int
    share_of_flows: float
    share_of_bytes: float
    dscp: tuple[int, ...]


class FittedClass(LogClass, frozen=True, kw_only=True):
    """A class whose flows can be drawn.

    Attributes:
        span_s: from the first to the last.
        rate_bps: bytes of all but the first, over this time.
        sizes: of flows.
        interarrivals: times between flows.
        burstiness: over windows of growing length.
        tail: what a fit is for, of the log and of the process that `interarrivals` names.
        measured_gaps: whether the measured gaps stand for the process, as it does not hold.
        holds: whether there is nothing to warn of.
        warnings: lines: what misleads, and what to use instead.
    """

    span_s: float
    rate_bps: float
    sizes: SizeTable
    interarrivals: Gaps
    burstiness: tuple[Burstiness, ...]
    tail: Tail
    measured_gaps: bool
    holds: bool
    warnings: tuple[str, ...]


class ReplayedClass(LogClass, frozen=True, kw_only=True):
    """A class with too few flows to fit, which are replayed as they are in the log.

    Attributes:
        rate_bps: bytes over the time of the log.
        mean_bytes: mean of its flows' sizes.
        largest_bytes: of them.
    """

    rate_bps: float
    mean_bytes: float
    largest_bytes: float


class Fit(Answer, frozen=True, kw_only=True):
    """The classes of a flow log.

    Attributes:
        trace: the log's file.
        classes: in order of their first flows.
        replayed: those with too few flows to fit, the same.
        notes: lines: which of the log's columns was taken for what, in what unit.
    """

    shown_by: ClassVar[str] = "fctlab.slo.fitwords:fit"

    trace: str
    classes: tuple[FittedClass, ...]
    replayed: tuple[ReplayedClass, ...]
    notes: tuple[str, ...]


class SizeBin(Answer, frozen=True, kw_only=True):
    """p99 slowdowns of the flows of a sample from one size to another.

    Attributes:
        from_bytes: above this size.
        to_bytes: up to this size.
        up_to_bdp: whether that is up to a bandwidth-delay product, what parameters are fitted to.
        p99: at packet level.
        fitted: in the model with the fitted parameters.
        preset: in the model with the paper's.
    """

    from_bytes: float
    to_bytes: float
    up_to_bdp: bool
    p99: float
    fitted: float
    preset: float


class LongMean(Answer, frozen=True, kw_only=True):
    """Mean slowdowns of the flows of a sample above 1 MB; ``None`` where there are none.

    Attributes:
        packet: at packet level.
        fitted: in the model with the fitted parameters.
        preset: in the model with the paper's.
    """

    packet: float | None
    fitted: float | None
    preset: float | None


class Misfit(Answer, frozen=True, kw_only=True):
    """How far the model is from packets on a sample: the flows of one class at one load.

    Attributes:
        sample: which.
        held_out: whether nothing was fitted to it.
        flows: how many.
        bins: by size, smallest first.
        long_mean: of flows above 1 MB.
    """

    sample: str
    held_out: bool
    flows: int
    bins: tuple[SizeBin, ...]
    long_mean: LongMean


class Calibration(Answer, frozen=True, kw_only=True):
    """Parameters of the link model for a congestion control of the packet engine.

    Attributes:
        scheme: the congestion control.
        preset: the paper's parameters for it (swp, table 2).
        cc: the fitted parameters, as a specification takes them.
        errors: of each sample, those that are held out last.
    """

    scheme: str
    preset: str
    cc: dict[str, Any]
    errors: tuple[Misfit, ...]
