"""Tables and lines before anybody draws them: the terminal and pages show the same ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from html import escape
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["number", "name", "text", "state"]
"""Numbers stand to the right; only text is broken into lines. A state is ``met`` or the like."""


@dataclass(frozen=True)
class Column:
    """A column; its name may have line breaks."""

    name: str
    kind: Kind = "text"


@dataclass
class Table:
    """Cells as people read them.

    Attributes:
        title: empty for none.
        columns: from left to right.
        rows: a text for each column.
        ends: numbers of the rows that end a group.
    """

    title: str
    columns: tuple[Column, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    ends: set[int] = field(default_factory=set)

    def add(self, *cells: str, ends: bool = False) -> None:
        """Adds a row, which may end a group."""
        if ends:
            self.ends.add(len(self.rows))
        self.rows.append(cells)


@dataclass(frozen=True)
class Line:
    """A sentence under a table; a soft one is of less weight."""

    text: str
    soft: bool = False


Part: TypeAlias = Table | Line


def numbers(*names: str) -> tuple[Column, ...]:
    """Columns of numbers."""
    return tuple(Column(name, "number") for name in names)


def cut(table: Table, most_rows: int, whole: str) -> list[Part]:
    """A table of at most so many rows, and where the others are.

    Args:
        table: all of it.
        most_rows: that are kept.
        whole: name of the file that has all rows.
    """
    left = len(table.rows) - most_rows
    if left <= 0:
        return [table]
    short = replace(table, rows=table.rows[:most_rows])
    return [short, Line(f"... and {left:,} more rows, which {whole} has", soft=True)]


def html(parts: Iterable[Part]) -> str:
    """Tables and lines as a notebook shows them: plain HTML, with the notebook's own look."""
    return "\n".join(map(_html, parts))


def _html(part: Part) -> str:
    if isinstance(part, Line):
        opacity = ' style="opacity: 0.7"' if part.soft else ""
        return f"<div{opacity}>{escape(part.text)}</div>"
    sides = ["right" if column.kind == "number" else "left" for column in part.columns]

    def row(tag: str, cells: Iterable[str], style: str = "") -> str:
        inside = "".join(
            f'<{tag} style="text-align: {side}{style}">{escape(cell)}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{inside}</tr>"

    head = row("th", (column.name.replace("\n", " ") for column in part.columns))
    line = "; border-bottom: 1px solid"
    body = [row("td", cells, line if i in part.ends else "") for i, cells in enumerate(part.rows)]
    title = f"<caption>{escape(part.title)}</caption>" if part.title else ""
    return f"<table>{title}<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"
