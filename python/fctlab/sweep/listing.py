"""Lists what a store holds.

What has been listed once is kept in ``STORE/index.parquet``: points never change, so only new ones
are read again. The index can be deleted at any time.
"""

from __future__ import annotations

import io
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fctlab.errors import SpecError
from fctlab.jobs import engine
from fctlab.results.drafts import write_whole
from fctlab.results.points import PointStore

if TYPE_CHECKING:
    import polars as pl

INDEX = "index.parquet"


def points(store: PointStore) -> pl.DataFrame:
    """One row per point, in order of key.

    Columns: ``key``, ``name`` (of an answer that a study asked for, its function), ``scheme``,
    ``load``, ``seed``, ``flows`` (measured), ``unfinished``, ``wall_s``, ``cpu_s``, ``engine``;
    null where a point has no such thing.
    """
    import polars as pl

    schema: dict[str, type[pl.DataType]] = {
        **{name: pl.String for name in ("key", "name", "scheme")},
        "load": pl.Float64,
        **{name: pl.Int64 for name in ("seed", "flows", "unfinished")},
        **{name: pl.Float64 for name in ("wall_s", "cpu_s")},
        "engine": pl.String,
    }
    file = store.directory / INDEX
    names = pl.DataFrame({"key": sorted(store.names())}, schema={"key": pl.String})
    try:
        known = pl.read_parquet(file).select(pl.col(k).cast(v) for k, v in schema.items())
    except (OSError, pl.exceptions.PolarsError):
        known = pl.DataFrame(schema=schema)
    listed = known.join(names, on="key", how="semi")
    new = names.join(known, on="key", how="anti")["key"].to_list()
    if not new and len(listed) == len(known):
        return listed
    rows = [_row(store, key) for key in new]
    listed = pl.concat([listed, pl.DataFrame(rows, schema=schema, orient="row")]).sort("key")
    with suppress(OSError):  # of a store that may only be read
        write_whole(file, _as_parquet(listed))
    return listed


def _as_parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _row(store: PointStore, key: str) -> tuple[Any, ...]:
    point = store.get(key)
    given = point.input.get("scenario") or point.input.get("specification") or {}
    scheme = given.get("scheme", {}).get("name") or given.get("cc", {}).get("scheme")
    rows: list[dict[str, Any]] = point.found.get("summary", [])
    total = rows[0] if rows else {}
    times = store.times(key)
    name = given.get("name") or point.input.get("function", {}).get("name")
    return (
        *(key, name, scheme, given.get("traffic", {}).get("load"), given.get("seed")),
        *(total.get("flows"), total.get("unfinished"), times.get("wall_s")),
        *(times.get("cpu_s"), times.get("engine")),
    )


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


def of_other_engines(store: PointStore) -> list[str]:
    """Keys of points that another build of the engine found."""
    import polars as pl

    other = pl.col("engine") != engine()
    return points(store).filter(other)["key"].to_list()
