"""What a log says of its own flows, beside what is predicted of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fctlab.fabric.asked import Asked, Class
from fctlab.fabric.windows import Windows
from fctlab.slo import planning
from fctlab.slo.types import Measured

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray


def measured(asked: Asked, windows: Windows) -> tuple[Measured, ...]:
    """Every SLI of every class by the log's FCTs; nothing where it has none."""
    import polars as pl

    timed = windows.flows.drop_nulls("log_s").filter(pl.col("log_s") > 0)
    if not len(timed):
        return ()
    return tuple(
        _class(each, timed.filter(pl.col("class") == number))
        for number, each in enumerate(asked.classes)
    )


def _class(each: Class, flows: pl.DataFrame) -> Measured:
    from fctlab.slo.measured import SHORT_BY, metric_of

    size, lasts = (flows[name].to_numpy().astype(float) for name in ("size_bytes", "log_s"))
    alone = (flows["fct_s"] / flows["slowdown"]).to_numpy()
    of = {"fct": lasts, "slowdown": lasts / alone, "throughput": size * 8 / lasts}
    chosen = [of[sli.get("attr", "slowdown")][_inside(sli, size)] for sli in each.slis]
    return Measured(
        name=each.name,
        flows=len(flows),
        paced=0,
        too_short=int((lasts < SHORT_BY * alone).sum()),
        slis=tuple(sli["name"] for sli in each.slis),
        values=tuple(
            metric_of(sli["metric"], here) if len(here) else None
            for sli, here in zip(each.slis, chosen, strict=True)
        ),
        counts=tuple(map(len, chosen)),
    )


def _inside(sli: Mapping[str, Any], size: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which sizes an SLI is about."""
    inside = size >= planning.size_bytes(sli.get("from", "0B"))
    if "below" in sli:
        inside &= size < planning.size_bytes(sli["below"])
    return inside
