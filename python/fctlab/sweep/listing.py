"""Lists what a store holds.

Whoever keeps a point adds a line about it (`fctlab.results.listed`). Points without a line, such as
those of a store whose lines were deleted, are read once and then kept in ``STORE/index.parquet``:
points never change. Both can be deleted at any time.
"""

from __future__ import annotations

import io
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from fctlab.errors import SpecError
from fctlab.jobs import engine
from fctlab.results.drafts import write_whole
from fctlab.results.listed import Line, Lines
from fctlab.results.points import PointStore

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

INDEX = "index.parquet"


def points(store: PointStore) -> pl.DataFrame:
    """One row per point, in order of key; the columns are the fields of `Line`."""
    import polars as pl

    file = store.directory / INDEX
    names = pl.DataFrame({"key": sorted(store.names())}, schema={"key": pl.String})
    # Of a point that two have kept, the faster one's time.
    told = _frame(Lines(store.directory).all()).sort("key", "wall_s").unique("key", keep="first")
    try:
        known = pl.read_parquet(file).select(pl.col(k).cast(v) for k, v in told.schema.items())
    except (OSError, pl.exceptions.PolarsError):
        known = told.clear()
    listed = pl.concat([told, known]).unique("key", keep="first").join(names, on="key", how="semi")
    new = names.join(listed, on="key", how="anti")["key"].to_list()
    if new:
        read = _frame(_line(store, key) for key in new)
        listed = pl.concat([listed, read])
        index = pl.concat([known, read]).join(names, on="key", how="semi").sort("key")
        with suppress(OSError):  # of a store that may only be read
            write_whole(file, _as_parquet(index))
    return listed.sort("key")


def _frame(lines: Iterable[Line]) -> pl.DataFrame:
    import polars as pl

    strings = ("key", "name", "scheme", "engine")
    whole = ("seed", "flows", "unfinished")
    schema = {
        name: pl.String if name in strings else pl.Int64 if name in whole else pl.Float64
        for name in Line.__struct_fields__
    }
    rows = [msgspec.structs.astuple(line) for line in lines]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _as_parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _line(store: PointStore, key: str) -> Line:
    point = store.get(key)
    return Line.of(key, point.input, point.found, store.times(key))


def key_of(store: PointStore, start: str) -> str:
    """The whole key of the point whose key starts so.

    Raises:
        SpecError: none does, or several do.
    """
    found = sorted(key for key in store.names() if key.startswith(start))
    if len(found) == 1 and start:
        return found[0]
    what = f"{len(found):,} points start so" if found else "no point starts so"
    raise SpecError("key", f"{start!r}: {what}; fctlab store ls lists them")


def first(store: PointStore) -> str:
    """The key of the first point there is.

    Raises:
        SpecError: there is none.
    """
    keys = store.names()
    if not keys:
        raise SpecError(str(store.directory), "holds no points; fctlab sweep computes them")
    return min(keys)


def of_other_engines(store: PointStore) -> list[str]:
    """Keys of points that another build of the engine found."""
    import polars as pl

    other = pl.col("engine") != engine()
    return points(store).filter(other)["key"].to_list()
