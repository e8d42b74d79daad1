"""Sweeps as their directories have them, and grids found again in bare stores of points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fctlab.errors import SpecError
from fctlab.results import kinds
from fctlab.results.points import PointStore
from fctlab.sweep.grid import Kind, show
from fctlab.sweep.table import as_cell, rows_of, summary_frame

if TYPE_CHECKING:
    import polars as pl

MOST_POINTS = 20_000
"""Of a bare store: every one of them is read."""
FIRST = ("traffic.load", "name")
"""Paths that are axes before others that say the same."""
NO_AXES = ("seed", "base_rtt_s", "scheme.name")


class Rule(msgspec.Struct, frozen=True):
    """What decisions are about.

    Attributes:
        metric: as the sweep names it.
        against: the scheme that others are divided by; ``None`` for the value itself.
    """

    metric: str
    against: str | None


class Value(msgspec.Struct, frozen=True):
    """What is known after so many seeds.

    Attributes:
        seeds: how many.
        ratio: of the metric to that of the other scheme, or the value itself: a geometric mean.
        low: the lower end of the rule's interval.
        high: the upper end.
    """

    seeds: int
    ratio: float
    low: float
    high: float


class Decision(msgspec.Struct, frozen=True):
    """What is known of one scheme in one cell.

    Attributes:
        cell: its place in `cells`, from 0.
        scheme: that is judged; ``None`` for the scenario's own.
        verdict: why no seeds are added, or ``"open"``.
        found: ratio and interval; ``None`` where a value is only a lower bound.
        seeds_needed: about how many would be enough, where it is open.
        cpu_hours_needed: about what these would cost.
        why: it is open.
    """

    cell: int
    scheme: str | None
    verdict: str
    found: Value | None
    seeds_needed: float | None
    cpu_hours_needed: float | None
    why: str


class Point(msgspec.Struct, frozen=True):
    """Where a point belongs.

    Attributes:
        cell: its place in `cells`, from 0.
        scheme: that was run; ``None`` for the scenario's own.
        seed: that it was run with.
        key: its name in the store.
    """

    cell: int
    scheme: str | None
    seed: int
    key: str


class Saved(msgspec.Struct, frozen=True, dict=True):
    """A sweep: what `fctlab.sweep.Sweep.report` has.

    Attributes:
        sweep: its name.
        cells: values by path; combinations of the axes.
        summary: rows of `Sweep.summary`.
        decisions: per cell and scheme, where there is a rule.
        points: all of them.
        until: what the decisions are about; ``None`` without a rule.
        left_out: points of a store that are not of the kind that is shown.
    """

    sweep: str
    cells: tuple[dict[str, Any], ...]
    summary: tuple[dict[str, Any], ...]
    decisions: tuple[Decision, ...]
    points: tuple[Point, ...]
    until: Rule | None = None
    left_out: int = 0

    @classmethod
    def of(cls, report: object, where: str) -> Saved:
        """From plain values.

        Args:
            report: as `Sweep.report` has it.
            where: it is from, for errors.

        Raises:
            SpecError: it is no whole report.
        """
        try:
            return msgspec.convert(report, cls)
        except msgspec.ValidationError as error:
            raise SpecError(where, f"is not what fctlab sweep writes: {error}") from None

    @property
    def kind(self) -> Kind:
        """What was swept."""
        return "specification" if any("sli" in row for row in self.summary) else "scenario"

    @property
    def axes(self) -> list[str]:
        """Paths that cells have values of."""
        return [path for cell in self.cells[:1] for path in cell]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """`summary` as a table."""
        import polars as pl

        return pl.DataFrame(list(self.summary), infer_schema_length=None)

    @property
    def schemes(self) -> list[str]:
        """Names of the schemes, the baseline first; none of a specification."""
        return list(dict.fromkeys(row["scheme"] for row in self.summary if "scheme" in row))

    def name_of(self, cell: int) -> str:
        """A cell for people."""
        told = (f"{path}={show(value)}" for path, value in self.cells[cell].items())
        return ", ".join(told) or self.sweep


def read(directory: Path) -> Saved:
    """The sweep of a directory.

    Raises:
        SpecError: there is none, or not a whole one.
    """
    file = directory / kinds.SWEEP_FILE
    found = Saved.of(kinds.read_json(file), str(file))
    if not found.summary:
        raise SpecError(str(file), "has no point; fctlab sweep computes them")
    return found


def of_store(store: PointStore, name: str) -> Saved:
    """A grid that points of a store lie on: axes are the keys in which their inputs differ.

    Of scenarios and specifications those are shown of which there are more; what else a store
    holds, such as answers that a study asked for, is left out.

    Args:
        store: of points.
        name: of the sweep.

    Raises:
        SpecError: it is empty, holds a damaged point, nothing of either kind, or too many points.
    """
    keys = sorted(store.names())
    if not keys:
        raise SpecError(str(store.directory), "is an empty store: no point is finished")
    if len(keys) > MOST_POINTS:
        message = f"holds {len(keys):,} points; a page reads at most {MOST_POINTS:,}"
        raise SpecError(str(store.directory), f"{message}; name the directory of the sweep instead")
    by_kind: dict[Kind, list[tuple[dict[str, Any], Mapping[str, Any], str]]] = {}
    for key in keys:
        point = store.get(key)
        for kind in ("scenario", "specification"):
            tables = point.input.get(kind)
            if isinstance(tables, Mapping) and {"summary", "classes", "plan"} & point.found.keys():
                flat = dict(_flat(tables))
                by_kind.setdefault(kind, []).append((flat, point.found, key))
    if not by_kind:
        message = f"holds {len(keys):,} points, none of a scenario or a specification"
        raise SpecError(str(store.directory), message)
    kind, there = max(by_kind.items(), key=lambda pair: len(pair[1]))
    schemes = [str(flat.get("scheme.name", "")) for flat, _, _ in there]
    axes = axes_of([flat for flat, _, _ in there], schemes)
    cells: dict[str, int] = {}
    found_cells: list[dict[str, Any]] = []
    rows: dict[tuple[int, str, int], list[dict[str, Any]]] = {}
    points = []
    columns = {path: _column([flat.get(path) for flat, _, _ in there]) for path in axes}
    for number, ((flat, found, key), scheme) in enumerate(zip(there, schemes, strict=True)):
        settings = {path: column[number] for path, column in columns.items()}
        cell = cells.setdefault(repr(settings), len(cells))
        if cell == len(found_cells):
            found_cells.append(settings)
        head = {**settings, "scheme": scheme, "seed": flat["seed"], "key": key}
        # Builds of the engine may have found the same point: one of them is shown.
        rows[cell, scheme, flat["seed"]] = list(rows_of(kind, head, found))
        points.append(Point(cell, scheme, flat["seed"], key))
    import polars as pl

    frame = pl.DataFrame([row for each in rows.values() for row in each], infer_schema_length=None)
    summary = summary_frame(kind, axes, frame.sort(*axes, "scheme", "seed", nulls_last=True))
    return Saved(
        sweep=name,
        cells=tuple(found_cells),
        summary=tuple(summary.to_dicts()),
        decisions=(),
        points=tuple(points),
        left_out=len(keys) - len(there),
    )


def _column(values: Sequence[Any]) -> list[Any]:
    """Values of an axis, all of one type."""
    column = ["-" if value is None else as_cell(value) for value in values]
    numbers = all(isinstance(each, int | float) for each in column)
    return column if numbers else [show(each) for each in column]


def _flat(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted paths of tables; tables in a list that have names are told apart by them."""
    for key, value in tables.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}.")
        elif isinstance(value, list) and value and all("name" in _names(each) for each in value):
            for each in value:
                yield from _flat(each, f"{path}.{each['name']}.")
        else:
            yield path, value


def _names(value: object) -> Sequence[str]:
    return list(value) if isinstance(value, Mapping) else []


def axes_of(inputs: Sequence[Mapping[str, Any]], schemes: Sequence[str]) -> list[str]:
    """Paths in which inputs differ and that do not follow from the others and the scheme."""
    paths = list(dict.fromkeys([*FIRST, *(path for flat in inputs for path in flat)]))
    kept: list[str] = []
    told: list[tuple[Any, ...]] = [(scheme,) for scheme in schemes]
    for path in paths:
        longer = [(*one, repr(flat.get(path))) for one, flat in zip(told, inputs, strict=True)]
        if path not in NO_AXES and len(set(longer)) > len(set(told)):
            kept.append(path)
            told = longer
    return kept
