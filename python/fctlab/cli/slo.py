"""Commands for SLOs without priorities: ``fctlab predict``, ``plan``, ``provision``, ..."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer
from rich.console import RenderableType

from fctlab.answers import Answer
from fctlab.cli import progress as showing
from fctlab.cli import report
from fctlab.cli.options import Out, ShowProgress, examples, items, numbers
from fctlab.cli.terminal import AsJson, Force, output, say, show, show_json
from fctlab.errors import SpecError
from fctlab.results import kinds
from fctlab.slo import advice, planning, saved, words
from fctlab.slo.types import Plan, Prediction, Provision, Verdict, WhatIf
from fctlab.tables import Line, Part

Found = TypeVar("Found", bound=Answer)

SpecFile = Annotated[
    Path, typer.Argument(metavar="SPEC", help="A file in TOML, YAML, JSON or Dhall.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="What if: classes.web.load=+20%; may be repeated."
    ),
]
Seed = Annotated[int | None, typer.Option(help="Instead of the specification's seed.")]
MostFlows = Annotated[int | None, typer.Option(help="Simulate at most so many for one verdict.")]


PANEL = "Keep SLOs"
EXITS: dict[Verdict | None, int] = {"violated": 3, "undecided": 4}
"""Of ``predict --check``; 1 and 2 are errors."""


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            "fctlab init specification slos.toml",
            "fctlab predict slos.toml --set classes.web.load=+10%",
        ),
    )(predict)
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            "fctlab init specification slos.toml", "fctlab plan slos.toml --out results/slos"
        ),
    )(plan)
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            "fctlab init specification slos.toml",
            "fctlab provision slos.toml --strategies fifo,weights",
        ),
    )(provision)
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            "fctlab init specification slos.toml",
            "fctlab whatif slos.toml --vary classes.web.load=0.2,0.4",
        ),
    )(whatif)
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            "fctlab init specification slos.toml",
            "fctlab calibrate slos.toml --scheme dctcp-rate --loads 0.3 --flows 1000",
        ),
    )(calibrate)


def predict(
    spec: SpecFile,
    engine: Annotated[
        str, typer.Option(metavar="model|packet", help="What runs the flows.")
    ] = "model",
    sets: Sets = None,
    seed: Seed = None,
    most_flows: MostFlows = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Exit with 3 if an SLO is violated, with 4 if one is open."),
    ] = False,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Predict whether each class meets its SLO, and why."""
    loaded, most = _load(spec, sets, seed), _positive(most_flows)
    if check and not any("slo" in each for each in loaded["classes"]):
        raise SpecError("--check", "no class has an SLO")
    with (
        _saving(Prediction, spec, loaded, out, force) as save,
        showing.of_answer(progress) as told,
    ):
        found = save(planning.predict(loaded, engine=cast(Any, engine), most_flows=most, told=told))
    _finish(found, spec, out, as_json, words.prediction)
    if check and (code := EXITS.get(words.worst(each.verdict for each in found.classes))):
        raise typer.Exit(code)


def plan(
    spec: SpecFile,
    sets: Sets = None,
    seed: Seed = None,
    most_flows: MostFlows = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also how weights were found, and every what-if.")
    ] = False,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Find scheduling weights that meet every SLO, and what would break them first."""
    loaded, most = _load(spec, sets, seed), _positive(most_flows)
    with _saving(Plan, spec, loaded, out, force) as save, showing.of_answer(progress) as told:
        found = save(planning.plan(loaded, most_flows=most, told=told))
    _finish(found, spec, out, as_json, lambda each: words.plan(each, verbose=verbose))


def provision(
    spec: SpecFile,
    strategies: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Of fifo, static, weights, weights-fq, priority."),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Flows behind each SLI, in multiples of 1,000 for a p99."),
    ] = None,
    sets: Sets = None,
    seed: Seed = None,
    most_flows: Annotated[
        int | None, typer.Option(help="Simulate at most so many at each capacity.")
    ] = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Find the least link rate that meets every SLO, per scheduling strategy."""
    names = cast(Any, items("--strategies", strategies, str) or planning.STRATEGIES)
    loaded, most = _load(spec, sets, seed), _positive(most_flows)
    with _saving(Provision, spec, loaded, out, force) as save, showing.of_answer(progress) as told:
        found = save(
            planning.provision(loaded, names, precision=precision, most_flows=most, told=told)
        )
    _finish(found, spec, out, as_json, words.provision)


