"""An export in words and tables."""

from __future__ import annotations

from fctlab.export import effect
from fctlab.export.answer import Effect, Export, Steps
from fctlab.formats import sli_value
from fctlab.tables import Column, Line, Part, Table, numbers


def export(found: Export) -> list[Part]:
    """What to do, what is lost and what that does."""
    parts: list[Part] = []
    for each in found.steps:
        parts += _steps(each)
    if found.weights != found.written:
        parts.append(Line(f"Weights {_ratio(found.weights)} become {_ratio(found.written)}."))
    parts += [Line(line) for line in found.lost]
    return parts + _effects(found)


def _steps(each: Steps) -> list[Part]:
    lines = [f"== {each.role}"]
    for title, steps in (("apply", each.apply), ("look", each.look), ("back", each.back)):
        lines += [f"{title if i == 0 else '':6} {step}" for i, step in enumerate(steps)]
    lines += [f"{'note':6} {line}" for line in each.cannot]
    return [*map(Line, lines), Line("")]


def _effects(found: Export) -> list[Part]:
    if not found.effects:
        if found.weights:
            one, other = list(found.weights.values()), list(found.written.values())
            if not effect.proportional(one, other):
                return [Line("What that does to SLOs was not asked for (--no-predict).")]
            return [Line("Shares are written as planned, so nothing is predicted anew.")]
        return [Line("The result has no SLOs, so nothing is predicted.")]
    columns = (Column("class", "name"), Column("SLI", "name"), *numbers("planned", "written"))
    parts: list[Part] = []
    for cause in dict.fromkeys(each.cause for each in found.effects):
        table = Table(f"predicted where {cause}", (*columns, Column("target"), Column("SLO")))
        for each in found.effects:
            if each.cause == cause:
                table.add(*_row(each))
        parts.append(table)
    return parts


def _row(each: Effect) -> tuple[str, ...]:
    values = (sli_value(each.attr, value) for value in (each.planned, each.written))
    verdict: str = each.verdict or "-"
    if each.before != each.verdict:
        verdict = f"{each.verdict}, was {each.before}"
    return (each.traffic_class, each.sli, *values, each.target or "-", verdict)


def _ratio(weights: dict[str, int]) -> str:
    return " : ".join(f"{name} {weight}" for name, weight in weights.items())


def page(found: Export) -> str:
    """The same as text, for a file beside the others."""
    lines = [f"# {found.target}: {found.result}", ""]
    for file in found.files:
        lines.append(f"{file.name}: {file.what}")
    for part in export(found):
        if isinstance(part, Line):
            lines.append(part.text)
        else:
            lines += ["", part.title, *("  ".join(row) for row in _aligned(part)), ""]
    return "\n".join(lines) + "\n"


def _aligned(table: Table) -> list[list[str]]:
    rows = [[column.name for column in table.columns], *map(list, table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
