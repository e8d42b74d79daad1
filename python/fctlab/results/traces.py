"""Traces of one's own: made into what the engine replays, and joined with what came out.

The engine replays rows in order of start, hosts as numbers, times from the start of the run
(`docs/explanation/definitions.md`). `read` makes that of a file whose times are seconds since 1970,
whose rows are in another order or that is packed; `joined` puts the file's own columns beside what
the flows took.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fctlab import readable
from fctlab.errors import SpecError
from fctlab.formats import count, rate_bps, seconds

if TYPE_CHECKING:
    import polars as pl

    from fctlab.results.result import Result

UNITS = {"start_s": 0, "start_ms": 3, "start_us": 6, "start_ns": 9}
"""Columns of starts, and how many digits of a number are behind the second's point."""
WHOLE = ("src", "dst", "size_bytes")
EPOCH_S = 1_000_000_000
"""From here on a time is since 1970 and not since the start of a run."""
DIGITS = 12
"""Of a time behind the point: picoseconds."""
LEAST_FLOWS = 1_000
"""As in the engine, which computes the load of each tier."""
ENDINGS = (".csv", ".csv.gz", ".parquet")


@dataclass(frozen=True)
class Trace:
    """Flows to replay.

    Attributes:
        flows: in order of start, equal ones as in the file: ``start_s`` (float, seconds), ``src``,
            ``dst``, ``size_bytes`` (int), ``row`` (its row in the file, from 0), and the file's
            other columns.
        first_s: seconds since 1970 that were taken off; ``"0"`` where times are from the start.
    """

    flows: pl.DataFrame
    first_s: str


def read(file: str | PathLike[str]) -> Trace:
    """Read a trace: ``.csv``, ``.csv.gz`` or ``.parquet``.

    Times since 1970 become times from the first flow on, exactly where the file has decimals.

    Raises:
        SpecError: no such file, a missing column, or the first row that has a wrong value.
    """
    import polars as pl

    table = _table(Path(file))
    starts = [name for name in UNITS if name in table.columns]
    missing = [name for name in WHOLE if name not in table.columns]
    if not starts or missing:
        names = ", ".join([*([] if starts else ["start_s"]), *missing])
        raise SpecError(str(file), f"has no column {names}; it has {', '.join(table.columns)}")
    if table.is_empty():
        raise SpecError(str(file), "has no flows")
    exact = pl.Decimal(38, DIGITS)
    start = table[starts[0]].cast(exact, strict=False) / (10 ** UNITS[starts[0]])
    start = start.cast(exact)
    whole = [_whole(table[name]) for name in WHOLE]
    for name, values, least in ((starts[0], start, 0), *zip(WHOLE, whole, (0, 0, 1), strict=True)):
        wrong = (values.is_null() | (values < least)).arg_true()
        if len(wrong):
            found = table[name][wrong[0]]
            what = "time" if name in UNITS else "whole number"
            place = f"row {wrong[0] + 1}: {name}"
            raise SpecError(str(file), f"{place} {found!r} is no {what} from {least} on")
    same = (whole[0] == whole[1]).arg_true()
    if len(same):
        raise SpecError(str(file), f"row {same[0] + 1}: src and dst are the same host")
    first: Any = start.min()
    taken = first if first >= EPOCH_S else first * 0
    others = table.drop(*starts, *WHOLE, "row", strict=False)
    flows = pl.DataFrame(
        [
            (start - taken).cast(pl.Float64).alias("start_s"),
            *whole,
            pl.int_range(len(table), eager=True).alias("row"),
            *others,
        ]
    )
    # By the exact times: two that are no float apart stay in their order.
    order = start.to_frame("start").with_row_index("row").sort("start", maintain_order=True)["row"]
    return Trace(flows[order], f"{taken:f}".rstrip("0").rstrip(".") or "0")


def lines(flows: pl.LazyFrame, host_rate: object = None) -> list[str]:
    """What traffic a trace is: how much in all, and on the links of hosts.

    A trace of fewer than `LEAST_FLOWS` flows is a burst and has no load.

    Args:
        flows: ``start_s``, ``src``, ``dst``, ``size_bytes``; read only as far as needed.
        host_rate: of every host's link, such as ``"10Gbps"``; without one there are no shares.
    """
    import polars as pl

    size, start = pl.col("size_bytes"), pl.col("start_s")
    whole = flows.select(pl.len(), size.sum(), span=start.max() - start.min())
    number, total, span = whole.collect(engine="streaming").row(0)
    told = f"trace: {number:,} flows, {count(total)}B of payload"
    if not span:
        return [told]
    told += f" in {seconds(span)}"
    if number < LEAST_FLOWS:
        return [f"{told}, a burst: too few for a load"]
    told += f": {count(8 * total / span)}bps in all"
    if not isinstance(host_rate, str):
        return [told]
    shares = []
    for side, words, which in (("src", "send", "from"), ("dst", "receive", "to")):
        sums = flows.group_by(side).agg(size.sum()).collect(engine="streaming")
        loads = sums.with_columns(size * 8 / (span * rate_bps(host_rate)))
        host, most = loads.sort("size_bytes", side).row(-1)
        mean = loads["size_bytes"].sum() / len(loads)
        shares.append(
            f"{most:.1%} {which} host {host}, {mean:.1%} on average of those that {words}"
        )
    return [told, f"payload on the links of hosts: {'; '.join(shares)}"]


def joined(result: Result) -> pl.DataFrame:
    """See `Result.with_trace`."""
    import polars as pl

    name = result.scenario["traffic"].get("trace")
    if name is None:
        raise SpecError("traffic.trace", "is not set; the flows of this result are no trace's")
    table = _table(Path(name)).with_row_index("flow")
    flows = result.flows
    others = [c for c in table.columns if c not in (*flows.columns, "class")]
    table = table.with_columns(pl.col("flow").cast(pl.UInt64))
    same = flows.join(table.select("flow", *(pl.col(c).alias(f"{c}_there") for c in WHOLE)), "flow")
    equal = all((same[c] == same[f"{c}_there"].cast(same[c].dtype)).all() for c in WHOLE)
    if len(same) < len(flows) or not equal:
        raise SpecError(str(name), "has other flows than this result; it was changed since")
    return flows.join(table.select("flow", *others), "flow", how="left", maintain_order="left")


def _whole(values: pl.Series) -> pl.Series:
    """As integers; null where a value is none."""
    import polars as pl

    found = values.cast(pl.Int64, strict=False)
    if values.dtype.is_float():
        found = found.set((found.cast(values.dtype) != values).fill_null(True), None)
    return found


def _table(file: Path) -> pl.DataFrame:
    """All columns; of CSV, numbers that the trace is made of as text."""
    import polars as pl

    if not file.is_file():
        raise SpecError(str(file), "no such file")
    if not file.name.lower().endswith(ENDINGS):
        raise SpecError(str(file), f"is no trace; its name ends in {', '.join(ENDINGS)}")
    with readable.one_error(str(file)):
        if file.suffix.lower() == ".parquet":
            return pl.read_parquet(file)
        exact: Any = {name: pl.String for name in UNITS}
        head: Sequence[str] = pl.read_csv(file, n_rows=0, comment_prefix="#").columns
        known = {name: kind for name, kind in exact.items() if name in head}
        return pl.read_csv(
            file, comment_prefix="#", schema_overrides=known, infer_schema_length=None
        )
