"""Tables of flows that were made elsewhere, as the engine takes them."""

from __future__ import annotations

import io
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from fctlab import readable
from fctlab.errors import SpecError

if TYPE_CHECKING:
    import polars as pl


class ExportsArrow(Protocol):
    """A table that exports an Arrow stream: of pyarrow, pandas, duckdb, ..."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


FlowsLike: TypeAlias = "str | PathLike[str] | pl.DataFrame | pl.LazyFrame | ExportsArrow"

COLUMNS = {
    *("start_s", "src", "dst", "size_bytes", "flow"),
    *("fct_s", "finish_s", "finished", "unfinished_reason"),
    *("traffic_class", "class", "query"),
    *("retransmissions", "timeouts", "source_delay_s"),
}
"""What the engine reads; ``docs/explanation/definitions.md`` says what each means."""


def as_arrow(flows: FlowsLike) -> bytes:
    """The columns that the engine reads, as an Arrow IPC stream.

    Raises:
        SpecError: a file that is not there, or cannot be read as what its suffix says.
    """
    import polars as pl

    place = fspath(flows) if isinstance(flows, str | PathLike) else "flows"
    with readable.one_error(place):
        if isinstance(flows, str | PathLike):
            frame = _scan(Path(flows))
        elif isinstance(flows, pl.LazyFrame):
            frame = flows
        else:
            frame = pl.DataFrame(flows).lazy()
        known = [name for name in frame.collect_schema().names() if name in COLUMNS]
        table = io.BytesIO()
        frame.select(known).collect().write_ipc_stream(table)
    return table.getvalue()


def _scan(file: Path) -> pl.LazyFrame:
    import polars as pl

    if not file.is_file():
        raise SpecError(str(file), "no such file")
    kind = file.suffix.lower()
    if kind == ".parquet":
        return pl.scan_parquet(file)
    if kind == ".csv":
        return pl.scan_csv(file, comment_prefix="#", infer_schema_length=None)
    raise SpecError(str(file), "is no .parquet or .csv file")
