"""Traffic classes from an operator's flow log: sizes, inter-arrival times, burstiness.

What swp (section 3) asks of an operator, a size distribution and a log-normal or Poisson
arrival process per class, estimated from a log and checked against it:

* **sizes**: the empirical distribution, thinned to at most `POINTS` points;
* **gaps** between flows: exponential and log-normal by maximum likelihood, the better one by
  AIC, with its Kolmogorov-Smirnov distance from the data;
* **burstiness**: variance over mean of the number of flows in windows of growing length
  (index of dispersion for counts, 1 for Poisson), beside that of the fitted process. Gaps
  that are not independent show here and nowhere in their distribution;
* a **judgement** by what a fit is for: the p99 slowdown of the log's flows, replayed in the model
  of a link, against that of as many flows drawn from the fit, `DRAWS` times. Where the fit is right
  the log is one draw more, outside of all others with a probability of 2 in ``DRAWS + 1``;
* a **warning** where it does, with what to use instead.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fctlab.errors import SpecError
from fctlab.slo import flowlog
from fctlab.slo.fitted import (
    ArrivalFamily,
    Burstiness,
    Family,
    Fit,
    FittedClass,
    Gaps,
    Point,
    ReplayedClass,
    SizeTable,
    Tail,
)

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]

POINTS = 400
"""Of a size table, at most."""
LEAST = 100
"""Flows that a class needs to be fitted; one with fewer is replayed."""
DRAWS = 39
"""Of flows from a fit, which the log is compared with: false alarms in 5% of cases."""
MOST_DRAWN = 4_000_000
"""Flows of all draws together; long logs have fewer draws, `FEWEST` at least."""
FEWEST = 9
APART = 0.1
"""A tail slowdown that is off by less is no reason to warn, whatever its draws say."""
PART = 0.8
"""A class whose flows start within less of the log's time is told."""
LOAD = 0.6
"""The load at which the log is replayed; its time is stretched to fit `LINK`."""
LINK = {"link": "100Gbps", "rtt": "10us"}
LINK_BPS = 100e9
WINDOWS = 100
"""Windows that a time scale needs."""


def fit(trace: str | PathLike[str] | flowlog.FlowLog, *, seed: int = 1) -> Fit:
    """Fit classes to a flow log.

    Args:
        trace: what `flowlog.read` returned, or the file that it reads.
        seed: of what is drawn from the fitted process.

    Raises:
        SpecError: as `flowlog.read`; no class has enough flows, or all of a class's start at once.
    """
    log = trace if isinstance(trace, flowlog.FlowLog) else flowlog.read(trace)
    if "weight" in log.flows.columns and (log.flows["weight"] > 1).any():
        message = "is sampled: its records have weights, which fctlab fabric import takes"
        raise SpecError(str(log.file), message)
    total = (len(log.flows), float(log.flows["bytes"].sum()))
    fitted, replayed = [], []
    for flows in log.flows.partition_by("class", maintain_order=True):
        if len(flows) < LEAST:
            replayed.append(_few(flows, total, period_s(log.flows)))
        else:
            fitted.append(_class(flows, total, seed))
    if not fitted:
        few = max(replayed, key=lambda each: each.flows)
        message = f"has {few.flows} flows; at least {LEAST} are needed"
        raise SpecError(f"class {few.name}", message)
    return Fit(
        trace=str(log.file),
        classes=tuple(fitted),
        replayed=tuple(replayed),
        notes=(*log.notes, *_partly(fitted, period_s(log.flows))),
    )


def period_s(flows: pl.DataFrame) -> float:
    """The time of a log, in seconds: from its first flow to where the next one would start."""
    last = float(flows["start_s"].to_numpy().max())
    return max(last * len(flows) / max(len(flows) - 1, 1), last + 1e-9)


def _partly(fitted: Sequence[FittedClass], whole_s: float) -> Iterator[str]:
    """Of classes that are there for a part of the time only."""
    for each in fitted:
        if (share := each.span_s / whole_s) < PART:
            yield (
                f"{each.name}: its flows start within {share:.0%} of the log's time, and its rate "
                "is that of this time"
            )


def _shares(flows: pl.DataFrame, total: tuple[int, float]) -> dict[str, Any]:
    """What part of the log a class is, and its DSCPs."""
    codes = flows["dscp"].unique().sort().to_list() if "dscp" in flows.columns else []
    return {
        "name": flows["class"][0],
        "flows": len(flows),
        "share_of_flows": len(flows) / total[0],
        "share_of_bytes": float(flows["bytes"].sum()) / total[1],
        "dscp": tuple(codes),
    }


