"""Pages of sweeps, and of stores of points without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fctlab.errors import SpecError
from fctlab.report import runs, whatifs
from fctlab.report.charts import Axis, Chart, Choice, Dimension, Series, rounded, slices
from fctlab.report.flows import ALL, ends
from fctlab.report.grids import Places
from fctlab.report.page import Page, Section
from fctlab.report.plans import headlines
from fctlab.report.predicted import judged, plain_cell
from fctlab.results import kinds
from fctlab.results.points import PointStore
from fctlab.slo import words as slo_words
from fctlab.slo.types import Point, WhatIf
from fctlab.sweep import saved, words
from fctlab.sweep.grid import show
from fctlab.sweep.saved import Saved

MOST_NUMBERS = 600_000
"""Of the charts of a page."""
MOST_ROWS = 500
"""Of a table."""
MOST_VALUES = 8
"""Of an axis, that are all named."""
SCHEMES = "scheme"


def of_sweep(directory: Path) -> Page:
    """The page of a sweep's directory."""
    return _page(saved.read(directory), directory, "sweep")


def of_store(directory: Path) -> Page:
    """The page of a store of points, or of a sweep that has not come to its end."""
    place = kinds.store_in(directory)
    assert place is not None
    found = saved.of_store(PointStore(place), directory.resolve().name)
    return _page(found, directory, "store of points")


def _page(found: Saved, directory: Path, what: str) -> Page:
    points = judged(found, directory) if found.kind == "specification" else []
    if points:
        return _of_slos(found, points, directory, what)
    charts = _scenarios(found) if found.kind == "scenario" else _specifications(found)
    choices = [_schemes(found)] if found.schemes else []
    drawn = [Section("What the axes do", charts=charts)] if charts else []
    return _around(found, directory, what, choices, drawn)


def _around(
    found: Saved, directory: Path, what: str, choices: Sequence[Choice], drawn: Sequence[Section]
) -> Page:
    """A page with what every sweep has, around its charts."""
    decided = words.decisions(found, MOST_ROWS)
    return Page(
        title=found.sweep,
        kind=f"{what}, {found.kind}s",
        facts=_facts(found),
        choices=choices,
        sections=[
            *([Section("Enough seeds?", decided)] if decided else []),
            *drawn,
            Section("Results", words.summary(found, MOST_ROWS)),
        ],
        beside=kinds.SUMMARY if (directory / kinds.SUMMARY).is_file() else "",
    )


def _of_slos(found: Saved, points: Sequence[Point], directory: Path, what: str) -> Page:
    """The page of swept specifications: as that of a what-if, over any number of axes."""
    cells = [plain_cell(cell) for cell in found.cells]
    places = Places(cells)
    there: list[Point | None] = [None] * places.count
    for cell, point in zip(cells, points, strict=True):
        there[places.place(cell)] = point
    told = slo_words.regions(WhatIf(spec=found.sweep, paths=(), points=tuple(points)))
    drawn = []
    if places.dimensions and told:
        drawn.append(Section("Where SLOs hold", charts=[whatifs.verdicts(places, there)]))
    if places.dimensions:
        drawn.append(Section("SLIs", charts=whatifs.slis(places, there)))
    page = _around(found, directory, what, [whatifs.classes(there, several=True)], drawn)
    return replace(page, headlines=headlines(told))


def _facts(found: Saved) -> list[tuple[str, str]]:
    seeds = sorted({row["seeds"] for row in found.summary})
    several = f"{seeds[0]:,}" if len(seeds) == 1 else f"{seeds[0]:,} to {seeds[-1]:,}"
    base = " (ratios are to the first)" if len(found.schemes) > 1 else ""
    left_out, cells = found.left_out, len(found.cells)
    return [
        *([("schemes", ", ".join(found.schemes) + base)] if found.schemes else []),
        *((axis, _values(found, axis)) for axis in found.axes),
        ("points", f"{len(found.points):,} in {cells:,} cell{'s'[: cells > 1]}"),
        ("seeds", f"{several} of each cell" + (" and scheme" if found.schemes else "")),
        *([("not shown", f"{left_out:,} points of other kinds")] if left_out else []),
    ]


