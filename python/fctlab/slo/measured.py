"""What a log says of its own flows, beside what is predicted of them.

Durations become slowdowns as in the model. Flows that something else than the link slowed are
told apart: one that always has bytes to send keeps a link busy for as long as it lasts; if the
link was not, the flow waited for its application, its receiver or a timeout (`paced`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fctlab import formats, readable
from fctlab.errors import SpecError
from fctlab.slo.types import Measured

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Sizes = Mapping[str, float]

IDLE = 0.5
"""A link that carries less of what it can has not slowed who was there."""
SLOW = (2.0, 10.0)
"""A flow is slow that takes so many times as long as alone, and so many round trips more."""
SHORT_BY = 0.99
"""A duration below this share of what the flow takes alone is none that the link allows."""


def paced(flows: pl.DataFrame, rate_bps: float, rtt_s: float) -> NDArray[np.bool_]:
    """Which flows of a log something else than the link slowed.

    Args:
        flows: of all classes: ``start_s``, ``bytes``, ``duration_s`` (may be null).
        rate_bps: of the link.
        rtt_s: its round trip.

    Returns:
        One for each flow; false where it has no duration.
    """
    start, size = (flows[name].to_numpy().astype(float) for name in ("start_s", "bytes"))
    known = flows["duration_s"].fill_null(0.0).to_numpy().astype(float)
    alone = size * 8 / rate_bps
    lasts = np.maximum(known, alone)
    # Bytes that the link has carried until some time, if each flow sends evenly.
    times = np.concatenate((start, start + lasts))
    slopes = np.concatenate((size / lasts, -size / lasts))
    order = np.argsort(times, kind="stable")
    times, slopes = times[order], np.cumsum(slopes[order])
    carried = np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(times))))
    during = np.interp(start + lasts, times, carried) - np.interp(start, times, carried)
    idle = during * 8 < IDLE * rate_bps * lasts
    found: NDArray[np.bool_] = (known > SLOW[0] * (rtt_s + alone) + SLOW[1] * rtt_s) & idle
    return found


def table(flows: pl.DataFrame, apart: NDArray[np.bool_], extra_s: float) -> pl.DataFrame:
    """Flows as a specification's `measured` has them, and as a trace.

    Args:
        flows: of a class, see `flowlog.FlowLog`.
        apart: which are `paced`.
        extra_s: what their durations lack of an FCT.
    """
    import polars as pl

    return flows.select(
        "start_s",
        src=pl.lit(0),
        dst=pl.lit(1),
        size_bytes=pl.col("bytes"),
        duration_s=pl.col("duration_s") + extra_s,
        paced=pl.Series(apart).cast(pl.Int8),
    )


def of(spec: Mapping[str, Any], sizes: Sizes) -> Iterator[Measured]:
    """What was measured of the classes that say it.

    Args:
        spec: resolved.
        sizes: bytes of the sizes that its SLIs name.

    Raises:
        SpecError: a file that cannot be read or lacks a column.
    """
    network = spec["network"]
    rate, rtt = formats.rate_bps(network["link"]), formats.time_s(network["rtt"])
    rtt *= 0.5 if network.get("fct_ends") == "delivery" else 1.0
    for each in spec["classes"]:
        if "measured" in each:
            yield _class(each, _read(each), rate, rtt, sizes)


def _read(each: Mapping[str, Any]) -> pl.DataFrame:
    import polars as pl

    file, path = Path(each["measured"]), f"classes.{each['name']}.measured"
    columns = {"size_bytes": pl.Int64, "duration_s": pl.Float64, "paced": pl.Int8}
    with readable.one_error(path, f"{file}: "):
        found = pl.read_csv(file, comment_prefix="#", schema_overrides=columns)
    for name in ("size_bytes", "duration_s"):
        if name not in found.columns:
            raise SpecError(path, f"{file} has no column {name}; it has {', '.join(found.columns)}")
    return found if "paced" in found.columns else found.with_columns(paced=pl.lit(0))


def _class(
    each: Mapping[str, Any], rows: pl.DataFrame, rate_bps: float, rtt_s: float, sizes: Sizes
) -> Measured:
    import polars as pl

    timed = rows.drop_nulls("duration_s")
    flows = timed.filter(pl.col("paced") == 0)
    size, lasts = (flows[name].to_numpy().astype(float) for name in ("size_bytes", "duration_s"))
    alone = rtt_s + size * 8 / rate_bps
    with np.errstate(divide="ignore"):
        of_attr = {"fct": lasts, "slowdown": lasts / alone, "throughput": size * 8 / lasts}
    values, counts = [], []
    for sli in each["slis"]:
        inside = size >= sizes[sli.get("from", "0B")]
        if "below" in sli:
            inside &= size < sizes[sli["below"]]
        here = of_attr[sli.get("attr", "slowdown")][inside]
        here = here[np.isfinite(here)]
        counts.append(len(here))
        values.append(metric_of(sli["metric"], here) if len(here) else None)
    return Measured(
        name=each["name"],
        flows=len(flows),
        paced=len(timed) - len(flows),
        too_short=int((lasts < SHORT_BY * alone).sum()),
        slis=tuple(sli["name"] for sli in each["slis"]),
        values=tuple(values),
        counts=tuple(counts),
    )


def metric_of(metric: str, sample: NDArray[np.float64]) -> float:
    """As SLIs have it: the mean, or a percentile by nearest rank."""
    if metric == "mean":
        return float(sample.mean())
    share = float(metric.removeprefix("p")) / 100
    return float(np.quantile(sample, share, method="inverted_cdf"))
