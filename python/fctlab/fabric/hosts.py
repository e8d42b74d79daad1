"""Hosts of a topology by what logs call them.

A host is known by its ``address`` or ``name`` in the tables of the topology, by a CSV file of
``address,host``, or, where neither says anything, by its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fctlab import readable
from fctlab.errors import SpecError

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("address", "host")
SHOWN = 3
"""Of names, in an error."""


def known(
    topology: Mapping[str, Any], count: int, file: str | PathLike[str] | None = None
) -> dict[str, int]:
    """What hosts are called, and their numbers.

    Args:
        topology: resolved.
        count: of its hosts.
        file: a CSV file with the columns ``address,host``; a host is a name or a number.

    Raises:
        SpecError: the file cannot be read, lacks a column, or names no host of the topology.
    """
    names = {str(number): number for number in range(count)}
    addresses: dict[str, int] = {}
    for number, host in enumerate(topology.get("hosts", ())):
        host = {"name": host} if isinstance(host, str) else host
        addresses |= {host[key]: number for key in ("name", "address") if key in host}
    if file is None:
        return addresses or names
    return addresses | _read(Path(file), {**names, **addresses})


def _read(file: Path, hosts: Mapping[str, int]) -> dict[str, int]:
    import polars as pl

    with readable.one_error(str(file), ""):
        rows = pl.read_csv(file, infer_schema=False, comment_prefix="#")
    for name in COLUMNS:
        if name not in rows.columns:
            have = ", ".join(rows.columns)
            raise SpecError(str(file), f"has no column {name}; it has {have}")
    found: dict[str, int] = {}
    for number, (address, host) in enumerate(rows.select(COLUMNS).iter_rows(), start=2):
        at = f"line {number}"
        if not address or not host or host.strip() not in hosts:
            raise SpecError(str(file), f"{at}: {host!r} is no host of the topology; {_some(hosts)}")
        if address.strip() in found:
            raise SpecError(str(file), f"{at}: {address} is there twice")
        found[address.strip()] = hosts[host.strip()]
    return found


def placed(flows: pl.DataFrame, hosts: Mapping[str, int], log: str) -> pl.DataFrame:
    """The flows with ``src`` and ``dst``, numbers of hosts.

    Args:
        flows: with ``source`` and ``destination``, see `fctlab.slo.flowlog.FlowLog`.
        hosts: see `known`.
        log: as errors call it.

    Raises:
        SpecError: the log has no addresses, or some that are of no host.
    """
    import polars as pl

    for end in ("source", "destination"):
        if end not in flows.columns:
            raise SpecError(log, f"has no column of {end}s, such as src and dst: no flow has a way")
    ends = pl.concat([flows["source"], flows["destination"].rename("source")])
    strange = ends.filter(~ends.is_in(list(hosts)).fill_null(False))
    if len(strange):
        counts = strange.value_counts(sort=True)
        first = counts["source"][0]
        more = f" and {len(counts) - 1:,} more" if len(counts) > 1 else ""
        raise SpecError(
            log,
            f"{first or 'nothing'} (in {counts['count'][0]:,} flows){more} is no host of the "
            f"topology, {_some(hosts)}: give it an address there, or name a file with --hosts",
        )
    return flows.with_columns(
        pl.col("source").replace_strict(hosts, return_dtype=pl.UInt32).alias("src"),
        pl.col("destination").replace_strict(hosts, return_dtype=pl.UInt32).alias("dst"),
    )


def _some(hosts: Mapping[str, int]) -> str:
    names = list(hosts)
    shown = ", ".join(names[:SHOWN])
    return f"whose hosts are {shown}" + (f", ... {names[-1]}" if len(names) > SHOWN else "")