def _values(found: Saved, axis: str) -> str:
    """The values of an axis, or its ends where they are many."""
    values = list(dict.fromkeys(show(row[axis]) for row in found.summary))
    if len(values) <= MOST_VALUES:
        return ", ".join(values)
    return f"{values[0]}, {values[1]}, ..., {values[-1]} ({len(values)} values)"


def _schemes(found: Saved) -> Choice:
    return Choice(SCHEMES, "Schemes", [(name, name) for name in found.schemes], several=True)


@dataclass(frozen=True)
class Extent:
    """How much of every cell a page shows."""

    sizes: Sequence[str]
    traffic: Sequence[str]
    statistics: Sequence[str]

    @property
    def numbers(self) -> int:
        """Of a cell and scheme: values with their intervals, and ratios with theirs."""
        return 12 * len(self.sizes) * len(self.traffic) * len(self.statistics)


def _extent(found: Saved, combinations: int) -> Extent:
    """As much as fits: without traffic classes, then the median, then sizes, if need be.

    Raises:
        SpecError: not even one statistic of all flows does.
    """
    sizes = [value for value, _ in runs.sizes(found.frame).options]
    traffic = list(dict.fromkeys(row["traffic_class"] for row in found.summary))
    traffic = traffic[: runs.MOST_TRAFFIC + 1] if len(traffic) > 2 else [ALL]
    statistics = [value for value, _ in runs.STATISTIC.options]
    tries = (
        Extent(sizes, traffic, statistics),
        Extent(sizes, [ALL], statistics),
        Extent(sizes, [ALL], ["p99", "avg"]),
        Extent([size for size in sizes if size in (ALL, "small")], [ALL], ["p99", "avg"]),
        Extent([ALL], [ALL], ["p99"]),
    )
    for tried in tries:
        if tried.numbers * combinations * len(found.schemes) <= MOST_NUMBERS:
            return tried
    message = f"has {combinations:,} cells, more than a page can show; summary.csv has them"
    raise SpecError(found.sweep, message)


def _scenarios(found: Saved) -> list[Chart]:
    """Metrics of schemes against an axis and over two; side by side where there is no axis."""
    axes = found.axes
    places = _places(found, axes)
    if not places.dimensions:
        axes = [*axes, SCHEMES]
        places = _places(found, axes)
    if not places.dimensions:
        return []
    extent = _extent(found, places.count)
    series = list(_of_schemes(found, places, extent))
    base = found.schemes[0]
    metrics = list(runs.SLOWDOWN_FIRST.options)
    values = dict(runs.AXES)
    if len(found.schemes) > 1:
        for name, title in runs.SLOWDOWN_FIRST.options:
            metrics.append((f"{name}_ratio", f"{title}, ratio to {base}"))
            values[f"{name}_ratio"] = Axis(f"{title}, ratio to {base}", log=True, centre=1)
    choices = [
        Choice("metric", "Metric", metrics),
        _some(runs.STATISTIC, extent.statistics),
        _some(runs.sizes(found.frame), extent.sizes),
        Choice("traffic", "Traffic class", [(name, name) for name in extent.traffic]),
    ]
    # The baseline last: its ratios to itself say nothing.
    one = Choice(SCHEMES, "Scheme", [(name, name) for name in (*found.schemes[1:], base)])
    return _charts(places.dimensions, series, values, choices, SCHEMES, [one])


def _places(found: Saved, axes: Sequence[str]) -> Places:
    """Where cells are, by their values as the summary has them."""
    cells = [{axis: row[axis] for axis in axes} for row in found.summary]
    return Places(list({repr(cell): cell for cell in cells}.values()))


def _some(choice: Choice, wanted: Sequence[str]) -> Choice:
    return replace(choice, options=[(v, label) for v, label in choice.options if v in wanted])


