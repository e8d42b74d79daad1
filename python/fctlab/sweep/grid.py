"""Sweep files: a scenario or specification, axes, seeds; and the points that they span.

::

    name = "marking"
    scenario = "websearch-leafspine.toml"      # or specification = "slo-two-classes.toml"
    schemes = ["dctcp", "pfabric"]
    loads = { from = 0.3, to = 0.9, steps = 7 }
    seeds = 5
    keep = "flows"                             # Parquet beside every point; "summary" without

    [axes]                                     # every combination of them
    scheme.transport.g = [0.0625, 0.25]

    [[linked]]                                 # these go together, value by value
    topology.host_rate = ["10Gbps", "25Gbps"]
    topology.fabric_rate = ["40Gbps", "100Gbps"]

A cell is one combination without scheme and seed: its runs see the same flows, seed by seed.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

from fctlab import choices, files
from fctlab.errors import SpecError
from fctlab.sweep.looks import Decided, Narrow, Rule
from fctlab.sweep.schema import MOST_SEEDS, MOST_STEPS, SCHEMA, UNTIL

Kind: TypeAlias = Literal["scenario", "specification"]
Settings: TypeAlias = tuple[tuple[str, Any], ...]
"""``(path, value)`` in the order of the axes."""

KEYS = tuple(SCHEMA["properties"])
SHORT = {"loads": "traffic.load", "workloads": "traffic.workload"}
RANGE = {"from", "to", "steps"}


@dataclass(frozen=True)
class Until:
    """When there are enough seeds.

    Attributes:
        metric: what is judged, such as ``"small.p99_slowdown"`` (``"web.tail"``, a class and its
            SLI, for a specification).
        against: the scheme that others are divided by, seed by seed; None for the value itself.
        rule: when the interval is good enough.
    """

    metric: str
    against: str | None
    rule: Rule


@dataclass(frozen=True)
class Cell:
    """One combination of the axes: what is compared with each other."""

    settings: Settings

    @property
    def name(self) -> str:
        """For people: ``traffic.load=0.5, ...``; empty where there are no axes."""
        return ", ".join(f"{path}={show(value)}" for path, value in self.settings)


@dataclass(frozen=True)
class Grid:
    """A sweep file, read and checked.

    Attributes:
        name: of the sweep.
        kind: what `base` is.
        base: file of the scenario or specification.
        sets: changes to it that hold for every point.
        schemes: presets or tables of the scenario, the baseline first; ``(None,)`` for its own.
        presets: directories of presets of your own, beside those of the scenario.
        cells: combinations of the axes.
        seeds: first seeds of every cell; more where `until` asks for them.
        until: when there are enough seeds; None for `seeds` as they are.
        keep: ``"summary"``, or ``"flows"`` for Parquet beside it.
        ask: of a specification: ``"predict"`` or ``"plan"``.
        max_seeds: never more.
        max_cpu_hours: no seed is added beyond.
    """

    name: str
    kind: Kind
    base: Path
    sets: Settings
    schemes: tuple[str | None, ...]
    presets: tuple[Path, ...]
    cells: tuple[Cell, ...]
    seeds: int
    until: Until | None
    keep: Literal["summary", "flows"]
    ask: Literal["predict", "plan"]
    max_seeds: int
    max_cpu_hours: float | None

    @property
    def axes(self) -> list[str]:
        """Paths that differ between cells."""
        return [path for cell in self.cells[:1] for path, _ in cell.settings]

    def shard(self, text: str) -> Grid:
        """The part ``3/16``: every sixteenth cell, whole.

        Raises:
            SpecError: that is no part.
        """
        match = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise SpecError("shard", f"{text!r} is not a part such as 3/16, from 1/16 to 16/16")
        part, parts = int(match[1]), int(match[2])
        if parts > len(self.cells):
            raise SpecError("shard", f"there are {len(self.cells):,} cells, not enough for {text}")
        return replace(self, cells=self.cells[part - 1 :: parts])


def show(value: object) -> str:
    """A value as a table shows it."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return str(value.get("kind") or value.get("name") or dict(value))
    return str(value)


