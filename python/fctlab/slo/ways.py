"""Which rows of a log are flows: both ways of a connection, and no acknowledgements alone.

A row of Zeek's ``conn.log`` is a connection with the bytes that each end sent, so that it is two
flows. An exporter of flow records has a record for each way, of which one is often nothing but
acknowledgements: packets of headers, which no end waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from fctlab.slo.logfile import Table

OPENED, ANSWERED = "orig_bytes", "resp_bytes"
"""Sizes of both ways, of Zeek's."""
PACKETS = ("ipkt", "in_pkts", "packetdeltacount", "packettotalcount", "dpkts")
"""Columns of how many packets a record has, in small letters."""
HEADERS_BYTES = 60
"""IPv4 with the largest header of TCP's that no option but timestamps and SACK fills (RFC 7323,
RFC 2018: 20 + 20 + 20 B); an acknowledgement has no more."""
TCP = ("6", "tcp")


def beside(names: Iterable[str], chosen: Mapping[Any, tuple[str, str]], asked: bool) -> list[str]:
    """Columns to load besides those that are chosen.

    Args:
        names: of all columns.
        chosen: by what it is for, the name of a column and its unit.
        asked: whether the column of sizes was named by who asks.
    """
    here = {name.strip().casefold(): name for name in names}
    size = chosen["size"][0].strip().casefold()
    if size == OPENED and not asked and ANSWERED in here:
        return [here[ANSWERED]]
    packets = [here[name] for name in PACKETS if name in here]
    return packets[:1] if "protocol" in chosen else []


def flows(table: Table, chosen: Mapping[Any, tuple[str, str]], more: list[str]) -> list[str]:
    """Leaves rows in a table that are flows.

    Args:
        table: with these columns loaded.
        chosen: by what it is for, the name of a column and its unit.
        more: what `beside` found.

    Returns:
        Lines about what was done.
    """
    size = chosen["size"][0]
    kind = size.strip().casefold()
    if kind in (OPENED, ANSWERED):
        return _connections(table, chosen, more[0] if more else None)
    return _records(table, size, chosen["protocol"][0], more[0]) if more else []


def _connections(
    table: Table, chosen: Mapping[Any, tuple[str, str]], answered: str | None
) -> list[str]:
    size = chosen["size"][0]
    opened = _there(table.rows[size])
    if answered is None:
        table.keep(opened)
        notes = [f"{_without(opened)}"] if not opened.all() else []
        if size.strip().casefold() == ANSWERED:
            table.rows = _turned(table.rows, chosen)
            return [*notes, "sizes are those of who answered a connection"]
        return [*notes, "sizes are those of who opened a connection; --size names others"]
    back = _there(table.rows[answered])
    notes = [_without(opened | back)] if not (opened | back).all() else []
    turned = _turned(table.rows, chosen).with_columns(table.rows[answered].alias(size))
    table.keep(opened, turned.filter(back), table.kept.filter(back))
    notes.append(
        f"both ways of a connection are flows: {opened.sum():,} of who opened one, "
        f"{back.sum():,} of who answered ({answered})"
    )
    return notes


def _without(there: pl.Series) -> str:
    return f"{len(there) - int(there.sum()):,} connections without a byte are left out"


def _there(sizes: pl.Series) -> pl.Series:
    """Where a connection has bytes; what is no number stays, to be refused."""
    import polars as pl

    text = sizes.str.strip_chars() if sizes.dtype == pl.String else sizes.cast(pl.String)
    return ~text.fill_null("0").is_in(["0", "-"])


def _turned(rows: pl.DataFrame, chosen: Mapping[Any, tuple[str, str]]) -> pl.DataFrame:
    """The same from the other end; ports stay, as they may be what classes are told by."""
    if "source" not in chosen or "destination" not in chosen:
        return rows
    one, other = chosen["source"][0], chosen["destination"][0]
    return rows.with_columns(rows[other].alias(one), rows[one].alias(other))


def _records(table: Table, size: str, protocol: str, packets: str) -> list[str]:
    import polars as pl

    rows = table.rows.select(pl.col(size, packets, protocol).cast(pl.String).str.strip_chars())
    sizes, counts = (rows[name].cast(pl.Float64, strict=False) for name in (size, packets))
    tcp = rows[protocol].str.to_lowercase().is_in(TCP)
    bare = (tcp & (sizes <= counts * HEADERS_BYTES)).fill_null(False)
    if not bare.any():
        return []
    table.keep(~bare)
    return [
        f"{bare.sum():,} records of acknowledgements alone are left out (TCP, at most "
        f"{HEADERS_BYTES} B a packet)"
    ]