def whatif(
    spec: SpecFile,
    vary: Annotated[
        list[str],
        typer.Option(
            metavar="PATH=FROM:TO:COUNT", help="One or two values; or PATH=A,B,C; may be repeated."
        ),
    ],
    sets: Sets = None,
    most_flows: MostFlows = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Predict over a range of one or two values: SLIs against a load, a region of weights."""
    from fctlab.slo import whatif as sweeping

    varied = [sweeping.read(each) for each in vary]
    most = _positive(most_flows)
    points = math.prod(len(each.numbers) for each in varied)
    with (
        _saving(WhatIf, spec, planning.load(spec, sets or []), out, force) as save,
        showing.of_points(progress, points) as tell,
    ):
        found = save(sweeping.sweep(spec, varied, sets=sets or [], most_flows=most, tell=tell))
    _finish(found, spec, out, as_json, lambda each: [words.whatif(each)])


def calibrate(
    spec: SpecFile,
    scheme: Annotated[str, typer.Option(help="Of the packet engine: dctcp-rate or hpcc.")],
    preset: Annotated[
        str | None,
        typer.Option(help="Whose headers, window and increase; swp-d: the paper's model."),
    ] = None,
    loads: Annotated[
        str, typer.Option(metavar="A,B", help="Each class alone at each.")
    ] = "0.3,0.6",
    flows: Annotated[
        int, typer.Option(help="Of each run of the class with the longest.", min=1000)
    ] = 20_000,
    sets: Sets = None,
    out: Annotated[
        Path | None,
        typer.Option(parser=output, help="Write the parameters into this file, in TOML."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Fit the model of a link to packet-level runs of a congestion control."""
    from fctlab.cli import slo_tables
    from fctlab.results import store
    from fctlab.slo import calibrate as calibration

    loaded = _load(spec, sets, None)
    place = None
    if out is not None:
        reads = kinds.files_in([spec, loaded])
        place = store.FileOutput(out, calibration.is_calibrated, reads=reads, force=force)
    found = calibration.calibrate(
        loaded, scheme, preset=preset, loads=_loads(loads), flows=flows, tell=say
    )
    if place is not None:
        place.write(calibration.as_toml(found))
        say(f"saved in {out}")
    _show(found, as_json, slo_tables.calibration)


def _loads(text: str) -> list[float]:
    loads = numbers("--loads", text)
    for load in loads:
        if not 0 < load < 1:
            raise SpecError("--loads", f"{load:g} is not in (0, 1)")
    return loads


def _load(spec: Path, sets: list[str] | None, seed: int | None) -> dict[str, Any]:
    loaded = planning.load(spec, sets or [])
    if seed is not None:
        loaded["seed"] = seed
    return loaded


def _positive(most_flows: int | None) -> int | None:
    if most_flows is not None and most_flows < 1:
        raise SpecError("--most-flows", f"{most_flows} is not at least 1")
    return most_flows


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
    found: Found, spec: Path, out: Path | None, as_json: bool, parts: Callable[[Found], list[Part]]
) -> None:
    if out is not None:
        report.write(out)
        say(f"saved in {out}")
        if isinstance(found, Plan):
            spec = out / kinds.SPECIFICATION
    from fctlab.cli.layout import shown

    next_steps = [Line(text) for text in advice.after(cast(Any, found), str(spec))]
    if out is not None and isinstance(found, Plan) and found.plan.success:
        command = f"fctlab export sonic --init {shlex.quote(str(out))}"
        next_steps.append(
            Line(f"Write them for switches and hosts (or openconfig, eos, tc): {command}")
        )
    _show(found, as_json, lambda each: shown([*parts(each), *words.warnings(each), *next_steps]))


def _show(found: Found, as_json: bool, table: Callable[[Found], RenderableType]) -> None:
    if as_json:
        show_json(found.to_dict())
    else:
        show(table(found))
