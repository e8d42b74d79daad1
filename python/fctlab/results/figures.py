"""The figures of runs and comparisons: which there are, what they say below, their files."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path

import polars as pl

from fctlab import choices, readable
from fctlab.errors import OutputError, SpecError
from fctlab.results import by_load as against_load
from fctlab.results import drawing, kinds, plots, store
from fctlab.results.comparison import Comparison
from fctlab.results.drawing import Drawing
from fctlab.results.plots import Curve
from fctlab.results.result import Result
from fctlab.results.words import SIZE_CLASSES

SIZES = ("all", "small", "large")
"""Rows of a figure against load unless others are asked for."""

BY_LOAD = {kinds.SLOWDOWN_BY_LOAD: "slowdown", kinds.FCT_BY_LOAD: "fct_s"}
"""Figures against load, and their metrics."""
Draw = Callable[[], Drawing]


def of_run(found: Result) -> dict[str, Draw]:
    """The figures that a run has, by the names of their files."""
    curve = Curve(found.scheme, None, [found.scan_flows()])
    caption = _sentences(
        found.title,
        f"{found.summary['flows'][0]:,} flows, one seed: no intervals",
        _unfinished(found.summary["unfinished"][0]),
    )
    figures: dict[str, Draw] = {
        kinds.FCT_CDF: partial(plots.fct_cdf, [curve], caption),
        kinds.SLOWDOWN: partial(plots.slowdown_by_size, [curve], caption),
    }
    ports = next((file for file in found.recordings if file.name == kinds.PORT_SERIES), None)
    if ports is not None:
        series = pl.read_parquet(ports)
        if series["up_to"].null_count() < len(series):
            figures[kinds.MAPPING] = partial(plots.mapping_over_time, series, found.title)
        if series["state_bytes"].sum():
            figures[kinds.STATE] = partial(plots.state_over_time, series, found.title)
    return figures


def of_comparison(found: Comparison) -> dict[str, Draw]:
    """The figures that a comparison has, by the names of their files."""
    groups: dict[tuple[float | None, str], list[pl.LazyFrame]] = {}
    for cell, result in zip(found.cells, found.results, strict=True):
        groups.setdefault((cell.load, cell.scheme), []).append(result.scan_flows())
    curves = [Curve(scheme, load, frames) for (load, scheme), frames in groups.items()]
    cdf, sizes = _caption(found, "bands"), _caption(found, "bars")
    figures: dict[str, Draw] = {
        kinds.FCT_CDF: partial(plots.fct_cdf, curves, cdf),
        kinds.SLOWDOWN: partial(plots.slowdown_by_size, curves, sizes),
    }
    if len(found.loads) > 1:
        figures |= {name: partial(by_load, found, metric) for name, metric in BY_LOAD.items()}
    return figures


def by_load(
    found: Comparison,
    metric: str,
    sizes: Sequence[str] = SIZES,
    traffic_class: str | None = None,
) -> Drawing:
    """See `Comparison.plot_by_load`."""
    _check_loads(found)
    choices.check("metric", metric, against_load.LABELS, "a metric")
    choices.check_all("sizes", sizes, SIZE_CLASSES, "a size class")
    wanted = _traffic_class(found, traffic_class)
    return against_load.by_load(
        found.summary.filter(pl.col("traffic_class") == wanted),
        metric,
        {size: SIZE_CLASSES[size] for size in sizes},
        _caption(found, "bars", sizes, wanted),
    )


def write(figures: Mapping[str, Draw], folder: Path) -> None:
    """Write figures as part of a result directory, as PNG."""
    for name, draw in figures.items():
        draw().savefig(folder / f"{name}.png")


def saved(
    directory: str | PathLike[str],
    *,
    only: Sequence[str] = (),
    sizes: Sequence[str] = SIZES,
    traffic_class: str | None = None,
) -> dict[str, Draw]:
    """The figures of a saved run or comparison, by name.

    Args:
        directory: where it is.
        only: names of figures; all that there are unless given.
        sizes: size classes of figures against load, see `Comparison.plot_by_load`.
        traffic_class: of figures against load.

    Raises:
        SpecError: the directory holds neither, or not a whole one; a name that is not there.
    """
    path = Path(directory)
    kind = kinds.kind_of(path)
    choices.check_all("sizes", sizes, SIZE_CLASSES, "a size class")
    if kind is kinds.RUN:
        figures = of_run(Result.load(path))
    elif kind is kinds.COMPARISON:
        found = Comparison.load(path)
        figures = of_comparison(found)
        if set(BY_LOAD) & set(only):
            _check_loads(found)
        _traffic_class(found, traffic_class)
        for name in set(BY_LOAD) & set(figures):
            figures[name] = partial(by_load, found, BY_LOAD[name], sizes, traffic_class)
    else:
        there = f"holds a {kind.name}" if kind else "holds no result"
        message = "figures are drawn of what fctlab run --out or fctlab compare --out saved"
        raise SpecError(str(path), f"{there}; {message}")
    if only:
        choices.check_all("only", only, figures, "a figure of it")
    return {name: partial(_whole, path, figures[name]) for name in only or figures}


def _whole(directory: Path, draw: Draw) -> Drawing:
    """Draws, where what is drawn can be read."""
    with readable.whole(directory):
        return draw()


def save(
    figures: Mapping[str, Draw],
    folder: str | PathLike[str],
    formats: Sequence[str] = kinds.FORMATS,
    *,
    force: bool = False,
) -> Iterator[tuple[list[Path], str]]:
    """Write figures, each file whole.

    Args:
        figures: by name.
        folder: made if need be.
        formats: some of `kinds.FORMATS`.
        force: also over files that are no figures of fctlab's; in a result directory any file of
            these names is one.

    Yields:
        The files of each figure, and its caption.

    Raises:
        SpecError: a format that is not there; nothing has been written.
        OutputError: a file cannot be written, or something else is in its place.
    """
    choices.check_all("formats", formats, kinds.FORMATS, "a format")
    made = store.as_directory(folder)
    try:
        made.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{made}: cannot be written: {error.strerror}") from None
    force = force or kinds.kind_of(made) in (kinds.RUN, kinds.COMPARISON)
    outputs = {
        name: {
            kind: store.FileOutput(made / f"{name}.{kind}", drawing.is_ours, force=force)
            for kind in formats
        }
        for name in figures
    }
    for name, draw in figures.items():
        figure = draw()
        for kind, output in outputs[name].items():
            picture = io.BytesIO()
            figure.savefig(picture, format=kind)
            output.write(picture.getvalue())
        yield [output.path for output in outputs[name].values()], figure.caption


def _traffic_class(found: Comparison, name: str | None) -> str:
    """A traffic class of a comparison; that of all flows where none is named."""
    there: list[str] = found.summary["traffic_class"].unique(maintain_order=True).to_list()
    wanted = there[0] if name is None else name
    choices.check("traffic_class", wanted, there, "a traffic class of it")
    return wanted


def _check_loads(found: Comparison) -> None:
    if len(found.loads) < 2:
        only = "none, of a trace" if found.loads[0] is None else f"only {found.loads[0]:g}"
        message = f"there is {only}; figures against load need two or more (compare --loads)"
        raise SpecError("loads", message)


def _caption(
    found: Comparison,
    intervals: str,
    sizes: Sequence[str] = ("all",),
    traffic_class: str | None = None,
) -> str:
    """What was drawn: scenario, seeds, what shows intervals, how many flows."""
    whole = found.summary.filter(
        pl.col("traffic_class") == (traffic_class or found.summary["traffic_class"][0])
    )
    if found.same_under_every_seed:
        sampled = "one trace, the same under every seed: no intervals"
    elif not found.draws:
        sampled = "one seed: no intervals"
    else:
        sample = "one trace, means" if found.one_trace else "means"
        sampled = f"{sample} of {found.draws}, {intervals}: 95% t intervals"
    counts, alone = [], list(sizes) == ["all"]
    for size in sizes:
        flows = whole.filter(pl.col("class") == size, pl.col("flows") > 0)["flows"].to_list()
        if flows:
            ends = dict.fromkeys(f"{end:,}" for end in (min(flows), max(flows)))
            counts.append(f"{'' if alone else f'{size} '}{' to '.join(ends)}")
    what = f"flows of {traffic_class}" if traffic_class not in (None, "all") else "flows"
    per = "of each scheme" + (" at each load" if len(found.loads) > 1 else "")
    return _sentences(
        found.results[0].title,
        sampled,
        f"{what} {per}: {', '.join(counts) or 'none'}",
        _unfinished(int(whole.filter(pl.col("class") == "all")["unfinished"].sum())),
    )


def _unfinished(flows: int) -> str:
    return f"{flows:,} flows had not finished; hollow: at least" if flows else ""


def _sentences(*parts: str) -> str:
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts if part)