def _of_schemes(found: Saved, places: Places, extent: Extent) -> Iterator[Series]:
    groups: dict[tuple[str, str, str], list[dict[str, Any] | None]] = {}
    for row in found.summary:
        if row["class"] in extent.sizes and row["traffic_class"] in extent.traffic:
            key = (row["scheme"], row["class"], row["traffic_class"])
            groups.setdefault(key, [None] * places.count)[places.place(row)] = row
    for (scheme, size, traffic), rows in groups.items():
        keys = {SCHEMES: scheme, "size": size, "traffic": traffic}
        for metric, _ in runs.METRIC.options:
            for statistic in extent.statistics:
                shown = {**keys, "statistic": statistic}
                name = f"{statistic}_{metric}"
                yield _values_of(rows, name, {**shown, "metric": metric})
                if len(found.schemes) > 1:
                    yield _ratios_of(rows, name, {**shown, "metric": f"{metric}_ratio"})


def _column(rows: Sequence[Mapping[str, Any] | None], name: str) -> list[Any]:
    return [None if row is None else row[name] for row in rows]


def _values_of(
    rows: Sequence[Mapping[str, Any] | None], name: str, keys: Mapping[str, str]
) -> Series:
    values = _column(rows, name)
    low, high = ends(values, _column(rows, f"{name}_ci95"))
    bounds = _column(rows, f"{name}_lower_bound")
    return Series(
        keys,
        (),
        rounded(values),
        low=low,
        high=high,
        open=[place for place, bound in enumerate(bounds) if bound],
    )


def _ratios_of(
    rows: Sequence[Mapping[str, Any] | None], name: str, keys: Mapping[str, str]
) -> Series:
    low, high = (rounded(_column(rows, f"{name}_ratio_{end}")) for end in ("low", "high"))
    known = any(end is not None for end in low)
    return Series(
        keys,
        (),
        rounded(_column(rows, f"{name}_ratio")),
        low=low if known else (),
        high=high if known else (),
    )


def _specifications(found: Saved) -> list[Chart]:
    """SLIs against an axis and over two, from the summary alone."""
    places = _places(found, found.axes)
    if not places.dimensions:
        return []
    groups: dict[tuple[str, str], list[dict[str, Any] | None]] = {}
    for row in found.summary:
        key = (row["class"], row["sli"])
        groups.setdefault(key, [None] * places.count)[places.place(row)] = row
    series = []
    for (name, sli), rows in groups.items():
        values = _column(rows, "value")
        low, high = ends(values, _column(rows, "value_ci95"))
        keys = {"sli": f"{name} {sli}"}
        series.append(Series(keys, (), rounded(values), low=low, high=high))
    options = [(each.keys["sli"], each.keys["sli"]) for each in series]
    lines, one = (Choice("sli", "SLI", options, several=several) for several in (True, False))
    value = {"": Axis("SLI", log=True)}
    return _charts(places.dimensions, series, value, [], "sli", [one], [lines])


def _charts(
    grid: Sequence[Dimension],
    series: Sequence[Series],
    values: Mapping[str, Axis],
    choices: Sequence[Choice],
    lines: str,
    of_map: Sequence[Choice],
    of_lines: Sequence[Choice] = (),
) -> list[Chart]:
    """Lines along one dimension and, where there are two, colours over two.

    Args:
        grid: the dimensions.
        series: over them.
        values: the axis of values, by metric; of any name if there is one.
        choices: of both charts.
        lines: the key that tells lines apart.
        of_map: choices of the map alone.
        of_lines: choices of the lines alone.
    """
    by = "metric" if len(values) > 1 else ""
    axis: Any = values if by else next(iter(values.values()))
    made = [
        Chart(
            "one",
            "Against one axis",
            "Bars are 95% intervals over the seeds. " + runs.HOLLOW,
            "lines",
            grid[0].axis,
            axis,
            series,
            lines=lines,
            choices=[*slices(grid, 1), *of_lines, *choices],
            by=by,
            grid=grid,
        )
    ]
    if len(grid) > 1:
        made.append(
            Chart(
                "two",
                "Over two axes",
                "Point at a cell for its interval. > : at least, since flows had not finished. Of "
                "ratios, blue is less than the baseline and orange more.",
                "map",
                grid[0].axis,
                axis,
                series,
                choices=[*slices(grid, 2), *of_map, *choices],
                by=by,
                grid=grid,
            )
        )
    return made
