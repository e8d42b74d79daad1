"""Records of one flow that its exporter cut are one flow again.

An exporter of flow records (RFC 7011; RFC 5470, section 5.1.1) writes a flow that lasts longer than
its active timeout as several records. None of them is longer than the timeout, and the next begins
where the last one ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

LEAST_TIMEOUT_S = 1.0
"""Active timeouts are not shorter."""
NEARLY = 0.9
"""A record is cut if it lasts so much of the longest of the log."""
SOON = 0.05
"""The next record of the flow begins within so much of the longest."""


def join(flows: pl.DataFrame, keys: Sequence[str]) -> tuple[pl.DataFrame, str]:
    """Join the records of each flow.

    Args:
        flows: a row per record: ``start_s``, ``duration_s`` (seconds), ``bytes``, and `keys`.
        keys: columns that are the same in all records of a flow.

    Returns:
        A row per flow, of its other columns the first values; and a line about what was joined,
        empty where nothing was.
    """
    import polars as pl

    longest = flows["duration_s"].max()
    if not isinstance(longest, float) or longest < LEAST_TIMEOUT_S:
        return flows, ""
    end = pl.col("start_s") + pl.col("duration_s")
    gap = pl.col("start_s") - end.shift(1).over(keys)
    cut = pl.col("duration_s").shift(1).over(keys) >= NEARLY * longest
    goes_on = (cut & gap.abs().le(SOON * longest)).fill_null(False)
    records = flows.sort(*keys, "start_s", maintain_order=True).with_columns(
        (~goes_on).cum_sum().alias("flow"), end.alias("end_s")
    )
    others = [name for name in flows.columns if name not in ("bytes", "duration_s")]
    whole = records.group_by("flow", maintain_order=True).agg(
        *(pl.col(name).first() for name in others),
        pl.col("bytes").sum(),
        (pl.col("end_s").max() - pl.col("start_s").min()).alias("duration_s"),
        pl.len().alias("records"),
    )
    several = whole.filter(pl.col("records") > 1)
    if not len(several):
        return flows, ""
    note = (
        f"flows that were cut after {longest:.3g} s and are joined: {len(several):,}, "
        f"of {several['records'].sum():,} records"
    )
    return whole.select(flows.columns), note
