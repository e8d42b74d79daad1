"""``fctlab export``: what was found as configuration of switches and sending hosts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fctlab.cli import progress as showing
from fctlab.cli.options import Out, ShowProgress, examples
from fctlab.cli.terminal import AsJson, Force, say, show, show_json
from fctlab.errors import SpecError

if TYPE_CHECKING:
    from fctlab.export.answer import Export

PANEL = "Keep SLOs"


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    lines = (
        "fctlab init specification slos.toml",
        "fctlab plan slos.toml --out results/slos",
        "fctlab export sonic --init results/slos > site.toml",
        "fctlab export sonic results/slos --site site.toml",
    )
    app.command(rich_help_panel=PANEL, epilog=examples(*lines))(export)


def export(
    target: Annotated[str, typer.Argument(help="sonic, openconfig, eos or tc.")],
    result: Annotated[
        Path | None,
        typer.Argument(help="A plan's directory, or a file of thresholds or of a mapping."),
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(metavar="SITE.toml", help="Ports, code points and queues that are taken."),
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option(metavar="RESULT", help="Print a SITE.toml with safe defaults instead."),
    ] = None,
    existing: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What a device has now: also write change and rollback."),
    ] = None,
    diff: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Print only what changes at a device that has this."),
    ] = None,
    role: Annotated[str | None, typer.Option(help="This role alone.")] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Change profiles instead of pointing to new ones.")
    ] = False,
    predict: Annotated[
        bool, typer.Option("--predict/--no-predict", help="Predict what rounding does to SLOs.")
    ] = True,
    most_flows: Annotated[
        int | None, typer.Option(help="Of each prediction.", min=1, show_default="1,000,000")
    ] = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    progress: ShowProgress = None,
) -> None:
    """Write a plan, thresholds or a mapping as configuration of switches and hosts."""
    from fctlab.export import exporting, saved
    from fctlab.export import init as starting

    if init is not None:
        if result is not None:
            raise SpecError("--init", "takes the RESULT itself; leave out the argument")
        print(starting.text(target, init), end="")
        return
    if result is None:
        raise SpecError("RESULT", "is missing: a plan's directory, or a file of thresholds")
    if site is None:
        command = f"fctlab export {target} --init {result} > SITE.toml"
        raise SpecError("--site", f"is missing; write one: {command}")
    if diff is not None:
        changed = exporting.difference(*(target, result, site, diff), role=role, in_place=in_place)
        print(changed, end="")
        return
    with saved.keeping(out, [result, site], force) as keep, showing.of_answer(progress) as told:
        found = keep(
            exporting.export(
                target,
                result,
                site,
                existing=existing,
                role=role,
                in_place=in_place,
                predict=predict,
                most_flows=most_flows,
                told=told,
            )
        )
    _finish(found, out, as_json)


def _finish(found: Export, out: Path | None, as_json: bool) -> None:
    from fctlab.cli.layout import shown
    from fctlab.export import words

    if out is not None:
        say(f"saved in {out}")
    if as_json:
        show_json(found.to_dict())
        return
    if out is None:
        for file in found.files:
            print(f"# {file.name}: {file.what}\n{file.text}")
    show(shown(words.export(found)))
