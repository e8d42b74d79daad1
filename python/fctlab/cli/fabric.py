"""``fctlab fabric``: SLOs of classes across a whole fabric."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from fctlab.answers import Answer
from fctlab.cli import progress as showing
from fctlab.cli import telemetry
from fctlab.cli.options import FABRIC, Out, ShowProgress, examples
from fctlab.cli.slo import EXITS
from fctlab.cli.terminal import AsJson, Force, output, say, show, show_json
from fctlab.errors import SpecError
from fctlab.fabric import saved
from fctlab.fabric.lengths import FLOWS
from fctlab.fabric.types import (
    ClassFound,
    FabricPlan,
    FabricPrediction,
    FabricWhatIf,
    Verification,
)
from fctlab.fabric.verifying import MOST_WINDOWS, WINDOWS
from fctlab.results import kinds
from fctlab.tables import Part

Found = TypeVar("Found", bound=Answer)

group = typer.Typer(
    help="SLOs of classes across a whole fabric: predict, plan, verify on packets, what if.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program, as a group of its own."""
    telemetry.register(group)
    app.add_typer(group, name="fabric", rich_help_panel="Keep SLOs")


SpecFile = Annotated[
    Path,
    typer.Argument(metavar="SPEC", help="A scenario whose classes have SLIs, in TOML, YAML, ..."),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change one key; may be repeated."),
]
Check = Annotated[
    bool,
    typer.Option("--check", help="Exit with 3 if an SLO is violated, with 4 if one is open."),
]
Count = Annotated[
    int, typer.Option("--windows", help="Of packets, each under its own seed, at first.")
]
Most = Annotated[int, typer.Option("--most-windows", help="Of packets, while an SLO is undecided.")]
Flows = Annotated[int, typer.Option(help="Of every class in each window, at least.")]


@group.command(epilog=examples(FABRIC, "fctlab fabric predict fabric.toml --most-windows 1"))
def predict(
    spec: SpecFile,
    engine: Annotated[
        str, typer.Option(metavar="fluid|packet", help="What runs the flows.")
    ] = "fluid",
    sets: Sets = None,
    most_windows: Annotated[
        int, typer.Option(help="Simulate at most so many, each under its own seed.")
    ] = 8,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run packets where an SLO is undecided.")
    ] = False,
    check: Check = False,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Predict whether each class meets its SLO, fabric-wide and per rack, and where flows wait."""
    from fctlab.fabric import words
    from fctlab.fabric.predicting import predict as predicted

    loaded = _read(spec, sets, engine)
    with (
        _saving(FabricPrediction, spec, loaded, out, force) as save,
        showing.of_answer(progress) as told,
    ):
        found = save(
            predicted(
                spec,
                sets=sets or [],
                engine=engine,
                most_windows=most_windows,
                verify=verify,
                told=told,
            )
        )
    _finish(found, out, as_json, words.prediction)
    _exit(check, found.classes if found.verified is None else found.verified.classes)


@group.command(epilog=examples(FABRIC, "fctlab fabric verify fabric.toml --windows 1 --flows 200"))
def verify(
    spec: SpecFile,
    sets: Sets = None,
    count: Count = WINDOWS,
    most_windows: Most = MOST_WINDOWS,
    flows: Flows = FLOWS,
    check: Check = False,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Judge every class on packets, in windows that planning never saw."""
    from fctlab.fabric import words
    from fctlab.fabric.verifying import verify as verified
    from fctlab.fabric.watching import confirm

    loaded = _read(spec, sets, "packet")
    with (
        _saving(Verification, spec, loaded, out, force) as save,
        showing.of_answer(progress) as told,
    ):
        found = save(
            verified(
                spec,
                sets=sets or [],
                count=count,
                most_windows=most_windows,
                flows=flows,
                told=told,
            )
        )
    if (of_watch := confirm(spec, found)) is not None:
        say(f"{of_watch.outcome}: {of_watch.why} (confirmation.json beside {spec})")
    _finish(found, out, as_json, words.verification)
    _exit(check, found.classes)


