"""How every table looks in the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from fctlab import tables


def shown(parts: Iterable[tables.Part]) -> Group:
    """Tables and lines, one below the other."""
    return Group(*map(_part, parts))


def _part(part: tables.Part) -> Table | Text:
    if isinstance(part, tables.Line):
        return Text(part.text, style="dim" if part.soft else "")
    table = frame(part.title)
    for column in part.columns:
        side: Literal["left", "right"] = "right" if column.kind == "number" else "left"
        table.add_column(column.name, justify=side, no_wrap=column.kind != "text")
    for i, row in enumerate(part.rows):
        table.add_row(*row, end_section=i in part.ends)
    return whole(table)


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
