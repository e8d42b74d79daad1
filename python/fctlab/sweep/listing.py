"""Lists what a store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fctlab.errors import SpecError
from fctlab.jobs import engine
from fctlab.results.points import PointStore

if TYPE_CHECKING:
    import polars as pl

SCHEMA = ("key", "name", "scheme", "load", "seed", "flows", "unfinished", "cpu_s", "engine")


def points(store: PointStore) -> pl.DataFrame:
    """One row per point, in order of key.

    Columns: ``key``, ``name``, ``scheme``, ``load``, ``seed``, ``flows`` (measured),
    ``unfinished``, ``cpu_s``, ``engine``; null where a point has no such thing.
    """
    import polars as pl

    rows = [_row(store, key) for key in sorted(store.names())]
    return pl.DataFrame(rows, schema=list(SCHEMA), orient="row", infer_schema_length=None)


def _row(store: PointStore, key: str) -> tuple[Any, ...]:
    point = store.get(key)
    given = point.input.get("scenario") or point.input.get("specification") or {}
    scheme = given.get("scheme", {}).get("name") or given.get("cc", {}).get("scheme")
    rows: list[dict[str, Any]] = point.found.get("summary", [])
    total = rows[0] if rows else {}
    times = store.times(key)
    return (
        *(key, given.get("name"), scheme, given.get("traffic", {}).get("load"), given.get("seed")),
        *(total.get("flows"), total.get("unfinished"), times.get("cpu_s"), times.get("engine")),
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
    own = engine()
    return [key for key in store.names() if store.times(key).get("engine", own) != own]
