"""`predict`: every SLI of every class, every SLO's verdict, and which links carry the delay."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from fctlab.fabric import accuracy, beside, judging, lengths, looking, warming, windows
from fctlab.fabric.asked import Asked, load
from fctlab.fabric.types import FabricPrediction, LinkWait, Tier
from fctlab.fabric.verifying import verify as verified
from fctlab.fabric.windows import Windows
from fctlab.jobs import Told
from fctlab.scenario import ScenarioLike

WINDOWS = 2
MOST_WINDOWS = 8
LINKS = 20
"""At which most waits, as they are told."""


def predict(
    spec: ScenarioLike,
    *,
    sets: Iterable[str] = (),
    engine: str = "fluid",
    most_windows: int = MOST_WINDOWS,
    verify: bool = False,
    told: Told | None = None,
) -> FabricPrediction:
    """Predict every SLI with its interval, and whether every SLO is met.

    Windows are the scenario under seeds of their own, so long that every class has 1,000 flows in
    each: two, then twice as many while an SLO is undecided and more flows could decide it. Of a
    trace they are all that it has.

    Args:
        spec: a scenario whose classes have SLIs.
        sets: changes ``path=value``.
        engine: ``"fluid"`` or ``"packet"``.
        most_windows: at most so many.
        verify: run packets where something is undecided, see `verifying.verify`.
        told: called with (windows that are over, their flows).

    Raises:
        SpecError: a mistake, with its path, the value and what is allowed.
    """
    looking.check(most_windows=most_windows)
    asked = warming.settled(lengths.enough(load(spec, sets, engine=engine)), told)
    errors = accuracy.errors(asked)
    first = min(max(WINDOWS, len(asked.traces)), most_windows)
    run, classes, looks = looking.look(asked, "predict", first, most_windows, errors, told)
    found = FabricPrediction(
        warnings=(*asked.prepared.warnings, *lengths.too_short(asked, run)),
        name=asked.name,
        classes=classes,
        racks=judging.racks(asked, run, errors, looks),
        pairs=judging.pairs(asked, run),
        tiers=tuple(_tiers(asked, run)),
        links=tuple(_links(run)),
        errors=errors,
        runs=windows.told_of(asked, run.seeds, [run]),
        measured=beside.measured(asked, run),
    )
    if verify and engine != "packet" and any(each.verdict == "undecided" for each in classes):
        return structs.replace(found, verified=verified(spec, sets=sets, told=told))
    return found


def _tiers(asked: Asked, run: Windows) -> Iterable[Tier]:
    total = sum(run.waits.values())
    for tier in asked.offered:
        waited = sum(value for (name, _), value in run.waits.items() if name == tier["tier"])
        yield Tier(
            name=tier["tier"],
            ports=asked.sides[tier["tier"]],
            link=tier["link"],
            load=tier["load"],
            share=waited / total if total else None,
        )


def _links(run: Windows) -> Iterable[LinkWait]:
    total = sum(run.waits.values())
    most = sorted(run.waits.items(), key=lambda each: -each[1])[:LINKS]
    return [LinkWait(link=link, tier=tier, share=value / total) for (tier, link), value in most]