def _few(flows: pl.DataFrame, total: tuple[int, float], whole_s: float) -> ReplayedClass:
    """A class of too few flows to say what they are drawn from."""
    sizes: Any = flows["bytes"]
    return ReplayedClass(
        **_shares(flows, total),
        rate_bps=sizes.sum() * 8 / whole_s,
        mean_bytes=sizes.mean(),
        largest_bytes=sizes.max(),
    )


def _class(flows: pl.DataFrame, total: tuple[int, float], seed: int) -> FittedClass:
    """One class: all flows of it, in order of start."""
    name = flows["class"][0]
    start, sizes = flows["start_s"].to_numpy(), flows["bytes"].to_numpy().astype(np.float64)
    span = float(start[-1] - start[0])
    if span <= 0:
        raise SpecError(f"class {name}", "all flows start at once")
    gaps = np.diff(start)
    together = float(np.mean(gaps <= 0))
    positive = gaps[gaps > 0]
    gaps = np.where(gaps > 0, gaps, positive.min() / 2)
    families = _families(gaps)
    chosen = min(families, key=lambda f: f.aic)
    burstiness = _burstiness(start - start[0], chosen, seed)
    tail = _tail(start, sizes, _drawing(chosen), seed)
    warnings = _coarse(together)
    holds = _holds(tail)
    if not holds:
        of_gaps = _tail(start, sizes, lambda rng, n: rng.choice(gaps, n), seed)
        warnings.append(_misleads(chosen, tail, of_gaps, gaps))
    return FittedClass(
        **_shares(flows, total),
        span_s=span,
        rate_bps=float(sizes[1:].sum() * 8 / span),
        sizes=SizeTable(
            mean_bytes=float(sizes.mean()),
            p50_bytes=float(np.quantile(sizes, 0.5, method="inverted_cdf")),
            p99_bytes=float(np.quantile(sizes, 0.99, method="inverted_cdf")),
            interpolation="step" if len(np.unique(sizes)) <= POINTS else "linear",
            points=_points(sizes, 1.0),
        ),
        interarrivals=Gaps(
            family=chosen.family,
            mu=chosen.mu,
            sigma=chosen.sigma,
            ks=chosen.ks,
            mean_gap_s=float(gaps.mean()),
            points=tuple((gap * 1e9, share) for gap, share in _points(gaps)),
            others=tuple(f for f in families if f is not chosen),
        ),
        burstiness=burstiness,
        tail=tail,
        measured_gaps=not holds,
        holds=not warnings,
        warnings=tuple(warnings),
    )


def _families(gaps: NDArray[np.float64]) -> list[Family]:
    """Exponential and log-normal by maximum likelihood."""
    from scipy import stats

    n, mean = len(gaps), float(gaps.mean())
    logs = np.log(gaps)
    mu, sigma = float(logs.mean()), max(float(logs.std()), 1e-9)
    fitted: tuple[tuple[ArrivalFamily, Any, int, float | None, float | None], ...] = (
        ("poisson", stats.expon(scale=mean), 1, None, None),
        ("lognormal", stats.lognorm(sigma, scale=math.exp(mu)), 2, mu, sigma),
    )
    return [
        Family(
            family=family,
            mu=None if mu is None else mu + math.log(1e9),
            sigma=sigma,
            aic=float(2 * parameters - 2 * process.logpdf(gaps).sum()) / n,
            ks=float(stats.kstest(gaps, process.cdf).statistic),
        )
        for family, process, parameters, mu, sigma in fitted
    ]


def _burstiness(start: NDArray[np.float64], process: Family, seed: int) -> tuple[Burstiness, ...]:
    """Index of dispersion for counts over time scales, measured and of the fitted process."""
    rng = np.random.default_rng(seed)
    n, span = len(start), float(start[-1])
    drawn = np.cumsum(_drawing(process)(rng, n))
    drawn *= span / drawn[-1]
    rows = []
    window = 4 * span / n
    while span / window >= WINDOWS:
        measured, fitted = (_dispersion(times, window, span) for times in (start, drawn))
        rows.append(Burstiness(window_s=window, measured=measured, fitted=fitted))
        window *= 4
    return tuple(rows)


def _dispersion(times: NDArray[np.float64], window: float, span: float) -> float:
    """Variance over mean of the number of flows in whole windows of `span` seconds."""
    counts = np.bincount((times / window).astype(np.int64), minlength=int(span / window))
    counts = counts[: int(span / window)]
    return float(counts.var() / counts.mean())


def _drawing(process: Family) -> Draw:
    """Gaps of a fitted family, in any unit."""
    sigma = process.sigma
    if sigma is None:
        return lambda rng, n: rng.exponential(1.0, n)
    return lambda rng, n: rng.lognormal(0.0, sigma, n)


