"""Pages of what-ifs: where SLOs hold, and SLIs over one or two values of a specification."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fctlab.errors import SpecError
from fctlab.report.charts import Axis, Chart, Choice, Dimension, Series, rounded, slices
from fctlab.report.grids import Places
from fctlab.report.page import Page, Section
from fctlab.report.plans import facts, headlines
from fctlab.results import kinds
from fctlab.slo import advice, saved, words
from fctlab.slo.types import ClassPrediction, Point, WhatIf
from fctlab.tables import cut

MOST_ROWS = 1000
"""Of the table."""
EVERY = "every class"
AXES = {
    "slowdown": Axis("slowdown (FCT / ideal)", log=True),
    "fct": Axis("flow completion time", "s", log=True),
    "throughput": Axis("throughput", "bps", log=True),
}


def of_whatif(directory: Path) -> Page:
    """The page of a what-if."""
    if not (directory / kinds.WHATIF_FILE).exists():
        message = f"has no {kinds.WHATIF_FILE}, which a page is made of: run fctlab whatif again"
        raise SpecError(str(directory), message)
    found = saved.read(WhatIf, directory)
    if not found.points:
        raise SpecError(str(directory / kinds.WHATIF_FILE), "has no point")
    spec = directory / kinds.SPECIFICATION
    cells = [dict(zip(found.paths, point.at, strict=True)) for point in found.points]
    places = Places(cells)
    points: list[Point | None] = [None] * places.count
    for cell, point in zip(cells, found.points, strict=True):
        points[places.place(cell)] = point
    judged = any(each.verdict for point in found.points for each in point.classes)
    charts = slis(places, points)
    ranges = [(path, _ends([cell[path] for cell in cells])) for path in found.paths]
    return Page(
        title=found.spec or directory.resolve().name,
        kind="what-if: SLIs and SLOs over a range",
        headlines=headlines(words.regions(found)),
        advice=advice.after(found, str(spec)),
        facts=[*ranges, *facts(kinds.read_json(spec))],
        command=_command(found, spec),
        choices=[classes(points, several=True)],
        sections=[
            *([Section("Where SLOs hold", charts=[verdicts(places, points)])] if judged else []),
            *([Section("SLIs", charts=charts)] if charts else []),
            Section("Results", cut(words.whatif(found), MOST_ROWS, kinds.WHATIF[0])),
        ],
        beside=" and ".join(kinds.WHATIF),
    )


def _command(found: WhatIf, spec: Path) -> str:
    """What asks the same again."""
    varied = []
    for number, name in enumerate(found.paths):
        path, _, unit = name.removesuffix(")").partition(" (")
        values = dict.fromkeys(f"{point.at[number]:g}{unit}" for point in found.points)
        varied.append(f"--vary {path}={','.join(values)}")
    return f"fctlab whatif {spec} {' '.join(varied)}"


def _ends(values: Sequence[float]) -> str:
    different = sorted(set(values))
    return f"{different[0]:g} to {different[-1]:g}, {len(different)} values"


def _first(points: Sequence[Point | None]) -> Point:
    return next(point for point in points if point is not None)


def classes(points: Sequence[Point | None], *, several: bool) -> Choice:
    """A choice of the classes of all points."""
    names = [(each.name, each.name) for each in _first(points).classes]
    return Choice("class", "Classes" if several else "Class", names, several=several)


def verdicts(places: Places, points: Sequence[Point | None]) -> Chart:
    """Verdicts of each class, and of all together, over the values.

    Args:
        places: of the points.
        points: at each place what is predicted there, if anything is.
    """
    names = [each.name for point in points if point for each in point.classes]
    columns = [EVERY, *dict.fromkeys(names)]
    grid = [*places.dimensions, Dimension(Axis("class", words=True), columns, columns)]
    cells = []
    for point in points:
        found = {each.name: each.verdict for each in point.classes} if point else {}
        cells += [words.worst(found.values()), *(found.get(name) for name in columns[1:])]
    return Chart(
        "verdicts",
        "Verdicts",
        "✓ met, ✗ violated, ? undecided: the 99% interval is on both sides of a threshold, "
        "or too few flows stand behind an SLI.",
        "map",
        grid[0].axis,
        Axis("SLO", words=True, states=words.VERDICTS),
        [Series({}, (), cells)],
        choices=slices(grid, 2),
        grid=grid,
    )


def slis(places: Places, points: Sequence[Point | None]) -> list[Chart]:
    """SLIs along a value and, of two values, over both; nothing without SLIs.

    Args:
        places: of the points.
        points: at each place what is predicted there, if anything is.
    """
    series, axes = [], {}
    for k, each in enumerate(_first(points).classes):
        for i, sli in enumerate(each.slis):
            name = f"{sli.name} ({sli.attr})"
            axes[name] = AXES[sli.attr]
            here = [point.classes[k] if point else None for point in points]
            series.append(_series({"class": each.name, "sli": name}, here, i))
    if not series:
        return []
    choice = Choice("sli", "SLI", [(name, name) for name in axes])
    grid = places.dimensions
    charts = [
        Chart(
            "along",
            "Along one value",
            "Bars are 99% intervals, over several seeds 95%. Dashed: thresholds of the SLO, in the "
            "colour of their class.",
            "lines",
            grid[0].axis,
            axes,
            series,
            lines="class",
            choices=[*slices(grid, 1), choice],
            by="sli",
            grid=grid,
        )
    ]
    if len(grid) > 1:
        charts.append(
            Chart(
                "over",
                "Over two values",
                "Point at a cell for its interval and verdict.",
                "map",
                grid[0].axis,
                axes,
                series,
                choices=[*slices(grid, 2), classes(points, several=False), choice],
                by="sli",
                grid=grid,
            )
        )
    return charts


def _series(keys: dict[str, str], classes: Sequence[ClassPrediction | None], number: int) -> Series:
    """An SLI of a class, by its number, at every point."""
    slis = [each.slis[number] if each else None for each in classes]
    known = [sli if sli and sli.flows else None for sli in slis]
    ends = [sli.ci99 if sli and sli.enough else (None, None) for sli in known]
    marks = {
        bound
        for sli in slis
        if sli
        for target in sli.targets
        for bound in (target.below, target.above)
        if bound is not None
    }
    return Series(
        keys,
        (),
        rounded(sli.value if sli else None for sli in known),
        low=rounded(low for low, _ in ends),
        high=rounded(high for _, high in ends),
        notes=[f"SLO {each.verdict}" if each and each.verdict else "" for each in classes],
        marks=sorted(marks),
    )
