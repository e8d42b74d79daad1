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
from fctlab.slo import saved, words
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
    ranges = [(path, _ends([cell[path] for cell in cells])) for path in found.paths]
    return Page(
        title=found.spec or directory.resolve().name,
        kind="what-if: SLIs and SLOs over a range",
        headlines=headlines(words.regions(found)),
        advice=words.after_whatif(found, str(spec)),
        facts=[*ranges, *facts(kinds.read_json(spec))],
        choices=[_classes(found, several=True)],
        sections=[
            *([Section("Where SLOs hold", charts=[_verdicts(places, points)])] if judged else []),
            Section("SLIs", charts=_slis(found, places, points)),
            Section("Results", cut(words.whatif(found), MOST_ROWS, kinds.WHATIF[0])),
        ],
        beside=" and ".join(kinds.WHATIF),
    )


def _ends(values: Sequence[float]) -> str:
    different = sorted(set(values))
    return f"{different[0]:g} to {different[-1]:g}, {len(different)} values"


def _classes(found: WhatIf, *, several: bool) -> Choice:
    names = [(each.name, each.name) for each in found.points[0].classes]
    return Choice("class", "Classes" if several else "Class", names, several=several)


def _verdicts(places: Places, points: Sequence[Point | None]) -> Chart:
    """Verdicts of each class, and of all together, over the values."""
    names = [each.name for point in points if point for each in point.classes]
    columns = [EVERY, *dict.fromkeys(names)]
    classes = Dimension(Axis("class", words=True), columns, columns)
    grid = [*places.dimensions, classes]
    verdicts = []
    for point in points:
        found = {each.name: each.verdict for each in point.classes} if point else {}
        verdicts += [words.worst(found.values()), *(found.get(name) for name in columns[1:])]
    return Chart(
        "verdicts",
        "Verdicts",
        "✓ met, ✗ violated, ? undecided: the 99% interval is on both sides of a threshold, "
        "or too few flows stand behind an SLI.",
        "map",
        grid[0].axis,
        Axis("SLO", words=True, states=words.VERDICTS),
        [Series({}, (), verdicts)],
        choices=slices(grid, 2),
        grid=grid,
    )


def _slis(found: WhatIf, places: Places, points: Sequence[Point | None]) -> list[Chart]:
    """SLIs along a value and, of two values, over both."""
    series, axes = [], {}
    for k, each in enumerate(found.points[0].classes):
        for i, sli in enumerate(each.slis):
            name = f"{sli.name} ({sli.attr})"
            axes[name] = AXES[sli.attr]
            classes = [point.classes[k] if point else None for point in points]
            series.append(_series({"class": each.name, "sli": name}, classes, i))
    choice = Choice("sli", "SLI", [(name, name) for name in axes])
    grid = places.dimensions
    charts = [
        Chart(
            "along",
            "Along one value",
            "Bars are 95% intervals. Dashed: thresholds of the SLO, in the colour of their class.",
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
                "Over both values",
                "Point at a cell for its interval and verdict.",
                "map",
                grid[0].axis,
                axes,
                series,
                choices=[*slices(grid, 2), _classes(found, several=False), choice],
                by="sli",
                grid=grid,
            )
        )
    return charts


def _series(keys: dict[str, str], classes: Sequence[ClassPrediction | None], number: int) -> Series:
    """An SLI of a class, by its number, at every point."""
    slis = [each.slis[number] if each else None for each in classes]
    known = [sli if sli and sli.flows else None for sli in slis]
    ends = [sli.ci95 if sli and sli.enough else (None, None) for sli in known]
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