def _tail(start: NDArray[np.float64], sizes: NDArray[np.float64], draw: Draw, seed: int) -> Tail:
    """The p99 slowdown of the log and of draws: gaps from `draw`, sizes from the log's.

    Every list of flows, the log's too, is stretched in time until it offers `LOAD`.
    """
    rng = np.random.default_rng(seed)
    n = len(start)
    draws = int(np.clip(MOST_DRAWN // n, FEWEST, DRAWS))
    log = _p99(start, sizes)
    found = []
    for _ in range(draws):
        gaps = draw(rng, n - 1)
        found.append(_p99(np.concatenate(([0.0], np.cumsum(gaps))), rng.choice(sizes, n)))
    return Tail(log=log, drawn=(min(found), float(np.median(found)), max(found)), draws=draws)


def _holds(tail: Tail) -> bool:
    """Whether the log may be one draw more."""
    low, middle, high = tail.drawn
    return low <= tail.log <= high or abs(tail.log / middle - 1) < APART


def _p99(start: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    """The p99 slowdown in the model of flows that offer `LOAD` of `LINK` through a FIFO."""
    import polars as pl

    from fctlab.slo import planning

    span_s = float(sizes[1:].sum() * 8) / (LOAD * LINK_BPS)
    seconds = (start - start[0]) / (start[-1] - start[0]) * span_s
    flows = pl.DataFrame({"start_s": seconds, "size_bytes": np.round(sizes).astype(np.int64)})
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "flows.parquet"
        flows.with_columns(src=pl.lit(0), dst=pl.lit(1)).write_parquet(trace)
        replayed = {"name": "log", "trace": str(trace)}
        spec = {"network": LINK, "queue": "fifo", "cc": "swp-d", "classes": [replayed]}
        slowdowns = planning.flows(spec, len(start))["slowdown"].to_numpy()
    return float(np.quantile(slowdowns, 0.99, method="inverted_cdf"))


def _coarse(together: float) -> list[str]:
    """What to say where `together` is the share of gaps of zero."""
    if together <= 0.01:
        return []
    return [
        f"{together:.0%} of flows start at the same time as another: the clock is coarse, or "
        "flows come in groups"
    ]


def _misleads(
    process: Family,
    tail: Tail,
    of_gaps: Tail,
    gaps: NDArray[np.float64],
) -> str:
    """Why a fitted process would mislead, and what to use instead."""
    low, _, high = tail.drawn
    message = (
        f"the log's p99 slowdown at load {LOAD:g} is {tail.log:.3g}, that of flows drawn from "
        f"the {process.family} fit (KS distance {process.ks:.2f}) {low:.3g} to {high:.3g}; "
        "the specification has the measured gaps"
    )
    if _holds(of_gaps):
        return message
    low, _, high = of_gaps.drawn
    logs = np.log(gaps)
    spread = logs.std() > 0
    correlation = float(np.corrcoef(logs[1:], logs[:-1])[0, 1]) if spread else 0.0
    return (
        f"{message}, which have {low:.3g} to {high:.3g}: gaps or sizes are not independent "
        f"(correlation of neighbouring gaps {correlation:+.2f}); replay the log (trace = ...) "
        "instead of drawing"
    )


def _points(sample: NDArray[np.float64], grain: float | None = None) -> tuple[Point, ...]:
    """The empirical distribution: all values if they are few, else equal shares and the tail.

    Values are at least `grain` apart; where there is none they are of a continuum.
    """
    values, counts = np.unique(sample, return_counts=True)
    shares = np.cumsum(counts) / len(sample)
    if len(values) > POINTS:
        tail = 1 - np.geomspace(1, 1 / len(sample), POINTS // 2)
        wanted = np.unique(np.concatenate((np.linspace(0, 1, POINTS // 2), tail)))
        kept = np.unique(np.clip(np.searchsorted(shares, wanted), 0, len(values) - 1))
        # A value that many have is not spread over those below it: a grain less has none.
        step = grain or math.inf
        heavy = np.flatnonzero(counts[1:] > len(sample) / POINTS) + 1
        heavy = heavy[values[heavy] - values[heavy - 1] > step]
        kept = np.unique(np.concatenate((kept, heavy, [0, len(values) - 1])))
        below = values[heavy] - step, shares[heavy - 1]
        values, shares = (
            np.append(a[kept], b) for a, b in zip((values, shares), below, strict=True)
        )
        order = np.argsort(values)
        values, shares = values[order], shares[order]
    return tuple((float(v), float(s)) for v, s in zip(values, shares, strict=True))