@group.command(epilog=examples(FABRIC, "fctlab fabric plan fabric.toml --out results/fabric"))
def plan(
    spec: SpecFile,
    sets: Sets = None,
    budget: Annotated[int, typer.Option(help="Candidates to try on the fluid, at most.")] = 32,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="On packets; nothing is advised without.")
    ] = True,
    count: Count = WINDOWS,
    most_windows: Most = MOST_WINDOWS,
    flows: Flows = FLOWS,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Find weights for all ports that meet every SLO, and verify them on packets."""
    from fctlab.fabric import words
    from fctlab.fabric.planning import plan as planned

    loaded = _read(spec, sets, "fluid")
    with (
        _saving(FabricPlan, spec, loaded, out, force) as save,
        showing.of_answer(progress) as told,
    ):
        found = save(
            planned(
                spec,
                sets=sets or [],
                budget=budget,
                verify=verify,
                count=count,
                most_windows=most_windows,
                flows=flows,
                told=told,
            )
        )
    _finish(found, out, as_json, words.plan)


@group.command(epilog=examples(FABRIC, "fctlab fabric whatif fabric.toml"))
def whatif(
    spec: SpecFile,
    sets: Sets = None,
    down: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A link or a switch; may be repeated.",
            show_default="the busiest link of each tier that goes up, and the switch at its end",
        ),
    ] = None,
    louder: Annotated[float, typer.Option(help="By so much the load of a class rises.")] = 0.2,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Find out what breaks first: a link or a switch down, a class louder, a tenant more."""
    from fctlab.fabric import words
    from fctlab.fabric.whatifs import whatif as asked

    loaded = _read(spec, sets, "fluid")
    with (
        _saving(FabricWhatIf, spec, loaded, out, force) as save,
        showing.of_answer(progress) as told,
    ):
        found = save(asked(spec, sets=sets or [], down=down or [], louder=louder, told=told))
    _finish(found, out, as_json, words.whatif)


@group.command(
    epilog=examples(
        "fctlab study fabric --quick --seeds 1 --out results/fabric-study",
        "fctlab fabric accuracy results/fabric-study",
    )
)
def accuracy(
    study: Annotated[
        Path, typer.Argument(metavar="DIR", help="What fctlab study fabric --out wrote.")
    ],
    out: Annotated[
        Path | None, typer.Option(parser=output, help="Write it into this file, in JSON.")
    ] = None,
    force: Force = False,
) -> None:
    """Make of a study of the fluid the file of its errors that intervals include."""
    from fctlab.fabric.accuracy import of_study
    from fctlab.results.points import PointStore
    from fctlab.results.store import FileOutput
    from fctlab.studies.fabric import SIZES
    from fctlab.studies.framework.runner import INPUTS

    points = PointStore(kinds.store_in(study) or study)
    place = None if out is None else FileOutput(out, _is_accuracy, force=force)
    engine = kinds.read_object(study / kinds.REPORT).get("engine")
    found = of_study(points, study / INPUTS, SIZES, engine)
    if not found.cases:
        raise SpecError(str(study), "holds no run of `fctlab study fabric`")
    if place is None:
        return show_json(found.to_dict())
    place.write(json.dumps(found.to_dict(), indent=1) + "\n")
    say(f"saved in {out}")


def _is_accuracy(content: bytes) -> bool:
    """Whether a file holds how far the fluid was."""
    return b'"engines"' in content and b'"cases"' in content


def _read(spec: Path, sets: list[str] | None, engine: str) -> dict[str, Any]:
    from fctlab.fabric.asked import load

    return load(spec, sets or [], engine=engine).tables


@contextmanager
def _saving(
    of: type[Found], spec: Path, loaded: dict[str, Any], out: Path | None, force: bool
) -> Iterator[Callable[[Found], Found]]:
    """What keeps an answer, if it is to be kept; the place is seen to before it is asked for."""
    if out is None:
        yield lambda found: found
        return
    reads = kinds.files_in([spec, loaded])
    with saved.writing(of, out, reads=reads, force=force) as draft:

        def save(found: Found) -> Found:
            saved.write(found, loaded, draft.folder)
            return found

        yield save


def _finish(
    found: Found, out: Path | None, as_json: bool, parts: Callable[[Found], list[Part]]
) -> None:
    from fctlab.cli.layout import shown
    from fctlab.slo import words

    if out is not None:
        say(f"saved in {out}")
    if as_json:
        show_json(found.to_dict())
    else:
        show(shown([*parts(found), *words.warnings(found)]))


def _exit(check: bool, classes: tuple[ClassFound, ...]) -> None:
    from fctlab.slo.words import worst

    if not check:
        return
    overall = worst(each.verdict for each in classes)
    if overall is None:
        raise SpecError("--check", "no class has an SLO")
    if code := EXITS.get(overall):
        raise typer.Exit(code)
