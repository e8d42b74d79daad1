"""Tables of sweeps and stores for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from fctlab.sweep.grid import show

if TYPE_CHECKING:
    import polars as pl

    from fctlab.sweep import Estimated

MOST_ROWS = 200


def estimated(found: Estimated) -> Table:
    """What a sweep will cost."""
    table = Table(show_header=False, box=None)
    most = f", up to {found.most_points:,}" if found.most_points > found.points else ""
    table.add_row("cells", f"{found.cells:,}")
    table.add_row("points", f"{found.points:,}{most}; {found.there:,} are there")
    table.add_row("CPU hours", f"{found.cpu_hours:.3g} for the points that are missing")
    table.add_row("disk", f"{max(found.disk_bytes, 1e5) / 1e6:,.1f} MB")
    return table


def listing(frame: pl.DataFrame) -> Table:
    """Points of a store."""
    table = Table(caption=f"{len(frame):,} points")
    for name in frame.columns:
        table.add_column(name)
    for row in frame.head(MOST_ROWS).iter_rows():
        table.add_row(*("" if value is None else show(value) for value in row))
    if len(frame) > MOST_ROWS:
        table.add_row(f"... and {len(frame) - MOST_ROWS:,} more (--json has all)")
    return table
