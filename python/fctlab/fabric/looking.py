"""Windows until something is decided: so many, then twice as many while an SLO is open."""

from __future__ import annotations

from collections.abc import Sequence

from fctlab.errors import SpecError
from fctlab.fabric import judging, windows
from fctlab.fabric.asked import Asked
from fctlab.fabric.types import ClassFound, Error
from fctlab.fabric.windows import Purpose, Windows
from fctlab.jobs import Told


def check(**numbers: int) -> None:
    """Refuse numbers of windows, and of flows in each, that are none.

    Raises:
        SpecError: one of them is below 1.
    """
    for name, value in numbers.items():
        if value < 1:
            raise SpecError(name, f"{value} is not at least 1")


def look(
    asked: Asked,
    purpose: Purpose,
    first: int,
    most: int,
    errors: Sequence[Error] = (),
    told: Told | None = None,
) -> tuple[Windows, tuple[ClassFound, ...], int]:
    """Run windows until every SLO is decided, or no more are allowed.

    Each look asks for more confidence than the one before (`fctlab_workload::sli::spent`), so
    that all of them together are wrong in 1% of cases at most.

    Args:
        asked: the scenario, with its engine.
        purpose: whose seeds the windows have.
        first: windows of the first look; of a trace all that it has.
        most: no look is beyond.
        errors: what the engine may be off by. Where nobody measured it for any SLI, more flows
            decide nothing.
        told: called with (windows that are over, their flows).

    Returns:
        The windows, what became of each class, and how many looks there were.
    """
    run, looks = windows.run(asked, windows.seeds(asked, purpose, first), told), 1
    classes = judging.judge(asked, run, errors)
    known = any(not each.open for each in errors) or not errors
    while (
        known
        and any(each.verdict == "undecided" for each in classes)
        and 2 * len(run.seeds) <= most
        and not asked.traces
    ):
        seeds = windows.seeds(asked, purpose, 2 * len(run.seeds))[len(run.seeds) :]
        run, looks = run.with_more(windows.run(asked, seeds, told)), looks + 1
        classes = judging.judge(asked, run, errors, look=looks)
    return run, classes, looks
