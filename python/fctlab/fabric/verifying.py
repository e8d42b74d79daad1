"""`verify`: packets, in windows that planning never saw, with enough flows of every class."""

from __future__ import annotations

from collections.abc import Iterable

from fctlab.fabric import judging, lengths, looking, warming, windows
from fctlab.fabric.asked import Asked, load
from fctlab.fabric.types import Verification
from fctlab.jobs import Told
from fctlab.scenario import ScenarioLike
from fctlab.slo.words import worst

WINDOWS = 3
MOST_WINDOWS = 12


def verify(
    spec: ScenarioLike,
    *,
    sets: Iterable[str] = (),
    count: int = WINDOWS,
    most_windows: int = MOST_WINDOWS,
    flows: int = lengths.FLOWS,
    told: Told | None = None,
) -> Verification:
    """Judge every class on packets.

    Windows are the scenario under seeds of their own, so long that every class has enough flows
    in each; so many, then twice as many while an SLO is undecided.

    Args:
        spec: a scenario whose classes have SLIs.
        sets: changes ``path=value``.
        count: of windows, at first.
        most_windows: at most so many, unless `count` is more.
        flows: of every class in each, at least.
        told: called with (windows that are over, their flows).

    Raises:
        SpecError: a mistake, with its path, the value and what is allowed.
    """
    asked = load(spec, sets, engine="packet")
    return of(asked, count=count, most_windows=most_windows, flows=flows, told=told)


def of(
    asked: Asked,
    *,
    count: int = WINDOWS,
    most_windows: int = MOST_WINDOWS,
    flows: int = lengths.FLOWS,
    told: Told | None = None,
) -> Verification:
    """The same of a scenario that was read, with its engine."""
    looking.check(windows=count, most_windows=most_windows, flows=flows)
    long = warming.settled(lengths.enough(asked, flows), told)
    run, classes, _ = looking.look(long, "verify", count, most_windows, told=told)
    count = len(run.seeds)
    each = [judging.judge(long, run.only(number)) for number in range(count)]
    counted = run.flows.group_by("window", "class").len()["len"]
    least = int(counted.min() or 0) if len(counted) == count * len(long.classes) else 0  # type: ignore[arg-type]
    notes = [*long.prepared.warnings, *lengths.too_short(long, run)]
    if least < flows:
        notes.append(f"a class has {least:,} flows in a window, less than {flows:,}")
    return Verification(
        verdict=worst(found.verdict for found in classes),
        classes=classes,
        windows=tuple(judging.worst_loss(found) for found in each),
        least_flows=least,
        runs=windows.told_of(long, run.seeds, [run]),
        warnings=tuple(notes),
    )
