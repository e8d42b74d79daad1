"""`whatif`: what breaks first when a link or a switch is down, a class louder, a tenant more."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fctlab.errors import SpecError
from fctlab.fabric import accuracy, judging, lengths, warming, windows
from fctlab.fabric.asked import Asked, load
from fctlab.fabric.louder import Changed, drawn, replayed
from fctlab.fabric.types import Case, ClassFound, FabricWhatIf, NotRun
from fctlab.jobs import Told
from fctlab.scenario import Scenario, ScenarioLike
from fctlab.slo.words import VERDICTS, worst

LOUDER = 0.2
HOST = "host"


def whatif(
    spec: ScenarioLike,
    *,
    sets: Iterable[str] = (),
    down: Sequence[str] = (),
    louder: float = LOUDER,
    told: Told | None = None,
) -> FabricWhatIf:
    """Judge the scenario as it is and with one thing changed, all on the same flows.

    Changed are: the busiest link of each tier between switches, and the switch above it, down; each
    class louder; a tenant more, which brings what one rack brings. Of a trace that is its first
    window, and the last two only where it is in Parquet: `louder`.

    Args:
        spec: a scenario whose classes have SLIs.
        sets: changes ``path=value``.
        down: links and switches to try, as ``topology.down`` names them; default: the above.
        louder: by so much a class's load rises.
        told: called with (windows that are over, their flows).

    Raises:
        SpecError: a mistake, with its path, the value and what is allowed.
    """
    if not louder > 0:
        raise SpecError("louder", f"{louder:g} is not above 0")
    asked = warming.settled(lengths.enough(load(spec, sets)), told)
    numbers = windows.seeds(asked, "predict", 1)
    today = windows.run(asked, numbers, told)
    cases: list[Case] = []
    made: list[tuple[str, tuple[str, ...], Asked]] = []
    with tempfile.TemporaryDirectory() as folder:
        for what, (changes, tables) in _cases(asked, down, louder, Path(folder)):
            try:
                made.append((what, changes, Asked(Scenario(tables).resolve())))
            except SpecError as error:
                if error.path.startswith("topology.down["):  # it names nothing that there is
                    raise
                cases.append(_not_run(what, changes, *_why(tables, error)))
        found = windows.run_all([each for _, _, each in made], numbers, told)
    for (what, changes, other), run in zip(made, found, strict=True):
        cases.append(_case(what, changes, judging.judge(other, run, accuracy.errors(other))))
    runs = [today, *found]
    return FabricWhatIf(
        warnings=(
            *asked.prepared.warnings,
            *lengths.too_short(asked, today),
            *(
                ["classes are not made louder: the trace is not in Parquet"]
                if _is_text(asked)
                else []
            ),
        ),
        name=asked.name,
        today=_case("as it is", (), judging.judge(asked, today, accuracy.errors(asked))),
        cases=tuple(sorted(cases, key=_order)),
        runs=windows.told_of(asked, numbers, runs),
    )


def _cases(
    asked: Asked, down: Sequence[str], louder: float, folder: Path
) -> Iterator[tuple[str, Changed]]:
    """In words, and what is changed; traces are written to `folder`."""
    topology = asked.tables["topology"]
    already = list(topology.get("down", ()))
    for name in down or _to_try(asked):
        everything = [*already, name]
        changes = (f"topology.down={json.dumps(everything)}",)
        yield (
            f"{name} down",
            (changes, {**asked.tables, "topology": {**topology, "down": everything}}),
        )
    if _is_text(asked):
        return
    count = len(asked.classes)
    tried = [
        (f"{each.name} +{louder:.0%}", [louder * (i == number) for i in range(count)])
        for number, each in enumerate(asked.classes)
    ]
    if len(asked.racks) > 1:
        more = 1 / len(asked.racks)
        tried.append((f"a tenant more, of what a rack brings (+{more:.0%})", [more] * count))
    for number, (what, more_of) in enumerate(tried):
        if asked.traces:
            yield what, replayed(asked, more_of, folder / str(number))
        else:
            yield what, drawn(asked, more_of)


def _is_text(asked: Asked) -> bool:
    """Whether its flows are those of a trace in CSV."""
    return any(trace.suffix != ".parquet" for trace in asked.traces)


def _to_try(asked: Asked) -> Iterator[str]:
    """The busiest link of each tier that goes up between switches, and the switch at its end."""
    for tier in asked.offered:
        if asked.sides[tier["tier"]].endswith("-up"):
            yield tier["link"]
            yield tier["link"].split(" -> ")[1]


def _case(what: str, sets: tuple[str, ...], classes: tuple[ClassFound, ...]) -> Case:
    return Case(
        what=what,
        sets=sets,
        verdict=worst(each.verdict for each in classes),
        loss=judging.worst_loss(classes),
        broken=tuple(each.name for each in classes if each.verdict == "violated"),
        classes=classes,
        not_run=None,
        why="",
    )


def _not_run(what: str, sets: tuple[str, ...], kind: NotRun, why: str) -> Case:
    return Case(
        what=what,
        sets=sets,
        verdict=None,
        loss=None,
        broken=(),
        classes=(),
        not_run=kind,
        why=why,
    )


def _why(tables: dict[str, Any], error: SpecError) -> tuple[NotRun, str]:
    """Of what kind the reason is that the tables cannot be run, and the reason in words."""
    if error.path == "topology.down":
        return "cut off", error.message
    if error.path.startswith("traffic."):
        anyhow = {**tables["traffic"], "overload": True}
        try:
            offered = Asked(Scenario({**tables, "traffic": anyhow}).resolve()).offered
        except SpecError:
            # No engine takes loads of 1 or more, whatever is said of overload.
            total = sum(each.get("load", 0.0) for each in tables["traffic"].get("classes", ()))
            if total >= 1:
                return "overloaded", f"the loads of all classes add up to {total:.0%}"
            return "refused", str(error)
        busiest = max(offered, key=lambda tier: tier["load"])
        return "overloaded", f"{busiest['link']} is offered {busiest['load']:.0%} of its rate"
    return "refused", str(error)


def _order(case: Case) -> tuple[int, float]:
    """What cannot be run first, then by verdict, then by loss."""
    if case.not_run:
        return -3, 0.0
    place = 0 if case.verdict is None else VERDICTS.index(case.verdict)
    return -place, -(case.loss or 0.0)