def read(file: str | PathLike[str]) -> Grid:
    """Read a sweep file.

    Raises:
        SpecError: the first mistake, with the file, its key, and what is allowed.
    """
    path = Path(file)
    tables = files.read_tables(path, files.SWEEP)
    with files.located(path):
        return parse(tables, path.absolute().parent, path.stem)


def parse(value: Mapping[str, Any], folder: Path, name: str = "sweep") -> Grid:
    """A sweep from its tables.

    Args:
        value: the tables.
        folder: where its file names are taken from.
        name: unless it has one.

    Raises:
        SpecError: the first mistake, with its key and what is allowed.
    """
    for key in value:
        if key in ("scheme", "traffic", "topology"):
            raise SpecError(key, "is not a key of a sweep; write it under [axes] or [set]")
        choices.check(key, key, KEYS, "a key of a sweep")
    kinds: list[Kind] = [k for k in ("scenario", "specification") if k in value]
    if len(kinds) != 1:
        raise SpecError("scenario", "give either scenario or specification, a file")
    kind = kinds[0]
    base = folder / _text(kind, value[kind])
    if not base.is_file():
        raise SpecError(kind, f"{base} is no file")
    schemes: list[str | None] = [None]
    if "schemes" in value:
        schemes = [_text("schemes", name) for name in _listed("schemes", value["schemes"])]
    if kind == "specification":
        for key in ("schemes", "presets", "loads", "workloads"):
            if key in value:
                raise SpecError(key, "is of scenarios; a specification has axes only")
    seeds = _whole("seeds", value.get("seeds", 1), 1, MOST_SEEDS)
    until = _until(value["until"], schemes, kind) if "until" in value else None
    first = next(iter(until.rule.looks())) if until else seeds
    if until and "seeds" in value:
        raise SpecError("seeds", "and until contradict each other: until looks at fixed numbers")
    for key in ("max_seeds", "max_cpu_hours"):
        if key in value and not until:
            raise SpecError(key, "limits what until adds; without it the points are what they are")
    most = _whole("max_seeds", value.get("max_seeds", 1000), first, MOST_SEEDS)
    hours = value.get("max_cpu_hours")
    if hours is not None and not (_is_number(hours) and 0 < hours < math.inf):
        raise SpecError("max_cpu_hours", f"{hours!r} is not a number above zero")
    return Grid(
        name=_text("name", value.get("name", name)),
        kind=kind,
        base=base,
        sets=tuple(_flat("set", value.get("set", {}))),
        schemes=tuple(schemes),
        presets=tuple(_directories(value.get("presets", []), folder)),
        cells=tuple(_cells(value, kind)),
        seeds=first,
        until=until,
        keep=_one_of("keep", value.get("keep", "summary"), ("summary", "flows")),
        ask=_one_of("ask", value.get("ask", "predict"), ("predict", "plan")),
        max_seeds=most,
        max_cpu_hours=hours,
    )


def _directories(value: object, folder: Path) -> list[Path]:
    """One, or a list of them."""
    return [
        folder / _text("presets", one) for one in (value if isinstance(value, list) else [value])
    ]


def _cells(value: Mapping[str, Any], kind: Kind) -> Iterator[Cell]:
    """Every combination of the axes; what is linked counts as one axis."""
    axes: list[list[Settings]] = []
    for key, path in SHORT.items():
        if key in value:
            axes.append([((path, each),) for each in _listed(key, value[key])])
    for path, values in _flat("axes", value.get("axes", {})):
        axes.append([((path, each),) for each in _listed(f"axes.{path}", values)])
    linked = value.get("linked", [])
    if not isinstance(linked, list) or not all(isinstance(each, Mapping) for each in linked):
        raise SpecError("linked", "is not a list of tables; write [[linked]]")
    for number, table in enumerate(linked):
        where = f"linked[{number}]"
        columns = [(p, _listed(f"{where}.{p}", v)) for p, v in _flat(where, table)]
        lengths = {path: len(values) for path, values in columns}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{path} has {n}" for path, n in lengths.items())
            raise SpecError(where, f"axes that go together have equally many values; {told}")
        if columns:
            paths, values = zip(*columns, strict=True)
            axes.append([tuple(zip(paths, row, strict=True)) for row in zip(*values, strict=True)])
    seen = [path for axis in axes for path, _ in axis[0]]
    for path in seen:
        if path in ("seed", "name") or (kind == "scenario" and path == "scheme"):
            says = {"seed": "seeds", "scheme": "schemes"}.get(path, "name")
            raise SpecError(path, f"is no axis; say {says} at the top of the sweep")
        if seen.count(path) > 1:
            raise SpecError(path, "is an axis twice")
    for combination in itertools.product(*axes):
        yield Cell(tuple(itertools.chain.from_iterable(combination)))


