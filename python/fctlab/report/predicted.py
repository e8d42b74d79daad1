"""What the points of a swept specification predict, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from fctlab.errors import SpecError
from fctlab.results import kinds
from fctlab.results.points import PointStore
from fctlab.slo import words
from fctlab.slo.types import ClassPrediction, Point
from fctlab.sweep.saved import Saved
from fctlab.sweep.table import as_cell


def plain_cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    """A cell with its values as the summary has them."""
    return {axis: as_cell(value) for axis, value in cell.items()}


def judged(found: Saved, directory: Path) -> list[Point]:
    """What is predicted in each cell; nothing where not all points are in or below a directory.

    Of several seeds it is the worst verdict, and the mean of the SLIs with its interval.

    Raises:
        SpecError: a point is damaged.
    """
    place = kinds.store_in(directory)
    if place is None:
        return []
    store = PointStore(place)
    if any(point.key not in store for point in found.points):
        return []
    seeds: list[list[tuple[ClassPrediction, ...]]] = [[] for _ in found.cells]
    for point in found.points:
        seeds[point.cell].append(_classes(store, point.key))
    means = {}
    for row in found.summary:
        cell = {axis: row[axis] for axis in found.axes}
        means[repr(cell), row["class"], row["sli"]] = row
    return [
        Point(
            at=(),
            classes=tuple(
                _over_seeds(of_class, repr(plain_cell(cell)), means)
                for of_class in zip(*each, strict=True)
            ),
        )
        for cell, each in zip(found.cells, seeds, strict=True)
    ]


def _classes(store: PointStore, key: str) -> tuple[ClassPrediction, ...]:
    answer = store.get(key).found
    try:
        rows = answer["classes"] if "classes" in answer else answer["plan"]["classes"]
        return msgspec.convert(rows, tuple[ClassPrediction, ...])
    except (KeyError, msgspec.ValidationError) as error:
        raise SpecError(str(store.file(key)), f"is no answer about SLOs: {error}") from None


def _over_seeds(
    each: Sequence[ClassPrediction], cell: str, means: Mapping[tuple[str, str, str], Any]
) -> ClassPrediction:
    """A class in a cell, from its predictions with each seed."""
    first = each[0]
    if len(each) == 1:
        return first
    slis = []
    for sli in first.slis:
        row = means[cell, first.name, sli.name]
        ends = (row["value"] - row["value_ci95"], row["value"] + row["value_ci95"])
        slis.append(structs.replace(sli, value=row["value"], ci95=ends, ci99=ends, enough=True))
    verdict = words.worst(one.verdict for one in each)
    return structs.replace(first, slis=tuple(slis), verdict=verdict)
