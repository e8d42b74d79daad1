"""What if: a specification's SLIs and SLOs over a range of one or two of its values."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fctlab import choices, memory
from fctlab.errors import SpecError
from fctlab.jobs import Job, Told, cores, do_all
from fctlab.slo import planning
from fctlab.slo.types import ClassPrediction, Point, WhatIf

if TYPE_CHECKING:
    from fctlab.results.drawing import Drawing

BYTES_PER_POINT = 20_000
"""Of a point's specification and rows, a generous estimate."""

NUMBER = re.compile(r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)([A-Za-z]*)")


@dataclass(frozen=True)
class Varied:
    """A value of the specification that takes several values.

    Attributes:
        path: keys with dots between, such as ``classes.web.load``.
        numbers: its values.
        unit: of each, such as ``Gbps``; empty for plain numbers.
    """

    path: str
    numbers: tuple[float, ...]
    unit: str = ""

    @property
    def name(self) -> str:
        """For columns and axes."""
        return f"{self.path} ({self.unit})" if self.unit else self.path

    def change(self, number: float) -> str:
        """As `planning.load` takes it."""
        return f"{self.path}={number:g}{self.unit}"


def read(text: str) -> Varied:
    """``classes.web.load=0.1:0.5:5`` (from, to, how many) or ``classes.web.rate=1Gbps,2Gbps``.

    Raises:
        SpecError: it is neither, or the units differ.
    """
    path, equals, listed = text.partition("=")
    ranged = listed.split(":")
    parts = [
        NUMBER.fullmatch(each.strip())
        for each in (ranged[:2] if ":" in listed else listed.split(","))
    ]
    units = {part[2] for part in parts if part}
    try:
        if not equals or not path.strip() or None in parts or len(units) != 1:
            raise ValueError
        numbers = [float(part[1]) for part in parts if part]
        if ":" in listed:
            _, _, count = ranged
            first, last = numbers
            memory.check("vary", int(count), "points", BYTES_PER_POINT)
            numbers = np.linspace(first, last, int(count)).tolist()
    except SpecError:
        raise
    except (ValueError, TypeError):
        message = f"{text!r} is not PATH=FROM:TO:COUNT or PATH=A,B,C with numbers of one unit"
        raise SpecError("vary", message) from None
    if len(numbers) < 2:
        raise SpecError("vary", f"{text!r} has fewer than two values")
    return Varied(path.strip(), tuple(numbers), units.pop())


def predicted(given: Mapping[str, Any], told: Told) -> tuple[ClassPrediction, ...]:
    """What `planning.predict` says of the classes.

    Args:
        given: ``spec``, resolved, and ``most_flows``.
        told: that it is under way.
    """
    return planning.predict(**given, told=told).classes


def sweep(
    spec: planning.Spec,
    vary: Sequence[Varied],
    *,
    sets: Sequence[str] = (),
    most_flows: int | None = None,
    executor: Executor | None = None,
    tell: Callable[[str], object] = lambda _: None,
) -> WhatIf:
    """Predict at every combination of values; all of them are checked before the first.

    Args:
        spec: see `planning.load`.
        vary: one or two of its values.
        sets: changes that hold at every point; see `planning.load`.
        most_flows: see `planning.predict`.
        executor: does it instead of this process.
        tell: is told what is being predicted.

    Raises:
        SpecError: a mistake in the specification at some point, or not one or two paths.
    """
    if not 1 <= len(vary) <= 2:
        raise SpecError("vary", f"{len(vary)} values to vary; one or two can be drawn")
    choices.check_distinct("vary", [each.path for each in vary])
    count = math.prod(len(each.numbers) for each in vary)
    memory.check("vary", count, "points", BYTES_PER_POINT)
    points = list(itertools.product(*(each.numbers for each in vary)))
    jobs = []
    for point in points:
        changes = [each.change(number) for each, number in zip(vary, point, strict=True)]
        given = {"spec": planning.load(spec, [*sets, *changes]), "most_flows": most_flows}
        jobs.append(Job(", ".join(changes), predicted, given, cores()))
    name = jobs[0].input["spec"]["name"]
    if not name and not isinstance(spec, Mapping):
        name = Path(spec).stem
    found = do_all(jobs, executor=executor, started=lambda job: tell(job.name))
    return WhatIf(
        spec=name,
        paths=tuple(each.name for each in vary),
        points=tuple(
            Point(at=at, classes=classes) for at, classes in zip(points, found, strict=True)
        ),
    )


def plot(found: WhatIf) -> Drawing:
    """Of one value, every SLI with its interval; of two, where every SLO is met.

    Raises:
        SpecError: two values, and no class has an SLO.
    """
    from fctlab.slo import pictures

    return pictures.lines(found) if len(found.paths) == 1 else pictures.region(found)