def _flat(where: str, table: object, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted paths of a table of axes: ``a.b = [...]`` is written with or without quotes."""
    if not isinstance(table, Mapping):
        raise SpecError(where, f"{table!r} is not a table")
    for key, inner in table.items():
        path = f"{prefix}{key}"
        if isinstance(inner, Mapping) and not set(inner) & RANGE and (where != "set" or inner):
            yield from _flat(where, inner, f"{path}.")
        else:
            yield path, inner


def _listed(where: str, value: object) -> list[Any]:
    """Values of an axis: a list, or a range with both ends."""
    if isinstance(value, Mapping):
        if set(value) != RANGE:
            raise SpecError(where, "a range has the keys from, to and steps")
        ends = value["from"], value["to"]
        if not all(map(_is_number, ends)):
            raise SpecError(where, f"a range goes from a number to a number, not {ends!r}")
        steps = _whole(f"{where}.steps", value["steps"], 2, MOST_STEPS)
        step = (ends[1] - ends[0]) / (steps - 1)
        return [float(f"{ends[0] + k * step:.12g}") for k in range(steps)]
    if not isinstance(value, list):
        raise SpecError(where, f"{value!r} is not a list; write [{value!r}], or a range")
    if not value:
        raise SpecError(where, "is empty: there would be no point")
    for each in value:
        if value.count(each) > 1:
            raise SpecError(where, f"{show(each)} is listed {value.count(each)} times")
    return value


def _until(value: object, schemes: Sequence[str | None], kind: Kind) -> Until:
    if value == "decided":
        value = {"decided": True}
    if not isinstance(value, Mapping):
        raise SpecError("until", f'{value!r} is neither "decided" nor a table')
    known = UNTIL["properties"]
    for key in value:
        choices.check(f"until.{key}", key, known, "a key")
    if ("ci" in value) == ("decided" in value):
        raise SpecError("until", 'give either ci, such as "5%", or decided = true')
    several = kind == "scenario" and len(schemes) > 1
    against = value.get("against", schemes[0] if several else None)
    if against is not None and (against not in schemes or not several):
        listed = ", ".join(filter(None, schemes)) or "none"
        raise SpecError("until.against", f"{against!r} is not one of several schemes: {listed}")
    if "metric" not in value and kind == "specification":
        raise SpecError("until.metric", "is missing; name a class and its SLI, such as web.tail")
    metric = _text("until.metric", value.get("metric", "all.avg_slowdown"))
    if metric.count(".") < 1:
        raise SpecError("until.metric", f"{metric!r} is not written as in small.p99_slowdown")
    rule: Rule
    if "ci" in value:
        for key in ("margin", "alpha"):
            if key in value:
                raise SpecError(f"until.{key}", "belongs to decided, not to ci")
        rule = Narrow(_share("until.ci", value["ci"]))
    else:
        if value["decided"] is not True:
            raise SpecError("until.decided", f"{value['decided']!r} is not true")
        if against is None:
            raise SpecError("until.against", "is missing: a decision is about two schemes")
        margin = _share("until.margin", value.get("margin", "1%"))
        rule = Decided(margin, _share("until.alpha", value.get("alpha", "5%")))
    return Until(metric, against, rule)


def _share(where: str, value: object) -> float:
    """``"5%"`` or 0.05."""
    try:
        text = str(value).strip()
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if isinstance(value, bool) or not 0 < share < 1:
        raise SpecError(where, f"{value!r} is not a share above 0 and below 1, such as 5%")
    return share


def _whole(where: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SpecError(where, f"{value!r} is not a whole number from {least:,} to {most:,}")
    return value


def _text(where: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SpecError(where, f"{value!r} is not a text")
    return value


def _one_of(where: str, value: Any, known: Sequence[str]) -> Any:
    choices.check(where, value, known, "allowed")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
