"""How every table looks."""

from __future__ import annotations

from rich import box
from rich.table import Table


def frame(title: str) -> Table:
    """An empty table."""
    return Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )


def whole(table: Table) -> Table:
    """Makes the columns that do not wrap as wide as what they hold."""
    for column in table.columns:
        if column.no_wrap:
            cells = [str(column.header), *map(str, column.cells)]
            column.min_width = max(len(line) for cell in cells for line in cell.split("\n"))
    return table


def numbers(table: Table, *names: str) -> None:
    """Adds columns of numbers."""
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
