"""How every table looks in the terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Literal

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fctlab import tables

NARROW = 80
"""Letters of the narrowest terminal that tables are made for."""
SHORT = 7
"""Letters of a name that are always in its first line."""


def shown(parts: Iterable[tables.Part]) -> Group:
    """Tables and lines, one below the other."""
    return Group(*map(_part, parts))


def _part(part: tables.Part) -> RenderableType:
    if isinstance(part, tables.Line):
        return Text(part.text, style="dim" if part.soft else "")
    return _Fitting(part)


class _Fitting:
    """A table that is narrow where the terminal is."""

    def __init__(self, part: tables.Table) -> None:
        self._wide = _filled(frame(part.title), part.columns, part.rows, part.ends)
        self._narrow = _narrow(part) if part.ends else _close(part)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        whole, least = (_width(console, each) for each in (self._wide, self._narrow))
        return Measurement(min(least.minimum, whole.minimum), whole.maximum)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        fits = _width(console, self._wide).minimum <= options.max_width
        yield self._wide if fits else self._narrow


def _width(console: Console, renderable: RenderableType) -> Measurement:
    return console.measure(renderable, options=console.options.update(max_width=1000))


def _close(part: tables.Table) -> Table:
    """The same with less space between columns."""
    table = _filled(frame(part.title), part.columns, part.rows)
    table.padding = (0, 0)
    return table


def _narrow(part: tables.Table) -> Group:
    """The same with a line above each group of rows, and less space between columns.

    The line has the first column, which names the group, or all numbers that come first, and what
    all its rows have in common wherever a group has several.
    """
    first = next((i for i, each in enumerate(part.columns) if each.kind != "number"), 0)
    starts = [0, *(end + 1 for end in sorted(part.ends))]
    groups = [part.rows[a:b] for a, b in pairwise([*starts, len(part.rows)]) if a < b]
    several = [rows for rows in groups if len(rows) > 1]
    places = range(max(first, 1), len(part.columns))
    common = [
        i for i in places if several and all(len({row[i] for row in rows}) == 1 for rows in several)
    ]
    kept = [i for i in places if i not in common]
    columns = [part.columns[i] for i in kept]
    cells = [[[row[i] for i in kept] for row in rows] for rows in groups]
    if sum(_widths(columns, cells)) + len(columns) - 1 > NARROW:
        cells = [[[cell.replace(" ±", "±") for cell in row] for row in rows] for rows in cells]
    widths = _widths(columns, cells)
    # Names of any length: what does not fit goes on below.
    widths[0] = min(widths[0], max(SHORT, NARROW - sum(widths[1:]) - len(columns) + 1))

    def close(rows: Sequence[Sequence[str]]) -> Table:
        table = _filled(frame(""), columns, rows)
        table.padding, table.show_edge, table.show_header = (0, 0), False, not rows
        for column, width in zip(table.columns, widths, strict=True):
            column.min_width = column.max_width = width
        table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"
        return table

    shown: list[RenderableType] = [Text(part.title, style="bold"), close([])]
    for rows, shorter in zip(groups, cells, strict=True):
        named = [f"{each.name} {rows[0][i]}" for i, each in enumerate(part.columns[:first])]
        told = [*(named or rows[0][:1]), *(f"{rows[0][i]} {part.columns[i].name}" for i in common)]
        shown += [Text(", ".join(told).replace("\n", " "), style="bold"), close(shorter)]
    return Group(*shown, Text())


def _widths(
    columns: Sequence[tables.Column], groups: Sequence[Sequence[Sequence[str]]]
) -> list[int]:
    """Letters of the longest line of each column."""
    names = [[column.name for column in columns]]
    rows = [*names, *(row for group in groups for row in group)]
    return [
        max(len(line) for cell in column for line in cell.split("\n"))
        for column in zip(*rows, strict=True)
    ]


def _filled(
    table: Table,
    columns: Iterable[tables.Column],
    rows: Sequence[Sequence[str]],
    ends: Collection[int] = (),
) -> Table:
    for column in columns:
        side: Literal["left", "right"] = "right" if column.kind == "number" else "left"
        table.add_column(column.name, justify=side, no_wrap=column.kind != "text")
    for i, row in enumerate(rows):
        table.add_row(*row, end_section=i in ends)
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
